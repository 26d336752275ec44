"""The distribution of one column, before and after: histograms, quantiles, categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.clock import clock_unit, leading, length_unit, written
from discreet.report.pictures.drawing import (
    AFTER_BARS,
    AFTER_LINE,
    BEFORE_BARS,
    BEFORE_LINE,
    BELOW,
    DARK,
    LIGHT,
    MARGIN,
    Picture,
    clipped,
    draw,
    legend,
    number,
    percent,
)

WIDE, HIGH = 6.8, 2.3
# Bins that a description tells one by one.
_TOLD = 60


def histogram(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw a histogram before and after.

    Parameters
    ----------
    column : str
    figures : dict
        `edges` between the bins (numbers, or dates as ISO text), and the records of each bin
        `before` and `after`: one more than edges, because the first and the last bin are open.

    Examples
    --------
    >>> figures = {"edges": [30, 60], "before": [20, 50, 30], "after": [0, 60, 40]}
    >>> print(histogram("age", figures).alt)
    Share of records by age, before and after: under 30: 20.0 % and 0 %; 30 to 60: 50.0 % and
    60.0 %; 60 and more: 30.0 % and 40.0 %.
    """
    before, after = shares(figures["before"]), shares(figures["after"])
    bins = Bins(figures["edges"])

    def paint(canvas: Any) -> None:
        axis = room(canvas)
        axis.stairs(bins.heights(before), bins.drawn, fill=True, color=LIGHT, label="before")
        axis.stairs(bins.heights(after), bins.drawn, color=DARK, linewidth=1.2, label="after")
        bins.label(axis, column)
        legend(axis)

    told = bins.told(before, after)
    return draw(
        paint,
        (WIDE, HIGH),
        f"Distribution of {clipped(column, BELOW)} before and after",
        f"Share of records by {column}, before and after: {told}.",
        "The grey area is the original, the black line the release; where they part, values moved. "
        f"{_OPEN}",
    )


