"""Radix sort of float64, on one thread: several times as fast as a comparison sort.

The bits of a float, taken as an integer, are in the order of the numbers once negative ones are
flipped. These keys are sorted digit by digit, the lowest digit first, each time by counting. Every
pass keeps the order of equal digits, so equal values stay in row order. The smallest key is taken
off first: where all values lie close together, fewer digits differ and fewer passes are made.

NaN (a null) is left out, -0.0 comes out as 0.0. Arrays come contiguous, with under 2**31 rows.
"""

import numpy as np
from numba import njit

_SIGN = np.uint64(1 << 63)
# 4,096 counters and the places that they point to stay in the nearer caches.
_WIDEST = 12


@njit(cache=True)
def sort(values: np.ndarray) -> np.ndarray:
    """Return the values in order, without NaN."""
    keys, _, low, span = _keys(values)
    places, width = _first_places(keys, span)
    mask = np.uint64((1 << width) - 1)
    other = np.empty_like(keys)
    for p in range(places.shape[0]):
        shift, place = np.uint64(p * width), places[p]
        for i in range(keys.size):
            digit = (keys[i] >> shift) & mask
            other[place[digit]] = keys[i]
            place[digit] += np.uint32(1)
        keys, other = other, keys
    return _values(keys, low)


@njit(cache=True)
def sort_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values in order, without NaN, and the row of each (int32)."""
    keys, rows, low, span = _keys(values)
    places, width = _first_places(keys, span)
    mask = np.uint64((1 << width) - 1)
    other, other_rows = np.empty_like(keys), np.empty_like(rows)
    for p in range(places.shape[0]):
        shift, place = np.uint64(p * width), places[p]
        for i in range(keys.size):
            digit = (keys[i] >> shift) & mask
            other[place[digit]], other_rows[place[digit]] = keys[i], rows[i]
            place[digit] += np.uint32(1)
        keys, other = other, keys
        rows, other_rows = other_rows, rows
    return _values(keys, low), rows


@njit(cache=True)
def _keys(values):
    """Return integers in the order of the values, less the smallest; their rows; it; the span."""
    keys, rows = np.empty(values.size, np.uint64), np.empty(values.size, np.int32)
    bits = values.view(np.uint64)
    low, high = ~np.uint64(0), np.uint64(0)
    n = 0
    for i in range(values.size):
        if values[i] == values[i]:
            key = np.uint64(0) if values[i] == 0 else bits[i]
            # Flip the sign of positive and all bits of negative numbers; no branch to guess.
            key ^= (np.uint64(0) - (key >> np.uint64(63))) | _SIGN
            low, high = min(low, key), max(high, key)
            keys[n], rows[n] = key, i
            n += 1
    for i in range(n):
        keys[i] -= low
    return keys[:n], rows[:n], low, high - low if n else np.uint64(0)


@njit(cache=True)
def _first_places(keys, span):
    """Return where the first key with each digit goes, for each pass, and the bits of a digit."""
    bits = 0
    while bits < 64 and span >> np.uint64(bits):
        bits += 1
    passes = -(-bits // _WIDEST)
    width = -(-bits // passes) if passes else 1
    places = np.zeros((passes, (1 << width) + 1), np.uint32)
    mask = np.uint64((1 << width) - 1)
    for i in range(keys.size):
        for p in range(passes):
            places[p, ((keys[i] >> np.uint64(p * width)) & mask) + np.uint64(1)] += np.uint32(1)
    for p in range(passes):
        for digit in range(1 << width):
            places[p, digit + 1] += places[p, digit]
    return places, width


@njit(cache=True)
def _values(keys, low):
    """Turn keys back into values, in place."""
    for i in range(keys.size):
        key = keys[i] + low
        keys[i] = key ^ (((key >> np.uint64(63)) - np.uint64(1)) | _SIGN)
    return keys.view(np.float64)
