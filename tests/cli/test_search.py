"""`discreet search`, run as a user runs it."""

import json
import shlex
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from discreet import write_table
from discreet.cli.fronts import progress_line, told
from discreet.datasets import make_households
from discreet.recipe import Recipe
from discreet.tuning.figures import Figures
from discreet.tuning.front import Front
from discreet.tuning.judge import Judge
from discreet.tuning.points import Axis, Point
from discreet.tuning.task import read_task
from discreet.tuning.trials import Progress


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = make_households(300, seed=3).select(["name", "region", "age", "income"])
    write_table(people, "people.csv")
    (tmp_path / "r.toml").write_text(
        '[roles]\nidentifiers = ["name"]\nquasi = ["region", "age"]\nconfidential = ["income"]\n'
    )
    return tmp_path


def by_hand() -> Front:
    """A front of four points."""
    points = []
    for place in range(1, 5):
        content = {
            "roles": {"confidential": ["income"], "rest": "drop"},
            "steps": [{"method": "oma", "columns": ["income"], "k": 50 // place}],
        }
        words = ["name dropped", f"income averaged in groups of {50 // place} or more"]
        spread = {"risk": (place / 110, place / 90), "loss": (0.5 / place, 0.5 / place)}
        recipe = Recipe.from_dict(content)
        points.append(
            Point(f"{place:02}", recipe, place / 100, 0.5 / place, words, confirmed=spread)
        )
    axes = Axis("informed_linkage", 0.025, "share", 1), Axis("information_loss", top=1)
    return Front(points, *axes, 300, 300, evaluations=1234, seconds=12.3)


@pytest.fixture
def asked(monkeypatch):
    """What the command asks of the search, which answers at once."""
    got = {}

    def search(table, recipe, **arguments):
        got.update(arguments, table=table, recipe=recipe)
        return by_hand()

    module = SimpleNamespace(search=search, MINUTES=5)
    monkeypatch.setitem(sys.modules, "discreet.tuning.search", module)
    return got


def test_what_is_printed(place, run, asked):
    code, out, err = run("search", "people.csv", "--recipe", "r.toml", "--separator", ",")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) <= 30
    assert lines[0] == "1,234 recipes for people.csv (300 records) tried in 12 s; 4 to choose from."
    assert lines[4] == "Recommended: recipe 02, least loss within the risk bound and best balance"
    assert lines[6:8] == ["    - name dropped", "    - income averaged in groups of 25 or more"]
    assert lines[-3] == "All recipes: people.front/index.html, with files in people.front/recipes"
    assert lines[-1] == (
        "  discreet protect people.csv --recipe people.front/recipes/02.toml --separator , "
        "--out people.release"
    )
    assert asked["dialect"]["separator"] == ","
    assert asked["minutes"] == 5


def test_what_is_asked_of_the_search(place, run, asked):
    options = ["--keep", 'age, "a,b"', "--evaluations", "9", "--seed", "3", "--risk", "risk <= 1"]
    run("search", "people.csv", "--recipe", "r.toml", *options, "--out", "f", "--loss", "il1s")
    assert asked["keep"] == ["age", "a,b"]
    assert (asked["evaluations"], asked["minutes"], asked["seed"]) == (9, None, 3)
    assert (asked["risk"], asked["loss"]) == ("risk <= 1", "il1s")
    assert str(asked["out"]) == "f"


def test_json(place, run, asked):
    code, out, _ = run("search", "people.csv", "--recipe", "r.toml", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["folder"] == "people.front"
    assert shlex.split(content["next"])[-1] == "people.release"
    kept = {key: value for key, value in content.items() if key not in ("folder", "next")}
    assert kept == json.loads(json.dumps(by_hand().to_dict()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "1", "--evaluations", "9"], "give --minutes or --evaluations, not both"),
        (["--out", "people.csv"], "people.csv is a file; choose a folder with --out"),
        (["--out", "no/front"], "no/front: the folder no does not exist"),
        (["--out", "old"], "old exists; choose another place with --out, go on with --resume, or replace it with --force"),
        (["--resume", "--force"], "--resume goes on with what is there, and --force replaces it; choose one"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(place, run, arguments, message):
    (place / "old").mkdir()
    arguments = ["people.csv", "--recipe", "r.toml", *arguments]
    assert run("search", *arguments) == (2, "", f"discreet: {message}\n")


def test_the_line_that_tells_how_far_it_is():
    best = Figures(0.0412, 0.2)
    assert progress_line(Progress(1200, 61.2, 9, best), 5, None) == (
        "1,200 tried, 61 of 300 s; best risk 0.0412, loss 0.2 (Ctrl-C ends it)"
    )
    assert (
        progress_line(Progress(0, 0.2, 0, None), None, 50) == "0 of 50 tried, 0 s (Ctrl-C ends it)"
    )
    confirming = Progress(50, 9.7, 9, best, "confirming on fresh seeds: 3 of 12")
    assert progress_line(confirming, None, 50) == (
        "50 of 50 tried, 10 s; confirming on fresh seeds: 3 of 12"
    )


GIVEN = """\
[roles]
identifiers = ["name"]
quasi = ["age"]
confidential = ["income"]
rest = "drop"

[[steps]]
method = "oma"
columns = ["age"]
k = [3, 30]

[[steps]]
method = "rank-swap"
columns = ["income"]
p = [5.0, 25.0]
"""


def _bytes(folder):
    return {one.name: one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_from_a_search_to_a_release(place, run):
    (place / "r.toml").write_text(GIVEN)
    options = ["people.csv", "--recipe", "r.toml", "--evaluations", "4"]
    code, out, err = run("search", *options)
    assert (code, err) == (0, "")
    front = json.loads((place / "people.front/front.json").read_text())
    assert sorted(_bytes(place / "people.front/recipes")) == [
        f"{one['name']}.toml" for one in front["points"]
    ]
    # The command that it says is the next makes the release.
    code, _, err = run(*shlex.split(out.splitlines()[-1])[1:])
    assert (code, err) == (0, "")
    assert (place / "people.release/public/table.csv").exists()
    # The same again, and what a finished search says when it is to go on.
    before = _bytes(place / "people.front")
    assert run("search", *options)[0] == 2
    assert run("search", *options, "--force")[0] == 0
    assert _bytes(place / "people.front") == before
    assert run("search", *options, "--resume")[0] == 0
    assert _bytes(place / "people.front") == before
    code, _, err = run("search", *options, "--resume", "--seed", "2")
    assert (code, err.count("\n")) == (2, 1)


def test_ctrl_c_ends_with_the_front_so_far(place, run, monkeypatch):
    (place / "r.toml").write_text(GIVEN)
    judged = Judge.figures
    times = iter(range(9))

    def pressed(self, *arguments):
        if next(times) == 2:
            raise KeyboardInterrupt
        return judged(self, *arguments)

    monkeypatch.setattr(Judge, "figures", pressed)
    code, out, err = run("search", "people.csv", "--recipe", "r.toml")
    assert (code, err) == (0, "")
    assert out.startswith("Stopped by Ctrl-C (--resume goes on): ")
    assert (place / "people.front/recipes/01.toml").exists()


def test_inspect_searches_for_the_steps(place, run):
    options = ["inspect", "people.csv", "--write-recipe"]
    code, out, err = run(*options, "a.toml", "--evaluations", "6", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["search"]
    text = (place / "a.toml").read_text()
    assert found["evaluations"] == 6
    assert "# Found by a search: 6 recipes tried, with seed 0" in text
    for word in found["words"]:
        assert f"\n# - {word}\n" in text
    code, out, err = run(*options, "b.toml", "--evaluations", "6")
    assert (code, err) == (0, "")
    assert "\n6 recipes tried; the one written has risk " in out
    # k = 5 keeps the bound of 1 in 5.
    assert found["risk"] <= 0.2
    assert "No recipe with risk within" not in out
    assert (place / "b.toml").read_text() == text
    code, _, err = run("protect", "people.csv", "--recipe", "a.toml", "--out", "out")
    assert (code, err) == (0, "")


def test_the_recipe_of_the_docs_can_be_searched():
    text = (Path(__file__).parents[2] / "docs/howto/search.md").read_text("utf-8")
    content = tomllib.loads(text.split('```toml title="roles.toml"\n')[1].split("```")[0])
    task = read_task(make_households(200, seed=3), content)
    assert task.risk.value == 0.05
    assert task.standards == {"correlations": 0.1}


@pytest.mark.parametrize("count", [1, 12, 24, 400])
def test_the_recommended_recipe_is_told_in_full_where_thirty_lines_hold_it(count):
    words = [f"column_{place} swapped within {place} % of ranks" for place in range(count)]
    other = {"name": "02", "risk": 0.5, "loss": 0.01, "words": ["everything else " * 30]}
    point = {"name": "01", "risk": 0.03, "loss": 0.2, "words": words}
    front = {
        "risk": {"name": "informed_linkage", "unit": "share"},
        "loss": {"name": "information_loss", "unit": "share"},
        "points": [point, other, {**other, "name": "03"}, {**other, "name": "04"}],
        "best": "01",
        "recommended": [{"name": "01", "kind": "best balance", "reason": "It is so. " * 20}],
        "further": ["To get less risk, more has to go. " * 9] * 3,
    }
    lines = told(front)
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    whole = " ".join(line.strip().removeprefix("- ") for line in lines)
    assert all(word in whole for word in words) or "    ... (the page has all)" in lines
    assert "    ... (the page has all)" not in lines or count > 24
    others = {1: 3, 12: 2, 24: 2}.get(count, 0)
    assert sum(line.startswith("Or ") for line in lines) == others
