"""Cost of a cluster of consecutive sorted values, from prefix sums, in constant time.

A position p in 0..n is a place to cut: before value p. Row p of `table` holds the weight W, the
weighted sum S1 and the weighted sum of squares S2 over the values from the median to p, negative
left of the median, so that far values burden no sums but those beyond them. Values are taken as
distances from the median, scaled by a power of two to a spread near one: no overflow, no underflow.

- l2: the sum of squares of values i..j-1 about their mean is S2 - S1 * S1 / W, each taken between i
  and j.
- l1: the sum of absolute deviations from the cluster's median q is the sum right of q minus the sum
  left of q, minus value q times the excess of weight on the right.

The l2 formula subtracts two nearly equal numbers. Its error is a few ulps of S2 over all the data:
harmless unless the clusters are extremely tight within the range of the data. For those (and for
l1, always) the sums are kept as pairs of doubles, high part in `table` and low part in `low`, which
gives some 32 digits. `low=None` asks for the plain formula and is settled when the code compiles.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.kernels.exact import add_pair, times_over, two_prod, two_sum
from discreet.kernels.inner import inner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def standardise(values: Floats, counts: Ints) -> tuple[float, int]:
    """Return a power of two that scales the spread to about one, and the index of the median."""
    spread = 0.5 * values[-1] - 0.5 * values[0]
    scale = math.ldexp(1.0, -max(math.frexp(spread)[1], -1000))
    left = counts.sum() // 2
    median = 0
    while counts[median] <= left:
        left -= counts[median]
        median += 1
    return scale, median


@njit(cache=True)
def prefix_sums(
    values: Floats, counts: Ints, scale: float, median: int, pairs: bool
) -> tuple[Floats, Floats]:
    """`table` and, if asked for pairs, `low` (else empty)."""
    n = values.size
    table = np.zeros((n + 1, 3))
    low = np.zeros((n + 1 if pairs else 0, 2))
    for side in (1, -1):
        s1, s1_low, s2, s2_low = 0.0, 0.0, 0.0, 0.0
        for k in range(n - median if side == 1 else median):
            row = median + side * k  # from the median outwards, to the right and then to the left
            i = row if side == 1 else row - 1
            w = float(side * counts[i])
            y, y_low = two_sum(values[i] * scale, -values[median] * scale)
            wy, wy_low = two_prod(w, y)
            wy_low += w * y_low
            wyy, wyy_low = two_prod(wy, y)
            wyy_low += wy * y_low + wy_low * y
            s1, s1_low = add_pair(s1, s1_low, wy, wy_low)
            s2, s2_low = add_pair(s2, s2_low, wyy, wyy_low)
            table[row + side, 0] = table[row, 0] + w
            table[row + side, 1] = s1
            table[row + side, 2] = s2
            if pairs:
                low[row + side, 0] = s1_low
                low[row + side, 1] = s2_low
    return table, low


@inner
def _between(table: Floats, low: Floats, column: int, i: int, j: int) -> tuple[float, float]:
    """S1 (column 1) or S2 (column 2) over values i..j-1, as a pair."""
    return add_pair(table[j, column], low[j, column - 1], -table[i, column], -low[i, column - 1])


@inner
def _median(table: Floats, i: int, j: int) -> int:
    """Index of the lower weighted median of values i..j-1."""
    half = 0.5 * (table[i, 0] + table[j, 0])
    if table[-1, 0] - table[0, 0] == table.shape[0] - 1:  # all counts are one
        return (i + j - 1) // 2
    first, last = i, j - 1
    while first < last:
        middle = (first + last) // 2
        if table[middle + 1, 0] >= half:
            last = middle
        else:
            first = middle + 1
    return first


@inner
def _cost_l1(table: Floats, low: Floats, i: int, j: int) -> float:
    q = _median(table, i, j)
    left, left_low = _between(table, low, 1, i, q)
    right, right_low = _between(table, low, 1, q + 1, j)
    own, own_low = _between(table, low, 1, q, q + 1)
    excess = (table[j, 0] - table[q + 1, 0]) - (table[q, 0] - table[i, 0])
    centre, centre_low = times_over(excess, 0.0, own, own_low, table[q + 1, 0] - table[q, 0])
    s, s_low = add_pair(right, right_low, -left, -left_low)
    s, s_low = add_pair(s, s_low, -centre, -centre_low)
    return abs(s)


@inner
def _cost_pairs(table: Floats, low: Floats, i: int, j: int) -> float:
    s1, s1_low = _between(table, low, 1, i, j)
    s2, s2_low = _between(table, low, 2, i, j)
    mean, mean_low = times_over(s1, s1_low, s1, s1_low, table[j, 0] - table[i, 0])
    return abs((s2 - mean) + (s2_low - mean_low))


@inner
def cluster_cost(table: Floats, low: Floats | None, l1: bool, i: int, j: int) -> float:
    """Cost of the cluster between the positions i and j != i, in either order."""
    if low is None:
        # the wrong order changes the sign of every term
        s1 = table[j, 1] - table[i, 1]
        return abs((table[j, 2] - table[i, 2]) - s1 * s1 / (table[j, 0] - table[i, 0]))
    if l1:
        return _cost_l1(table, low, min(i, j), max(i, j))
    return _cost_pairs(table, low, i, j)


@inner
def cluster_mean(table: Floats, low: Floats, i: int, j: int) -> float:
    """Mean of values i..j-1, shifted and scaled."""
    return _between(table, low, 1, i, j)[0] / (table[j, 0] - table[i, 0])


@njit(cache=True)
def path_cost(table: Floats, low: Floats | None, l1: bool, path: Ints) -> float:
    """Cost of the clusters between the successive positions of `path`."""
    total = 0.0
    for k in range(path.size - 1):
        total += cluster_cost(table, low, l1, path[k], path[k + 1])
    return total
