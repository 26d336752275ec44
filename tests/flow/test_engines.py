import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import discreet
from discreet.check.evidence import load_plan
from discreet.datasets import make_households
from discreet.engines.duckdb import Session
from discreet.engines.released import released_frame
from discreet.errors import BadInput
from discreet.flow.protection import protect_to
from discreet.flow.told import first_rows
from discreet.table import read_table
from tests.flow.ranges import count_by_ranges
from tests.flow.recipes import (
    RECIPES,
    TOGETHER,
    people,
    recipe,
    rounding,
    same_plan,
    same_table,
    wide,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def written_to(table, folder):
    """Write a table in small row groups, so that pieces end at odd places."""
    parquet.write_table(table, folder / "people.parquet", row_group_size=len(table) // 3 - 1)
    return table, folder / "people.parquet"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return written_to(wide(), tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def medium(tmp_path_factory):
    return written_to(people(1000), tmp_path_factory.mktemp("medium"))


def saved(folder):
    """Read a release in the original's order."""
    rows = parquet.read_table(folder / "internal" / "rows.parquet")["original_row"].to_numpy()
    released = read_table(next((folder / "public").glob("table.*")))
    return released.take(pa.array(np.argsort(rows))), np.sort(rows)


def compare(rules, table, file, folder):
    """Protect in memory and on DuckDB: plans, tables, logs and what was written are the same."""
    wanted = discreet.protect(table, rules)
    release = discreet.protect(file, rules, engine="duckdb", memory="1GB")
    same_plan(wanted.plan["steps"], release.plan["steps"])
    release.save(folder)
    release.close()
    assert release.check.verified
    found, rows = saved(folder)
    np.testing.assert_array_equal(rows, wanted.released.rows)
    same_table(wanted.released.table, found)
    assert release.log["changed_cells"] == wanted.log["changed_cells"]
    if "suppressed" in wanted.log:
        assert release.log["suppressed"] == wanted.log["suppressed"]
    same_plan(wanted.plan["steps"], load_plan(folder / "internal")["steps"])


# The twelve steps take longer than all the others; below, they see a thousand rows in several pieces.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "rounding, segregate" else pytest.mark.stress)
        for name in TOGETHER
    ],
)
def test_all_methods_on_200_000_rows(name, large, tmp_path):
    compare(TOGETHER[name], *large, tmp_path / "out")


@pytest.mark.parametrize("name", TOGETHER)
def test_all_methods_together(name, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 150)
    compare(TOGETHER[name], *written_to(wide(1000), tmp_path), tmp_path / "out")


@pytest.mark.parametrize("name", RECIPES)
def test_duckdb_decides_and_releases_what_memory_does(name, medium, tmp_path):
    compare(RECIPES[name], *medium, tmp_path / "out")


def test_rows_are_written_in_the_order_that_memory_writes_them(medium, tmp_path):
    table, file = medium
    rules = RECIPES["oma"]
    discreet.protect(table, rules).save(tmp_path / "memory", format="parquet")
    discreet.protect(file, rules, engine="duckdb").save(tmp_path / "duckdb")
    one, other = (
        parquet.read_table(tmp_path / name / "public" / "table.parquet")
        for name in ("memory", "duckdb")
    )
    assert one.equals(other.cast(one.schema))


# Sources


SMALL = rounding("oma", "income", "assets", k=5)


def released(release, folder):
    release.save(folder)
    release.close()
    return saved(folder)[0]


@pytest.fixture(scope="module")
def small():
    return make_households(3000, seed=7, null_rate=0.05)


@pytest.fixture(scope="module")
def wanted(small):
    return discreet.protect(small, SMALL).finished.table


def test_a_csv_with_markers_and_decimal_commas(small, tmp_path):
    """Types are found by the cells, as the memory engine finds them."""
    frame = small.select(["name", "income", "assets", "postcode"]).to_pandas()
    frame["income"] = [f"{x:.2f}".replace(".", ",") if x == x else "?" for x in frame["income"]]
    frame["assets"] = [f"{x:.2f}".replace(".", ",") if x == x else "" for x in frame["assets"]]
    frame.to_csv(tmp_path / "people.csv", sep=";", index=False)
    rules = SMALL.model_copy(update={"null_markers": ["?"]})
    one = discreet.protect(tmp_path / "people.csv", rules, "memory")
    other = discreet.protect(tmp_path / "people.csv", rules, engine="duckdb")
    same_plan(one.plan["steps"], other.plan["steps"])
    same_table(one.finished.table, released(other, tmp_path / "out"))


def test_a_folder_of_parquet_files(small, wanted, tmp_path):
    (tmp_path / "in").mkdir()
    for number, start in enumerate((0, 1100, 1101)):
        stop = (1100, 1101, 3000)[number]
        parquet.write_table(small.slice(start, stop - start), tmp_path / "in" / f"{number}.parquet")
    release = discreet.protect(tmp_path / "in", SMALL, engine="duckdb")
    same_table(wanted, released(release, tmp_path / "out"))


def test_a_relation_and_a_table_in_memory(small, wanted, tmp_path):
    relation = duckdb.arrow(small)
    release = discreet.protect(relation, SMALL)
    rows = released(release, tmp_path / "relation")
    assert sorted(rows["income"].to_pylist(), key=str) == sorted(
        wanted["income"].to_pylist(), key=str
    )
    release = discreet.protect(small.to_pandas(), SMALL, engine="duckdb")
    same_table(wanted, released(release, tmp_path / "pandas"))


def test_names_that_sql_would_mix_up(small, tmp_path):
    odd = {"income": "A", "assets": "a", "age": 'say "x"; --', "name": "n.m"}
    table = small.select(list(odd)).rename_columns(list(odd.values()))
    rules = recipe(
        {"method": "oma", "columns": ["A", "a", 'say "x"; --'], "k": 5},
        confidential=["A", "a", 'say "x"; --'],
        identifiers=["n.m"],
    )
    parquet.write_table(table, tmp_path / "odd.parquet")
    one = discreet.protect(table, rules)
    other = discreet.protect(tmp_path / "odd.parquet", rules, engine="duckdb")
    same_table(one.finished.table, released(other, tmp_path / "out"))


def test_the_table_of_a_release_is_a_relation(small, wanted, tmp_path):
    parquet.write_table(small, tmp_path / "a.parquet")
    release = discreet.protect(tmp_path / "a.parquet", SMALL, engine="duckdb")
    found = release.table.to_arrow_table()
    assert found.column_names == ["income", "assets"]
    assert found.num_rows == 3000
    assert repr(release) == "<Release of 3,000 rows and 2 columns on duckdb, 9 verified>"
    release.close()


def test_more_values_than_fit_are_grouped_by_ranges(small, tmp_path, monkeypatch):
    count_by_ranges(monkeypatch, 800)
    parquet.write_table(small, tmp_path / "a.parquet")
    for method in ("oma", "mdav", "vmdav"):
        rules = rounding(method, "income", k=5)
        release = discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")
        plan = release.plan["steps"][0]["columns"]["income"]
        one = discreet.protect(small, rules).plan["steps"][0]["columns"]["income"]
        assert plan["counts"].min() >= 5
        assert plan["counts"].sum() == one["counts"].sum()
        if method == "oma":
            # Groups that are carried over bring back the optimum.
            same_plan(one, plan)
        release.save(tmp_path / method)
        assert release.check.verified
        release.close()
    with pytest.raises(BadInput, match="oma, mdav and vmdav take them by ranges"):
        discreet.protect(
            tmp_path / "a.parquet", rounding("kmeans", n_points=5, min_count=3), engine="duckdb"
        )


# Refusals, before any work


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            {"method": "rank-swap", "columns": ["income"], "p": 5.0},
            "step 1 (rank-swap) cannot run on duckdb: it looks at the rows themselves; use "
            "--engine memory",
        ),
        (
            {"method": "oma", "columns": ["income"], "k": 3, "keep_ties": False},
            "step 1 (oma) cannot run on duckdb: keep_ties = false splits equal values in row order;"
            " use --engine memory",
        ),
        (
            {"method": "microaggregation", "columns": ["income"], "k": 3},
            "step 1 (microaggregation) cannot run on duckdb: it looks at the rows themselves; use "
            "--engine memory",
        ),
    ],
)
def test_what_an_engine_cannot_do_is_refused_before_the_file_is_opened(step, why, tmp_path):
    path = tmp_path / "no table.parquet"
    path.write_text("whoever opens it finds no Parquet file")
    with pytest.raises(BadInput) as error:
        discreet.protect(path, recipe(step, confidential=["income"]), engine="duckdb")
    assert str(error.value) == why


