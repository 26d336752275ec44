"""How many records, or units, match each distinct tuple, where a null matches anything.

Only tuples with a null need a search. Of a tuple's values the one with the fewest candidates is
looked up: the tuples that hold this value, and those that hold a null in its place. A match is
counted for the tuple with the null, and for the other one too where that has none and so does no
search of its own.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.privacy import holds, may_hold


@njit(cache=True)
def wildcard_counts(codes, sizes, counts, weights):
    """Sum the counts and weights of the tuples that match each tuple.

    `codes` (tuples by columns) are distinct; -1 is a null, and other codes of a column are below
    its size. A tuple's weight is the sum of those of its records.
    """
    n, p = codes.shape
    starts, rows = _postings(codes, sizes)
    matched, weighed = counts.copy(), weights.copy()
    everything = np.arange(n)
    for q in range(n):
        column, fewest = -1, n + 1
        nulls = 0
        for c in range(p):
            if codes[q, c] < 0:
                nulls += 1
                continue
            v = codes[q, c] + 1
            candidates = starts[c, v + 1] - starts[c, v] + starts[c, 1]
            if candidates < fewest:
                column, fewest = c, candidates
        if nulls == 0:
            continue
        matched[q], weighed[q] = 0, 0.0
        if column < 0:
            _add(codes, everything, q, counts, weights, matched, weighed)
            continue
        v = codes[q, column] + 1
        own = rows[column, starts[column, v] : starts[column, v + 1]]
        _add(codes, own, q, counts, weights, matched, weighed)
        null = rows[column, : starts[column, 1]]
        _add(codes, null, q, counts, weights, matched, weighed)
    return matched, weighed


@inner
def _add(codes, candidates, q, counts, weights, matched, weighed):
    """Count the candidates that match the tuple q, and q for those without a null."""
    p = codes.shape[1]
    for r in candidates:
        matches, complete = True, True
        for c in range(p):
            a, b = codes[q, c], codes[r, c]
            if b < 0:
                complete = False
            elif a >= 0 and a != b:
                matches = False
                break
        if matches:
            matched[q] += counts[r]
            weighed[q] += weights[r]
            if complete:
                matched[r] += counts[q]
                weighed[r] += weights[q]


@inner
def _postings(codes, sizes):
    """List the tuples by value, column by column; nulls come first."""
    n, p = codes.shape
    starts = np.zeros((p, sizes.max() + 2), np.int64)
    rows = np.empty((p, n), np.int64)
    for c in range(p):
        for i in range(n):
            starts[c, codes[i, c] + 2] += 1
        for v in range(1, starts.shape[1]):
            starts[c, v] += starts[c, v - 1]
        place = starts[c].copy()
        for i in range(n):
            v = codes[i, c] + 1
            rows[c, place[v]] = i
            place[v] += 1
    return starts, rows


@njit(cache=True)
def wildcard_units(codes, sizes, own, starts, holdings, size, k):
    """Tell which tuples match k units or more.

    A tuple has `own` units that no other has, and the shared ones, below `size`, between
    `starts[i]` and `starts[i + 1]`. A tuple without nulls looks among those with one only.
    """
    n = codes.shape[0]
    deficient = _deficient(codes)
    everything, some = np.arange(n), np.flatnonzero(deficient)
    of_all, of_some = _postings(codes, sizes), _postings(codes[some], sizes)
    last, reached = np.full(size, -1), np.zeros(n, np.bool_)
    for q in range(n):
        found = _more(q, q, own, starts, holdings, last, 0)
        among, postings = (everything, of_all) if deficient[q] else (some, of_some)
        for r in _candidates(codes[q], among, postings):
            if found >= k:
                break
            if r != q and _match(codes, q, r):
                found = _more(q, r, own, starts, holdings, last, found)
        reached[q] = found >= k
    return reached


@njit(cache=True)
def wildcard_models(codes, sizes, counts, starts, values, numbers, rules, wholly):
    """Tell of which tuples the records that they match satisfy the privacy models together.

    A tuple's histogram of confidential values is between `starts[i]` and `starts[i + 1]`. If not
    `wholly`, only what stays true for more records is looked at: k and the distinct values.
    """
    n = codes.shape[0]
    deficient = _deficient(codes)
    everything, some = np.arange(n), np.flatnonzero(deficient)
    of_all, of_some = _postings(codes, sizes), _postings(codes[some], sizes)
    histogram, kept = np.zeros(rules.q.size, np.int64), np.zeros(n, np.bool_)
    for q in range(n):
        histogram[:] = 0
        size = _pile(q, counts, starts, values, numbers, histogram)
        among, postings = (everything, of_all) if deficient[q] else (some, of_some)
        for r in _candidates(codes[q], among, postings):
            if r != q and _match(codes, q, r):
                size += _pile(r, counts, starts, values, numbers, histogram)
        kept[q] = holds(rules, size, histogram) if wholly else may_hold(rules, size, histogram)
    return kept


@inner
def _pile(r, counts, starts, values, numbers, histogram):
    """Add the values of tuple r to a histogram; return its records."""
    for e in range(starts[r], starts[r + 1]):
        histogram[values[e]] += numbers[e]
    return counts[r]


@inner
def _deficient(codes):
    """Tell which tuples have a null."""
    found = np.zeros(codes.shape[0], np.bool_)
    for i in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            found[i] |= codes[i, c] < 0
    return found


@inner
def _candidates(tuple_, among, postings):
    """Return the tuples that may match one, by its value with the fewest of them."""
    first, rows = postings
    column, fewest = -1, among.size + 1
    for c in range(tuple_.size):
        v = tuple_[c] + 1
        if v > 0 and first[c, v + 1] - first[c, v] + first[c, 1] < fewest:
            column, fewest = c, first[c, v + 1] - first[c, v] + first[c, 1]
    if column < 0:
        return among
    v = tuple_[column] + 1
    own = rows[column, first[column, v] : first[column, v + 1]]
    return among[np.concatenate((own, rows[column, : first[column, 1]]))]


@inner
def _match(codes, q, r):
    """Tell whether two tuples are equal where neither has a null."""
    for c in range(codes.shape[1]):
        if codes[q, c] >= 0 and codes[r, c] >= 0 and codes[q, c] != codes[r, c]:
            return False
    return True


@inner
def _more(q, r, own, starts, holdings, last, found):
    """Add the units of tuple r to those found for tuple q."""
    found += own[r]
    for e in range(starts[r], starts[r + 1]):
        if last[holdings[e]] != q:
            last[holdings[e]] = q
            found += 1
    return found
