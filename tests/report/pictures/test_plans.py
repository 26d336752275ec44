"""Rounding sets, polynomials and searches, from plans as the methods make them."""

import re

import numpy as np
import pytest

from discreet.regression import PoROP
from discreet.report import pictures
from discreet.report.pictures.plans import _apart, _curve
from discreet.rounding import OMA
from tests.timed import within


def test_curves_are_the_ones_that_porop_releases():
    """Without noise a chunk is released as its curve, brought back from [0, 1]."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.normal(size=40))
    method = PoROP(k=40, degree=3, noise="none")
    released = method.fit_transform(x.reshape(-1, 1)).ravel()
    plan = method.plan_
    fit = _curve(np.asarray(plan["coefficients"]), 40, np.arange(40))
    assert x[0] + (x[-1] - x[0]) * fit == pytest.approx(released)


def test_many_chunks_are_shown_by_some():
    x = np.random.default_rng(4).normal(size=3000).reshape(-1, 1)
    method = PoROP(k=10, degree=2, random_state=1)
    method.fit_transform(x)
    picture = pictures.polynomials(["x"], method.plan_)
    assert picture.alt.startswith(
        "300 chunks of 10 values of x, fitted with polynomials of degree 2;"
    )
    assert "24 of the 300 chunks are drawn" in picture.caption
    assert len(picture.svg) < 20_000


def test_a_degree_for_each_chunk():
    method = PoROP(k=5, degree=[1, 3], random_state=1)
    method.fit_transform(np.arange(10.0).reshape(-1, 1))
    assert "of degree 1 to 3;" in pictures.polynomials(["x"], method.plan_).alt


def test_rounding_sets_of_a_fitted_method():
    x = np.random.default_rng(4).normal(size=500)
    plan = OMA(k=25).fit(x.reshape(-1, 1)).plan_
    plan = plan["x0"] if "x0" in plan else next(iter(plan.values()))
    edges = [-1.0, 0.0, 1.0]
    before = np.bincount(np.searchsorted(edges, x), minlength=4).tolist()
    picture = pictures.rounding_sets("x", plan, {"edges": edges, "before": before})
    n = len(plan["points"])
    low, high = plan["counts"].min(), plan["counts"].max()
    assert picture.alt.startswith(f"x is rounded to {n} points, of {low} to {high} records: ")
    outside = int((np.abs(plan["points"]) > 2).sum())
    assert (f"{outside} points lie beyond" in picture.caption) == bool(outside)


def test_one_point_is_told_as_one():
    plan = {"points": [2.0], "cuts": [], "counts": [40]}
    picture = pictures.rounding_sets("x", plan, {"edges": [1.0], "before": [20, 20]})
    assert picture.alt == "x is rounded to 1 point, of 40 records: 2."


def test_points_on_top_of_each_other_are_drawn_once():
    values = np.linspace(0, 1, 5000)
    shown = _apart(values, 0.0, 1.0)
    assert len(shown) <= 301
    assert np.diff(shown).max() < 0.01
    assert set(shown) <= set(values)
    few = np.array([-1.0, 0.5, 2.0])
    assert _apart(few, 0.0, 1.0).tolist() == [0.5]


def test_dates_of_a_plan_are_drawn_over_dates():
    figures = {"edges": ["2000-01-01", "2001-01-01"], "before": [10, 10, 10]}
    days = (np.array(["1999-07-01", "2000-07-01"], "datetime64[D]")).astype(int)
    plan = {"points": days, "cuts": [days.mean()], "unit_ns": 86_400 * 10**9}
    picture = pictures.rounding_sets("born", plan, figures)
    assert "rounded to 2 points: 1999-07-01, 2000-07-01." in picture.alt
    seconds = {"points": [30_000, 90_000], "cuts": [60_000], "unit_ns": 10**6}
    picture = pictures.rounding_sets("took", seconds, {"edges": [50.0], "before": [10, 10]})
    assert "rounded to 2 points: 30, 90." in picture.alt


def test_the_course_of_a_search():
    trace = {"seconds": [0.0, 0.5], "evaluations": [1, 40], "quality": [0.9, 0.25]}
    picture = pictures.refinement(trace, "loss (quality)")
    assert picture.alt == (
        "Loss (quality) against time: 0.9 at the start, 0.25 after 0.5 s and 40 evaluations."
    )
    assert re.search(r">seconds<", picture.svg)


def test_many_borders_would_hide_the_density():
    figures = {"edges": [10.0, 20.0, 30.0], "before": [10, 10, 10, 10]}

    def drawn(n):
        points = np.linspace(0, 40, n)
        plan = {"points": points, "cuts": (points[1:] + points[:-1]) / 2, "counts": [3] * n}
        return pictures.rounding_sets("x", plan, figures)

    assert ">borders<" in drawn(61).svg
    assert ">borders<" not in drawn(62).svg
    # Borders lie between groups of values, wherever their points are.
    assert "all values between two dotted borders are released as" in drawn(61).caption
    assert "fall into 62 groups, whose borders are too many to draw" in drawn(62).caption
    assert "middles" not in drawn(62).caption
    assert len(drawn(5000).svg) < 15_000


def test_a_million_points_are_not_written_out_one_by_one():
    points = np.arange(1_000_000.0)
    plan = {"kind": "cuts", "cuts": points[1:] - 0.5, "points": points, "counts": np.full(10**6, 3)}
    histogram = {"edges": [2e5, 8e5], "before": [100, 100, 100], "after": [100, 100, 100]}
    found = within(5, lambda: pictures.rounding_sets("x", plan, histogram))
    assert found.alt.count(",") < 60
