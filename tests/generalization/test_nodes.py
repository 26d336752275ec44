"""Nodes looked at one by one tell what the method makes of these levels."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization import (
    AverageRisk,
    DeltaPresence,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Payout,
    SampleUniqueness,
    TCloseness,
)
from discreet.generalization.nodes import Nodes
from discreet.outcome import Given, as_computed

TREES = {"age": Hierarchy.intervals(widths=[5, 10, 20]), "sex": Hierarchy.flat()}
K = KAnonymity(5)


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    ages = [None if x > 80 else int(x) for x in draw.integers(20, 83, 400)]
    return pa.table({
        "age": ages,
        "sex": draw.choice(["f", "m"], 400),
        "ill": draw.choice(["flu", "acne", "none"], 400),
        "home": np.sort(draw.integers(0, 150, 400)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def everybody(people):
    return pa.concat_tables([people, people]).select(["age", "sex"])


def nodes_of(method, table, units=None):
    columns = {name: table[name] for name in TREES}
    others = {name: table[name] for name in method.reads}
    return Nodes(method, Given(columns, partial(Draws, 0), as_computed, None, others, units))


CASES = {
    "nulls apart": {"privacy": K},
    "nulls are values": {"privacy": K, "null_policy": "value"},
    "nulls suppressed": {"privacy": K, "null_policy": "suppress"},
    "nulls match": {"privacy": K, "null_policy": "match"},
    "households": {"privacy": KAnonymity(3), "by": "home"},
    "diverse households": {"privacy": [KAnonymity(3), LDiversity(2, column="ill")], "by": "home"},
    "close": {"privacy": [K, TCloseness(0.3, column="ill")]},
    "average": {"privacy": AverageRisk(0.1), "suppression_limit": 0.2},
    "uniques": {"privacy": SampleUniqueness(0.02), "null_policy": "value"},
    "population": {"privacy": "population"},
    "divergence": {"privacy": K, "quality": "kl-divergence"},
    "prediction": {"privacy": K, "quality": "classification", "target": "ill"},
    "payout": {
        "privacy": K, "quality": "payout", "payout": Payout(cost=4, gain=300, loss=300, benefit=1200)
    },
    "cheap suppression": {"privacy": K, "suppression_factor": 0.2, "null_policy": "value"},
    "discernibility": {"privacy": K, "quality": "discernibility"},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_node_is_what_the_method_makes_of_its_levels(people, everybody, case):
    options = dict(CASES[case])
    units = people[by].to_numpy() if (by := options.pop("by", None)) else None
    if options["privacy"] == "population":
        options["privacy"] = DeltaPresence(0.0, 0.6, population=everybody)
    nodes = nodes_of(Generalize(TREES, **options), people, units)
    for age, sex in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 0), (1, 1), (4, 1)]:
        levels = {"age": age, "sex": sex}
        found = nodes.at(levels)
        method = Generalize(TREES, **options, levels=levels)
        wide = Generalize(TREES, **options | {"suppression_limit": 1.0}, levels=levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                released = method.fit_transform(people.to_pandas(), units=units)
            except BadInput:
                assert not found.holds
                try:
                    released, method = wide.fit_transform(people.to_pandas(), units=units), wide
                except BadInput:
                    assert (found.classes, found.suppressed) == (0, people.num_rows)
                    continue
            else:
                assert found.holds
        assert found.suppressed == method.suppressed_
        assert found.quality == pytest.approx(method.quality_)
        kept = released[~method.suppressed_mask_]
        counted = pd.Series(np.arange(400) if units is None else units)
        sizes = counted[kept.index].groupby([kept["age"], kept["sex"]], dropna=False).nunique()
        assert found.classes == len(sizes)
        assert found.smallest == (sizes.min() if len(sizes) else 0)


@pytest.mark.parametrize("case", ["nulls are values", "households", "average", "divergence"])
def test_the_best_node_is_that_of_the_method(people, case):
    options = dict(CASES[case]) | {"null_policy": "value"}
    units = people[by].to_numpy() if (by := options.pop("by", None)) else None
    best = nodes_of(Generalize(TREES, **options, local=True), people, units).best()
    fitted = Generalize(TREES, **options).fit(people, units=units)
    assert best.levels == fitted.levels_[0]["levels"]
    assert best.suppressed == fitted.suppressed_
    assert best.quality == pytest.approx(fitted.quality_)
    assert best.holds


def test_where_nulls_are_apart_the_best_holds_for_all(people):
    strict = {"hierarchies": TREES, "privacy": KAnonymity(8), "suppression_limit": 0}
    nodes = Nodes(Generalize(**strict), people)
    apart = [one["levels"] for one in Generalize(**strict).fit(people).levels_]
    assert nodes.groups == len(apart) == 2
    assert apart[0] != apart[1]
    best = nodes.best()
    assert best.holds
    assert Generalize(**strict, levels=best.levels).fit(people).suppressed_ == best.suppressed
    # A group's own best may be far from it, and so may be what is coarse enough for both.
    every = [nodes.at({"age": age, "sex": sex}) for age in range(5) for sex in range(2)]
    assert best.quality <= 1.1 * min(one.quality for one in every if one.holds)
    assert not best.proven
    alone = Nodes(Generalize(TREES, K, null_policy="suppress"), people)
    assert alone.best().proven
    assert alone.apart == people["age"].null_count


@pytest.mark.parametrize("seed", range(6, 12))
def test_the_best_for_records_with_and_without_nulls_is_good_for_all(seed):
    draw = np.random.default_rng(seed)
    given = {"a": draw.integers(0, 30, 120), "b": draw.integers(0, 24, 120).astype(float)}
    given["b"][draw.random(120) < 0.3] = np.nan
    given["c"] = draw.integers(0, 6, 120)
    table = pa.table({name: pa.array(x, from_pandas=True) for name, x in given.items()})
    trees = {"a": [5, 10, 20], "b": [4, 8, 16]}
    trees = {name: Hierarchy.intervals(widths=widths) for name, widths in trees.items()}
    nodes = Nodes(Generalize(trees | {"c": Hierarchy.flat()}, KAnonymity(4)), table)
    top = nodes.height
    every = [nodes.at(dict(zip(top, x, strict=True))) for x in np.ndindex(5, 5, 2)]
    best, least = nodes.best(), min(one.quality for one in every if one.holds)
    assert best.holds
    assert least <= best.quality <= 1.1 * least
    # As little is looked at as there is time for.
    assert nodes.best(seconds=1e-9).quality >= best.quality


def test_a_column_can_be_fixed(people):
    nodes = Nodes(Generalize(TREES, K, null_policy="value"), people)
    assert nodes.best({"sex": 1}).levels["sex"] == 1
    strict = Generalize(TREES, KAnonymity(300), suppression_limit=0, null_policy="value")
    assert Nodes(strict, people).best({"sex": 0}) is None


def test_what_no_levels_keep_is_said_at_once(people):
    with pytest.raises(BadInput, match="k = 500"):
        Nodes(Generalize(TREES, KAnonymity(500), null_policy="value"), people)
    units = people["home"].to_numpy()
    with pytest.raises(BadInput, match="is of classes of records, and units are counted"):
        nodes_of(Generalize(TREES, K, quality="kl-divergence"), people, units)
