"""The distribution of one column, before and after: histograms, quantiles, categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.clock import length_unit
from discreet.report.pictures.axes import Plot, Values, around
from discreet.report.pictures.drawing import AREAS, BARS, BLUE, LINES, MARGIN, Canvas, Picture
from discreet.report.pictures.words import BELOW, clipped, number, percent

# Bins that a description tells one by one.
_TOLD = 60
_HIGHEST = 1e100
_OPEN = "The outermost bins are open and drawn as wide as their neighbours."


def histogram(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw a histogram before and after.

    The figures have the `edges` between the bins (numbers, or dates as ISO text), and the records
    of each bin `before` and `after`: one more than edges, as the first and the last bin are open.

    Examples
    --------
    >>> figures = {"edges": [30, 60], "before": [20, 50, 30], "after": [0, 60, 40]}
    >>> print(histogram("age", figures).alt)
    Share of records by age, before and after: under 30: 20.0 % and 0 %; 30 to 60: 50.0 % and
    60.0 %; 60 and more: 30.0 % and 40.0 %.
    """
    canvas, bins = Canvas(), Bins(figures["edges"])
    sides = [shares(figures[side]) for side in AREAS]
    plot = bins.plot(canvas, column, *sides)
    for side, look in zip(sides, AREAS.values(), strict=True):
        plot.stairs(bins.heights(side), bins.drawn, **look)
    canvas.legend(AREAS)
    return canvas.picture(
        f"Distribution of {clipped(column, BELOW)} before and after",
        f"Share of records by {column}, before and after: {bins.told(*sides)}.",
        "The grey area is the original, the black line the release; where they part, values moved. "
        f"{_OPEN}",
    )


