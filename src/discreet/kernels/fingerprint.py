"""Words that stand for rows: each cell is folded into its row's word by a keyed multiplication.

Two words are multiplied in 128 bits and both halves of the product are joined, as wyhash and
its kin do. The keys are secret, so nobody can choose cells that fall together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.philox import high_word

_8 = np.uint64(8)


@inner
def folded(key_0: np.uint64, key_1: np.uint64, word: np.uint64, state: np.uint64) -> np.uint64:
    """Fold a word into another, in two rounds."""
    a, b = word ^ key_0, state ^ key_1
    a, b = (a * b) ^ key_1, high_word(a, b) ^ key_0 ^ word
    return (a * b) ^ high_word(a, b) ^ state


@njit(cache=True, nogil=True)
def fold_cells(
    key_0: np.uint64, key_1: np.uint64, words: np.ndarray, states: np.ndarray
) -> np.ndarray:
    """Return the rows' words after one more column, whose cells are words of 64 bits."""
    found = np.empty_like(states)
    for i in range(states.size):
        found[i] = folded(key_0, key_1, words[i], states[i])
    return found


@njit(cache=True, nogil=True)
def text_words(
    key_0: np.uint64, key_1: np.uint64, letters: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Return a word for each text, from its bytes; it begins where `starts` says."""
    words = np.empty(starts.size - 1, np.uint64)
    for i in range(words.size):
        # Its length comes first: "a" and "a\0" are two texts.
        state = np.uint64(starts[i + 1] - starts[i])
        word, filled = np.uint64(0), 0
        for at in range(starts[i], starts[i + 1]):
            word = (word << _8) | np.uint64(letters[at])
            filled += 1
            if filled == 8:
                state = folded(key_0, key_1, word, state)
                word, filled = np.uint64(0), 0
        words[i] = folded(key_0, key_1, word, state)
    return words
