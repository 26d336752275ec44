"""Anatomy: groups of l different values, two tables, and what the check makes of them."""

import json
import os
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.generalization import Anatomy
from discreet.utility import null_rates
from tests.examples import examples

SEEDS = {"seed": 2**100 + 7, "order_seed": 2**99 + 5}


def recipe(*, l=3, confidential=("ill",), roles=None, **more):  # noqa: E741
    step = {"method": "anatomy", "columns": ["age", "zip"], "l": l}
    step |= {"confidential": list(confidential), **more}
    default = {"quasi": ["age", "zip"], "confidential": list(confidential), "rest": "drop"}
    return {**SEEDS, "roles": default | (roles or {}), "steps": [step]}


def patients(n=90, seed=0, nulls=0.0):
    rng = np.random.default_rng(seed)
    age = pa.array(rng.integers(18, 90, n), mask=rng.random(n) < nulls)
    where = pa.array(rng.choice(["10115", "10117", "20337"], n), mask=rng.random(n) < nulls)
    ill = rng.permutation(np.resize(["flu", "gout", "acne", "ms", "none"], n))
    return pa.table({"age": age, "zip": where, "ill": ill, "drug": rng.permutation(ill)})


def partitions(rows):
    """Every way to put rows into groups."""
    if not rows:
        yield []
        return
    first, *rest = rows
    for found in partitions(rest):
        yield [[first], *found]
        for i in range(len(found)):
            yield [*found[:i], [first, *found[i]], *found[i + 1 :]]


def diverse(values, l):  # noqa: E741
    return len(set(values)) >= l and max(Counter(values).values()) * l <= len(values)


# The groups


@examples(200)
@given(
    values=st.lists(st.sampled_from("abcde"), min_size=1, max_size=7),
    l=st.integers(2, 4),
    seed=st.integers(0, 2**32),
)
def test_it_refuses_exactly_what_no_grouping_can_do(values, l, seed):  # noqa: E741
    table = pd.DataFrame({"q": range(len(values)), "s": values})
    brute = any(
        all(diverse([values[i] for i in group], l) for group in found)
        for found in partitions(list(range(len(values))))
    )
    assert brute == (max(Counter(values).values()) * l <= len(values))
    method = Anatomy(l, ["s"], random_state=seed)
    if brute:
        method.fit_transform(table)
        assert (method.groups_ > 0).all()
    else:
        with pytest.raises(BadInput, match=f"cannot have {l} different values in every group"):
            method.fit_transform(table)


