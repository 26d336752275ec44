"""Null policies of Mondrian: groups, matching nulls, and releases that pass their check."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization import Hierarchy, KAnonymity, LDiversity, Mondrian
from discreet.risk.frequency import frequencies
from tests.examples import examples
from tests.generalization.test_mondrian import labels_of, tables, treat

NAMES = ["age", "job", "rooms"]


# Table 1 of "Enhanced ARX anonymization: (K, R_n^N)-anonymity".
PATIENTS = pd.DataFrame(
    {
        "age": [14, 18, 25, 26, None, 37, None, 48],
        "zip": [632002, 632006, None, None, 632007, 632009, 632012, 632014],
        "illness": ["Hypertension", "Cancer", "Birth defects", "Bird flu", "Bird flu",
                    "Heart disease", "Hypertension", "Bird flu"],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "stars_or_nulls"),
    [
        ({"null_policy": "contaminate"}, 16),
        ({"null_policy": "value", "enhanced": True}, 8),
        ({"null_policy": "segregate", "enhanced": True}, 4),
        ({"null_policy": "semi-partition", "strict": False}, 8),
    ],
)
def test_the_papers_eight_patients(parameters, stars_or_nulls):
    method, out = treat(PATIENTS, columns=["age", "zip"], **parameters)
    cells = out[["age", "zip"]]
    assert int((cells.isna() | (cells == "*")).sum().sum()) == stars_or_nulls
    assert method.suppressed_ == 0
    assert (out["illness"] == PATIENTS["illness"]).all()


def test_a_null_alone_gets_company_that_loses_its_value():
    """Semi-partition: of the larger half the last record joins the null, and is `*` with it."""
    ages = pd.DataFrame({"age": [*range(10, 19), None]})
    method, out = treat(ages, null_policy="semi-partition", strict=False)
    assert out["age"].tolist() == [
        "10-11", "10-11", "12-13", "12-13", "*", "15-16", "15-16", "17-18", "17-18", "*"
    ]  # fmt: skip
    assert method.plan_["classes"].tolist() == [0, 0, 1, 1, 4, 2, 2, 3, 3, 4]


def test_semi_partition_is_refused_where_it_cannot_keep_the_promise():
    table = pd.DataFrame({"age": [1, 2, 3, 4, None, 6], "who": list("aabbcc")})
    diverse = [KAnonymity(2), LDiversity(2, column="who")]
    refused = {
        "takes records from among their equals; set strict = false": {"strict": True},
        "is for k-anonymity alone, not for l-diversity; use 'segregate'": {"privacy": diverse},
        "does anyway; use one of them": {"enhanced": True},
    }
    for message, options in refused.items():
        asked = {"strict": False, "privacy": [KAnonymity(2)], "columns": ["age"], **options}
        with pytest.raises(BadInput, match=message):
            Mondrian(null_policy="semi-partition", **asked).fit_transform(table)
    method = Mondrian([KAnonymity(2)], null_policy="semi-partition", strict=False, columns=["age"])
    with pytest.raises(BadInput, match="counts records, and here units have several; use 'seg"):
        method.fit_transform(table, units=table["who"])
    roles = {"quasi": ["age"], "insensitive": ["who"]}
    step = {"method": "mondrian", "columns": ["age"], "null_policy": "semi-partition"}
    step |= {"strict": False, "privacy": [{"model": "k-anonymity", "k": 2}]}
    with pytest.raises(BadInput, match="strict = false shares out equal values in row order"):
        discreet.protect(table, {"roles": roles, "steps": [step]}, engine="duckdb")


def test_the_patients_classes():
    method, out = treat(PATIENTS, columns=["age", "zip"], enhanced=True)
    assert method.classes_.tolist() == [0, 0, 3, 3, 2, 1, 2, 1]
    assert out["age"].tolist()[:2] + out["age"].tolist()[5:6] == ["14-18", "14-18", "37-48"]
    assert out["zip"].tolist()[4:] == ["632007-632012", "632009-632014"] * 2
    assert out["age"].isna().tolist() == [False] * 4 + [True, False, True, False]
    assert [
        (g["group"], g["treatment"], g["rows"], g["first_class"], g["classes"])
        for g in method.plan_["groups"]
    ] == [("without nulls", "cut", 4, 0, 2), ("with nulls", "cut", 4, 2, 2)]


@examples(100)
@given(table=tables(), k=st.integers(1, 4), strict=st.booleans(), enhanced=st.booleans())
def test_every_record_matches_k_where_a_null_equals_anything(table, k, strict, enhanced):
    given_ = pa.table({name: pa.array(table[name].tolist()) for name in table.columns})
    if k > len(table):
        return
    method = Mondrian(KAnonymity(k), strict=strict, enhanced=enhanced, null_policy="match")
    out = method.fit_transform(given_)
    names = out.column_names
    assert frequencies(out, names, nulls="match").sample.min() >= k
    # Nulls are where they were, and nobody is suppressed.
    for name in names:
        assert out[name].is_null().to_pylist() == given_[name].is_null().to_pylist()
    assert method.suppressed_ == 0
    exposed = method.run({name: given_[name] for name in names}, None).figures["exposed"]
    assert exposed == (frequencies(out, names).sample < k).sum()


def test_nulls_that_match_go_to_the_smaller_side_and_stay():
    table = pa.table({"x": [1, 1, 2, 5, 6, None], "y": ["a", "a", "a", "b", "b", "b"]})
    method = Mondrian(KAnonymity(3), null_policy="match", columns=["x"])
    assert method.fit_transform(table)["x"].to_pylist() == ["1-2"] * 3 + ["5-6"] * 2 + [None]
    assert method.plan_["sizes"].tolist() == [3, 3]
    # As one more value the null takes the values beside it along.
    out = Mondrian(KAnonymity(3), null_policy="value", columns=["x"]).fit_transform(table)
    assert out["x"].to_pylist() == ["1-2"] * 3 + ["*"] * 3


def test_small_groups_are_suppressed_or_appended():
    table = pa.table({"x": [1, 2, 3, 4, None], "y": ["a", "b", "c", "d", "e"], "z": range(5)})
    with pytest.warns(UserWarning, match="'with nulls', 1 in number, .* they are fewer than k = 2"):
        method, out = treat(table, columns=["x", "y"])
    assert method.suppressed_mask_.tolist() == [False] * 4 + [True]
    # One record is no class of two: nothing of it stays.
    assert out.to_pylist()[4] == {"x": None, "y": None, "z": None}
    assert method.classes_.tolist() == [0, 0, 1, 1, -1]
    method, out = treat(table, columns=["x", "y"], small_group="append", allow_disclosure=True)
    assert method.suppressed_ == 0
    assert out.to_pylist()[4] == {"x": None, "y": "e", "z": 4}
    assert [group["treatment"] for group in method.plan_["groups"]] == ["cut", "append"]
    assert method.plan_["sizes"].tolist() == [2, 2, 1]


def test_columns_of_any_type_are_emptied():
    table = pa.table(
        {
            "x": [1, 2, None],
            "category": pa.array(["a", "b", "a"]).dictionary_encode(),
            "list": [[1], [2, 3], None],
            "when": [dt.date(2020, 1, 1)] * 3,
        }
    )
    _, out = treat(table, columns=["x"])
    assert out.slice(2).to_pylist() == [dict.fromkeys(table.column_names)]
    assert out.slice(0, 2).drop(["x"]).equals(table.slice(0, 2).drop(["x"]))
    frame = table.drop(["list"]).to_pandas()
    _, out = treat(frame, columns=["x"])
    assert out["category"].dtype == frame["category"].dtype
    assert out["category"].tolist()[:2] == ["a", "b"]
    assert out.iloc[2].isna().all()


def test_suppressed_records_that_are_enough_stay_as_stars():
    table = pa.table({"x": [1, 2, None, None], "z": range(4)})
    method, out = treat(table, columns=["x"], null_policy="suppress")
    assert out.to_pylist()[2:] == [{"x": "*", "z": 2}, {"x": "*", "z": 3}]
    assert method.suppressed_ == 2


@pytest.mark.parametrize("small_group", ["suppress", "append"])
def test_a_group_that_breaks_another_model_is_suppressed_and_told(small_group):
    table = pa.table({"x": [1, 2, 3, 4, None, None], "ill": ["a", "b", "a", "b", "a", "a"]})
    models = [KAnonymity(2), LDiversity(2, column="ill")]
    method = Mondrian(models, small_group=small_group, allow_disclosure=True)
    with pytest.warns(UserWarning, match="suppressed as a whole") as warned:
        out = method.fit_transform(table)
    assert [str(w.message) for w in warned] == [
        "the group of records 'with nulls', 2 in number, is suppressed as a whole: they do not keep "
        "LDiversity(l=2, column='ill', kind='distinct', c=None, estimator=None) even as one class; use null_policy "
        "= 'value', or weaker models, to keep them"
    ]
    assert method.suppressed_mask_.tolist() == [False] * 4 + [True] * 2
    assert out["ill"].to_pylist() == ["a", "b", "a", "b", None, None]


def test_appended_records_are_told():
    table = {"x": pa.chunked_array([[1, 2, 3, 4, None]])}
    method = Mondrian(KAnonymity(2), small_group="append", allow_disclosure=True)
    assert method.run(table, None).disclosed.tolist() == [False] * 4 + [True]


def test_only_nulls():
    with pytest.raises(BadInput, match="column 'x' holds only nulls"):
        Mondrian(KAnonymity(1)).fit(pa.table({"x": pa.array([None, None], pa.int64())}))
    table = pa.table({"x": [1, None], "y": [None, 1]})
    with pytest.raises(BadInput, match="every record has a null; use another null_policy"):
        Mondrian(KAnonymity(1), null_policy="suppress").fit(table)
    # All records are in one group then, and are cut as such.
    groups = Mondrian(KAnonymity(2)).fit(table).plan_["groups"]
    assert [(g["group"], g["treatment"]) for g in groups] == [("with nulls", "cut")]


def test_a_null_among_values_is_everything():
    policy = {"null_policy": "value"}
    assert labels_of([5, 5, None], 3, **policy) == ["*"] * 3
    assert labels_of(["a", "a", None], 3, **policy) == ["*"] * 3
    assert labels_of(["a", None, None, "a"], **policy) == ["a", None, None, "a"]
    hierarchies = {"x": Hierarchy.groups({"A": ["a", "b"], "C": ["c"]})}
    assert labels_of(["a", "a", None], 3, hierarchies=hierarchies, **policy) == ["*"] * 3


# 4 complete; 3 without age, 2 without job, 1 without both, 1 without rooms.
PATTERNS = pa.table(
    {
        "age": [20, 21, 40, 41, None, None, None, 30, 31, None, 50],
        "job": ["a", "b", "c", "d", "a", "a", "b", None, None, None, "e"],
        "rooms": [1, 2, 3, 4, 2, 2, 3, 4, 5, 1, None],
        "id": range(11),
    }
)


def test_groups_by_the_columns_that_are_null():
    method = Mondrian(KAnonymity(2), columns=NAMES, segregate="pattern")
    out = method.fit_transform(PATTERNS)
    groups = method.plan_["groups"]
    assert [(g["group"], g["patterns"], g["treatment"], g["rows"]) for g in groups] == [
        ("without nulls", None, "cut", 4),
        ("nulls 2", [["job"]], "cut", 2),
        ("nulls 1", [["age"]], "cut", 3),
        # Two patterns of one record each are a group together.
        ("with nulls", [["rooms"], ["age", "job"]], "cut", 2),
    ]
    assert method.suppressed_ == 0
    assert out["age"].is_null().to_pylist() == [False] * 4 + [True] * 3 + [False] * 4
    assert out.slice(9).select(NAMES).to_pylist() == [dict.fromkeys(NAMES, "*")] * 2


def test_small_patterns_take_the_smallest_group_along():
    method = Mondrian(KAnonymity(3), columns=NAMES, segregate="pattern").fit(PATTERNS)
    assert [(g["patterns"], g["rows"]) for g in method.plan_["groups"]] == [
        (None, 4),
        ([["age"]], 3),
        ([["rooms"], ["job"], ["age", "job"]], 4),
    ]
    # With k = 4 they are one, and with k = 5 those without nulls are too few.
    method = Mondrian(KAnonymity(4), columns=NAMES, segregate="pattern").fit(PATTERNS)
    assert [g["rows"] for g in method.plan_["groups"]] == [4, 7]
    method = Mondrian(KAnonymity(5), columns=NAMES, segregate="pattern").fit(PATTERNS)
    assert [g["treatment"] for g in method.plan_["groups"]] == ["suppress", "cut"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_several_groups_that_break_a_model_are_all_suppressed():
    ill = ["x", "y", "x", "y", "x", "y", "x", "x", "x", "y", "y"]
    table = PATTERNS.append_column("ill", pa.array(ill))
    models = [KAnonymity(2), LDiversity(2, column="ill")]
    method = Mondrian(models, columns=NAMES, segregate="pattern")
    out = method.fit_transform(table)
    # Those without a job are all ill of x, the two of the last group of y.
    assert np.flatnonzero(method.suppressed_mask_).tolist() == [7, 8, 9, 10]
    assert out["id"].to_pylist() == [*range(7), None, None, None, None]
    # They are not small, so that nothing of them is released as it is.
    method.set_params(small_group="append", allow_disclosure=True)
    assert method.fit_transform(table).equals(out)
    columns = {name: table[name] for name in NAMES}
    raw = method.run(columns, None, others={"ill": table["ill"]}).disclosed
    assert not raw.any()


def test_records_that_are_all_null_are_a_group_like_others():
    table = pa.table({"x": [1, 2, None, None, 3], "y": ["a", "b", None, None, None]})
    method = Mondrian(KAnonymity(2), segregate="pattern")
    out = method.fit_transform(table)
    assert out.slice(2).to_pylist() == [{"x": "*", "y": None}] * 3
    assert [g["patterns"] for g in method.plan_["groups"]] == [None, [["y"], ["x", "y"]]]
    table = pa.concat_tables([table, table.slice(4)])
    out = Mondrian(KAnonymity(2), segregate="pattern").fit_transform(table)
    assert out.slice(2, 2).to_pylist() == [{"x": None, "y": None}] * 2


def people(n=120):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 60, n).astype(float),
            "job": rng.choice(list("abcdef"), n),
            "rooms": rng.integers(1, 6, n).astype(float),
            "ill": rng.choice(list("xyz"), n),
        }
    )
    for name, share in (("age", 0.15), ("job", 0.1), ("rooms", 0.02)):
        frame.loc[rng.random(n) < share, name] = None
    frame.loc[[3, 4], NAMES] = None
    return frame


def recipe(**options):
    step = {"method": "mondrian", "columns": NAMES, **options}
    step.setdefault("privacy", [{"model": "k-anonymity", "k": 3}])
    return {"roles": {"quasi": NAMES, "confidential": ["ill"]}, "steps": [step]}


DIVERSE = [{"model": "k-anonymity", "k": 3}, {"model": "l-diversity", "l": 2, "column": "ill"}]
CUTS = [{}, {"strict": False}, {"enhanced": True}, {"enhanced": True, "strict": False}]
CASES = [
    *({"null_policy": policy, **cut} for policy in ("value", "suppress", "match") for cut in CUTS),
    *({"segregate": by, **cut} for by in ("any", "pattern") for cut in CUTS),
    *({"null_policy": "contaminate", **cut} for cut in CUTS[:2]),
    {"null_policy": "semi-partition", "strict": False},
    {"segregate": "pattern", "privacy": DIVERSE},
    {"null_policy": "match", "privacy": DIVERSE},
    {"segregate": "any", "privacy": DIVERSE, "enhanced": True},
]


@pytest.mark.parametrize("options", CASES, ids=str)
def test_a_saved_release_passes_its_check(options, tmp_path):
    table = people()
    release = discreet.protect(table, recipe(**options))
    assert release.check.verified
    release.save(tmp_path / "out")
    (file,) = (tmp_path / "out" / "public").glob("table.*")
    internal = tmp_path / "out" / "internal"
    report = discreet.check_release(file, internal / "recipe.toml", internal, table)
    assert report.verified
    promises = [finding.promise for finding in report.findings]
    apart = [promise for promise in promises if "within each group by nulls" in promise]
    assert bool(apart) == ("segregate" in options)
    matched = options.get("null_policy") == "match"
    assert any(promise.startswith("wildcard") for promise in promises) == matched


@pytest.mark.parametrize("small_group", ["suppress", "append"])
def test_a_small_group_in_a_release(small_group, tmp_path):
    table = people()[lambda t: ~t[NAMES].isna().any(axis=1)].reset_index(drop=True)
    table.loc[[5, 9], "age"] = None
    options = {"small_group": small_group, "allow_disclosure": small_group == "append"}
    release = discreet.protect(table, recipe(**options))
    release.save(tmp_path / "out")
    (file,) = (tmp_path / "out" / "public").glob("table.*")
    internal = tmp_path / "out" / "internal"
    report = discreet.check_release(file, internal / "recipe.toml", internal, table)
    assert report.verified
    written = discreet.read_table(file)
    if small_group == "suppress":
        assert written.num_rows == len(table) - 2
        assert release.table.loc[[5, 9]].isna().all(axis=None)
    else:
        assert written.num_rows == len(table)
        assert release.table.loc[5, "job"] == table.loc[5, "job"]
        assert release.table.loc[[5, 9], "age"].isna().all()


def test_a_release_that_mixes_groups_is_found_out(tmp_path):
    """Records with nulls that are put into a class of those without break the models there."""
    table = pd.DataFrame({"age": [1, 2, 8, 9, None, None], "ill": list("xyxyxy")})
    roles = {"quasi": ["age"], "confidential": ["ill"]}
    step = {"method": "mondrian", "columns": ["age"], "privacy": [{"model": "k-anonymity", "k": 3}]}
    value = {"roles": roles, "steps": [step | {"null_policy": "value"}]}
    release = discreet.protect(table, value)
    claimed = {"roles": roles, "steps": [step | {"null_policy": "segregate"}]}
    release.save(tmp_path / "out")
    (file,) = (tmp_path / "out" / "public").glob("table.*")
    report = discreet.check_release(file, claimed, tmp_path / "out" / "internal", table)
    broken = [f.promise for f in report.findings if f.status == "broken"]
    assert "k-anonymity (k = 3) over age, within each group by nulls" in broken
    assert "k-anonymity (k = 3) over age" not in broken
