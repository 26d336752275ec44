"""Several releases on one map: what each risks, and what it costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report.pictures.distributions import WIDE, room
from discreet.report.pictures.drawing import (
    BELOW,
    DARK,
    TEXT,
    Picture,
    clipped,
    draw,
    legend,
    number,
    width,
)


def risk_utility(
    releases: Sequence[Mapping[str, Any]],
    risk: str = "risk",
    loss: str = "loss",
    turned: Sequence[str] = (),
) -> Picture:
    """Draw releases by risk and loss, those that no other beats in both marked.

    Parameters
    ----------
    releases : list of dict
        `name`, `risk`, `loss`, and `dominated`: True where another is at least as good in both
        and better in one.
    risk, loss : str
        What the two are, with their units.
    turned : list of str
        `"risk"` and `"loss"` where a larger figure is better: that axis runs the other way.

    Examples
    --------
    >>> two = [{"name": "a", "risk": 0.1, "loss": 0.2, "dominated": False},
    ...        {"name": "b", "risk": 0.3, "loss": 0.2, "dominated": True}]
    >>> print(risk_utility(two).alt)
    loss and risk of 2 releases: a: 0.2 and 0.1, not dominated; b: 0.2 and 0.3, dominated.
    """
    front = sorted((r["loss"], r["risk"]) for r in releases if not r["dominated"])
    beaten = [(r["loss"], r["risk"]) for r in releases if r["dominated"]]

    def paint(canvas: Any) -> None:
        axis = room(canvas, high=3.4)
        if front:
            axis.plot(
                *zip(*front, strict=True),
                color=DARK,
                marker="o",
                markersize=7,
                linewidth=0.8,
                linestyle="--",
                label="not dominated",
            )
        if beaten:
            axis.plot(
                *zip(*beaten, strict=True),
                color="#7b8494",
                marker="s",
                markersize=6,
                markerfacecolor="white",
                linestyle="none",
                label="dominated",
            )
        axis.margins(0.12)
        axis.xaxis.set_inverted("loss" in turned)
        axis.yaxis.set_inverted("risk" in turned)
        axis.set(xlabel=clipped(loss, BELOW), ylabel=clipped(risk, 22.0))
        _name(axis, releases, front)
        legend(axis)

    told = [
        f"{clipped(r['name'])}: {number(r['loss'])} and {number(r['risk'])}, "
        f"{'dominated' if r['dominated'] else 'not dominated'}"
        for r in releases
    ]
    return draw(
        paint,
        (WIDE, 3.4),
        "Risk and loss of the compared releases",
        f"{loss} and {risk} of {len(releases)} releases: {'; '.join(told)}.",
        "Lower is safer, further left keeps more information; a hollow square is dominated: "
        "another release is at least as good in both and better in one."
        + "".join(f" The axis of {axis} is turned, since more is better." for axis in turned),
    )


def _name(
    axis: Any, releases: Sequence[Mapping[str, Any]], front: Sequence[tuple[float, float]]
) -> None:
    """Write the names beside their points, where there is room: off each other and the line."""
    axis.autoscale_view()  # else not done before all is drawn
    points = axis.transData.transform([(one["loss"], one["risk"]) for one in releases])
    scale = 72 / axis.figure.dpi
    points *= scale
    line = axis.transData.transform(front) * scale if front else []
    parts = list(itertools.pairwise(line))
    inside = [side * scale for side in (axis.bbox.x0, axis.bbox.x1, axis.bbox.y0)]
    # What is taken, as left, right, bottom and top in points: the marks to begin with.
    taken = [(x - 5, x + 5, y - 5, y + 5) for x, y in points]
    for one, (x, y) in zip(releases, points, strict=True):
        name = clipped(one["name"])
        wide = TEXT * width(name)
        free = []
        for right, up in _PLACES:
            left = x + 7 if right else x - 7 - wide
            box = (left, left + wide, y + up - 2, y + up + TEXT)
            fits = inside[0] < left and box[1] < inside[1] and inside[2] < box[2]
            if fits and not any(_overlap(box, other) for other in taken):
                free.append((right, up, box))
        # Where every place that is free lies on the line, the nearest of them.
        off = (place for place in free if not any(_crossed(place[2], *part) for part in parts))
        right, up, box = next(off, free[0] if free else (right, up, box))
        taken.append(box)
        axis.annotate(
            name,
            (one["loss"], one["risk"]),
            xytext=(7 if right else -7, up),
            ha="left" if right else "right",
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "linewidth": 0.4} if abs(up) > 12 else None,
        )


# Beside a point: on its right or left, so many points of text higher.
_HIGHER = (4, -9, 16, -21, 28, -33, 40, -45, *range(52, 160, 12))
_PLACES = [(right, up) for up in _HIGHER for right in (True, False)]
Box = tuple[float, float, float, float]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _crossed(box: Box, start: Sequence[float], end: Sequence[float]) -> bool:
    """Tell whether a straight line goes through a box.

    Examples
    --------
    >>> _crossed((0, 2, 0, 1), (-1, -1), (3, 2)), _crossed((0, 2, 0, 1), (-1, 0), (1, 3))
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
