"""Histograms, quantiles and bars: what is drawn is what was counted."""

import numpy as np
import pytest

from discreet.report import pictures
from discreet.report.pictures.distributions import Bins, shares
from tests.report.pages import marks, walked


def test_areas_of_bars_are_shares():
    bins = Bins([10.0, 20.0, 50.0])
    parts = shares([10, 20, 60, 10])
    areas = bins.heights(parts) * np.diff(bins.drawn)
    assert areas / areas.sum() == pytest.approx(parts)
    # The first is drawn as wide as its neighbour, so is the last.
    assert bins.drawn.tolist() == [0.0, 10.0, 20.0, 50.0, 80.0]
    # A bin of the usual width is as high as its percent.
    even = Bins([10.0, 20.0, 30.0])
    assert even.heights(shares([10, 20, 60, 10])) == pytest.approx([10, 20, 60, 10])


@pytest.mark.parametrize(("edges", "drawn"), [([], [0, 1]), ([7.0], [6, 7, 8])])
def test_one_and_two_bins(edges, drawn):
    assert Bins(edges).drawn.tolist() == drawn
    n = len(edges) + 1
    picture = pictures.histogram("x", {"edges": edges, "before": [10] * n, "after": [20] * n})
    assert (">7<" in picture.svg) == bool(edges)


def test_dates_are_dates():
    figures = {"edges": ["2001-01-01", "2002-01-01", "2003-01-01"], "before": [10, 10, 10, 10]}
    picture = pictures.histogram("born", figures | {"after": [10, 20, 10, 0]})
    assert "2001-01-01 to 2002-01-01: 25.0 % and 50.0 %" in picture.alt
    assert ">2002<" in picture.svg
    assert "per 365 days" in picture.svg
    minutes = {
        "before": ["2020-05-01T10:00", "2020-05-01T11:30"],
        "after": ["2020-05-02T10:00"] * 2,
    }
    assert "50 %: 2020-05-01 10:45 and 2020-05-02 10:00" in pictures.ecdf("seen", minutes).alt


def test_times_within_minutes_are_told_to_the_second():
    edges = [f"2024-01-01T10:0{s // 60}:{s % 60:02d}" for s in range(0, 300, 10)]
    counts = [10] * (len(edges) + 1)
    picture = pictures.histogram("seen", {"edges": edges, "before": counts, "after": counts})
    assert "% of records per 10 seconds" in picture.svg
    assert "2024-01-01 10:00:10 to 2024-01-01 10:00:20: " in picture.alt


@pytest.mark.parametrize("far", ["0001-01-01", "9999-12-31", "10000-01-01"])
def test_the_ends_of_the_calendar_are_drawn(far):
    days = sorted(["2001-01-01", "2002-01-01", far], key=lambda day: int(day.split("-")[0]))
    picture = pictures.histogram("d", {"edges": days, "before": [10] * 4, "after": [10] * 4})
    assert far in picture.alt
    assert far in pictures.ecdf("d", {"before": days, "after": days}).alt
    assert far in pictures.ecdf("d", {"before": [far] * 3, "after": [far] * 3}).alt


def test_large_numbers_close_together_are_told_apart():
    edges = [12345678901234560.0 + 10 * i for i in range(3)]
    picture = pictures.histogram("code", {"edges": edges, "before": [10] * 4, "after": [10] * 4})
    assert "12,345,678,901,234,560 to 12,345,678,901,234,570: 25.0 %" in picture.alt


def test_a_side_without_records_is_drawn_as_nothing():
    picture = pictures.histogram("x", {"edges": [1.0], "before": [0, 0], "after": [10, 10]})
    assert "under 1: 0 % and 50.0 %" in picture.alt


def test_a_released_picture_tells_of_one_side_only():
    picture = pictures.released_histogram("x", {"edges": [1.0], "counts": [30, 10]})
    assert picture.alt == "Share of records by x, as released: under 1: 75.0 %; 1 and more: 25.0 %."
    assert "before" not in picture.svg
    picture = pictures.released_categories("x", {"labels": ["a", "b"], "counts": [30, 10]})
    assert picture.alt == "Share of records by x, as released: a: 75.0 %; b: 25.0 %."
    assert "before" not in picture.svg


def test_long_descriptions_end():
    n = 200
    figures = {"edges": list(map(float, range(n))), "before": [1] * (n + 1), "after": [1] * (n + 1)}
    picture = pictures.histogram("x", figures)
    assert picture.alt.endswith("and 141 bins more.")
    assert picture.alt.count(";") == 60


def heights(svg: str) -> dict[int, float]:
    """Return where the labels of the upright axis stand."""
    labels = [mark for mark in marks(svg, "text") if mark.get("text-anchor") == "end"]
    return {int(mark["text"]): float(mark["y"]) for mark in labels}


def test_quantiles_stand_in_the_middle_of_their_parts():
    picture = pictures.ecdf("x", {"before": [0.0, 100.0], "after": [0.0, 100.0]})
    thick = next(mark for mark in marks(picture.svg, "path") if mark.get("stroke-width") == "2.2")
    [[(_, y0), (_, y1)]] = walked(thick["d"])
    ticks = heights(picture.svg)
    per = (ticks[0] - ticks[100]) / 100
    assert (y0 - y1) / per == pytest.approx(50, abs=0.2)


def test_stairs_are_as_high_as_their_shares():
    counts = [10, 20, 60, 10]
    figures = {"edges": [10.0, 20.0, 30.0], "before": counts, "after": counts[::-1]}
    svg = pictures.histogram("x", figures).svg
    ticks = heights(svg)
    per = (ticks[0] - ticks[20]) / 20
    for look, side in ((("fill", "#c9ced6"), counts), (("stroke", "#1a1a1a"), counts[::-1])):
        drawn = next(mark for mark in marks(svg, "path") if mark.get(look[0]) == look[1])
        [points] = walked(drawn["d"])
        base = points[0][1]
        assert [(base - y) / per for _, y in points[1:-1:2]] == pytest.approx(side, abs=0.2)


def test_lying_bars_are_as_long_as_their_shares():
    counts = {"before": [10, 30], "after": [40, 0]}
    svg = pictures.categories("c", {"labels": ["a", "b"], **counts}).svg
    bars = [walked(mark["d"]) for mark in marks(svg, "path") if mark.get("fill") != "none"]
    bars = [side for side in bars if len(side) == 2]
    labels = {m["text"]: float(m["x"]) for m in marks(svg, "text") if "text-anchor" in m}
    per = (labels["100"] - labels["0"]) / 100
    for side, shares_ in zip(bars, ([25, 75], [100, 0]), strict=True):
        lengths = [max(x for x, _ in bar) - min(x for x, _ in bar) for bar in side]
        assert [long / per for long in lengths] == pytest.approx(shares_, abs=0.2)
