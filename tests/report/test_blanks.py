"""What people are told of local suppression: in the log, the reports, the codebook, the terminal."""

import re

import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from discreet import protect
from discreet.cli.main import app
from discreet.report.blanks import READINGS, said_of_cost, said_of_found
from tests.report.pages import Page

# Three nurses would be found by their age, which is given for all others, too.
PEOPLE = pa.table({
    "age": [30, 40] * 20 + [70, 71, 72],
    "job": ["nurse"] * 20 + ["clerk"] * 20 + ["nurse"] * 3,
    "pay": [2000, 2500, 2000] * 14 + [2500],
})  # fmt: skip
RECIPE = {
    "roles": {"quasi": ["age", "job"], "insensitive": ["pay"]},
    "steps": [{"method": "local-suppression", "columns": ["age", "job"], "k": 3}],
}


@pytest.fixture(scope="module")
def release():
    return protect(PEOPLE, RECIPE)


@pytest.fixture(scope="module")
def folder(release, tmp_path_factory):
    path = tmp_path_factory.mktemp("blanks") / "out"
    release.save(path)
    return path


def test_the_log(release):
    [step] = release.log["steps"]
    told = {key: step[key] for key in ("records", "blanked", "cells", "records_touched")}
    assert told == {
        "records": 43, "blanked": {"age": 3, "job": 0}, "cells": 3, "records_touched": 3,
    }  # fmt: skip
    assert step["cost"] == 3
    assert step["bound"] <= 3
    assert step["found_for_certain"] == step["suppressed"] == 0
    assert "in step 1 (local-suppression)" in release.log["nulls"]["policy"]


def test_the_log_says_of_found_people_what_the_measure_says(release):
    entry = release.assess().risk["found_for_certain"]
    assert entry["before"]["found"] == 3
    assert entry["after"]["found"] == release.log["steps"][0]["found_for_certain"]


def test_null_rates_count_them_as_blanked(release):
    rates = release.assess().utility["null_rates"]
    assert rates["before"] == 0
    assert rates["after"] == rates["blanked"] == 3 / 86
    assert rates["blanked_records"] == 3 / 43


def test_the_internal_report(folder):
    page = Page((folder / "internal" / "report.html").read_text("utf-8"))
    assert "3 cells in 3 of 43 records (7 %)" in page.text
    assert "3 cells were blanked in 3 records (7 %); nobody is found for certain." in page.text
    assert "demanded k 3 for age and job" in page.text
    assert READINGS["value"] in page.text
    assert "Blanks by column column cells blanked share age 3 7 % job 0 0 %" in page.text
    assert "age 70 1 33.3 % age 71 1 33.3 % age 72 1 33.3 %" in page.text


def test_a_report_made_later_says_the_same(folder, tmp_path):
    result = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "a.html")])
    assert result.exit_code == 0
    assert "age 70 1 33.3 %" in Page((tmp_path / "a.html").read_text("utf-8")).text


def test_what_is_public(folder):
    page = Page((folder / "public" / "report.html").read_text("utf-8"))
    assert "No record was left out. 3 cells in 3 records (age) were blanked" in page.text
    book = (folder / "public" / "codebook.md").read_text("utf-8")
    assert "emptied in 3 records because of suppression" in book
    # What was blanked, what it cost and who is found stay inside.
    for secret in ("70", "71", "72", "found for certain", "Values blanked"):
        assert not re.search(rf"\b{secret}\b", page.text)  # The release's own number may hold "70".


def test_the_terminal(tmp_path):
    csv.write_csv(PEOPLE, tmp_path / "in.csv")
    lines = ["[roles]", 'quasi = ["age", "job"]', 'insensitive = ["pay"]', "[[steps]]",
             'method = "local-suppression"', 'columns = ["age", "job"]', "k = 3"]  # fmt: skip
    (tmp_path / "recipe.toml").write_text("\n".join(lines))
    asked = ["protect", "in.csv", "--recipe", "recipe.toml", "--out", "out", "--verbose"]
    asked = [str(tmp_path / one) if "." in one or one == "out" else one for one in asked]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "blanked: 3 cells in 3 of 43 records (7 %)" in said
    assert "found for certain: nobody" in said


