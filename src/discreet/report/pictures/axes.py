"""Axes: ticks with as many digits as tell them apart, and where values stand between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from discreet.clock import clock_unit, leading, written
from discreet.report.pictures.drawing import GRID, TEXT, WIDE, Canvas, Look
from discreet.report.pictures.words import BELOW, clipped, number, width

Tick = tuple[float, str]
Ends = tuple[float, float]
_LIGHT_LINE: Look = {"stroke": GRID, "stroke_width": 0.6}
_AXIS: Look = {"stroke": "#444444", "stroke_width": 0.6}
# Space between the labels of an axis, and above them.
_GAP, _UNDER = 9.0, 12.0
_MOST = 8
_DAY_MS = 86_400_000
# Steps from one moment to the next, by numpy's names of the units.
_STEPS = {
    "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "s": (1, 2, 5, 10, 15, 30),
    "m": (1, 2, 5, 10, 15, 30),
    "h": (1, 2, 3, 6, 12),
    "D": (1, 2, 7, 14),
    "M": (1, 2, 3),
    "Y": [n * 10**power for power in range(8) for n in (1, 2, 5)],
}
# numpy counts years from 1970, and days from a Thursday.
_SHIFTS = {"Y": 1970, "D": 3}


class Values:
    """Values as numbers to draw; dates as days."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.dates = any(isinstance(value, str) for value in values)
        if self.dates:
            moments = np.array([str(value).replace("Z", "") for value in values], "datetime64[ms]")
            self.numbers = moments.astype(np.int64) / _DAY_MS
        else:
            self.numbers = np.asarray(values, dtype=np.float64)

    def said(self, value: float) -> str:
        """Write one of the values, or one between them."""
        if not self.dates:
            shared = leading(self.numbers)
            close = f"{float(value):,.{min(17, shared + 3)}g}"
            return number(float(value)) if shared < 3 else close
        unit = clock_unit(np.rint(self.numbers * _DAY_MS) / 1000)
        return written([value * 86_400], unit)[0].replace("T", " ")


class Plot:
    """Axes on a canvas: a box in points, and the values at its sides.

    x has the values on the left and on the right, y those at the bottom and at the top; names are
    written below, and above the upright axis. Ticks are by default round values, as many as their
    labels leave room for; with `dates` x counts days since 1970, and the axis that `whole` names,
    "x" or "y", has whole numbers only. The box has by default room for what stands around it.
    """

    def __init__(
        self,
        canvas: Canvas,
        x: Ends,
        y: Ends,
        names: tuple[str, str] = ("", ""),
        *,
        x_ticks: Sequence[Tick] | None = None,
        y_ticks: Sequence[Tick] | None = None,
        dates: bool = False,
        whole: str = "",
        left: float | None = None,
        right: float = WIDE - 25,
        top: float = 18.0,
        bottom: float | None = None,
    ) -> None:
        self.canvas, self.x, self.y = canvas, x, y
        self.top, self.bottom = top, canvas.high - 32 if bottom is None else bottom
        lying = y_ticks is not None and x_ticks is None
        if y_ticks is None:
            most = (self.bottom - top + TEXT) / (TEXT + _GAP)
            y_ticks = finest(y, lambda found: len(found) <= most, False, whole == "y")
        widest = max((width(label) for _, label in y_ticks), default=0.0)
        self.left, self.right = TEXT * widest + 8 if left is None else left, right
        if x_ticks is None:
            x_ticks = finest(x, self._apart, dates, whole == "x")
        self._draw(names, x_ticks, y_ticks, lying)

    def across(self, values: Any) -> np.ndarray:
        """Return how far from the left values are drawn."""
        low, high = self.x
        return self.left + (self.right - self.left) * (np.asarray(values) - low) / (high - low)

    def down(self, values: Any) -> np.ndarray:
        """Return how far from the top values are drawn."""
        low, high = self.y
        return self.bottom - (self.bottom - self.top) * (np.asarray(values) - low) / (high - low)

    def line(self, x: Any, y: Any, **look: Any) -> None:
        """Draw a line through values."""
        self.canvas.line(self.across(x), self.down(y), **look)

    def strokes(self, x: Any, start: float, end: float, **look: Any) -> None:
        """Draw upright lines from one height to another."""
        self.canvas.strokes(self.across(x), self.down(start), self.down(end), **look)

    def stairs(self, heights: Any, edges: Any, **look: Any) -> None:
        """Draw the outline of bars side by side, from edge to edge."""
        self.line(np.repeat(edges, 2), [0, *np.repeat(heights, 2), 0], **look)

    def _apart(self, ticks: Sequence[Tick]) -> bool:
        """Tell whether the labels below stand apart."""
        ticks = sorted(ticks, reverse=bool(self.x[0] > self.x[1]))
        pairs = itertools.pairwise(ticks)
        return all(self._side(a, 1) + _GAP <= self._side(b, -1) for a, b in pairs)

    def _side(self, tick: Tick, side: int) -> float:
        """Return where a label below ends on a side: -1 is left, 1 right, and 0 its middle."""
        half = TEXT * width(tick[1]) / 2
        return min(max(float(self.across(tick[0])), half), self.canvas.wide - half) + side * half

    def _draw(
        self, names: tuple[str, str], x_ticks: Sequence[Tick], y_ticks: Sequence[Tick], lying: bool
    ) -> None:
        """Draw axes, light lines at the ticks of lengths, and labels."""
        draw = self.canvas
        places = self.across([value for value, _ in x_ticks])
        heights = self.down([value for value, _ in y_ticks])
        if lying:
            draw.strokes(places, self.top, self.bottom, **_LIGHT_LINE)
        else:
            draw.strokes(heights, self.left, self.right, lying=True, **_LIGHT_LINE)
            draw.line([self.left, self.right], [self.bottom] * 2, **_AXIS)
            draw.strokes(places, self.bottom, self.bottom + 3, **_AXIS)
        for tick in x_ticks:
            draw.text(self._side(tick, 0), self.bottom + _UNDER, tick[1], "middle")
        for height, (_, label) in zip(heights, y_ticks, strict=True):
            draw.text(self.left - 5, height + 3, label, "end")
        middle = (self.left + self.right) / 2
        draw.text(middle, self.bottom + 27, clipped(names[0], BELOW), "middle")
        draw.text(0, self.top - 7, clipped(names[1], 30.0))


