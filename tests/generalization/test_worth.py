"""Quality models of whole classes, and an intruder who counts the cost, against all nodes tried."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import (
    Generalize,
    Hierarchy,
    KAnonymity,
    Mondrian,
    Payout,
    Profitability,
)
from discreet.generalization._groups import with_null
from discreet.generalization._tuples import collapse, lay_out
from discreet.generalization.by_class import Asked
from discreet.generalization.privacy import bind
from discreet.generalization.search import Search
from tests.examples import examples
from tests.generalization.plain_worth import PlainWorth, everything_holds
from tests.generalization.test_privacy import models
from tests.generalization.test_search import as_method, as_table, limits, tables

OF_CLASSES = ["kl-divergence", "kl-divergence-by-record", "classification", "key", "payout"]
OF_LEVELS = ["precision-of-levels", "nue-of-levels", "height"]
WEIGHABLE = ["loss", "precision", "average-class", "entropy-based", "classification", "key"]

money = st.sampled_from([1.0, 2.0, 5.0, 10.0])
figures = st.fixed_dictionaries(dict.fromkeys(("cost", "gain", "loss", "benefit"), money))
intruders = st.builds(
    lambda given, attack: Profitability(**given, attack=attack), figures, st.booleans()
)


def compare(example, privacy, quality, limit, factor=0.5, payout=None, **options):
    columns, forest, records, ill = example
    target, name = (0, "classification") if quality == "key" else (ill, quality)
    plain = PlainWorth(records, forest, ill, factor=factor, target=target, payout=payout)
    aggregate = options.get("aggregate", "geometric")
    expected = best(plain, name, privacy, limit, aggregate)
    options |= {"quality": name, "suppression_limit": limit, "suppression_factor": factor}
    if name == "classification":
        options["target"] = columns[0] if quality == "key" else "ill"
    if name == "payout":
        options["payout"] = payout
    method, table = as_method(columns, forest, privacy, **options), as_table(columns, records, ill)
    if expected is None:
        with pytest.raises(BadInput, match=r"cannot be met|is above the number"):
            method.fit(table)
        return
    node, value, suppressed = expected
    n = len(records)
    if suppressed == n and not everything_holds(privacy, ill, n):
        with pytest.raises(BadInput, match=r"nothing would remain|is above the number"):
            method.fit(table)
        return
    method.fit(table)
    assert tuple(method.levels_[0]["levels"].values()) == node
    value = value[0] if isinstance(value, list) else value
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert method.suppressed_ == suppressed
    assert method.certificate_.proven


def best(plain, name, privacy, limit, aggregate):
    if aggregate != "rank":
        return plain.best(name, privacy, limit, aggregate)
    found = []
    for node in itertools.product(*(range(h + 1) for h in plain.heights)):
        s = len(plain.kept(node, privacy)[1])
        if s <= limit * plain.n + 1e-9:
            losses = plain.quality(name, node, privacy, "rank")
            found.append(([round(x, 10) for x in losses], sum(node), node, s, losses))
    if not found:
        return None
    _, _, node, s, losses = min(found)
    return node, losses, s


@pytest.mark.parametrize("quality", [*OF_CLASSES, *OF_LEVELS])
@examples(30)
@given(example=tables(nulls=True), k=st.integers(1, 5), limit=limits, given=figures)
def test_the_best_node_is_found(quality, example, k, limit, given):
    compare(example, [KAnonymity(k)], quality, limit, payout=Payout(**given))


@pytest.mark.parametrize("quality", OF_CLASSES)
@examples(20)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    limit=limits,
    given=figures,
)
def test_models_that_are_not_monotone_are_not_pruned_away(quality, example, privacy, limit, given):
    compare(example, privacy, quality, limit, payout=Payout(**given))


@pytest.mark.parametrize("quality", WEIGHABLE)
@examples(30)
@given(
    example=tables(nulls=True),
    k=st.integers(1, 5),
    limit=limits,
    factor=st.sampled_from([0.05, 0.2, 0.45, 0.6, 0.9, 1.0]),
)
def test_suppression_may_cost_less_or_more_than_generalization(quality, example, k, limit, factor):
    compare(example, [KAnonymity(k)], quality, limit, factor)


@examples(30)
@given(example=tables(), k=st.integers(1, 5), limit=limits)
def test_losses_compared_from_the_largest_on(example, k, limit):
    compare(example, [KAnonymity(k)], "loss", limit, aggregate="rank")


@pytest.mark.parametrize("quality", ["loss", "discernibility", "payout", "classification"])
@examples(30)
@given(example=tables(nulls=True), model=intruders, k=st.integers(1, 3), limit=limits)
def test_classes_that_cost_more_than_they_are_worth_are_not_released(
    quality, example, model, k, limit
):
    compare(example, [KAnonymity(k), model], quality, limit, payout=model)


@pytest.mark.parametrize("quality", [*OF_CLASSES, "entropy-based", "precision", "loss"])
@examples(60)
@given(
    example=tables(nulls=True),
    model=st.one_of(models(), intruders),
    given=figures,
    factor=st.sampled_from([0.5, 0.1, 0.3, 0.8]),
    data=st.data(),
)
def test_no_node_of_a_box_is_below_its_bound(quality, example, model, given, factor, data):
    """All nodes between two, with their values by definition."""
    _, forest, records, ill = example
    name = "classification" if quality == "key" else quality
    factor = factor if quality in WEIGHABLE else 0.5
    target, payout = (0 if quality == "key" else ill), Payout(**given)
    plain = PlainWorth(records, forest, ill, factor=factor, target=target, payout=payout)
    search = searched(example, name, model, factor, quality == "key", payout)
    lo = [data.draw(st.integers(0, h)) for h in plain.heights]
    hi = [data.draw(st.integers(low, h)) for low, h in zip(lo, plain.heights, strict=True)]
    bound = search.bound(tuple(lo), tuple(hi))
    for node in itertools.product(*(range(a, b + 1) for a, b in zip(lo, hi, strict=True))):
        value = plain.quality(name, node, [model])
        assert bound <= value + 1e-9 * abs(value) + 1e-9
        found = search.look(node)
        assert found.value == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert found.suppressed == len(plain.kept(node, [model])[1])
        assert search.look(tuple(hi)).barred <= found.suppressed


def searched(example, name, model, factor, of_key, payout):
    """Return the search of a table, before it is run."""
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    trees = [Hierarchy.from_table(list(tree.values())) for tree in forest]
    bound_to = zip(trees, columns, strict=True)
    ladders, codes = zip(*(t.bind_and_encode(table[c], c) for t, c in bound_to), strict=True)
    ladders = [with_null(x) if (c < 0).any() else x for x, c in zip(ladders, codes, strict=True)]
    codes = [
        np.where(c < 0, len(x.leaves) - 1, c).astype(np.int32)
        for x, c in zip(ladders, codes, strict=True)
    ]
    counted = ["ill"] if name == "classification" and not of_key else []
    bound = bind([model], {"ill": table["ill"]}, len(records), counted_too=counted, labelled=True)
    tuples, _ = collapse(lay_out(ladders), codes, bound)
    target = 0
    if not of_key and counted:
        j = bound.columns.index("ill")
        target = tuple(bound.rules.offsets[j : j + 2].tolist())
    squares = len(bound.rules.q) if name.endswith("by-record") else -1
    asked = Asked(name, factor=factor, target=target, payout=payout, squares=squares)
    tuples = asked.ready(tuples)
    hi = [ladder.height for ladder in ladders]
    return Search(tuples, bound.rules, asked.on(tuples), tuples.n, [0] * len(hi), hi)


def test_what_units_and_matches_cannot_be_asked_is_refused_by_name():
    ages = pa.table({"age": ["1", "2", "2", None] * 4, "ill": ["a", "b"] * 8})
    tree = {"age": Hierarchy.flat()}
    units = np.arange(16) // 2
    with pytest.raises(BadInput, match="units are counted here"):
        Generalize(tree, KAnonymity(2), "kl-divergence").fit(ages, units=units)
    intruder = Profitability(2, 10, 10, 10)
    with pytest.raises(BadInput, match="counts records and not units"):
        Generalize(tree, intruder).fit(ages, units=units)
    with pytest.raises(BadInput, match="told by hierarchies"):
        Mondrian(intruder, null_policy="value").fit(ages)
    with pytest.raises(BadInput, match="named twice"):
        Generalize(tree, [intruder, intruder]).fit(ages)


@examples(20)
@given(
    example=tables(nulls=True), quality=st.sampled_from([*OF_CLASSES, *OF_LEVELS]), given=figures
)
def test_groups_and_rounds_are_one_table_by_the_same_definitions(example, quality, given):
    """The quality of a table in one group and round is that of its search."""
    columns, forest, records, ill = example
    name = "classification" if quality == "key" else quality
    options = {"quality": name, "suppression_limit": 1.0}
    if name == "classification":
        options["target"] = columns[0] if quality == "key" else "ill"
    if name == "payout":
        options["payout"] = Payout(**given)
    table = as_table(columns, records, ill)
    whole = as_method(columns, forest, [KAnonymity(2)], **options).fit(table)
    local = as_method(columns, forest, [KAnonymity(2)], local=True, **options).fit(table)
    if len(local.levels_) == 1:
        levels = dict(zip(columns, local.levels_[0]["levels"].values(), strict=True))
        fixed = as_method(columns, forest, [KAnonymity(2)], levels=levels, **options).fit(table)
        assert local.quality_ == pytest.approx(fixed.quality_, rel=1e-9, abs=1e-9)
    assert math.isfinite(local.quality_)
    assert whole.certificate_.proven
