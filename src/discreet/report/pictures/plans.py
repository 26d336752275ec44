"""What steps decided: rounding sets, fitted polynomials, the course of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.kernels.gram import curves
from discreet.report.pictures.axes import Plot, around
from discreet.report.pictures.distributions import Bins, shares
from discreet.report.pictures.drawing import AREAS, BLUE, DARK, GRID, LIGHT, Canvas, Look, Picture
from discreet.report.pictures.words import BELOW, clipped, number, span

# Borders that leave the density to be seen.
_BORDERS = 60
# Ticks that can be told apart across a picture.
_TICKS = 300
# Chunks that are drawn; more are shown by some of them.
_CHUNKS = 24
_POINTS = 17
_BORDER: Look = {"stroke": BLUE, "stroke_width": 0.7, "stroke_dasharray": "1 1.6"}
_POINT: Look = {"stroke": DARK, "stroke_width": 1}


def rounding_sets(column: str, plan: Mapping[str, Any], figures: Mapping[str, Any]) -> Picture:
    """Draw a rounding set over the density of what it rounds, by its histogram before.

    The plan has the `points` that values are rounded to, and the `cuts` between their parts; of
    dates and durations with `unit_ns`, the nanoseconds that they count.
    """
    bins, before = Bins(figures["edges"]), shares(figures["before"])
    points, cuts = (
        np.sort(_scaled(plan[part], plan, bins.values.dates)) for part in ("points", "cuts")
    )
    few = len(cuts) <= _BORDERS
    canvas = Canvas()
    plot = bins.plot(canvas, column, before, under=0.14)
    top, looks = plot.y[1], {"before": AREAS["before"]}
    plot.stairs(bins.heights(before), bins.drawn, **AREAS["before"])
    if few:
        looks["borders"] = _BORDER
        plot.strokes(_apart(cuts, *plot.x), 0, top, **_BORDER)
    plot.strokes(_apart(points, *plot.x), -0.12 * top, -0.02 * top, **_POINT)
    canvas.legend(looks | {"points": _POINT})
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
    said = [bins.values.said(point) for point in told]
    first = ", ".join(said) if len(points) <= 30 else f"{', '.join(said[:-1])} ... {said[-1]}"
    return canvas.picture(
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

    The joint plan of PoROP or LiROP has `second_k`, `degrees`, `coefficients` (of orthonormal
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
    ends_of = np.cumsum(degrees + 1)
    coefficients = np.asarray(plan["coefficients"], dtype=np.float64)
    shown = np.unique(np.linspace(0, chunks - 1, min(chunks, _CHUNKS)).round().astype(np.int64))
    canvas = Canvas(226)
    parts = np.arange(0, chunks, -(-chunks // _TICKS))
    heights = np.maximum.reduceat(deviations, parts)
    ends, top = (0.5, chunks + 0.5), 1.05 * float(heights.max()) or 1.0
    below = Plot(canvas, ends, (0, top), ("chunk", "missed (sd)"), whole="x", top=142)
    edges = np.append(parts, chunks) + 0.5
    below.stairs(heights, edges, fill=LIGHT, stroke=DARK, stroke_width=1)
    n = len(shown)
    ticks = [(i + 0.5, f"{shown[i] + 1:,}") for i in range(0, n, max(1, n // 8))]
    above = Plot(canvas, (0, n), (0, 1), ("", "curve, stretched"), x_ticks=ticks, y_ticks=[],
                 left=below.left, bottom=105)  # fmt: skip
    above.strokes(np.arange(1, n), 0, 1, stroke=GRID, stroke_width=0.6)
    for place, chunk in enumerate(shown):
        own = coefficients[ends_of[chunk] - degrees[chunk] - 1 : ends_of[chunk]]
        at = np.linspace(0, k - 1, min(k, _POINTS)).round().astype(np.int64)
        fit = _curve(own, k, at)
        flat = np.ptp(fit) <= 1e-12
        y = np.full(len(at), 0.5) if flat else (fit - fit.min()) / np.ptp(fit)
        above.line(place + 0.08 + 0.84 * at / (k - 1), y, **AREAS["after"])
    degree = f"{degrees.min()}" if np.ptp(degrees) == 0 else f"{degrees.min()} to {degrees.max()}"
    spread = span(deviations.min(), deviations.max())
    some = f"; {len(shown)} of the {chunks:,} chunks are drawn" if len(shown) < chunks else ""
    return canvas.picture(
        "Polynomials fitted to chunks of sorted values",
        f"{chunks:,} chunk{'s' * (chunks != 1)} of {k:,} values of {', '.join(columns)}, fitted "
        f"with polynomials of degree {degree}; standard deviations of what they miss, in parts of "
        f"a chunk's width: {spread}, on average {number(deviations.mean())}{some}.",
        "Each line above is the curve that replaces a chunk of sorted values, stretched to the "
        "full height; below, the standard deviation of what it misses, as a part of the width of "
        f"the chunk that the values came from{some}.",
    )


def _curve(coefficients: np.ndarray, k: int, position: np.ndarray) -> np.ndarray:
    """Evaluate a sum of polynomials that are orthonormal on 0..k-1 at some of these."""
    fits = np.empty(k)
    curves(0, k, k, np.array([len(coefficients)]), coefficients, fits)
    return fits[position]


def refinement(trace: Mapping[str, Any], what: str = "loss in %") -> Picture:
    """Draw how a search got better with time; `what` is the name and unit of what is drawn.

    A trace has `seconds`, and `loss` or `quality`; `moves` or `evaluations` tell the work done.

    Examples
    --------
    >>> trace = {"seconds": [0.0, 1.5, 3.0], "moves": [0, 90, 170], "loss": [8.0, 6.5, 6.0]}
    >>> print(refinement(trace).alt)
    Loss in % against time: 8 at the start, 6 after 3 s and 170 moves.
    """
    seconds = np.asarray(trace["seconds"], dtype=np.float64)
    values = np.asarray(trace["loss" if "loss" in trace else "quality"], dtype=np.float64)
    work = "moves" if "moves" in trace else "evaluations"
    canvas = Canvas()
    last = 1.02 * float(seconds.max()) or 1.0
    plot = Plot(canvas, (0, last), around(values, 0.05), ("seconds", what))
    plot.line(np.repeat(seconds, 2)[1:], np.repeat(values, 2)[:-1], **AREAS["after"])
    canvas.dots(plot.across(seconds[-1:]), plot.down(values[-1:]), r=2.5)
    done = f"{number(seconds[-1])} s and {int(trace[work][-1]):,} {work}"
    return canvas.picture(
        f"{what.capitalize()} against time",
        f"{what.capitalize()} against time: {number(values[0])} at the start, "
        f"{number(values[-1])} after {done}.",
        "The line falls as the search finds better groups; where it has become flat, more time "
        "would gain little.",
    )