def around(values: np.ndarray, part: float) -> Ends:
    """Return the ends of an axis that holds values, with a part of their range left beside."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    room = part * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def finest(ends: Ends, fit: Callable[[list[Tick]], bool], dates: bool, whole: bool) -> list[Tick]:
    """Return the most ticks between two values whose labels fit."""
    low, high = sorted(map(float, ends))
    if not 1e-290 < high - low < math.inf:
        return []
    some = moments(low, high) if dates else round_numbers(low, high, float(whole))
    return next((found for found in some if len(found) <= _MOST and fit(found)), [])


def round_numbers(low: float, high: float, least: float = 0.0) -> Iterator[list[Tick]]:
    """Yield the round numbers of a range with their labels, finer ones first.

    Examples
    --------
    >>> next(round_numbers(0, 1))[:3]
    [(0.0, '0.00'), (0.05, '0.05'), (0.1, '0.10')]
    >>> [label for _, label in next(round_numbers(1e9, 1e9 + 0.01))][:2]
    ['1,000,000,000.0000', '1,000,000,000.0005']
    """
    start = math.floor(math.log10(high - low)) - 2
    largest = max(abs(low), abs(high))
    for power, first in itertools.product(range(start, start + 4), (1, 2, 5)):
        step = first * 10.0**power
        if (high - low) / step > 20 or step < least:
            continue
        digits = math.floor(math.log10(largest) + 1e-9) - power + 1
        form = f",.{max(0, -power)}f" if largest < 1e17 and power > -7 else f",.{digits}g"
        places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        labels = {f"{i * step + 0.0:{form}}": i * step for i in places}
        yield [(value, label) for label, value in labels.items()]


def moments(low: float, high: float) -> Iterator[list[Tick]]:
    """Yield the moments of a range of days that begin a part of the calendar, finer ones first.

    Examples
    --------
    >>> [label for _, label in next(moments(10_000, 10_000.01))][:3]
    ['1997-05-19 00:00', '00:01', '00:02']
    """
    ends = np.rint(np.array([low, high]) * _DAY_MS).astype(np.int64).astype("datetime64[ms]")
    for unit, steps in _STEPS.items():
        first, last = ends.astype(f"datetime64[{unit}]").astype(np.int64).tolist()
        shift = _SHIFTS.get(unit, 0)
        for step in steps:
            if (last - first) / step > 20:
                continue
            start = (first + shift) // step * step - shift
            begun = np.arange(start, last + 1, step).astype(f"datetime64[{unit}]")
            begun = begun.astype("datetime64[ms]")
            begun = begun[(begun >= ends[0]) & (begun <= ends[1])]
            milliseconds = begun.astype(np.int64)
            told = written(milliseconds / 1000, "m" if unit == "h" else unit)
            parts = [label.partition("T") for label in told]
            # A day is said once, where it begins.
            days = ["", *(day for day, _, _ in parts)]
            labels = [
                clock if clock and day == before else f"{day} {clock}".rstrip()
                for (day, _, clock), before in zip(parts, days, strict=False)
            ]
            yield list(zip((milliseconds / _DAY_MS).tolist(), labels, strict=True))
