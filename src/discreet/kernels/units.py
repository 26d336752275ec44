"""Distinct units behind parts of sorted values.

The units of value i are `units[starts[i]:starts[i + 1]]`, all below `size`; one may come again.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def units_in_parts(
    units: np.ndarray, starts: np.ndarray, ends: np.ndarray, size: int
) -> np.ndarray:
    """Count the distinct units of each part of values; parts end (exclusive) where `ends` says."""
    counts = np.zeros(ends.size, np.int64)
    last = np.full(size, -1, np.int64)
    start = 0
    for part in range(ends.size):
        for i in range(starts[start], starts[ends[part]]):
            if last[units[i]] != part:
                last[units[i]] = part
                counts[part] += 1
        start = ends[part]
    return counts


@njit(cache=True)
def last_starts(units: np.ndarray, starts: np.ndarray, size: int, k: int) -> np.ndarray:
    """Return for each i = 0..n the last j such that k units hold the values j+1..i; -1: no such j.

    A window over pairs of value and unit moves along, as short as k units allow.
    """
    found = np.full(starts.size, -1, np.int32)
    held = np.zeros(size, np.int32)
    distinct = first = j = 0
    for i in range(1, starts.size):
        for pair in range(starts[i - 1], starts[i]):
            held[units[pair]] += 1
            distinct += held[units[pair]] == 1
        while distinct > k or (distinct == k and held[units[first]] > 1):
            held[units[first]] -= 1
            distinct -= held[units[first]] == 0
            first += 1
        if distinct == k:
            while starts[j + 1] <= first:
                j += 1
            found[i] = j
    return found


@njit(cache=True)
def first_ends(back: np.ndarray) -> np.ndarray:
    """Turn `last_starts` round: the first i such that k units hold j+1..i; n+1: no such i."""
    ends = np.full(back.size, back.size, np.int32)
    j = 0
    for i in range(back.size):
        while j <= back[i]:
            ends[j] = i
            j += 1
    return ends
