"""`publish_minimal = false`: the law of the draw, and the two attacks that it blunts."""

import itertools
import math
from collections import Counter
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.generalization import AlphaKAnonymity, Generalize, Hierarchy, KAnonymity
from tests.examples import examples
from tests.generalization.plain import Plain
from tests.generalization.test_privacy import models
from tests.generalization.test_search import QUALITIES, adult, as_method, as_table, tables

# Ratios are compared of what these models measure, and differences of the others.
BY_RATIO = ("discernibility", "ambiguity", "average-class")


def node_of(method):
    return tuple(method.levels_[0]["levels"].values())


@pytest.fixture(scope="module")
def example():
    forest = [
        {x: [x, x[0], "*"] for x in ("a1", "a2", "b1", "b2")},
        {x: [x, "*"] for x in "xyz"},
    ]
    records = [("a1", "x")] * 3 + [("a1", "y")] * 3 + [("a2", "y")] * 2 + [("b1", "x")] * 3
    records += [("b2", "z")] * 3 + [("b1", "z")] * 2
    return ["p", "q"], forest, records, [1, 2] * 8


def partition(plain, a, level):
    """Which values of a column that occur are the same at a level."""
    groups = {}
    for value in {record[a] for record in plain.records}:
        groups.setdefault(plain.trees[a][value][level], set()).add(value)
    return frozenset(map(frozenset, groups.values()))


@pytest.mark.parametrize(
    ("quality", "idle"),
    [
        ("loss", False),
        pytest.param("loss", True, marks=pytest.mark.slow),
        ("nue", True),
        ("discernibility", True),
        pytest.param("average-class", False, marks=pytest.mark.slow),
        ("average-class", True),
    ],
)
def test_nodes_are_drawn_by_exponential_weights(example, quality, idle):
    """All nodes tried by the definitions; the scale is a third of a level's mean cost.

    Levels that group the values alike count as one, and share its chance.
    """
    columns, forest, records, ill = example
    if idle:
        first = {x: [x, x + ".", x[0], x[0] + ".", x[0] + "..", "*"] for x in forest[0]}
        # A value that does not occur makes a level dearer, and groups nothing.
        unused = {"w": ["w", "x", "*"]}
        forest = [first, {x: [x, x, "*"] for x in "xyz"} | unused]
    plain, privacy, limit, seeds = Plain(records, forest, ill), [KAnonymity(3)], 0.1, 200
    nodes = list(itertools.product(*(range(h + 1) for h in plain.heights)))
    cost = {n: plain.quality(quality, n, privacy) for n in nodes}
    if quality in BY_RATIO:
        cost = {n: math.log(x) for n, x in cost.items()}
    feasible = [n for n in nodes if len(plain.kept(n, privacy)[1]) <= limit * len(records)]
    assert 1 < len(feasible) < len(nodes)
    # What no node is below: nothing suppressed at the bottom, or for the mean size of classes as
    # many as there are tuples, and one of suppressed records.
    floor = plain.quality(quality, nodes[0], [KAnonymity(1)])
    if quality == "average-class":
        floor = len(records) / (len(set(records)) + 1)
    floor = math.log(floor) if quality in BY_RATIO else floor
    parts = [[partition(plain, a, x) for x in range(h + 1)] for a, h in enumerate(plain.heights)]
    assert [len(set(part)) for part in parts] == [3, 2]
    scale = (cost[nodes[-1]] - floor) / 3 / 3
    alike = {n: math.prod(p.count(p[x]) for p, x in zip(parts, n, strict=True)) for n in feasible}
    weights = {n: math.exp(-cost[n] / scale) / alike[n] for n in feasible}
    table = as_table(columns, records, ill)
    options = {"quality": quality, "suppression_limit": limit, "publish_minimal": False}
    found = Counter(
        node_of(as_method(columns, forest, privacy, random_state=seed, **options).fit(table))
        for seed in range(seeds)
    )
    assert set(found) <= set(feasible)
    total = sum(weights.values())
    away = sum(abs(weights[n] / total - found[n] / seeds) for n in feasible) / 2
    assert away < 0.1


