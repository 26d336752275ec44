"""From a partition of the sorted values to a plan: points, cuts between the parts, counts.

A value x belongs to the part `searchsorted(cuts, x, side="right")`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.parts import part_means
from discreet.plan import ColumnPlan
from discreet.rounding._resampled import RESAMPLED, resampled
from discreet.rounding._sizes import held_in_parts
from discreet.table.summary import Holders, Summary


def draw_up(
    summary: Summary,
    ends: np.ndarray,
    representative: str,
    points: np.ndarray | None = None,
    draws: Draws | None = None,
) -> ColumnPlan:
    """Draw up the plan of a partition.

    Parameters
    ----------
    summary : Summary
    ends : ndarray of int64
        End position of each part among the sorted records; an end between equal values splits
        them.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
    points : ndarray, optional
        The parts' points, where the method itself chose them.
    draws : Draws, optional
        For the re-sampled mean.

    Returns
    -------
    dict
        `kind`, `cuts`, `points`, `counts`; `units` where these are counted; and, where equal values
        are split, `splits`: value, group and count of each share, to be taken in row order.

    Examples
    --------
    >>> plan = draw_up(Summary(np.array([1.0, 2.0, 9.0]), np.array([1, 1, 2])), np.array([2, 4]),
    ...                "mean")
    >>> plan["cuts"], plan["points"], plan["counts"]
    (array([5.5]), array([1.5, 9. ]), array([2, 2]))
    """
    # Segments: the records of one value in one part. Without ties, each record is one.
    value, share, border = summary.values, summary.counts, ends
    splits = False
    if len(value) < ends[-1]:
        totals = np.cumsum(summary.counts)
        last = np.searchsorted(totals, ends)
        border = last + 1
        splits = not np.array_equal(totals[last], ends)
    if splits:
        borders = np.union1d(totals, ends)
        value = summary.values[np.searchsorted(totals, borders)]
        share = np.diff(borders, prepend=0)
        border = np.searchsorted(borders, ends) + 1
    if points is None:
        points = represent(value, share, border, representative, draws)
    starts = np.append(0, border[:-1])
    plan: ColumnPlan = {
        "kind": "cuts",
        "cuts": _cuts(value[border[:-1] - 1], value[starts[1:]]),
        "points": points,
        "counts": np.diff(ends, prepend=0),
    }
    if representative == RESAMPLED:
        plan["representative"] = representative
    if summary.holders is not None:
        held = summary.holders
        if splits:  # of each record by itself
            held = replace(held, starts=np.arange(summary.n + 1))
        plan["units"] = held.in_parts(ends if splits else border)
    if splits:
        _settle_splits(plan, value, np.repeat(np.arange(len(ends)), border - starts), share)
    return plan


def represent(
    values: np.ndarray,
    counts: np.ndarray,
    ends: np.ndarray,
    representative: str,
    draws: Draws | None = None,
) -> np.ndarray:
    """Return the point of each part of sorted values with counts; the re-sampled mean is drawn.

    Examples
    --------
    >>> represent(np.array([1.0, 2.0, 9.0]), np.array([1, 2, 2]), np.array([2, 3]), "median")
    array([2., 9.])
    """
    if representative == RESAMPLED:
        assert draws is not None
        return resampled(values, counts, ends, draws)
    starts = np.append(0, ends[:-1])
    first, last = values[starts], values[ends - 1]
    if representative == "mean":
        # Rounding errors must not put a point outside its part.
        return np.clip(part_means(values, counts, ends), first, last)
    low, high = first, last
    if representative == "median":
        totals = np.cumsum(counts)
        end, start = totals[ends - 1], totals[starts] - counts[starts]
        low = values[np.searchsorted(totals, start + (end - start - 1) // 2, side="right")]
        high = values[np.searchsorted(totals, start + (end - start) // 2, side="right")]
    return low + (high - low) / 2


def _cuts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cut between neighbouring parts with edges a < b: their middle, or b where that is a."""
    middle = a + (b - a) / 2
    return np.where(middle == a, b, middle)


