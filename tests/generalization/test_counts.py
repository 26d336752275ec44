"""Generalize and Mondrian: distinct tuples with counts lead to what all records lead to."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import (
    AlphaKAnonymity,
    BetaLikeness,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Mondrian,
    TCloseness,
)
from tests.counted import (
    CountedTable,
    assert_counts_decide,
    assert_same,
    draws_of,
    from_counts,
    in_memory,
)
from tests.examples import examples
from tests.generalization.test_generalize import hierarchies
from tests.generalization.test_privacy import models
from tests.generalization.test_search import QUALITIES, as_table, tables

QUASI = ["age", "zip", "born", "level", "share"]
TREES = {
    "age": Hierarchy.intervals(widths=[10, 40]),
    "zip": Hierarchy.prefix(stars=[1, 2]),
    "born": Hierarchy.dates(["year"]),
    "level": Hierarchy.order(sizes=[2]),
    "share": Hierarchy.auto(),
}
ILL = Hierarchy.groups({"skin": ["acne"], "inside": ["flu", "gout"]})
MODELS = {
    "k": [KAnonymity(4)],
    "distinct l": [KAnonymity(3), LDiversity(2, column="ill")],
    "entropy l": [LDiversity(1.5, column="ill", kind="entropy")],
    "recursive l": [KAnonymity(2), LDiversity(2, column="ill", kind="recursive", c=3)],
    "t": [KAnonymity(3), TCloseness(0.5, column="ill")],
    "ordered t": [KAnonymity(3), TCloseness(0.4, column="pay", distance="ordered")],
    "listed t": [
        TCloseness(0.4, column="ill", distance="ordered", order=["flu", "mumps", "acne", "gout"])
    ],
    "tree t": [TCloseness(0.5, column="ill", distance="hierarchical", hierarchy=ILL)],
    "beta": [KAnonymity(3), BetaLikeness(2.0, column="ill"), LDiversity(2, column="pay")],
    "enhanced beta": [KAnonymity(3), BetaLikeness(2.0, column="ill", enhanced=True)],
    "alpha": [AlphaKAnonymity(0.8, 3, column="ill")],
}
POLICIES = ["segregate", "value", "suppress", "match"]


def people(n=150, seed=3):
    """Columns of several types, with nulls, NaN and -0.0 among them, and tuples that repeat."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n // 3, n)
    days = rng.integers(0, 900, n // 3)
    share = rng.choice([0.0, -0.0, 0.5, np.nan, 1.0, 2.0, 3.0], n // 3)
    levels = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 4, n // 3), mask=rng.random(n // 3) < 0.05),
        pa.array(["none", "low", "mid", "high"]),
        ordered=True,
    )
    table = {
        "age": pa.array(rng.integers(20, 60, n // 3), mask=rng.random(n // 3) < 0.1),
        "zip": pa.array(rng.choice(["101", "102", "211", "225"], n // 3)),
        "born": pa.array([dt.date(1990, 1, 1) + dt.timedelta(days=int(d)) for d in days]),
        "level": levels,
        "share": pa.array(share, from_pandas=False),
    }
    ill = pa.array(rng.choice(["flu", "acne", "gout"], n), mask=rng.random(n) < 0.1)
    pay = pa.array(rng.integers(1, 5, n) * 100)
    whole = pa.table({name: column.take(pa.array(rows)) for name, column in table.items()})
    return whole.append_column("ill", ill.dictionary_encode()).append_column("pay", pay)


PEOPLE = people()


def generalize(privacy, columns=QUASI, **options):
    options = {"suppression_limit": 1.0} | options
    return Generalize({name: TREES[name] for name in columns}, privacy, **options)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", MODELS)
def test_generalize_by_every_model_and_policy(policy, model):
    if policy == "match" and model != "k":
        return
    method = generalize(MODELS[model], null_policy=policy)
    assert_counts_decide(method, PEOPLE, QUASI)


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize(("local", "segregate"), [(False, "any"), (True, "pattern")])
def test_generalize_by_every_quality(quality, local, segregate):
    method = generalize(MODELS["distinct l"], quality=quality, local=local, segregate=segregate)
    assert_counts_decide(method, PEOPLE, QUASI)


@pytest.mark.parametrize(
    "options",
    [
        {"suppression_limit": 0.4},
        {"aggregate": "max", "weights": {"age": 2.0}},
        {"levels": {"age": [1, 2], "zip": 1}},
        {"evaluations": 3},
        {"evaluations": [3, 5]},
        {"small_group": "append", "allow_disclosure": True, "privacy": [KAnonymity(60)]},
        {"small_group": "suppress", "privacy": [KAnonymity(60)]},
        {"segregate": "pattern", "privacy": [KAnonymity(8)]},
    ],
)
def test_generalize_by_every_option(options):
    options = {"privacy": MODELS["k"]} | options
    assert_counts_decide(generalize(**options), PEOPLE, QUASI)


def test_a_time_limit_leaves_evaluations_for_the_rerun():
    method = generalize(MODELS["k"], time_limit=60.0)
    decision, _, _ = from_counts(method, PEOPLE, QUASI)
    expected, _ = in_memory(method, PEOPLE, QUASI)
    assert decision.fixed == expected.fixed


@pytest.mark.parametrize("policy", [*POLICIES, "contaminate"])
@pytest.mark.parametrize("model", MODELS)
def test_mondrian_by_every_model_and_policy(policy, model):
    if policy == "match" and model != "k":
        return
    assert_counts_decide(Mondrian(MODELS[model], null_policy=policy), PEOPLE, QUASI)


@pytest.mark.parametrize(
    "options",
    [
        {"enhanced": True, "null_policy": "value"},
        {"enhanced": True, "null_policy": "match"},
        {"segregate": "pattern"},
        {"hierarchies": TREES, "null_policy": "value"},
        {"hierarchies": {"level": TREES["level"]}},
        {"small_group": "append", "allow_disclosure": True, "privacy": [KAnonymity(60)]},
        {"small_group": "suppress", "privacy": [KAnonymity(60)]},
    ],
)
def test_mondrian_by_every_option(options):
    options = {"privacy": MODELS["k"]} | options
    assert_counts_decide(Mondrian(**options), PEOPLE, QUASI)


def test_mondrian_that_shares_out_ties_needs_the_rows():
    method = Mondrian(KAnonymity(2), strict=False)
    assert method.bound_to_memory == "strict = false shares out equal values in row order"
    outcome, _ = in_memory(method, PEOPLE, QUASI)
    assert len(outcome.joint["classes"]) == PEOPLE.num_rows


@pytest.mark.parametrize("decoded", [False, True])
def test_dictionaries_may_come_as_plain_values(decoded):
    trees = {"zip": TREES["zip"], "ill": ILL}
    for method in (Generalize(trees, MODELS["k"]), Mondrian(MODELS["k"], trees)):
        assert_counts_decide(method, PEOPLE, ["zip", "ill"], decoded=decoded)


@examples(60)
@given(
    example=tables(nulls=True),
    privacy=models(),
    policy=st.sampled_from(POLICIES),
    segregate=st.sampled_from(["any", "pattern"]),
    quality=st.sampled_from(QUALITIES),
    local=st.booleans(),
    limit=st.sampled_from([0.0, 0.3, 1.0]),
    pieces=st.integers(1, 5),
)
def test_generalize_any_table(example, privacy, policy, segregate, quality, local, limit, pieces):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    privacy = [KAnonymity(2)] if policy == "match" else [KAnonymity(2), privacy]
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        quality,
        suppression_limit=limit,
        null_policy=policy,
        segregate=segregate,
        local=local,
    )
    _alike_or_refused_alike(method, table, columns, pieces)


@examples(60)
@given(
    example=tables(nulls=True),
    privacy=models(),
    policy=st.sampled_from([*POLICIES, "contaminate"]),
    segregate=st.sampled_from(["any", "pattern"]),
    trees=st.booleans(),
    pieces=st.integers(1, 5),
)
def test_mondrian_any_table(example, privacy, policy, segregate, trees, pieces):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    privacy = [KAnonymity(2)] if policy == "match" else [KAnonymity(2), privacy]
    given_trees = hierarchies(columns, forest) if trees else None
    method = Mondrian(privacy, given_trees, null_policy=policy, segregate=segregate)
    _alike_or_refused_alike(method, table, columns, pieces)


def _alike_or_refused_alike(method, table, columns, pieces):
    """Where the rows are refused the counts are, in the same words."""
    said = None
    try:
        in_memory(method, table, columns)
    except BadInput as error:
        said = str(error)
    if said is None:
        assert_counts_decide(method, table, columns, pieces=pieces)
        return
    with pytest.raises(BadInput) as refused:
        from_counts(method, table, columns)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("method", "columns", "message"),
    [
        (generalize([KAnonymity(151)]), QUASI, "k = 151 is above the number of records, 150"),
        (
            generalize([KAnonymity(9)], suppression_limit=0, levels={"age": 0}),
            QUASI,
            "at least 23 of 32 records must be suppressed",
        ),
        (
            Generalize({"zip": Hierarchy.groups({"x": ["101", "102", "211"]})}, KAnonymity(2)),
            ["zip"],
            "1 value in .. rows has no place in the hierarchy: '225'",
        ),
        (
            Mondrian(KAnonymity(2), {"zip": Hierarchy.groups({"x": ["101", "102", "211"]})}),
            ["zip"],
            "1 value in .. rows has no place in the hierarchy: '225'",
        ),
        (
            Mondrian([LDiversity(2, column="ill", kind="recursive", c=0.1)], null_policy="value"),
            ["zip"],
            "the 150 records do not keep LDiversity",
        ),
        (generalize([LDiversity(2, column="zip")]), QUASI, "column 'zip' is confidential to the"),
        (Mondrian([LDiversity(2, column="zip")]), QUASI, "column 'zip' is confidential to the"),
        (generalize(MODELS["k"], ["age"]), ["age", "zip"], "column 'zip' has no hierarchy"),
        (Mondrian(KAnonymity(2), {"age": TREES["age"]}), ["zip"], "hierarchies names 'age'"),
    ],
)
def test_refused_in_the_same_words(method, columns, message):
    said = []
    for run in (in_memory, from_counts):
        with pytest.raises(BadInput, match=message) as refused:
            run(method, PEOPLE, columns)
        said.append(str(refused.value))
    assert said[0] == said[1]


MANY = 10**9


def scaled(plan):
    """A plan whose records are each so many."""
    if isinstance(plan, dict):
        counts = ("rows", "sizes", "counts", "suppressed")
        return {k: v * MANY if k in counts else scaled(v) for k, v in plan.items()}
    return [scaled(one) for one in plan] if isinstance(plan, list) else plan


@pytest.mark.parametrize(
    ("quality", "policy"),
    [*((quality, "segregate") for quality in QUALITIES), *(("loss", p) for p in POLICIES[1:])],
)
def test_generalize_where_every_record_is_a_billion(quality, policy):
    def run(many):
        table = PEOPLE.slice(0, 120)
        models_ = [KAnonymity(4 * many)]
        if policy != "match":
            models_ += MODELS["t"][1:] + MODELS["ordered t"][1:]
        method = generalize(models_, quality=quality, null_policy=policy, segregate="pattern", local=True)  # fmt: skip
        counted = CountedTable(table, weights=[many] * table.num_rows)
        return method.decide_from(QUASI, counted, draws_of())

    few, many = run(1), run(MANY)
    _without_quality(few.joint), _without_quality(many.joint)
    assert_same(many.joint, scaled(few.joint))
    assert many.figures["suppressed"] == MANY * few.figures["suppressed"]
    powers = {"discernibility": 2, "nue": 1, "ambiguity": 1, "average-class": 1, "entropy-based": 1}
    value = few.figures["quality"]["value"] * float(MANY) ** powers.get(quality, 0)
    assert many.figures["quality"]["value"] == pytest.approx(value, rel=1e-9)
    rows = {name: PEOPLE[name].slice(0, 120) for name in QUASI}
    masks = [one.treat(rows, draws_of(), None).suppressed.tolist() for one in (few, many)]
    assert masks[0] == masks[1]


def _without_quality(joint):
    for group in joint["groups"]:
        for one in group["rounds"]:
            del one["certificate"]


@pytest.mark.parametrize("policy", [*POLICIES, "contaminate"])
def test_mondrian_where_every_record_is_a_billion(policy):
    def run(many):
        table = PEOPLE.slice(0, 120)
        models_ = [KAnonymity(4 * many), *([] if policy == "match" else MODELS["t"][1:])]
        first = table.select([*QUASI, "ill"])
        counted = CountedTable(first, weights=[many] * 120)
        return Mondrian(models_, null_policy=policy).decide_from(QUASI, _Apart(counted), draws_of())

    few, many = run(1), run(MANY)
    assert_same(many.joint, scaled(few.joint))
    assert many.figures["suppressed"] == MANY * few.figures["suppressed"]


class _Apart:
    """Tuples as often as they occur, so that none has more records than Mondrian takes."""

    def __init__(self, counted):
        self.counted, self.unit = counted, counted.unit

    def tuples(self, columns):
        table = self.counted.table.select(columns).slice(0, 110)
        numbered = table.set_column(0, "age", pa.array(np.arange(110) * 3 % 97 + 20))
        return numbered, np.array(self.counted.weights[:110])


def test_mondrian_refuses_a_tuple_of_too_many_records():
    table = pa.table({"x": [1, 2]})
    counted = CountedTable(table, weights=[5, 2**31])
    with pytest.raises(
        BadInput, match=r"2,147,483,648 records are alike in the columns x; mondrian"
    ):
        Mondrian(KAnonymity(2)).decide_from(["x"], counted, draws_of())


def test_mondrian_judges_a_group_by_its_records_and_not_by_its_tuples():
    table = pa.table({"x": [1] * 10, "ill": ["a"] * 9 + ["b"]})
    method = Mondrian([LDiversity(2, column="ill", kind="recursive", c=3)])
    for run in (in_memory, from_counts):
        with pytest.raises(BadInput, match="the 10 records do not keep LDiversity"):
            run(method, table, ["x"])


def test_a_row_that_was_not_counted_is_refused():
    for method in (Generalize({"x": Hierarchy.flat()}, KAnonymity(2)), Mondrian(KAnonymity(2))):
        decision, _, _ = from_counts(method, pa.table({"x": [1, 1, 2, 2]}), ["x"])
        with pytest.raises(BadInput, match="a row has x = 3, which no row had"):
            decision.treat({"x": pa.chunked_array([[1, 3]])}, draws_of(), None)


def test_the_order_of_tuples_is_that_of_the_rows():
    table = pa.table({"x": [3, 1, None, 3, 2, 1], "ill": ["a", "b", "c", "b", "a", "b"]})
    plan = (
        Mondrian([KAnonymity(2), LDiversity(1, column="ill")], null_policy="value").fit(table).plan_
    )
    assert plan["tuples"]["values"]["x"].tolist() == [1.0, 2.0, 3.0]
    assert plan["tuples"]["codes"]["x"].tolist() == [2, 0, -1, 1]
    assert "classes" not in plan
