"""Text that spreadsheets take for a formula: told, or guarded by a quote that the check knows."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import assess, check_release, protect, read_table, write_table
from discreet.errors import BadInput
from discreet.table.formulas import formula_cells

N = 60
ENGINES = ["memory", "duckdb", pytest.param("spark", marks=pytest.mark.spark)]
FORMULAS = ["=1+1", "+49", "-x", "@me", "\tx", "\rx", "'=1", "''-", "'s", "a=b", "'", None]
GUARDED = ["'=1+1", "'+49", "'-x", "'@me", "'\tx", "'\rx", "''=1", "'''-", "'s", "a=b", "'", ""]
NAME = "=cmd|'/C calc'!A0"


@pytest.fixture(scope="module")
def people() -> pa.Table:
    place = np.arange(N) % len(FORMULAS)
    return pa.table(
        {
            NAME: pa.array([FORMULAS[i] for i in place]),
            "group": pa.array([FORMULAS[i] for i in place]).dictionary_encode(),
            "pay": pa.array(np.arange(N) * -100.0),
            "plain": ["x", "y", "z"] * (N // 3),
        }
    )


RECIPE = {
    "roles": {"confidential": ["pay"], "insensitive": [NAME, "group", "plain"]},
    "steps": [{"method": "oma", "columns": ["pay"], "k": 5}],
    "allow_leaks": ["pay"],
}


def cells(path) -> list[list[str]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["out", "shared.csv", "shared.csv.gz"])
def test_a_quote_before_each_formula_and_every_cell_is_verified(people, tmp_path, engine, target):
    release = protect(people, RECIPE, engine)
    path = release.save(tmp_path / target, format="csv" if target == "out" else None, csv_safe=True)
    assert release.check.verified
    assert not any("formulas" in warning for warning in release.log["warnings"])
    release.close()
    header, *rows = cells(path)
    assert header == [f"'{NAME}", "group", "pay", "plain"]
    for column in (0, 1):
        assert {row[column] for row in rows} == set(GUARDED)
    assert all(row[2] == "0" or row[2].startswith("-") for row in rows)
    assert not any(cell.startswith(tuple("=+@\t\r")) for row in rows for cell in row)
    internal = tmp_path / "out" / "internal" if target == "out" else tmp_path / "shared.internal"
    assert json.loads((internal / "log.json").read_text())["output"]["csv_safe"] is True
    write_table(people, tmp_path / "in.parquet")
    for where in ("memory", "duckdb"):
        report = check_release(
            path, release.recipe, internal, tmp_path / "in.parquet", engine=where
        )
        assert not report.having("broken"), report
    assess(people, tmp_path / target, release.recipe.roles, recipe=release.recipe)


def test_a_cell_that_was_changed_is_still_found(people, tmp_path):
    release = protect(people, RECIPE)
    path = release.save(tmp_path / "out", csv_safe=True)
    text = path.read_text()
    path.write_text(text.replace('"\'@me"', '"@me"', 1).replace('"\'+49"', '"\'+48"', 1))
    report = check_release(path, release.recipe, tmp_path / "out" / "internal", people)
    assert any("every other cell equals" in one.promise for one in report.having("broken"))


@pytest.mark.parametrize("engine", ENGINES)
def test_without_it_the_log_counts_them(people, tmp_path, engine):
    release = protect(people, RECIPE, engine)
    path = release.save(tmp_path / "out", format="csv")
    ends = (
        "with =, +, -, @, a tab or a carriage return, which spreadsheets take for formulas; "
        "--csv-safe, or csv_safe"
    )
    told = [warning for warning in release.log["warnings"] if "formulas" in warning]
    assert [warning.partition(ends)[0] for warning in told] == [
        "60 text cells begin ", "1 name of a column begins ",
    ]  # fmt: skip
    release.close()
    assert cells(path)[0][0] == NAME
    assert read_table(path).column_names == [NAME, "group", "pay", "plain"]


@pytest.mark.parametrize("encode", [False, True])
def test_categories_are_counted_as_plain_text_is(tmp_path, encode):
    """Text that is quoted already runs nothing, however Arrow holds it."""
    said = pa.array(["'=1", "''=2", "\r=3", None, "a=b", ""] * 10)
    table = pa.table({"said": said.dictionary_encode() if encode else said, "pay": [5, 7, 7] * 20})
    assert formula_cells([table.slice(1)["said"]]) == 10
    release = protect(table.slice(1), {"roles": {"confidential": ["pay"], "rest": "insensitive"}})
    release.save(tmp_path / "out", format="csv")
    told = [warning for warning in release.log["warnings"] if "formulas" in warning]
    assert [warning.partition(" text")[0] for warning in told] == ["10"]


def test_other_formats_need_no_quotes(people, tmp_path):
    release = protect(people, RECIPE)
    with pytest.raises(BadInput, match="csv_safe is for CSV, where spreadsheets see formulas, not"):
        release.save(tmp_path / "out", format="parquet", csv_safe=True)
    release.save(tmp_path / "out", format="parquet")
    assert not any("formulas" in warning for warning in release.log["warnings"])


def test_the_command_and_the_codebook(people, tmp_path, run):
    write_table(people, tmp_path / "in.csv")
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        '[roles]\nconfidential = ["pay"]\nrest = "insensitive"\n'
        '[[steps]]\nmethod = "oma"\ncolumns = ["pay"]\nk = 5\n'
    )
    recipe.write_text('allow_leaks = ["pay"]\n' + recipe.read_text())
    base = ("protect", tmp_path / "in.csv", "--recipe", recipe, "--format", "csv")
    code, out, err = run(*base, "--out", tmp_path / "a")
    assert (code, "spreadsheets take for formulas" in " ".join(out.split())) == (0, True), err
    code, out, _ = run(*base, "--out", tmp_path / "b", "--csv-safe")
    assert (code, "spreadsheets take for formulas" in " ".join(out.split())) == (0, False)
    assert cells(tmp_path / "b" / "public" / "table.csv")[0][0] == f"'{NAME}"
    told = "take for a formula have a single quote before them"
    assert told in (tmp_path / "b" / "public" / "codebook.md").read_text()
    assert told not in (tmp_path / "a" / "public" / "codebook.md").read_text()
    assert run("check", tmp_path / "b", "--original", tmp_path / "in.csv")[0] == 0