def _settle_splits(
    plan: ColumnPlan, value: np.ndarray, group: np.ndarray, share: np.ndarray
) -> None:
    """List the split values, and set the cuts so that each goes to the part with most of it."""
    distinct, position = np.unique(value, return_inverse=True)
    split = np.bincount(position)[position] > 1
    plan["splits"] = {"value": value[split], "group": group[split], "count": share[split]}
    # The segment with the largest share of each value; the first on a tie.
    largest = np.lexsort((np.arange(len(value)), -share, position))
    winner = np.empty(len(distinct), dtype=np.int64)
    heads = np.flatnonzero(np.diff(position[largest], prepend=-1))
    winner[position[largest][heads]] = group[largest][heads]
    inside = np.flatnonzero(np.diff(position) == 0)
    border = group[inside]
    v = value[inside]
    plan["cuts"][border] = np.where(winner[position[inside]] > border, v, np.nextafter(v, np.inf))


def merge_small(
    summary: Summary,
    ends: np.ndarray,
    points: np.ndarray,
    min_count: int,
    representative: str | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Merge parts of fewer than `min_count` records or units, the smallest first, with a neighbour.

    Parameters
    ----------
    summary : Summary
    ends, points : ndarray
        End (exclusive, among the distinct values) and point of each part.
    min_count : int
    representative : {"mean", "median", "midpoint"} or None
        How a merged part gets its point; None: it keeps the neighbour's.

    Returns
    -------
    ends, points : ndarray
        A small part went to the neighbour whose point is nearest, the lower one on a tie.
    """
    sizes = held_in_parts(summary, ends)
    while len(ends) > 1 and sizes.min() < min_count:
        small = int(sizes.argmin())
        left, right = (
            abs(points[small] - points[i]) if 0 <= i < len(points) else np.inf
            for i in (small - 1, small + 1)
        )
        into = small - 1 if left <= right else small + 1
        a = min(small, into)
        inside = slice(ends[a - 1] if a else 0, ends[a + 1])
        if summary.holders is None:
            sizes[into] += sizes[small]
        elif sizes[into] < min_count:  # one that is large enough need not be counted again
            sizes[into] = _units_inside(summary.holders, inside)
        if representative is not None:
            values, counts = summary.values[inside], summary.counts[inside]
            points[into] = represent(values, counts, np.array([len(values)]), representative)[0]
        ends = np.delete(ends, a)
        sizes, points = np.delete(sizes, small), np.delete(points, small)
    return ends, points


def _units_inside(holders: Holders, inside: slice) -> int:
    return len(np.unique(holders.units[holders.starts[inside.start] : holders.starts[inside.stop]]))


def check_length(summary: Summary, least: int, name: str, column: str) -> None:
    """Refuse a column that has fewer values, or units with one, than one group must hold."""
    if summary.holders is not None and (units := summary.holders.count) < least:
        raise BadInput(f"column '{column}' has {units} units, fewer than {name} = {least}")
    if summary.n < least:
        raise BadInput(
            f"column '{column}' has {summary.n} values (n_samples = {summary.n}), "
            f"fewer than {name} = {least}"
        )


def check_span(summary: Summary, column: str) -> None:
    """Refuse a column in which differences of values, or a sum of them, pass the largest number."""
    with np.errstate(over="ignore"):
        if not np.isfinite((summary.values[-1] - summary.values[0]) * summary.n):
            raise BadInput(f"the values of column '{column}' are too far apart to compute with")


def nearest_point(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Closest of the sorted points to each value; the lower one on a tie."""
    upper = np.searchsorted(points, values, side="left").clip(max=len(points) - 1)
    lower = (upper - 1).clip(min=0)
    return np.where(points[upper] - values < values - points[lower], points[upper], points[lower])


def stochastic_point(points: np.ndarray, values: np.ndarray, draws: Draws) -> np.ndarray:
    """One of the two neighbouring points, at random, so that the mean stays the value."""
    if len(points) == 1:
        return np.full(len(values), points[0])
    inside = np.clip(values, points[0], points[-1])
    upper = np.searchsorted(points, inside, side="left").clip(1, len(points) - 1)
    low, high = points[upper - 1], points[upper]
    chance = (inside - low) / (high - low)
    return np.where(draws.uniform(np.arange(len(values))) < chance, high, low)
