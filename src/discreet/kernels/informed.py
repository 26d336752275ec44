"""The most likely original of each released record, by sums of what every column tells.

A column tells a released record something about each value of the original: its scores, whole
numbers, so that sums are exact and ties are ties. The scores of one record are laid out by the
codes of the original's values, in one of two ways:

- pieces: neighbouring codes have the same score. Piece k has the codes from ends[k-1] to
  ends[k] - 1 and the score scores[k].
- a row of a table, with a score for each code.

The own original has some sum, the target. In each column, an original counts only if its score is
so high that it could reach the target with the highest scores of all other columns. The originals
that remain in the column where they are fewest are gone through, the likeliest first, column by
column, until they cannot reach the target any more. The record is given up as soon as another
original has a higher sum.

All arrays are parts of two long ones, so that columns can be put together without copying:
`places` and `scores`. A row of `layout` says where those of a column begin:

SIZE, PIECES: how many codes there are, and pieces; no pieces where it is a table.
CODES: of every original. ORDER: the originals in order of their codes. BELOW: of code 0, 1, ... how
many originals have a lower one. LIKELY: the pieces from the highest score on. PLACES: of every
query the ends of its pieces, or the number of its row. SCORES: of the pieces, or the table. OWN:
of every query the score of its own original. BEST: the highest that any code has.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

SIZE, PIECES, CODES, ORDER, BELOW, LIKELY, PLACES, SCORES, OWN, BEST = range(10)
# Columns with larger tables are not looked through for what remains.
_LARGE = 256


@njit(cache=True, nogil=True)
def own_is_best(places, scores, layout, first, last, hits):
    """Fill in the hits of queries: 1/t if the own original is among the t with the highest sum.

    Parameters
    ----------
    places : int16 or int32, scores : int32
    layout : (columns, 10) int64
        Columns that tell much come first.
    first, last : int
        Which queries.
    hits : (queries,) float64
    """
    p = len(layout)
    order, rest = np.empty(p, np.int64), np.empty(p + 1, np.int64)
    for q in range(first, last):
        target, most = np.int64(0), np.int64(0)
        for c in range(p):
            target += scores[layout[c, OWN] + q]
            most += scores[layout[c, BEST] + q]
        order[0], _ = fewest_in(places, scores, layout, q, target - most)
        j = 1
        for c in range(p):
            if c != order[0]:
                order[j] = c
                j += 1
        rest[p] = 0
        for j in range(p - 1, -1, -1):
            rest[j] = rest[j + 1] + scores[layout[order[j], BEST] + q]
        ties = _ties(places, scores, layout, order, rest, q, target)
        hits[q] = 1.0 / ties if ties else 0.0


@inner
def fewest_in(places, scores, layout, q, above):
    """Return the column in which fewest originals have its best score and `above`; and how many."""
    chosen, fewest = 0, np.int64(2**62)
    for c in range(len(layout)):
        least = scores[layout[c, BEST] + q] + above
        below = layout[c, BELOW]
        count = np.int64(0)
        if layout[c, PIECES]:
            ends = layout[c, PLACES] + q * layout[c, PIECES]
            start = np.int64(0)
            for k in range(layout[c, PIECES]):
                end = np.int64(places[ends + k])
                if scores[layout[c, SCORES] + k] >= least:
                    count += places[below + end] - places[below + start]
                start = end
        elif layout[c, SIZE] <= _LARGE:
            row = layout[c, SCORES] + places[layout[c, PLACES] + q] * layout[c, SIZE]
            for code in range(layout[c, SIZE]):
                if scores[row + code] >= least:
                    count += places[below + code + 1] - places[below + code]
        else:
            count = np.int64(2**61)
        if count < fewest:
            chosen, fewest = c, count
    return chosen, fewest


@inner
def _ties(places, scores, layout, order, rest, q, target):
    """Count the originals whose sum is the target; 0 where one has more."""
    c = order[0]
    size, pieces, begin = layout[c, SIZE], layout[c, PIECES], layout[c, PLACES]
    ties = 0
    for k in range(pieces if pieces else size):
        if pieces:
            k = places[layout[c, LIKELY] + k]
            score = np.int64(scores[layout[c, SCORES] + k])
            if score + rest[1] < target:
                break
            ends = begin + q * pieces
            first, last = places[ends + k - 1] if k else 0, places[ends + k]
        else:
            score = np.int64(scores[layout[c, SCORES] + places[begin + q] * size + k])
            if score + rest[1] < target:
                continue
            first, last = k, k + 1
        if first < last:
            more = _among(places, scores, layout, order, rest, q, target, score, first, last)
            if more < 0:
                return 0
            ties += more
    return ties


@inner
def _among(places, scores, layout, order, rest, q, target, score, first, last):
    """Count the ties among originals of some codes of the first column; -1 where one has more."""
    p, ties = len(order), 0
    below, ordered = layout[order[0], BELOW], layout[order[0], ORDER]
    for place in range(places[below + first], places[below + last]):
        i = places[ordered + place]
        total = score
        j = 1
        while j < p and total + rest[j] >= target:
            total += score_of(places, scores, layout[order[j]], q, i)
            j += 1
        if j == p and total > target:
            return -1
        if j == p and total == target:
            ties += 1
    return ties


@inner
def score_of(places, scores, column, q, i):
    """Return the score of one original in one column."""
    code = places[column[CODES] + i]
    pieces = column[PIECES]
    if pieces == 0:
        row = column[SCORES] + places[column[PLACES] + q] * column[SIZE]
        return np.int64(scores[row + code])
    begin = column[PLACES] + q * pieces
    low, high = np.int64(0), pieces - 1
    while low < high:
        middle = (low + high) // 2
        if places[begin + middle] > code:
            high = middle
        else:
            low = middle + 1
    return np.int64(scores[column[SCORES] + low])