@examples(40)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    limit=st.sampled_from([0.1, 0.3, 1.0]),
    quality=st.sampled_from(QUALITIES),
    seed=st.integers(0, 2**32),
)
def test_what_is_drawn_keeps_models_and_limit(example, privacy, limit, quality, seed):
    columns, forest, records, ill = example
    plain, table = Plain(records, forest, ill), as_table(columns, records, ill)
    options = {"quality": quality, "suppression_limit": limit}
    drawn = as_method(columns, forest, privacy, publish_minimal=False, random_state=seed, **options)
    try:
        best = as_method(columns, forest, privacy, **options).fit(table)
        drawn.fit(table)
    except BadInput as error:
        if "cannot be met" in str(error) or "nothing would remain" in str(error):
            reject()
        raise
    proof, node = drawn.certificate_, node_of(drawn)
    assert proof.proven
    assert proof.optimum == best.certificate_.optimum
    assert drawn.quality_ == proof.drawn >= proof.optimum * (1 - 1e-12)
    assert drawn.quality_ == pytest.approx(
        plain.quality(quality, node, privacy), rel=1e-9, abs=1e-9
    )
    assert drawn.suppressed_ == len(plain.kept(node, privacy)[1]) <= limit * len(records) + 1e-9


@pytest.mark.filterwarnings("ignore:the search ended")
@examples(25)
@given(example=tables(), k=st.integers(1, 4), budget=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_a_budget_draws_the_same_again(example, k, budget, seed):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)

    def fit(evaluations):
        options = {"publish_minimal": False, "random_state": seed, "suppression_limit": 1.0}
        method = as_method(columns, forest, [KAnonymity(k)], evaluations=evaluations, **options)
        return method.fit(table)

    one = fit(budget)
    again = fit(one.certificate_.evaluations)
    assert again.levels_ == one.levels_
    assert again.certificate_ == one.certificate_
    assert one.quality_ >= one.certificate_.optimum >= one.certificate_.bound


@pytest.mark.parametrize("local", [False, True])
def test_each_group_and_round_draws_for_itself(local):
    table = make_households(400, seed=5, null_rate=0.1).select(["region", "age", "sex"])
    hierarchies = {
        "age": Hierarchy.intervals(widths=[5, 10, 20]),
        "region": Hierarchy.flat(),
        "sex": Hierarchy.flat(),
    }
    drawn = set()
    for seed in range(6):
        method = Generalize(
            hierarchies, KAnonymity(4), local=local, publish_minimal=False, random_state=seed
        )
        out = method.fit_transform(table).to_pandas()
        assert out[~method.unsafe_mask_].groupby(list(out), dropna=False).size().min() >= 4
        drawn.add(tuple(str(one["levels"]) for one in method.levels_[:2]))
        assert {one["group"] for one in method.levels_} == {"without nulls", "with nulls"}
    assert len({one for one, _ in drawn}) > 1
    assert len({other for _, other in drawn}) > 1


# The attacks


def chance(world, columns, node, minimal, seeds=range(20), **options):
    """How likely a world gives the node that was released; the intruder does not know the seed."""
    hierarchies, privacy = columns
    options |= {} if minimal else {"publish_minimal": False}
    seeds = [None] if minimal else seeds
    found = [
        node_of(
            Generalize(
                hierarchies, privacy, suppression_limit=0.0, random_state=seed, **options
            ).fit(world)
        )
        for seed in seeds
    ]
    return found.count(node) / len(found)


def belief(worlds, columns, node, minimal):
    """What an intruder who thought all worlds alike believes of each, given the released node."""
    chances = {name: chance(world, columns, node, minimal) for name, world in worlds.items()}
    return {name: x / sum(chances.values()) for name, x in chances.items()}


