"""Generalize on tables: null policies, local recoding, plans, and what is refused."""

import time
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.base import clone

import discreet
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
from discreet.kernels import lattice as kernels
from tests.examples import examples
from tests.generalization.plain import Plain, plainly
from tests.generalization.test_privacy import models
from tests.generalization.test_search import ADULT, QUALITIES, as_table, tables

PEOPLE = pd.DataFrame(
    {
        "name": list("abcdefgh"),
        "age": [31, 34, 38, 52, 57, 59, 71, 33],
        "zip": ["10115", "10117", "10119", "10115", "10115", "10119", "80331", "10115"],
        "ill": ["flu", "acne", "flu", "gout", "flu", "acne", "flu", "gout"],
    },
    index=list("stuvwxyz"),
)
HIERARCHIES = {
    "age": Hierarchy.intervals(widths=[10, 20]),
    "zip": Hierarchy.prefix(stars=[1, 3]),
}


def hierarchies(columns, forest):
    return {
        column: Hierarchy.from_table(list(tree.values()))
        for column, tree in zip(columns, forest, strict=True)
    }


def recipe(**options):
    step = {
        "method": "generalize",
        "columns": ADULT,
        "privacy": [
            {"model": "k-anonymity", "k": 10},
            {"model": "l-diversity", "l": 2, "column": "salary-class"},
            {"model": "t-closeness", "t": 0.5, "column": "salary-class"},
        ],
        "suppression_limit": 1.0,
        "hierarchies": {name: str(adult_hierarchy_paths()[name]) for name in ADULT},
    }
    return {
        "roles": {"quasi": ADULT, "confidential": ["salary-class"]},
        "steps": [step | options],
    }


def fitted(method, table):
    """Treat a table; what no group is large enough for is no example."""
    try:
        return method.fit_transform(table)
    except BadInput as error:
        if str(error).startswith(("neither the records with nulls", "all ")):
            reject()
        raise


def test_a_frame_comes_back_as_it_was_but_for_the_treated_columns():
    method = Generalize(HIERARCHIES, KAnonymity(2), suppression_limit=0.2)
    out = method.fit_transform(PEOPLE)
    assert list(out.columns) == list(PEOPLE.columns)
    assert list(out.index) == list(PEOPLE.index)
    assert method.levels_ == [
        {"group": "all", "round": 1, "levels": {"age": 1, "zip": 1}, "rows": 8}
    ]
    kept = out.drop("y")
    assert kept["age"].tolist() == ["30-39"] * 3 + ["50-59"] * 3 + ["30-39"]
    assert set(kept["zip"]) == {"1011*"}
    assert kept["ill"].tolist() == PEOPLE.drop("y")["ill"].tolist()
    # One suppressed record alone would be known by its stars: it is empty everywhere.
    assert method.suppressed_mask_.tolist() == (PEOPLE.index == "y").tolist()
    assert method.unsafe_mask_.tolist() == method.suppressed_mask_.tolist()
    assert out.loc["y"].isna().all()


def test_enough_suppressed_records_stay_as_stars():
    people = pd.DataFrame({"zip": ["1"] * 4 + ["2"] * 4 + ["3", "4", "5", "6"], "pay": range(12)})
    method = Generalize({"zip": Hierarchy.flat()}, KAnonymity(4), suppression_limit=0.5)
    out = method.fit_transform(people)
    assert out["zip"].tolist() == ["1"] * 4 + ["2"] * 4 + ["*"] * 4
    assert out["pay"].tolist() == list(range(12))
    assert not method.unsafe_mask_.any()


@pytest.mark.parametrize("convert", [pa.Table.from_pandas, pl.from_pandas, lambda frame: frame])
def test_the_same_kind_of_table_comes_back(convert):
    given_table = convert(PEOPLE.reset_index(drop=True))
    out = Generalize(HIERARCHIES, KAnonymity(3)).fit_transform(given_table)
    assert type(out) is type(given_table)


