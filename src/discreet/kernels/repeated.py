"""Which keys occur more than once, by hashing."""

import numpy as np
from numba import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def repeated(keys, bound):
    """Assign a number to each key, of 0 to bound - 1, that occurs more than once.

    Returns 0, 1, ... for rows that share their key, the same for equal keys, and -1 for a row whose
    key is unique; and how many such keys there are.
    """
    n = len(keys)
    bits = 1
    while (1 << bits) < 2 * n:
        bits += 1
    direct = bound <= (1 << bits)
    size = bound if direct else 1 << bits
    shift = np.uint64(64 - bits)
    slots = np.full(size, -1, np.int32)
    first = np.empty(n, np.int32)
    ids = np.full(n, -1, np.int32)
    count = 0
    for row in range(n):
        key = keys[row]
        if direct:
            place = key
        else:
            place = np.int64((np.uint64(key) * _MULTIPLIER) >> shift)
            while slots[place] >= 0 and keys[slots[place]] != key:
                place = (place + 1) & (size - 1)
        start = slots[place]
        if start < 0:
            slots[place] = row
            first[row] = row
        else:
            first[row] = start
            if ids[start] < 0:
                ids[start] = count
                count += 1
    for row in range(n):
        ids[row] = ids[first[row]]
    return ids, count
