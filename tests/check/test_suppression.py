"""Suppressed records, and the cells that are emptied because too few others share their values."""

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet import check_release, read_table
from discreet.check.evidence import Evidence

CELLS = "every treated cell equals the plan applied, nulls in place"


GENERALIZE = {
    "method": "generalize",
    "columns": ["age"],
    "privacy": [{"model": "k-anonymity", "k": 3}],
    "suppression_limit": 0.5,
    "levels": {"age": 0},
    "hierarchies": {"age": {"kind": "flat"}},
}


def release(first, mixed=False, nulls=()):
    """Protect a table of which two records stand alone, and so are left out."""
    y = ["n", "s", "w"] if mixed else [5.0, 6.0, 9.0]
    table = {
        "age": [30] * 10 + [31, 59],
        "x": [1.0, 2.0, 3.0] * 2 + [51.0, 52.0, 53.0, 99.0, 99.0, 99.0],
        "y": [y[0]] * 6 + [y[1]] * 3 + [y[2]] * 3,
    }
    for row in nulls:
        table["x"][row] = table["y"][row] = None
    roles = {"quasi": ["age"], "confidential": ["x", "y"]}
    steps = [{"k": 3, **first}, GENERALIZE]
    return discreet.protect(pa.table(table), {"roles": roles, "steps": steps})


TUPLES = {"method": "microaggregation", "columns": ["x", "y"]}
POINTS = {"method": "oma", "columns": ["x"]}


def again(release, **columns):
    table = release.table
    for name, cells in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(cells, table.schema.field(name).type))
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(table, release.recipe, evidence, release.original)


def broken(report):
    return {f.promise: f.detail for f in report.having("broken")}


@pytest.mark.parametrize("first", [TUPLES, POINTS], ids=lambda step: step["method"])
@pytest.mark.parametrize("mixed", [False, True])
def test_values_that_too_few_records_are_left_to_share_are_emptied(first, mixed, tmp_path):
    if mixed and first is POINTS:
        return
    made = release(first, mixed)
    # Of the three records of the last group one is left.
    assert made.table["x"].to_pylist()[9:] == [None] * 3
    emptied = dict.fromkeys(first["columns"], 1)
    assert made.plan["suppressed"] == {"records": 2, "left_out": 2, "blanked": emptied}
    assert made.check.verified
    path = made.save(tmp_path / "out", format="parquet")
    internal = tmp_path / "out" / "internal"
    report = check_release(path, made.recipe, internal, made.original)
    assert report.verified, str(report)
    for table in (made.table, read_table(path)):
        report = check_release(table, made.recipe, internal, made.original)
        assert [f.promise for f in report.findings if f.status != "verified"] == [
            "the released file is the one that was written"
        ]


@pytest.mark.parametrize("mixed", [False, True])
def test_other_tuples_that_are_emptied_are_found(mixed):
    made = release(TUPLES, mixed)
    x, y = made.table["x"].to_pylist(), made.table["y"].to_pylist()
    one = [None, *x[1:]]
    assert broken(again(made, x=one))[CELLS].startswith("column 'x', row 1: nan, the plan gives")
    found = broken(again(made, x=one, y=[None, *y[1:]]))[CELLS]
    assert found.startswith("column 'x', row 1: nan, the plan gives")
    assert found.endswith("; 1 cell differs")
    group = [i for i in range(10) if (x[i], y[i]) == (x[0], y[0])]
    cells = {
        name: [None if i in group else c for i, c in enumerate(column)]
        for name, column in (("x", x), ("y", y))
    }
    assert broken(again(made, **cells))[CELLS].endswith(f"; {len(group)} cells differ")


def test_nulls_that_too_few_records_are_left_to_share():
    made = release(TUPLES, nulls=[9, 10, 11])
    assert made.check.verified
    details = {f.promise: f.detail for f in made.check.findings}
    said = details["k = 3 per tuple of x, y"]
    assert said.endswith("; but only 1 records of nulls, which show as well")


def test_a_tuple_that_should_be_empty_is_found():
    made = release(TUPLES)
    x, y = made.table["x"].to_pylist(), made.table["y"].to_pylist()
    x[9], y[9] = 99.0, 9.0
    found = broken(again(made, x=x, y=y))
    assert found["k = 3 per tuple of x, y"] == "1 records hold x = 99.0, y = 9.0"


def test_nulls_of_a_tuple_are_not_verifiable_without_the_plan():
    made = release(TUPLES)
    status = {f.promise: f.status for f in check_release(made.table, made.recipe).findings}
    assert status["k = 3 per tuple of x, y"] == "not verifiable"
    alone = made.recipe.model_copy(update={"steps": made.recipe.steps[:1]})
    rows = made.table.slice(0, 10).select(["x", "y"])
    rows = rows.append_column("z", pa.array([1] * 10))
    assert broken(check_release(rows, alone))["k = 3 per tuple of x, y"] == (
        "1 records hold x = None, y = None"
    )


def test_a_record_of_nulls_is_shown_though_others_are_left_out():
    """Only as many rows of nulls as the plan leaves out are none of the release's records."""
    draw = np.random.default_rng(2)
    ages = [None] * 4 + [30] * 20 + [31, 59]
    table = pa.table({"age": ages, "x": [None] * 4 + draw.normal(size=22).tolist()})
    rules = {"roles": {"quasi": ["age"], "confidential": ["x"]}, "steps": [GENERALIZE]}
    made = discreet.protect(table, rules)
    assert made.plan["suppressed"]["left_out"] == 2
    assert "of 24 records are still unique" in made.check.notes[0]
    assert made.check.verified


def test_suppression_that_pieces_of_rows_do_not_tell(tmp_path):
    draw = np.random.default_rng(2)
    table = pa.table({"age": [30.0] * 50 + [40.0] * 49 + [59.0], "x": draw.normal(size=100)})
    steps = [
        {"method": "rank-swap", "columns": ["age"], "p": 50, "promise": False},
        GENERALIZE,
    ]
    rules = {"roles": {"quasi": ["age"], "confidential": ["x"]}, "steps": steps}
    discreet.protect(table, rules).save(tmp_path / "out")
    given = tmp_path / "out/public/table.csv", rules, tmp_path / "out/internal", table
    assert check_release(*given).verified
    report = check_release(*given, engine="duckdb")
    assert report.ok
    details = {f.promise: f.detail for f in report.having("not verifiable")}
    assert details[CELLS] == "age: needs all records in memory"
