"""The most likely original of each released record, by sums of what every column tells.

A column tells a released record something about each value of the original: its scores, whole
numbers, so that sums are exact and ties are ties. The scores of one record are laid out by the
codes of the original's values, in one of two ways:

- pieces: neighbouring codes have the same score. Piece k has the codes from ends[k-1] to
  ends[k] - 1 and the score scores[k].
- a row of a table, with a score for each code.

The originals are gone through from the record's own one on, columns in the order given. One that
cannot reach the sum of the own one even with the highest scores of the remaining columns is left at
once, and the record is given up as soon as another original has a higher sum. That is fast where
the originals are in the order of the first column, and that one tells most: neighbours are likely,
and scores are read one after the other.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def own_is_best(codes, own, sizes, ends, scores, starts, table, first, last, hits):
    """Fill in the hits of queries: 1/t if the own original is among the t with the highest sum.

    Parameters
    ----------
    codes : (columns, originals) int32
    own : (queries,) int64
        The place of each query's own original.
    sizes : (columns,) int64
        How many codes each column has.
    ends : (columns, queries, pieces) int32, scores : (columns, pieces) int32
    starts : (columns, queries) int64
        Where the query's row begins in `table`, or -1 where the column has pieces.
    table : int32
        The rows of all tables, one after the other.
    first, last : int
        Which queries.
    hits : (queries,) float64
    """
    p, n = codes.shape
    rows = np.empty((p, sizes.max()), np.int32)
    rest = np.zeros(p + 1, np.int64)
    for q in range(first, last):
        for c in range(p - 1, -1, -1):
            rest[c] = rest[c + 1] + _fill(
                rows[c], sizes[c], ends[c, q], scores[c], starts[c, q], table
            )
        target = np.int64(0)
        for c in range(p):
            target += rows[c, codes[c, own[q]]]
        ties = _ties(codes, rows, rest, target, own[q], n, p)
        hits[q] = 1.0 / ties if ties else 0.0


@njit(cache=True, nogil=True)
def _fill(row, size, ends, scores, start, table):
    """Lay out the scores of one query and column; return the highest."""
    best = np.int32(-(2**31))
    if start >= 0:
        for code in range(size):
            row[code] = table[start + code]
            best = max(best, row[code])
        return np.int64(best)
    first = 0
    for k in range(len(ends)):
        if first < ends[k]:
            best = max(best, scores[k])
            row[first : ends[k]] = scores[k]
            first = ends[k]
    return np.int64(best)


@njit(cache=True, nogil=True)
def _ties(codes, rows, rest, target, start, n, p):
    """Count the originals whose sum is the target; 0 where one has more."""
    ties = 0
    for step in range(n):
        i = start + step
        if i >= n:
            i -= n
        total = np.int64(0)
        c = 0
        while c < p and total + rest[c] >= target:
            total += rows[c, codes[c, i]]
            c += 1
        if c == p and total > target:
            return 0
        if c == p and total == target:
            ties += 1
    return ties
