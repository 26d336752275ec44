"""What steps decided: rounding sets, fitted polynomials, the course of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.report.pictures.distributions import HIGH, WIDE, Bins, room, shares
from discreet.report.pictures.drawing import (
    BELOW,
    BLUE,
    DARK,
    LIGHT,
    Picture,
    clipped,
    draw,
    legend,
    number,
    span,
    strokes,
)

# Borders that leave the density to be seen.
_BORDERS = 60
# Ticks that can be told apart across a picture.
_TICKS = 300
# Chunks that are drawn; more are shown by some of them.
_CHUNKS = 24
_POINTS = 17


def rounding_sets(column: str, plan: Mapping[str, Any], figures: Mapping[str, Any]) -> Picture:
    """Draw a rounding set over the density of what it rounds.

    Parameters
    ----------
    column : str
    plan : dict
        `points` that values are rounded to, and `cuts` between their parts; of dates and durations
        with `unit_ns`, the nanoseconds that they count.
    figures : dict
        The histogram: `edges`, `before`.
    """
    bins, before = Bins(figures["edges"]), shares(figures["before"])
    points, cuts = (_scaled(plan[part], plan, bins.axis.dates) for part in ("points", "cuts"))

    def paint(canvas: Any) -> None:
        axis = room(canvas)
        axis.stairs(bins.heights(before), bins.drawn, fill=True, color=LIGHT, label="before")
        bins.label(axis, column)
        low, high = axis.get_xlim()
        top = axis.get_ylim()[1]
        axis.set_ylim(-0.16 * top, top)
        if few:
            dots = {"color": BLUE, "linewidth": 0.7, "linestyle": ":"}
            axis.plot(*strokes(_apart(cuts, low, high), 0, top), label="borders", **dots)
        marks = strokes(_apart(points, low, high), -0.13 * top, -0.02 * top)
        axis.plot(*marks, label="points", color=DARK, linewidth=1.0)
        axis.set_xlim(low, high)
        legend(axis)

    few = len(cuts) <= _BORDERS
    held_together = (
        "all values between two dotted borders"
        if few
        else f"the values fall into {len(points):,} groups, whose borders are too many to draw, "
        "and all of a group"
    )
    counts = np.asarray(plan.get("counts", ()))
    held = f", of {span(counts.min(), counts.max())} records" if len(counts) else ""
    outside = int(((points < bins.drawn[0]) | (points > bins.drawn[-1])).sum())
    beyond = f"; {outside:,} points lie beyond what is drawn" if outside else ""
    told = points if len(points) <= 30 else [*points[:15], points[-1]]
    said = [bins.axis.said(point) for point in told]
    first = ", ".join(said) if len(points) <= 30 else f"{', '.join(said[:-1])} ... {said[-1]}"
    return draw(
        paint,
        (WIDE, HIGH),
        f"Rounding set of {clipped(column, BELOW)}",
        f"{column} is rounded to {len(points):,} point{'s' * (len(points) != 1)}{held}: {first}.",
        f"The grey area is the original; {held_together} are released as the point "
        f"marked below them, so where points are far apart much is lost{beyond}.",
    )


def _scaled(values: Any, plan: Mapping[str, Any], dates: bool) -> np.ndarray:
    """Return a plan's numbers as they are drawn: dates in days, durations in seconds."""
    found = np.asarray(values, dtype=np.float64)
    if plan.get("unit_ns") is None:
        return found
    return found * (plan["unit_ns"] / (86_400e9 if dates else 1e9))


