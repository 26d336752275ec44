"""`discreet reproduce`, as a user runs it."""

import json
import subprocess
import sys
from functools import partial

import pytest


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # No process of its own: the pieces here are small.
    monkeypatch.setattr("discreet.cli.reproduce._processes", lambda: 1)
    return partial(run, "reproduce")


SMALL = ("rounding", "--table", "1", "--seeds", "1")


def test_tables_then_findings_and_nothing_on_stderr(run):
    code, out, err = run(*SMALL)
    assert (code, err) == (0, "")
    assert "Table 1. Microaggregation of exponential data" in out
    assert out.index("paper") < out.index("measured") < out.index("difference")
    assert out.index("│ OMA, k = 20 ") < out.index("What does not agree, and why")


def test_json(run):
    code, out, _ = run(*SMALL, "--json")
    told = json.loads(out)["rounding"]
    [table] = told["tables"]
    first = table["figures"][0]
    assert code == 0
    assert (first["row"], first["quantity"], first["paper"]) == (
        "MDAV, k = 167",
        "IL metrics",
        103.26,
    )
    assert first["difference"] == pytest.approx(first["measured"] - 103.26)
    assert {finding["verdict"] for finding in told["findings"]} >= {"differs", "contradiction"}


def test_pages(run, tmp_path):
    code, out, _ = run(*SMALL, "--html", "page.html", "--markdown", "page.md")
    assert code == 0
    assert "What does not agree, and why" in out
    assert "OMA, k = 20" not in out
    assert "<td>OMA, k = 20</td>" in (tmp_path / "page.html").read_text("utf-8")
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "| OMA, k = 20 |" in page
    assert "`discreet reproduce rounding --table 1 --seeds 1 --markdown page.md`" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "there is no paper 'x'; choose from rounding, porop, deficient, all"),
        (
            ("porop", "--table", "III"),
            "the paper 'porop' has no table 'III'; choose from I, II, baselines",
        ),
        (("all", "--table", "III"), "no paper has a table 'III'"),
        ((*SMALL, "--html", "no/page.html"), "no/page.html: the folder no does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, arguments, message):
    assert run(*arguments) == (2, "", f"discreet: {message}\n")


def test_missing_data_is_no_failure(run, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    code, out, _ = run("porop", "--table", "I", "--seeds", "1")
    assert code == 0
    assert "Data not found" in out
    assert "skipped, data not found. Census: The reference file" in " ".join(out.split())


def test_plots_are_not_imported_for_help():
    code = (
        "import sys, discreet.cli.main\n"
        "print('matplotlib' in sys.modules, 'discreet.reproduce' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "False False", result.stderr
