"""The page of a front, from plain data."""

import re

import pytest

from discreet.report import pictures
from discreet.report.front import front_page
from discreet.report.pictures.drawing import TEXT
from discreet.report.pictures.fronts import Axis
from discreet.report.pictures.words import width
from tests.report.fronts import KINDS, made
from tests.report.pages import Page, is_self_contained, marks

HOSTILE = '<script>x</script> & "k" 🏠 {{ 7 * 7 }} '


def shown(front) -> Page:
    return is_self_contained(front_page(front))


def cards(page: str) -> list[str]:
    """Return the text of each card, with one space between words."""
    found = re.findall(r"<article.*?</article>", page, re.DOTALL)
    return [Page(one).text for one in found]


def test_the_first_card_is_the_best_and_says_all_that_a_decision_needs():
    front = made(loss=0.6)
    assert front["best"] == "09"
    first, second, third = cards(front_page(front))
    assert first.startswith(
        "★ Take this one Recipe 09: least loss within the risk bound 4.9 % found An informed "
        "intruder finds 4.9 % of the records: about 53 of 1,080. within the bound (at most 5 %) "
        "4.4 % to 5.4 % in fresh draws 77 % kept The release keeps 77 % of the information. "
        "within the bound (at least 40 %) a loss of 23 % Why It is the least loss within the risk "
        "bound. What is done age in 10-year groups region kept as it is"
    )
    assert "discreet protect TABLE --recipe FRONT/recipes/09.toml --out FOLDER" in first
    assert second.startswith("Recipe 08: best balance 3 % found")
    assert (
        "Compared with 09: 21 fewer records found, 6 percentage points less of the information "
        "kept. Otherwise than in 09 region kept as it is, more or less (7)" in second
    )
    assert "and 4 more, as in 09" in second
    assert third.startswith("Recipe 04: safest within the loss bound 0.43 % found")
    assert "discreet protect TABLE --recipe FRONT/recipes/04.toml --out FOLDER" in third
    assert shown(front).headings[0] == "Take recipe 09"


def test_the_best_comes_first_wherever_it_stands_among_the_recommended():
    front = made()
    front["recommended"].reverse()
    assert cards(front_page(front))[0].startswith("★ Take this one Recipe 09")


def test_a_recipe_that_is_recommended_twice_has_one_card():
    front = made(1, risk=None)
    page = front_page(front)
    (only,) = cards(page)
    assert f"Recipe 01: {', '.join(KINDS)}" in only
    assert "Compared with" not in only
    assert "Otherwise" not in page
    assert "within the bounds" not in page
    assert shown(front).text.count("1 recipe that no other beats") == 1


def test_no_bound_met_is_said_first_and_nothing_is_to_be_taken():
    front = made(risk=0.0005)
    page = shown(front)
    assert page.headings[0] == "No recipe meets the bound; 01 comes nearest"
    said = "No recipe that was found meets the risk bound of at most 0.05 %. 01 comes nearest."
    assert page.text.index(said) < page.text.index("Recipe 01")
    assert "beyond the bound (at most 0.05 %)" in cards(front_page(front))[0]
    assert "ake this one" not in page.text
    both = shown(made(risk=0.0005, loss=0.005)).text
    assert "the risk bound of at most 0.05 % and the loss bound of at most 0.5 %." in both


@pytest.mark.parametrize("n", [2, 15])
def test_every_recipe_and_every_measure_is_there(n):
    front = made(n)
    page = shown(front)
    for point in front["points"]:
        assert point["recipe"] in page.text
        assert all(word in page.text for word in point["words"])
    for one in front["figures"]:
        assert one["name"] in page.text
    assert "leaks (records, smaller is better)" in page.text
    for sentence in front["further"]:
        assert sentence in page.text
    assert page.headings[1] == "Which one to take"
    assert [h for h in page.headings if h.startswith(("Risk", "What would", "All", "How"))] == [
        "Risk and loss of all that was tried",
        "What would have to give to go further",
        "All recipes found",
        "How it was searched",
    ]
    # What goes beyond risk and loss is folded, and opens without a script.
    assert page.count("details") >= n + 3


def test_how_it_was_searched_is_told():
    front = made() | {"seconds": None, "dropped": {"a standard is broken": 2}}
    assert "recipes tried 4,213 in 5 min shown 15 recipes" in shown(made()).text
    text = shown(front | {"rows": 90_000, "searched_rows": 20_000}).text
    assert "recipes tried 4,213 shown 15 recipes that no other beats measured on" in text
    assert "a sample of 20,000 of 90,000 records; the recipes shown were measured on all" in text
    few = {"rows": 90_000, "searched_rows": 20_000, "measured_rows": 15_000}
    assert (
        "a sample of 20,000 of 90,000 records; the recipes shown were run and checked on all, and "
        "measured on another sample of about 15,000"
    ) in shown(front | few).text
    assert "left out: a standard is broken 2 recipes" in text
    assert "knows the recipe, but not the seed of the release" in text
    assert "the figures shown come from others" in text
    assert "Never share this folder." in text


