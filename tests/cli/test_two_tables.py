"""A release in two tables from the command line, and what becomes of edits to either."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet import read_table, write_table
from discreet.check.formats import SAME

RECIPE = """\
[roles]
quasi = ["age", "zip"]
confidential = ["ill"]

[[steps]]
method = "anatomy"
columns = ["age", "zip"]
confidential = ["ill"]
l = 3
"""
PROTECT = ("protect", "people.csv", "--recipe", "r.toml", "--out", "out")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    ill = rng.permutation(np.resize(["flu", "gout", "acne", "ms", "=none"], 60))
    where = pa.array(rng.choice([*"abc"], 60), mask=np.arange(60) % 6 == 0)
    write_table(pa.table({"age": rng.integers(18, 90, 60), "zip": where, "ill": ill}), "people.csv")
    (tmp_path / "r.toml").write_text(RECIPE)
    return tmp_path


def test_both_tables_are_named(place, run):
    code, out, _ = run(*PROTECT)
    assert code == 0
    assert "Share: out/public/table.csv and confidential.csv\n" in out
    code, out, _ = run(*PROTECT, "--force", "--json", "--format", "parquet")
    printed = json.loads(out)
    assert code == 0
    assert printed["table"] == "out/public/table.parquet"
    assert printed["confidential"] == "out/public/confidential.parquet"
    first, second = (read_table(printed[name]) for name in ("table", "confidential"))
    assert sorted(first["group"].to_pylist()) == second["group"].to_pylist()
    # Each value as often as before, but for suppressed records.
    before = read_table("people.csv")
    assert Counter(second["ill"].to_pylist()) <= Counter(before["ill"].to_pylist())


def test_both_tables_in_several_formats(place, run):
    code, out, _ = run(*PROTECT, "--format", "csv,sav")
    assert code == 0
    names = "out/public/table.csv, table.sav, confidential.csv and confidential.sav"
    assert f"Share: {names}\n" in out
    code, out, _ = run("check", "out", "--original", "people.csv", "--json")
    assert code == 0
    (found,) = [one for one in json.loads(out)["findings"] if one["promise"] == SAME]
    assert (found["status"], found["detail"]) == ("verified", "csv, sav")


def swapped(lines, same_group):
    """Swap the values of two rows of one group, or of different ones."""
    cells = [line.split(",", 1) for line in lines]
    for i, (group, value) in enumerate(cells[1:], start=1):
        for j, (other, another) in enumerate(cells[i + 1 :], start=i + 1):
            if value != another and (group == other) == same_group:
                cells[i], cells[j] = [group, another], [other, value]
                return [",".join(one) for one in cells]
    raise AssertionError


EDITS = {
    "a row less": lambda lines: lines[:-1],
    "a row twice": lambda lines: [*lines, lines[-1]],
    "rows in another order": lambda lines: [lines[0], *lines[:0:-1]],
    "values of two groups": lambda lines: swapped(lines, same_group=False),
    "values within a group": lambda lines: swapped(lines, same_group=True),
}


def test_every_edit_of_either_table_is_found(place, run):
    assert run(*PROTECT)[0] == 0
    assert run("check", "out", "--original", "people.csv")[0] == 0
    found = {}
    for name in ("table.csv", "confidential.csv"):
        path = place / "out" / "public" / name
        written = path.read_text()
        for what, edit in EDITS.items():
            if name == "table.csv" and "values" in what:
                # Its last column is the group.
                continue
            path.write_text("\n".join(edit(written.splitlines())) + "\n")
            assert path.read_text() != written
            # With the original, and with what was kept alone.
            runs = [run("check", "out", *more)[0] for more in ((), ("--original", "people.csv"))]
            found[name, what] = runs
        lines = written.splitlines()
        lines[1] = lines[1].replace(lines[1].split(",")[0 if name == "table.csv" else 1], "71", 1)
        path.write_text("\n".join(lines) + "\n")
        found[name, "a value"] = [run("check", "out")[0]]
        path.write_text(written)
    assert run("check", "out", "--original", "people.csv")[0] == 0
    assert {key: set(codes) for key, codes in found.items()} == {key: {1} for key in found}
    assert len(found) == 10
