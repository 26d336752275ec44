"""The page of a comparison, from plain data."""

import re

import pytest

from discreet import compare, protect
from discreet.datasets import make_households
from discreet.report.compare import alternatives, comparison_page

HOSTILE = '<script>x</script> & "k" 🏠'


@pytest.fixture(scope="module")
def content():
    people = make_households(300, seed=2).select(["age", "income"])
    roles = {"quasi": ["age"], "confidential": ["income"]}

    def made(k):
        step = {"method": "oma", "columns": ["age", "income"], "k": k}
        return protect(people, {"roles": roles, "steps": [step]})

    return compare(people, {HOSTILE: made(3), "coarse": made(50), "as fine": made(3)}).to_dict()


def test_every_release_and_measure_is_there(content):
    page = comparison_page(content)
    assert "<script" not in page
    assert page.count("<svg") == 1
    for one in content["releases"]:
        assert len(
            re.findall(re.escape(f"oma of age and income (k = {one['steps'][0]['k']})"), page)
        )
    for name in ("smallest class", "linkage by distance", "information loss IL1s"):
        assert name in page
    # Equal ones do not dominate each other.
    assert content["front"] == [HOSTILE, "coarse", "as fine"]
    assert "as fine are not dominated" in page


def test_what_no_release_has_is_said(content):
    bare = [
        one | {"risk": None, "risk_by": None, "dominated": None, "columns": {}, "steps": [],
               "assessment": {"risk": {}, "utility": {}, "score": None, "left_out": {}}}
        for one in content["releases"]
    ]  # fmt: skip
    page = comparison_page(content | {"releases": bare, "front": []})
    for said in ("No release has both figures.", "No measure of risk was taken.", "no step",
                 "not on the map", "Not measured."):  # fmt: skip
        assert said in page


def test_a_report_tells_the_alternatives(content):
    part = alternatives(content)
    assert "<html" not in part
    assert "The releases that were compared" in part
    assert part.count("<svg") == 1
    assert "&lt;script&gt;" in part
