"""Entropy cuts with the MDL stopping rule (Fayyad and Irani 1993)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.kernels.supervised import mdlp
from discreet.rounding._base import Encoding, Representative
from discreet.rounding._spikes import Spikes
from discreet.rounding._supervised import SupervisedRounding


@dataclass(eq=False, repr=False)
class MDLP(SupervisedRounding):
    """Cuts where the classes change, as many as the data can justify.

    The cut that leaves the least class entropy on its two sides is taken, and each side cut again,
    while the gain exceeds what it costs to describe the cut (minimum description length). The
    classes are `y`; in a recipe, the column whose role is target.

    Parameters
    ----------
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
    ChiMerge : from many intervals to few, by chi-square.

    Examples
    --------
    Whether somebody has children depends on age here, and on nothing finer than two ages:

    >>> import numpy as np
    >>> age = np.array([[18.0], [20.0], [22.0], [24.0], [30.0], [33.0], [36.0], [40.0]] * 3)
    >>> has_children = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 3)
    >>> MDLP().fit_transform(age, has_children)[:8].ravel()
    array([21.  , 21.  , 21.  , 21.  , 34.75, 34.75, 34.75, 34.75])
    """

    recipe_name: ClassVar[str] = "mdlp"

    _: KW_ONLY
    representative: Representative = "mean"
    encoding: Encoding = "group"
    min_count: int = 1
    spikes: Spikes = "group"
    random_state: Any = None

    def cut(self, classes: np.ndarray) -> np.ndarray:
        """Cut while it pays."""
        return mdlp(classes)
