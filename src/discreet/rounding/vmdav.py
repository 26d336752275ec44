"""V-MDAV microaggregation of one column at a time (Solanas and Martinez-Balleste 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.kernels.mdav import vmdav
from discreet.kernels.units import first_ends
from discreet.parameters import Constraints, number
from discreet.rounding._base import Encoding, GroupRounding, Representative
from discreet.rounding._sizes import Size
from discreet.rounding._spikes import Spikes


@dataclass(eq=False, repr=False)
class VMDAV(GroupRounding):
    """Groups of k to 2k-1 values from the outside in, larger where values lie close together.

    A group starts with the k values at the end farther from the column's mean and grows inwards
    while the next value is near to it: no farther than `gamma` times that value's distance to its
    own next neighbour. Fewer than k values left over join the group with the nearest centre.

    Parameters
    ----------
    k : int, "freedman-diaconis", or mapping of str to either
        Smallest number of records that a released value stands for, or of units where `fit` is
        given these; by column where a mapping.
    gamma : float
        How readily a group grows; 0 gives groups of k.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
        The value that stands for a group; the last is the mean of bootstrap samples' means.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own group's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises k.
    keep_ties : bool
        True: equal values are never split, the plan is a function of the value and groups may
        exceed 2k-1. False: records are grouped one by one, equal values at a border are split in
        row order.
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
    MDAV : groups of k.

    Examples
    --------
    The third time is so near to the first two that it joins them:

    >>> import numpy as np
    >>> minutes = np.array([[5.0], [8.0], [9.0], [40.0], [42.0]])
    >>> VMDAV(k=2).fit_transform(minutes).ravel()
    array([ 7.33333333,  7.33333333,  7.33333333, 41.        , 41.        ])
    """

    recipe_name: ClassVar[str] = "vmdav"
    constraints: ClassVar[Constraints] = {"gamma": number(least=0)}

    k: Size
    _: KW_ONLY
    gamma: float = 0.2
    representative: Representative = "mean"
    encoding: Encoding = "group"
    keep_ties: bool = True
    spikes: Spikes = "group"
    random_state: Any = None

    def groups(
        self, values: np.ndarray, counts: np.ndarray | None, k: int, back: np.ndarray | None
    ) -> np.ndarray:
        """Take groups from the two ends, and let them grow."""
        if back is None:
            return vmdav(values, counts, k, float(self.gamma))
        return vmdav(values, counts, k, float(self.gamma), back, first_ends(back))
