"""What an edited plan or file once got past the check."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet.check.evidence import Evidence

PEOPLE = pa.table(
    {
        "home": np.arange(60) // 2 + 1000,
        "age": np.arange(60) % 12,
        "pay": np.arange(60.0) ** 1.5,
    }
)
RECIPE = {
    "roles": {"quasi": ["age"], "confidential": ["pay"], "household": "home"},
    "steps": [
        {
            "method": "generalize",
            "columns": ["age"],
            "privacy": [{"model": "k-anonymity", "k": 3}],
            "hierarchies": {"age": {"kind": "flat"}},
        },
        {"method": "oma", "columns": ["pay"], "k": 3},
    ],
}


@pytest.fixture
def checked():
    """A release and what the check says of it once plan or table were edited."""
    release = discreet.protect(PEOPLE, RECIPE)

    def check(table=None):
        evidence = Evidence(release.plan, release.log, release.recipe)
        shown = release.finished.table if table is None else table
        return discreet.check_release(shown, RECIPE, evidence, PEOPLE)

    return release, check


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", ["ipso", "sources", "microaggregation", "quux"])
def test_a_plan_of_another_kind_does_not_hide_changed_cells(tmp_path, kind, engine):
    parquet.write_table(PEOPLE, tmp_path / "in.parquet")
    discreet.protect(tmp_path / "in.parquet", RECIPE).save(tmp_path / "out")
    internal = tmp_path / "out" / "internal"
    plan = json.loads((internal / "plan.json").read_text("utf-8"))
    plan["steps"][1]["joint"] = {"kind": kind}
    (internal / "plan.json").write_text(json.dumps(plan), "utf-8")
    found = discreet.check_release(
        tmp_path / "out/public/table.parquet",
        RECIPE,
        internal,
        tmp_path / "in.parquet",
        engine=engine,
    )
    said = [finding.detail for finding in found.having("broken")]
    assert f"the step's plan is of the kind {kind}, not None" in said


def test_a_group_of_unknown_treatment_is_broken(checked):
    release, check = checked
    release.plan["steps"][0]["joint"]["groups"][0]["treatment"] = "quux"
    assert not check().ok


def test_households_under_their_own_numbers_are_broken(checked):
    release, check = checked
    report = check(release.finished.table.set_column(0, "home", PEOPLE["home"]))
    assert "1029 is none of the 30 new numbers" in [f.detail for f in report.having("broken")]


def test_a_row_map_of_unsigned_numbers_is_read(tmp_path):
    discreet.protect(PEOPLE, RECIPE).save(tmp_path / "out")
    path = tmp_path / "out" / "internal" / "rows.parquet"
    rows = parquet.read_table(path)["original_row"].cast(pa.uint64())
    parquet.write_table(pa.table({"original_row": rows}), path)
    found = discreet.check_release(
        tmp_path / "out/public/table.csv", RECIPE, tmp_path / "out/internal", PEOPLE
    )
    # The file is not the one that was written, and its rows are.
    assert [f.detail for f in found.having("broken")] == [
        "the hash of internal/rows.parquet differs"
    ]
