"""The report command: pages, a summary in the terminal, refusals in one sentence."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from discreet import compare, protect, write_table
from discreet.check.manifest import Seal, sha256
from discreet.cli.main import app
from discreet.errors import BadInput
from discreet.flow.reports import saved_report
from discreet.recipe import Recipe


def invoke(*arguments):
    """Run a command in this process, which has compiled and imported all already."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.exception
    return result


@pytest.fixture(scope="module")
def place(households, recipe_text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli-report")
    write_table(households, folder / "in.csv")
    release = protect(folder / "in.csv", Recipe.from_toml(recipe_text))
    release.save(folder / "out")
    release.save(folder / "shared.csv")
    return folder


@pytest.mark.parametrize(("flags", "name"), [((), "internal"), (("--external",), "public")])
def test_the_page_is_made_again_byte_for_byte(place, tmp_path, flags, name):
    target = tmp_path / f"{name}.html"
    result = invoke("report", place / "out", "--out", target, *flags)
    assert result.stdout == f"Written: {target}\n"
    assert target.read_bytes() == (place / "out" / name / "report.html").read_bytes()


def test_measured_anew_from_the_original(place, tmp_path):
    internal = tmp_path / "copy"
    shutil.copytree(place / "out", internal)
    assessment = internal / "internal" / "assessment.json"
    stored, before = json.loads(assessment.read_text()), sha256(assessment)
    assessment.write_text(json.dumps(stored | {"risk": {}, "utility": {}, "figures": None}))
    number = json.loads((internal / "internal" / "log.json").read_text())["release"]
    Seal.of().put(internal, number)
    invoke("report", internal, "--original", place / "in.csv", "--out", tmp_path / "a.html")
    written = (place / "out" / "internal" / "report.html").read_text("utf-8")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert page.replace(sha256(assessment), before) == written


def test_a_released_file_has_its_report_beside_it(place, tmp_path):
    assert (place / "shared.internal" / "report.html").is_file()
    invoke("report", place / "shared.csv", "--out", tmp_path / "e.html", "--external")
    assert "Report for data users" in (tmp_path / "e.html").read_text("utf-8")


def test_the_summary_in_the_terminal(place, run):
    code, out, err = run("report", place / "out")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith("500 records with 6 of 15 columns are released, treated by top-bottom")
    assert "are unique on region, age and sex" in text
    assert "linkage by distance" in text
    assert "Check: " in text
    refused = f"discreet: {place / 'nowhere'} does not exist\n"
    assert run("report", place / "nowhere") == (2, "", refused)


def test_the_summary_as_json(place):
    content = json.loads(invoke("report", place / "out", "--json").stdout)
    assert set(content) == {"summary", "key_figures", "check"}
    assert len(content["summary"]) == 3
    names = [row["measure"] for row in content["key_figures"]]
    assert "in classes under 2 (households)" in names


def test_of_a_table_too_large_for_memory_the_written_page_is_external(place, monkeypatch):
    made = saved_report(place / "out", external=True)
    written = place / "out" / "public" / "report.html"
    assert made == written.read_text("utf-8")
    monkeypatch.setattr("discreet.flow.reports.free_memory", lambda: 0)
    assert saved_report(place / "out", external=True) == made
    with pytest.raises(BadInput, match=r"report.html is not there; "):
        saved_report(place / "shared.csv", external=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing does not exist"),
        (["out", "--external"], "give the file to write the external report to, with --out"),
        (["out", "--external", "--out", "x.html", "--original", "in.csv"],
         "an external report covers the released table only; leave out --original and --compared"),
        (["out", "--out", "in.csv"], "in.csv exists; choose another place, or replace it with --force"),
        (["out", "--out", "nowhere/x.html"], "cannot write to nowhere/x.html: No such file or directory"),
        (["out", "--out", "out/public/board.html"],
         "{place}/out/public is shared; write the internal report elsewhere"),
        (["out", "--compared", "in.csv", "--out", "x.html"],
         "in.csv is not a comparison; make one with `discreet compare ... --out in.csv`"),
        (["out", "--original", "other.csv", "--out", "x.html"],
         "other.csv is not the table that out was made from"),
        (["alone.csv", "--out", "x.html"],
         "alone.internal is not there, and a report is made from it; run `discreet report` where the "
         "release was made"),
    ],
)  # fmt: skip
def test_refusals(place, arguments, message, monkeypatch):
    lines = (place / "in.csv").read_text("utf-8").splitlines(keepends=True)
    (place / "other.csv").write_text("".join(lines[:-1]), "utf-8")
    shutil.copy(place / "shared.csv", place / "alone.csv")
    monkeypatch.chdir(place)
    found = CliRunner().invoke(app, ["report", *arguments]).exception
    assert isinstance(found, BadInput)
    assert str(found) == message.replace("{place}", str(place))
    assert not (place / "x.html").exists()


def test_the_alternatives_of_a_comparison(place, tmp_path):
    found = compare(place / "in.csv", [place / "out", place / "shared.csv"]).to_dict()
    html = saved_report(place / "out", comparison=json.loads(json.dumps(found)))
    assert "The releases that were compared" in html
    assert "No comparison with other releases" not in html
    assert "The releases that were compared" not in saved_report(place / "out")
    assert "out (this release)" in html


def test_a_comparison_without_the_release_is_refused(place, tmp_path, recipe_text):
    for k in (7, 8):
        recipe = Recipe.from_toml(recipe_text.replace("k = 5", f"k = {k}"))
        protect(place / "in.csv", recipe).save(tmp_path / f"k{k}")
    found = compare(place / "in.csv", [tmp_path / "k7", tmp_path / "k8"])
    compared = tmp_path / "compare.json"
    compared.write_text(found.to_json())
    asked = ["report", place / "out", "--out", tmp_path / "x.html", "--compared", compared]
    error = CliRunner().invoke(app, [str(part) for part in asked]).exception
    assert isinstance(error, BadInput)
    assert str(error) == (
        f"{place / 'out'} is not among the releases of the comparison (k7, k8); compare it with "
        "them by `discreet compare`, or leave --compared out"
    )
    assert not (tmp_path / "x.html").exists()
    invoke("report", tmp_path / "k7", "--out", tmp_path / "y.html", "--compared", compared)
    assert "k7 (this release)" in (tmp_path / "y.html").read_text("utf-8")
