"""Bins of equal frequency."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.rounding._base import PointRounding
from discreet.rounding._sizes import quantiles
from discreet.table.summary import Summary


class EqualFrequency(PointRounding):
    """Bins of about equally many records, cut at the quantiles (type 7).

    A bin includes its lower border, the last one its upper border too. Equal values are never
    split; where a value is so frequent that quantiles coincide, there are fewer bins.

    Parameters
    ----------
    n_points : int, "freedman-diaconis", or mapping of str to either
        Number of points; by column where a mapping. A column with fewer distinct values gets
        fewer, with a warning.
    representative : {"mean", "median", "midpoint"}
        The value that stands for a part.
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
        For the stochastic encoding.

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
    EqualWidth : bins of equal width.
    OMA : for a minimum number of records per released value.

    Examples
    --------
    >>> import numpy as np
    >>> minutes = np.array([[0.0], [5.0], [10.0], [12.0], [28.0], [30.0]])
    >>> EqualFrequency(n_points=2).fit_transform(minutes).ravel()
    array([ 5.        ,  5.        ,  5.        , 23.33333333, 23.33333333, 23.33333333])
    """

    recipe_name: ClassVar[str] = "equal-frequency"
    fewer_because: ClassVar[str] = "frequent values make its quantiles coincide"

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Cut at the quantiles."""
        return equal_frequency_ends(summary, c)


def equal_frequency_ends(summary: Summary, c: int) -> np.ndarray:
    """Return the ends (exclusive, among the distinct values) of the bins between the quantiles.

    Examples
    --------
    >>> equal_frequency_ends(Summary(np.array([1.0, 2.0, 3.0]), np.array([1, 9, 2])), 4)
    array([1, 3])
    """
    if c >= summary.n:  # there is a quantile between any two records
        return np.arange(1, len(summary.values) + 1)
    borders = np.unique(quantiles(summary, c))[1:-1]
    ends = np.append(np.searchsorted(summary.values, borders), len(summary.values))
    return np.unique(ends[ends > 0])
