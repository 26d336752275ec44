"""Points are confirmed on fresh seeds, by the whole flow and its check."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.tuning.confirm import axes_of, confirm, confirm_one, confirmed_front
from discreet.tuning.figures import Figures
from discreet.tuning.space import Option, Part, Space
from discreet.tuning.structure import correlation_change, model_loss
from discreet.tuning.task import Bound, Task

SWAPS = tuple(
    Option(({"method": "rank-swap", "p": p},), f"swapped within {p:g} % of ranks")
    for p in (3.0, 12.0, 25.0)
)
KEPT, DROPPED = Option(), Option(words="dropped", released=False)
OMA = Option(({"method": "oma", "k": 5},), "averaged over 5 or more")


def task(**options):
    table = make_households(400, seed=1).select(["age", "income", "assets"])
    parts = (
        Part(("age",), (KEPT, OMA, DROPPED)),
        *(Part((name,), (KEPT, *SWAPS, DROPPED)) for name in ("income", "assets")),
    )
    roles = {"quasi": ["age"], "confidential": ["income", "assets"], "rest": "drop"}
    names = tuple(table.column_names)
    return Task(table, Space(parts, {"roles": roles}), names, names, **options)


def test_figures_are_means_over_fresh_seeds_and_the_same_each_time():
    point = confirm_one(task(), (1, 2, 2))
    assert point == confirm_one(task(), (1, 2, 2))
    assert point.confirmed["risk"][0] < point.risk < point.confirmed["risk"][1]
    assert point.confirmed["loss"][0] < point.loss < point.confirmed["loss"][1]
    assert point.check_ok
    assert point.recipe.seed is None
    assert point.parts["income"] == "swapped within 12 % of ranks"
    assert {
        "informed_linkage", "distance_linkage", "interval_disclosure", "leaks", "information_loss",
        "il1s", "correlations", "pmse", "models",
    } <= point.measures.keys()  # fmt: skip
    assert point.loss == pytest.approx(np.mean(list(point.columns.values())))
    assert point.risk == point.measures["informed_linkage"]
    assert point.risk != confirm_one(task(), (1, 2, 2), seed=1).risk


def test_what_is_not_drawn_is_run_once_and_has_no_spread():
    point = confirm_one(task(), (1, 4, 4))
    assert point.confirmed["risk"] == (point.risk, point.risk)
    assert point.columns == pytest.approx({"age": point.columns["age"], "income": 1, "assets": 1})
    assert point.left_out == ("income", "assets")


def test_where_nothing_known_is_released_one_is_found_by_guessing():
    known = replace(task(), known=("age",))
    assert confirm_one(known, (2, 4, 0)).risk == 1 / 400


def test_points_that_break_a_standard_or_their_check_are_counted():
    points, dropped = confirm(task(standards={"correlations": 0.01}), [(0, 0, 0), (0, 3, 3)])
    assert [point.parts["income"] for point in points] == ["kept"]
    assert dropped == {"broke a standard": 1}
    twice = task()
    pair = twice.table.append_column("same", twice.table["income"])
    base = {"roles": {"confidential": ["income"], "insensitive": ["same"], "rest": "drop"}}
    leaking = Task(
        pair, Space((Part(("income",), (KEPT, OMA)),), base), ("income",), ("income",)
    )  # fmt: skip
    points, dropped = confirm(leaking, [(0,), (1,)])
    assert len(points) == 1
    assert dropped == {"did not pass the check": 1}
    front = confirmed_front(leaking, {(0,): Figures(1.0, 0.0), (1,): Figures(0.1, 0.1)})
    said = (
        "1 recipe did not pass the check; it asks that nothing released gives 'income' away, but "
    )
    assert front.further[0].startswith(said)
    assert front.further[0].endswith("accept it with allow_leaks = ['income'].")


def test_a_front_has_the_points_that_hold_up_by_risk():
    judged = {
        (0, 0, 0): Figures(1.0, 0.0),
        (1, 2, 2): Figures(0.2, 0.5),
        (1, 3, 3): Figures(0.1, 0.6),
        (2, 4, 4): Figures(0.0025, 1.0),
    }
    front = confirmed_front(task(risk=Bound("linkage", 0.5)), judged, evaluations=9, seed=3)
    # A release of nothing is none.
    assert [point.name for point in front.points] == ["01", "02", "03"]
    assert front.dropped == {}
    assert [point.risk for point in front.points] == sorted(point.risk for point in front.points)
    assert front.best.risk <= 0.5
    assert (front.rows, front.searched_rows, front.evaluations, front.seed) == (400, 400, 9, 3)
    assert front.searched == [(one.risk, one.loss) for one in judged.values()]


def test_if_no_point_holds_up_it_says_why():
    with pytest.raises(BadInput, match="no recipe holds up on fresh seeds: correlations is"):
        confirmed_front(task(standards={"correlations": 0.01}), {(0, 3, 3): Figures(0.1, 0.6)})


def test_ctrl_c_ends_with_what_is_confirmed():
    def tell(what):
        if "3 of" in what:
            raise KeyboardInterrupt

    judged = {
        (0, 0, 0): Figures(1.0, 0.0),
        (1, 1, 4): Figures(0.2, 0.5),
        (1, 4, 4): Figures(0.1, 0.6),
        (2, 4, 1): Figures(0.0025, 0.9),
    }
    assert len(confirmed_front(task(), judged, seeds=2, tell=tell).points) == 2


def test_a_score_is_the_mean_of_its_axes():
    point = confirm_one(task(measure="normalized_score"), (0, 3, 3), seeds=2)
    assert point.measures["score"] == pytest.approx((point.risk + point.loss) / 2)
    assert axes_of(task(measure="score"))[0].top == 100


def test_a_loss_of_ones_own():
    def far(before, after):
        return float(np.abs(np.subtract(before["income"], after["income"])).mean())

    point = confirm_one(task(measure=far), (0, 1, 0), seeds=2)
    assert point.loss > 1
    assert axes_of(task(measure=far))[1].name == "far"


def test_correlations_by_hand():
    before = pa.table({"a": [1.0, 2, 3, 4], "b": [2.0, 1, 4, 3], "c": ["x", "y", "x", "y"]})
    after = before.set_column(1, "b", pa.array([1.0, None, 3, 4]))
    kept = np.corrcoef([1, 2, 3, 4], [2, 1, 4, 3])[0, 1]
    assert correlation_change(before, after) == pytest.approx(1 - kept)
    assert correlation_change(before, before) == 0
    assert model_loss(before, before) == 0
    assert model_loss(before.select(["a", "c"]), after.select(["a", "c"])) == 0


def test_points_are_confirmed_on_the_full_table():
    whole = make_households(800, seed=1).select(["age", "income", "assets"])
    some = task(full=whole)
    point = confirm_one(some, (1, 2, 2), seeds=2)
    assert point.columns == confirm_one(replace(some, table=whole), (1, 2, 2), seeds=2).columns
    assert confirmed_front(some, {(1, 4, 4): Figures(0.1, 0.5)}).rows == 800


def test_points_are_confirmed_where_the_full_table_is():
    whole = make_households(800, seed=1).select(["age", "income", "assets"])
    there = task(full=duckdb.from_arrow(whole))
    here = confirm_one(task(full=whole), (1, 4, 4))
    point = confirm_one(there, (1, 4, 4))
    assert (point.risk, point.loss) == pytest.approx((here.risk, here.loss))
    front = confirmed_front(there, {(1, 4, 4): Figures(0.1, 0.5)})
    assert (front.rows, front.searched_rows) == (800, 400)


def test_behind_points_that_do_not_hold_up_others_may():
    held = task(standards={"correlations": 0.01})
    judged = {(0, 3, 3): Figures(0.1, 0.1), (0, 2, 3): Figures(0.05, 0.2), (0, 0, 4): Figures(1, 1)}
    front = confirmed_front(held, judged, seeds=2)
    assert [point.parts["income"] for point in front.points] == ["kept"]
    assert front.dropped == {"broke a standard": 2}


def test_ctrl_c_before_any_point_is_confirmed_ends_all():
    def tell(what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        confirmed_front(task(), {(0, 0, 0): Figures(1.0, 0.0)}, tell=tell)


def test_what_becomes_of_a_column_is_told_with_its_joint_parts():
    plain = task()
    pair = ("income", "assets")
    mean = {"method": "microaggregation", "k": 5}
    joint = Part(
        pair,
        (Option(), Option((mean,), "averaged together"), Option((mean,), "averaged", alone=True)),
        joint=True,
    )
    space = Space((*plain.space.parts, joint), plain.space.base)
    both = replace(plain, space=space)
    swapped = "swapped within 3 % of ranks"
    assert confirm_one(both, (0, 1, 0, 1), 2).parts == {
        "age": "kept", "income": f"{swapped}, then averaged together", "assets": "averaged together",
    }  # fmt: skip
    assert confirm_one(both, (0, 1, 0, 2), 2).parts["income"] == "averaged"
    assert confirm_one(both, (0, 1, 0, 0), 2).parts["income"] == swapped