@examples(150)
@given(
    n=st.integers(2, 120),
    kinds=st.integers(2, 12),
    l=st.integers(2, 5),
    missing=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 2**32),
)
def test_groups_hold_different_values_and_all_of_them(n, kinds, l, missing, seed):  # noqa: E741
    rng = np.random.default_rng(seed)
    values = [None if rng.random() < missing else f"v{rng.integers(kinds)}" for _ in range(n)]
    table = pa.table({"q": rng.integers(0, 9, n), "s": pa.array(values, pa.string())})
    method = Anatomy(l, ["s"], random_state=seed)
    present = [value for value in values if value is not None]
    if not present or max(Counter(present).values()) * l > len(present):
        with pytest.raises(BadInput):
            method.fit_transform(table)
        return
    after = method.fit_transform(table)
    assert after["q"].equals(table["q"])
    assert not method.suppressed_mask_.any()
    before, now = defaultdict(Counter), defaultdict(Counter)
    for group, old, new in zip(method.groups_, values, after["s"].to_pylist(), strict=True):
        before[group][old] += 1
        now[group][new] += 1
    assert before == now
    # As many groups as there can be: each has l records with a value, and fewer than l are left.
    assert sorted(now) == list(range(1, len(present) // l + 1))
    for held in now.values():
        held.pop(None, None)
        assert len(held) >= l
        assert set(held.values()) == {1}


@examples(60)
@given(n=st.integers(20, 150), l=st.integers(2, 3), seed=st.integers(0, 2**32))
def test_several_columns_are_diverse_each(n, l, seed):  # noqa: E741
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 8, n), rng.integers(0, 8, n)
    two = np.where(rng.random(n) < 0.5, one, two)
    method = Anatomy(l, ["s", "t"], random_state=seed)
    table = pd.DataFrame({"q": range(n), "s": one, "t": two})
    if max(max(Counter(column.tolist()).values()) for column in (one, two)) * l > n:
        with pytest.raises(BadInput, match=f"cannot have {l} different values in every group"):
            method.fit_transform(table)
        return
    after = method.fit_transform(table)
    kept = ~method.suppressed_mask_
    assert after[~kept].isna().all(axis=None)
    for _, rows in after[kept].groupby(method.groups_[kept]):
        assert len(rows) >= l
        assert rows["s"].is_unique
        assert rows["t"].is_unique
    pairs = Counter(zip(one[kept], two[kept], strict=True))
    assert pairs == Counter(zip(after["s"][kept], after["t"][kept], strict=True))


def test_the_papers_example():
    """Table 1 of the paper: eight patients of five diseases; l = 2 gives two tuples a group."""
    diseases = ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia"]
    diseases += ["flu", "gastritis", "flu", "bronchitis"]
    table = pd.DataFrame({"age": [23, 27, 35, 59, 61, 65, 65, 70], "disease": diseases})
    method = Anatomy(2, ["disease"], random_state=1)
    method.fit_transform(table)
    assert np.bincount(method.groups_).tolist() == [0, 2, 2, 2, 2]


def test_within_a_group_each_value_is_as_likely_for_each_record():
    table = pd.DataFrame({"q": range(3600), "s": ["a", "b", "c"] * 1200})
    method = Anatomy(3, ["s"], random_state=1)
    after = method.fit_transform(table)
    # Of each group, the records that values came from.
    places = [
        tuple(rows["s"].tolist().index(value) for value in after["s"][rows.index])
        for _, rows in table.groupby(method.groups_)
    ]
    drawn = Counter(places)
    # Six orders, 200 each; the standard deviation is 12.9.
    assert len(drawn) == 6
    assert max(abs(count - 200) for count in drawn.values()) < 65


def test_groups_and_their_numbers_do_not_follow_the_rows():
    table = pd.DataFrame({"q": range(400), "s": [f"v{i % 4}" for i in range(400)]})
    groups = Anatomy(4, ["s"], random_state=3)
    groups.fit_transform(table)
    assert abs(np.corrcoef(groups.groups_, table["q"])[0, 1]) < 0.2
    spread = table["q"].groupby(groups.groups_).std()
    assert spread.mean() > 80  # 115 for rows at random, 1.3 for neighbours


# Nulls


def segregated():
    """Twelve records, of which three lack an age, two a zip, and one both."""
    age = [1, 2, 3, 4, 5, 6, None, None, None, 10, 11, None]
    where = ["a"] * 9 + [None, None, None]
    ill = ["flu", "gout", "acne"] * 3 + ["flu", "flu", "ms"]
    return pa.table({"age": age, "zip": where, "ill": ill})


def test_records_with_the_same_nulls_are_grouped_among_themselves():
    method = Anatomy(3, ["ill"], random_state=1)
    said = (
        "^3 records fit into no group of 3 different confidential values among those with the same "
        r"nulls, and are suppressed$"
    )
    with pytest.warns(UserWarning, match=said):
        after = method.fit_transform(segregated())
    groups = method.groups_
    assert len(set(groups[6:9])) == 1
    assert not set(groups[:6]) & set(groups[6:9])
    assert groups[9:].tolist() == [0, 0, 0]
    assert after.slice(9).to_pylist() == [{"age": None, "zip": None, "ill": None}] * 3


def test_eight_patients_keep_their_nulls_and_nobody_is_suppressed():
    """Table 1 of the (K, R_n^N)-anonymity paper, which generalization alone turns into stars."""
    ill = ["Hypertension", "Cancer", "Birth defects", "Bird flu"]
    ill += ["Bird flu", "Heart disease", "Hypertension", "Bird flu"]
    age = [14, 18, 25, 26, None, 37, None, 48]
    where = [632002, 632006, None, None, 632007, 632009, 632012, 632014]
    table = pa.table({"age": age, "zip": where, "ill": ill})
    method = Anatomy(2, ["ill"], random_state=1)
    after = method.fit_transform(table)
    rates = null_rates(
        table, after, ["age", "zip"], suppressed=method.suppressed_mask_, detail=True
    )
    assert (rates.suppressed, rates.value, rates.records) == (0, 0.25, 0.5)
    # Groups of two, of the same nulls.
    assert {tuple(np.flatnonzero(method.groups_ == g)) for g in method.groups_[[2, 4]]} == {
        (2, 3),
        (4, 6),
    }


def test_those_that_cannot_be_apart_are_put_with_the_others_if_told():
    table = segregated()
    table = table.set_column(2, "ill", pa.array(["flu", "gout", "acne"] * 3 + ["ms", "ms", "gout"]))
    method = Anatomy(3, ["ill"], small_group="append", random_state=1)
    method.fit_transform(table)
    groups = method.groups_
    assert (groups > 0).all()
    assert not set(groups[6:9]) & set(np.delete(groups, [6, 7, 8]))
    together = Anatomy(3, ["ill"], null_policy="value", random_state=1)
    together.fit_transform(table)
    assert np.bincount(together.groups_).tolist() == [0, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"small_group": "append"},
            "column 'ill' cannot have 3 different values in every group: of 9 values beside no "
            "nulls, or nulls that too few share, 4 are 'flu', and 3 at most can be; take l = 2",
        ),
        (
            {"null_policy": "value"},
            "column 'ill' cannot have 3 different values in every group: of 12 values, 5 are 'flu', "
            "and 4 at most can be; take l = 2",
        ),
        ({"l": 1}, "l must be a whole number of at least 2, not 1"),
        ({"confidential": "ill"}, "confidential must be a list of column names, not 'ill'"),
        (
            {"confidential": ["il"]},
            "confidential names 'il', which is not there; did you mean 'ill'?",
        ),
        (
            {"confidential": ["age", "zip", "ill"]},
            "all columns are confidential; name quasi columns in the first table",
        ),
    ],
)
def test_refusals_are_said_in_a_sentence(more, said):
    with pytest.raises(BadInput) as error:
        Anatomy(**{"l": 3, "confidential": ["ill"], **more}).fit_transform(segregated())
    assert str(error.value) == said