def test_it_is_cloned_and_shows_its_parameters():
    method = Generalize(HIERARCHIES, [KAnonymity(2)], suppression_limit=0.2, levels={"age": 1})
    copy = clone(method)
    assert copy.get_params()["privacy"] == [KAnonymity(2)]
    assert copy.fit(PEOPLE).levels_[0]["levels"]["age"] == 1


def test_new_rows_get_the_labels_of_kept_classes_and_others_are_suppressed():
    method = Generalize(HIERARCHIES, KAnonymity(3), suppression_limit=0.2).fit(PEOPLE)
    new = pd.DataFrame(
        {
            "name": list("abcd"),
            "age": [39, 30, 25, 56],
            "zip": ["10118", "20095", "10115", None],
            "ill": ["flu"] * 4,
        }
    )
    out = method.transform(new)
    assert out["age"].tolist() == ["30-39", "*", "*", "*"]
    assert out["zip"].tolist() == ["1011*", "*", "*", "*"]


@examples(100)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    policy=st.sampled_from(["value", "suppress", "segregate"]),
    segregate=st.sampled_from(["any", "pattern"]),
)
def test_transform_does_to_the_rows_what_fit_transform_did(example, privacy, policy, segregate):
    columns, forest, records, ill = example
    table = as_table(columns, records, ill)
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        suppression_limit=1.0,
        null_policy=policy,
        segregate=segregate,
    )
    out = fitted(method, table)
    assert method.transform(table).to_pylist() == out.to_pylist()


def test_suppressed_rows_of_a_batch_stay_as_stars_only_where_they_are_a_class():
    people = pd.DataFrame({"zip": list("1122"), "ill": ["flu", "gout", "flu", "gout"]})
    models = [KAnonymity(2), LDiversity(2, column="ill")]
    method = Generalize({"zip": Hierarchy.prefix()}, models).fit(people)
    for new, kept in (
        (["flu"], False),
        (["flu", "flu"], False),
        (["flu", "gout"], True),
        (["flu", "flue"], False),
        (["flu", None, "gout"], True),
    ):
        batch = pd.DataFrame({"zip": ["1", *("9" * len(new))], "ill": ["flu", *new]})
        out = method.transform(batch)
        assert out.iloc[0].tolist() == ["1", "flu"]
        assert (out["zip"].tolist()[1:] == ["*"] * len(new)) == kept
        assert out.iloc[1:].isna().all(axis=None) == (not kept)


def test_a_batch_is_judged_by_the_distribution_of_the_table_that_was_fitted():
    people = pd.DataFrame({"zip": ["1"] * 10, "ill": ["flu"] * 5 + ["gout"] * 5})
    method = Generalize({"zip": Hierarchy.flat()}, TCloseness(0.3, column="ill")).fit(people)
    for new, kept in ((["flu"] * 4, False), (["flu"] * 2 + ["gout"] * 2, True)):
        out = method.transform(pd.DataFrame({"zip": ["9"] * 4, "ill": new}))
        assert out["zip"].isna().tolist() == [not kept] * 4


policies = st.sampled_from(
    [
        {"null_policy": "value"},
        {"null_policy": "suppress"},
        {"null_policy": "segregate"},
        {"null_policy": "segregate", "segregate": "pattern"},
    ]
)


@examples(150)
@given(
    example=tables(nulls=True),
    privacy=st.lists(models(), min_size=1, max_size=2),
    options=policies,
    local=st.booleans(),
    quality=st.sampled_from(QUALITIES),
)
def test_every_released_class_keeps_the_models_within_its_group(
    example, privacy, options, local, quality
):
    columns, forest, records, ill = example
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        quality=quality,
        suppression_limit=1.0,
        local=local,
        **options,
    )
    out = fitted(method, as_table(columns, records, ill)).to_pylist()
    assert sum(method.suppressed_mask_) == method.suppressed_
    classes: dict[tuple, list] = {}
    for row, record, unsafe, gone in zip(
        out, records, method.unsafe_mask_, method.suppressed_mask_, strict=True
    ):
        tuple_ = tuple(row[column] for column in columns)
        if unsafe:
            assert set(row.values()) == {None}
            continue
        if gone:
            assert set(tuple_) == {"*"}
        pattern = tuple(v is None for v in record)
        group = any(pattern)
        if method.segregate == "pattern":
            # Small patterns share a group; what they are released with is in the plan.
            group = next(
                i
                for i, g in enumerate(method.plan_["groups"])
                if g["patterns"] is None
                or [c for c, null in zip(columns, pattern, strict=True) if null] in g["patterns"]
            )
        elif method.null_policy == "value":
            group = 0
        classes.setdefault((group, tuple_), []).append(row["ill"])
        for column, tree, value in zip(columns, forest, record, strict=True):
            labels = [None, "*"] if value is None else tree[value]
            assert row[column] in labels
    for values in classes.values():
        assert all(plainly(model, values, ill) for model in privacy)


