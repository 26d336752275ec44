"""Radix sort of float64, on one thread: several times as fast as a comparison sort.

1. Keys. The bits of a float, taken as an integer, are in the order of the numbers once negative
   ones are flipped. The smallest key is taken off, so that close values differ in few bits.
2. Passes. Keys are sorted digit by digit, the lowest digit first, each time by counting. A pass
   keeps the order of equal digits, so equal values stay in row order.
3. Short cut. The upper 32 bits, four passes, tell nearly all values apart in most columns. What
   they leave is settled by insertion; where that is too much work, all bits get their pass.

NaN (a null) is left out, -0.0 comes out as 0.0. Arrays come contiguous, with under 2**31 rows.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_SIGN = np.uint64(1 << 63)
# A pass writes to 256 places in turn: as many as the caches hold open. 4 passes of 8 bits took two
# thirds of the time of 3 passes of 12, at 1e6 rows and at 1e7.
_DIGIT = 8
_UPPER = 32


@njit(cache=True)
def sort(values: np.ndarray) -> np.ndarray:
    """Return the values in order, without NaN."""
    keys, rows, low, bits = _keys(values)
    keys, _ = _sorted_keys(keys, rows[:0], bits)
    return _values(keys, low)


@njit(cache=True)
def sort_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values in order, without NaN, and the row of each (int32)."""
    keys, rows, low, bits = _keys(values)
    keys, rows = _sorted_keys(keys, rows, bits)
    return _values(keys, low), rows


@inner
def _keys(values):
    """Return integers in the order of the values, their rows, the offset, and their bits."""
    keys, rows = np.empty(values.size, np.uint64), np.empty(values.size, np.int32)
    pattern = values.view(np.uint64)
    low, high = ~np.uint64(0), np.uint64(0)
    n = 0
    for i in range(values.size):
        if values[i] == values[i]:
            key = np.uint64(0) if values[i] == 0 else pattern[i]
            # Flip the sign of positive and all bits of negative numbers; no branch to guess.
            key ^= (np.uint64(0) - (key >> np.uint64(63))) | _SIGN
            low, high = min(low, key), max(high, key)
            keys[n], rows[n] = key, i
            n += 1
    for i in range(n):
        keys[i] -= low
    bits = 0
    while n and bits < 64 and (high - low) >> np.uint64(bits):
        bits += 1
    return keys[:n], rows[:n], low, bits


@inner
def _sorted_keys(keys, rows, bits):
    """Sort keys, and their rows with them if there are any."""
    keys, rows = _sort_digits(keys, rows, max(0, bits - _UPPER), bits)
    if bits > _UPPER and not _insert(keys, rows):
        keys, rows = _sort_digits(keys, rows, 0, bits)
    return keys, rows


@inner
def _sort_digits(keys, rows, start, stop):
    """Sort by the bits start..stop-1."""
    passes = -(-(stop - start) // _DIGIT)
    width = -(-(stop - start) // max(passes, 1))
    mask = np.uint64((1 << width) - 1)
    places = _first_places(keys, start, passes, width)
    other, other_rows = np.empty_like(keys), np.empty_like(rows)
    with_rows = rows.size > 0
    for p in range(passes):
        shift, place = np.uint64(start + p * width), places[p]
        for i in range(keys.size):
            digit = (keys[i] >> shift) & mask
            other[place[digit]] = keys[i]
            if with_rows:
                other_rows[place[digit]] = rows[i]
            place[digit] += np.uint32(1)
        keys, other = other, keys
        rows, other_rows = other_rows, rows
    return keys, rows


@inner
def _first_places(keys, start, passes, width):
    """Return where the first key with each digit goes, for each pass."""
    mask = np.uint64((1 << width) - 1)
    # Unsigned, because a signed index is tested for counting from the end.
    places = np.zeros((passes, (1 << width) + 1), np.uint32)
    for i in range(keys.size):
        for p in range(passes):
            digit = (keys[i] >> np.uint64(start + p * width)) & mask
            places[p, digit + np.uint64(1)] += np.uint32(1)
    for p in range(passes):
        for digit in range(1 << width):
            places[p, digit + 1] += places[p, digit]
    return places


@inner
def _insert(keys, rows):
    """Sort by insertion, or stop and return False once that takes more moves than keys."""
    moves, with_rows = 0, rows.size > 0
    for i in range(1, keys.size):
        if keys[i] >= keys[i - 1]:
            continue
        key, row = keys[i], rows[i] if with_rows else 0
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            if with_rows:
                rows[j] = rows[j - 1]
            j -= 1
        keys[j] = key
        if with_rows:
            rows[j] = row
        moves += i - j
        if moves > keys.size:
            return False
    return True


@inner
def _values(keys, low):
    """Turn keys back into values, in place."""
    for i in range(keys.size):
        key = keys[i] + low
        keys[i] = key ^ (((key >> np.uint64(63)) - np.uint64(1)) | _SIGN)
    return keys.view(np.float64)
