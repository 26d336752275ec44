"""Which point of a front is recommended, in exact words."""

import pytest

from discreet.recipe import Recipe
from discreet.tuning.points import Axis, Point
from discreet.tuning.recommended import further, recommend

RECIPE = Recipe.from_dict({"roles": {"insensitive": ["age", "region", "pay"]}})
LOSS = Axis("information loss", top=1.0)


def risk(bound=None):
    return Axis("linkage", bound, "share", top=1.0)


def loss(bound=None):
    return Axis("information loss", bound, top=1.0)


def point(name, risk, loss, **parts):
    """A point whose columns' words are given as (words, loss); "dropped" is left out."""
    words = {column: said for column, (said, _) in parts.items()}
    return Point(
        name,
        RECIPE,
        risk,
        loss,
        [f"{column} {said}" for column, said in words.items()],
        columns={column: lost for column, (_, lost) in parts.items()},
        parts=words,
        left_out=tuple(column for column, said in words.items() if said == "dropped"),
    )


KEPT = ("kept", 0.0)
FOUR = point(
    "04", 0.96, 0.02, age=KEPT, region=KEPT, pay=("swapped within 3 % of ranks", 0.06)
)  # fmt: skip
POINTS = [
    point("01", 0.004, 0.6, age=("dropped", 1.0), region=("dropped", 1.0), pay=KEPT),
    point(
        "02", 0.03, 0.41, age=("in 20-year groups", 0.7), region=("dropped", 1.0), pay=KEPT
    ),
    point("03", 0.08, 0.33, age=("in 10-year groups", 0.5), region=("in 4 groups", 0.4), pay=KEPT),
    FOUR,
]  # fmt: skip


def said(points, risk, loss, **options):
    return {one.kind: (one.point.name, one.reason) for one in recommend(points, risk, loss, 1000)}


def test_the_least_loss_within_the_risk_bound_comes_first_and_all_have_figures():
    found = said(POINTS, risk(0.1), loss(0.5))
    assert found == {
        "least loss within the risk bound": (
            "03", "The least loss of the 3 recipes with risk within 10 %.",
        ),
        "best balance and safest within the loss bound": (
            "02",
            "The next safer recipe has risk 0.4 % at loss 0.6, the next with less "
            "loss has risk 8 % at loss 0.33; no recipe with loss up to 0.5 has less risk.",
        ),
    }  # fmt: skip
    assert next(iter(found)) == "least loss within the risk bound"


def test_without_bounds_balance_comes_first_and_five_per_cent_are_safe():
    found = said(POINTS, risk(), loss())
    assert next(iter(found.values()))[0] == "02"
    assert "least loss of the 2 recipes with risk within 5 %" in " ".join(
        reason for _, reason in found.values()
    )


def test_nothing_is_called_safest_that_does_not_protect():
    found = said(POINTS, risk(), loss(0.1))
    name, reason = found["least risk within the loss bound, not safe"]
    assert name == "04"
    assert reason == (
        "No recipe with loss up to 0.1 protects, and even this one, which "
        "has the least risk of them, is above 5 %."
    )
    assert not any(kind.startswith("safest") for kind in found)


@pytest.mark.parametrize("bound", [0.001, 0.002])
def test_a_risk_bound_that_no_point_keeps_is_said(bound):
    first = recommend(POINTS, risk(bound), loss(), 1000)[0]
    assert first.kinds[0] == "nearest to the risk bound"
    assert first.reason.startswith(
        f"No recipe keeps risk within {100 * bound:g} %, and this one comes nearest"
    )
    told = further(POINTS, risk(bound), loss(), 1000, first.point)
    assert told[0] == (
        f"No recipe that was tried has risk within {100 * bound:g} %: the least is 0.4 %, at loss "
        "0.6; to go further, more of pay (kept) would have to give."
    )


def test_a_loss_bound_that_no_point_keeps_is_said():
    name, reason = said(POINTS, risk(), loss(0.01))["nearest to the loss bound"]
    assert (name, reason) == (
        "04",
        "No recipe keeps loss within 0.01, and this one comes nearest.",
    )


def test_what_would_have_to_give_is_told_by_the_differences():
    assert further(POINTS, risk(), loss(), 1000, POINTS[2]) == [
        "To get risk below 5 %, region has to go and age has to be in 20-year groups: recipe 02 has "
        "risk 3 % instead of 8 %, loss 0.41 instead of 0.33.",
        "To get risk below 2 %, region and age have to go: recipe 01 has risk 0.4 % "
        "instead of 8 %, loss 0.6 instead of 0.33.",
        "For less loss, pay has to be swapped within 3 % of ranks, while age and region can be "
        "kept: recipe 04 has risk 96 % instead of 8 %, loss 0.02 instead "
        "of 0.33.",
    ]


def test_levels_that_one_point_reaches_are_told_once():
    told = further([POINTS[0], FOUR], risk(), loss(), 1000, FOUR)
    assert len(told) == 1
    assert told[0].startswith("To get risk below 5 %, ")


def test_a_level_that_is_reached_already_and_what_costs_nothing_are_left_out():
    near = point("02", 0.0081, 0.55, age=("dropped", 1.0), region=("drawn anew", 0.003), pay=KEPT)
    far = point("01", 0.0041, 0.7, age=("dropped", 1.0), region=("dropped", 1.0), pay=KEPT)
    best = point("03", 0.04, 0.33, age=KEPT, region=KEPT, pay=KEPT)
    slightly = point("04", 0.2, 0.325, age=KEPT, region=KEPT, pay=("swapped", 0.02))
    told = further([far, near, best, slightly], risk(), loss(), 1000, best)
    assert [one.partition(":")[0] for one in told] == [
        "To get risk below 2 %, age has to go",
        "To get risk below 0.5 %, age and region have to go",
        "For less loss, pay has to be swapped",
    ]


def test_many_changes_are_counted():
    names = [f"c{number}" for number in range(6)]
    weak = point("02", 0.5, 0.1, **dict.fromkeys(names, KEPT))
    strong = point("01", 0.01, 0.5, **dict.fromkeys(names, ("dropped", 1.0)))
    [one] = further([strong, weak], risk(), loss(), 1000, weak)
    assert "c0, c1, c2 and 3 others have to go" in one


def test_of_a_score_the_least_comes_first():
    points = [point("01", 10.0, 30.0), point("02", 17.0, 18.0), point("03", 30.0, 9.0)]
    axes = Axis("DR", top=100.0), Axis("IL", top=100.0)
    [only] = recommend(points, *axes, 1000, score=True)
    assert (only.kind, only.point.name) == ("least score", "02")
    assert only.reason == "The score, the mean of risk and loss, is 17.50, the least of all."


def test_one_point_is_recommended_once():
    [only] = recommend([POINTS[1]], risk(), loss(), 1000)
    assert only.kinds == (
        "best balance", "least loss within the risk bound", "safest at a bearable loss",
    )  # fmt: skip