@examples(60)
@given(
    example=tables(nulls=True),
    k=st.integers(2, 4),
    quality=st.sampled_from(QUALITIES),
    limit=st.sampled_from([0.3, 1.0]),
)
def test_segregation_finds_each_groups_own_optimum(example, k, quality, limit):
    columns, forest, records, ill = example
    privacy = [KAnonymity(k), TCloseness(0.6, column="ill")]
    has_null = [any(r[a] is None for r in records) for a in range(len(columns))]
    expected = []
    for wanted in (False, True):
        rows = [i for i, r in enumerate(records) if (None in r) == wanted]
        if len(rows) < k:
            continue
        part = Plain([records[i] for i in rows], forest, [ill[i] for i in rows], ill, has_null)
        expected.append(part.best(quality, privacy, limit))
    method = Generalize(
        hierarchies(columns, forest), privacy, quality=quality, suppression_limit=limit
    )
    table = as_table(columns, records, ill)
    if None in expected:
        with pytest.raises(BadInput, match="cannot be met"):
            method.fit(table)
        return
    fitted(method, table)
    found = [tuple(one["levels"].values()) for one in method.levels_]
    assert found == [node for node, _, _ in expected]


MORE = [
    [],
    [LDiversity(2, column="ill")],
    [TCloseness(0.4, column="ill")],
    [LDiversity(2, column="ill"), TCloseness(0.3, column="ill", distance="ordered")],
]


@pytest.mark.parametrize("quality", QUALITIES)
@examples(30)
@given(
    example=tables(nulls=True),
    k=st.integers(1, 5),
    limit=st.sampled_from([0.2, 1.0]),
    more=st.sampled_from(MORE),
)
def test_a_match_counts_what_nulls_could_be(quality, example, k, limit, more):
    columns, forest, records, ill = example
    plain = Plain(records, forest, ill, match=True)
    privacy = [KAnonymity(k), *more]
    expected = plain.best(quality, privacy, limit)
    method = Generalize(
        hierarchies(columns, forest),
        privacy,
        quality=quality,
        null_policy="match",
        suppression_limit=limit,
    )
    table = as_table(columns, records, ill)
    if expected is None:
        with pytest.raises(BadInput, match="cannot be met"):
            method.fit(table)
        return
    node, value, suppressed = expected
    if suppressed == len(records) and more:
        # With k alone, all are k together.
        with pytest.raises(BadInput, match="nothing would remain"):
            method.fit(table)
        return
    method.fit(table)
    assert tuple(method.levels_[0]["levels"].values()) == node
    assert method.quality_ == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert method.suppressed_ == suppressed


def attack(method, frame, truth):
    """Link by someone who knows all true values: the largest confidence of a match."""
    out = method.fit_transform(frame)
    trees = {
        name: {row[0]: row for row in hierarchy.spec["rows"]}
        for name, hierarchy in method.hierarchies.items()
    }
    released = Counter(
        tuple(row)
        for row, gone in zip(out[list(trees)].to_numpy(object), method.unsafe_mask_, strict=True)
        if not gone
    )
    worst = 0.0
    for i in np.flatnonzero(~method.suppressed_mask_):
        # The attacker knows which cells are missing as well, and so the very tuple.
        worst = max(worst, 1 / released[tuple(out[list(trees)].iloc[i])])
        for name, tree in trees.items():
            label = out[name].iloc[i]
            assert pd.isna(label) or label in tree[truth[name].iloc[i]]
    return worst