def _apart(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Keep what is in the picture, and of values on top of each other only one."""
    values = values[(values >= low) & (values <= high)]
    if len(values) <= _TICKS:
        return values
    _, first = np.unique(np.floor((values - low) / (high - low) * _TICKS), return_index=True)
    return values[first]


def polynomials(columns: Sequence[str], plan: Mapping[str, Any]) -> Picture:
    """Draw the polynomials that a step fitted to its chunks, and what they missed.

    Parameters
    ----------
    columns : list of str
        That the step treated together.
    plan : dict
        The joint plan of PoROP or LiROP: `second_k`, `degrees`, `coefficients` (of orthonormal
        polynomials on the positions) and `deviations`.

    Examples
    --------
    >>> plan = {"second_k": 3, "degrees": [1], "coefficients": [0.6, 0.2], "deviations": [0.1]}
    >>> print(polynomials(["pay"], plan).alt)
    1 chunk of 3 values of pay, fitted with polynomials of degree 1; standard deviations of what
    they miss, in parts of a chunk's width: 0.1, on average 0.1.
    """
    k, deviations = int(plan["second_k"]), np.asarray(plan["deviations"], dtype=np.float64)
    chunks = len(deviations)
    degrees = np.broadcast_to(np.asarray(plan["degrees"], dtype=np.int64), chunks)
    ends = np.cumsum(degrees + 1)
    coefficients = np.asarray(plan["coefficients"], dtype=np.float64)
    shown = np.unique(np.linspace(0, chunks - 1, min(chunks, _CHUNKS)).round().astype(np.int64))

    def paint(canvas: Any) -> None:
        above, below = canvas.subplots(2, 1, height_ratios=[3, 2])
        canvas.subplots_adjust(left=0.75 / WIDE, right=0.95, top=0.98, bottom=0.16, hspace=0.45)
        x, y = [], []
        for place, chunk in enumerate(shown):
            own = coefficients[ends[chunk] - degrees[chunk] - 1 : ends[chunk]]
            at = np.linspace(0, k - 1, min(k, _POINTS))
            fit = _curve(own, k, at)
            flat = np.ptp(fit) <= 1e-12
            x += [*(place + 0.08 + 0.84 * at / (k - 1)), np.nan]
            y += [*(np.full(len(at), 0.5) if flat else (fit - fit.min()) / np.ptp(fit)), np.nan]
        above.plot(x, y, color=DARK, linewidth=1.1)
        above.plot(*strokes(np.arange(1, len(shown)), 0, 1), color="#bbbbbb", linewidth=0.4)
        every = max(1, len(shown) // 12)
        names = [f"{chunk + 1:,}" for chunk in shown[::every]]
        above.set_xticks(np.arange(len(shown))[::every] + 0.5, names)
        above.set(xlim=(0, len(shown)), yticks=[], ylabel="curve, stretched")
        above.tick_params(axis="x", length=0)
        step = -(-chunks // _TICKS)
        parts = np.arange(0, chunks, step)
        heights = np.maximum.reduceat(deviations, parts)
        edges = np.append(parts, chunks) + 0.5
        below.stairs(heights, edges, color=DARK, fill=True, facecolor=LIGHT)
        below.set(xlim=(0.5, chunks + 0.5), ylim=(0, None), xlabel="chunk", ylabel="missed (sd)")

    degree = f"{degrees.min()}" if np.ptp(degrees) == 0 else f"{degrees.min()} to {degrees.max()}"
    spread = span(deviations.min(), deviations.max())
    some = f"; {len(shown)} of the {chunks:,} chunks are drawn" if len(shown) < chunks else ""
    return draw(
        paint,
        (WIDE, 3.0),
        "Polynomials fitted to chunks of sorted values",
        f"{chunks:,} chunk{'s' * (chunks != 1)} of {k:,} values of {', '.join(columns)}, fitted "
        f"with polynomials of degree {degree}; standard deviations of what they miss, in parts of "
        f"a chunk's width: {spread}, on average {number(deviations.mean())}{some}.",
        "Each line above is the curve that replaces a chunk of sorted values, stretched to the "
        "full height; below, the standard deviation of what it misses, as a part of the width of "
        f"the chunk that the values came from{some}.",
    )


def _curve(coefficients: np.ndarray, k: int, position: np.ndarray) -> np.ndarray:
    """Evaluate a sum of polynomials that are orthonormal on 0..k-1."""
    t = position - (k - 1) / 2
    before, now, last = np.zeros(len(t)), np.full(len(t), k**-0.5), 0.0
    total = np.zeros(len(t))
    for j, coefficient in enumerate(coefficients, start=1):
        total += coefficient * now
        left = j / 2 * np.sqrt((k * k - j * j) / (4 * j * j - 1))
        if j < len(coefficients):
            before, now, last = now, (t * now - last * before) / left, left
    return total


def refinement(trace: Mapping[str, Any], what: str = "loss in %") -> Picture:
    """Draw how a search got better with time.

    Parameters
    ----------
    trace : dict
        `seconds`, and `loss` or `quality`, as lists; `moves` or `evaluations` tell the work done.
    what : str
        Name and unit of what is drawn.

    Examples
    --------
    >>> trace = {"seconds": [0.0, 1.5, 3.0], "moves": [0, 90, 170], "loss": [8.0, 6.5, 6.0]}
    >>> print(refinement(trace).alt)
    Loss in % against time: 8 at the start, 6 after 3 s and 170 moves.
    """
    seconds = np.asarray(trace["seconds"], dtype=np.float64)
    values = np.asarray(trace["loss" if "loss" in trace else "quality"], dtype=np.float64)
    work = "moves" if "moves" in trace else "evaluations"

    def paint(canvas: Any) -> None:
        axis = room(canvas)
        axis.step(seconds, values, where="post", color=DARK, linewidth=1.2)
        axis.plot(seconds[-1:], values[-1:], "o", color=DARK, markersize=4)
        axis.set(xlabel="seconds", ylabel=what, xlim=(0, None))

    done = f"{number(seconds[-1])} s and {int(trace[work][-1]):,} {work}"
    return draw(
        paint,
        (WIDE, HIGH),
        f"{what.capitalize()} against time",
        f"{what.capitalize()} against time: {number(values[0])} at the start, "
        f"{number(values[-1])} after {done}.",
        "The line falls as the search finds better groups; where it has become flat, more time "
        "would gain little.",
    )
