"""Charts: lines, bars and points carry the figures they are given."""

import re

import pytest

from discreet.reproduce.drawing import draw
from discreet.reproduce.results import Chart, Figure, Figures


@pytest.fixture
def scores() -> Figures:
    return Figures(
        Figure("4", method, where, "score", paper, ours, x=2.0)
        for method, where, paper, ours in (
            ("OMA", "normal", 4.0, 5.0),
            ("OMA", "uniform", None, 6.0),
            ("EWD", "normal", 2.0, 1.0),
            ("EWD", "uniform", 3.0, 8.0),
        )
    )


def texts(svg: bytes) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg.decode())


def patches(svg: bytes) -> int:
    """Bars that are drawn: those of the axes' frame and the legend are the same in any chart."""
    return svg.decode().count('<g id="patch_')


def test_bars_stand_by_method_with_the_papers_around_them(scores):
    chart = Chart("4", ("score",), "Mean score", "method", kind="bars")
    found = texts(draw("x", chart, scores))
    assert {"OMA", "EWD", "normal", "uniform", "the paper", "Mean score"} <= set(found)
    without = Figures(Figure(f.table, f.series, f.setting, "score", None, 1.0) for f in scores)
    assert "the paper" not in texts(draw("x", chart, without))
    # Three hollow bars fewer, and the one of the legend with its sample there.
    assert patches(draw("x", chart, scores)) - patches(draw("x", chart, without)) == 5


def test_points_lie_over_the_other_quantity():
    figures = Figures(
        Figure("P", series, f"k = {k}", quantity, None, value)
        for series in ("Loss, value", "DM, value", "DM, segregate")
        for k in (2, 3)
        for quantity, value in (("gone", 10.0 * k), ("loss", float(k)))
    )
    chart = Chart("P", ("loss",), "Loss", "gone", ("value", "segregate"), "points")
    svg = draw("x", chart, figures)
    assert {"Loss", "DM", "gone", "value", "segregate"} <= set(texts(svg))
    # A mark for each point, one more for each model in the legend.
    assert (
        len(re.findall(r'<use xlink:href="#m\w+" x="[^"]+" y="[^"]+" style="fill: #', svg.decode()))
        == 8
    )


def test_the_same_figures_give_the_same_file(scores):
    for kind in ("lines", "bars"):
        chart = Chart("4", ("score",), "Mean score", "k", kind=kind)
        assert draw("x", chart, scores) == draw("x", chart, scores)