def test_an_attacker_who_knows_the_missing_values_gains_nothing_from_segregated_records():
    rng = np.random.default_rng(5)
    truth = pd.DataFrame(
        {"a": rng.choice(list("uvwxyz"), 200), "b": rng.choice(["1", "2", "3", "4"], 200)}
    ).astype(object)
    frame = truth.copy()
    frame.loc[rng.choice(200, 40, replace=False), "a"] = None
    trees = {
        "a": Hierarchy.from_table([[c, "u-w" if c < "x" else "x-z", "*"] for c in "uvwxyz"]),
        "b": Hierarchy.from_table([[c, "1-2" if c < "3" else "3-4", "*"] for c in "1234"]),
    }
    apart = Generalize(trees, KAnonymity(5), suppression_limit=1.0)
    assert attack(apart, frame, truth) <= 1 / 5
    # Under a match a record may be released that has less company, and the plan's classes tell.
    frame.loc[frame.index[:3], "b"] = None
    match = Generalize(trees, KAnonymity(5), suppression_limit=1.0, null_policy="match")
    assert attack(match, frame, truth) > 1 / 5
    exposed = sum(
        s[s < 5].sum() for g in match.plan_["groups"] for r in g["rounds"] for s in [r["sizes"]]
    )
    assert exposed > 0


@pytest.mark.parametrize("quality", QUALITIES)
@examples(20)
@given(example=tables(nulls=True), k=st.integers(2, 4), local=st.booleans())
def test_the_quality_of_several_groups_and_rounds_is_that_of_the_whole(quality, example, k, local):
    columns, forest, records, ill = example
    privacy = [KAnonymity(k)]
    method = Generalize(
        hierarchies(columns, forest), privacy, quality=quality, suppression_limit=1.0, local=local
    )
    fitted(method, as_table(columns, records, ill))
    plain = Plain(records, forest, ill)
    levels: list = [(0,) * len(columns)] * len(records)
    classes, out = [], []
    for name, wanted in (("without nulls", False), ("with nulls", True)):
        left = [i for i, r in enumerate(records) if (None in r) == wanted]
        for one in method.levels_:
            if one["group"] not in (name, "all" if not wanted else None):
                continue
            node = tuple(one["levels"].values())
            nulls = [any(r[a] is None for r in records) for a in range(len(columns))]
            part = Plain([records[i] for i in left], forest, left, left, nulls)
            held, _ = part.kept(node, privacy)
            for i in left:
                levels[i] = node
            classes += [[left[j] for j in members] for members in held.values()]
            gone = {left[j] for members in held.values() for j in members}
            left = [i for i in left if i not in gone]
        out += left
    assert sorted(out) == np.flatnonzero(method.suppressed_mask_).tolist()
    whole = plain.united(quality, levels, classes, out)
    assert method.quality_ == pytest.approx(whole, rel=1e-9, abs=1e-9)


def with_nulls(cells, seed=1, rows=None):
    """Adult, or its first rows, with one random quasi-identifier cell nulled in some records."""
    frame = load_adult().slice(0, rows).to_pandas().astype(str).astype(object)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(frame), cells, replace=False)
    for row, column in zip(rows, rng.integers(0, len(ADULT), cells), strict=True):
        frame.iloc[row, frame.columns.get_loc(ADULT[column])] = None
    return frame


def adult_hierarchies():
    return {name: Hierarchy.from_csv(adult_hierarchy_paths()[name]) for name in ADULT}


def test_adult_with_nulls_loses_least_segregated_and_recoded_locally():
    frame = with_nulls(1000)
    options = {"aggregate": "sum", "suppression_limit": 1.0}
    value = Generalize(adult_hierarchies(), KAnonymity(10), null_policy="value", **options)
    apart = Generalize(adult_hierarchies(), KAnonymity(10), **options)
    local = Generalize(adult_hierarchies(), KAnonymity(10), local=True, **options)
    value, apart, local = (method.fit(frame) for method in (value, apart, local))
    assert value.quality_ == pytest.approx(2.25, abs=0.02)
    assert apart.quality_ == pytest.approx(2.14, abs=0.02)
    assert local.quality_ < 0.7
    assert apart.suppressed_ < value.suppressed_
    assert local.suppressed_ < 30


