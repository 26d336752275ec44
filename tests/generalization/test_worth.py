"""Quality models of whole classes, and an intruder who counts the cost, against all nodes tried."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import (
    KAnonymity,
    Payout,
    Profitability,
)
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
    import itertools

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
