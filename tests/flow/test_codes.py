"""Columns that generalization leaves at level 0 come back as they were: types, codes, labels."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

from discreet import check_release, protect, read_table
from discreet.check.findings import Finding
from discreet.check.original import APPLIED
from discreet.errors import BadInput
from discreet.table.labels import Labels, labels_of, with_labels

SEX = {1: "Male", 2: "Female"}
N = 40
KINDS = {
    "whole": pa.array(np.tile([1, 2], N // 2), pa.int16()),
    "real": pa.array(np.tile([0.1 + 0.2, 39.0], N // 2)),
    "truth": pa.array([True, False] * (N // 2)),
    "day": pa.array([dt.date(2024, 2, 29), dt.date(1999, 1, 1)] * (N // 2)),
    "moment": pa.array([dt.datetime(2024, 2, 29), dt.datetime(2024, 1, 1, 5, 30)] * (N // 2)),
    "exact": pa.array([Decimal("1.10"), Decimal("20.00")] * (N // 2), pa.decimal128(9, 2)),
}


def recipe(columns, levels, **step):
    return {
        "seed": 2**100 + 17,
        "order_seed": 2**99 + 1,
        "roles": {"quasi": list(columns), "rest": "insensitive"},
        "steps": [
            {
                "method": "generalize",
                "columns": list(columns),
                "hierarchies": {name: {"kind": "flat"} for name in columns},
                "privacy": [{"model": "k-anonymity", "k": 5}],
                "levels": levels,
                **step,
            }
        ],
    }


@pytest.fixture
def coded():
    """Forty persons by sex, a code with labels, one of which is nobody's."""
    field = with_labels(pa.field("sex", pa.int64()), Labels("Sex", {**SEX, 3: "Other"}))
    sex = pa.array(np.tile([1, 2], N // 2))
    return pa.table(
        [sex, pa.array(np.arange(N) // 4)], schema=pa.schema([field, ("pay", pa.int64())])
    )


# Level 0 for all


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_column_at_level_0_has_its_own_type(engine, tmp_path):
    table = pa.table(KINDS)
    parquet.write_table(table, tmp_path / "in.parquet")
    release = protect(tmp_path / "in.parquet", recipe(KINDS, dict.fromkeys(KINDS, 0)), engine)
    try:
        path = release.save(tmp_path / "out")
    finally:
        release.close()
    found = parquet.read_table(path)
    assert found.schema.types == table.schema.types
    rows = parquet.read_table(tmp_path / "out/internal/rows.parquet")["original_row"]
    assert found.equals(table.take(rows))
    evidence = tmp_path / "out/internal"
    assert check_release(path, release.recipe, evidence, tmp_path / "in.parquet").verified
    assert release.log["changed_cells"] == dict.fromkeys(KINDS, 0)


@pytest.mark.parametrize("method", ["generalize", "mondrian"])
def test_a_table_in_memory_keeps_its_types(method):
    frame = pd.DataFrame({
        "code": np.tile([1, 2], N // 2),
        "some": pd.array([1, None] * (N // 2), dtype="Int64"),
        "grade": pd.Categorical(["low", "high"] * (N // 2), ["low", "mid", "high"], ordered=True),
        "day": pd.to_datetime(["2024-02-29", "1999-01-01"] * (N // 2)),
    })  # fmt: skip
    asked = recipe(frame.columns, dict.fromkeys(frame.columns, 0))
    if method == "mondrian":
        kept = {key: asked["steps"][0][key] for key in ("columns", "privacy")}
        asked["steps"] = [{"method": "mondrian", **kept}]
    found = protect(frame, asked).table
    assert found["code"].dtype == "int64"
    assert found["code"].tolist() == frame["code"].tolist()
    assert found["some"].tolist() == frame["some"].tolist()
    assert found["day"].tolist() == frame["day"].tolist()
    # Nobody is in the middle, so the category is not told.
    assert found["grade"].cat.categories.tolist() == ["low", "high"]
    assert found["grade"].cat.ordered
    assert found["grade"].tolist() == frame["grade"].tolist()


@pytest.mark.parametrize("steps", [True, False], ids=["level 0", "untouched"])
@pytest.mark.parametrize("values", [[1, 2], [1.5, 2.5], [True, False], [dt.date(2024, 2, 29)] * 2])
def test_categories_of_numbers_are_written(values, steps, tmp_path):
    frame = pd.DataFrame({"code": pd.Categorical(values * (N // 2))})
    asked = recipe(["code"], {"code": 0})
    if not steps:
        asked = {"roles": {"quasi": ["code"], "untouched": ["code"]}, "steps": []}
    release = protect(frame, asked)
    path = release.save(tmp_path / "out", format="csv,parquet,feather,xlsx,sav,dta,xpt")
    report = check_release(path, release.recipe, tmp_path / "out/internal", frame)
    assert report.verified
    assert sorted(read_table(path)["code"].to_pylist()) == sorted(values * (N // 2))
    assert f"- {str(values[0]).lower()}\n" in path.with_name("codebook.md").read_text().lower()


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_codes_at_level_0_stay_codes_with_labels(coded, format, tmp_path):
    release = protect(coded, recipe(["sex"], {"sex": 0}))
    assert labels_of(release.table.schema.field("sex")) == Labels("Sex", SEX)
    path = release.save(tmp_path / "out", format=format)
    frame, meta = getattr(pyreadstat, f"read_{format}")(str(path))
    assert sorted(frame["sex"]) == [1] * 20 + [2] * 20
    assert meta.variable_value_labels == {"sex": SEX}
    assert meta.column_names_to_labels["sex"] == "Sex"
    assert "- 1: Male" in (tmp_path / "out/public/codebook.md").read_text()


def test_labels_stay_though_a_value_has_none(coded):
    """The code 9 was never explained; what 1 and 2 mean is as true as it was."""
    sex = pa.array([1, 2, 9, 9] * (N // 4))
    table = coded.set_column(0, coded.schema.field("sex"), sex)
    release = protect(table, recipe(["sex"], {"sex": 0}))
    assert labels_of(release.table.schema.field("sex")).values == SEX


def test_a_coarser_label_that_reads_like_a_number_is_text():
    table = pa.table({"year": np.repeat([1990, 1991], 20)})
    asked = recipe(["year"], {"year": 1})
    rows = [["1990", "1990"], ["1991", "1990"]]
    asked["steps"][0]["hierarchies"] = {"year": {"kind": "table", "rows": rows}}
    assert protect(table, asked).table["year"].to_pylist() == ["1990"] * 40


def test_the_check_finds_a_cell_that_is_not_the_plans(coded):
    release = protect(coded, recipe(["sex"], {"sex": 0}))
    sex = release.table["sex"].to_pylist()
    broken = release.table.set_column(0, "sex", pa.array([2, *sex[1:]]))
    report = check_release(broken, release.recipe, _evidence(release), coded)
    said = "column 'sex', row 1: 2, the plan gives 1; 1 cell differs"
    assert Finding(APPLIED, "broken", said) in report.findings


def _classes(report):
    """Return what is said of the classes' sizes."""
    (said,) = [one.detail for one in report.findings if one.promise.startswith("k-anonymity")]
    return said


def _evidence(release):
    from discreet.check.evidence import Evidence

    return Evidence(release.plan, release.log, release.recipe)


# Levels that differ


@pytest.fixture
def mixed():
    """Of forty persons five are suppressed, and stay: their region is that of too few."""
    region = [1] * 20 + [2] * 15 + [11, 12, 13, 14, None]
    names = {1: "North", 2: "South", 11: "An island", 12: "Another", 13: "A third", 99: "Unknown"}
    field = with_labels(pa.field("region", pa.int64()), Labels("Region", names, program="sav"))
    return pa.table([pa.array(region)], schema=pa.schema([field]))


MIXED = recipe(["region"], {"region": 0}, suppression_limit=0.2, null_policy="value")


def test_where_some_records_are_suppressed_numbers_are_text_in_files_without_labels(mixed):
    found = protect(mixed, MIXED).table["region"].to_pylist()
    assert found == ["1"] * 20 + ["2"] * 15 + ["*"] * 5


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_codes_stay_codes_and_suppressed_ones_are_missing(mixed, format, tmp_path):
    release = protect(mixed, MIXED)
    path = release.save(tmp_path / "out", format=format)
    read = getattr(pyreadstat, f"read_{format}")
    # Whoever opens the file sees codes, and no value where a record is suppressed.
    frame, meta = read(str(path))
    assert sorted(frame["region"].dropna()) == [1] * 20 + [2] * 15
    frame, meta = read(str(path), user_missing=True)
    star = {"sav": 101.0, "dta": "a"}[format]
    assert frame["region"].tolist().count(star) == 5
    assert meta.variable_value_labels["region"] == {1: "North", 2: "South", star: "*"}
    # The check reads them as the plan has them, and so does whoever has the file alone.
    evidence = tmp_path / "out/internal"
    assert check_release(path, release.recipe, evidence, mixed).verified
    alone = check_release(path, MIXED)
    assert _classes(alone) == _classes(release.check) == "3 classes, the smallest of 5 records"


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_groups_of_codes_have_codes_of_their_own(format, tmp_path):
    """Local recoding leaves some at level 0 and puts others into groups."""
    job = pa.array([1] * 20 + [2] * 15 + [3, 3, 4, 4, 4])
    names = Labels("Job", {1: "nurse", 2: "clerk", 3: "baker", 4: "miller"})
    table = pa.table([job], schema=pa.schema([with_labels(pa.field("job", pa.int64()), names)]))
    tree = {"care": ["1"], "office": ["2"], "food": ["3", "4"]}
    asked = recipe(["job"], {}, local=True, suppression_limit=1.0, quality="loss")
    asked["steps"][0]["hierarchies"] = {"job": {"kind": "groups", "tree": tree}}
    del asked["steps"][0]["levels"]
    release = protect(table, asked)
    assert set(release.table["job"].to_pylist()) == {"1", "2", "food"}
    path = release.save(tmp_path / "out", format=format)
    frame, meta = getattr(pyreadstat, f"read_{format}")(str(path))
    assert sorted(frame["job"]) == [1] * 20 + [2] * 15 + [101] * 5
    assert meta.variable_value_labels == {"job": {1: "nurse", 2: "clerk", 101: "food"}}
    said = (tmp_path / "out/public/codebook.md").read_text()
    assert "- 1: nurse\n- 2: clerk\n- food (101 in SPSS and Stata)\n" in said
    assert "miller" not in said


def test_numbers_without_labels_are_no_codes(tmp_path):
    """A mean of ages and of codes of age groups would be nonsense."""
    table = pa.table({"age": [30] * 20 + [40] * 15 + [50, 60, 70, 80, 90]})
    release = protect(table, recipe(["age"], {"age": 0}, suppression_limit=0.2))
    frame, _ = pyreadstat.read_sav(str(release.save(tmp_path / "out", format="sav")))
    assert sorted(set(frame["age"])) == ["*", "30", "40"]


# Hierarchies of labels


def test_a_hierarchy_of_labels_says_which_codes_to_write(coded):
    asked = recipe(["sex"], {"sex": 1})
    tree = {"people": ["Male", "Female"]}
    asked["steps"][0]["hierarchies"] = {"sex": {"kind": "groups", "tree": tree}}
    said = (
        r"step 1 \(generalize\): the hierarchy of 'sex' lists 'Male', which is the label of the code "
        "1; write 1, which the column holds"
    )
    with pytest.raises(BadInput, match=said):
        protect(coded, asked)
    asked["steps"][0]["hierarchies"]["sex"]["tree"] = {"people": ["1", "2"]}
    assert set(protect(coded, asked).table["sex"].to_pylist()) == {"people"}