def test_draws_by_row_need_a_place_or_a_key(small, tmp_path):
    rules = rounding("noise", "income")
    with pytest.raises(BadInput) as error:
        discreet.protect(duckdb.arrow(small), rules)
    assert str(error.value) == (
        "step 1 (noise) draws by row, but the rows of this table have no fixed place; give a "
        "column with a value of its own in each row the role row_key"
    )
    keyed = recipe(
        {"method": "noise", "columns": ["income"]}, confidential=["income"], row_key="name"
    )
    keyed = keyed.model_copy(update={"roles": keyed.roles.model_copy(update={"identifiers": []})})
    unique = small.set_column(0, "name", pa.array([f"p{i}" for i in range(3000)]))
    found = released(discreet.protect(duckdb.arrow(unique), keyed), tmp_path / "out")
    wanted = discreet.protect(unique, keyed).finished.table
    assert sorted(found["income"].drop_null().to_pylist()) == sorted(
        wanted["income"].drop_null().to_pylist()
    )
    double = unique.set_column(0, "name", pa.array(["twice"] * 3000))
    for engine in ("memory", "duckdb"):
        with pytest.raises(BadInput, match="the row key 'name' is the same in several rows"):
            discreet.protect(double, keyed, engine=engine)


def test_formats_that_engines_do_not_know(small, tmp_path):
    parquet.write_table(small, tmp_path / "a.parquet")
    release = discreet.protect(tmp_path / "a.parquet", SMALL, engine="duckdb")
    with pytest.raises(BadInput, match=r"the engine duckdb writes csv, .*, not xlsx"):
        release.save(tmp_path / "out", format="xlsx")
    release.close()
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(BadInput, match="reads CSV and Parquet, not xlsx"):
        discreet.protect(tmp_path / "a.xlsx", SMALL, engine="duckdb")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0] * 9 + [float("inf")], "column 'x', row 10: inf is infinite"),
        ([None] * 10, "column 'x' holds only nulls"),
        (["7", "7", "seven"] * 3, "column 'x', row 3: 'seven' is not a number"),
    ],
)
def test_bad_cells_are_named_by_their_row(column, message, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.duckdb.PIECE", 4)
    kind = pa.string() if isinstance(column[0], str) else pa.float64()
    parquet.write_table(pa.table({"x": pa.array(column, kind)}), tmp_path / "a.parquet")
    rules = recipe({"method": "oma", "columns": ["x"], "k": 3}, confidential=["x"], identifiers=[])
    with pytest.raises(BadInput, match=message):
        discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")


# The command


@pytest.fixture
def written(small, tmp_path, monkeypatch):
    """A folder with a table and a recipe, as the working folder."""
    monkeypatch.chdir(tmp_path)
    parquet.write_table(small, tmp_path / "people.parquet")
    SMALL.dump(tmp_path / "recipe.toml")
    return tmp_path


PROTECT = ("protect", "people.parquet", "--recipe", "recipe.toml", "--engine", "duckdb", "--out")


@pytest.mark.parametrize("out", ["release", "release.csv"])
def test_the_commands_from_protect_to_report(out, written, run):
    code, told, errors = run(*PROTECT, out, "--memory", "1GB", "--json")
    assert code == 0, errors
    told = json.loads(told)
    assert told["log"]["engine"] == "duckdb"
    assert told["log"]["usage"]["rows_read"] > 3000
    assert told["log"]["usage"]["bytes_shuffled"] > 0
    code, told, errors = run("check", out, "--original", "people.parquet")
    assert code == 0, told + errors
    assert "not verifiable" not in told
    code, _, errors = run("assess", "people.parquet", out, "--recipe", "recipe.toml")
    assert code == 0, errors
    for more in (["--original", "people.parquet"], ["--external", "--force"]):
        code, _, errors = run("report", out, "--out", "report.html", *more)
        assert code == 0, errors
    left = {path.name for path in written.iterdir()}
    internal = {"release.internal"} if out == "release.csv" else set()
    assert left == {"people.parquet", "recipe.toml", "report.html", out} | internal


def test_a_changed_cell_is_found(written, run):
    run(*PROTECT, "release")
    path = written / "release" / "public" / "table.parquet"
    table = parquet.read_table(path)
    cells = table["income"].to_pylist()
    place = next(i for i, cell in enumerate(cells) if cell is not None)
    cells[place] += 1
    parquet.write_table(table.set_column(0, "income", pa.array(cells)), path)
    code, told, _ = run("check", "release", "--original", "people.parquet", "--json")
    assert code == 1
    assert "the hash of public/table.parquet differs" in told


def test_a_run_that_is_killed_leaves_nothing_and_no_lock(written, run):
    command = [sys.executable, "-m", "discreet", *PROTECT, "release"]
    running = subprocess.Popen(command, cwd=written, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    # Once there are temporary files, it is at work.
    while not list(written.glob(".release.*.part/*/*.parquet")):
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not (written / "release").exists()
    code, _, errors = run(*PROTECT, "release")
    assert code == 0, errors
    assert {path.name for path in written.iterdir()} == {"people.parquet", "recipe.toml", "release"}


# Found in review: each went wrong once


def test_a_folder_that_looks_like_a_partition_changes_nothing(small, wanted, tmp_path):
    """DuckDB takes income=5 in a path as a column of that value unless it is told not to."""
    folder = tmp_path / "income=5"
    folder.mkdir()
    parquet.write_table(small, folder / "a.parquet")
    release = discreet.protect(folder / "a.parquet", SMALL, engine="duckdb")
    same_table(wanted, released(release, folder / "out"))


def test_a_name_that_is_a_pattern_is_a_name(small, wanted, tmp_path):
    parquet.write_table(small, tmp_path / "a[1]*.parquet")
    parquet.write_table(small.slice(0, 50), tmp_path / "a1.parquet")
    release = discreet.protect(tmp_path / "a[1]*.parquet", SMALL, engine="duckdb")
    same_table(wanted, released(release, tmp_path / "o[1]?"))


@pytest.mark.parametrize("marker", ["inf", "nan", "1e400"])
def test_markers_that_are_no_finite_numbers(marker, tmp_path):
    table = pa.table({"x": [1.0, 2.0, 3.0, float("inf"), 5.0, 6.0]})
    rules = recipe({"method": "oma", "columns": ["x"], "k": 2}, confidential=["x"], identifiers=[])
    rules = rules.model_copy(update={"null_markers": [marker, "inf"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    one = discreet.protect(table, rules)
    other = discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")
    same_table(one.finished.table, released(other, tmp_path / "out"))


def test_a_column_with_a_name_of_duckdbs_own(small, tmp_path):
    table = small.select(["income", "age"]).rename_columns(["income", "File_Row_Number"])
    rules = recipe(
        {"method": "oma", "columns": ["income", "File_Row_Number"], "k": 5},
        confidential=["income", "File_Row_Number"],
        identifiers=[],
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    one = discreet.protect(table, rules)
    other = discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")
    same_table(one.finished.table, released(other, tmp_path / "out"))


def test_decimals_keep_their_type_unless_they_need_more_digits(tmp_path):
    table = people(3000).select(["name", "hours"])
    parquet.write_table(table, tmp_path / "a.parquet")
    for scale in (0.1, 1e7):
        rules = rounding("noise", "hours", scale=scale)
        one = discreet.protect(table, rules)
        other = discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")
        assert (
            other.finish.schema.field("hours").type == one.finished.table.schema.field("hours").type
        )
        other.close()


def test_nothing_is_left_of_what_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("none.parquet", "none.xyz"):
        with pytest.raises(BadInput):
            discreet.protect(tmp_path / name, SMALL, engine="duckdb")
    assert list(tmp_path.iterdir()) == []


def test_a_row_key_without_a_value_is_told(small):
    table = small.select(["income", "postcode"])
    rules = recipe(
        {"method": "noise", "columns": ["income"]},
        confidential=["income"],
        identifiers=[],
        row_key="postcode",
    )
    for engine in ("memory", "duckdb"):
        with pytest.raises(BadInput, match="the row key 'postcode' holds nulls; every row needs"):
            discreet.protect(table, rules, engine=engine)


def test_a_damaged_row_map_is_told(written, run):
    run(*PROTECT, "release")
    path = written / "release" / "internal" / "rows.parquet"
    parquet.write_table(pa.table({"original_row": ["0"] * 3000}), path)
    code, _, errors = run("check", "release", "--original", "people.parquet")
    assert code == 2
    assert "is not a row map: it must hold one column of whole numbers, original_row" in errors


def test_types_of_a_csv_with_very_many_cells_go_by_shapes(small, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.engines.sources.MOST_CELLS", 100)
    small.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    one = discreet.protect(tmp_path / "a.csv", SMALL, "memory")
    other = discreet.protect(tmp_path / "a.csv", SMALL, engine="duckdb")
    same_table(one.finished.table, released(other, tmp_path / "out"))


def test_equal_values_go_by_key_wherever_the_rows_are(small, tmp_path, run):
    """Rows of a relation have no place; a check of the file must sort as the release did."""
    table = small.select(["income", "assets"]).append_column(
        "key", pa.array(np.random.default_rng(4).permutation(3000) + 7)
    )
    tied = pc.round(table["income"], -3)
    table = table.set_column(0, "income", tied)
    parquet.write_table(table, tmp_path / "a.parquet")
    rules = recipe(
        {"method": "top-bottom", "columns": ["income"], "upper": 60_000, "promise": False},
        {"method": "porop", "columns": ["income"], "k": 50},
        confidential=["income"],
        identifiers=[],
        row_key="key",
    )
    release = discreet.protect(duckdb.arrow(table), rules)
    release.save(tmp_path / "out")
    release.close()
    for engine in ("memory", "duckdb"):
        findings = check_folder(run, tmp_path / "out", tmp_path / "a.parquet", engine)
        assert "broken" not in findings, findings


def check_folder(run, folder, original, engine):
    _, told, errors = run("check", folder, "--original", original, "--engine", engine, "--json")
    assert not errors
    return {
        one["status"]: one["detail"]
        for one in json.loads(told)["findings"]
        if "original is the one" not in one["promise"]
    }


@pytest.mark.parametrize(
    "cells",
    [["x"], ["a\nb", "c"], ["007", "A7"], ["12", "12.5"], ["z" * 2_000_000]],
    ids=["rare", "lines", "codes", "numbers", "long"],
)
def test_a_csv_of_which_the_first_rows_mislead(cells, small, tmp_path):
    """The public report shows first rows by the types that are known, not by guesses."""
    column = pa.array([None] * (3000 - len(cells)) + cells, pa.string())
    table = small.select(["income"]).append_column("note", column)
    parquet.write_table(table, tmp_path / "a.parquet")
    rules = recipe(
        {"method": "oma", "columns": ["income"], "k": 5},
        confidential=["income"], identifiers=[], rest="insensitive",
    )  # fmt: skip
    release = discreet.protect(tmp_path / "a.parquet", rules, engine="duckdb")
    release.save(tmp_path / "out", format="csv")
    release.close()
    rows = first_rows(tmp_path / "out" / "public" / "table.csv", release.finish.schema)
    assert rows.schema == release.finish.schema
    assert sorted(filter(None, rows["note"].to_pylist())) == sorted(cells)


def test_a_rare_point_is_refused_by_what_its_own_step_makes(tmp_path):
    """A later step hides a point of one record, or makes values of one record each."""
    values = [*range(100), 10.0**6]
    table = pa.table({"x": pa.array(values, pa.float64())})
    kmeans = {"method": "kmeans", "columns": ["x"], "n_points": 3, "promise": False}
    oma = {"method": "oma", "columns": ["x"], "k": 20}
    hidden = recipe(kmeans, oma, confidential=["x"], identifiers=[])
    for engine in ("memory", "duckdb"):
        with pytest.raises(BadInput, match="step 1 \\(kmeans\\)"):
            discreet.protect(table, hidden, engine=engine)
    noise = {"method": "noise", "columns": ["x"]}
    shown = recipe(kmeans, noise, confidential=["x"], identifiers=[])
    even = table.slice(0, 100)
    wanted = discreet.protect(even, shown)
    release = discreet.protect(even, shown, engine="duckdb")
    same_table(wanted.finished.table, released(release, tmp_path / "out"))


def test_rows_of_the_original_are_not_published_with_the_release(written, monkeypatch):
    """Where temporary files cannot be removed, nothing is published."""
    remove = shutil.rmtree

    def stubborn(path, *given, **more):
        if Path(path).name == "work":
            if more.get("ignore_errors"):
                return
            raise PermissionError(13, "in use", str(path))
        remove(path, *given, **more)

    monkeypatch.setattr(shutil, "rmtree", stubborn)
    with pytest.raises(BadInput, match="cannot write to release"):
        protect_to(Path("people.parquet"), SMALL, Path("release"), "duckdb")
    assert not (written / "release").exists()


def test_a_release_that_nobody_closes_leaves_no_rows(written):
    code = (
        "import discreet, tempfile; tempfile.tempdir = '.';"
        "release = discreet.protect('people.parquet', 'recipe.toml', engine='duckdb')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert {path.name for path in written.iterdir()} == {"people.parquet", "recipe.toml"}


def test_parts_of_a_release_must_be_alike(small, tmp_path):
    parts, maps = tmp_path / "table.parquet", tmp_path / "rows.parquet"
    for folder in (parts, maps):
        folder.mkdir()
    table = small.select(["income", "assets"])
    for number, part in enumerate((table, table.rename_columns(["assets", "income"]))):
        parquet.write_table(part, parts / f"part-{number}.parquet")
        rows = pa.table({"original_row": np.arange(3000) + 3000 * number})
        parquet.write_table(rows, maps / f"part-{number}.parquet")
    with (
        Session(tmp_path / "work") as session,
        pytest.raises(BadInput, match=r"does not have the columns and types of part-0\.parquet"),
    ):
        released_frame(session, parts, maps, table.schema)


def test_a_damaged_page_of_the_original_is_told_as_such(written, run):
    data = bytearray((written / "people.parquet").read_bytes())
    group = parquet.read_metadata("people.parquet").row_group(0)
    column = next(
        one for one in map(group.column, range(group.num_columns)) if one.path_in_schema == "income"
    )
    end = column.data_page_offset + column.total_compressed_size // 2
    data[column.data_page_offset + 40 : end] = bytes(end - column.data_page_offset - 40)
    (written / "people.parquet").write_bytes(data)
    code, _, errors = run(*PROTECT, "release")
    assert code == 2
    assert "cannot write" not in errors
    assert errors.count("\n") == 1


def test_a_damaged_page_is_told_in_a_sentence(written, run):
    run(*PROTECT, "release")
    path = written / "release" / "public" / "table.parquet"
    data = bytearray(path.read_bytes())
    data[100:400] = bytes(300)
    path.write_bytes(data)
    code, _, errors = run("check", "release", "--engine", "duckdb")
    assert code in (1, 2)
    assert errors.count("\n") <= 1
