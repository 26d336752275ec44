"""Which engine checks a release, and the command that has it checked."""

import json
import tomllib

import pyarrow as pa
import pytest

from discreet import write_table
from discreet.check import check
from discreet.check.check import check_release, engine_for
from discreet.check.evidence import Evidence
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput

RULES = """\
[roles]
identifiers = ["name"]
quasi = ["region", "age", "sex"]
confidential = ["income", "assets"]
untouched = ["region", "sex"]
rest = "drop"

[[steps]]
method = "top-bottom"
columns = ["age"]
upper = 85

[[steps]]
method = "oma"
columns = ["income", "assets"]
k = 5
"""


@pytest.fixture
def place(tmp_path, monkeypatch, households):
    monkeypatch.chdir(tmp_path)
    write_table(households, "in.csv")
    (tmp_path / "recipe.toml").write_text(RULES)
    return tmp_path


def checked(run, *arguments):
    code, out, err = run("check", "out", "--original", "in.csv", *arguments, "--json")
    assert err == ""
    return code, json.loads(out)


@pytest.mark.parametrize("made", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_either_engine_checks_what_either_made(place, run, made, kind):
    given = ("--recipe", "recipe.toml", "--out", "out", "--format", kind, "--engine", made)
    assert run("protect", "in.csv", *given)[0] == 0
    reports = [checked(run, "--engine", one) for one in ("memory", "duckdb", "auto")]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0][0] == 0
    assert {f["status"] for f in reports[0][1]["findings"]} == {"verified", "weak"}


@pytest.mark.parametrize("made", ["memory", "duckdb"])
def test_a_tampered_file_and_another_original_are_found_by_both(place, run, made):
    given = ("--recipe", "recipe.toml", "--out", "out", "--format", "csv", "--engine", made)
    assert run("protect", "in.csv", *given)[0] == 0
    path = place / "out" / "public" / "table.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[2:], lines[1]]) + "\n")
    rows = (place / "in.csv").read_text().splitlines()
    (place / "in.csv").write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    reports = [checked(run, "--engine", one) for one in ("memory", "duckdb")]
    assert reports[0] == reports[1]
    code, report = reports[0]
    broken = {f["promise"] for f in report["findings"] if f["status"] == "broken"}
    assert code == 1
    assert "the original is the one that was protected" in broken
    assert "the released file is the one that was written" in broken


def test_without_internal(place, run):
    given = ("--recipe", "recipe.toml", "--out", "out.csv", "--engine", "duckdb")
    assert run("protect", "in.csv", *given)[0] == 0
    (place / "out.internal").rename(place / "kept")
    outputs = [
        run("check", "out.csv", "--recipe", "recipe.toml", "--engine", engine)
        for engine in ("memory", "duckdb")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 0


def test_the_engine_is_the_logs_or_what_the_tables_need(place, monkeypatch):
    table = place / "a.parquet"
    write_table(pa.table({"x": list(range(100))}), table)

    def made_on(**log):
        return Evidence({"steps": []}, log, None)

    assert engine_for("auto", (table, None), None) == "memory"
    assert engine_for("duckdb", (table, None), None) == "duckdb"
    assert engine_for("auto", (table, None), made_on(engine="spark")) == "duckdb"
    assert engine_for("auto", (table, None), made_on()) == "memory"
    monkeypatch.setattr(check, "memory_needed", lambda path: 1000)
    monkeypatch.setattr(check, "free_memory", lambda: 2000)
    assert engine_for("auto", (table, table), made_on()) == "memory"
    monkeypatch.setattr(check, "free_memory", lambda: 1999)
    assert engine_for("auto", (table, table), made_on()) == "duckdb"
    assert engine_for("auto", (place / "a.sav", table), made_on()) == "memory"
    with pytest.raises(BadInput, match="a check has no engine 'spark'; known: auto, memory, du"):
        engine_for("spark", (table, None), None)


def test_a_table_is_checked_where_it_is(households):
    rules = tomllib.loads(RULES)
    with pytest.raises(BadInput, match="a table is checked where it is; give its file to check it"):
        check_release(households, rules, engine="duckdb")
    assert not check_release(MemoryFrame(households), rules).ok


def test_a_workbook_is_for_memory(place, run):
    assert run("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out.xlsx")[0] == 0
    code, _, err = run("check", "out.xlsx", "--engine", "duckdb")
    assert code == 2
    assert "the engine duckdb reads CSV and Parquet, not xlsx; use --engine memory" in err
    assert run("check", "out.xlsx")[0] == 0


def test_memory_that_is_no_amount(place, run):
    assert run("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out")[0] == 0
    code, _, err = run("check", "out", "--engine", "duckdb", "--memory", "much")
    assert (code, err) == (2, "discreet: 'much' is not a memory size; give one such as 4GB\n")
