"""K-means in several dimensions, with clusters that have enough records or units."""

from __future__ import annotations

import numpy as np

from discreet.kernels.nearest import nearest_centre
from discreet.threads import over_ranges

# A search ends when a round lowers the sum of squares by less than this share of it.
_STILL = 1e-4
_MOST_ROUNDS = 300
_ALIKE = 1e-9
# Rows that a thread takes at a time.
_ROWS = 1 << 14


def equal_parts(points: np.ndarray, count: int) -> list[np.ndarray]:
    """Cut points into parts of equal size, always across the coordinate that spreads most.

    Equal values at a cut go by their rows, so that there are as many parts as asked for, or as
    there are points.
    """

    def cut(rows: np.ndarray, count: int) -> list[np.ndarray]:
        if count < 2:
            return [rows]
        spread = points[rows].var(axis=0)
        # The first of those that spread alike but for rounding errors, as z-scores do at first.
        widest = int(np.argmax(spread >= spread.max() * (1 - _ALIKE)))
        order = np.argsort(points[rows, widest], kind="stable")
        left = len(rows) * (count // 2) // count
        return [
            *cut(rows[order[:left]], count // 2),
            *cut(rows[order[left:]], count - count // 2),
        ]

    return cut(np.arange(len(points)), min(count, len(points)))


def assign(points: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest centre of each point, and its squared distance."""
    labels, squares = np.empty(len(points), np.int64), np.empty(len(points))
    columns = np.ascontiguousarray(centres.T)

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        nearest_centre(points[some], columns, labels[some], squares[some])

    over_ranges(work, len(points), _ROWS)
    return labels, squares


def means(points: np.ndarray, labels: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean of each group; one without points is left out."""
    size = np.bincount(labels, minlength=groups)
    sums = np.column_stack([np.bincount(labels, x, minlength=groups) for x in points.T])
    return sums[size > 0] / size[size > 0, None]


def lloyd(points: np.ndarray, c: int) -> np.ndarray:
    """Return c centres by Lloyd's iteration, from the means of equal parts.

    A centre that nothing is nearest to goes to a point that is far from its own. There are fewer
    centres in the end where fewer points differ.
    """
    centres = np.array([points[rows].mean(axis=0) for rows in equal_parts(points, c)])
    last = np.inf
    for _ in range(_MOST_ROUNDS):
        labels, squares = assign(points, centres)
        total = float(squares.sum())
        if total >= last * (1 - _STILL):
            break
        empty = np.flatnonzero(np.bincount(labels, minlength=len(centres)) == 0)
        if len(empty):
            far = np.argsort(-squares, kind="stable")[: len(empty)]
            far = far[squares[far] > 0]
            labels[far] = empty[: len(far)]
        centres, last = means(points, labels, len(centres)), total
    return centres


def kmeans(points: np.ndarray, c: int, least: int, units: np.ndarray | None) -> np.ndarray:
    """Return the group of each point, of c or fewer that hold at least `least` each.

    Lloyd's iteration, and then more rounds of it in which each cluster that is too small takes
    points from others. Each such round may also raise the sum of squares; the best one counts.
    """
    centres = lloyd(points, c)
    best, lowest = np.zeros(len(points), np.int64), np.inf
    for _ in range(_MOST_ROUNDS):
        labels = large_enough(points, centres, least, units)[0]
        centres = means(points, labels, int(labels.max()) + 1)
        total = float(((points - centres[labels]) ** 2).sum())
        if total >= lowest * (1 - _STILL):
            break
        best, lowest = labels, total
    return best


def large_enough(
    points: np.ndarray, centres: np.ndarray, least: int, units: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return groups around the nearest centres, filled up to `least`, and the centres in use.

    A centre that nothing is nearest to is left out, and so is one that cannot be filled up.
    """
    while True:
        labels, squares = assign(points, centres)
        found, labels = np.unique(labels, return_inverse=True)
        centres = centres[found]
        failed = _fill(points, labels, squares, centres, least, units)
        if failed is None:
            return labels, centres
        centres = np.delete(centres, failed, axis=0)


def held_by(labels: np.ndarray, units: np.ndarray | None, groups: int) -> np.ndarray:
    """Count the records of each group, or its distinct units where these are given."""
    if units is not None:
        size = int(units.max()) + 1
        labels = np.unique(labels * size + units) // size
    return np.bincount(labels, minlength=groups)


def _fill(
    points: np.ndarray,
    labels: np.ndarray,
    squares: np.ndarray,
    centres: np.ndarray,
    least: int,
    units: np.ndarray | None,
) -> int | None:
    """Move points to the groups that are too small, in place; or name one that gets too few.

    A group takes those that this costs least in squared distance, from groups that remain large
    enough. The largest goes first: it needs fewest.
    """
    held = held_by(labels, units, len(centres))
    small = np.flatnonzero(held < least)
    if not len(small):
        return None
    unit = np.arange(len(points)) if units is None else units
    by_unit = np.argsort(unit, kind="stable")
    starts = np.searchsorted(unit[by_unit], np.arange(int(unit.max()) + 2))
    for group in small[np.argsort(-held[small], kind="stable")]:
        new = ((points - centres[group]) ** 2).sum(axis=1)
        for i in np.argsort(new - squares, kind="stable"):
            if held[group] >= least:
                break
            own, mates = labels[i], labels[by_unit[starts[unit[i]] : starts[unit[i] + 1]]]
            # Of a unit that is in the group already, another record adds nothing.
            if (mates == group).any():
                continue
            left = held[own] - ((mates == own).sum() == 1)
            if left >= least:
                held[own], labels[i], squares[i] = left, group, new[i]
                held[group] += 1
        if held[group] < least:
            return int(group)
    return None
