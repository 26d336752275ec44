"""What all rounding methods share: from a partition of the sorted values to a plan, and its use.

A method partitions the sorted records of one column; here each part gets its rounding point and
the plan is drawn up: cuts between the parts, points, counts. A value x belongs to the part
`searchsorted(cuts, x, side="right")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import ColumnMethod, Plan, Rounder
from discreet.table.summary import Summary, summarise_sorted

Representative = Literal["mean", "median", "midpoint"]
Encoding = Literal["group", "nearest", "stochastic"]


class Rounding(ColumnMethod):
    """Base of the rounding methods; a subclass writes `partition`."""

    keep_ties: bool = True
    representative: str
    encoding: str

    @property
    def effect(self) -> str:
        """Only a group's own point coarsens; other encodings move a value to another point."""
        return "coarsens" if self.encoding == "group" else "perturbs"

    @property
    def is_random(self) -> bool:
        """True for the stochastic encoding."""
        return self.encoding == "stochastic"

    def check_params(self) -> None:
        """Refuse unknown representatives and encodings."""
        one_of("representative", self.representative, Representative)
        one_of("encoding", self.encoding, Encoding)

    def partition(self, summary: Summary, column: str) -> np.ndarray:
        """Cut the sorted records into parts.

        Returns
        -------
        ndarray of int64
            End position (exclusive) of each part among the sorted records; the last is n. With
            `keep_ties` no end lies between equal values.
        """
        raise NotImplementedError

    def decide(self, summary: Summary, column: str) -> Plan:
        """Partition, and give each part its point."""
        if summary.n == 0:
            raise BadInput(f"column '{column}' holds only nulls")
        ends = self.partition(summary, column)
        return draw_up(summary, ends, self.representative) | {"encoding": self.encoding}

    def apply(self, plan: Plan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Replace each value by a rounding point, as the encoding says."""
        points = plan["points"]
        if plan["encoding"] == "group":
            new = points[
                np.searchsorted(plan["cuts"], values, side="right").clip(max=len(points) - 1)
            ]
        elif plan["encoding"] == "nearest":
            new = nearest_point(np.unique(points), values)
        else:
            new = stochastic_point(np.unique(points), values, draws)
        return np.where(np.isnan(values), np.nan, new)

    def decide_and_apply(
        self, values: np.ndarray, column: str, draws: Draws, rounded: Rounder
    ) -> tuple[np.ndarray, Plan]:
        """Sort once, decide, and spread the points over the sorted rows.

        This is quicker than looking up each row's part, and it splits equal values at a border
        in row order where `keep_ties` is off.
        """
        order = np.argsort(values, kind="quicksort" if self.keep_ties else "stable")
        ordered = values[order]
        n = int(np.searchsorted(ordered, np.nan))
        plan = self.decide(summarise_sorted(ordered[:n], len(values) - n), column)
        plan["points"] = rounded(column, plan["points"])
        if plan["encoding"] != "group":
            return self.apply(plan, values, draws), plan
        new = np.full(len(values), np.nan)
        new[order[:n]] = np.repeat(plan["points"], plan["counts"])
        return new, plan

    def _learned(self) -> None:
        self.rounding_sets_ = {c: np.unique(plan["points"]) for c, plan in self.plan_.items()}
        self.group_sizes_ = {c: plan["counts"] for c, plan in self.plan_.items()}
        self.n_points_ = {c: len(points) for c, points in self.rounding_sets_.items()}


class GroupRounding(Rounding):
    """Base of the methods with a minimum group size k."""

    k: Any

    @property
    def promise(self) -> str | None:
        """At least k records per released value, kept by the group encoding alone."""
        return "k-per-value" if self.encoding == "group" else None

    def check_params(self) -> None:
        """Refuse a k that is not a whole number of at least 1."""
        super().check_params()
        for k in self.k.values() if isinstance(self.k, Mapping) else [self.k]:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
                raise BadInput(f"k must be a whole number of at least 1, not {k!r}")


def one_of(name: str, value: object, choices: Any) -> None:
    """Refuse a value that is not among a Literal's."""
    if value not in choices.__args__:
        known = ", ".join(repr(choice) for choice in choices.__args__)
        raise BadInput(f"{name} must be one of {known}, not {value!r}")


def draw_up(summary: Summary, ends: np.ndarray, representative: str) -> Plan:
    """Draw up the plan of a partition.

    Parameters
    ----------
    summary : Summary
    ends : ndarray of int64
        End position of each part among the sorted records; an end between equal values splits
        them.
    representative : {"mean", "median", "midpoint"}

    Returns
    -------
    dict
        `kind`, `cuts`, `points`, `counts`, and, where equal values are split, `splits`: value,
        group and count of each share, to be taken in row order.

    Examples
    --------
    >>> plan = draw_up(Summary(np.array([1.0, 2.0, 9.0]), np.array([1, 1, 2])), np.array([2, 4]),
    ...                "mean")
    >>> plan["cuts"], plan["points"], plan["counts"]
    (array([5.5]), array([1.5, 9. ]), array([2, 2]))
    """
    totals = np.cumsum(summary.counts)
    # Segments: the records of one value in one part.
    borders = (
        totals if np.isin(ends, totals, assume_unique=True).all() else np.union1d(totals, ends)
    )
    value = summary.values[np.searchsorted(totals, borders)]
    group = np.searchsorted(ends, borders)
    share = np.diff(borders, prepend=0)
    starts = np.searchsorted(group, np.arange(len(ends)))
    counts = np.diff(ends, prepend=0)
    first, last = value[starts], value[np.append(starts[1:], len(value)) - 1]
    if representative == "mean":
        # About the part's first value, where nothing cancels.
        points = first + np.add.reduceat((value - first[group]) * share, starts) / counts
    elif representative == "median":
        low = summary.values[np.searchsorted(totals, ends - counts + (counts - 1) // 2, "right")]
        high = summary.values[np.searchsorted(totals, ends - counts + counts // 2, "right")]
        points = low + (high - low) / 2
    else:
        points = first + (last - first) / 2
    # Rounding errors must not put a point outside its part.
    points = np.clip(points, first, last)
    plan: Plan = {
        "kind": "cuts",
        "cuts": _cuts(last[:-1], first[1:]),
        "points": points,
        "counts": counts,
    }
    if len(borders) > len(totals):
        _settle_splits(plan, value, group, share)
    return plan


def _cuts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cut between neighbouring parts with edges a < b: their middle, or b where that is a."""
    middle = a + (b - a) / 2
    return np.where(middle == a, b, middle)


def _settle_splits(plan: Plan, value: np.ndarray, group: np.ndarray, share: np.ndarray) -> None:
    """List the split values, and set the cuts so that each goes to the part with most of it."""
    distinct, position = np.unique(value, return_inverse=True)
    split = np.bincount(position)[position] > 1
    plan["splits"] = {"value": value[split], "group": group[split], "count": share[split]}
    # The segment with the largest share of each value; the first on a tie.
    largest = np.lexsort((np.arange(len(value)), -share, position))
    winner = np.empty(len(distinct), dtype=np.int64)
    heads = np.flatnonzero(np.diff(position[largest], prepend=-1))
    winner[position[largest][heads]] = group[largest][heads]
    inside = np.flatnonzero(np.diff(position) == 0)
    border = group[inside]
    v = value[inside]
    plan["cuts"][border] = np.where(winner[position[inside]] > border, v, np.nextafter(v, np.inf))


def nearest_point(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Closest of the sorted points to each value; the lower one on a tie."""
    upper = np.searchsorted(points, values, side="left").clip(max=len(points) - 1)
    lower = (upper - 1).clip(min=0)
    return np.where(points[upper] - values < values - points[lower], points[upper], points[lower])


def stochastic_point(points: np.ndarray, values: np.ndarray, draws: Draws) -> np.ndarray:
    """One of the two neighbouring points, at random, so that the mean stays the value."""
    inside = np.clip(values, points[0], points[-1])
    upper = np.searchsorted(points, inside, side="left").clip(1, max(1, len(points) - 1))
    if len(points) == 1:
        return np.full(len(values), points[0])
    low, high = points[upper - 1], points[upper]
    chance = (inside - low) / (high - low)
    return np.where(draws.uniform(np.arange(len(values))) < chance, high, low)
