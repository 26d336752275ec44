"""K-means: in one dimension the optimum or a search for a local one, in several a search."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.kmeans import kmeans_l1, kmeans_l2, lloyd
from discreet.rounding._base import Encoding, Representative
from discreet.rounding._clusters import kmeans
from discreet.rounding._joint import JointRounding
from discreet.rounding._sizes import Size
from discreet.rounding._spikes import Spikes
from discreet.table.summary import Summary

Objective = Literal["l2", "l1"]
Solver = Literal["optimal", "lloyd"]


@dataclass(eq=False, repr=False)
class KMeans(JointRounding):
    """The parts with the least sum of squares within them.

    In one dimension clusters are intervals, and the best of all partitions can be found. With
    `joint` the clusters are of records, over all columns together.

    Parameters
    ----------
    n_points : int, "freedman-diaconis", or mapping of str to either
        Number of points; by column where a mapping. A column with fewer distinct values gets
        fewer, with a warning.
    solver : {"optimal", "lloyd"}
        The global optimum; or Lloyd's iteration from one random start, as in the literature.
    objective : {"l2", "l1"}
        What the optimum minimises: squared distances to means, or absolute ones to medians.
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
    joint : bool
        Group records over all columns together, as points of z-scores: Lloyd's iteration, from
        parts of equal size. A group of fewer than `min_count` takes records from others, those that
        this costs least. Every tuple that is released then stands for `min_count` records, which
        is k-anonymity on these columns. Takes `n_points` as a number, `encoding="group"`,
        `spikes="group"` and the objective l2; there is no `transform`. Records are grouped within
        one pattern of nulls, and blanked where fewer than `min_count` share it.
    random_state : int, RandomState instance or None
        For the stochastic encoding, the re-sampled mean and Lloyd's start.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Sorted points of each column.
    group_sizes_ : dict of str to ndarray
        Records in each part.
    n_points_ : dict of str to int
    plan_ : dict of str to dict
        Cuts, points and counts of each column; with `joint` the groups, and under `columns` their
        centres.
    groups_ : ndarray of int
        With `joint`, the group of each record; -1 where it was blanked.
    loss_ : float
        With `joint`, 100 * sum of squares within groups / total sum of squares, of z-scores.

    See Also
    --------
    OMA : for a minimum number of records per released value.
    discreet.microaggregation.Microaggregation : groups of records by their size.

    Examples
    --------
    >>> import numpy as np
    >>> minutes = np.array([[0.0], [5.0], [10.0], [12.0], [28.0], [90.0]])
    >>> KMeans(n_points=3).fit_transform(minutes).ravel()
    array([ 6.75,  6.75,  6.75,  6.75, 28.  , 90.  ])

    Two columns together, in groups of three companies or more:

    >>> companies = np.array([[1, 10], [50, 99], [2, 12], [3, 14], [52, 93], [54, 90]])
    >>> KMeans(n_points=2, min_count=3, joint=True).fit_transform(companies)
    array([[ 2., 12.],
           [52., 94.],
           [ 2., 12.],
           [ 2., 12.],
           [52., 94.],
           [52., 94.]])
    """

    recipe_name: ClassVar[str] = "kmeans"
    in_words: ClassVar[str] = "each value is replaced by the centre of a cluster of similar values"
    fewer_because: ClassVar[str] = "the other clusters ran empty"

    n_points: Size
    _: KW_ONLY
    solver: Solver = "optimal"
    objective: Objective = "l2"
    representative: Representative = "mean"
    encoding: Encoding = "group"
    min_count: int = 1
    spikes: Spikes = "group"
    joint: bool = False
    random_state: Any = None

    @property
    def is_random(self) -> bool:
        """True for Lloyd's solver too, which starts at random."""
        return super().is_random or self.solver == "lloyd"

    def check_params(self) -> None:
        """Refuse l1 with Lloyd's solver, and both where columns are treated together."""
        super().check_params()
        if self.solver == "lloyd" and self.objective == "l1":
            raise BadInput("solver = 'lloyd' minimises squares; use 'optimal' with objective 'l1'")
        if self.joint and (self.solver, self.objective) != ("optimal", "l2"):
            raise BadInput(
                "joint = true minimises squares from a start of its own; leave solver and "
                "objective out"
            )

    def clusters(
        self, points: np.ndarray, c: int, units: np.ndarray | None, draws: Draws
    ) -> tuple[np.ndarray, None]:
        """Group points into clusters that are large enough."""
        return kmeans(points, c, self.min_count, units), None

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Solve for c clusters, or for as many as there are distinct values."""
        c = min(c, len(summary.values))
        if self.solver == "lloyd":
            # Distinct values, drawn without replacement, are the first centres.
            words = draws.words(np.arange(len(summary.values)), stream=1)
            centres = summary.values[np.argpartition(words, c - 1)[:c]]
            _, ends = lloyd(summary.values, summary.counts, centres)
            return np.unique(ends[ends > 0])
        solve = kmeans_l2 if self.objective == "l2" else kmeans_l1
        return solve(summary.values, summary.counts, c)
