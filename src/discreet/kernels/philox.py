"""Philox4x64-10, the counter-based generator of Salmon et al. (2011), one word per counter.

A counter-based generator has no state: word = f(key, counter). The draw of a row depends on
nothing but the key and the row's number, so any engine, thread count or order gives the same
result.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
_MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
_WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
_WEYL_1 = np.uint64(0xBB67AE8584CAA73B)


@inner
def high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """Upper 64 bits of the 128-bit product, from four 32-bit products."""
    a_low, a_high = a & _LOW, a >> _32
    b_low, b_high = b & _LOW, b >> _32
    cross = a_high * b_low + ((a_low * b_low) >> _32)
    middle = a_low * b_high + (cross & _LOW)
    return a_high * b_high + (cross >> _32) + (middle >> _32)


@inner
def philox_word(
    key_0: np.uint64, key_1: np.uint64, counter: np.uint64, stream: np.uint64
) -> np.uint64:
    """First word of the block at counter (counter, stream, 0, 0)."""
    x0, x1, x2, x3 = counter, stream, np.uint64(0), np.uint64(0)
    for _ in range(10):
        high_0, low_0 = high_word(_MULTIPLIER_0, x0), _MULTIPLIER_0 * x0
        high_1, low_1 = high_word(_MULTIPLIER_1, x2), _MULTIPLIER_1 * x2
        x0, x1, x2, x3 = high_1 ^ x1 ^ key_0, low_1, high_0 ^ x3 ^ key_1, low_0
        key_0, key_1 = key_0 + _WEYL_0, key_1 + _WEYL_1
    return x0


@njit(cache=True, nogil=True)
def philox(
    key_0: np.uint64, key_1: np.uint64, counters: np.ndarray, stream: np.uint64
) -> np.ndarray:
    """Return a word for each row number, by the two halves of a 128-bit key.

    A method that needs several draws per row numbers them by `stream`, the second counter word.
    """
    words = np.empty(counters.size, dtype=np.uint64)
    for i in range(counters.size):
        words[i] = philox_word(key_0, key_1, counters[i], stream)
    return words
