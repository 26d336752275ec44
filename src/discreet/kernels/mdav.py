"""MDAV and V-MDAV on one sorted column, in one pass each.

MDAV: Domingo-Ferrer and Mateo-Sanz 2002, IEEE TKDE 14(1), 189-201, and Domingo-Ferrer and Torra
2005. V-MDAV: Solanas and Martinez-Balleste 2006, COMPSTAT.

On sorted values the records not yet in a group are one window [lo, hi), because groups are only
taken from its ends. Which end is farther from a mean S / m is the sign of 2 S - (first + last) m;
S is kept as an unevaluated sum of two floats, so ties are seen as ties.

`counts` says how many records hold each value, which then are never split: a group takes all
records equal to its innermost one. Without counts (None) each value is a record.

`back` and `ahead` say where k units, not records, are counted: the last start of a group that ends
at i, and the first end of one that starts at j (`units.last_starts` and `first_ends`). What is left
then makes as many groups as can be taken from one end of it.

Arrays come sorted, finite, with k or more records in all; nothing is checked here. Results are the
ends (exclusive, among the values) of the groups.
"""

import numpy as np
from numba import njit

from discreet.kernels.exact import add_pair, two_prod
from discreet.kernels.inner import inner


@njit(cache=True)
def mdav(
    values: np.ndarray,
    counts: np.ndarray | None,
    k: int,
    back: np.ndarray | None = None,
    ahead: np.ndarray | None = None,
) -> np.ndarray:
    """Return the groups of k records of MDAV; the last one, in the middle, may be larger."""
    borders = np.zeros(values.size + 1, np.bool_)
    lo, hi = 0, values.size
    records, total, rest = _sum(values, counts)
    pair = False  # the next group comes from the end opposite to the last one's
    low_end = True
    while _makes(2, records, k, ahead, lo, hi):
        if pair:
            low_end, pair = not low_end, False
        else:
            low_end = _low_is_farther(values[lo], values[hi - 1], records, total, rest)
            pair = _makes(3, records, k, ahead, lo, hi)
        new_lo, new_hi, taken = _take(counts, lo, hi, low_end, k, back, ahead)
        # With ties, what is left may be too small to be a group: then all of it is the last one.
        if records - taken < k:
            break
        a, z = (lo, new_lo) if low_end else (new_hi, hi)
        for i in range(a, z):
            total, rest = _add(total, rest, values[i], -_count(counts, i))
        lo, hi = new_lo, new_hi
        borders[lo] = borders[hi] = True
        records -= taken
    borders[values.size] = True
    return np.flatnonzero(borders[1:]) + 1


@njit(cache=True)
def vmdav(
    values: np.ndarray,
    counts: np.ndarray | None,
    k: int,
    gamma: float,
    back: np.ndarray | None = None,
    ahead: np.ndarray | None = None,
) -> np.ndarray:
    """Return the groups of k..2k-1 records of V-MDAV; leftovers may make two of them larger."""
    borders = np.zeros(values.size + 1, np.bool_)
    lo, hi = 0, values.size
    n, total, rest = _sum(values, counts)
    records = n
    low_start, high_end = 0, values.size  # where the innermost group of each side starts, ends
    while _makes(1, records, k, ahead, lo, hi):
        low_end = _low_is_farther(values[lo], values[hi - 1], n, total, rest)
        new_lo, new_hi, taken = _take(counts, lo, hi, low_end, k, back, ahead)
        while _joins(values, counts, new_lo, new_hi, low_end, gamma):
            a, z = (lo, new_lo + 1) if low_end else (new_hi - 1, hi)
            if _makes(2, taken + 1, k, ahead, a, z):
                break
            new_lo, new_hi, taken = new_lo + low_end, new_hi - (not low_end), taken + 1
        if low_end:
            low_start = lo
        else:
            high_end = hi
        lo, hi = new_lo, new_hi
        borders[lo] = borders[hi] = True
        records -= taken
    if lo < hi:
        cut = _share_out(values, counts, low_start, lo, hi, high_end)
        borders[lo] = borders[hi] = False
        borders[cut] = True
    borders[values.size] = True
    return np.flatnonzero(borders[1:]) + 1


@inner
def _count(counts, i):
    if counts is None:
        return 1
    return counts[i]


@inner
def _add(total, rest, value, count):
    """Add count * value to a sum of two floats."""
    product, error = two_prod(value, float(count))
    return add_pair(total, rest, product, error)


@inner
def _sum(values, counts):
    """Return the number of records and their sum, as two floats."""
    records = 0
    total = rest = 0.0
    for i in range(values.size):
        records += _count(counts, i)
        total, rest = _add(total, rest, values[i], _count(counts, i))
    return records, total, rest


@inner
def _low_is_farther(first, last, records, total, rest):
    """Tell whether the low end is at least as far from the mean as the high end."""
    a, a_rest = two_prod(first, float(records))
    b, b_rest = two_prod(last, float(records))
    a, a_rest = add_pair(a, a_rest, b, b_rest)
    a, a_rest = add_pair(2 * total, 2 * rest, -a, -a_rest)
    return a > 0 or (a == 0 and a_rest >= 0)


@inner
def _makes(groups, records, k, ahead, lo, hi):
    """Tell whether the values lo+1..hi are enough for so many groups."""
    if ahead is None:
        return records >= groups * k
    for _ in range(groups):
        if lo > hi:
            return False
        lo = ahead[lo]
    return lo <= hi


@inner
def _take(counts, lo, hi, low_end, k, back, ahead):
    """Take k records, or as many as there are, from an end; return the rest and the number."""
    taken = 0
    if ahead is not None:
        new_lo, new_hi = lo, hi
        if low_end:
            new_lo = ahead[lo]
        else:
            new_hi = back[hi]
        for i in range(lo, new_lo):
            taken += _count(counts, i)
        for i in range(new_hi, hi):
            taken += _count(counts, i)
        return new_lo, new_hi, taken
    while taken < k and lo < hi:
        if low_end:
            taken += _count(counts, lo)
            lo += 1
        else:
            hi -= 1
            taken += _count(counts, hi)
    return lo, hi, taken


@inner
def _joins(values, counts, lo, hi, low_end, gamma):
    """Tell whether the window's next value is near enough to the group just taken."""
    # The last unassigned record has no neighbour to compare with; one of several equal records
    # has a neighbour at distance 0, and if it were equal to the group it would be in it.
    if hi - lo < 2 or _count(counts, lo if low_end else hi - 1) > 1:
        return False
    if low_end:
        return values[lo] - values[lo - 1] <= gamma * (values[lo + 1] - values[lo])
    return values[hi] - values[hi - 1] <= gamma * (values[hi - 1] - values[hi - 2])


@inner
def _share_out(values, counts, low_start, lo, hi, high_end):
    """Return the cut that sends each leftover value to the side with the nearer centroid."""
    if lo == 0 or hi == values.size:  # all groups are on one side
        return lo if lo == 0 else hi
    origin = values[lo]
    low_sum = high_sum = 0.0
    low_count = high_count = 0
    for i in range(low_start, lo):
        low_sum += (values[i] - origin) * _count(counts, i)
        low_count += _count(counts, i)
    for i in range(hi, high_end):
        high_sum += (values[i] - origin) * _count(counts, i)
        high_count += _count(counts, i)
    for i in range(lo, hi):
        # Twice the value against the sum of the two centroids; a tie goes low.
        twice = 2 * (values[i] - origin) * low_count * high_count
        if twice > low_sum * high_count + high_sum * low_count:
            return i
    return hi
