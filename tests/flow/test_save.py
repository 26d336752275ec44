"""What is written, what is not, and what a killed run leaves."""

import json
import multiprocessing
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet
from discreet import Recipe, check_release, protect, read_table, write_table
from discreet.check.evidence import load_plan, save_plan
from discreet.check.folders import find_release
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from tests.flow.stopping import save_until


@pytest.fixture
def release(households, recipe_text):
    return protect(households, Recipe.from_toml(recipe_text))


def tree(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_folder_to_share_and_one_to_keep(release, tmp_path):
    path = release.save(tmp_path / "out")
    assert path == tmp_path / "out" / "public" / "table.csv"
    assert tree(tmp_path) == sorted([
        "out", "out/public", "out/public/table.csv", "out/public/codebook.md", "out/public/report.html",
        "out/internal",
        *(f"out/internal/{name}" for name in (
            "README.txt", "recipe.toml", "plan.json", "log.json", "rows.parquet", "schema.arrow",
            "check.json", "assessment.json", "report.html", "manifest.json",
        )),
    ])  # fmt: skip
    assert stat.S_IMODE((tmp_path / "out" / "internal").stat().st_mode) == 0o700
    for kept in (tmp_path / "out" / "internal").iterdir():
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600, kept
    assert "Never share" in (tmp_path / "out" / "internal" / "README.txt").read_text()


def test_rows_are_written_in_random_order_and_mapped(release, tmp_path):
    release.save(tmp_path / "out", format="parquet")
    written = parquet.read_table(tmp_path / "out" / "public" / "table.parquet")
    rows = parquet.read_table(tmp_path / "out" / "internal" / "rows.parquet")["original_row"]
    assert sorted(rows.to_pylist()) == list(range(500))
    assert abs(np.corrcoef(rows.to_numpy(), np.arange(500))[0, 1]) < 0.2
    assert written.equals(release.table.take(rows))


def test_a_file_with_its_internal_folder_beside_it(release, tmp_path):
    path = release.save(tmp_path / "shared.csv")
    assert path == tmp_path / "shared.csv"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["shared.csv", "shared.internal"]
    report = check_release(path, release.recipe, tmp_path / "shared.internal")
    assert report.ok
    with pytest.raises(BadInput, match="exists; choose another place, or replace it with --force"):
        release.save(tmp_path / "shared.csv")
    release.save(tmp_path / "shared.csv", force=True)


def test_a_rerun_from_internal_gives_identical_bytes(release, households, tmp_path):
    release.save(tmp_path / "one")
    again = protect(households, tmp_path / "one" / "internal" / "recipe.toml")
    again.save(tmp_path / "two")
    for name in ("public/table.csv", "public/codebook.md", "internal/plan.json",
                 "internal/recipe.toml", "internal/rows.parquet", "internal/assessment.json"):  # fmt: skip
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), (
            name
        )


def test_nothing_in_public_tells_of_seed_plan_hashes_or_identifiers(
    tmp_path, households, recipe_text
):
    # Figures of a plan that cannot be released values: cuts, with more decimals than the data.
    frame = households.to_pandas().set_index("postcode")
    recipe = Recipe.from_toml(recipe_text)
    release = protect(frame, recipe)
    release.save(tmp_path / "out")
    log = json.loads((tmp_path / "out" / "internal" / "log.json").read_text())
    public = b"".join(
        p.read_bytes() for p in sorted((tmp_path / "out" / "public").iterdir())
    ).decode()
    seeds = (release.recipe.seed, release.recipe.order_seed)
    secret = [text for seed in seeds for text in (str(seed), f"{seed:x}")]
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    secret += [one["sha256"] for one in manifest["files"].values()] + [manifest["mac"]]
    secret += [log["input"]["hmac"], manifest["key"], "seed", "hmac"]
    released = {
        f"{x:g}" for c in ("income", "assets") for x in release.finished.table[c].to_numpy()
    }
    for step in release.plan["steps"]:
        for plan in step["columns"].values():
            secret += [f"{cut!r}" for cut in plan.get("cuts", np.array([])).tolist() if f"{cut:g}" not in released]  # fmt: skip
    secret += frame["name"].dropna().tolist() + [p for p in frame.index if isinstance(p, str)]
    assert len(secret) > 1000
    found = [s for s in secret if re.search(rf"(?<![\d.]){re.escape(s)}(?!\d)", public)]
    assert found == []


def test_a_pandas_index_is_not_written(tmp_path):
    frame = pd.DataFrame({"x": [1, 2, 9, 10]}, index=pd.Index(list("pqrs"), name="person"))
    recipe = {
        "roles": {"confidential": ["x"]},
        "steps": [{"method": "oma", "columns": ["x"], "k": 2}],
    }
    release = protect(frame, recipe)
    assert release.table.index.equals(pd.RangeIndex(4))
    release.save(tmp_path / "out")
    assert read_table(tmp_path / "out" / "public" / "table.csv").column_names == ["x"]


