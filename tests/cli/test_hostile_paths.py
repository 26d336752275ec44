"""Paths that are no plain files: one sentence and exit code 2, on each engine, and no waiting."""

import os
import socket
from pathlib import Path

import pytest

RECIPE = """
[roles]
confidential = ["a"]
rest = "drop"
[[steps]]
method = "oma"
columns = ["a"]
k = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    text = "a,b\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(20))
    for name in ("ok.csv", "two\nlines.csv"):
        (tmp_path / name).write_text(text)
    for name, target in {"loop.csv": "loop.csv", "one.csv": "other.csv", "other.csv": "one.csv",
                         "nowhere.csv": "nothing.csv", "loop": "loop", "null.csv": "/dev/null",
                         "parts/loop.parquet": "loop.parquet"}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(target)
    for name in ("folder.csv", "pipes", "folders/x.parquet"):
        (tmp_path / name).mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipes" / "x.parquet")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket.csv")
    (tmp_path / "file").write_text("x")
    return tmp_path


def refusal(run, *arguments):
    code, _, said = run(*arguments)
    assert code == 2, said
    assert said.startswith("discreet: ")
    assert said.count("\n") == 1
    return said.removeprefix("discreet: ").rstrip("\n")


NOWHERE = "is a link that leads nowhere"
INPUTS = {
    "loop.csv": f"loop.csv {NOWHERE}",
    "one.csv": f"one.csv {NOWHERE}",
    "nowhere.csv": f"nowhere.csv {NOWHERE}",
    "loop": f"loop {NOWHERE}",
    "loop.csv/x.csv": "loop.csv/x.csv does not exist",
    "file/x.csv": "file/x.csv does not exist",
    "null.csv": "null.csv is not a file",
    "/dev/null": "/dev/null is not a file",
    "/dev/zero": "/dev/zero is not a file",
    "pipe.csv": "pipe.csv is not a file",
    "socket.csv": "socket.csv is not a file",
    "folder.csv": "folder.csv is a folder without Parquet files",
    "parts": f"parts/loop.parquet {NOWHERE}",
    "pipes": "pipes/x.parquet is not a file",
    "folders": "folders/x.parquet is a folder, though its suffix says that it is a file",
    "x" * 300: "x" * 300 + " cannot be read: File name too long",
    "no\nsuch.csv": r"no\nsuch.csv does not exist",
    "\udcff.csv": r"the path '\udcff.csv' is not valid UTF-8; rename it",
}


@pytest.mark.parametrize("engine", ["memory", "duckdb", "auto"])
@pytest.mark.parametrize(("path", "said"), INPUTS.items(), ids=lambda text: ascii(text)[:30])
def test_inputs(folder, run, engine, path, said):
    more = "--recipe", "recipe.toml", "--out", "out", "--engine", engine
    assert refusal(run, "protect", path, *more) == said
    assert not (folder / "out").exists()


@pytest.mark.parametrize("path", ["loop.csv", "pipe.csv", "null.csv", "folder.csv", "loop.csv/x"])
def test_other_commands(folder, run, path):
    for command in (
        ["inspect", path],
        ["check", path],
        ["assess", path, "ok.csv", "--recipe", "recipe.toml"],
        ["assess", "ok.csv", path, "--recipe", "recipe.toml"],
        ["compare", "ok.csv", path],
        ["report", path, "--out", "report.html"],
        ["inspect", "ok.csv", "--write-recipe", path],
    ):
        refusal(run, *command)


OUTPUTS = ["loop.csv", "loop", "loop.csv/x", "loop/y.csv", "nowhere.csv", "pipe.csv", "socket.csv",
           "folder.csv", "file", "file/x", "/dev/null", "/dev/null/x", "x" * 300, ".", "..", "ok.csv",
           "/proc/x", "\udcfe"]  # fmt: skip


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("path", OUTPUTS, ids=lambda text: ascii(text)[:30])
def test_outputs(folder, run, path, force):
    before = {one: os.lstat(one).st_mode for one in folder.rglob("*")}
    refusal(run, "protect", "ok.csv", "--recipe", "recipe.toml", "--out", path, *force)
    assert {one: os.lstat(one).st_mode for one in folder.rglob("*")} == before


def test_names_with_line_ends_are_names(folder, run):
    more = "--recipe", "recipe.toml", "--out", "out\nput"
    assert run("protect", "two\nlines.csv", *more)[0] == 0
    assert run("check", "out\nput", "--original", "two\nlines.csv")[0] == 0
    again = refusal(run, "protect", "two\nlines.csv", *more)
    assert again == r"out\nput exists; choose another place, or replace it with --force"


def test_names_from_files_do_not_steer_the_terminal(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bell = "\x1b]0;own\x07"
    rows = "".join(f"{age},x\n" for age in range(20, 60))
    Path("in.csv").write_text(f"age,a{bell}b\n{rows}")
    Path("recipe.toml").write_text(
        '[roles]\nquasi = ["age"]\n[[steps]]\nmethod = "\\u001b]0;own\\u0007"\ncolumns = ["age"]\n'
    )
    for command in (
        ("inspect", "in.csv"),
        ("recipe", "check", "recipe.toml"),
        ("protect", "in.csv", "--recipe", "recipe.toml", "--out", "out"),
    ):
        _, out, told = run(*command)
        assert "\x1b" not in out + told, command
        assert "\x07" not in out + told, command
        assert r"\x1b]0;own\x07" in out + told, command
