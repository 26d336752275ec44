"""Rank swapping (Moore 1996): whom each rank is swapped with.

The ranks are walked up. One that was not swapped yet is swapped with another such rank, drawn
uniformly from those at most `window` ranks ahead.

1. Drawing. A rank ahead is drawn and, where it was swapped before, drawn again. On average seven in
   ten ranks of the window are still free, so that this takes 1.4 draws; in the last window, where
   no new ranks come in, fewer and fewer are, but the draws wasted there stay in proportion to it.
2. Stopping. The free ranks ahead are counted as the walk goes. There are none only at the end, for
   one rank of an odd number: it stays.

The draws of rank i are the words (i, 0), (i, 1), ... of the generator, so the result depends on
the key, the number of ranks and the window alone.

Where the window is drawn too, a rank is swapped with the k-th of the F ranks that are still free,
all of them ahead, k being geometric: P(k) ~ exp(-k / m) for k = 1..F. No pair of ranks is excluded.

1. Drawing. One word, by the inverse distribution function.
2. Finding the k-th free rank. A Fenwick tree counts them: O(log n) to find one and to take it out.

How far that goes. Half of the ranks start a swap, so ahead of the walk, at distance d, a share f(d)
is free, from 1/2 near to 1 far away. With G(d) the share of jumps beyond d, G' = -f G / m and
f = 1 - G / 2, which gives G = 2 / (1 + exp(d / m)): moves follow the logistic distribution of scale
m, with a mean length of 2 m log 2. In a fixed window w jumps have the density log(2) 2^(d / w) / w
and a mean of (2 - 1 / log 2) w = 0.557 w, so that m = 0.402 w goes as far on average. At the ends
of the ranks both go less far.
"""

import math

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.philox import high_word, philox_word


@njit(cache=True, nogil=True)
def swap_partners(n: int, window: int, key_0: np.uint64, key_1: np.uint64) -> np.ndarray:
    """Return the rank that each of n ranks is swapped with: its own if it stays.

    The window is at least 1, and the keys are the generator's.
    """
    partner = np.full(n, -1, np.int64)
    # Free ranks among i+1..i+window; for the step before the first, among 0..window-1.
    free = min(window, n)
    for i in range(n):
        if i + window < n:
            free += 1
        if partner[i] >= 0:
            continue
        free -= 1
        if free == 0:
            partner[i] = i
            continue
        ahead = np.uint64(min(window, n - 1 - i))
        j = i
        attempt = np.uint64(0)
        while j == i or partner[j] >= 0:
            word = philox_word(key_0, key_1, np.uint64(i), attempt)
            j = i + 1 + int(high_word(word, ahead))
            attempt += np.uint64(1)
        partner[i], partner[j] = j, i
        free -= 1
    return partner


@njit(cache=True, nogil=True)
def drawn_partners(n: int, m: float, key_0: np.uint64, key_1: np.uint64) -> np.ndarray:
    """Return the rank that each of n ranks is swapped with, at any distance: its own if it stays.

    m is the mean number of free ranks that a jump goes, where none ends it.
    """
    partner = np.arange(n)
    taken = np.zeros(n, np.bool_)
    # free[j] counts the free ranks among the j & -j up to rank j - 1; all are free now.
    free = np.arange(n + 1) & -np.arange(n + 1)
    highest = 1
    while 2 * highest <= n:
        highest *= 2
    left = n
    for i in range(n):
        if taken[i]:
            continue
        _take(free, i)
        left -= 1
        if left == 0:
            break
        word = philox_word(key_0, key_1, np.uint64(i), np.uint64(0))
        u = (float(word >> np.uint64(12)) + 0.5) * 2.0**-52
        k = min(int(-m * math.log(u + (1 - u) * math.exp(-left / m))), left - 1)
        j, step = 0, highest
        while step > 0:
            if j + step <= n and free[j + step] <= k:
                j += step
                k -= free[j]
            step //= 2
        _take(free, j)
        left -= 1
        taken[j] = True
        partner[i], partner[j] = j, i
    return partner


@inner
def _take(free: np.ndarray, rank: int) -> None:
    """Count a rank out."""
    j = rank + 1
    while j < free.size:
        free[j] -= 1
        j += j & -j


@njit(cache=True, nogil=True)
def swap_rows(
    ordered: np.ndarray, rows: np.ndarray, partner: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the new value of each of n rows, NaN for a null, and the row that it came from.

    `ordered` and `rows` are the values that are not null and the row of each, `partner` is of each
    rank.
    """
    new, sources = np.full(n, np.nan), np.arange(n)
    # By rank, and not by row: partners are near each other in memory, their rows are not.
    for rank in range(rows.size):
        new[rows[rank]] = ordered[partner[rank]]
        sources[rows[rank]] = rows[partner[rank]]
    return new, sources
