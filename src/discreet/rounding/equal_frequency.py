"""Bins of equal frequency."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.plan import ColumnPlan
from discreet.rounding._base import Encoding, PointRounding, Representative
from discreet.rounding._sizes import Size, point_count, quantiles
from discreet.rounding._spikes import Spikes
from discreet.table.summary import Summary

Ties = Literal["merge", "raise_c", "lower_c"]


@dataclass(eq=False, repr=False)
class EqualFrequency(PointRounding):
    """Bins of about equally many records, cut at the quantiles (type 7).

    A bin includes its lower border, the last one its upper border too. Equal values are never
    split; where a value is so frequent that quantiles coincide, `ties` says what is done.

    Parameters
    ----------
    n_points : int, "freedman-diaconis", or mapping of str to either
        Number of points; by column where a mapping. A column with fewer distinct values gets
        fewer, with a warning.
    ties : {"merge", "raise_c", "lower_c"}
        Where quantiles coincide: make fewer bins, one between each two different quantiles; or take
        the next higher, or the next lower, number of bins whose quantiles all differ. If no higher
        one does, bins are merged. The plan's `c` is the number that was used.
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

    n_points: Size
    _: KW_ONLY
    ties: Ties = "merge"
    representative: Representative = "mean"
    encoding: Encoding = "group"
    min_count: int = 1
    spikes: Spikes = "group"
    random_state: Any = None

    def _merged(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Settle the number of quantiles first, and tell it."""
        asked = point_count(self.n_points, summary, column)
        c = asked if self.ties == "merge" else without_ties(summary, asked, self.ties)
        if c is None:
            c = asked
            if len(summary.values) > 1:
                other = "higher" if self.ties == "raise_c" else "lower"
                warnings.warn(
                    f"column '{column}': no {other} number of parts than {asked} has quantiles "
                    "that all differ; those that coincide are merged",
                    stacklevel=2,
                )
        elif c != asked:
            warnings.warn(
                f"column '{column}' is cut at the quantiles of {c} parts, not {asked}: frequent "
                "values make those coincide",
                stacklevel=2,
            )
        settled = copy(self)
        settled.n_points = c
        return super(EqualFrequency, settled)._merged(summary, column, draws) | {"c": c}

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Cut at the quantiles."""
        return equal_frequency_ends(summary, c)


def without_ties(summary: Summary, c: int, ties: Ties) -> int | None:
    """Return the next number of parts, up or down, with distinct quantiles, if there is one.

    Two quantiles fall on a value that m records share for sure if they are at most (m - 1) / 2
    records apart, so there is none from 2 (n - 1) / (m - 1) parts on.

    Examples
    --------
    >>> shared = Summary(np.arange(8.0), np.array([1, 1, 1, 3, 1, 1, 1, 1]))
    >>> without_ties(shared, 6, "raise_c"), without_ties(shared, 6, "lower_c")
    (7, 5)
    """
    shared = int(summary.counts.max())
    if shared == 1:
        return c
    most = (2 * (summary.n - 1) - 1) // (shared - 1)
    options = range(c, most + 1) if ties == "raise_c" else range(min(c, most), 0, -1)
    return next((i for i in options if (np.diff(quantiles(summary, i)) > 0).all()), None)


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
