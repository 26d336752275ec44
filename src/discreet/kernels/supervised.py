"""Cuts that keep classes apart: MDLP (Fayyad and Irani 1993) and ChiMerge (Kerber 1992).

`classes` holds, for each distinct value in order (row), how many of its records are of each class
(column); every class occurs. Results are the ends (exclusive, among the values) of the parts.
"""

import math

import numpy as np
from numba import njit

from discreet.kernels.exact import add_pair, times_over
from discreet.kernels.inner import inner


@njit(cache=True)
def mdlp(classes: np.ndarray) -> np.ndarray:
    """Return the entropy cuts that pass the test of minimum description length."""
    n = 0
    for row in classes:
        n += row.sum()
    # c log2 c for every count that can occur.
    clogc = np.zeros(n + 1)
    for c in range(1, n + 1):
        clogc[c] = c * math.log2(c)
    is_end = np.zeros(classes.shape[0], np.bool_)
    is_end[-1] = True
    waiting = [(0, classes.shape[0])]
    while len(waiting) > 0:
        start, end = waiting.pop()
        cut = _entropy_cut(classes, clogc, start, end)
        if cut > 0:
            is_end[cut - 1] = True
            waiting.append((start, cut))
            waiting.append((cut, end))
    return np.flatnonzero(is_end) + 1


@inner
def _entropy_cut(classes, clogc, start, end):
    """Return the cut of rows start..end-1 with the least entropy, or 0 if none is worth it."""
    whole = np.zeros(classes.shape[1], np.int64)
    for i in range(start, end):
        whole += classes[i]
    left, right = np.zeros_like(whole), whole.copy()
    best, at = np.inf, 0
    best_left, best_right = left.copy(), right.copy()
    for i in range(start, end - 1):
        left += classes[i]
        right -= classes[i]
        bits = _bits(left, clogc) + _bits(right, clogc)
        if bits < best:
            best, at = bits, i + 1
            best_left[:], best_right[:] = left, right
    if at == 0:
        return 0
    n = whole.sum()
    k = (whole > 0).sum()
    # log2(3**k - 2), which must not overflow for many classes.
    delta = k * math.log2(3.0) + math.log1p(-2 * 3.0**-k) / math.log(2.0)
    delta -= k * _bits(whole, clogc) / n
    for side in (best_left, best_right):
        delta += (side > 0).sum() * _bits(side, clogc) / side.sum()
    gain = (_bits(whole, clogc) - best) / n
    return at if gain > (math.log2(n - 1) + delta) / n else 0


@inner
def _bits(counts, clogc):
    """Return the entropy of class counts times their sum."""
    total, bits = 0, 0.0
    for count in counts:
        total += count
        bits -= clogc[count]
    return bits + clogc[total]


@njit(cache=True)
def chimerge(classes: np.ndarray, threshold: float) -> np.ndarray:
    """Merge the neighbours with the least chi-square, first on a tie, while under a threshold.

    Leaf i of a tree of minima holds the chi-square of interval i and the next one.
    """
    n = classes.shape[0]
    table = classes.copy()
    following, previous = np.arange(1, n + 1, dtype=np.int32), np.arange(-1, n - 1, dtype=np.int32)
    leaves = 1
    while leaves < n:
        leaves *= 2
    tree = np.full(2 * leaves, np.inf)
    for i in range(n - 1):
        tree[leaves + i] = _chi_square(table[i], table[i + 1])
    for node in range(leaves - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    while tree[1] < threshold:
        node = 1
        while node < leaves:
            node = 2 * node if tree[2 * node] <= tree[2 * node + 1] else 2 * node + 1
        i = node - leaves
        gone = following[i]
        table[i] += table[gone]
        following[i] = following[gone]
        if following[i] < n:
            previous[following[i]] = i
            _set(tree, leaves + i, _chi_square(table[i], table[following[i]]))
        else:
            _set(tree, leaves + i, np.inf)
        _set(tree, leaves + gone, np.inf)
        if previous[i] >= 0:
            _set(tree, leaves + previous[i], _chi_square(table[previous[i]], table[i]))
    ends = np.empty(n, np.int64)
    size = i = 0
    while i < n:
        i = following[i]
        ends[size] = i
        size += 1
    return ends[:size]


@inner
def _set(tree, node, value):
    """Set a leaf, and the minima above it."""
    tree[node] = value
    while node > 1:
        node //= 2
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


@njit(cache=True)
def _chi_square(a, b):
    """Return the chi-square of two neighbours' class counts; an expected count of 0 is 0.1.

    With A and B records, of which a and b are of a class, the class adds (aB - bA)^2 divided by
    (a + b) A B, or 1/5 where neither has it. In pairs of doubles, so that equal chi-squares round
    to equal numbers and tie.
    """
    size_a, size_b = a.sum(), b.sum()
    total = low = 0.0
    missing = 0
    for j in range(a.size):
        both = a[j] + b[j]
        apart = a[j] * size_b - b[j] * size_a
        if both == 0:
            missing += 1
        elif apart != 0:
            high = float(apart)
            rest = float(apart - np.int64(high))
            term, term_low = times_over(high, rest, high, rest, float(both))
            total, low = add_pair(total, low, term, term_low)
    total, low = times_over(total, low, 1.0, 0.0, float(size_a))
    total, low = times_over(total, low, 1.0, 0.0, float(size_b))
    fifths, fifths_low = times_over(float(missing), 0.0, 1.0, 0.0, 5.0)
    total, low = add_pair(total, low, fifths, fifths_low)
    return total + low
