"""The risk command, and assess where it finds recipe and original by itself."""

import json
import shutil

import pytest

from discreet import Recipe, protect, write_table


@pytest.fixture(scope="module")
def made(households, recipe_text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_table(households, folder / "in.csv")
    (folder / "recipe.toml").write_text(recipe_text)
    protect(folder / "in.csv", Recipe.from_toml(recipe_text)).save(folder / "out")
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_risk_of_a_file_fits_a_screen(place, run):
    code, out, err = run("risk", "in.csv", "--keys", "age, sex,region", "--weight", "weight",
                         "--confidential", "income", "--records")  # fmt: skip
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("Risk of in.csv as it is, ")
    assert lines[0].endswith(" records by age, sex, region")
    assert len(lines) <= 25
    assert sum(" row " in line for line in lines) == 10
    assert "…" not in out


def test_a_recipe_names_the_columns(place, run):
    code, out, _ = run("risk", "in.csv", "--recipe", "recipe.toml", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["columns"] == Recipe.load("recipe.toml").roles.quasi
    assert found["risk"]["class_sizes"]["records"] > 0


def test_what_risk_refuses(place, run):
    for arguments, message in (
        ((), "name what an intruder may know, with --keys age,sex,town or --recipe R"),
        (("--keys", "age", "--recipe", "recipe.toml"),
         "--recipe says what each column is; leave out --keys and the other columns"),
        (("--keys", "age", "--household", "hous"), "the table has no column 'hous'; "),
        (("--keys", "age,agee"), "the table has no column 'agee'; did you mean 'age'?"),
    ):  # fmt: skip
        code, out, err = run("risk", "in.csv", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"discreet: {message}")


def test_assess_finds_recipe_and_original(place, run):
    whole = run("assess", "in.csv", "out", "--recipe", "recipe.toml", "--json")
    assert whole[0] == 0
    assert run("assess", "in.csv", "out", "--json") == whole
    assert run("assess", "out", "--json") == whole
    # From elsewhere, it is beside the release.
    (place / "elsewhere").mkdir()
    code, out, _ = run("assess", place / "out", "--json")
    assert (code, out) == whole[:2]


def test_assess_says_what_it_does_not_find(place, run):
    (place / "in.csv").rename(place / "moved.csv")
    code, out, err = run("assess", "out")
    assert (code, out) == (2, "")
    assert err == (
        "discreet: out was made from in.csv, which is neither here nor beside the release; give it "
        "first: discreet assess ORIGINAL out\n"
    )
    assert run("assess", "moved.csv", "out", "--measure", "class_sizes")[0] == 0
    shutil.rmtree(place / "out" / "internal")
    assert run("assess", "out")[2] == (
        "discreet: out/internal is not there, and only it says what was protected; give it first: "
        "discreet assess ORIGINAL out\n"
    )
    assert run("assess", "moved.csv", "out")[2] == (
        "discreet: out/internal does not exist; give the recipe with --recipe\n"
    )


def test_an_original_of_the_same_name_that_is_another_table_is_refused(place, run):
    text = (place / "in.csv").read_text().splitlines()
    (place / "in.csv").write_text("\n".join(text[:-1]) + "\n")
    code, _, err = run("assess", "out")
    assert code == 2
    assert err == "discreet: in.csv is not the table that out was made from\n"


def test_one_record_is_not_written_as_several(tmp_path, run):
    (tmp_path / "one.csv").write_text("age\n5\n")
    code, text, _ = run("risk", tmp_path / "one.csv", "--keys", "age")
    assert code == 0
    assert text.startswith("Risk of one.csv as it is, 1 record by age\n")
