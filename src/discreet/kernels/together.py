"""The most likely original of each released record, where some columns are taken together.

What a released record has in these columns is normal around what is expected of an original, with
some covariance. Its Cholesky root turns the differences, one column after the other, into
independent ones: each column is judged by what those before it do not explain. A null explains
nothing. Other columns add their scores as in `kernels.informed`.

Originals are gone through from the nearest in the first column on. One is left as soon as it cannot
reach the own original's sum, and the record is given up as soon as another has a higher one.
"""

import numpy as np
from numba import njit

from discreet.kernels.informed import BEST, OWN, score_of

# No single column takes more off, so that sums stay exact.
_LEAST = -(2.0**40)


@njit(cache=True, nogil=True)
def own_is_likeliest(
    places, scores, layout, order, own, x, y, root, peaks, nulls, unit, first, last, hits
):
    """Fill in the hits of queries: 1/t if the own original is among the t with the highest sum.

    Parameters
    ----------
    places, scores, layout
        Of the other columns, of which there may be none.
    order : (n,) int64
        The originals in the order of `x`.
    own : (queries,) int64
        Of each query the place of its own original in `x`.
    x : (n, columns) float64
        What is expected of each original, in the order of the first column, nulls last.
    y : (queries, columns) float64
        What was released; NaN for a null.
    root : (columns, columns) float64
        Lower triangular.
    peaks : (columns,) float64
        The score of no difference.
    nulls : (columns, 3) float64
        Scores of a null in the release, in the original, in both.
    unit : float
        Of the scores.
    first, last : int
        Which queries.
    hits : (queries,) float64
    """
    n, p = x.shape
    there = n
    while there and np.isnan(x[there - 1, 0]):
        there -= 1
    rest, z = np.empty(p + 1), np.empty(p)
    for q in range(first, last):
        most, target = np.int64(0), np.int64(0)
        for c in range(len(layout)):
            most += scores[layout[c, BEST] + q]
            target += scores[layout[c, OWN] + q]
        rest[p] = most
        for k in range(p - 1, -1, -1):
            if np.isnan(y[q, k]):
                rest[k] = rest[k + 1] + max(nulls[k, 0], nulls[k, 2])
            else:
                rest[k] = rest[k + 1] + max(peaks[k], nulls[k, 1])
        sums = _sum(x[own[q]], y[q], root, peaks, nulls, unit, rest, -np.inf, z)
        target += np.int64(np.rint(sums))
        ties, more = 0, False
        low, high = 0, 0
        if not np.isnan(y[q, 0]):
            low = high = np.searchsorted(x[:there, 0], y[q, 0])
            left = low - 1
            while not more and (left >= 0 or high < there):
                if left < 0 or (high < there and x[high, 0] - y[q, 0] < y[q, 0] - x[left, 0]):
                    i = high
                    high += 1
                else:
                    i = left
                    left -= 1
                sums = _sum(x[i], y[q], root, peaks, nulls, unit, rest, target, z)
                if sums == -np.inf:
                    if z[0] * z[0] > 2 * (peaks[0] + rest[1] - target + 1) / unit:
                        break  # All others are farther away.
                    continue
                found = _compared(places, scores, layout, q, order[i], sums, most, target)
                ties += found == 0
                more = found > 0
            low = there
        for i in range(low, n):
            if more:
                break
            sums = _sum(x[i], y[q], root, peaks, nulls, unit, rest, target, z)
            if sums > -np.inf:
                found = _compared(places, scores, layout, q, order[i], sums, most, target)
                ties += found == 0
                more = found > 0
        hits[q] = 0.0 if more or not ties else 1.0 / ties


@njit(cache=True, nogil=True)
def _sum(x, y, root, peaks, nulls, unit, rest, target, z):
    """Return the sum over columns that are taken together, -inf where the target is out of reach.

    Fills in the independent differences as far as they are needed.
    """
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


@njit(cache=True, nogil=True)
def _compared(places, scores, layout, q, i, sums, most, target):
    """Add the other columns; return -1, 0 or 1 where the sum is below, at or above the target."""
    total = np.int64(np.rint(sums))
    for c in range(len(layout)):
        if total + most < target:
            return -1
        most -= scores[layout[c, BEST] + q]
        total += score_of(places, scores, layout[c], q, i)
    return 1 if total > target else 0 if total == target else -1