def town_worlds(small, large):
    """Two people live in a small town and four in a large one; two of the six have HIV."""
    worlds = {}
    for ill in itertools.combinations(range(6), 2):
        others = iter(["flu", "gout", "acne", "cold"])
        diseases = ["HIV" if i in ill else next(others) for i in range(6)]
        worlds[ill] = pd.DataFrame({"town": [small] * 2 + [large] * 4, "disease": diseases})
    return worlds


def test_minimality_attack():
    """Wong, Fu, Wang and Pei 2007: why the table was generalized tells who is ill.

    The intruder knows who is in the table and in which of two towns they live; two are released
    with HIV. At most half of a class may share a disease. Towns would have been released unless
    that broke the model, which only two patients of the small town can do.
    """
    worlds = town_worlds("small", "large")
    how = {"town": Hierarchy.flat()}, AlphaKAnonymity(0.5, 2, column="disease")
    truth, released = (0, 1), (1,)
    assert belief(worlds, how, released, minimal=True)[truth] == 1
    drawn = belief(worlds, how, released, minimal=False)
    # One in 15 before; no longer certain.
    assert 0.3 < drawn[truth] < 0.85
    assert sum(x > 0 for x in drawn.values()) > 3


@pytest.mark.parametrize("quality", ["loss", "precision", "discernibility"])
def test_levels_that_merge_nothing_do_not_help_the_attack(quality):
    """The same with codes of towns that differ in the first of five characters.

    Four levels lie between the codes and the top, and none of them groups anything.
    """
    worlds = town_worlds("11111", "21111")
    how = {"town": Hierarchy.prefix()}, AlphaKAnonymity(0.5, 2, column="disease")
    options = {"quality": quality, "minimal": False}
    shares = {
        ill: chance(worlds[ill], how, (5,), seeds=range(seeds), **options)
        for ill, seeds in [((0, 1), 20), ((0, 2), 50), ((2, 3), 50)]
    }
    assert shares[0, 1] == 1
    assert min(shares[0, 2], shares[2, 3]) >= 0.03
    # Of the other worlds, eight have one patient in either town, and six both in the large one.
    assert 1 / (1 + 8 * shares[0, 2] + 6 * shares[2, 3]) < 0.75


def test_downcoding_attack():
    """Cohen 2022: from minimal hierarchical k-anonymity finer values than were released.

    Two people are released as aged 30-39 and three as 50. The hierarchy has leaves 31 and 34 under
    30-39, and 50 alone; k = 2. Had both been of one age, the ages would have been released.
    """
    ages = Hierarchy.from_table([["31", "30-39", "*"], ["34", "30-39", "*"], ["50", "50", "*"]])
    worlds = {
        pair: pd.DataFrame({"age": [*pair, "50", "50", "50"]})
        for pair in itertools.product(["31", "34"], repeat=2)
    }
    how, released = ({"age": ages}, KAnonymity(2)), (1,)
    minimal = belief(worlds, how, released, minimal=True)
    assert {pair for pair, x in minimal.items() if x} == {("31", "34"), ("34", "31")}
    drawn = belief(worlds, how, released, minimal=False)
    assert drawn["31", "31"] > 0.02
    assert drawn["34", "34"] > 0.02


# In recipes


def recipe(**options):
    step = {
        "method": "generalize",
        "columns": ["region", "age", "sex"],
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "publish_minimal": False,
        "hierarchies": {
            "age": {"kind": "intervals", "widths": [5, 10, 20]},
            "region": {"kind": "auto"},
            "sex": {"kind": "auto"},
        },
    }
    roles = {"quasi": ["region", "age", "sex"], "confidential": ["income"], "rest": "drop"}
    return {"roles": roles, "steps": [step], "counts": "rows"} | options


@pytest.fixture(scope="module")
def people():
    return make_households(800, seed=4)


