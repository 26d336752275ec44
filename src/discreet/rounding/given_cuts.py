"""Rounding to points that are given: those of an earlier release, or of a published table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import largest, per_column
from discreet.outcome import Counted, Rounder
from discreet.parameters import Constraints, Rule, as_float, whole
from discreet.plan import ColumnPlan
from discreet.rounding._base import Encoding, Rounding
from discreet.rounding._spikes import among
from discreet.table.summary import Summary

# Values that lie far beyond the outermost points are told from this share on.
FAR_SHARE = 0.01

Given = list[float] | Mapping[str, list[float]]


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list | tuple) and bool(
        np.isfinite([as_float(x) for x in values]).all()
    )


_NUMBERS = Rule(wanted="a list of numbers", good=_are_numbers, by_column=True)


@dataclass(eq=False, repr=False)
class GivenCuts(Rounding):
    """Replace each value by the point of its interval; intervals and points are given.

    Nothing is chosen by the rows, so that tables of several years get the same values. The first
    and the last interval are open: they have whatever lies beyond the outermost cuts.

    Parameters
    ----------
    cuts : list of float, or mapping of str to such lists
        Where each interval but the first begins, in order; by column where a mapping.
    points : list of float, or mapping of str to such lists
        What each interval becomes, in order: one more than there are cuts.
    kept : list of float, or mapping of str to such lists, optional
        Values that stay what they are, whatever interval they lie in.
    min_count : int, or mapping of str to int
        Smallest number of records that a released point may stand for, or of units where `fit` is
        given these. Nothing is merged to reach it: the check finds out whether it holds.
    encoding : {"group", "nearest", "stochastic"}
        An interval's own point, the nearest of all points, or one of the two neighbouring points
        at random. Only `"group"` promises `min_count`.
    random_state : int, RandomState instance or None
        For the stochastic encoding.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Points of each column.
    group_sizes_ : dict of str to ndarray
        Records in each interval.
    n_points_ : dict of str to int
    plan_ : dict of str to dict

    See Also
    --------
    OMA : chooses the cuts that lose least.

    Examples
    --------
    >>> import numpy as np
    >>> incomes = np.array([[900.0], [1_400.0], [2_600.0], [80_000.0]])
    >>> GivenCuts([1_000, 2_000], [800, 1_500, 2_500]).fit_transform(incomes).ravel()
    array([ 800., 1500., 2500., 2500.])
    """

    recipe_name: ClassVar[str] = "given-cuts"
    # Cuts are plain numbers, which do not say whether a date is counted in days or seconds.
    takes_dates: ClassVar[bool] = False
    in_words: ClassVar[str] = "each value is replaced by a point that its interval was given before"
    published: ClassVar[tuple[str, ...]] = ("min_count",)
    published_with_noise: ClassVar[tuple[str, ...]] = ("encoding",)
    constraints: ClassVar[Constraints] = {
        "cuts": _NUMBERS,
        "points": _NUMBERS,
        "kept": Rule(wanted="a list of numbers", good=_are_numbers, by_column=True, optional=True),
        "min_count": whole(1, by_column=True),
    }

    cuts: Given
    points: Given
    _: KW_ONLY
    kept: Given | None = None
    min_count: int | Mapping[str, int] = 1
    encoding: Encoding = "group"
    random_state: Any = None

    @property
    def spikes(self) -> str:  # type: ignore[override]
        """Whether values are kept as they are."""
        return "keep" if self.kept else "group"

    @property
    def caveat(self) -> str:
        """Points are not the means of these rows."""
        told = super().caveat
        if self.encoding != "group":
            return told
        return (
            "values are points that were fixed before these records were known: means are kept "
            "only as far as the records are like those that the points were made for, variances "
            "come out too small, and the outermost points stand for whatever lies beyond them"
        )

    @property
    def promise(self) -> str | None:
        """At least `min_count` records per released value, kept by the group encoding alone."""
        return "k-per-value" if self.encoding == "group" and largest(self.min_count) > 1 else None

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep the parameters, which say all that there is to decide."""
        return {}

    def check_params(self) -> None:
        """Refuse cuts that do not rise, points that fall, and points not one more than cuts."""
        super().check_params()
        by_column = isinstance(self.cuts, Mapping)
        if by_column != isinstance(self.points, Mapping):
            raise BadInput("give cuts and points both by column, or both once for all columns")
        given = [one for one in (self.cuts, self.kept) if isinstance(one, Mapping)]
        for column in {name: None for one in given for name in one} or [""]:
            cuts, points, kept = self._of(column)
            of = f" of column '{column}'" if column else ""
            if (np.diff(cuts) <= 0).any() or (np.diff(kept) <= 0).any():
                raise BadInput(f"the cuts{of}, and the values that are kept, must rise")
            if (np.diff(points) < 0).any():
                raise BadInput(f"the points{of} must not fall")
            if len(points) != len(cuts) + 1:
                raise BadInput(
                    f"points must be one more than cuts{of}, but there are {len(points)} points "
                    f"and {len(cuts)} cuts"
                )

    def _of(self, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return cuts and points of a column, and the values that are kept."""
        kept: Any = self.kept or []
        kept = kept.get(column, []) if isinstance(kept, Mapping) else kept
        found = per_column(self.cuts, column, "cuts"), per_column(self.points, column, "points")
        cuts, points, spikes = (np.asarray(one, dtype=np.float64) for one in (*found, kept))
        return cuts, points, spikes

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Count the records in each interval."""
        self._tell_far(self._far(summary, column), summary.n, column)
        return self._counted(summary, column)

    def _counted(self, summary: Summary, column: str) -> ColumnPlan:
        cuts, points, kept = self._of(column)
        spike = np.isin(summary.values, kept)
        rest, spikes = among(summary, ~spike), among(summary, spike)
        ends = np.append(np.searchsorted(rest.values, cuts), len(rest.values))
        # Where each kept value's place ends among those of them that occur.
        each = np.searchsorted(spikes.values, kept, side="right")
        plan: ColumnPlan = {
            "kind": "cuts",
            "cuts": cuts,
            "points": np.append(points, kept),
            "counts": np.append(_records(rest, ends), _records(spikes, each)),
        }
        if len(kept):
            plan["spikes"] = kept
        if rest.holders is not None and spikes.holders is not None:
            plan["units"] = np.append(rest.holders.in_parts(ends), spikes.holders.in_parts(each))
        return plan

    def _plan_from(self, counted: Counted, column: str, draws: Draws, rounded: Rounder) -> Any:
        """Count range after range where a column has too many distinct values."""
        ranges = counted.ranges(column)
        if ranges is None:
            return super()._plan_from(counted, column, draws, rounded)
        first = next(ranges)
        plan, far, n = self._counted(first, column), self._far(first, column), first.n
        del first  # All ranges together may be larger than memory.
        for part in ranges:
            plan["counts"] = plan["counts"] + self._counted(part, column)["counts"]
            far, n = far + self._far(part, column), n + part.n
        self._tell_far(far, n, column)
        plan["points"] = rounded(column, plan["points"])
        return plan | {"encoding": self.encoding}

    def _far(self, summary: Summary, column: str) -> int:
        """Count values farther beyond an outermost point than its interval reaches inwards."""
        cuts, points, kept = self._of(column)
        if not len(cuts):
            return 0
        low, high = 2 * points[0] - cuts[0], 2 * points[-1] - cuts[-1]
        beyond = (summary.values < low) | (summary.values > high)
        return int(summary.counts[beyond & ~np.isin(summary.values, kept)].sum())

    def _tell_far(self, far: int, n: int, column: str) -> None:
        if far > FAR_SHARE * n:
            _, points, _ = self._of(column)
            warnings.warn(
                f"column '{column}': {far:,} of {n:,} values lie far beyond the outermost points, "
                f"{points[0]:.6g} and {points[-1]:.6g}, which stand for them; decide on its cuts "
                "anew if that is too coarse",
                stacklevel=2,
            )


def _records(summary: Summary, ends: np.ndarray) -> np.ndarray:
    """Count the records of each part, by the parts' ends (exclusive, among the values)."""
    return np.diff(np.append(0, np.cumsum(summary.counts))[ends], prepend=0)
