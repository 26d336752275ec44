"""Rounding and top-bottom plans, applied again."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.draws import Draws

_MANY = 1 << 15


def clip(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Bring what lies beyond a bound to the bound."""
    new = x.copy()
    if plan["lower"] is not None:
        new[new < plan["lower"]] = plan["lower"]
    if plan["upper"] is not None:
        new[new > plan["upper"]] = plan["upper"]
    return new


def cuts(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Return each value a rounding point: its group's, the nearest, or one of two by chance."""
    points = np.asarray(plan["points"], dtype=np.float64)
    if plan["encoding"] == "group":
        group = _groups(x, plan["cuts"])
        if "splits" in plan:
            _split(plan["splits"], x, group)
        if "spikes" in plan:
            _keep(plan["spikes"], x, group, len(plan["cuts"]) + 1)
        return points[group]
    points = np.unique(points)
    above = np.minimum(np.searchsorted(points, x), len(points) - 1)
    below = np.maximum(above - 1, 0)
    x = np.minimum(np.maximum(x, points[0]), points[-1])
    if plan["encoding"] == "nearest":
        return np.where(points[above] - x < x - points[below], points[above], points[below])
    width = points[above] - points[below]
    share = np.divide(x - points[below], width, out=np.zeros_like(x), where=width > 0)
    return np.where(draws.uniform(rows) < share, points[above], points[below])


def _groups(x: np.ndarray, cuts: Any) -> np.ndarray:
    """Return the group of each value: the number of cuts that are not above it."""
    if len(cuts) < _MANY:
        return np.digitize(x, cuts)
    # Many cuts are found faster in order, one close to the other.
    order = np.argsort(x)
    group = np.empty(len(x), np.int64)
    group[order] = np.digitize(x[order], cuts)
    return group


def _split(splits: dict[str, Any], x: np.ndarray, group: np.ndarray) -> None:
    """Share out equal values at a border among their groups, in row order."""
    (where,) = np.nonzero(np.isin(x, splits["value"]))
    in_order = where[np.argsort(x[where], kind="stable")]
    # Shares are listed by value, then by group. An edited plan may list too many or too few.
    shares = np.repeat(splits["group"], splits["count"])
    group[in_order] = np.resize(shares, len(in_order))


def _keep(spikes: Any, x: np.ndarray, group: np.ndarray, first: int) -> None:
    """Send the values that are to stay to points of their own, which come after the groups'."""
    for number, value in enumerate(spikes, start=first):
        group[x == value] = number


def multiples(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Return each value a multiple of the base."""
    quotient = x / plan["base"]
    below = np.floor(quotient)
    share = quotient - below
    if plan.get("rounding") == "floor":
        up = np.zeros(len(x), dtype=bool)
    elif plan["encoding"] == "group":
        up = share >= 0.5
    else:
        up = share > (0.5 if plan["encoding"] == "nearest" else draws.uniform(rows))
    number = below + up
    if plan.get("ends") == "open":
        number = np.minimum(np.maximum(number, plan["multiples"][0]), plan["multiples"][-1])
    at = np.searchsorted(plan["multiples"], number)
    # An edited plan may lack a multiple.
    return np.asarray(plan["points"])[np.minimum(at, len(plan["points"]) - 1)]