def test_confidential_nulls_are_no_values():
    table = pd.DataFrame({"q": range(8), "s": ["a", "b", None, None, None, None, "a", "b"]})
    method = Anatomy(2, ["s"], random_state=1)
    after = method.fit_transform(table)
    for _, held in after["s"].groupby(method.groups_):
        assert sorted(held.dropna()) == ["a", "b"]
    with pytest.raises(BadInput, match=r"^column 's' has no values$"):
        Anatomy(2, ["s"]).fit_transform(table.assign(s=pa.nulls(8).to_pandas()))


# Releases


def test_a_release_is_in_two_tables(tmp_path):
    table = patients(nulls=0.1)
    release = discreet.protect(table, recipe())
    assert release.table.column_names == ["age", "zip", "ill", "group"]
    written = release.save(tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out" / "public")) == [
        "codebook.md",
        "confidential.csv",
        "report.html",
        "table.csv",
    ]
    first = pd.read_csv(written, dtype={"zip": str})
    second = pd.read_csv(written.with_name("confidential.csv"), keep_default_na=False)
    assert list(first) == ["age", "zip", "group"]
    assert list(second) == ["group", "ill"]
    assert second["group"].is_monotonic_increasing
    rows = pd.read_parquet(tmp_path / "out" / "internal" / "rows.parquet")["original_row"]
    before = table.to_pandas().loc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(first[["age", "zip"]], before[["age", "zip"]], check_dtype=False)
    own = before["ill"].groupby(first["group"]).apply(sorted)
    assert own.to_dict() == second["ill"].groupby(second["group"]).apply(sorted).to_dict()
    assert (second["ill"].groupby(second["group"]).nunique() >= 3).all()
    said = (written.parent / "codebook.md").read_text()
    assert "The table `confidential` has ill, by group" in said
    assert "| age |  | numeric | int64 | 18 to 89 | nothing |" in said