def released_histogram(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw a histogram of released values: `edges` and `counts`, one more than edges."""
    canvas, bins, found = Canvas(), Bins(figures["edges"]), shares(figures["counts"])
    plot = bins.plot(canvas, column, found)
    plot.stairs(bins.heights(found), bins.drawn, **AREAS["before"], **AREAS["after"])
    return canvas.picture(
        f"Distribution of {clipped(column, BELOW)} as released",
        f"Share of records by {column}, as released: {bins.told(found)}.",
        f"The area above a range of values is the share of records in it. {_OPEN}",
    )


def ecdf(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw the distribution function at quantiles: `before` and `after`, in the middle of n parts.

    Examples
    --------
    >>> picture = ecdf("age", {"before": [20, 30, 40, 50], "after": [25, 25, 45, 45]})
    >>> print(picture.alt)
    Quantiles of age, before and after: 10 %: 20 and 25; 25 %: 25 and 25; 50 %: 35 and 35; 75 %: 45
    and 45; 90 %: 50 and 45.
    """
    both_sides = Values([*figures["before"], *figures["after"]])
    sides = {side: Values(figures[side]) for side in LINES}
    canvas = Canvas()
    names = column, "% of records at most"
    ends = around(both_sides.numbers, 0.02)
    plot = Plot(canvas, ends, (0, 100), names, dates=both_sides.dates)
    for side, values in sides.items():
        plot.line(values.numbers, _levels(values.numbers), **LINES[side])
    canvas.legend(LINES)
    told = []
    for p in (10, 25, 50, 75, 90):
        at = [np.interp(p, _levels(v.numbers), v.numbers) for v in sides.values()]
        both = [both_sides.said(value) for value in at]
        told.append(f"{p} %: {both[0]} and {both[1]}")
    return canvas.picture(
        f"Quantiles of {clipped(column, BELOW)} before and after",
        f"Quantiles of {column}, before and after: {'; '.join(told)}.",
        "At each value, the height is the share of records that are at most so large; the farther "
        "the lines are apart sideways, the more the values of that part of the table moved.",
    )


def _levels(quantiles: np.ndarray) -> np.ndarray:
    """Return the percent of records at or below each of n quantiles."""
    n = len(quantiles)
    return 100 * (np.arange(n) + 0.5) / n


def categories(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw bars for the `labels`, by their records `before` and `after`."""
    how = (
        "The upper bar of each pair is the original, the lower the release, in percent of their "
        "records; rare labels are put together."
    )
    return _bars(column, figures, ["before", "after"], "before and after", how)


def released_categories(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw bars for the released `labels`, by their `counts`."""
    how = "Each bar is the share of records with that label; rare labels are put together."
    return _bars(column, figures, ["counts"], "as released", how)


def _bars(
    column: str, figures: Mapping[str, Any], parts: Sequence[str], when: str, how: str
) -> Picture:
    names = [clipped(str(label)) for label in figures["labels"]]
    sides = [shares(figures[part]) for part in parts]
    canvas = Canvas(50 + len(names) * (14.4 if len(sides) == 1 else 18.7))
    lying_bars(canvas, names, sides, "% of records")
    told = "; ".join(_told(names, sides))
    title = f"Categories of {clipped(column, BELOW)} {when}"
    return canvas.picture(title, f"Share of records by {column}, {when}: {told}.", how)


def _told(names: Sequence[str], sides: Sequence[np.ndarray]) -> list[str]:
    """Say the shares that go by each name."""
    rows = zip(names, zip(*sides, strict=True), strict=True)
    return [f"{name}: {' and '.join(map(percent, row))}" for name, row in rows]


def lying_bars(
    canvas: Canvas, names: Sequence[str], sides: Sequence[np.ndarray], unit: str, **box: Any
) -> Plot:
    """Draw bars of shares in percent: before above after, or one side alone."""
    top = max(1.0, *(105 * side.max(initial=0) for side in sides))
    rows = list(enumerate(names))
    ends = len(names) - 0.4, -0.6
    plot = Plot(canvas, (0, top), ends, (unit, ""), y_ticks=rows, left=MARGIN, **box)
    looks = BARS if len(sides) == 2 else {"": BARS["after"] | {"fill": BLUE}}
    if len(looks) == 2:
        canvas.legend(looks, plot.right)
    thick = 0.7 / len(sides)
    for place, (side, look) in enumerate(zip(sides, looks.values(), strict=True)):
        upper = np.arange(len(names)) - 0.35 + place * thick
        edges = plot.down(upper), plot.down(upper + thick)
        canvas.boxes(plot.left, plot.across(100 * side), *edges, **look)
    return plot


def shares(counts: Sequence[int]) -> np.ndarray:
    """Divide counts by their sum; of nothing there are no shares."""
    found = np.asarray(counts, dtype=np.float64)
    total = found.sum()
    return found / total if total > 0 else found


class Bins:
    """Bins by their inner edges, the first and the last open."""

    def __init__(self, edges: Sequence[Any]) -> None:
        self.values = Values(edges)
        inner = self.values.numbers
        widths = np.diff(inner) if len(inner) > 1 else np.ones(1)
        self.unit = float(np.median(widths))
        self.drawn = np.array([0.0, 1.0])
        # The outermost have no width of their own, and get one that float64 can tell.
        if len(inner):
            first, last = np.maximum(widths[[0, -1]], 8 * np.spacing(np.abs(inner[[0, -1]])))
            self.drawn = np.concatenate([[inner[0] - first], inner, [inner[-1] + last]])

    def heights(self, parts: np.ndarray) -> np.ndarray:
        """Return bars whose areas are the shares: percent per the usual width."""
        # Bars beside others that are 300 powers of ten as wide have no end.
        return 100 * parts * np.minimum(self.unit / np.diff(self.drawn), _HIGHEST)

    def plot(self, canvas: Canvas, column: str, *sides: np.ndarray, under: float = 0.0) -> Plot:
        """Return axes for sides, with some part of their height left below 0."""
        top = 1.05 * max(float(self.heights(side).max()) for side in sides) or 1.0
        ends, heights = (self.drawn[0], self.drawn[-1]), (-under * top, top)
        values = self.values
        if len(values.numbers) < 2:
            ticks = [(v, values.said(v)) for v in values.numbers]
            return Plot(canvas, ends, heights, (column, "% of records"), x_ticks=ticks)
        name, length = length_unit(self.unit * 86_400) if values.dates else ("", 86_400.0)
        unit = number(float(f"{self.unit * 86_400 / length:.3g}"))
        names = column, f"% of records per {unit} {name}".rstrip()
        return Plot(canvas, ends, heights, names, dates=values.dates)

    def told(self, *sides: np.ndarray) -> str:
        """Say what is in each bin."""
        said = [self.values.said(value) for value in self.values.numbers]
        names = ["all"]
        if said:
            between = (f"{a} to {b}" for a, b in pairwise(said))
            names = [f"under {said[0]}", *between, f"{said[-1]} and more"]
        parts = _told(names, sides)
        more = len(parts) - _TOLD
        return "; ".join(parts[:_TOLD]) + (f"; and {more} bins more" if more > 0 else "")
