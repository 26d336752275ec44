"""What columns have to do with each other: correlations, classes of equal records, nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.report.pictures.axes import Plot
from discreet.report.pictures.distributions import lying_bars
from discreet.report.pictures.drawing import (
    BARS,
    DARK,
    GRID,
    MARGIN,
    TEXT,
    WIDE,
    Canvas,
    Look,
    Picture,
)
from discreet.report.pictures.words import clipped, number, percent, width

# Columns up to which the matrices fit beside each other.
_SIDE_BY_SIDE = 12
# Columns of which the nulls are drawn.
_MOST_NULLS = 40
# Pairs of columns that a description tells.
_TOLD = 20


def correlations(figures: Mapping[str, Any]) -> Picture:
    """Draw the correlation matrices before and after, and their difference.

    They are lists of rows, with None where a column is constant.
    """
    names = [clipped(name, 11.0) for name in figures["columns"]]
    before, after = (np.array(figures[side], dtype=np.float64) for side in ("before", "after"))
    n = len(names)
    many = n > _SIDE_BY_SIDE
    low = np.tri(n, k=-1, dtype=bool)
    panels = {"before": np.where(low, before, 0), "after": np.where(low, after, 0)}
    if many:
        panels = {"before below the diagonal, after above it": np.where(low, before, after)}
    panels["after less before"] = np.where(low, after - before, 0)
    cell = 10.0 if many else min(21.6, 115 / n)
    below = 16.0 if many else 8 + TEXT * max(map(width, names))
    small = 6.5 if many else TEXT
    rows = [f"{i}. {name}" for i, name in enumerate(names, 1)] if many else names
    canvas = Canvas((2 if many else 1) * (n * cell + 16) + (2 * 16 if many else below))
    for place, (title, matrix) in enumerate(panels.items()):
        left = MARGIN if many else MARGIN + place * 125
        top = 16 + (place * (n * cell + 32) if many else 0)
        _squares(canvas, matrix, left, top, cell, whole=many and not place)
        canvas.text(left, top - 5, title)
        for i, name in enumerate(names):
            middle = (i + 0.5) * cell + 0.35 * small
            if many or not place:
                canvas.text(left - 4, top + middle, rows[i], "end", font_size=small)
            if many:
                x, y = left + (i + 0.5) * cell, top + n * cell + 9
                canvas.text(x, y, str(i + 1), "middle", font_size=small)
            else:
                canvas.text(left + middle, top + n * cell + 5, name, "end", turned=True)

    pairs = [(i, j) for i in range(n) for j in range(i)]
    pairs.sort(key=lambda pair: -np.nan_to_num(abs(after[pair] - before[pair])))
    told = [
        f"{names[j]} and {names[i]}: {_r(before[i, j])} and {_r(after[i, j])}"
        for i, j in pairs[:_TOLD]
    ]
    few = f" (the {_TOLD} pairs that changed most)" if len(pairs) > _TOLD else ""
    return canvas.picture(
        "Correlations before, after, and their difference",
        f"Correlations before and after{few}: {'; '.join(told)}.",
        "The larger a square, the stronger two columns are related: 1 fills its cell; full squares "
        f"are positive, hollow ones negative; the {'lower' if many else 'right'} panel shows what "
        "the release changed.",
    )


def _r(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.2f}"


def _squares(
    canvas: Canvas, matrix: np.ndarray, left: float, top: float, cell: float, whole: bool
) -> None:
    """Draw squares whose area is the correlation's size, and the grid of half or all of them."""
    n = len(matrix)
    lines = np.arange(n + 1)
    right = n if whole else np.where(lines > 0, np.minimum(lines, n - 1), 0)
    upper = 0 if whole else np.clip(lines, 1, n)
    grid: Look = {"stroke": GRID, "stroke_width": 0.4}
    canvas.strokes(top + cell * lines, left, left + cell * right, lying=True, **grid)
    canvas.strokes(left + cell * lines, top + cell * upper, top + cell * n, **grid)
    for sign, face in ((1, DARK), (-1, "white")):
        i, j = np.nonzero(sign * np.where(np.eye(n), 0, matrix) > 0.002)
        half = 0.46 * cell * np.sqrt(np.minimum(1, abs(matrix[i, j])))
        x, y = left + cell * (j + 0.5), top + cell * (i + 0.5)
        look = {"fill": face, "stroke": DARK, "stroke_width": 0.7}
        canvas.boxes(x - half, x + half, y - half, y + half, **look)


