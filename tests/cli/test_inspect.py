"""`discreet inspect`, run as a user runs it."""

import json
import sys
from functools import partial

import openpyxl
import pytest
import typer
from rich.console import Console

from discreet import write_table
from discreet.cli import main, show
from discreet.datasets import make_episodes, make_households
from discreet.recipe import Recipe

# Without a search for the steps.
PLAIN = ("--seconds", "0", "--write-recipe")


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Run `inspect` in a folder with a table."""
    monkeypatch.chdir(tmp_path)
    write_table(make_households(1000, seed=3, null_rate=0.02), "in.csv")
    return partial(run, "inspect")


def test_plain_in_a_pipe(run):
    code, out, err = run("in.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "1,000 records, 15 columns"
    assert lines[1].split() == ["column", "kind", "distinct", "nulls", "unique", "range", "probably", "why"]  # fmt: skip
    assert lines[2].startswith("name ")
    assert "identifiers" in lines[2]
    assert "postcode x birth_date" in out
    assert not set("│┃─━") & set(out)


def test_a_table_on_a_terminal(run, monkeypatch):
    shown = Console(force_terminal=True, width=200, record=True)
    monkeypatch.setattr(show, "out", shown)
    run("in.csv")
    text = shown.export_text()
    assert "┃ column" in text
    assert "Riskiest keys" in text


def test_no_name_of_a_column_is_cut_on_a_narrow_terminal(run, monkeypatch):
    long = "d" * 60
    write_table(make_households(300, seed=3).rename_columns({"disease": long}), "long.csv")
    for width in (80, 100):
        shown = Console(force_terminal=True, width=width, record=True)
        monkeypatch.setattr(show, "out", shown)
        run("long.csv")
        framed = [line for line in shown.export_text().splitlines() if line[:1] == "│"]
        names = "".join(line.split("│")[1].strip() for line in framed)
        assert "marital_status" in names
        assert long in names
        assert max(map(len, framed)) <= width


def test_json(run):
    code, out, _ = run("in.csv", "--json", *PLAIN, "r.toml")
    content = json.loads(out)
    assert code == 0
    assert content["rows"] == 1000
    assert content["columns"][0]["guess"]["role"] == "identifiers"
    assert content["keys"]["riskiest"][0]["columns"][0] == "postcode"
    assert content["recipe"] == "r.toml"


def test_recipe_and_hierarchies_are_written_and_run(run, tmp_path, monkeypatch):
    code, out, _ = run("in.csv", *PLAIN, "r.toml", "--write-hierarchies", "trees")
    assert code == 0
    assert "Recipe to review and run: r.toml" in out
    assert "do not share them" in out
    assert Recipe.load("r.toml").steps[0].method == "generalize"
    assert (tmp_path / "trees/age.csv").read_text().startswith("0;0-4;0-9;")
    monkeypatch.setattr(
        sys, "argv", ["discreet", "protect", "in.csv", "--recipe", "r.toml", "--out", "out"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert (tmp_path / "out/public/table.csv").exists()


def test_ways_are_tried_and_told(run, tmp_path):
    visits = make_episodes(60)
    write_table(visits, "visits.csv")
    code, out, err = run("visits.csv", "--write-recipe", "r.toml")
    assert (code, err) == (0, "")
    first, *lines = out[out.index("Ways to have 5") :].splitlines()
    assert first == "Ways to have 5 or more people share each combination, tried:"
    assert sum(line.endswith(" <- taken") for line in lines[:4]) == 1
    assert lines[-1] == "Recipe to review and run: r.toml"
    text = (tmp_path / "r.toml").read_text()
    assert all(f"# {line}\n" in text for line in [first, *lines[:-1]])
    code, out, _ = run("visits.csv", "--write-recipe", "r.toml", "--force", "--json")
    tried = json.loads(out)["tried"]
    assert [one["words"] for one in tried] == [line[2:].split(":")[0] for line in lines[:4]]
    assert sum(one["taken"] for one in tried) == 1
    assert (tmp_path / "r.toml").read_text() == text


def test_a_tree_is_shown(run):
    code, out, _ = run("in.csv", "--hierarchy", "postcode")
    assert code == 0
    with_a_value = len(make_households(1000, seed=3, null_rate=0.02)["postcode"].drop_null())
    assert out.splitlines()[:2] == ["postcode", f"*  ({with_a_value} rows)"]
    code, _, err = run("in.csv", "--hierarchy", "post")
    assert code == 2
    assert err.startswith("discreet: the table has no column 'post'")


def test_doubtful_columns_are_asked_about(run, monkeypatch):
    asked = []

    def answer(text, **options):
        asked.append(text)
        return "nonsense" if len(asked) == 1 else "drop"

    monkeypatch.setattr(typer, "prompt", answer)
    code, _, _ = run("in.csv", *PLAIN, "r.toml", "--interactive")
    assert code == 0
    assert asked[0].startswith("  role of weight: identifiers, quasi")
    assert asked[1].startswith("  one of identifiers")
    assert Recipe.load("r.toml").roles.weight is None


def test_a_unit_can_be_chosen(run, monkeypatch):
    visits = make_episodes(200).rename_columns({"patient_id": "v1"})
    write_table(visits.select(["v1", "sex", "birth_year", "days", "cost"]), "visits.csv")
    offered = {}

    def answer(text, **options):
        name = text.split("role of ")[1].split(":")[0]
        offered[name] = options["default"]
        return "unit" if name == "v1" else "drop"

    monkeypatch.setattr(typer, "prompt", answer)
    code, _, _ = run("visits.csv", *PLAIN, "visits.toml", "--interactive")
    assert code == 0
    assert offered["v1"] == "unit"
    assert Recipe.load("visits.toml").roles.unit == "v1"
    assert Recipe.load("visits.toml").counted == "v1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv does not exist"),
        (["in.csv", "--interactive"], "--interactive asks for roles, so it needs --write-recipe"),
        (["in.csv", "--write-recipe", "in.csv"], "in.csv is the table; choose another name for the recipe"),
        (["in.csv", "--write-recipe", "."], "cannot write a recipe to .: name a file in a folder that exists"),
        (["in.csv", "--write-recipe", "old.toml"], "old.toml exists; choose another name, or replace it with --force"),
        (["in.csv", "--sheet", "a"], "in.csv is not a workbook, so it has no sheets"),
        (["book.xlsx", "--sheet", "b"], "book.xlsx has no sheet 'b'; known: a"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(run, tmp_path, arguments, message):
    (tmp_path / "old.toml").write_text("")
    book = openpyxl.Workbook()
    book.active.title = "a"
    book.save(tmp_path / "book.xlsx")
    assert run(*arguments) == (2, "", f"discreet: {message}\n")


def test_a_recipe_is_replaced_with_force(run, tmp_path):
    (tmp_path / "old.toml").write_text("")
    assert run("in.csv", *PLAIN, "old.toml", "--force")[0] == 0
    assert Recipe.load("old.toml").steps


def test_that_nothing_would_be_released_is_said_at_once(run, tmp_path):
    rows = "".join(f"Ann Lee{i},a{i}@example.org\n" for i in range(30))
    (tmp_path / "ids.csv").write_text("name,mail\n" + rows)
    said = (
        "no column would be released, so no recipe is proposed: all are identifiers or have to be "
        "dropped ('name': its name says that it names people, and 100% of its values look like "
        "names)"
    )
    code, out, _ = run("ids.csv")
    assert (code, out.splitlines()[-1]) == (0, f"Note: {said}.")
    code, _, err = run("ids.csv", "--write-recipe", "r.toml")
    assert (code, err) == (2, f"discreet: {said}\n")
    assert not (tmp_path / "r.toml").exists()
