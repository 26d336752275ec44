"""Optimal univariate microaggregation (Hansen and Mukherjee 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.kernels.oma import oma_l1, oma_l1_counts, oma_l2, oma_l2_counts
from discreet.rounding._base import Encoding, GroupRounding, Representative
from discreet.rounding._sizes import Size

Objective = Literal["l2", "l1"]


@dataclass(eq=False, repr=False)
class OMA(GroupRounding):
    """Optimal microaggregation of each column: groups of at least k neighbouring values.

    Of all partitions of the sorted values into groups of at least k records it takes the one with
    the least within-group sum of squares, and replaces each value by its group's point.

    Parameters
    ----------
    k : int, "freedman-diaconis", or mapping of str to either
        Smallest number of records that a released value stands for; by column where a mapping.
    objective : {"l2", "l1"}
        What is minimised: squared distances to the group's mean, or absolute ones to its median.
    representative : {"mean", "median", "midpoint"}
        The value that stands for a group.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own group's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises k.
    keep_ties : bool
        True: equal values are never split, the plan is a function of the value and groups may
        exceed 2k-1. False: groups of k to 2k-1 records, equal values at a border are split in
        row order.
    random_state : int, RandomState instance or None
        For the stochastic encoding.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Sorted points of each column.
    group_sizes_ : dict of str to ndarray
        Records in each group.
    n_points_ : dict of str to int
    plan_ : dict of str to dict
        Cuts, points and counts of each column.

    See Also
    --------
    discreet.perturbation.TopBottom : for a few extreme values only.

    Examples
    --------
    Six salaries, of which the largest would give its owner away:

    >>> import numpy as np
    >>> salaries = np.array([[2100.0], [2300.0], [2200.0], [5000.0], [5400.0], [19000.0]])
    >>> OMA(k=3).fit_transform(salaries).ravel()
    array([2200., 2200., 2200., 9800., 9800., 9800.])
    """

    recipe_name: ClassVar[str] = "oma"

    k: Size
    _: KW_ONLY
    objective: Objective = "l2"
    representative: Representative = "mean"
    encoding: Encoding = "group"
    keep_ties: bool = True
    random_state: Any = None

    def groups(self, values: np.ndarray, counts: np.ndarray | None, k: int) -> np.ndarray:
        """Find the optimal partition."""
        if counts is None:
            return (oma_l2 if self.objective == "l2" else oma_l1)(values, k)
        return (oma_l2_counts if self.objective == "l2" else oma_l1_counts)(values, counts, k)