def test_a_null_stays_null_below_the_top():
    table = pd.DataFrame({"a": ["x", "x", "y", "y", None, None], "b": list("uuvvww")})
    hierarchy = {"a": Hierarchy.flat(), "b": Hierarchy.flat()}
    method = Generalize(hierarchy, KAnonymity(2), null_policy="value", suppression_limit=0)
    out = method.fit_transform(table)
    assert out["a"].isna().tolist() == [False] * 4 + [True] * 2
    top = Generalize(hierarchy, KAnonymity(2), null_policy="value", levels={"a": 1})
    assert set(top.fit_transform(table)["a"]) == {"*"}


SMALL = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 5 + [None, None], "pay": range(12)})


def test_a_group_smaller_than_k_is_suppressed():
    method = Generalize({"a": Hierarchy.flat()}, KAnonymity(3))
    with pytest.warns(UserWarning, match="suppressed as a whole") as warned:
        out = method.fit_transform(SMALL)
    assert [str(w.message) for w in warned] == [
        "the group of records 'with nulls', 2 in number, is suppressed as a whole: they are fewer "
        "than k = 3; use null_policy = 'value', or weaker models, to keep them"
    ]
    assert method.suppressed_mask_.tolist() == [False] * 10 + [True] * 2
    assert out.iloc[10:].isna().all(axis=None)
    assert out["a"].tolist()[:10] == ["x"] * 5 + ["y"] * 5


def test_a_group_smaller_than_k_is_appended_where_that_is_allowed():
    options = {"small_group": "append"}
    with pytest.raises(BadInput) as raised:
        Generalize({"a": Hierarchy.flat()}, KAnonymity(3), **options).fit(SMALL)
    assert str(raised.value) == (
        "small_group = 'append' releases records as they are; set allow_disclosure = true if that "
        "may be, or use small_group = 'suppress'"
    )
    method = Generalize({"a": Hierarchy.flat()}, KAnonymity(3), allow_disclosure=True, **options)
    out = method.fit_transform(SMALL)
    assert out["a"].isna().tolist() == [False] * 10 + [True] * 2
    assert out["pay"].tolist() == list(range(12))
    assert method.suppressed_ == 0
    assert method.transform(SMALL)["a"].isna().sum() == 2


def test_a_time_limit_is_replayed_by_evaluations():
    frame = with_nulls(300)
    release = discreet.protect(frame, recipe(time_limit=0.01))
    step = release.recipe.steps[0]
    assert step.time_limit is None
    assert len(step.evaluations) == 2
    again = discreet.protect(frame, release.recipe)
    assert again.table.equals(release.table)


