"""The page of a sweep and its pictures."""

import numpy as np

from discreet.report import pictures
from discreet.report.sweep import best_sentence, drawn, sentences, sweep_page
from tests.report.pages import marks


def row(number, k, policy, loss, why=""):
    figures = {} if why else {"SRC": 10 * k, "loss": loss, "risk": 0.1 / k, "seconds": 0.25}
    return {
        "name": f"{number:03d}",
        "parameters": {"k": k, "null_policy": policy},
        "figures": figures,
        "check": "refused" if why else "passed",
        "front": number == 1,
        "why": why,
        "recipe": f"recipes/{number:03d}.toml",
    }


def swept(column="loss", best=("001", "002")):
    rows = [
        row(1, 2, "value", 0.2),
        row(2, 2, "<b>", 0.2),
        row(3, 8, "value", 0.4),
        row(4, 8, "<b>", 0.0, why="at least 12 records must go"),
    ]
    return {
        "records": 1000, "seconds": 1.26, "stopped": False, "known": ["age"],
        "lattices": {"nodes": 60, "searches": 4, "seconds": 0.1},
        "risk": {"name": "informed_linkage", "unit": "share", "bound": None},
        "loss": {"name": "information_loss", "unit": "share", "bound": None},
        "parameters": ["k", "null_policy"],
        "columns": ["SRC", "NVIr", "NVRr", "loss", "risk", "seconds"],
        "rows": rows, "front": ["001"],
        "best": {"column": column, "rows": list(best), "why_none": ""},
    }  # fmt: skip


def test_the_page_has_every_row_its_figures_and_why_there_is_no_release():
    page = sweep_page(swept())
    assert "4 combinations of k and null_policy" in page
    assert "<b>" not in page.replace("<figcaption><b>", "")
    assert "at least 12 records must go" in page
    assert "null_policy = &lt;b&gt;" in page
    for cell in (">20 %<", ">5 %<", ">0.25<", ">refused<", ">best, front<"):
        assert cell in page
    # Figures that there are not have no picture; that which the best is by comes first.
    assert [one.title for one in drawn(swept())] == [
        "loss against k",
        "risk against k",
        "suppressed records (SRC) against k",
        "seconds against k",
    ]
    assert next(iter(drawn(swept("SRC")))).title == "suppressed records (SRC) against k"


def test_the_best_is_told_with_its_ties():
    assert best_sentence(swept()) == (
        "Best by loss, 20 %: row 001, k = 2, null_policy = value; 002 ties with it."
    )
    assert best_sentence(swept(best=["003"])) == (
        "Best by loss, 40 %: row 003, k = 8, null_policy = value."
    )
    none = swept(best=[])
    none["best"]["why_none"] = "no combination gives a release"
    assert best_sentence(none) == "There is no best by loss: no combination gives a release."
    assert best_sentence(swept(None, [])) == ""
    assert sentences(swept(), "people.csv")[:2] == [
        "4 combinations for people.csv (1,000 records), each run with its check, in 1.3 s: 3 gave "
        "a release, 1 did not.",
        "60 nodes were evaluated once, in 0.1 s, for 4 searches; that time is in no row.",
    ]


def dots(svg):
    return [(float(m["cx"]), float(m["cy"]), float(m["r"])) for m in marks(svg, "circle")]


def test_points_stand_at_their_values_and_the_best_is_circled():
    lines = [("a", [0.0, 0.5, 1.0]), ("b", [1.0, None, 0.5])]
    picture = pictures.sweep_lines("loss", "k", [2, 4, 10], lines, [(0, 0)])
    found = dots(picture.svg)
    small = [spot for spot in found if spot[2] < 3]
    assert len(small) == 5
    across = sorted({spot[0] for spot in small})
    # To scale: 4 is a quarter of the way from 2 to 10.
    assert np.isclose((across[1] - across[0]) / (across[2] - across[0]), 0.25, atol=0.01)
    lowest = max(small, key=lambda spot: (spot[1], -spot[0]))
    [circle] = [spot for spot in found if spot[2] > 3]
    assert circle[:2] == lowest[:2]
    assert picture.alt == (
        "loss at k = 2 to 10: a: from 0 to 1; b: from 0.5 to 1, at 2 of 3 values."
    )
    assert picture.caption.endswith("The best is circled.")


def test_names_stand_side_by_side_and_many_lines_are_counted():
    lines = [(f"line {i}", [float(i), float(i + 1)]) for i in range(12)]
    picture = pictures.sweep_lines("risk", "quality", ["loss", "nue"], lines)
    texts = [mark["text"] for mark in marks(picture.svg, "text")]
    assert {"loss", "nue", "line 0", "line 8", "3 more in light grey"} <= set(texts)
    assert "line 9" not in texts
    assert picture.alt.endswith("; 3 more lines.")
    # One value, or the same figure everywhere, can be drawn too.
    assert "nan" not in pictures.sweep_lines("SRC", "k", [5], [("", [0.0])]).svg
