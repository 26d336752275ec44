"""The most likely original of each released record, where some columns are taken together.

What a released record has in these columns is normal around what is expected of an original, with
some covariance. Its Cholesky root turns the differences, one column after the other, into
independent ones: each column is judged by what those before it do not explain. A null explains
nothing. Other columns add their scores as in `kernels.informed`.

Originals are gone through from the nearest in the first column on, or as they come in another
column where that leaves fewer. One is left as soon as it cannot reach the own original's sum, and
the record is given up as soon as another has a higher one.
"""

import numpy as np
from numba import njit

from discreet.kernels.informed import (
    BELOW,
    BEST,
    ORDER,
    OWN,
    PIECES,
    PLACES,
    SCORES,
    SIZE,
    fewest_in,
    score_of,
)
from discreet.kernels.inner import inner

# No single column takes more off, so that sums stay exact.
_LEAST = -(2.0**40)


@njit(cache=True, nogil=True)
def own_is_likeliest(sheet, layout, order, rows, x, y, normal, unit, first, last, hits):
    """Fill in the hits of queries: 1/t if the own original is among the t with the highest sum.

    Parameters
    ----------
    sheet : tuple of arrays
        `places` and `scores` of the other columns, of which there may be none.
    layout : (others, 10) int64
    order : tuple of two (n,) int64
        The originals in the order of `x`, and the place of each original in it.
    rows : (queries,) int64
        The own original of each query.
    x : (n, columns) float64
        What is expected of each original, in the order of the first column, nulls last.
    y : (queries, columns) float64
        What was released; NaN for a null.
    normal : tuple of three arrays
        The root of the covariance, lower triangular; of each column the score of no difference; and
        scores of a null in the release, in the original, in both.
    unit : float
        Of the scores.
    first, last : int
        Which queries.
    hits : (queries,) float64
    """
    places, scores = sheet
    p = x.shape[1]
    there = len(x)
    while there and np.isnan(x[there - 1, 0]):
        there -= 1
    rest, z = np.empty(p + 1), np.empty(p)
    for q in range(first, last):
        target = np.int64(0)
        for c in range(len(layout)):
            target += scores[layout[c, OWN] + q]
        _highest(scores, layout, q, y[q], normal, rest)
        target += np.int64(
            np.rint(_sum(x[order[1][rows[q]]], y[q], normal, unit, rest, -np.inf, z))
        )
        low, high = _near(x[:there, 0], y[q, 0], len(x), normal, unit, rest, target)
        column, fewest = fewest_in(places, scores, layout, q, np.int64(target - rest[0]) - 2)
        if len(layout) and fewest < high - low + len(x) - there:
            ties = _through(sheet, layout, column, order, q, x, y[q], normal, unit, rest, target, z)
        else:
            ties = _outwards(
                sheet, layout, order, q, x, y[q], normal, unit, rest, target, z, low, high, there
            )
        hits[q] = 1.0 / ties if ties > 0 else 0.0


@inner
def _highest(scores, layout, q, y, normal, rest):
    """Fill in the highest sums that columns from each on can have, all others included."""
    _, peaks, nulls = normal
    p = len(y)
    rest[p] = 0.0
    for c in range(len(layout)):
        rest[p] += scores[layout[c, BEST] + q]
    for k in range(p - 1, -1, -1):
        if np.isnan(y[k]):
            rest[k] = rest[k + 1] + max(nulls[k, 0], nulls[k, 2])
        else:
            rest[k] = rest[k + 1] + max(peaks[k], nulls[k, 1])


@inner
def _near(values, y, n, normal, unit, rest, target):
    """Return the originals that are near enough in the first column, as a range."""
    if np.isnan(y):
        return 0, n
    root, peaks, _ = normal
    # A little more, as sums are rounded.
    far = root[0, 0] * np.sqrt(max(0.0, 2 * (peaks[0] + rest[1] - target + 2) / unit)) * (1 + 1e-9)
    if 0.5 * (far / root[0, 0]) ** 2 * unit >= -_LEAST:
        return 0, len(values)
    return np.searchsorted(values, y - far), np.searchsorted(values, y + far, side="right")


