"""Ticks: round, within the range, told apart, off each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.pictures.axes import Plot
from discreet.report.pictures.drawing import TEXT, Canvas
from discreet.report.pictures.words import width
from tests.report.pages import marks


def below(low, high, dates=False):
    """Return the labels below an axis with their middles, and the axes."""
    canvas = Canvas()
    plot = Plot(canvas, (low, high), (0, 1), y_ticks=[], dates=dates, left=30, right=460)
    found = marks(canvas.picture("t", "a", "c").svg, "text")
    return [(float(mark["x"]), mark["text"]) for mark in found], plot


def stand_apart(labels):
    for (x, one), (y, other) in itertools.pairwise(labels):
        assert y - x > TEXT * (width(one) + width(other)) / 2
    for x, label in labels:
        assert TEXT * width(label) / 2 <= x + 0.1
        assert x + TEXT * width(label) / 2 <= 490.1


@given(
    st.floats(-1e12, 1e12, allow_nan=False),
    st.floats(1e-9, 1e12),
)
def test_numbers_are_told_apart_and_stand_where_they_are(low, span):
    high = low + span
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return
    labels, plot = below(low, high)
    stand_apart(labels)
    assert 1 <= len(labels) <= 8
    assert len({label for _, label in labels}) == len(labels)
    # A label that was moved into the picture stands beside its tick.
    for x, label in labels:
        half = TEXT * width(label) / 2
        value = float(label.replace(",", ""))
        assert low - span * 1e-3 <= value <= high + span * 1e-3
        place = min(max(float(plot.across(value)), half), 490 - half)
        assert x == pytest.approx(place, abs=0.5)


@given(st.floats(-700_000, 2_900_000), st.floats(1e-6, 4e6))
def test_moments_are_told_apart(low, span):
    labels, _ = below(low, low + span, dates=True)
    stand_apart(labels)
    assert len(labels) <= 8
    # A day is said once: what follows it tells times of that day.
    assert not labels or labels[0][1][:1] in "-0123456789"
    assert len({label for _, label in labels}) == len(labels) or ":" in labels[-1][1]


@pytest.mark.parametrize(
    ("first", "last", "labels"),
    [
        ("2000-02-01", "2004-02-01", ["2001", "2002", "2003", "2004"]),
        ("2000-01-01", "2001-01-01", ["2000-01", "2000-03", "2000-05", "2000-07", "2000-09",
                                      "2000-11", "2001-01"]),
        ("2024-01-01", "2024-01-05", ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04",
                                      "2024-01-05"]),
        ("2024-01-01T22:00", "2024-01-02T02:00",
         ["2024-01-01 22:00", "23:00", "2024-01-02 00:00", "01:00", "02:00"]),
        ("0001-01-01", "9999-01-01", ["2000", "4000", "6000", "8000"]),
    ],
)  # fmt: skip
def test_dates_begin_a_part_of_the_calendar(first, last, labels):
    days = np.array([first, last], "datetime64[ms]").astype(np.int64) / 86_400_000
    assert [label for _, label in below(*days, dates=True)[0]] == labels
