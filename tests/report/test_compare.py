"""The page of a comparison, from plain data."""

import re

import pytest

from discreet import compare, protect
from discreet.datasets import make_households
from discreet.report.compare import alternatives, comparison_page
from discreet.report.page import figure, share

HOSTILE = '<script>x</script> & "k" 🏠'


PEOPLE = make_households(300, seed=2).select(["age", "income"])
ROLES = {"quasi": ["age"], "confidential": ["income"]}


def made(k):
    step = {"method": "oma", "columns": ["age", "income"], "k": k}
    return protect(PEOPLE, {"roles": ROLES, "steps": [step]})


@pytest.fixture(scope="module")
def releases():
    return {HOSTILE: made(3), "coarse": made(50), "as fine": made(3)}


@pytest.fixture(scope="module")
def content(releases):
    return compare(PEOPLE, releases).to_dict()


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


@pytest.mark.parametrize(
    ("risk", "loss", "said"),
    [
        ("linkage", "information_loss", ("risk: share of records found", "loses least (")),
        ("class_sizes.smallest", "sse_ratio",
         ("coarse has the least risk (50 records)", "loss: squares lost (percent)",
          "The axis of risk is turned, since more is better.",
          "Of risk, the larger figure is the better.")),
        ("individual_risk.expected", "il1s",
         (" people)", "expected finds (people)", " × 1.41 sd)", "IL1s (× 1.41 sd)")),
        ("individual_risk.mean", "entropy", (" %), ", " bits).", "The axis of loss is turned")),
    ],
)  # fmt: skip
def test_figures_have_their_unit_and_their_direction(releases, risk, loss, said):
    found = compare(PEOPLE, releases, risk=risk, loss=loss).to_dict()
    page = comparison_page(found)
    for words in said:
        assert words in page
    one = found["releases"][1]
    if loss == "sse_ratio":
        assert f"<td>{share(one['loss'] / 100)}</td>" in re.sub("<td[^>]*>", "<td>", page)
    if risk == "individual_risk.expected":
        assert f"<td>{figure(one['risk'])} people</td>" in re.sub("<td[^>]*>", "<td>", page)