def test_compiling_takes_nothing_from_a_time_limit(monkeypatch):
    clock, roll_up = [0.0], kernels.roll_up

    def slow_at_first(*given):
        clock[0] += 100.0 if clock[0] == 0.0 else 0.0
        return roll_up(*given)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(kernels, "roll_up", slow_at_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method = Generalize(HIERARCHIES, KAnonymity(2), time_limit=5.0).fit(PEOPLE)
    assert clock[0] == 100.0
    assert method.certificate_.proven
    assert method.levels_ == Generalize(HIERARCHIES, KAnonymity(2)).fit(PEOPLE).levels_


def test_a_search_without_proof_is_told():
    method = Generalize(HIERARCHIES, KAnonymity(2), evaluations=2)
    with pytest.warns(UserWarning, match="a gap of") as warned:
        method.fit(PEOPLE)
    gap = method.certificate_.gap
    assert gap > 0
    assert [str(w.message) for w in warned] == [
        f"the search ended with a gap of {gap:.2%}, so that better levels may exist; give a longer "
        "time_limit or more evaluations, or fewer levels"
    ]


def test_of_many_searches_without_proof_their_number_is_told():
    # A gap of 100 % in some group says nothing of the whole.
    method = Generalize(HIERARCHIES, KAnonymity(2), null_policy="segregate", evaluations=1)
    table = PEOPLE.copy()
    table.loc[table.index[::2], "zip"] = None
    with pytest.warns(UserWarning, match="ended early") as warned:
        method.fit(table)
    ended = [one for one in method.certificate_ if one.gap > 0]
    assert len(method.certificate_) > 1
    assert [str(w.message) for w in warned] == [
        f"{len(ended)} of {len(method.certificate_)} searches ended early, so that better levels "
        "may exist; give a longer time_limit or more evaluations, or fewer levels"
    ]


def test_small_losses_keep_their_digits():
    weights = {"age": 1e-13, "zip": 1e-13}
    method = Generalize(HIERARCHIES, KAnonymity(3), quality="loss", weights=weights).fit(PEOPLE)
    plain = Generalize(HIERARCHIES, KAnonymity(3), aggregate="mean").fit(PEOPLE)
    # Of small numbers the geometric mean is the mean.
    assert method.levels_ == plain.levels_
    assert method.quality_ == pytest.approx(plain.quality_ * 1e-13, rel=1e-11, abs=0)


def test_a_recipe_is_written_and_read_again():
    text = discreet.Recipe.from_dict(recipe(levels={"age": [1, 3], "sex": 0})).dump()
    assert discreet.Recipe.from_toml(text).dump() == text


def test_several_confidential_columns_must_all_hold():
    people = PEOPLE.assign(pay=[1, 1, 1, 2, 2, 2, 2, 1])
    models = [LDiversity(2, column="ill"), LDiversity(2, column="pay")]
    out = Generalize(HIERARCHIES, models, suppression_limit=0).fit_transform(people)
    for _, part in out.groupby(["age", "zip"]):
        assert part["ill"].nunique() >= 2
        assert part["pay"].nunique() >= 2


def test_hierarchical_closeness_counts_how_far_values_are_apart():
    near = Hierarchy.groups({"skin": ["acne"], "other": ["flu", "gout"]})
    # Equal distance: 0.5 for each half. Along the tree, flu and gout are half as far apart.
    people = pd.DataFrame({"a": list("uuvv"), "ill": ["flu", "flu", "gout", "gout"]})
    for t, kept in ((0.24, 0), (0.25, 4)):
        model = TCloseness(t, column="ill", distance="hierarchical", hierarchy=near)
        method = Generalize({"a": Hierarchy.flat()}, model, suppression_limit=1.0, levels={"a": 0})
        assert 4 - method.fit(people).suppressed_ == kept


def test_classes_without_a_confidential_value_pass_and_are_counted():
    people = pd.DataFrame({"a": list("uuvvww"), "ill": ["flu", "gout", None, None, "flu", "gout"]})
    step = {
        "method": "generalize",
        "columns": ["a"],
        "hierarchies": {"a": {"kind": "flat"}},
        "privacy": [{"model": "t-closeness", "t": 0.1, "column": "ill"}],
    }
    recipe = {"roles": {"quasi": ["a"], "confidential": ["ill"]}, "steps": [step]}
    release = discreet.protect(people, recipe)
    assert release.table["a"].tolist() == list("uuvvww")
    assert release.log["steps"][0]["classes_without_values"] == {"ill": 1}


def test_beta_uses_the_distribution_of_all_records_in_every_group():
    people = pd.DataFrame(
        {
            "a": ["x"] * 6 + [None] * 4,
            "ill": ["flu"] * 5 + ["gout"] + ["gout"] * 4,
        }
    )
    # In the group with nulls gout has p = 1 against q = 0.5: a gain of 1, though all in it agree.
    method = Generalize(
        {"a": Hierarchy.flat()}, BetaLikeness(0.9, column="ill"), suppression_limit=1.0
    )
    assert method.fit(people).suppressed_mask_.tolist() == [False] * 6 + [True] * 4
