"""Means of bootstrap samples."""

import numpy as np
from numba import njit


@njit(cache=True)
def bootstrap_means(values: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the mean of one bootstrap sample of full size for each row of words.

    Parameters
    ----------
    values : ndarray of float64
        m sorted values, m < 2**16, so that picking by 32 bits favours no value visibly.
    words : ndarray of uint64 of shape (samples, ceil(m / 2))
        Random; each word picks two values.
    """
    m = np.uint64(values.size)
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    means = np.empty(words.shape[0])
    for s in range(words.shape[0]):
        total = 0.0
        for word in words[s, : values.size // 2]:
            total += values[((word & low) * m) >> half] - values[0]
            total += values[((word >> half) * m) >> half] - values[0]
        if values.size % 2:
            total += values[((words[s, -1] & low) * m) >> half] - values[0]
        means[s] = values[0] + total / values.size
    return means
