"""What the rounding methods share: a method partitions the sorted values, the rest is here.

`GroupRounding` is the base of the methods with a minimum group size k, `PartRounding` of those that
cut without one (and can merge what came out too small), `PointRounding` of those among them that
are told how many points to make.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.parts import spread
from discreet.kernels.sorting import sort_rows
from discreet.kernels.units import last_starts
from discreet.method import ColumnMethod, per_column
from discreet.outcome import Counted, Rounder
from discreet.parameters import Constraints, whole
from discreet.plan import ColumnPlan
from discreet.rounding._plans import (
    check_length,
    check_span,
    draw_up,
    merge_small,
    nearest_point,
    represent,
    stochastic_point,
)
from discreet.rounding._resampled import RESAMPLED
from discreet.rounding._sizes import SIZE, Size, group_size, point_count
from discreet.rounding._spikes import (
    Spikes,
    among,
    set_apart,
    spike_of,
    spikes_of,
    with_spikes,
)
from discreet.table.summary import Summary, followed_by, summarise_sorted

# Groups at the end of a range of values that are grouped again with the next range.
CARRIED = 64
Representative = Literal["mean", "median", "midpoint", "resampled-mean"]
Encoding = Literal["group", "nearest", "stochastic"]


_GROUPED = (
    "values are centres of groups: means are kept or nearly so, variances and standard errors come "
    "out too small, and the spread within a group is gone; do not look for exact values or gaps"
)
_NEAREST = (
    "values are the nearest of some typical values: means are kept nearly, variances and standard "
    "errors come out somewhat too small, and the spread around a point is gone"
)
STOCHASTIC = "values are one of the two neighbouring points, at random: means are kept on average"
_BEYOND = (
    ", but for values beyond the outermost points, which are cut off there; variances may come out "
    "too large or too small"
)


def _listed(numbers: Any) -> list[float]:
    return [float(x) for x in numbers]


class Rounding(ColumnMethod):
    """Base of the rounding methods; a subclass writes `plan`."""

    encoding: str
    spikes: str

    @property
    def caveat(self) -> str:
        """What is distorted depends on the encoding."""
        told = {"nearest": _NEAREST, "stochastic": STOCHASTIC + _BEYOND}
        kept = "; values that many share are kept as they are" if self.spikes == "keep" else ""
        return told.get(self.encoding, _GROUPED) + kept

    @property
    def effect(self) -> str:
        """Only a group's own point coarsens; other encodings move a value to another point."""
        return "coarsens" if self.encoding == "group" else "perturbs"

    @property
    def is_random(self) -> bool:
        """True for the stochastic encoding and the re-sampled mean."""
        # Not every method has a representative.
        drawn = getattr(self, "representative", None) == RESAMPLED
        return self.encoding == "stochastic" or drawn

    @property
    def draws_by_row(self) -> bool:
        """Points may be drawn too, but are the same for all rows."""
        return self.encoding == "stochastic"

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep cuts and points; as `given-cuts`, since they are no longer chosen by the rows."""
        columns = plan["columns"]
        if any("splits" in one for one in columns.values()):
            return "equal values were shared out among the earlier records"
        if any("unit" in one for one in columns.values()):
            return "cuts of dates are not kept"
        kept = {c: _listed(one["spikes"]) for c, one in columns.items() if "spikes" in one}
        found: dict[str, Any] = {
            "method": "given-cuts",
            "cuts": {c: _listed(one["cuts"]) for c, one in columns.items()},
            # After the points of the parts come those of the spikes.
            "points": {
                c: _listed(one["points"])[: len(one["cuts"]) + 1] for c, one in columns.items()
            },
            "encoding": self.encoding,
        }
        least = self._least(columns)
        return found | ({"kept": kept} if kept else {}) | least

    def _least(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the number of records that a point must stand for, as `given-cuts` has it."""
        if "k" in (any_ := next(iter(columns.values()))):
            sizes = {c: int(one["k"]) for c, one in columns.items()}
            return {"min_count": sizes if len({*sizes.values()}) > 1 else int(any_["k"])}
        return {"min_count": getattr(self, "min_count", 1)}

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Make the plan of one column, but for its encoding."""
        raise NotImplementedError

    def decide(self, summary: Summary, column: str, draws: Draws | None = None) -> ColumnPlan:
        """Partition, and give each part its point; draws, if any, come from `random_state`."""
        if summary.n == 0:
            raise BadInput(f"column '{column}' holds only nulls")
        if len(summary.values) == 1:
            warnings.warn(f"column '{column}' is constant: it gets one point", stacklevel=2)
        if draws is None:
            draws = Draws.from_random_state(self.random_state, column)
        return self.plan(summary, column, draws.apart()) | {"encoding": self.encoding}

    def apply(self, plan: ColumnPlan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Replace each value by a rounding point, as the encoding says."""
        points = plan["points"]
        if plan["encoding"] == "group":
            # In order, neighbouring values are looked up in the same part of memory. Infinity in
            # place of NaN, with which sorting is slow.
            order = np.argsort(np.where(np.isnan(values), np.inf, values))
            part = np.searchsorted(plan["cuts"], values[order], side="right")
            new = np.empty(len(values))
            new[order] = points[part]
            if "spikes" in plan:
                found, at = spike_of(plan, values)
                new[found] = points[at]
        elif plan["encoding"] == "nearest":
            new = nearest_point(np.unique(points), values)
        else:
            new = stochastic_point(np.unique(points), values, draws)
        return np.where(np.isnan(values), np.nan, new)

    def decide_rounded(
        self, summary: Summary, column: str, draws: Draws, rounded: Rounder
    ) -> ColumnPlan:
        """Decide, and round the points."""
        plan = self.decide(summary, column, draws)
        plan["points"] = rounded(column, plan["points"])
        return plan

    def decide_and_apply(
        self,
        values: np.ndarray,
        column: str,
        draws: Draws,
        rounded: Rounder,
        target: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ColumnPlan]:
        """Sort once, decide, and spread the points over the sorted rows.

        This is quicker than looking up each row's part, and it splits equal values at a border
        in row order where equal values may be split.
        """
        ordered, rows = sort_rows(np.ascontiguousarray(values))
        classes, holders = (None if codes is None else codes[rows] for codes in (target, units))
        summary = summarise_sorted(ordered, len(values) - len(ordered), classes, holders)
        plan = self.decide_rounded(summary, column, draws, rounded)
        if plan["encoding"] != "group":
            return self.apply(plan, values, draws), plan
        if "spikes" in plan:  # as in the plan: the parts' rows, then those of each spike
            spike = np.isin(ordered, plan["spikes"])
            rows = np.concatenate([rows[~spike], rows[spike]])
        return spread(plan["points"], np.cumsum(plan["counts"]), rows, len(values)), plan

    def _learned(self) -> None:
        self.rounding_sets_ = {c: np.unique(plan["points"]) for c, plan in self.plan_.items()}
        self.group_sizes_ = {c: plan["counts"] for c, plan in self.plan_.items()}
        self.n_points_ = {c: len(points) for c, points in self.rounding_sets_.items()}


