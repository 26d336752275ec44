"""The compare command: what it prints and writes, and what it refuses before any work."""

import json
import shutil

import pytest

from discreet import Recipe, protect, write_table


@pytest.fixture(scope="module")
def releases(households, recipe_text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    write_table(households, folder / "in.csv")
    for k in (5, 50):
        recipe = Recipe.from_toml(recipe_text.replace("k = 5", f"k = {k}"))
        protect(folder / "in.csv", recipe).save(folder / f"k{k}")
    return folder


@pytest.fixture
def place(releases, tmp_path, monkeypatch):
    shutil.copytree(releases, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compare_prints_and_writes(place, run):
    code, out, err = run("compare", "in.csv", "k5", "k50", "--out", "compare.html")
    assert (code, err) == (0, "")
    assert "not dominated" in out
    assert out.rstrip().endswith("Written: compare.html")
    page = (place / "compare.html").read_text()
    assert "oma of income and assets (k = 50)" in page
    code, out, _ = run("compare", "in.csv", "k5", "k50", "--json", "--out", "compare.json")
    assert code == 0
    assert json.loads(out) == json.loads((place / "compare.json").read_text())
    assert [one["name"] for one in json.loads(out)["releases"]] == ["k5", "k50"]
    # A report of one of them tells the other.
    code, _, err = run("report", "k5", "--out", "report.html", "--compared", "compare.json")
    assert (code, err) == (0, "")
    report = (place / "report.html").read_text()
    assert "The releases that were compared" in report


def test_what_is_refused(place, run):
    (place / "there.html").write_text("mine")
    inside = "k5/public/compare.html is inside the release k5; choose another place"
    for arguments, message in (
        (("k5",), "there is one release; a comparison needs at least two"),
        (("k5", "gone"), "gone does not exist"),
        (("k5", "k50", "--out", "c.pdf"), "c.pdf must end with .html or .json"),
        (("k5", "k50", "--out", "no/c.html"), "no/c.html: the folder no does not exist"),
        (("k5", "k50", "--out", "k5/public/compare.html"), inside),
        (("k5", "k50", "--out", "there.html"), "there.html exists; choose another place, or replace it with --force"),
        (("k5", "k50", "--risk", "guess"), "'guess' is no risk to rank by; choose from linkage, "),
    ):  # fmt: skip
        code, out, err = run("compare", "in.csv", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"discreet: {message}")
        assert err.count("\n") == 1
    assert (place / "there.html").read_text() == "mine"
    assert run("compare", "in.csv", "k5", "k50", "--out", "there.html", "--force")[0] == 0


@pytest.mark.parametrize("width", ["30", "60", "80"])
def test_no_figure_is_cut_where_there_is_little_room(place, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    releases = ["k5", "k50"]
    code, out, _ = run("compare", "in.csv", *releases)
    assert code == 0
    assert "…" not in out
    found = json.loads(run("compare", "in.csv", *releases, "--json")[1])
    cells = [cell.strip() for line in out.splitlines() for cell in line.split("│")]
    assert sum(cell in ("dominated", "not dominated") for cell in cells) >= len(releases)
    for one in found["releases"]:
        for figure in (f"{one['rows']:,}", f"{one['risk']:.4g}", f"{one['loss']:.4g}"):
            assert figure in cells
    code, out, _ = run("assess", "in.csv", "k5", "--recipe", "k5/internal/recipe.toml")
    assert code == 0
    assert "…" not in out
    cells = [cell.strip() for line in out.splitlines() for cell in line.split("│")]
    assert "interval_disclosure" in cells
    assert "measures=[" not in out
    assert "ask for it by name: --measure suda2." in " ".join(out.split())
    assert "…" not in run("methods")[1]


def test_releases_in_several_formats_go_through_all_commands(place, run):
    asked = ("protect", "in.csv", "--recipe", "k5/internal/recipe.toml", "--out", "many")
    code, out, _ = run(*asked, "--format", "sav,csv", "--json")
    assert code == 0
    assert json.loads(out)["tables"] == ["many/public/table.sav", "many/public/table.csv"]
    for command in (
        ("check", "many", "--original", "in.csv"),
        ("report", "many", "--out", "page.html"),
        ("report", "many", "--external", "--out", "shared.html"),
        ("assess", "in.csv", "many", "--recipe", "many/internal/recipe.toml"),
        ("compare", "in.csv", "many", "k50"),
    ):
        code, _, err = run(*command)
        assert (code, err) == (0, ""), command
    code, _, err = run(*asked, "--force", "--format", "csv,sav", "--engine", "duckdb")
    assert code == 2
    assert "the engine duckdb writes csv, csv.gz, csv.zst, parquet, not sav" in err
