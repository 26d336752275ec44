"""Distinct units behind parts of sorted values."""

import numpy as np
from numba import njit


@njit(cache=True)
def units_in_parts(
    units: np.ndarray, starts: np.ndarray, ends: np.ndarray, size: int
) -> np.ndarray:
    """Count the distinct units of each part of values.

    Those of value i are `units[starts[i]:starts[i + 1]]`, all below `size`; parts follow each other
    and end (exclusive) where `ends` says.
    """
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