def class_sizes(figures: Mapping[str, Any]) -> Picture:
    """Draw the records, or what `counts` names, by the size of their class, before and after.

    Examples
    --------
    >>> picture = class_sizes({"sizes": ["1", "2", "3-4"], "before": [9, 2, 4], "after": [0, 8, 7]})
    >>> print(picture.alt)
    Records by the size of their class, before and after: 1: 9 and 0; 2: 2 and 8; 3-4: 4 and 7.
    """
    sizes, before, after = (figures[part] for part in ("sizes", "before", "after"))
    places = np.arange(len(sizes))
    canvas = Canvas()
    top = 1.05 * max(*before, *after) or 1.0
    ticks = [(place, str(size)) for place, size in enumerate(sizes)]
    counts = figures.get("counts", "records")
    names = f"{counts} in the class", counts
    plot = Plot(canvas, (-0.6, len(sizes) - 0.4), (0, top), names, x_ticks=ticks, whole="y")
    for left, side, look in zip((-0.4, 0.0), (before, after), BARS.values(), strict=True):
        ends = plot.across(places + left), plot.across(places + left + 0.4)
        canvas.boxes(*ends, plot.down(side), plot.bottom, **look)
    canvas.legend(BARS)
    told = [f"{size}: {x:,} and {y:,}" for size, x, y in zip(sizes, before, after, strict=True)]
    title = f"{counts.capitalize()} by the size of their class, before and after"
    worst = "" if counts == "records" else f", each of the {counts} in its smallest class"
    return canvas.picture(
        title,
        f"{title}: {'; '.join(told)}.",
        f"A class is the {counts} that share all quasi columns{worst}; those in small classes, on "
        "the left, stand out and can be found, so the release should have few there.",
    )


def nulls(figures: Mapping[str, Any]) -> Picture:
    """Draw the null map: the share of nulls in each column, and the common patterns, if given.

    A pattern has the `columns` that are null together, and its records `before` and `after`, where
    None stands for fewer than ten.
    """
    before, after = (np.asarray(figures[side], dtype=np.float64) for side in ("before", "after"))
    shown = np.sort(np.argsort(-np.maximum(before, after), kind="stable")[:_MOST_NULLS])
    before, after = before[shown], after[shown]
    own = [figures["columns"][i] for i in shown]
    columns = [clipped(name) for name in own]
    few = f"; of {len(figures['columns'])} columns the {len(own)} with most are shown"
    few = few if len(own) < len(figures["columns"]) else ""
    patterns = figures.get("patterns") or []
    under = 7 + TEXT * max((width(_counts(p)) for p in patterns), default=0.0)
    canvas = Canvas(18 + 18.7 * len(columns) + max(32.0, under))
    bottom = 18 + 18.7 * len(columns)
    right = 285.0 if patterns else WIDE - 25
    plot = lying_bars(
        canvas, columns, [before, after], "% of cells null", right=right, bottom=bottom
    )
    if patterns:
        _patterns(plot, own, patterns)
    told = [
        f"{name}: {percent(x)} and {percent(y)}"
        for name, x, y in zip(columns, before, after, strict=True)
    ]
    said = [
        f"{' with '.join(clipped(c) for c in p['columns']) or 'no null'}: "
        f"{_records(p['before'])} and {_records(p['after'])}"
        for p in patterns
    ]
    more = f" Records by their null columns, before and after: {'; '.join(said)}." if said else ""
    beside = (
        "; on the right each column of squares is a group of records with these nulls, its number "
        "of records before and after below"
        if patterns
        else ""
    )
    return canvas.picture(
        "Nulls before and after",
        f"Share of null cells by column, before and after: {'; '.join(told)}.{more}",
        "Bars are the share of cells that are empty in the original and in the release"
        f"{beside}{few}.",
    )


def _records(n: int | None, few: str = "fewer than ") -> str:
    return f"{few}10" if n is None else number(n)


def _counts(pattern: Mapping[str, Any]) -> str:
    return f"{_records(pattern['before'], '<')} → {_records(pattern['after'], '<')}"


def _patterns(beside: Plot, columns: Sequence[str], patterns: Sequence[Mapping[str, Any]]) -> None:
    """Draw the patterns of nulls side by side, with their numbers of records below."""
    canvas, left = beside.canvas, beside.right + 15
    places = left + (np.arange(len(patterns)) + 0.5) * min(30.0, (WIDE - left) / len(patterns))
    rows = beside.down(np.arange(len(columns)))
    canvas.strokes(rows, left, places[-1] + 8, lying=True, stroke=GRID, stroke_width=0.6)
    found = np.array([[name in p["columns"] for name in columns] for p in patterns])
    x, y = (at[i] for at, i in zip((places, rows), np.nonzero(found), strict=True))
    canvas.boxes(x - 2.5, x + 2.5, y - 2.5, y + 2.5, fill=DARK)
    canvas.text(left, 11, "records with these nulls")
    for place, pattern in zip(places, patterns, strict=True):
        canvas.text(place + 3, beside.bottom + 5, _counts(pattern), "end", turned=True)