def test_tables_in_memory_are_those_that_are_written():
    for table in (patients(), patients().to_pandas(), pl.DataFrame(patients())):
        release = discreet.protect(table, recipe())
        tables = release.tables
        assert list(tables) == ["table", "confidential"]
        assert type(tables["table"]) is type(tables["confidential"]) is type(table)
        first, second = (
            pl.DataFrame(one) if not isinstance(one, pd.DataFrame) else pl.from_pandas(one)
            for one in tables.values()
        )
        assert first.columns == ["age", "zip", "group"]
        assert second.columns == ["group", "ill"]
        assert second["group"].is_sorted()
        assert sorted(first["group"]) == sorted(second["group"])
        assert sorted(second["ill"]) == sorted(patients()["ill"].to_pylist())
    plain = {"roles": {"confidential": ["ill"], "rest": "drop"}, "steps": []}
    assert list(discreet.protect(patients(), plain).tables) == ["table"]


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        discreet.protect(patients(nulls=0.1), recipe()).save(tmp_path / name)
    for file in ("table.csv", "confidential.csv"):
        one, two = ((tmp_path / n / "public" / file).read_bytes() for n in ("one", "two"))
        assert one == two
    other = recipe() | {"seed": 2**100 + 8}
    discreet.protect(patients(nulls=0.1), other).save(tmp_path / "three")
    assert (tmp_path / "three" / "public" / "confidential.csv").read_bytes() != one


@pytest.mark.parametrize("format", ["csv", "csv.gz", "parquet", "feather", "xlsx", "sav", "dta"])
def test_every_format_is_joined_again(tmp_path, format):
    table, asked = patients(nulls=0.1), recipe()
    discreet.protect(table, asked).save(tmp_path / "out", format=format)
    found = discreet.check_release(
        tmp_path / "out" / "public" / f"table.{format}", asked, tmp_path / "out" / "internal", table
    )
    assert found.verified, str(found)
    assert (tmp_path / "out" / "public" / f"confidential.{format}").is_file()


def test_a_guarded_csv_is_joined_again(tmp_path):
    table = patients().set_column(2, "ill", pa.array(["=flu", "-gout", "acne"] * 30))
    release = discreet.protect(table, recipe())
    written = release.save(tmp_path / "out", csv_safe=True)
    assert '"\'=flu"' in written.with_name("confidential.csv").read_text()
    found = discreet.check_release(written, recipe(), tmp_path / "out" / "internal", table)
    assert found.verified, str(found)


def test_what_cannot_be_written_or_run_is_refused(tmp_path):
    release = discreet.protect(patients(), recipe())
    with pytest.raises(BadInput) as error:
        release.save(tmp_path / "out.csv")
    assert str(error.value) == (
        "anatomy releases two tables, which do not go into one file; give a folder instead of "
        f"{tmp_path / 'out.csv'}"
    )
    with pytest.raises(BadInput) as error:
        discreet.protect(patients(), recipe(), "duckdb")
    assert str(error.value) == (
        "step 1 (anatomy) cannot run on duckdb: it looks at the rows themselves; use --engine memory"
    )
    with pytest.raises(BadInput) as error:
        discreet.protect(
            patients().rename_columns(["age", "zip", "ill", "group"]),
            recipe(roles={"rest": None, "insensitive": ["group"]}),
        )
    assert str(error.value) == (
        "the table has a column 'group' already; call the groups otherwise, such as "
        'group = "group_number"'
    )
    two = recipe(roles={"confidential": ["ill", "drug"]})
    two["steps"].append({"method": "anatomy", "columns": ["zip"], "confidential": ["drug"], "l": 2})
    two["steps"][0]["promise"] = False
    with pytest.raises(BadInput, match="there is one second table: put all of it into one step"):
        discreet.protect(patients(), two)


