"""The papers of the house: they name the version and the papers, and warn of personal data."""

import re
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]


def test_the_citation_names_the_version_and_the_papers():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {discreet.__version__}\n" in text
    titles = re.findall(r"^    title: \"?(.+?)\"?$", text, re.MULTILINE)
    pages = " ".join(page.read_text("utf-8") for page in ROOT.glob("docs/**/*.md"))
    assert len(titles) == 3
    assert not [title for title in titles if title not in pages]


@pytest.mark.parametrize("name", ["bug", "disclosure", "feature"])
def test_whoever_opens_an_issue_is_told_to_attach_no_personal_data(name):
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text("utf-8")
    assert "**Never attach personal data**" in text
    assert "required: true" in text


def test_security_says_what_counts_and_how_to_report_without_data():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert {"## What counts", "## What does not", "## How to report"} <= set(text.splitlines())
    assert "**Never send personal data**" in text
    assert "@" not in text  # no address of a person
