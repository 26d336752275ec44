"""Branch and bound against every node tried, and the known answers on Adult."""

import itertools
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import (
    BetaLikeness,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from tests.examples import examples
from tests.generalization.plain import Plain, plainly
from tests.generalization.test_privacy import models

QUALITIES = [
    "loss",
    "precision",
    "nue",
    "nnue",
    "discernibility",
    "ambiguity",
    "average-class",
    "entropy-based",
]
NAMES = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
ADULT = [*NAMES, "occupation"]


@st.composite
def trees(draw, column):
    """A hierarchy of 1 to 6 leaves: each level merges some labels of the one below."""
    size = draw(st.integers(1, 6))
    paths = [[f"{column}{i}"] for i in range(size)]
    for level in range(draw(st.integers(0, 2))):
        below = list(dict.fromkeys(path[-1] for path in paths))
        above = {x: f"{column}{level}.{draw(st.integers(0, len(below) - 1))}" for x in below}
        for path in paths:
            path.append(above[path[-1]])
    return {path[0]: [*path, "*"] for path in paths}


@st.composite
def tables(draw, nulls=False):
    """A small table: columns with hierarchies, and one confidential column."""
    columns = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    forest = [draw(trees(column)) for column in columns]
    n = draw(st.integers(8, 24))
    leaves = [list(tree) + [None] * nulls for tree in forest]
    records = [tuple(draw(st.sampled_from(some)) for some in leaves) for _ in range(n)]
    ill = draw(st.lists(st.sampled_from([1, 2, 3, None]), min_size=n, max_size=n))
    return columns, forest, records, [*ill[:-3], 1, 2, 3]


def as_method(columns, forest, privacy, **options):
    hierarchies = {
        column: Hierarchy.from_table(list(tree.values()))
        for column, tree in zip(columns, forest, strict=True)
    }
    return Generalize(hierarchies, privacy, null_policy="value", **options)


def as_table(columns, records, ill):
    cells = {c: pa.array([r[a] for r in records], pa.string()) for a, c in enumerate(columns)}
    return pa.table(cells | {"ill": pa.array(ill, pa.int64())})


def compare(example, privacy, quality, limit, **options):
    columns, forest, records, ill = example
    plain = Plain(records, forest, ill)
    weights = options.get("weights")
    expected = plain.best(
        quality,
        privacy,
        limit,
        options.get("aggregate", "geometric"),
        None if weights is None else [weights.get(c, 1.0) for c in columns],
        None
        if "levels" not in options
        else [
            options["levels"].get(c, (0, h)) for c, h in zip(columns, plain.heights, strict=True)
        ],
    )
    method = as_method(
        columns, forest, privacy, quality=quality, suppression_limit=limit, **options
    )
    table = as_table(columns, records, ill)
    if expected is None:
        with pytest.raises(BadInput, match="cannot be met"):
            method.fit(table)
        return
    node, value, suppressed = expected
    if suppressed == len(records) and not all(plainly(m, ill, ill) for m in privacy):
        with pytest.raises(BadInput, match="nothing would remain"):
            method.fit(table)
        return
    method.fit(table)
    assert tuple(method.levels_[0]["levels"].values()) == node
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert method.suppressed_ == suppressed
    proof = method.certificate_
    assert proof.proven
    assert proof.bound == proof.optimum
    assert proof.evaluations <= proof.nodes


limits = st.sampled_from([0.0, 0.1, 0.3, 1.0])


@pytest.mark.parametrize("quality", QUALITIES)
@examples(30)
@given(example=tables(), k=st.integers(1, 5), limit=limits)
def test_the_best_node_is_found(quality, example, k, limit):
    compare(example, [KAnonymity(k)], quality, limit)


@pytest.mark.parametrize("quality", QUALITIES)
@examples(30)
@given(example=tables(nulls=True), privacy=st.lists(models(), min_size=1, max_size=2), limit=limits)
def test_models_that_are_not_monotone_are_not_pruned_away(quality, example, privacy, limit):
    compare(example, privacy, quality, limit)


@examples(60)
@given(
    example=tables(nulls=True),
    k=st.integers(1, 4),
    aggregate=st.sampled_from(["sum", "max", "mean", "geometric"]),
    weight=st.sampled_from([0.0, 0.5, 3.0]),
    limit=limits,
)
def test_aggregates_and_weights(example, k, aggregate, weight, limit):
    weights = {example[0][0]: weight}
    compare(example, [KAnonymity(k)], "loss", limit, aggregate=aggregate, weights=weights)


@examples(40)
@given(example=tables(), k=st.integers(1, 5), data=st.data(), quality=st.sampled_from(QUALITIES))
def test_columns_pinned_to_levels(example, k, data, quality):
    columns, forest, _, _ = example
    height = len(next(iter(forest[0].values()))) - 1
    lo = data.draw(st.integers(0, height))
    pair = [lo, data.draw(st.integers(lo, height))]
    compare(example, [KAnonymity(k)], quality, 0.3, levels={columns[0]: pair})


@examples(60)
@given(example=tables(nulls=True), privacy=st.lists(models(), min_size=1, max_size=2))
def test_the_smallest_limit_that_works_is_told(example, privacy):
    columns, forest, records, ill = example
    fewest = Plain(records, forest, ill).fewest(privacy)
    table = as_table(columns, records, ill)
    strict = as_method(columns, forest, privacy, suppression_limit=0.0)
    if fewest == 0:
        strict.fit(table)
        return
    with pytest.raises(BadInput) as raised:
        strict.fit(table)
    n = len(records)
    works = math.ceil(fewest / n * 10_000 - 1e-6) / 10_000
    # Where all must go, and may not stay as stars either, no limit works.
    nothing = fewest == n and not all(plainly(model, ill, ill) for model in privacy)
    assert str(raised.value) == (
        f"suppression_limit = 0 cannot be met: at least {fewest} of {n} records must be "
        "suppressed to keep the privacy models; "
        + ("" if nothing else f"set suppression_limit = {works:g} or more, or ")
        + "weaken the models"
    )
    if not nothing:
        as_method(columns, forest, privacy, suppression_limit=works).fit(table)


@examples(60)
@given(
    example=tables(nulls=True),
    k=st.integers(1, 4),
    quality=st.sampled_from(QUALITIES),
    budget=st.integers(1, 12),
)
def test_a_budget_gives_a_true_gap_and_the_same_result_again(example, k, quality, budget):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    options = {"quality": quality, "suppression_limit": 1.0}
    best = as_method(columns, forest, [KAnonymity(k)], **options).fit(table).quality_
    one = as_method(columns, forest, [KAnonymity(k)], evaluations=budget, **options).fit(table)
    proof = one.certificate_
    assert proof.bound <= best * (1 + 1e-12) + 1e-12
    assert proof.optimum >= best * (1 - 1e-12) - 1e-12
    again = as_method(
        columns, forest, [KAnonymity(k)], evaluations=proof.evaluations, **options
    ).fit(table)
    assert again.levels_ == one.levels_
    assert again.certificate_ == proof


def adult(quality, limit, **options):
    paths = adult_hierarchy_paths()
    hierarchies = {name: Hierarchy.from_csv(paths[name]) for name in ADULT}
    privacy = options.pop("privacy", [KAnonymity(5)])
    method = Generalize(hierarchies, privacy, quality=quality, suppression_limit=limit, **options)
    return method.fit(load_adult())


@pytest.mark.parametrize(
    ("quality", "limit", "levels", "value", "suppressed"),
    [
        ("loss", 0.0, "04023221", 0.591585, 0),
        ("loss", 0.05, "03001112", 0.251852, 1458),
        ("loss", 1.0, "03002101", 0.220050, 3049),
        ("discernibility", 0.05, "00123221", 7220555, 105),
        ("precision", 1.0, "04001000", 0.310225, 5196),
        ("average-class", 1.0, "00111220", 16.3214, 7185),
        ("entropy-based", 0.05, "13003002", 14458.70, 1417),
    ],
)
def test_adult_as_the_java_tool_arx_has_it(quality, limit, levels, value, suppressed):
    method = adult(quality, limit)
    found = method.levels_[0]["levels"]
    assert "".join(str(found[name]) for name in ADULT) == levels
    assert method.quality_ == pytest.approx(value, rel=2e-6)
    assert method.suppressed_ == suppressed
    assert method.certificate_.nodes == 6480
    assert method.certificate_.proven


def test_adult_with_several_models_against_all_nodes():
    privacy = [
        KAnonymity(5),
        LDiversity(1.5, column="salary-class", kind="entropy"),
        TCloseness(0.3, column="salary-class"),
        BetaLikeness(1.0, column="salary-class"),
    ]
    levels = {"sex": 0, "race": 1, "marital-status": [1, 2], "age": [3, 4], "education": 3}
    levels |= {"native-country": [1, 2], "workclass": [1, 2], "occupation": [1, 2]}
    pinned = adult("loss", 0.3, privacy=privacy, levels=levels)
    spans = [levels[name] for name in ADULT]
    ranges = [range(s, s + 1) if isinstance(s, int) else range(s[0], s[1] + 1) for s in spans]
    found = []
    for node in itertools.product(*ranges):
        one = adult("loss", 1.0, privacy=privacy, levels=dict(zip(ADULT, node, strict=True)))
        if one.suppressed_ <= 0.3 * 30162:
            found.append((one.quality_, sum(node), node))
    best = min(found)
    assert tuple(pinned.levels_[0]["levels"].values()) == best[2]
    assert pinned.quality_ == best[0]
    assert (
        pinned.certificate_.evaluations < pinned.certificate_.nodes == math.prod(map(len, ranges))
    )


def test_a_certificate_reads_as_a_sentence():
    method = adult("loss", 0.05)
    assert str(method.certificate_) == (
        "0.251852 is the optimum, proven with 342 of 6,480 nodes evaluated"
    )
    short = adult("loss", 0.05, evaluations=30)
    said = str(short.certificate_)
    assert "was found and nothing is below" in said
    assert said.endswith("of 6,480 nodes evaluated")
    assert short.certificate_.gap > 0
