"""What columns have to do with each other: correlations, classes of equal records, nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.report.pictures.distributions import WIDE, room
from discreet.report.pictures.drawing import (
    AFTER_BARS,
    BEFORE_BARS,
    DARK,
    MARGIN,
    TEXT,
    Picture,
    clipped,
    draw,
    legend,
    number,
    percent,
    strokes,
    width,
)

# Columns up to which the matrices fit beside each other.
_SIDE_BY_SIDE = 12
# Columns of which the nulls are drawn.
_MOST_NULLS = 40
# Pairs of columns that a description tells.
_TOLD = 20


def correlations(figures: Mapping[str, Any]) -> Picture:
    """Draw the correlation matrices before and after, and their difference.

    Parameters
    ----------
    figures : dict
        `columns`, and `before` and `after` as lists of rows; None where a column is constant.
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
    cell = 0.14 if many else min(0.3, 1.75 / n)
    longest = 0.3 if many else 0.15 + TEXT / 72 * max(map(width, names))
    high = (2 if many else 1) * (n * cell + 0.35) + longest

    def paint(canvas: Any) -> None:
        axes = canvas.subplots(*((2, 1) if many else (1, 3)), squeeze=False).ravel()
        canvas.subplots_adjust(
            left=MARGIN / WIDE,
            right=0.995,
            top=1 - 0.25 / high,
            bottom=longest / high,
            wspace=0.06,
            hspace=0.35 / (n * cell),
        )
        for axis, (title, matrix) in zip(axes, panels.items(), strict=True):
            _squares(axis, matrix, whole=many and axis is axes[0])
            axis.set_title(title, fontsize=8.5)
            axis.tick_params(length=0, labelsize=6.5 if many else 8.5)
            if many:
                axis.set_xticks(range(n), range(1, n + 1))
                axis.set_yticks(range(n), [f"{i}. {name}" for i, name in enumerate(names, 1)])
            else:
                axis.set_xticks(range(n), names, rotation=90)
                axis.set_yticks(range(n), names if axis is axes[0] else [])

    pairs = [(i, j) for i in range(n) for j in range(i)]
    pairs.sort(key=lambda pair: -np.nan_to_num(abs(after[pair] - before[pair])))
    told = [
        f"{names[j]} and {names[i]}: {_r(before[i, j])} and {_r(after[i, j])}"
        for i, j in pairs[:_TOLD]
    ]
    few = f" (the {_TOLD} pairs that changed most)" if len(pairs) > _TOLD else ""
    return draw(
        paint,
        (WIDE, high),
        "Correlations before, after, and their difference",
        f"Correlations before and after{few}: {'; '.join(told)}.",
        "The larger a square, the stronger two columns are related: 1 fills its cell; full squares "
        f"are positive, hollow ones negative; the {'lower' if many else 'right'} panel shows what "
        "the release changed.",
    )


def _r(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.2f}"