def test_existing_places_are_not_replaced_unasked(release, tmp_path):
    release.save(tmp_path / "out")
    before = (tmp_path / "out" / "internal" / "log.json").read_bytes()
    with pytest.raises(
        BadInput, match=r"out exists; choose another place, or replace it with --force"
    ):
        release.save(tmp_path / "out")
    assert (tmp_path / "out" / "internal" / "log.json").read_bytes() == before
    release.save(tmp_path / "out", force=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(
        BadInput, match="exists and is not a release, so --force does not replace it"
    ):
        release.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "out"]


def test_the_input_is_never_replaced(tmp_path, households, recipe_text):
    for name in ("in.csv", "rel/in.csv", "in.internal/in.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        write_table(households, path)
        release = protect(path, Recipe.from_toml(recipe_text))
        target = tmp_path / {"in.csv": "in.csv", "rel/in.csv": "rel"}.get(name, "in.parquet")
        with pytest.raises(BadInput, match="would replace the input"):
            release.save(target, force=True)
        assert path.exists()


def test_foreign_folders_beside_a_file_are_not_replaced(release, tmp_path):
    (tmp_path / "shared.internal").mkdir()
    (tmp_path / "shared.internal" / "thesis.txt").touch()
    refused = "exists and is not a release, so --force does not replace it"
    with pytest.raises(BadInput, match=refused):
        release.save(tmp_path / "shared.csv", force=True)
    (tmp_path / "plain.csv").write_text("a\n1\n")
    with pytest.raises(BadInput, match=refused):
        release.save(tmp_path / "plain.csv", force=True)


@pytest.mark.parametrize("target", ["out", "out.csv"])
def test_of_two_runs_at_once_the_later_fails(release, tmp_path, target, monkeypatch):
    import discreet.flow.output as output

    publish = output._publish

    def late(part, goal, force):
        monkeypatch.setattr(output, "_publish", publish)
        release.save(tmp_path / target)
        publish(part, goal, force)

    monkeypatch.setattr(output, "_publish", late)
    with pytest.raises(BadInput, match=r"cannot write to .*(exists|not empty)"):
        release.save(tmp_path / target)
    table, internal = find_release(tmp_path / target)
    assert check_release(table, release.recipe, internal, release.original).verified


def test_labels_that_no_row_holds_are_not_written(tmp_path):
    labels = pd.CategoricalDtype(["Zoe Miller HIV", "flu", "cold"])
    frame = pd.DataFrame({"x": range(8), "d": pd.Series(["flu", "cold"] * 4, dtype=labels)})
    step = {"method": "oma", "columns": ["x"], "k": 2}
    release = protect(frame, {"roles": {"rest": "insensitive"}, "steps": [step]})
    path = release.save(tmp_path / "out", format="parquet")
    assert b"Zoe" not in path.read_bytes()
    assert parquet.read_table(path)["d"].chunk(0).dictionary.to_pylist() == ["cold", "flu"]
    assert release.table["d"].cat.categories.tolist() == ["cold", "flu"]


def test_an_index_that_came_through_parquet_is_not_written(tmp_path):
    frame = pd.DataFrame({"x": range(8)}, index=[f"person {i}" for i in range(8)])
    frame.to_parquet(tmp_path / "in.parquet")
    step = {"method": "oma", "columns": ["x"], "k": 2}
    for table in (tmp_path / "in.parquet", pa.Table.from_pandas(frame)):
        release = protect(table, {"roles": {"rest": "insensitive"}, "steps": [step]})
        assert release.finished.table.column_names == ["x"]


def test_a_place_that_cannot_be_written(release, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="it is not a folder that you may write in"):
        release.save(tmp_path / "file" / "out")
    with pytest.raises(BadInput, match="there is no format 'xls'; known: csv, "):
        release.save(tmp_path / "out", format="xls")
    with pytest.raises(BadInput, match=r"out.csv is a csv file, but the format is parquet"):
        release.save(tmp_path / "out.csv", format="parquet")
    for place in ("/", ".", ".."):
        with pytest.raises(BadInput, match="cannot be written; name a folder or file that is to"):
            release.save(place, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_an_error_while_writing_leaves_nothing(release, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.flow.release.save_plan", fail)
    with pytest.raises(BadInput, match=r"cannot write to .*: No space left on device"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_long_arrays_of_a_plan_go_to_parquet(tmp_path):
    plan = {"steps": [{"step": 1, "columns": {"a/b": {"kind": "cuts", "cuts": np.arange(10_001.0), "points": np.array([0.1, 1e300]), "counts": np.array([], dtype=np.int64)}}}]}  # fmt: skip
    save_plan(plan, tmp_path)
    assert len(tree(tmp_path)) == 2
    assert (tmp_path / "plan.json").stat().st_size < 1000
    back = load_plan(tmp_path)["steps"][0]["columns"]["a/b"]
    for key in ("cuts", "points", "counts"):
        assert np.array_equal(back[key], plan["steps"][0]["columns"]["a/b"][key])


# Processes are forked off one that has imported all, and has done nothing else.
forked = multiprocessing.get_context("forkserver")
forked.set_forkserver_preload(["tests.flow.stopping"])
STOPS = ["write_table", "save_plan", "check_frames", "first rename", "tidy"]
CASES = [(target, stop, False) for target in ("out", "out.csv") for stop in STOPS]
CASES += [("out", stop, True) for stop in ("_publish", "first rename", "second rename", "tidy")]
CASES += [("out.csv", "table", False)]
CASES += [("out.csv", s, True) for s in ("first rename", "second rename", "table", "tidy")]


@pytest.fixture
def one_column(tmp_path, households):
    """A table of few pictures: what is looked at is when files are where."""
    write_table(households.slice(0, 100).select(["name", "income"]), tmp_path / "in.csv")
    (tmp_path / "recipe.toml").write_text(
        """\
[roles]
identifiers = ["name"]
confidential = ["income"]

[[steps]]
method = "oma"
columns = ["income"]
k = 5
"""
    )


@pytest.mark.parametrize(("target", "stop", "existing"), CASES)
def test_killed_at_any_moment(tmp_path, one_column, target, stop, existing):
    before = (tmp_path / "in.csv").read_bytes()
    if existing:
        protect(tmp_path / "in.csv", tmp_path / "recipe.toml").save(tmp_path / target)
    told, tell = forked.Pipe(duplex=False)
    process = forked.Process(target=save_until, args=(stop, tmp_path, target, existing, tell))
    process.start()
    assert told.recv() == "here"
    process.kill()
    process.join()
    assert (tmp_path / "in.csv").read_bytes() == before
    internal = tmp_path / ("out/internal" if target == "out" else "out.internal")
    whole = existing or stop == "tidy"
    if whole:
        # The next command that looks finds a whole release: the earlier one, or the new one.
        table, proof = find_release(tmp_path / target)
        assert proof == internal
        assert check_release(table, proof / "recipe.toml", proof, tmp_path / "in.csv").verified
    else:
        assert not (tmp_path / target).exists()
    release = protect(tmp_path / "in.csv", tmp_path / "recipe.toml")
    path = release.save(tmp_path / target, force=whole)
    assert check_release(path, release.recipe, internal, tmp_path / "in.csv").ok
    names = {"in.csv", "recipe.toml", target} | ({"out.internal"} if target == "out.csv" else set())
    assert {p.name for p in tmp_path.iterdir()} == names


@pytest.mark.slow
@pytest.mark.stress
def test_killed_at_random_moments(tmp_path, one_column):
    command = [sys.executable, "-m", "discreet", "protect", str(tmp_path / "in.csv"), "--recipe",
               str(tmp_path / "recipe.toml"), "--out", str(tmp_path / "out")]  # fmt: skip
    started = time.perf_counter()
    assert subprocess.run([*command, "--force"], capture_output=True).returncode == 0
    whole = time.perf_counter() - started
    for share in (0.6, 0.8, 0.95):
        subprocess.run(["rm", "-rf", str(tmp_path / "out")], check=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * share)
        process.kill()
        process.wait()
        if (tmp_path / "out").exists():
            folder = tmp_path / "out"
            assert check_release(folder / "public" / "table.csv", folder / "internal" / "recipe.toml", folder / "internal").ok  # fmt: skip
    assert subprocess.run([*command, "--force"], capture_output=True).returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "out", "recipe.toml"]


def test_release_describes_itself(release):
    assert repr(release) == "<Release of 500 rows and 6 columns, 11 verified, 3 weak>"
    assert discreet.__version__ == release.log["discreet"]
    assert isinstance(release.table, pa.Table)


def test_a_file_that_is_named_from_the_working_folder_is_found_from_the_release(
    tmp_path, monkeypatch
):
    """Given in Python, it is no path from the recipe's folder, which is that of the release."""
    monkeypatch.chdir(tmp_path)
    people = make_households(300, seed=1).select(["sex"])
    write_table(people, "all.parquet")
    Path("sexes.csv").write_text("male;person\nfemale;person\n")
    for files in (
        {"hierarchies": {"sex": "sexes.csv"}, "privacy": [{"model": "k-anonymity", "k": 5}]},
        {
            "hierarchies": {"sex": Hierarchy.from_csv("sexes.csv")},
            "privacy": [{"model": "k-map", "k": 5, "population": "all.parquet"}],
        },
    ):
        step = {"method": "generalize", "columns": ["sex"], **files}
        release = protect(people, {"roles": {"quasi": ["sex"]}, "steps": [step]})
        release.save("out", force=True)
        assert Recipe.load("out/internal/recipe.toml").steps == release.recipe.steps
