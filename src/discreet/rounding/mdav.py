"""MDAV microaggregation of one column at a time (Domingo-Ferrer and Torra 2005)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.kernels.mdav import mdav
from discreet.kernels.units import first_ends
from discreet.rounding._base import Encoding, GroupRounding, Representative
from discreet.rounding._sizes import Size
from discreet.rounding._spikes import Spikes


@dataclass(eq=False, repr=False)
class MDAV(GroupRounding):
    """Groups of k values from the outside in, by maximum distance to the average.

    While 3k or more values are left, k are taken from the end farther from their mean and k from
    the other end; if then 2k or more are left, k more from the farther end; the rest is one group.

    Parameters
    ----------
    k : int, "freedman-diaconis", or mapping of str to either
        Smallest number of records that a released value stands for, or of units where `fit` is
        given these; by column where a mapping.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
        The value that stands for a group; the last is the mean of bootstrap samples' means.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own group's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises k.
    keep_ties : bool
        True: equal values are never split, the plan is a function of the value and groups may
        exceed k. False: groups of k records but for the last one, equal values at a border are
        split in row order.
    spikes : {"group", "keep"}
        A value that at least k, and 5 % of all, share is grouped like any other, or it is
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
    OMA : the optimal groups, as quick to find.
    VMDAV : groups of varying size.

    Examples
    --------
    Commuting times, of which the longest is the farthest from their mean:

    >>> import numpy as np
    >>> minutes = np.array([[5.0], [8.0], [10.0], [11.0], [40.0], [95.0]])
    >>> MDAV(k=2).fit_transform(minutes).ravel()
    array([ 6.5,  6.5, 10.5, 10.5, 67.5, 67.5])
    """

    recipe_name: ClassVar[str] = "mdav"

    k: Size
    _: KW_ONLY
    representative: Representative = "mean"
    encoding: Encoding = "group"
    keep_ties: bool = True
    spikes: Spikes = "group"
    random_state: Any = None

    def groups(
        self, values: np.ndarray, counts: np.ndarray | None, k: int, back: np.ndarray | None
    ) -> np.ndarray:
        """Take groups from the two ends."""
        if back is None:
            return mdav(values, counts, k)
        return mdav(values, counts, k, back, first_ends(back))
