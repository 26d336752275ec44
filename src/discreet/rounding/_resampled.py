"""The re-sampled mean: the mean of the means of bootstrap samples of a part."""

from __future__ import annotations

import numpy as np

from discreet.draws import Draws
from discreet.kernels.parts import part_means, resampled_means

RESAMPLED = "resampled-mean"
# As many samples as a part has values, and at most this many.
MOST_SAMPLES = 2000
# Above this many values, and so 10,000 picks, the mean is drawn from its normal limit.
MOST_PICKED = 100
# Words drawn at a time: 8 MB.
BLOCK = 1 << 20
# Other draws of a column have streams by small numbers.
_PICKS, _LIMITS = 1 << 40, (1 << 40) + 1


def resampled(values: np.ndarray, counts: np.ndarray, ends: np.ndarray, draws: Draws) -> np.ndarray:
    """Return the re-sampled mean of each part of sorted values with counts.

    The mean of B means of samples of m values is the mean of B * m values that are drawn one by
    one. In a part of at most 100 values B = m, and all of them are drawn; in a larger one the mean
    of so many is normal, with the part's mean and its variance over B * m.

    Examples
    --------
    >>> values, each = np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4, np.int64)
    >>> resampled(values, each, np.array([3, 4]), Draws(7, "age")).round(2)
    array([2.33, 9.  ])
    """
    records = np.repeat(values, counts)
    ends = np.cumsum(counts)[ends - 1]
    starts = np.append(0, ends[:-1])
    sizes = ends - starts
    means = np.clip(_limits(records, ends, sizes, draws), records[starts], records[ends - 1])
    (picked,) = np.nonzero(sizes <= MOST_PICKED)
    # Each word picks two values.
    words = np.append(0, np.cumsum((sizes[picked] ** 2 + 1) // 2))
    first = 0
    while first < len(picked):
        last = max(first + 1, int(np.searchsorted(words, words[first] + BLOCK, side="right")) - 1)
        drawn = draws.words(np.arange(words[first], words[last]), _PICKS)
        some = picked[first:last]
        means[some] = resampled_means(
            records, starts[some], sizes[some], drawn, words[first:last] - words[first]
        )
        first = last
    return means


def _limits(records: np.ndarray, ends: np.ndarray, sizes: np.ndarray, draws: Draws) -> np.ndarray:
    """Draw the mean of each part from its normal limit."""
    means = part_means(records, np.ones(len(records), np.int64), ends)
    # In shares of a part's range, whose squares are neither too large nor all too small.
    span = records[ends - 1] - records[ends - sizes]
    off = (records - np.repeat(means, sizes)) / np.repeat(np.where(span > 0, span, 1.0), sizes)
    variances = np.add.reduceat(off * off, ends - sizes) / sizes
    errors = span * np.sqrt(variances / (sizes * np.minimum(sizes, MOST_SAMPLES)))
    return means + errors * draws.normal(np.arange(len(ends)), _LIMITS)