@pytest.mark.parametrize("null_rate", [0.0, 0.05])
def test_it_is_the_same_again_and_on_every_engine(null_rate, tmp_path):
    table = make_households(800, seed=4, null_rate=null_rate)
    one = discreet.protect(table, recipe(seed=2**100 + 1))
    again = discreet.protect(table, one.recipe)
    parquet.write_table(table, tmp_path / "people.parquet")
    other = discreet.protect(tmp_path / "people.parquet", one.recipe, engine="duckdb")
    assert again.table.equals(one.table)
    assert (
        other.plan["steps"][0]["joint"]["groups"][0]["rounds"][0]["levels"]
        == (one.plan["steps"][0]["joint"]["groups"][0]["rounds"][0]["levels"])
    )
    assert (
        again.log["steps"][0]["searches"][0]["drawn"]
        == (other.log["steps"][0]["searches"][0]["drawn"])
    )


def test_rows_need_no_place_to_draw_levels(people):
    """A relation has no order: the same rows in another one give the same levels."""
    one = discreet.protect(duckdb.arrow(people), recipe())
    backwards = people.take(list(reversed(range(len(people)))))
    other = discreet.protect(duckdb.arrow(backwards), one.recipe)
    levels = [r.plan["steps"][0]["columns"]["age"]["levels"] for r in (one, other)]
    assert levels[0] == levels[1]
    figures = [r.log["steps"][0]["searches"][0]["drawn"] for r in (one, other)]
    assert figures[0] == figures[1]
    one.close()
    other.close()


def test_seeds_draw_different_levels_and_the_price_is_told(people):
    drawn = [discreet.protect(people, recipe(seed=2**100 + i)) for i in range(6)]
    searches = [release.log["steps"][0]["searches"][0] for release in drawn]
    assert len({search["drawn"] for search in searches}) > 1
    assert len({search["optimum"] for search in searches}) == 1
    assert all(search["drawn"] >= search["optimum"] for search in searches)
    assert all(
        release.log["steps"][0]["quality"]["value"] == search["drawn"]
        for release, search in zip(drawn, searches, strict=True)
    )


def test_seconds_are_replayed_by_evaluations(people):
    given = recipe(seed=2**100 + 3)
    given["steps"][0]["time_limit"] = 0.002
    one = discreet.protect(people, given)
    again = discreet.protect(people, one.recipe)
    assert one.recipe.steps[0].evaluations
    assert again.table.equals(one.table)
    before, after = (release.log["steps"][0]["searches"][0] for release in (one, again))
    assert before["drawn"] == after["drawn"]


def test_a_predictable_seed_is_refused(people):
    with pytest.raises(BadInput, match="seed = 7 can be found by trying"):
        discreet.protect(people, recipe(seed=7))
    minimal = recipe(seed=7)
    del minimal["steps"][0]["publish_minimal"]
    discreet.protect(people, minimal)


def test_nothing_is_said_of_a_draw_by_default(people):
    minimal = recipe()
    del minimal["steps"][0]["publish_minimal"]
    assert "drawn" not in discreet.protect(people, minimal).log["steps"][0]["searches"][0]


def test_the_certificate_says_that_it_was_drawn(example):
    columns, forest, records, ill = example
    options = {"publish_minimal": False, "random_state": 3, "suppression_limit": 0.2}
    method = as_method(columns, forest, [KAnonymity(2)], **options)
    method.fit(as_table(columns, records, ill))
    proof = method.certificate_
    assert str(proof).startswith(f"{method.quality_:.6g} was drawn; {proof.optimum:.6g} is the opt")


def test_the_certificate_of_the_docs():
    drawn = adult("loss", 0.05, publish_minimal=False, random_state=1)
    said = (Path(__file__).parents[2] / "docs" / "explanation" / "optimum.md").read_text("utf-8")
    assert str(drawn.certificate_) in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "best", "mean", "distinct"), [(0, 592, 609, 6), (0.05, 252, 297, 17)]
)
def test_what_a_draw_costs_on_adult(limit, best, mean, distinct):
    """The figures of docs/explanation/threats.md."""
    drawn = [adult("loss", limit, publish_minimal=False, random_state=seed) for seed in range(20)]
    assert round(1000 * drawn[0].certificate_.optimum) == best
    assert round(50 * sum(one.quality_ for one in drawn)) == mean
    assert len({node_of(one) for one in drawn}) == distinct
