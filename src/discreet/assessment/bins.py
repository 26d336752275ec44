"""Bins and labels for pictures: none stands for fewer than ten records.

Ends are open. Edges are the calendar's, or lie half-way between round numbers, where values heap;
no edge comes from a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.clock import clock_unit, written

FEWEST = 10  # records behind each bin and each label
MOST_BINS = 30
MOST_LABELS = 20
_FEWEST_UNITS = 8  # of the calendar, for it to give the edges


def histogram(*sides: np.ndarray, dates: bool = False) -> tuple[np.ndarray, ...] | None:
    """Count one or two sides' values, without nulls, in the same bins; dates in seconds since 1970.

    Returns the edges between the bins, of which the first and the last are open, as the first side
    that has values lays them; and the counts, one array a side, in each bin at least ten records of
    every side that has any. None where a side has fewer than ten, or there would be one bin only.

    Examples
    --------
    >>> edges, counts = histogram(np.arange(100.0))
    >>> edges[:3].tolist(), counts[:3].tolist()
    ([9.5, 19.5, 29.5], [10, 10, 10])
    """
    filled = [side for side in sides if len(side)]
    if not filled or min(len(side) for side in filled) < FEWEST:
        return None
    edges = _edges(filled[0], dates)
    if not len(edges):
        return None
    counts = np.array([_counted(side, edges) for side in sides])
    edges, counts = _merged(edges, counts)
    return (edges, *counts) if len(edges) else None


def _edges(values: np.ndarray, dates: bool) -> np.ndarray:
    """Lay edges over the bulk of some values: far ones fall into the open bins."""
    for tail in (1.0, 0.1, 0.0):
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = np.percentile(values, [tail, 100.0 - tail]).tolist()
        if high > low:
            break
    # Nothing to see in a constant, nor in what is past the range of numbers.
    if not 0 < high - low < math.inf:
        return np.empty(0)
    if dates:
        return _calendar(low, high)
    whole = bool((values == np.rint(values)).all())
    # Large numbers lie so far apart that edges would fall together between them.
    spacing = 4 * float(np.spacing(max(abs(low), abs(high))))
    step = _step(low, high, least=max(spacing, 1.0 if whole else 0.0))
    scale = _scale(step * (1 + 1e-9))
    edges = _multiples(low, high, step) + (scale // 2 - 0.5 if whole else scale / 2)
    return np.unique(edges)


def _step(low: float, high: float, least: float) -> float:
    """Return a round number of which some thirty multiples lie between two ends."""
    wanted = max((high - low) / MOST_BINS, least)
    scale = _scale(wanted * (1 + 1e-9))
    return next(s * scale for s in (1.0, 2.0, 5.0, 10.0) if s * scale >= wanted * (1 - 1e-9))


def _multiples(low: float, high: float, step: float) -> np.ndarray:
    """Return the multiples of a number between two ends, and one on either side."""
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step


def _scale(number: float) -> float:
    """Return the power of ten at or below a number."""
    return float(10.0 ** math.floor(math.log10(number)))


def _calendar(low: float, high: float) -> np.ndarray:
    """Return the beginnings of years, months, days, ..., whichever are enough to see a shape."""
    ends = np.array([low, high]).astype("int64").astype("datetime64[s]")
    for unit in ("Y", "M", "D", "h", "m", "s"):
        first, last = (int(end.astype(f"datetime64[{unit}]").astype(int)) for end in ends)
        if last - first >= _FEWEST_UNITS or unit == "s":
            break
    edges = _multiples(first, last + 1, _step(first, last + 1, least=1.0)).astype("int64")
    return edges.astype(f"datetime64[{unit}]").astype("datetime64[s]").astype(np.float64)


def _counted(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


def _merged(edges: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge neighbouring bins until each has enough records of every side that has any."""
    sides = counts.sum(axis=1) > 0
    ends: list[int] = []
    bins: list[np.ndarray] = []
    growing = np.zeros(len(counts), dtype=np.int64)
    for end, count in enumerate(counts.T):
        growing = growing + count
        if (growing[sides] >= FEWEST).all():
            bins.append(growing)
            ends.append(end)
            growing = np.zeros_like(growing)
    # What is left over at the top joins the last bin, which has no upper edge.
    bins[-1] = bins[-1] + growing
    return edges[ends[:-1]], np.array(bins).T


def quantiles(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a hundred quantiles of both sides, fewer where ten records would not lie between two.

    Examples
    --------
    >>> quantiles(np.arange(20.0), np.zeros(20))[0].tolist()
    [4.75, 14.25]
    """
    m = min(100, len(before) // FEWEST, len(after) // FEWEST)
    if m < 2:
        return None
    at = (np.arange(m) + 0.5) / m
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.quantile(before, at), np.quantile(after, at)
    return found if np.isfinite(found).all() else None


def categories(*sides: Mapping[str, int]) -> dict[str, Any] | None:
    """Count the labels of one or two sides; rare ones are pooled as `other`.

    Those that begin with a number, as intervals do, come first and in their order; the others the
    commonest first.

    Examples
    --------
    >>> categories({"north": 40, "south": 12, "Thule": 1}, {"north": 41, "south": 12})
    {'labels': ['north', 'other'], 'before': [40, 13], 'after': [41, 12]}
    """
    totals = {label: sum(s.get(label, 0) for s in sides) for side in sides for label in side}
    labels = sorted(totals, key=lambda label: (-totals[label], label))
    counts = {label: np.array([side.get(label, 0) for side in sides]) for label in labels}
    kept = [label for label in labels if _enough(counts[label])][:MOST_LABELS]
    pooled = set(labels) - set(kept)
    other = sum((counts[label] for label in pooled), np.zeros(len(sides), dtype=np.int64))
    while kept and not _enough(other):
        other = other + counts[kept.pop()]
    kept.sort(key=_place)
    rows = [counts[label] for label in kept]
    if other.any() and _enough(other):
        # Labels of such a name stay as they are.
        names = ("other", "all other", *(f"all other ({i})" for i in range(2, len(kept) + 2)))
        kept.append(next(name for name in names if name not in kept))
        rows.append(other)
    if not kept:
        return None
    parts = ("counts",) if len(sides) == 1 else ("before", "after")
    return {"labels": kept} | dict(zip(parts, np.array(rows).T.tolist(), strict=True))


_FIRST_NUMBER = re.compile(r"[\s\[(]*([<≤]?)[=\s]*(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")


def _place(label: str) -> tuple[float, bool]:
    """Return what labels are sorted by: the number that they begin with; others stay in order."""
    found = _FIRST_NUMBER.match(label)
    if found is None:
        return math.inf, False
    return float(found[2].replace(",", "")), not found[1]


def _enough(count: np.ndarray) -> bool:
    return bool(((count == 0) | (count >= FEWEST)).all())


def told(values: np.ndarray, dates: bool, digits: int = 12) -> list[Any]:
    """Return numbers with so many digits, and seconds since 1970 as dates.

    Examples
    --------
    >>> told(np.array([0.0, 1e8]), dates=True), told(np.array([1 / 3]), dates=False, digits=6)
    (['1970-01-01', '1973-03-03'], [0.333333])
    """
    if dates:
        return written(values, clock_unit(values))
    # No number holds more than seventeen.
    return [float(f"{value:.{min(17, digits)}g}") + 0.0 for value in values]
