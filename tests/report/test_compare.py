"""The page of a comparison, from plain data."""

import re

import pytest
from rich.console import Console

from discreet import compare, protect
from discreet.cli import show
from discreet.datasets import make_households
from discreet.report.compare import alternatives, comparison_page, done
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
    assert page.count("<svg") == 2
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
    for said in ("No release has all figures.", "No measure of risk was taken.", "no step",
                 "not on the map", "Not measured."):  # fmt: skip
        assert said in page


def test_a_report_tells_the_alternatives(content):
    part = alternatives(content)
    assert "<html" not in part
    assert "The releases that were compared" in part
    assert part.count("<svg") == 2
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
        ("individual_risk.mean", "known_bits", (" %), ", " bits).", "The axis of loss is turned")),
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


def general(k, widths, **more):
    step = {
        "method": "generalize",
        "columns": ["age"],
        "privacy": [{"model": "k-anonymity", "k": k}],
        "hierarchies": {"age": {"kind": "intervals", "widths": widths}},
        **more,
    }
    return protect(PEOPLE, {"roles": ROLES, "steps": [step]})


def noisy(**more):
    step = {"method": "noise", "columns": ["age", "income"], **more}
    return protect(PEOPLE, {"roles": ROLES, "steps": [step]})


def test_what_tells_releases_apart_is_said(monkeypatch):
    found = compare(
        PEOPLE,
        {
            "k3": general(3, [10, 20]),
            "k10": general(10, [20, 40], suppression_limit=0.1),
            "by column": noisy(scale={"age": 0.5, "income": 0.2}),
            "by default": noisy(),
        },
    )
    said = [done(one.steps) for one in found.releases]
    assert said == [
        ["generalize of age (hierarchies age: intervals widths 10/20; "
         "k-anonymity with k = 3; suppression_limit = 0.05)"],
        ["generalize of age (hierarchies age: intervals widths 20/40; "
         "k-anonymity with k = 10; suppression_limit = 0.1)"],
        ["noise of age and income (scale age: 0.5, income: 0.2)"],
        ["noise of age and income (scale = 0.1)"],
    ]  # fmt: skip
    page = comparison_page(found.to_dict())
    console = Console(record=True, width=600)
    monkeypatch.setattr(show, "out", console)
    show.comparison(found)
    printed = " ".join(console.export_text().split())
    for words in ("k-anonymity with k = 10", "scale age: 0.5, income: 0.2", "scale = 0.1"):
        assert words in page
        assert words in printed


def test_what_is_too_long_for_a_cell_is_cut():
    matrix = {"a": {str(i): {str(j): 0.25 for j in range(9)} for i in range(9)}}
    (said,) = done([{"method": "pram", "columns": ["a"], "matrix": matrix}])
    assert said.startswith("pram of a (matrix a: 0 0 0.25 1 0.25")
    assert said.endswith("…)")
    assert len(said) < 90


def test_the_release_of_the_report_is_marked(content):
    own = content["releases"][1]
    part = alternatives(content | {"reported": own["release"]})
    assert "The release of this report is coarse among them." in part
    assert "coarse (this release)" in part
    assert part.count("(this release)") == 1
    assert "this release" not in alternatives(content)


def test_every_measure_has_its_sentence_and_the_score_is_there(content):
    for html in (comparison_page(content), alternatives(content)):
        for words in (
            "the k of k-anonymity that the table reaches",
            "squares lost in percent of all, columns weighing alike",
            "risk and loss in one: the lower, the better the trade",
        ):
            assert words in html
        for one in content["releases"]:
            assert f">{share(one['assessment']['score'] / 100)}<" in html


def test_no_release_is_called_best_where_all_are_equal(content):
    two = [one | {"attribute": 1.0, "dominated": False} for one in content["releases"][:2]]
    page = comparison_page(content | {"releases": two})
    assert "both have the same attribute risk (100 %)" in page
    assert "has the least attribute risk" not in page
    assert "loses least (" in page


def test_both_sides_of_risk_are_told(content):
    page = comparison_page(content)
    for said in (
        "identity risk (share of records that the best of the intruders measured finds)",
        "attribute risk (share of the confidential values that one who has found a record learns",
        "no release is better in one and as good in the others",
        "has the least attribute risk (",
        "attribute risk: share of confidential values learned",
    ):
        assert said in page
    # A comparison that was written before there were two sides still makes a page.
    old = {k: v for k, v in content.items() if k != "attribute"}
    page = comparison_page(old)
    assert "attribute risk" not in page
    assert page.count("<svg") == 1


def released(name, rows, before, columns=("age",)):
    row = {"family": "risk", "measure": "m", "name": "m", "column": None, "title": "m", "unit": "",
           "reading": "read", "before": before, "after": 1, "guide": None, "better": "less"}  # fmt: skip
    return {"name": name, "rows": rows, "suppressed": 0, "columns": {}, "risk": 0.1, "loss": 0.2,
            "risk_by": None, "dominated": False, "release": "",
            "steps": [{"method": "oma", "columns": list(columns)}],
            "assessment": {"shown": [row], "left_out": {}}}  # fmt: skip


LEFT_OUT = "Before differs since b leaves records out, which do not count before either."
CHANGED = (
    "differs if a measure looks at the columns that a release changed: then it is not the same "
    "measure."
)


@pytest.mark.parametrize(
    ("some", "said", "unsaid"),
    [
        ([released("a", 9, 4), released("b", 8, 5)], [LEFT_OUT], ["looks at the columns"]),
        ([released("a", 9, 4), released("b", 9, 5, ("pay",))], [f"Before {CHANGED}"], ["leave"]),
        (
            [released("a", 9, 4), released("b", 8, 5, ("pay",))],
            [f"{LEFT_OUT} It also {CHANGED}"],
            [],
        ),
        ([released("a", 9, 4), released("b", 8, 4)], [], ["differs"]),
    ],
)
def test_why_before_differs(content, some, said, unsaid):
    axes = {axis: content[axis] for axis in ("risk", "loss")}
    page = comparison_page(axes | {"front": ["a"], "notes": [], "releases": some})
    for words in said:
        assert words in page
    for words in unsaid:
        assert words not in page
