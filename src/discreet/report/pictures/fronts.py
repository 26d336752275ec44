"""What a search found on one map: every point tried, and those that no other beats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.report.pictures.axes import Ends, Plot, Tick, around, finest
from discreet.report.pictures.drawing import BLUE, DARK, TEXT, Canvas, Look, Picture
from discreet.report.pictures.maps import Box, crossed, overlap
from discreet.report.pictures.words import number, width

# Narrower than other pictures, so that its letters can be read on a phone.
_WIDE, _HIGH = 330.0, 236.0
_TRIED: Look = {"stroke": "#b4bcc8", "stroke_width": 2.4, "stroke_linecap": "round"}
_LINE: Look = {"stroke": DARK, "stroke_width": 0.9}
_POINT: Look = {"r": 2.6, "fill": DARK}
_ADVISED: Look = {"r": 4.6, "fill": "white", "stroke": BLUE, "stroke_width": 2.2}
_BEST: Look = {"r": 6.2, "fill": BLUE, "stroke": DARK, "stroke_width": 1.2}
_WITHIN: Look = {"fill": "#e6eef6"}
_BOUND: Look = {"stroke": BLUE, "stroke_width": 1, "stroke_dasharray": "5 2.5"}
# Letters stand out from the dots behind them.
_HALO: Look = {"stroke": "white", "stroke_width": 2.6, "paint_order": "stroke"}
# Beside a point: how far to the right of it the text begins (or ends, to the left) and how high.
_BESIDE = 3
_PLACES = [
    (right, up)
    for up in (_BESIDE, 14, -8, 25, -19, 36, -30, 47, -41, 58, -52)
    for right in (True, False)
]


@dataclass(frozen=True)
class Axis:
    """An axis of the map: what it shows, its bound, and whether it is a share."""

    title: str
    bound: float | None = None
    share: bool = True

    def said(self, value: float) -> str:
        """Write a figure of this axis."""
        return in_percent(value) if self.share else number(float(f"{value:.3g}"))


def in_percent(share: float) -> str:
    """Write a share in percent with two digits that count, as the reasons of a front do.

    Examples
    --------
    >>> [in_percent(value) for value in (0.0311, 0.2213, 0.00042, 0.996, 0.0)]
    ['3.1 %', '22 %', '0.042 %', '100 %', '0 %']
    """
    return f"{float(f'{100 * share:.2g}'):g} %"


def front_map(
    points: Sequence[Mapping[str, Any]],
    searched: Sequence[Sequence[float]],
    risk: Axis,
    loss: Axis,
    rows: int,
) -> Picture:
    """Draw the points of a front, joined, among all that a search has tried.

    Shares of risk are drawn on a log scale that ends at one of the `rows` records. A point has a
    `label`, the one that comes first `best=True`, and those that are recommended `advised=True`.

    Examples
    --------
    >>> points = [{"label": "01", "risk": 0.01, "loss": 0.4, "best": True, "advised": True},
    ...           {"label": "02", "risk": 0.1, "loss": 0.2, "best": False, "advised": False}]
    >>> drawn = front_map(points, [[0.2, 0.5]] * 3, Axis("records found", 0.05), Axis("lost"), 500)
    >>> print(drawn.alt)
    Of 3 tried, 2 are beaten by no other: 01: 1 % and 40 %, the best; 02: 10 % and 20 %.
    """
    canvas = Canvas(_HIGH, _WIDE)
    found = np.array([(p["loss"], p["risk"]) for p in points], dtype=np.float64).reshape(-1, 2)
    tried = np.array([(s[1], s[0]) for s in searched], dtype=np.float64).reshape(-1, 2)
    bounds = [(axis.bound,) if axis.bound is not None else () for axis in (loss, risk)]
    scale = _Scale(risk.share, rows)
    across = np.concatenate([found[:, 0], tried[:, 0], *bounds[:1]])
    upright = scale(np.concatenate([found[:, 1], tried[:, 1], *bounds[1:]]))
    x, y = _ends(across, loss.share), _upright(upright, scale)
    plot = Plot(
        canvas,
        x,
        y,
        (f"{loss.title} (further left is better)", f"{risk.title} (lower is safer)"),
        x_ticks=_percents(x) if loss.share else None,
        y_ticks=scale.ticks(y),
        right=_WIDE - 8,
    )
    _draw_bounds(plot, risk, loss, scale, found)
    _draw_tried(plot, tried, scale)
    _draw_points(plot, points, found, scale)
    reading = _READ + _READ_BOUNDS * any(len(one) for one in bounds)
    alt = _told(points, tried, risk, loss)
    return canvas.picture("Risk and loss of what was tried", alt, reading)


_READ = (
    "Each pale dot is a recipe that was tried. The dark ones, joined, are beaten by no other: "
    "what is safer loses more. The large dot comes first on this page, and rings are the others "
    "that are recommended."
)
_READ_BOUNDS = " The area behind is within the bounds."


class _Scale:
    """Heights on the map: of shares their logarithm, from one record on; of others the figure."""

    def __init__(self, share: bool, rows: int) -> None:
        self.share, self.least = share, 1 / max(rows, 2)

    def __call__(self, values: Any) -> np.ndarray:
        given = np.asarray(values, dtype=np.float64)
        return np.log10(np.maximum(given, self.least)) if self.share else given

    def ticks(self, ends: Ends) -> list[Tick] | None:
        """Return ticks at 1, 2 and 5, or at 1 alone where these would be too many."""
        if not self.share:
            return None
        for leading in ((1, 2, 5), (1,)):
            values = [a * 10.0**b for b in range(-9, 1) for a in leading if a * 10.0**b <= 1]
            ticks = [(math.log10(v), in_percent(v)) for v in values]
            ticks = [tick for tick in ticks if ends[0] <= tick[0] <= ends[1]]
            if len(ticks) <= 8:
                break
        return ticks


def _ends(values: np.ndarray, share: bool) -> Ends:
    low, high = around(values, 0.08)
    return (max(low, -0.03), min(high, 1.03)) if share else (low, high)


def _upright(values: np.ndarray, scale: _Scale) -> Ends:
    low, high = around(values, 0.08)
    # At least from one tick to the next, where all are alike.
    low, high = (min(low, high - 0.6), min(high, 0.08)) if scale.share else (low, high)
    # Room for a label below the lowest point.
    return low - 0.06 * (high - low), high


def _percents(ends: Ends) -> list[Tick]:
    few = finest((100 * ends[0], 100 * ends[1]), lambda ticks: len(ticks) <= 6, False, False)
    return [(value / 100, f"{label} %") for value, label in few]


def _draw_bounds(plot: Plot, risk: Axis, loss: Axis, scale: _Scale, found: np.ndarray) -> None:
    """Draw the bounds as lines with their values, and what is within them as an area."""
    if risk.bound is None and loss.bound is None:
        return
    right = plot.right if loss.bound is None else float(plot.across(loss.bound))
    top = plot.top if risk.bound is None else float(plot.down(scale(risk.bound)))
    plot.canvas.boxes(plot.left, right, top, plot.bottom, **_WITHIN)
    if risk.bound is not None:
        plot.canvas.line([plot.left, plot.right], [top, top], **_BOUND)
        said = f"at most {risk.said(risk.bound)}"
        # At the end where no point is near.
        near = np.abs(plot.down(scale(found[:, 1])) - top) < 2 * TEXT
        far = not (near & (plot.across(found[:, 0]) > plot.right - TEXT * width(said) - 15)).any()
        place = (plot.right, "end") if far else (plot.left + 3, "start")
        plot.canvas.text(place[0], top - 3, said, place[1], fill=BLUE, **_HALO)
    if loss.bound is not None:
        plot.canvas.line([right, right], [plot.top, plot.bottom], **_BOUND)
        said = f"at most {loss.said(loss.bound)}"
        beside = right - plot.left > TEXT * width(said) + 6
        place = (right - 3, "end") if beside else (right + 3, "start")
        plot.canvas.text(place[0], plot.bottom - 4, said, place[1], fill=BLUE, **_HALO)


def _draw_tried(plot: Plot, tried: np.ndarray, scale: _Scale) -> None:
    """Draw what was tried, one dot where many would lie on each other."""
    places = np.column_stack([plot.across(tried[:, 0]), plot.down(scale(tried[:, 1]))])
    places = np.unique(np.round(places), axis=0)
    plot.canvas.strokes(places[:, 0], places[:, 1], places[:, 1], **_TRIED)


def _draw_points(
    plot: Plot, points: Sequence[Mapping[str, Any]], found: np.ndarray, scale: _Scale
) -> None:
    canvas = plot.canvas
    places = np.column_stack([plot.across(found[:, 0]), plot.down(scale(found[:, 1]))])
    line = places[np.lexsort(found.T[::-1])]
    if len(line) > 1:
        canvas.line(*line.T, **_LINE)
    looks = [_BEST if p["best"] else _ADVISED if p["advised"] else _POINT for p in points]
    _label(plot, points, places, [look["r"] for look in looks], line)
    # The largest last, so that none hides it.
    for i in sorted(range(len(points)), key=lambda i: looks[i]["r"]):
        canvas.dots(*places[[i]].T, **looks[i])


def _label(
    plot: Plot,
    points: Sequence[Mapping[str, Any]],
    places: np.ndarray,
    radii: Sequence[float],
    line: np.ndarray,
) -> None:
    """Write the labels where there is room: the one to take first; others close by or not."""
    taken: list[Box] = [
        (x - r, x + r, y - r, y + r) for (x, y), r in zip(places, radii, strict=True)
    ]
    for i in sorted(range(len(points)), key=lambda i: -radii[i]):
        advised, (x, y), away = points[i]["advised"], places[i], radii[i] + 3
        wide = TEXT * width(points[i]["label"]) * (1.08 if advised else 1.0)
        free = _free(plot, (x, y), away, wide, taken)
        if not advised:
            free = [place for place in free if place[1] == _BESIDE]
        parts = list(itertools.pairwise(line))
        off = (place for place in free if not any(crossed(place[2], *part) for part in parts))
        # Where every place that is free lies on the line, the nearest of them.
        found = next(off, free[0] if free else None)
        if found is None:
            continue
        right, up, box = found
        taken.append(box)
        beside = x + away if right else x - away
        if up != _BESIDE:
            ends = [x, beside], [y, y + 6 - up - TEXT / 2]
            plot.canvas.line(*ends, stroke=DARK, stroke_width=0.5)
        look: Look = {"font_weight": "bold"} if advised else {}
        anchor = "start" if right else "end"
        plot.canvas.text(beside, y + 6 - up, points[i]["label"], anchor, **_HALO | look)


def _free(
    plot: Plot, point: tuple[float, float], away: float, wide: float, taken: Sequence[Box]
) -> list[tuple[bool, int, Box]]:
    """Return the free places beside a point, nearest first: on its right, how high, and the box."""
    x, y = point
    free = []
    for right, up in _PLACES:
        left = x + away if right else x - away - wide
        box = (left, left + wide, y + 4 - up - TEXT, y + 6 - up)
        inside = plot.left < left and box[1] <= plot.right + 6
        inside = inside and plot.top - 4 < box[2] and box[3] < plot.bottom
        if inside and not any(overlap(box, other) for other in taken):
            free.append((right, up, box))
    return free


def _told(points: Sequence[Mapping[str, Any]], tried: np.ndarray, risk: Axis, loss: Axis) -> str:
    said = [
        f"{p['label']}: {risk.said(p['risk'])} and {loss.said(p['loss'])}"
        + ", the best" * p["best"]
        for p in points
    ]
    # Those of the front are among what was tried, with figures of other draws.
    n = max(len(tried), len(points))
    are = "is" if len(points) == 1 else "are"
    return f"Of {n:,} tried, {len(points)} {are} beaten by no other: {'; '.join(said)}."