def test_people_with_several_records_are_refused():
    table = patients().append_column("who", pa.array(np.arange(90) // 2))
    with pytest.raises(BadInput) as error:
        discreet.protect(table, recipe(roles={"unit": "who"}))
    assert str(error.value) == (
        "step 1 (anatomy): anatomy counts records, and units have several here; set "
        'counts = "rows" if that is meant'
    )
    linked = recipe(roles={"unit": "who", "pseudonyms": ["who"]}) | {"counts": "rows"}
    with pytest.raises(BadInput, match="does not protect records that can be seen to belong"):
        discreet.protect(table, linked)
    alone = table.set_column(4, "who", pa.array(np.arange(90)))
    assert discreet.protect(alone, recipe(roles={"unit": "who"})).check.verified


def test_records_that_another_step_suppresses_are_in_no_group():
    table = patients(150, nulls=0.05).append_column(
        "job", pa.array(["a", "b"] * 74 + ["rare", "rarer"])
    )
    asked = recipe(roles={"quasi": ["age", "zip", "job"]})
    asked["steps"].append(
        {
            "method": "generalize",
            "columns": ["job"],
            "privacy": [{"model": "k-anonymity", "k": 3}],
            "suppression_limit": 0.1,
            "hierarchies": {"job": {"kind": "flat"}},
        }
    )
    release = discreet.protect(table, asked)
    assert release.check.verified
    assert release.log["suppressed"]["left_out"] >= 2
    assert release.table["group"].null_count == release.log["suppressed"]["left_out"]


# The check


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("anatomy")
    table = patients(nulls=0.15, seed=4)
    release = discreet.protect(table, recipe())
    return table, release.save(folder / "out"), folder / "out" / "internal"


def broken(report):
    return {one.promise: one.detail for one in report.having("broken")}


def test_a_record_that_changes_its_group_is_found(saved):
    table, _, _ = saved
    release = discreet.protect(table, recipe())
    groups = release.table["group"].to_pylist()
    one = next(i for i, g in enumerate(groups) if g is not None)
    other = next(i for i, g in enumerate(groups) if g is not None and g != groups[one])
    groups[one], groups[other] = groups[other], groups[one]
    changed = release.table.set_column(3, "group", pa.array(groups))
    evidence = discreet.check.evidence.Evidence(release.plan, release.log, release.recipe)
    found = broken(discreet.check_release(changed, recipe(), evidence, table))
    assert found["the groups in 'group' are the plan's"].startswith(f"row {one + 1} is in group ")


DIVERSE = "l = 3: no value of 'ill' is in more than 1 of 3 records of a group"


@pytest.mark.parametrize(
    ("age", "ill", "group", "promise", "said"),
    [
        ([1, 2, 3], "aab", [1, 1, 1], DIVERSE, "group 1 has 2 different values"),
        (
            [1, 2, 3, 4, 5, 6, 7],
            "aaabcde",
            [4] * 7,
            DIVERSE,
            "in group 4, 3 of 7 records have the same value",
        ),
        (
            [1, 2, None],
            "abc",
            [1, 1, 1],
            "nulls of age, zip are kept apart",
            "group 1 has records with nulls in different columns",
        ),
        (
            [1, 2, 3],
            "abc",
            [1, 1, None],
            DIVERSE,
            "records of no group are there, with no number in 'group'",
        ),
    ],
)
def test_groups_that_break_the_promise_are_found(age, ill, group, promise, said):
    table = {"age": pa.array(age, pa.int64()), "zip": ["a"] * len(age), "ill": list(ill)}
    shown = pa.table(table | {"group": pa.array(group, pa.int64())})
    assert broken(discreet.check_release(shown, recipe()))[promise] == said
    missing = broken(discreet.check_release(shown.drop_columns(["group"]), recipe()))
    assert missing[promise] == "column 'group' is missing"


def test_values_that_are_not_in_drawn_order_are_found(saved):
    """Values that are where they were would tell all, though every group keeps its l."""
    table, _, _ = saved
    release = discreet.protect(table, recipe())
    there = release.table["group"].is_valid()
    before = pa.compute.if_else(there, table["ill"], pa.scalar(None, pa.string()))
    undone = release.table.set_column(2, "ill", before)
    evidence = discreet.check.evidence.Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(undone, recipe(), evidence, table)
    assert list(broken(report)) == ["every treated cell equals the plan applied, nulls in place"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda lines: lines[:-1],
            r"group \d+ has \d rows in the first table and \d in the second",
        ),
        (
            lambda lines: [lines[0], *lines[:0:-1]],
            "the second table is not in the order of its groups",
        ),
        (lambda lines: ['"number","ill"', *lines[1:]], "the second table has no column 'group'"),
    ],
)
def test_tables_that_do_not_fit_are_a_broken_promise(saved, tmp_path, edit, said):
    _, written, _ = saved
    (tmp_path / "table.csv").write_bytes(written.read_bytes())
    lines = written.with_name("confidential.csv").read_text().splitlines()
    (tmp_path / "confidential.csv").write_text("\n".join(edit(lines)) + "\n")
    report = discreet.check_release(tmp_path / "table.csv", recipe())
    (detail,) = broken(report).values()
    assert list(broken(report)) == ["the two tables have the same groups"]
    assert pd.Series([detail]).str.fullmatch(said).all()
    (tmp_path / "confidential.csv").unlink()
    with pytest.raises(BadInput, match="the second table of a release in two tables"):
        discreet.check_release(tmp_path / "table.csv", recipe())