def test_names_are_text_however_long_and_many():
    columns = tuple(HOSTILE + "long_name_" * 20 + str(i) for i in range(60))
    words = [f"{column} in 10-year groups" for column in columns]
    front = made(words=words, columns=columns)
    front["recommended"][0]["reason"] = front["further"][0] = HOSTILE
    front["figures"] = [{"key": "a", "name": HOSTILE, "unit": HOSTILE, "better": "large"}]
    html = front_page(front)
    page = is_self_contained(html)
    assert "<script" not in html
    assert "{{ 7 * 7 }}" in page.text
    assert all(column in page.text for column in columns)
    first = cards(html)[0]
    assert "and 53 more" in first
    assert "…" in first
    assert columns[0] not in first


def test_other_measures_are_told_by_their_names():
    front = made(6, risk=None)
    front["risk"] = {
        "name": "disclosure risk (DR)",
        "better": "small",
        "bound": 12.0,
        "unit": "",
        "top": 100.0,
    }
    front["loss"] = {
        "name": "loss (IL)",
        "better": "small",
        "bound": None,
        "unit": "",
        "top": 100.0,
    }
    for point in front["points"]:
        point["risk"], point["loss"], point["spread"] = 10.517, 23.41, {}
    page = shown(front)
    assert "10.5 risk Disclosure risk (DR) is 10.5. within the bound (at most 12)" in page.text
    assert "23.4 loss Loss (IL) is 23.4." in page.text
    assert "informed intruder" not in page.text
    assert "log scale" not in page.text


def test_what_the_check_does_not_verify_is_marked():
    front = made()
    front["points"][8]["check_ok"] = False
    html = front_page(front)
    assert "The independent check did not verify every draw of it." in cards(html)[0]
    assert Page(html).text.count("not verified") == 1
    assert "verified" not in shown(made()).text


def test_a_front_of_nothing_says_so():
    page = shown(made(1) | {"points": [], "recommended": [], "further": [], "best": None})
    assert page.headings[0] == "No recipe was found"
    assert "The search ended before it had found a recipe." in page.text


def test_the_same_front_gives_the_same_bytes():
    assert front_page(made()) == front_page(made())


def labels(svg: str) -> dict[str, tuple[float, float, float, float]]:
    """Return the boxes of the labels of points: left, right, top, bottom."""
    found = {}
    for mark in marks(svg, "text"):
        if re.match(r"\d\d( |$)", mark["text"]) and "paint-order" in mark:
            wide = TEXT * width(mark["text"])
            left = float(mark["x"]) - (wide if mark.get("text-anchor") == "end" else 0)
            found[mark["text"]] = left, left + wide, float(mark["y"]) - TEXT, float(mark["y"])
    return found


@pytest.mark.parametrize("risk", [0.05, 0.0005])
def test_labels_of_the_map_do_not_overlap(risk):
    svg = re.findall(r"<svg.*?</svg>", front_page(made(risk=risk)), re.DOTALL)[0]
    boxes = labels(svg.replace("&nbsp;", " "))
    best = "09 take this one" if risk == 0.05 else "01 least loss"
    assert {best, "08 best balance", "04 safest"} <= boxes.keys()
    found = list(boxes.values())
    for i, a in enumerate(found):
        for b in found[:i]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] + 1 or b[3] <= a[2] + 1


def test_the_map_tells_points_apart_by_size_and_fill_and_holds_zero_risk():
    points = [
        {"label": "01", "risk": 0.0, "loss": 0.9, "best": False, "advised": False},
        {"label": "02 safest", "risk": 0.01, "loss": 0.5, "best": False, "advised": True},
        {"label": "03 take this one", "risk": 0.04, "loss": 0.2, "best": True, "advised": True},
    ]
    tried = [[1.0, 0.0], [0.5, 1.0], [0.5, 1.0]]
    drawn = pictures.front_map(points, tried, Axis("found", 0.05), Axis("lost", 0.6), 200)
    dots = sorted((float(dot["r"]), dot["fill"]) for dot in marks(drawn.svg, "circle"))
    assert len({r for r, _ in dots}) == len({fill for _, fill in dots}) == 3
    texts = [mark["text"] for mark in marks(drawn.svg, "text")]
    assert {"at most 5 %", "at most 60 %", "1 %", "10 %", "100 %"} <= set(texts)
    assert drawn.alt == (
        "Of 3 tried, 3 are beaten by no other: 01: 0 % and 90 %; 02 safest: 1 % and 50 %; "
        "03 take this one: 4 % and 20 %, the best."
    )
    # Two that were tried lie on each other.
    tried_path = next(m for m in marks(drawn.svg, "path") if "stroke-linecap" in m)
    assert tried_path["d"].count("M") == 2


def test_a_long_search_does_not_make_a_large_page():
    front = made()
    front["searched"] = front["searched"] * 200
    assert len(front_page(front)) == len(front_page(made())) + len("180,000") - len("900")
