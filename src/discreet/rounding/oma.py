"""Optimal univariate microaggregation (Hansen and Mukherjee 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.kernels.oma import oma_l1, oma_l1_counts, oma_l2, oma_l2_counts, oma_units
from discreet.kernels.parts import part_losses
from discreet.outcome import Decision, Given, Outcome
from discreet.plan import ColumnPlan
from discreet.rounding._base import Encoding, GroupRounding, Representative
from discreet.rounding._plans import represent
from discreet.rounding._sizes import Size
from discreet.rounding._spikes import Spikes

Objective = Literal["l2", "l1"]


@dataclass(eq=False, repr=False)
class OMA(GroupRounding):
    """Optimal microaggregation of each column: groups of at least k neighbouring values.

    Of all partitions of the sorted values into groups of at least k records it takes the one with
    the least within-group sum of squares, and replaces each value by its group's point.

    Parameters
    ----------
    k : int, "freedman-diaconis", or mapping of str to either
        Smallest number of records that a released value stands for, or of units where `fit` is
        given these; by column where a mapping.
    objective : {"l2", "l1"}
        What is minimised: squared distances to the group's mean, or absolute ones to its median.
    representative : {"mean", "median", "midpoint", "resampled-mean"}
        The value that stands for a group; the last is the mean of bootstrap samples' means.
    encoding : {"group", "nearest", "stochastic"}
        Replace a value by its own group's point, by the closest point, or by one of the two
        neighbouring points at random so that means are kept. Only `"group"` promises k.
    keep_ties : bool
        True: equal values are never split, the plan is a function of the value and groups may
        exceed 2k-1. False: groups of k to 2k-1 records, equal values at a border are split in
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
    spikes: Spikes = "group"
    random_state: Any = None

    def groups(
        self, values: np.ndarray, counts: np.ndarray | None, k: int, back: np.ndarray | None
    ) -> np.ndarray:
        """Find the optimal partition."""
        squares = self.objective == "l2"
        if back is not None:
            counts = np.ones(len(values), np.int64) if counts is None else counts
            return oma_units(values, counts, back, not squares)
        if counts is None:
            return (oma_l2 if squares else oma_l1)(values, k)
        return (oma_l2_counts if squares else oma_l1_counts)(values, counts, k)

    def figures(
        self, values: np.ndarray, counts: np.ndarray | None, ends: np.ndarray, k: int
    ) -> ColumnPlan:
        """Return the loss, and what it would be if k counted rows: the price of counting units."""
        each = np.ones(len(values), np.int64) if counts is None else counts
        whole = self._within(values, each, ends[-1:]) or 1.0
        by_rows = self.groups(values, counts, k, None)
        return {
            "loss": self._within(values, each, ends) / whole,
            "loss_counting_rows": self._within(values, each, by_rows) / whole,
        }

    def _within(self, values: np.ndarray, counts: np.ndarray, ends: np.ndarray) -> float:
        """Return what is minimised."""
        absolute = self.objective == "l1"
        points = represent(values, counts, ends, "median" if absolute else "mean")
        return part_losses(values, counts, ends, points, absolute)

    def decide_from(self, *args: Any, **more: Any) -> Decision:
        """Decide on each column from its distinct values and counts."""
        decision = super().decide_from(*args, **more)
        return replace(decision, figures=_figures(decision.plans))

    def _run(self, given: Given) -> Outcome:
        outcome = super()._run(given)
        return replace(outcome, figures=_figures(outcome.plans))


def _figures(plans: dict[str, ColumnPlan]) -> dict[str, Any]:
    """Return the losses of columns in which units have several rows, for the log."""
    told = {name: plan for name, plan in plans.items() if "loss" in plan}
    names: tuple[Literal["loss", "loss_counting_rows"], ...] = ("loss", "loss_counting_rows")
    return {key: {name: plan[key] for name, plan in told.items()} for key in names if told}