def figures(**given):
    return {"cost": 8.0, "bound": 8.0, "gap": 0.0, "found_for_certain": 0} | given


def test_what_is_said_of_cost_and_of_people_found():
    assert said_of_cost(figures()).endswith("proven to be the least")
    gap = said_of_cost(figures(bound=6.0, gap=0.25))
    assert gap.endswith("no solution can cost less than 6, so at most 25 % could be saved")
    none = said_of_cost(figures(bound=None, gap=None))
    assert none.endswith("; no useful lower bound is known")
    assert said_of_cost(figures(cost=0.0, bound=0.0)) == "nothing"
    assert said_of_found(figures(found_for_certain=2), "records").startswith("2 records, with")
    units = said_of_found(figures(found_for_certain=1), "households")
    assert units.startswith("1 household, with")
    assert "records of one household" in units


def test_records_that_are_left_out_are_told(tmp_path):
    steps = [RECIPE["steps"][0] | {"record_cost": 0.5}]
    release = protect(PEOPLE, RECIPE | {"steps": steps})
    assert release.log["steps"][0]["suppressed"] == release.log["suppressed"]["left_out"] == 3
    release.save(tmp_path / "out")
    page = Page((tmp_path / "out" / "internal" / "report.html").read_text("utf-8"))
    assert "blanked 0 cells in 0 of 43 records (0 %) left out 3 records" in page.text


def blanked(table, *steps):
    quasi = [name for name in table.column_names if name != "pay"]
    roles = {"quasi": quasi, "rest": "drop"}
    return protect(table, {"roles": roles, "steps": list(steps), "allow_leaks": quasi})


# Everybody's age is their own, and of the jobs three in four.
RARE = pa.table({"age": list(range(40)), "job": ["nurse"] * 10 + [f"j{i}" for i in range(30)]})


def test_too_many_blanks_are_warned_of():
    step = {"method": "local-suppression", "columns": ["age", "job"], "k": 3, "improve_moves": 500}
    release = blanked(RARE, step)
    assert release.log["steps"][0]["records_blank"] == 30
    warned = [said for said in release.log["warnings"] if "recode the columns first" in said]
    assert warned == [
        f"step 1 (local-suppression): {said}; recode the columns first, so that fewer blanks are "
        "needed"
        for said in (
            "40 of 40 records have cells blanked",
            "30 of 40 records are blank in all key columns",
        )
    ]


def test_few_blanks_are_not_warned_of(release):
    assert not [said for said in release.log["warnings"] if "recode" in said]


def test_no_bound_is_told_where_none_is_of_use():
    step = {"method": "local-suppression", "columns": ["age", "job"], "k": 3, "improve_moves": 500}
    done = blanked(RARE, step | {"null_policy": "match"}).log["steps"][0]
    assert done["bound"] is done["gap"] is None


def test_a_step_tells_its_own_blanks():
    base = {"method": "base", "columns": ["age"], "base": 7, "promise": False}
    step = {"method": "local-suppression", "columns": ["age", "job"], "k": 3, "improve_moves": 500}
    log = blanked(PEOPLE, base, step).log
    assert log["steps"][1]["changed_cells"] == log["steps"][1]["blanked"]
    assert log["changed_cells"]["age"] == log["steps"][0]["changed_cells"]["age"] == 43 - 1


def test_what_is_only_recoded_is_not_told_as_a_search(tmp_path):
    hierarchy = {"kind": "intervals", "widths": [20, 40], "whole": True}
    step = {"method": "generalize", "columns": ["age"], "levels": {"age": 1}}
    release = blanked(PEOPLE, step | {"hierarchies": {"age": hierarchy}}, RECIPE["steps"][0])
    assert release.log["steps"][0]["recoded"] == {"age": 1}
    release.save(tmp_path / "out")
    text = Page((tmp_path / "out" / "internal" / "report.html").read_text("utf-8")).text
    first = text[text.index("recoded age to level 1 of 3") - 400 :].partition("demanded k")[0]
    for searched in ("proven optimal", "suppression_limit", "round_share", "certificate"):
        assert searched not in first
