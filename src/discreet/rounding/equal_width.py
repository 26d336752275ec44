"""Bins of equal width."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.rounding._base import PointRounding
from discreet.table.summary import Summary

# Numbers of bins up to this one are exact in float64, with digits to spare.
MOST_BINS = 1 << 50


class EqualWidth(PointRounding):
    """Bins of equal width from the smallest to the largest value.

    A bin includes its lower border, the last one its upper border too. Empty bins get no point.

    Parameters
    ----------
    n_points : int, "freedman-diaconis", or mapping of str to either
        Number of points; by column where a mapping. A column with fewer distinct values gets
        fewer, with a warning.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
        The value that stands for a part; the last is the mean of bootstrap samples' means.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own part's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises `min_count`.
    min_count : int
        A part of fewer records, or units where `fit` is given these, is merged with the neighbour
        whose point is nearest. A recipe that does not state it is refused where a point would stand
        for fewer than 3 records.
    spikes : {"group", "keep"}
        A value that at least `min_count`, and 5 % of all, share is grouped like any other, or it is
        kept and the others are grouped without it.
    random_state : int, RandomState instance or None
        For the stochastic encoding and the re-sampled mean.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Sorted points of each column.
    group_sizes_ : dict of str to ndarray
        Records in each part.
    n_points_ : dict of str to int
    plan_ : dict of str to dict
        Cuts, points and counts of each column.

    See Also
    --------
    EqualFrequency : bins of about equally many records.
    KMeans : the parts with the least sum of squares.

    Examples
    --------
    >>> import numpy as np
    >>> minutes = np.array([[0.0], [5.0], [10.0], [12.0], [28.0], [30.0]])
    >>> EqualWidth(n_points=3).fit_transform(minutes).ravel()
    array([ 2.5,  2.5, 11. , 11. , 29. , 29. ])
    """

    recipe_name: ClassVar[str] = "equal-width"
    fewer_because: ClassVar[str] = "the other bins are empty"

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Cut at equal distances."""
        return equal_width_ends(summary, c)


def equal_width_ends(summary: Summary, c: int) -> np.ndarray:
    """Return the ends (exclusive, among the distinct values) of c bins of equal width.

    Examples
    --------
    >>> equal_width_ends(Summary(np.array([0.0, 1.0, 2.0, 9.0]), np.ones(4, dtype=int)), 3)
    array([3, 4])
    """
    values, c = summary.values, min(c, MOST_BINS)
    width = (values[-1] - values[0]) / c
    if width == 0:  # so narrow that no bin holds two values
        return np.arange(1, len(values) + 1)
    # The bin of each value, by its number, which takes no memory for empty bins. The quotient may
    # be off by rounding: the borders, as they are computed, decide.
    bins = np.floor((values - values[0]) / width)
    bins -= values[0] + bins * width > values
    bins += values[0] + (bins + 1) * width <= values
    bins = np.minimum(bins, c - 1)
    return np.append(np.flatnonzero(np.diff(bins)) + 1, len(values))
