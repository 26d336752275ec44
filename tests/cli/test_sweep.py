"""`discreet sweep`, run as a user runs it."""

import json
import shlex

import pytest

from discreet import write_table
from discreet.datasets import make_households
from discreet.recipe import Recipe

GIVEN = """\
[roles]
identifiers = ["name"]
quasi = ["age"]
confidential = ["income"]
rest = "drop"

[[steps]]
method = "oma"
columns = ["age"]
k = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(make_households(300, seed=3).select(["name", "age", "income"]), "people.csv")
    (tmp_path / "r.toml").write_text(GIVEN)
    return tmp_path


def test_from_a_sweep_to_a_release(place, run):
    options = ["--vary", "k=3,30,400", "--vary", "promise=true,false", "--best", "loss"]
    code, out, err = run("sweep", "people.csv", "--recipe", "r.toml", *options)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("6 combinations for people.csv (300 records), each run with its")
    assert lines[0].endswith(": 4 gave a release, 2 did not.")
    [head] = [number for number, line in enumerate(lines) if line.startswith("row ")]
    assert lines[head].split() == [
        "row", "k", "promise", "SRC", "NVIr", "NVRr", "loss", "risk", "seconds", "check",
    ]  # fmt: skip
    assert lines[head + 1].split()[:4] == ["001", "3", "true", "0"]
    assert lines[head + 1].endswith("  passed   best, front")
    assert lines[head + 5].split() == ["005", "400", "true", *"––––––", "refused"]
    [failed] = [line for line in lines if line.startswith("  005, 006: step 1 (oma): ")]
    assert "400" in failed
    [best] = [line for line in lines if line.startswith("Best by loss, ")]
    assert best.endswith("row 001, k = 3, promise = true; 002 ties with it.")
    assert (place / "people.sweep/index.html").exists()
    # The command that it says is the next makes the release.
    code, _, err = run(*shlex.split(lines[-1])[1:])
    assert (code, err) == (0, "")
    assert (place / "people.release/public/table.csv").exists()
    again = run("sweep", "people.csv", "--recipe", "r.toml", *options)
    assert again == (
        2,
        "",
        "discreet: people.sweep exists; choose another place with --out, or replace it with "
        "--force\n",
    )


def test_where_all_pass_the_table_does_not_say_so_row_by_row(place, run):
    """Three parameters and all figures then fit into a terminal."""
    code, out, _ = run("sweep", "people.csv", "--recipe", "r.toml", "--vary", "k=3,30")
    assert code == 0
    [head] = [line for line in out.splitlines() if line.startswith("row ")]
    assert head.split() == ["row", "k", "SRC", "NVIr", "NVRr", "loss", "risk", "seconds"]
    assert "passed" not in out


def test_json_and_lists_in_the_recipe(place, run):
    (place / "r.toml").write_text(GIVEN.replace("k = 3", "k = [3, 30]"))
    code, out, err = run("sweep", "people.csv", "--recipe", "r.toml", "--json", "--out", "s")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert [row["parameters"] for row in content["rows"]] == [{"k": 3}, {"k": 30}]
    assert (content["folder"], content["next"]) == ("s", "")
    for row in content["rows"]:
        assert Recipe.load(place / "s" / row["recipe"]).seed is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "k"], "--vary takes NAME=VALUES, such as k=2..20 or k=3,5,10, not 'k'"),
        (["--vary", "k=3", "--vary", "k=4"], "--vary k is given twice; name all its values at once"),
        (["--vary", "kk=3,4"], "vary: no step has a parameter 'kk'; did you mean 'k'?"),
        (["--vary", "k=3,4", "--best", "rist"], "the best by 'rist' cannot be told; did you mean 'risk'?"),
        (["--vary", "k=3,4", "--out", "people.csv"], "people.csv is a file; choose a folder with --out"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(place, run, arguments, message):
    given = ["people.csv", "--recipe", "r.toml", *arguments]
    assert run("sweep", *given) == (2, "", f"discreet: {message}\n")
    assert not (place / "people.sweep").exists()