@inner
def _outwards(sheet, layout, order, q, x, y, normal, unit, rest, target, z, low, high, there):
    """Count the originals that tie, from the nearest in the first column on; -1 if one has more."""
    ties = 0
    right = low + np.searchsorted(x[low : min(high, there), 0], y[0])
    left = right - 1
    if np.isnan(y[0]):
        left, right = low - 1, low
    step, steps = 0, high - low
    # Then those that are null there.
    nulls = 0 if np.isnan(y[0]) else len(x) - there
    while step < steps + nulls:
        if step >= steps:
            i = there + step - steps
        elif left < low or (right < high and x[right, 0] - y[0] < y[0] - x[left, 0]):
            i = right
            right += 1
        else:
            i = left
            left -= 1
        step += 1
        sums = _sum(x[i], y, normal, unit, rest, target, z)
        if sums > -np.inf:
            found = _compared(sheet, layout, q, order[0][i], np.int64(np.rint(sums)), rest, target)
            if found > 0:
                return -1
            ties += found == 0
    return ties


@inner
def _through(sheet, layout, column, order, q, x, y, normal, unit, rest, target, z):
    """Count the originals that tie, as they come in another column; -1 if one has more."""
    places, scores = sheet
    one = layout[column]
    pieces, size = one[PIECES], one[SIZE]
    others = np.int64(rest[-1])
    ties, start = 0, 0
    for k in range(pieces if pieces else size):
        if pieces:
            end = np.int64(places[one[PLACES] + q * pieces + k])
            score = np.int64(scores[one[SCORES] + k])
        else:
            end = k + 1
            score = np.int64(scores[one[SCORES] + places[one[PLACES] + q] * size + k])
        if score - scores[one[BEST] + q] + rest[0] >= target - 1:
            for at in range(places[one[BELOW] + start], places[one[BELOW] + end]):
                i = places[one[ORDER] + at]
                total, most = score, others - scores[one[BEST] + q]
                c = 0
                while c < len(layout) and total + most + rest[0] - others >= target - 1:
                    if c != column:
                        most -= scores[layout[c, BEST] + q]
                        total += score_of(places, scores, layout[c], q, i)
                    c += 1
                if total + most + rest[0] - others < target - 1:
                    continue
                needed = target - total + others
                sums = _sum(x[order[1][i]], y, normal, unit, rest, needed, z)
                if sums > -np.inf:
                    total += np.int64(np.rint(sums))
                    if total > target:
                        return -1
                    ties += total == target
        start = max(start, end)
    return ties


@inner
def _sum(x, y, normal, unit, rest, target, z):
    """Return the sum over columns that are taken together, -inf where the target is out of reach.

    Fills in the independent differences as far as they are needed.
    """
    root, peaks, nulls = normal
    total = 0.0
    for k in range(len(x)):
        if np.isnan(x[k]) or np.isnan(y[k]):
            z[k] = 0.0
            total += nulls[k, 2 * np.isnan(x[k]) + np.isnan(y[k]) - 1]
        else:
            apart = y[k] - x[k]
            for m in range(k):
                apart -= root[k, m] * z[m]
            z[k] = apart / root[k, k]
            total += peaks[k] + max(-0.5 * z[k] * z[k] * unit, _LEAST)
        # One more, as the sum is rounded in the end.
        if total + rest[k + 1] < target - 1:
            return -np.inf
    return total


@inner
def _compared(sheet, layout, q, i, total, rest, target):
    """Add the other columns; return -1, 0 or 1 where the sum is below, at or above the target."""
    places, scores = sheet
    most = np.int64(rest[-1])
    for c in range(len(layout)):
        if total + most < target:
            return -1
        most -= scores[layout[c, BEST] + q]
        total += score_of(places, scores, layout[c], q, i)
    return 1 if total > target else 0 if total == target else -1
