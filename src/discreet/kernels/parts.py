"""Passes over sorted values and their parts, for which numpy would need many temporaries."""

import numpy as np
from numba import njit


@njit(cache=True)
def distinct(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of sorted ones, and how often each occurs."""
    n = ordered.size
    size = 1 if n else 0
    for i in range(1, n):
        size += ordered[i] != ordered[i - 1]
    counts = np.ones(size, np.int64)
    if size == n:
        return ordered, counts
    values = np.empty(size)
    at = 0
    values[0] = ordered[0]
    for i in range(1, n):
        if ordered[i] == values[at]:
            counts[at] += 1
        else:
            at += 1
            values[at] = ordered[i]
    return values, counts


@njit(cache=True)
def class_counts(counts: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
    """Count the classes 0..classes-1 of the records of each value; codes are in sorted order."""
    table = np.zeros((counts.size, classes), np.int32)
    record = 0
    for i in range(counts.size):
        for _ in range(counts[i]):
            table[i, codes[record]] += 1
            record += 1
    return table


@njit(cache=True)
def part_means(values: np.ndarray, counts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the mean of each part, summed about its first value to avoid cancellation."""
    means = np.empty(ends.size)
    start = 0
    for part in range(ends.size):
        first = values[start]
        total, records = 0.0, 0
        for i in range(start, ends[part]):
            total += (values[i] - first) * counts[i]
            records += counts[i]
        means[part] = first + total / records
        start = ends[part]
    return means


@njit(cache=True)
def part_losses(
    values: np.ndarray, counts: np.ndarray, ends: np.ndarray, points: np.ndarray, absolute: bool
) -> float:
    """Sum the records' squared, or absolute, distances to the points of their parts."""
    total, start = 0.0, 0
    for part in range(ends.size):
        for i in range(start, ends[part]):
            off = abs(values[i] - points[part])
            total += counts[i] * (off if absolute else off * off)
        start = ends[part]
    return total


@njit(cache=True)
def spread(points: np.ndarray, ends: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the point of each row's part, NaN if it has none; `rows` are in sorted order."""
    new = np.full(n, np.nan)
    start = 0
    for part in range(ends.size):
        for i in range(start, ends[part]):
            new[rows[i]] = points[part]
        start = ends[part]
    return new


@njit(cache=True)
def bootstrap_means(values: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the mean of one bootstrap sample of full size for each row of random words.

    Each of the ceil(m / 2) words in a row picks two of the m sorted values; m < 2**16, so that
    picking by 32 bits favours no value visibly.
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


@njit(cache=True)
def resampled_means(
    records: np.ndarray, starts: np.ndarray, sizes: np.ndarray, words: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Return the mean of m * m values that are drawn from each part of m sorted records.

    Part i picks by the words from `at[i]` on, two values by each.
    """
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    means = np.empty(starts.size)
    for part in range(starts.size):
        m = np.uint64(sizes[part])
        start = starts[part]
        total = 0.0
        picks = sizes[part] * sizes[part]
        for pick in range(picks):
            word = words[at[part] + pick // 2]
            bits = word >> half if pick % 2 else word & low
            total += records[start + np.int64((bits * m) >> half)] - records[start]
        means[part] = records[start] + total / picks
    return means