def released_histogram(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw a histogram of released values: `edges` and `counts`, one more than edges."""
    found, bins = shares(figures["counts"]), Bins(figures["edges"])

    def paint(canvas: Any) -> None:
        axis = room(canvas)
        axis.stairs(bins.heights(found), bins.drawn, fill=True, facecolor=LIGHT)
        axis.stairs(bins.heights(found), bins.drawn, color=DARK, linewidth=1)
        bins.label(axis, column)

    return draw(
        paint,
        (WIDE, HIGH),
        f"Distribution of {clipped(column, BELOW)} as released",
        f"Share of records by {column}, as released: {bins.told(found)}.",
        f"The area above a range of values is the share of records in it. {_OPEN}",
    )


_OPEN = "The outermost bins are open and drawn as wide as their neighbours."


def ecdf(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw the distribution function at quantiles: `before` and `after`, in the middle of n parts.

    Examples
    --------
    >>> picture = ecdf("age", {"before": [20, 30, 40, 50], "after": [25, 25, 45, 45]})
    >>> print(picture.alt)
    Quantiles of age, before and after: 10 %: 20 and 25; 25 %: 25 and 25; 50 %: 35 and 35; 75 %: 45
    and 45; 90 %: 50 and 45.
    """
    both_sides = Axis.of([*figures["before"], *figures["after"]])
    sides = {side: Axis.of(figures[side]) for side in ("before", "after")}

    def paint(canvas: Any) -> None:
        axis = room(canvas)
        for (side, values), style in zip(sides.items(), (BEFORE_LINE, AFTER_LINE), strict=True):
            axis.plot(values.numbers, _levels(values.numbers), label=side, **style)
        axis.set(ylim=(0, 100), ylabel="% of records at most")
        label_values(axis, column, both_sides)
        legend(axis)

    told = []
    for p in (10, 25, 50, 75, 90):
        at = [np.interp(p, _levels(v.numbers), v.numbers) for v in sides.values()]
        both = [both_sides.said(value) for value in at]
        told.append(f"{p} %: {both[0]} and {both[1]}")
    return draw(
        paint,
        (WIDE, HIGH),
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
    labels, before, after = (figures[part] for part in ("labels", "before", "after"))
    return bars(
        labels,
        shares(before),
        shares(after),
        f"Categories of {clipped(column, BELOW)} before and after",
        f"Share of records by {column}, before and after",
        "The upper bar of each pair is the original, the lower the release, in percent of their "
        "records; rare labels are put together.",
    )


def released_categories(column: str, figures: Mapping[str, Any]) -> Picture:
    """Draw bars for the released `labels`, by their `counts`."""
    return bars(
        figures["labels"],
        None,
        shares(figures["counts"]),
        f"Categories of {clipped(column, BELOW)} as released",
        f"Share of records by {column}, as released",
        "Each bar is the share of records with that label; rare labels are put together.",
    )


def bars(
    labels: Sequence[str],
    before: np.ndarray | None,
    after: np.ndarray,
    title: str,
    told: str,
    caption: str,
) -> Picture:
    """Draw lying bars of shares, one or two for each label."""
    names = [clipped(str(label)) for label in labels]
    places = np.arange(len(names))
    high = 0.75 + len(names) * (0.26 if before is not None else 0.2)

    def paint(canvas: Any) -> None:
        axis = room(canvas, left=MARGIN, high=high)
        if before is None:
            axis.barh(places, 100 * after, 0.7, **(AFTER_BARS | {"hatch": None}))
        else:
            axis.barh(places - 0.2, 100 * before, 0.4, label="before", **BEFORE_BARS)
            axis.barh(places + 0.2, 100 * after, 0.4, label="after", **AFTER_BARS)
            legend(axis)
        axis.set_yticks(places, names)
        axis.tick_params(axis="y", length=0)
        axis.set(ylim=(len(names) - 0.4, -0.6), xlabel="% of records", xlim=(0, None))

    said = []
    for i, name in enumerate(names):
        was = "" if before is None else f"{percent(before[i])} and "
        said.append(f"{name}: {was}{percent(after[i])}")
    return draw(paint, (WIDE, high), title, f"{told}: {'; '.join(said)}.", caption)


def shares(counts: Sequence[int]) -> np.ndarray:
    """Divide counts by their sum; of nothing there are no shares."""
    found = np.asarray(counts, dtype=np.float64)
    total = found.sum()
    return found / total if total > 0 else found


def room(
    canvas: Any, *, left: float = 0.65, high: float = HIGH, top: float = 0.25, bottom: float = 0.47
) -> Any:
    """Return the axes of a picture, with margins in inches."""
    axis = canvas.add_subplot()
    # On the right, half of the last tick's label.
    canvas.subplots_adjust(
        left=left / WIDE, right=1 - 0.35 / WIDE, top=1 - top / high, bottom=bottom / high
    )
    return axis


class Axis:
    """Values as numbers to draw; dates as days."""

    def __init__(self, numbers: np.ndarray, dates: bool) -> None:
        self.numbers, self.dates = numbers, dates

    @classmethod
    def of(cls, values: Sequence[Any]) -> Axis:
        """Take numbers, or ISO texts of dates and times."""
        if any(isinstance(value, str) for value in values):
            moments = np.array([str(value).replace("Z", "") for value in values], "datetime64[ms]")
            return cls(moments.astype(np.int64) / 86_400e3, True)
        return cls(np.asarray(values, dtype=np.float64), False)

    def said(self, value: float) -> str:
        """Write one of the values, or one between them."""
        if not self.dates:
            shared = leading(self.numbers)
            close = f"{float(value):,.{min(17, shared + 3)}g}"
            return number(float(value)) if shared < 3 else close
        unit = clock_unit(np.rint(self.numbers * 86_400e3) / 1000)
        return written([value * 86_400], unit)[0].replace("T", " ")


class Bins:
    """Bins by their inner edges, the first and the last open."""

    def __init__(self, edges: Sequence[Any]) -> None:
        self.axis = Axis.of(edges)
        inner = self.axis.numbers
        widths = np.diff(inner)
        # The outermost have no width of their own.
        first = widths[0] if len(widths) else 1.0
        last = widths[-1] if len(widths) else 1.0
        self.unit = float(np.median(widths)) if len(widths) else 1.0
        if len(inner):
            self.drawn = np.concatenate([[inner[0] - first], inner, [inner[-1] + last]])
        else:
            self.drawn = np.array([0.0, 1.0])

    def heights(self, parts: np.ndarray) -> np.ndarray:
        """Return bars whose areas are the shares: percent per the usual width."""
        return 100 * parts * self.unit / np.diff(self.drawn)

    def label(self, axis: Any, column: str) -> None:
        """Name the axes."""
        axis.set(ylim=(0, None), xlim=(self.drawn[0], self.drawn[-1]))
        if len(self.axis.numbers) < 2:
            axis.set(ylabel="% of records", xlabel=clipped(column, BELOW))
            axis.set_xticks(self.axis.numbers, [self.axis.said(v) for v in self.axis.numbers])
            return
        name, length = length_unit(self.unit * 86_400) if self.axis.dates else ("", 86_400.0)
        unit = number(float(f"{self.unit * 86_400 / length:.3g}"))
        axis.set_ylabel(f"% of records per {unit} {name}".rstrip())
        label_values(axis, column, self.axis)

    def told(self, *sides: np.ndarray) -> str:
        """Say what is in each bin."""
        said = [self.axis.said(value) for value in self.axis.numbers]
        names = ["all"]
        if said:
            names = [f"under {said[0]}"]
            names += [f"{a} to {b}" for a, b in pairwise(said)]
            names += [f"{said[-1]} and more"]
        parts = [
            f"{name}: {' and '.join(percent(side[i]) for side in sides)}"
            for i, name in enumerate(names)
        ]
        more = len(parts) - _TOLD
        return "; ".join(parts[:_TOLD]) + (f"; and {more} bins more" if more > 0 else "")


# Days since 1970 of the years that matplotlib knows, 2 to 9998.
_CALENDAR = (-718_797, 2_932_166)


def label_values(axis: Any, column: str, values: Axis) -> None:
    """Name the axis of a column's values; thousands are set apart where there is room."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_xlabel(clipped(column, BELOW))
    low, high = axis.get_xlim()
    if values.dates and _CALENDAR[0] <= low and high <= _CALENDAR[1]:
        # Days since 1970, as matplotlib has them by default too.
        locator = AutoDateLocator(maxticks=8)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
        return
    if values.dates:
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: values.said(x)))
        return
    largest = max(abs(low), abs(high))
    axis.xaxis.set_major_locator(MaxNLocator(7))
    if 1e-3 < largest < 1e7 and high - low > 1e-3 * largest:
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: number(round(x, 9))))
