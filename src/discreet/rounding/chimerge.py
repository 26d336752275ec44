"""Intervals merged while their classes are alike (Kerber 1992)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.kernels.supervised import chimerge
from discreet.parameters import Constraints, number
from discreet.rounding._base import Encoding, Representative
from discreet.rounding._spikes import Spikes
from discreet.rounding._supervised import SupervisedRounding


@dataclass(eq=False, repr=False)
class ChiMerge(SupervisedRounding):
    """Intervals that merge while the classes in them do not differ significantly.

    Each distinct value starts as an interval. The two neighbours with the smallest chi-square are
    merged while it is under the quantile 1 - `alpha` with classes - 1 degrees of freedom. The
    classes are `y`; in a recipe, the column whose role is target.

    Parameters
    ----------
    alpha : float
        Level of significance, between 0 and 1; the smaller, the fewer points.
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
    MDLP : from the whole to parts, by entropy.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.array([[18.0], [20.0], [22.0], [24.0], [30.0], [33.0], [36.0], [40.0]])
    >>> has_children = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> ChiMerge().fit_transform(age, has_children).ravel()
    array([21.  , 21.  , 21.  , 21.  , 34.75, 34.75, 34.75, 34.75])
    """

    recipe_name: ClassVar[str] = "chimerge"
    constraints: ClassVar[Constraints] = {
        "alpha": number(above=0, below=1, wanted="a number between 0 and 1")
    }

    _: KW_ONLY
    alpha: float = 0.05
    representative: Representative = "mean"
    encoding: Encoding = "group"
    min_count: int = 1
    spikes: Spikes = "group"
    random_state: Any = None

    def cut(self, classes: np.ndarray) -> np.ndarray:
        """Merge while neighbours are alike."""
        from scipy.stats import chi2

        return chimerge(classes, float(chi2.ppf(1 - self.alpha, classes.shape[1] - 1)))
