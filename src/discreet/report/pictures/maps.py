"""Several releases on one map: what each risks, and what it costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.report.pictures.axes import Plot, around
from discreet.report.pictures.drawing import DARK, GREY, TEXT, Canvas, Look, Picture
from discreet.report.pictures.words import clipped, number, width

_FRONT: Look = {"r": 3.5, "fill": DARK}
_BEATEN: Look = {"fill": "white", "stroke": GREY, "stroke_width": 1}


def risk_utility(
    releases: Sequence[Mapping[str, Any]],
    risk: str = "risk",
    loss: str = "loss",
    turned: Sequence[str] = (),
) -> Picture:
    """Draw releases by risk and loss, those that no other beats marked.

    `risk` and `loss` say what the two are, with their units; `turned` names those where a larger
    figure is better, and whose axis runs the other way.

    Examples
    --------
    >>> two = [{"name": "a", "risk": 0.1, "loss": 0.2, "dominated": False},
    ...        {"name": "b", "risk": 0.3, "loss": 0.2, "dominated": True}]
    >>> print(risk_utility(two).alt)
    loss and risk of 2 releases: a: 0.2 and 0.1, not dominated; b: 0.2 and 0.3, dominated.
    """
    places = np.array([(r["loss"], r["risk"]) for r in releases], dtype=np.float64)
    beaten = np.array([r["dominated"] for r in releases], dtype=bool)
    canvas = Canvas(245)
    (left, right), (low, high) = (around(values, 0.12) for values in places.T)
    x = (right, left) if "loss" in turned else (left, right)
    y = (high, low) if "risk" in turned else (low, high)
    plot = Plot(canvas, x, y, (loss, risk))
    points = np.column_stack([plot.across(places[:, 0]), plot.down(places[:, 1])])
    front = points[~beaten][np.lexsort(places[~beaten].T[::-1])]
    # One that is not beaten for what is not on this map may lie behind others here.
    edge = front[_first(front * np.array([1.0, -1.0]))] if len(front) else front
    if len(edge) > 1:
        canvas.line(*edge.T, stroke=DARK, stroke_width=0.8, stroke_dasharray="3 1.3")
    canvas.dots(*front.T, **_FRONT)
    a, b = points[beaten].T
    canvas.boxes(a - 3, a + 3, b - 3, b + 3, **_BEATEN)
    _name(plot, [clipped(r["name"]) for r in releases], points, edge)
    looks = {"not dominated": _FRONT} if len(front) else {}
    canvas.legend(looks | ({"dominated": _BEATEN} if beaten.any() else {}))
    told = [
        f"{clipped(r['name'])}: {number(r['loss'])} and {number(r['risk'])}, "
        f"{'dominated' if r['dominated'] else 'not dominated'}"
        for r in releases
    ]
    return canvas.picture(
        "Risk and loss of the compared releases",
        f"{loss} and {risk} of {len(releases)} releases: {'; '.join(told)}.",
        "Lower is safer, further left keeps more information; a hollow square is dominated: "
        "another release is at least as good in all that they are ranked by, and better in one."
        + " A filled point off the line is better in what this map does not show."
        * (len(edge) < len(front))
        + "".join(f" The axis of {axis} is turned, since more is better." for axis in turned),
    )


def _first(points: np.ndarray) -> np.ndarray:
    """Tell which points no other is at least as small as in both, and smaller in one."""
    below = np.all(points[:, None] >= points[None], axis=2)
    less = np.any(points[:, None] > points[None], axis=2)
    return ~np.any(below & less, axis=1)


def _name(plot: Plot, names: Sequence[str], points: np.ndarray, front: np.ndarray) -> None:
    """Write the names beside their points, where there is room: off each other and the line."""
    # What is taken, as left, right, top and bottom: the marks to begin with.
    taken: list[Box] = [(x - 5, x + 5, y - 5, y + 5) for x, y in points]
    parts = list(itertools.pairwise(front))
    for name, (x, y) in zip(names, points, strict=True):
        wide = TEXT * width(name)
        free = []
        for right, up in _PLACES:
            left = x + 7 if right else x - 7 - wide
            box = (left, left + wide, y - up - TEXT, y - up + 2)
            fits = plot.left < left and box[1] < plot.right and plot.top < box[2]
            fits = fits and box[3] < plot.bottom
            if fits and not any(overlap(box, other) for other in taken):
                free.append((right, up, box))
        # Where every place that is free lies on the line, the nearest of them.
        off = (place for place in free if not any(crossed(place[2], *part) for part in parts))
        right, up, box = next(off, free[0] if free else (right, up, box))
        taken.append(box)
        beside = x + 7 if right else x - 7
        if abs(up) > 12:
            ends = [x, beside], [y, y - up - TEXT / 2 + 2]
            plot.canvas.line(*ends, stroke=DARK, stroke_width=0.4)
        plot.canvas.text(beside, y - up, name, "start" if right else "end")


# Beside a point: on its right or left, so many points of text higher.
_HIGHER = (4, -9, 16, -21, 28, -33, 40, -45, *range(52, 160, 12))
_PLACES = [(right, up) for up in _HIGHER for right in (True, False)]
Box = tuple[float, float, float, float]


def overlap(a: Box, b: Box) -> bool:
    """Tell whether two boxes overlap."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def crossed(box: Box, start: Sequence[float], end: Sequence[float]) -> bool:
    """Tell whether a straight line goes through a box.

    Examples
    --------
    >>> crossed((0, 2, 0, 1), (-1, -1), (3, 2)), crossed((0, 2, 0, 1), (-1, 0), (1, 3))
    (True, False)
    """
    enters, leaves = 0.0, 1.0
    for low, high, a, b in ((*box[:2], start[0], end[0]), (*box[2:], start[1], end[1])):
        if a == b:
            if not low < a < high:
                return False
            continue
        first, last = sorted(((low - a) / (b - a), (high - a) / (b - a)))
        enters, leaves = max(enters, first), min(leaves, last)
    return enters < leaves