def _squares(axis: Any, matrix: np.ndarray, whole: bool) -> None:
    """Draw squares whose area is the correlation's size, and the grid of half or all of them."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    n = len(matrix)
    for sign, face in ((1, DARK), (-1, "white")):
        corners: list[tuple[float, float]] = []
        for i, j in np.argwhere(sign * matrix > 0.002):
            if i != j:
                half = 0.46 * np.sqrt(min(1.0, abs(matrix[i, j])))
                left, right, low, high = j - half, j + half, i - half, i + half
                corners += [(left, low), (right, low), (right, high), (left, high), (left, low)]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        if corners:
            path = Path(corners, codes * (len(corners) // 5))
            axis.add_patch(PathPatch(path, facecolor=face, edgecolor=DARK, linewidth=0.7))
    lines = np.arange(n + 1) - 0.5
    right = np.full(n + 1, n - 0.5) if whole else np.minimum(lines + 1, n - 0.5)
    top = np.full(n + 1, -0.5) if whole else np.maximum(lines - 1, -0.5)
    sides = [(lines, np.full(n + 1, -0.5), right), (lines, top, np.full(n + 1, n - 0.5))]
    for across, (at, start, end) in zip((True, False), sides, strict=True):
        grid = strokes(at, start, end)
        axis.plot(*(grid[::-1] if across else grid), color="#dddddd", linewidth=0.4, zorder=0)
    axis.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal", anchor="N")
    axis.spines[:].set_visible(False)


def class_sizes(figures: Mapping[str, Any]) -> Picture:
    """Draw the records by the size of their class, before and after.

    Examples
    --------
    >>> picture = class_sizes({"sizes": ["1", "2", "3-4"], "before": [9, 2, 4], "after": [0, 8, 7]})
    >>> print(picture.alt)
    Records by the size of their class, before and after: 1: 9 and 0; 2: 2 and 8; 3-4: 4 and 7.
    """
    sizes, before, after = (figures[part] for part in ("sizes", "before", "after"))
    places = np.arange(len(sizes))

    def paint(canvas: Any) -> None:
        axis = room(canvas, left=0.8)
        axis.bar(places - 0.2, before, 0.4, label="before", **BEFORE_BARS)
        axis.bar(places + 0.2, after, 0.4, label="after", **AFTER_BARS)
        axis.set_xticks(places, [str(size) for size in sizes])
        axis.set(xlabel="records in the class", ylabel="records")
        _thousands(axis.yaxis)
        legend(axis)

    told = [f"{size}: {x:,} and {y:,}" for size, x, y in zip(sizes, before, after, strict=True)]
    return draw(
        paint,
        (WIDE, 2.3),
        "Records by the size of their class, before and after",
        f"Records by the size of their class, before and after: {'; '.join(told)}.",
        "A class is the records that share all quasi columns; those in small classes, on the left, "
        "stand out and can be found, so the release should have few there.",
    )


def _thousands(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda x, _: number(x)))


def nulls(figures: Mapping[str, Any]) -> Picture:
    """Draw the null map: the share of nulls in each column, and the common patterns.

    Parameters
    ----------
    figures : dict
        `columns`, their shares of nulls `before` and `after`, and optionally `patterns`: a list of
        {"columns": the null ones, "before": records, "after": records}, where None stands for
        fewer than ten.
    """
    before, after = (np.asarray(figures[side], dtype=np.float64) for side in ("before", "after"))
    shown = np.sort(np.argsort(-np.maximum(before, after), kind="stable")[:_MOST_NULLS])
    before, after = before[shown], after[shown]
    own = [figures["columns"][i] for i in shown]
    columns = [clipped(name) for name in own]
    few = f"; of {len(figures['columns'])} columns the {len(own)} with most are shown"
    few = few if len(own) < len(figures["columns"]) else ""
    patterns = figures.get("patterns") or []
    high = 0.85 + 0.26 * len(columns) + (0.35 if patterns else 0)
    places = np.arange(len(columns))

    def paint(canvas: Any) -> None:
        ratio = [2.0, 2.0] if patterns else [1.0]
        axes = canvas.subplots(1, len(ratio), squeeze=False, width_ratios=ratio)[0]
        canvas.subplots_adjust(
            left=MARGIN / WIDE,
            right=0.95,
            top=1 - 0.28 / high,
            wspace=0.08,
            bottom=(0.85 if patterns else 0.47) / high,
        )
        axis = axes[0]
        axis.barh(places - 0.2, 100 * before, 0.4, label="before", **BEFORE_BARS)
        axis.barh(places + 0.2, 100 * after, 0.4, label="after", **AFTER_BARS)
        axis.set_yticks(places, columns)
        axis.tick_params(axis="y", length=0)
        top = max(1.0, 105 * max(before.max(initial=0), after.max(initial=0)))
        axis.set(ylim=(len(columns) - 0.5, -0.5), xlim=(0, top), xlabel="% of cells null")
        legend(axis)
        if patterns:
            _patterns(axes[1], own, patterns)

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
    return draw(
        paint,
        (WIDE, high),
        "Nulls before and after",
        f"Share of null cells by column, before and after: {'; '.join(told)}.{more}",
        "Bars are the share of cells that are empty in the original and in the release"
        f"{beside}{few}.",
    )


def _records(n: int | None, few: str = "fewer than ") -> str:
    return f"{few}10" if n is None else number(n)


def _patterns(axis: Any, columns: Sequence[str], patterns: Sequence[Mapping[str, Any]]) -> None:
    """Draw the patterns of nulls side by side, with their numbers of records below."""
    place = {name: i for i, name in enumerate(columns)}
    cells = [(x, place[c]) for x, p in enumerate(patterns) for c in p["columns"] if c in place]
    axis.set(ylim=(len(columns) - 0.5, -0.5), xlim=(-0.6, max(len(patterns), 6) - 0.4))
    axis.hlines(np.arange(len(columns)), -0.5, len(patterns) - 0.5, color="#dddddd", linewidth=0.5)
    if cells:
        axis.plot(*zip(*cells, strict=True), "s", color=DARK, markersize=5)
    counts = [f"{_records(p['before'], '<')} → {_records(p['after'], '<')}" for p in patterns]
    axis.set_xticks(range(len(patterns)), counts, rotation=90, fontsize=7)
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title("records with these nulls", fontsize=8.5, loc="left")
