"""Optimal univariate microaggregation (Hansen and Mukherjee 2003, IEEE TKDE 15(4), 1043-1044).

Sorted values are cut into contiguous groups of at least k records so that the within-group sum of
squares (`l2`) or of absolute deviations from the median (`l1`) is least.

1. The shortest path. Node i stands for the first i values, the arc from j to i for the group of the
   values j+1..i: total[i] = min over j of total[j] + cost(j, i), and cut[i] is the best j.
2. The arcs that matter. latest(i) is the last cut that leaves k records on both of its sides. A
   group that starts at or before latest(latest(i)) falls apart at latest(i) into two groups of at
   least k records, at no more cost under either objective. So row i needs no cut before
   latest(latest(i)) + 1; with single records that leaves the groups of k..2k-1.
3. Blocks. The rows i > b with latest(i) <= b draw on totals up to b only, so they can be filled in
   any order. Both costs are Monge, hence the best cut never moves back as i grows: rows are filled
   by halving strides, each searched between the cuts of its two neighbours. O(n log k) in all.
4. Accuracy. Every group of a block holds the value b+1, so sums are taken about that value: their
   rounding error is small against the cost of the group itself, wherever on the line it lies (a
   few ulps, times at most the ratio of the group's records to that value's).
   Totals are kept relative to the least one in reach, so a costly start does not blur the rest.

Units. Where k counts units, of which one may hold several records, latest(i) leaves k units on both
sides; the rest holds as it stands, because a larger group has as many units or more. Only the nodes
that a block can reach are then no longer few.

Ties: of cuts with equal (computed) totals the latest is taken, which makes the last group smallest.

Arrays come sorted, finite, n < 2**31, with k or more records, or units, in all; nothing is checked
here. Values more than 1e150 apart overflow: groups still hold k, but are no longer the optimum.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner


@njit(cache=True)
def oma_l2(values: np.ndarray, k: int) -> np.ndarray:
    """Return the ends (exclusive) of the groups of k..2k-1 records, least in sum of squares."""
    return _partition(values, None, None, k, min(values.size, 3 * k) + 1, False)


@njit(cache=True)
def oma_l1(values: np.ndarray, k: int) -> np.ndarray:
    """Return the ends (exclusive) of the groups of k..2k-1 records, least in absolute sum."""
    return _partition(values, None, None, k, min(values.size, 3 * k) + 1, True)


@njit(cache=True)
def oma_l2_counts(values: np.ndarray, counts: np.ndarray, k: int) -> np.ndarray:
    """Do the same as `oma_l2` on distinct values with counts: equal values are never split."""
    room = min(values.size, 3 * k) + 1
    return _partition(values, counts, _latest_cuts(counts, k), k, room, False)


@njit(cache=True)
def oma_l1_counts(values: np.ndarray, counts: np.ndarray, k: int) -> np.ndarray:
    """Do the same as `oma_l1` on distinct values with counts: equal values are never split."""
    room = min(values.size, 3 * k) + 1
    return _partition(values, counts, _latest_cuts(counts, k), k, room, True)


@njit(cache=True)
def oma_units(
    values: np.ndarray, counts: np.ndarray, back: np.ndarray, absolute: bool
) -> np.ndarray:
    """Do the same, in squares or absolute, for k units; `back` is their `units.last_starts`."""
    latest = _latest_with_units(back)
    return _partition(values, counts, latest, 0, _room(latest), absolute)


@inner
def _partition(values, counts, latest, k, room, absolute):
    """Fill the path block by block, then walk it back; single records: `counts` = `latest` = None.

    What runs per block or row is inlined: a call with arrays costs as much as a short block.
    """
    n = values.size
    cut = np.zeros(n + 1, np.int32)
    # A window of nodes lo..e. Of records: at most 2k cuts that a block can use, then its own k rows
    # at most.
    weight, moment, spent, total = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    total[0] = 0.0
    lo = b = 0
    while b < n:
        e = _block_end(latest, b, n, k)
        start = max(cut[b], _earliest(latest, b + 1, k))
        _shift_totals(total, start - lo, b - start + 1)
        lo = start
        _sum_window(values, counts, lo, b, e, absolute, total, weight, moment, spent)
        _fill_block(values, latest, k, lo, b, e, absolute, weight, moment, spent, total, cut)
        b = e
    return _ends(cut)


@njit(inline="always")
def _block_end(latest, b, n, k):
    """Return the last row that draws on totals up to b only."""
    e = b + 1
    while e < n and _latest(latest, e + 1, k) <= b:
        e += 1
    return e


@inner
def _room(latest):
    """Return the most nodes from the first cut that a block can use to its last row."""
    room, b, n = 0, 0, latest.size - 1
    while b < n:
        e = _block_end(latest, b, n, 0)
        room = max(room, e - _earliest(latest, b + 1, 0) + 1)
        b = e
    return room


@njit(inline="always")
def _fill_block(values, latest, k, lo, b, e, absolute, weight, moment, spent, total, cut):
    """Fill total and cut of the rows b+1..e, the middle ones first."""
    stride = 1
    while 2 * stride <= e - b:
        stride *= 2
    while stride > 0:
        for i in range(b + stride, e + 1, 2 * stride):
            first = max(cut[i - stride], _earliest(latest, i, k))
            last = _latest(latest, i, k)
            if i + stride <= e:
                last = min(last, cut[i + stride])
            if absolute:
                best, j = _best_l1(values, b, lo, i, first, last, weight, moment, spent)
            else:
                best, j = _best_l2(lo, i, first, last, weight, moment, spent)
            total[i - lo] = best
            cut[i] = j
        stride //= 2


@njit(inline="always")
def _shift_totals(total, shift, size):
    """Move the window forward, and count from the least total in it."""
    least = np.inf
    for j in range(shift, shift + size):
        least = min(least, total[j])
    for j in range(size):
        total[j] = total[j + shift] - least


@njit(inline="always")
def _sum_window(values, counts, lo, b, e, absolute, total, weight, moment, spent):
    """Sum records, first and second moments from node b to the nodes lo..e, about value b+1.

    The first two are signed, so that a difference between nodes is the group's. `spent` is the
    part of the cost known from one node: the second moment (l2), and for a cut its total.
    """
    origin = values[b]
    records = first = second = 0.0
    weight[b - lo], moment[b - lo], spent[b - lo] = 0.0, 0.0, total[b - lo]
    for j in range(b - 1, lo - 1, -1):
        count = _count(counts, j)
        distance = values[j] - origin
        records -= count
        first -= count * distance
        if not absolute:
            second += count * distance * distance
        weight[j - lo], moment[j - lo], spent[j - lo] = records, first, total[j - lo] + second
    records = first = second = 0.0
    for i in range(b + 1, e + 1):
        count = _count(counts, i - 1)
        distance = values[i - 1] - origin
        records += count
        first += count * distance
        if not absolute:
            second += count * distance * distance
        weight[i - lo], moment[i - lo], spent[i - lo] = records, first, second


@njit(inline="always")
def _best_l2(lo, i, first, last, weight, moment, spent):
    """Least total of row i and its cut: sum of squares = second moment - first**2 / records."""
    best, at = np.inf, last
    records, total = weight[i - lo], moment[i - lo]
    for j in range(last, first - 1, -1):
        s = total - moment[j - lo]
        cost = spent[j - lo] - s * s / (records - weight[j - lo])
        if cost < best:
            best, at = cost, j
    return best + spent[i - lo], at


@njit(inline="always")
def _best_l1(values, b, lo, i, first, last, weight, moment, spent):
    """Least total of row i and its cut; the median of the group moves back with the cut."""
    best, at = np.inf, last
    median = _median(weight, max(last, lo) - lo, i - lo) + lo
    for j in range(last, first - 1, -1):
        both = weight[i - lo] + weight[j - lo]
        while 2 * weight[median - 1 - lo] >= both:
            median -= 1
        # What lies above the median minus what lies below it, the median itself counted so as
        # to even out the two sides.
        sides = moment[i - lo] + moment[j - lo] - 2 * moment[median - lo]
        cost = (values[median - 1] - values[b]) * (2 * weight[median - lo] - both) + sides
        if spent[j - lo] + cost < best:
            best, at = spent[j - lo] + cost, j
    return best, at


@inner
def _median(weight, j, i):
    """Return the first node with at least half of the records of j+1..i behind it."""
    low, high = j + 1, i
    while low < high:
        middle = (low + high) // 2
        if 2 * weight[middle] >= weight[i] + weight[j]:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def _latest(latest, i, k):
    """Return the last cut with k records before it and up to i (0: no such cut; -1: i < k)."""
    if latest is None:
        return i - k if i >= 2 * k else (0 if i >= k else -1)
    return latest[i]


@inner
def _earliest(latest, i, k):
    j = _latest(latest, i, k)
    return _latest(latest, j, k) + 1 if j > 0 else 0


@inner
def _latest_cuts(counts, k):
    """Compute `_latest` of every row, for counts."""
    latest = np.empty(counts.size + 1, np.int32)
    latest[0] = -1
    records = before = j = 0
    for i in range(counts.size):
        records += counts[i]
        while records - before - counts[j] >= k:
            before += counts[j]
            j += 1
        if records < k:
            latest[i + 1] = -1
        else:
            latest[i + 1] = j if before >= k else 0
    return latest


@inner
def _latest_with_units(back):
    """Compute `_latest` of every row from the shortest groups that end there."""
    latest = back.copy()
    first = 0
    while back[first] < 0:
        first += 1
    for i in range(first, back.size):
        if back[i] < first:
            latest[i] = 0
    return latest


@inner
def _count(counts, i):
    if counts is None:
        return 1
    return counts[i]


@inner
def _ends(cut):
    """Walk the cuts back from the last row."""
    groups, i = 0, cut.size - 1
    while i > 0:
        groups, i = groups + 1, cut[i]
    ends = np.empty(groups, np.int64)
    i = cut.size - 1
    while i > 0:
        groups -= 1
        ends[groups] = i
        i = cut[i]
    return ends
