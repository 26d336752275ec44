"""What the terminal says of a front."""

import pytest

from discreet.cli.fronts import alternatives, figures, told

COLUMNS = [f"a column with a rather long name {place}" for place in range(40)]


def front(count: int, best: str, recommended: dict[str, str], words=("age kept",)) -> dict:
    points = [
        {
            "name": f"{place:02}",
            "risk": place / 100,
            "loss": 1 - place / 100,
            "spread": {"risk": [place / 110, place / 90], "loss": [0.3, 0.4]},
            "words": [*words, f"income swapped within {place} % of ranks"],
            "recipe": f"recipes/{place:02}.toml",
        }
        for place in range(1, count + 1)
    ]
    return {
        "rows": 1000,
        "searched_rows": 1000,
        "evaluations": 1234,
        "seconds": 61.4,
        "risk": {"name": "informed_linkage", "better": "small", "bound": 0.05, "unit": "share"},
        "loss": {"name": "information_loss", "bound": None, "unit": ""},
        "points": points,
        "best": best,
        "recommended": [
            {"kind": kind, "name": name, "reason": f"{kind}, and that is the reason."}
            for kind, name in recommended.items()
        ],
        "further": ["Less risk needs age in wider groups.", "Less loss needs a risk of 10 %."],
    }


RECOMMENDED = {"least loss within the risk bound": "05", "safest": "02", "best balance": "09"}


def test_the_recommended_point_comes_first_with_its_reason_and_others_by_what_differs():
    lines = told(front(12, "05", RECOMMENDED))
    assert lines[3:8] == [
        "Recommended: recipe 05, least loss within the risk bound",
        "    risk 5 % (4.5 to 5.6 %), loss 0.95 (0.3 to 0.4)",
        "    - age kept",
        "    - income swapped within 5 % of ranks",
        "    Why: least loss within the risk bound, and that is the reason.",
    ]
    assert lines[8:10] == [
        "Or 02, safest: risk 2 %, loss 0.98",
        "    as 05, but income swapped within 2 % of ranks",
    ]
    assert lines[-2:] == ["Less risk needs age in wider groups.", "Less loss needs a risk of 10 %."]


@pytest.mark.parametrize(
    ("count", "recommended", "names"),
    [
        (1, {}, ["01"]),
        (2, {}, ["01", "02"]),
        (9, {}, ["01", "09", "05", "03"]),
        (9, {"best balance": "01", "safest": "01"}, ["01", "09", "05", "03"]),
        (9, {"best balance": "04", "safest": "02", "least loss": "08"}, ["01", "04", "02", "08"]),
    ],
)
def test_four_alternatives_where_there_are_as_many(count, recommended, names):
    assert alternatives(front(count, "01", recommended)) == names


@pytest.mark.parametrize("width", [60, 80, 100])
def test_however_much_there_is_to_say_it_fits_on_a_screen(width):
    content = front(12, "05", RECOMMENDED, words=COLUMNS)
    content["further"] = [one * 20 for one in content["further"]]
    for one in content["recommended"]:
        one["reason"] *= 20
    for point in content["points"]:
        point["words"] = [f"{word} in {point['name']}" for word in point["words"]]
    lines = told(content, width)
    # The command adds one line before these and four after.
    assert len(lines) <= 25
    assert lines[-1].endswith(" ...")


def test_plain_figures():
    axes = {"risk": {"unit": "share"}, "loss": {"unit": ""}}
    for risk, loss, said in (
        (0, 1, "risk 0 %, loss 1"),
        (1e-6, 0.0991, "risk below 0.001 %, loss 0.099"),
        (1, 123.4, "risk 100 %, loss 123"),
    ):
        assert figures(axes, {"risk": risk, "loss": loss}) == said
    same = {"risk": [0.1, 0.1001], "loss": [0.2, 0.3]}
    point = {"risk": 0.1, "loss": 0.25, "spread": same}
    assert figures(axes, point, spread=True) == "risk 10 %, loss 0.25 (0.2 to 0.3)"