def test_a_plan_that_suppresses_without_need_is_found():
    release = discreet.protect(patients(), recipe())
    groups = release.plan["steps"][0]["joint"]["groups"]
    groups[groups == groups.max()] = 0
    evidence = discreet.check.evidence.Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(release.table, recipe(), evidence, patients())
    assert broken(report)["every treated cell equals the plan applied, nulls in place"] == (
        "the plan cannot be applied: ValueError('records without nulls in the quasi columns are "
        "suppressed')"
    )


@pytest.mark.parametrize(
    ("what", "other"), [("l", 2), ("group", "class"), ("null_policy", "value")]
)
def test_a_plan_of_other_parameters_is_found(saved, what, other):
    table, _, _ = saved
    release = discreet.protect(table, recipe())
    release.plan["steps"][0]["joint"][what] = other
    evidence = discreet.check.evidence.Evidence(release.plan, release.log, release.recipe)
    found = broken(discreet.check_release(release.table, recipe(), evidence, table))
    asked = recipe()["steps"][0].get(what, {"group": "group"}.get(what, "segregate"))
    assert found["released values and their counts are the plan's"] == (
        f"the plan's {what} in column 'age' is {other}, the recipe's {asked}"
    )


# What remains, and what is measured


def test_it_is_said_that_people_can_be_found():
    release = discreet.protect(patients(), recipe())
    weak = {one.promise: one.detail for one in release.check.having("weak")}
    assert weak["step 1 (anatomy) releases age, zip as they are"] == (
        "who is in the table can be seen, and only what the confidential columns say is protected; "
        "generalize and mondrian hide both"
    )
    assert "records are unique on age, zip together" in weak
    assert not [said for said in weak if "give" in said]
    attacks = [one["attack"] for one in release.log["attacks"]]
    assert {"presence", "learning across groups"} <= set(attacks)


@pytest.mark.parametrize("l", [2, 4])
def test_attribute_disclosure_is_measured_by_group(l, tmp_path):  # noqa: E741
    table = patients(100, nulls=0.05)
    release = discreet.protect(table, recipe(l=l))
    kept = release.table.to_pandas().dropna(subset=["group"])
    shares = kept["ill"].groupby(kept["group"]).value_counts(normalize=True)
    distinct = kept["ill"].groupby(kept["group"]).nunique()
    whole = kept["ill"].value_counts(normalize=True)
    t = max(
        (part.droplevel(0).reindex(whole.index, fill_value=0) - whole).clip(lower=0).sum()
        for _, part in shares.groupby(level=0)
    )
    found = release.assess().risk["diversity"]["columns"]["ill"]["after"]
    assert found["l"] == distinct.min() >= l
    assert found["alpha"] == pytest.approx(shares.max())
    assert found["alpha"] <= 1 / l
    assert found["t"] == pytest.approx(t)
    release.save(tmp_path / "out")
    kept = json.loads((tmp_path / "out" / "internal" / "assessment.json").read_text())
    assert kept["risk"]["diversity"]["columns"]["ill"]["after"] == found
    again = discreet.assess(table, tmp_path / "out", recipe(l=l)["roles"])
    assert again.risk["diversity"]["columns"]["ill"]["after"] == found
    sizes = again.risk["class_sizes"]
    assert sizes["before"]["unique"] == sizes["after"]["unique"] > 0
