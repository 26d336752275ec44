"""Columns that no step treats, and that suppressed records are empty in."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import check_release, write_table

OTHERS = "every other cell equals the original"
N = 200
# Ten records of ages of their own stay as a class of stars; one of them has no occupation.
TABLE = pa.table(
    {
        "age": [30, 40] * (N // 2) + list(range(60, 70)),
        "occupation": ["nurse", "clerk", "cook", "smith"] * (N // 4) + ["judge"] * 9 + [None],
        "height": [float(i) for i in range(N + 10)],
        "pay": [float(i % 7) for i in range(N + 10)],
    }
)
RECIPE = {
    "seed": 7,
    "roles": {
        "quasi": ["age", "occupation"],
        "untouched": ["occupation"],
        "insensitive": ["height", "pay"],
    },
    "steps": [
        {
            "method": "generalize",
            "columns": ["age"],
            "privacy": [{"model": "k-anonymity", "k": 5}],
            "suppression_limit": 0.1,
            "levels": {"age": 0},
            "hierarchies": {"age": {"kind": "flat"}},
        }
    ],
}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_cells_that_suppression_empties_are_counted_and_told(engine, tmp_path):
    parquet.write_table(TABLE, tmp_path / "people.parquet", row_group_size=50)
    given = tmp_path / "people.parquet"
    release = discreet.protect(given, RECIPE, engine=engine)
    release.save(tmp_path / "out", format="csv")
    release.close()
    log = json.loads((tmp_path / "out" / "internal" / "log.json").read_text("utf-8"))
    assert log["suppressed"] == {"records": 10, "left_out": 0, "blanked_cells": {"occupation": 10}}
    # One of the ten cells was empty before.
    assert log["changed_cells"] == {"age": 10, "occupation": 9, "height": 0, "pay": 0}
    said = "emptied in 10 records that are suppressed"
    codebook = (tmp_path / "out" / "public" / "codebook.md").read_text("utf-8")
    rows = {line.split(" | ")[0]: line for line in codebook.splitlines() if " | " in line}
    assert rows["| occupation"].endswith(f"| {said} |")
    assert rows["| height"].endswith("| nothing |")
    external = (tmp_path / "out" / "public" / "report.html").read_text("utf-8")
    assert said in external
    assert "Values differ from the original in age and occupation" in external
    internal = (tmp_path / "out" / "internal" / "report.html").read_text("utf-8")
    assert "emptied in 10 suppressed records" in internal
    wanted = "3 columns, 620 cells, but for 10 emptied in suppressed records"
    again = check_release(
        tmp_path / "out" / "public" / "table.csv",
        release.recipe,
        tmp_path / "out" / "internal",
        given,
        engine=engine,
    )
    for report in (release.check, again):
        assert {f.promise: f.detail for f in report.findings}[OTHERS] == wanted


def test_what_several_steps_do_with_nulls_is_told_in_their_order():
    steps = [{**RECIPE["steps"][0]}, {**RECIPE["steps"][0], "columns": ["occupation"]}]
    for step, policy, column in zip(
        steps, ("segregate", "value"), ("age", "occupation"), strict=True
    ):
        step |= {
            "null_policy": policy,
            "levels": {column: 0},
            "hierarchies": {column: {"kind": "flat"}},
            "suppression_limit": 1.0,
        }
    roles = {"quasi": ["age", "occupation"], "insensitive": ["height", "pay"]}
    release = discreet.protect(TABLE, {"seed": 7, "roles": roles, "steps": steps})
    assert release.log["nulls"]["policy"] == (
        "in step 1 (generalize), records with and without nulls are treated apart; "
        "in step 2 (generalize), a null is one more value; "
        "elsewhere nulls stay in place; they are not imputed, dropped or matched"
    )


def test_records_that_are_left_out_are_not_compared_nor_counted_as_emptied():
    # Two of them are too few for a class.
    release = discreet.protect(TABLE.slice(0, N + 2), RECIPE)
    assert release.log["suppressed"] == {"records": 2, "left_out": 2, "blanked_cells": {}}
    assert release.log["changed_cells"]["occupation"] == 0
    details = {f.promise: f.detail for f in release.check.findings}
    assert details[OTHERS] == "3 columns, 600 cells"


def test_one_is_not_written_as_several(tmp_path, run):
    write_table(TABLE.select(["height", "pay"]), tmp_path / "in.csv")
    rules = '[roles]\nconfidential = ["pay"]\nidentifiers = ["height"]\n'
    (tmp_path / "recipe.toml").write_text(rules)
    out = tmp_path / "out"
    asked = ("protect", tmp_path / "in.csv", "--recipe", tmp_path / "recipe.toml", "--out", out)
    code, text, _ = run(*asked, "--verbose")
    assert code == 0
    assert "210 rows, 1 column released" in text
    assert "1 column, 210 cells" in " ".join(text.replace("│", " ").split())