class GroupRounding(Rounding):
    """Base of the methods with a minimum group size k; a subclass writes `groups`."""

    averages: ClassVar[bool] = True
    in_words: ClassVar[str] = "each value is replaced by the centre of a group of similar values"
    published: ClassVar[tuple[str, ...]] = ("k",)
    published_with_noise: ClassVar[tuple[str, ...]] = ("k", "encoding")
    constraints: ClassVar[Constraints] = {"k": SIZE}
    k: Size
    representative: str
    keep_ties: bool

    @property
    def promise(self) -> str | None:
        """At least k records (or units) per released value, kept by the group encoding alone."""
        return "k-per-value" if self.encoding == "group" else None

    @property
    def bound_to_memory(self) -> str | None:
        """Equal values are told apart by their rows alone."""
        return None if self.keep_ties else "keep_ties = false splits equal values in row order"

    def _plan_from(self, counted: Counted, column: str, draws: Draws, rounded: Rounder) -> Any:
        """Decide range after range where a column has too many distinct values."""
        ranges = counted.ranges(column)
        if ranges is None:
            return super()._plan_from(counted, column, draws, rounded)
        if self.spikes == "group":
            return self._by_ranges(ranges, column, draws, rounded)
        spikes = spikes_of(ranges, self._fixed_size(column))
        again = counted.ranges(column)
        assert again is not None
        others = (among(part, ~np.isin(part.values, spikes.values)) for part in again)
        grouping = copy(self)
        grouping.spikes = "group"
        plan = grouping._by_ranges((p for p in others if p.n), column, draws, rounded)
        plan = with_spikes(plan, spikes)
        plan["points"] = rounded(column, plan["points"])
        return plan

    def _fixed_size(self, column: str) -> int:
        """Return k, which no rule finds from some of the values."""
        k: Any = self.k
        if isinstance(per_column(k, column, "k"), str):
            raise BadInput(
                f"column '{column}' has too many distinct values for k by the rule {k!r}; give k "
                "as a number"
            )
        return int(per_column(k, column, "k"))

    def _by_ranges(
        self, ranges: Iterator[Summary], column: str, draws: Draws, rounded: Rounder
    ) -> ColumnPlan:
        """Group range after range; the last groups of each are grouped anew with the next.

        Every group has k records. Groups are those of the whole column but where a cut between
        two ranges reaches back farther than the groups that are carried over.
        """
        self._fixed_size(column)
        parts: list[tuple[np.ndarray, ...]] = []
        held: Summary | None = None
        upcoming = next(ranges)
        for number, after in enumerate(chain(ranges, [None])):
            summary = upcoming if held is None else followed_by(held, upcoming)
            # Each range by draws of its own, or two points would be off by the same.
            plan = self.decide_rounded(summary, column, draws.part(number), rounded)
            kept = len(plan["points"]) if after is None else len(plan["points"]) - CARRIED
            if after is not None and kept < 1:
                held, upcoming = summary, after
                continue
            parts.append((plan["cuts"][:kept], plan["points"][:kept], plan["counts"][:kept]))
            if after is None:
                break
            records = int(plan["counts"][:kept].sum())
            start = int(np.searchsorted(np.cumsum(summary.counts), records, side="right"))
            held, upcoming = Summary(summary.values[start:], summary.counts[start:]), after
        plan["cuts"], plan["points"], plan["counts"] = map(np.concatenate, zip(*parts, strict=True))
        return plan

    def groups(
        self, values: np.ndarray, counts: np.ndarray | None, k: int, back: np.ndarray | None
    ) -> np.ndarray:
        """Return the ends of the groups of sorted values, which `counts` forbids to split.

        Without counts, each value is one record. There are k or more records; or units, where
        `back` says which values k of them hold (`kernels.units.last_starts`).
        """
        raise NotImplementedError

    def figures(
        self, values: np.ndarray, counts: np.ndarray | None, ends: np.ndarray, k: int
    ) -> ColumnPlan:
        """Return what to tell of groups of units that have several records."""
        return {}

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Group the records, or, with `keep_ties`, the distinct values."""
        k = group_size(self.k, summary, column)
        check_length(summary, k, "k", column)
        check_span(summary, column)
        if self.spikes == "group":
            return self._grouped(summary, k, draws)
        rest, spikes = set_apart(summary, k, column)
        return with_spikes(self._grouped(rest, k, draws), spikes)

    def _grouped(self, summary: Summary, k: int, draws: Draws) -> ColumnPlan:
        values, counts, held = summary.values, None, summary.holders
        if len(values) < summary.n:
            if self.keep_ties:
                counts = summary.counts
            else:
                values = np.repeat(values, summary.counts)
                held = None if held is None else replace(held, starts=np.arange(len(values) + 1))
        back = None if held is None else last_starts(held.units, held.starts, held.size, k)
        ends = self.groups(values, counts, k, back)
        records = ends if counts is None else np.cumsum(counts)[ends - 1]
        plan = draw_up(summary, records, self.representative, draws=draws) | {"k": k}
        if held is not None and held.count < summary.n:
            plan |= self.figures(values, counts, ends, k)
        return plan


class PartRounding(Rounding):
    """Base of the methods without a minimum group size; a subclass writes `parts`."""

    averages: ClassVar[bool] = True
    in_words: ClassVar[str] = "each value is replaced by the centre of its interval"
    published: ClassVar[tuple[str, ...]] = ("min_count",)
    published_with_noise: ClassVar[tuple[str, ...]] = ("encoding",)
    constraints: ClassVar[Constraints] = {"min_count": whole(1)}
    representative: str
    min_count: int

    @property
    def promise(self) -> str | None:
        """At least `min_count` records per released value, kept by the group encoding alone."""
        return "k-per-value" if self.encoding == "group" and self.min_count > 1 else None

    def parts(self, summary: Summary, column: str, draws: Draws) -> np.ndarray:
        """Return the ends (exclusive, among the distinct values) of the parts."""
        raise NotImplementedError

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Cut, and merge what is too small."""
        check_length(summary, self.min_count, "min_count", column)
        check_span(summary, column)
        if self.spikes == "group":
            return self._merged(summary, column, draws)
        rest, spikes = set_apart(summary, self.min_count, column)
        return with_spikes(self._merged(rest, column, draws), spikes)

    def _merged(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        ends = self.parts(summary, column, draws)
        # Which parts are merged does not hang on what is drawn.
        drawn = self.representative == RESAMPLED
        by = "mean" if drawn else self.representative
        points = represent(summary.values, summary.counts, ends, by)
        ends, points = merge_small(summary, ends, points, self.min_count, by)
        records = np.cumsum(summary.counts)[ends - 1]
        return draw_up(summary, records, self.representative, None if drawn else points, draws)


class PointRounding(PartRounding):
    """Base of the methods with a number of points; a subclass writes `cut`."""

    published: ClassVar[tuple[str, ...]] = ("n_points", "min_count")
    published_with_noise: ClassVar[tuple[str, ...]] = ("n_points", "encoding")
    constraints: ClassVar[Constraints] = {"n_points": SIZE}
    # Why a column with enough distinct values may get fewer points.
    fewer_because: ClassVar[str] = ""

    def __init__(
        self,
        n_points: Size,
        *,
        representative: Representative = "mean",
        encoding: Encoding = "group",
        min_count: int = 1,
        spikes: Spikes = "group",
        random_state: Any = None,
    ) -> None:
        self.n_points = n_points
        self.representative = representative
        self.encoding = encoding
        self.min_count = min_count
        self.spikes = spikes
        self.random_state = random_state

    def cut(self, summary: Summary, c: int, draws: Draws) -> np.ndarray:
        """Return the ends (exclusive, among the distinct values) of c parts, or of fewer."""
        raise NotImplementedError

    def parts(self, summary: Summary, column: str, draws: Draws) -> np.ndarray:
        """Cut into the number of parts that is asked for, and say where there are fewer."""
        c = point_count(self.n_points, summary, column)
        ends = self.cut(summary, c, draws)
        self.tell_fewer(len(ends), c, summary, column)
        return ends

    def tell_fewer(self, found: int, c: int, summary: Summary, column: str) -> None:
        """Warn where a column that is not constant gets fewer points than asked for."""
        distinct = len(summary.values)
        if found < c and distinct > 1:
            why = f"it has only {distinct} distinct values" if distinct < c else self.fewer_because
            warnings.warn(f"column '{column}' gets {found} points, not {c}: {why}", stacklevel=2)
