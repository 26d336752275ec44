"""Cells of records, and how far the records of a cell agree.

1. Numbering. Keys are numbered in the order in which they appear, by hashing.
2. Majority. One pass finds the only value of each cell that more than half of its records can
   have (Boyer and Moore: a record for the candidate is a vote, any other takes one away), a second
   one counts it. No table of cells by values is needed, however many values there are.
3. Pairs. The first two records of each small cell agree or not. A bet on it, at the odds that the
   records of its class which nobody has looked at yet give, is fair if the cell tells nothing;
   what the bets have won is evidence against that, whatever the classes look like.
4. Order. Within blocks of a few records, sorted by one column, another is sorted too or not.
"""

import math

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xC2B2AE3D27D4EB4F)
# What a bet says of two records that should agree.
_AGREE = 0.95
BLOCK = 8


@njit(cache=True, nogil=True)
def numbered(keys, bound):
    """Assign numbers to keys below a bound, in the order of their first rows; also count them."""
    n = len(keys)
    bits = 1
    while (1 << bits) < 2 * n:
        bits += 1
    direct = bound <= (1 << bits)
    size = bound if direct else 1 << bits
    shift = np.uint64(64 - bits)
    slots = np.full(size, -1, np.int32)
    ids = np.empty(n, np.int32)
    count = 0
    for row in range(n):
        key = keys[row]
        if direct:
            place = key
        else:
            place = np.int64((np.uint64(key) * _MULTIPLIER) >> shift)
            while slots[place] >= 0 and keys[slots[place]] != key:
                place = (place + 1) & (size - 1)
        if slots[place] < 0:
            slots[place] = row
            ids[row] = count
            count += 1
        else:
            ids[row] = ids[slots[place]]
    return ids, count


@njit(cache=True, nogil=True)
def majorities(ids, count, values):
    """Return of each cell its records, those with its usual value, a row that has it, and two rows.

    The usual value is the one of more than half of the records, if there is one. The two rows are
    the cell's first; the second is -1 where there is none.
    """
    usual, votes = np.full(count, -1, np.int32), np.zeros(count, np.int32)
    for row in range(len(ids)):
        cell = ids[row]
        if votes[cell] == 0:
            usual[cell] = values[row]
            votes[cell] = 1
        elif values[row] == usual[cell]:
            votes[cell] += 1
        else:
            votes[cell] -= 1
    sizes, hits, at = (np.zeros(count, np.int32), votes, np.full(count, -1, np.int32))
    one, other = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    hits[:] = 0
    for row in range(len(ids)):
        cell = ids[row]
        sizes[cell] += 1
        if values[row] == usual[cell]:
            hits[cell] += 1
            at[cell] = row
        if one[cell] < 0:
            one[cell] = row
        elif other[cell] < 0:
            other[cell] = row
    return sizes, hits, at, one, other


@njit(cache=True, nogil=True)
def bets(one, other, base, base_sizes, values, value_sizes):
    """Bet that pairs of rows agree, each at the odds of the rows of their class that are left.

    Values are numbered within classes: no two classes have one in common. Returns the logarithm of
    what is won, the pairs that agree, and how many were to be expected.
    """
    left, left_with = base_sizes.copy(), value_sizes.copy()
    won, agreed, expected = 0.0, 0, 0.0
    for i in range(len(one)):
        value, class_ = values[one[i]], base[one[i]]
        left_with[value] -= 1
        left[class_] -= 1
        chance = left_with[value] / left[class_]
        agree = values[other[i]] == value
        left_with[values[other[i]]] -= 1
        left[class_] -= 1
        expected += chance
        agreed += agree
        if 0 < chance < _AGREE:
            won += math.log(_AGREE / chance if agree else (1 - _AGREE) / (1 - chance))
    return won, agreed, expected


@njit(cache=True, nogil=True)
def some_cells(base, first, second, shift):
    """Return the rows of one cell in 2**shift, by the hash of the cell's three numbers."""
    found = np.empty(len(base), np.int32)
    n, down = 0, np.uint64(64 - shift)
    for row in range(len(base)):
        key = np.uint64(base[row]) * _MULTIPLIER + np.uint64(first[row])
        key = (key ^ (key >> np.uint64(29))) * _OTHER + np.uint64(second[row])
        key = (key ^ (key >> np.uint64(32))) * _MULTIPLIER
        if key >> down == 0:
            found[n] = row
            n += 1
    return found[:n].copy()


@njit(cache=True, nogil=True)
def sorted_blocks(base, by, values):
    """Look whether values ascend, or descend, in blocks of rows that are sorted by base and `by`.

    A block has up to eight rows of one base. Rows that are alike in `by` must have one value.
    Returns, for both directions, the logarithm of the evidence and a mask of rows in sorted blocks;
    and the rows in blocks where values differ, with how many would be sorted by chance.
    """
    n = len(base)
    won, found = np.zeros(2), np.zeros((2, n), np.bool_)
    at_stake, expected = 0, 0.0
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and stop < start + BLOCK and base[stop] == base[start]:
            stop += 1
        ways = _arrangements(values[start:stop])
        if ways > 1:
            at_stake += stop - start
            expected += (stop - start) / ways
            for way in range(2):
                good = _is_sorted(by[start:stop], values[start:stop], 1 - 2 * way)
                won[way] += math.log(0.5 * ways + 0.5 if good else 0.5)
                found[way, start:stop] = good
        start = stop
    return won, found, at_stake, expected


@inner
def _arrangements(values):
    """Return in how many orders some values can come."""
    ordered = np.sort(values)
    ways, alike = 1.0, 1
    for i in range(1, len(ordered)):
        alike = alike + 1 if ordered[i] == ordered[i - 1] else 1
        ways *= (i + 1) / alike
    return ways


@inner
def _is_sorted(by, values, sign):
    for i in range(1, len(by)):
        step = sign * (values[i] - values[i - 1])
        if step < 0 or (by[i] == by[i - 1] and step != 0):
            return False
    return True
