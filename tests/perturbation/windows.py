"""The attack on rank swapping by one who knows p (Nin, Herranz and Torra 2008), by brute force."""

import numpy as np


def intersected(original, released, p):
    """For each original the released records within p % of the ranks in every column."""
    possible = np.ones((len(original), len(original)), dtype=bool)
    for x, y in zip(original.T, released.T, strict=True):
        ordered = np.sort(x)
        (x_low, x_high), (y_low, y_high) = (
            (np.searchsorted(ordered, v, "left"), np.searchsorted(ordered, v, "right") - 1)
            for v in (x, y)
        )
        # The ranks of equal values are not known, so that the nearest count.
        gap = np.maximum(x_low[:, None] - y_high, y_low - x_high[:, None])
        possible &= gap <= int(p * len(x) / 100)
    return possible


def found_for_certain(original, released, p):
    """Share of the records that the intersection of windows leaves alone, and rightly so."""
    possible = intersected(original, released, p)
    return (possible.diagonal() & (possible.sum(axis=1) == 1)).mean()
