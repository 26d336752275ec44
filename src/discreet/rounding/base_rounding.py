"""Rounding to multiples of a base."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.kernels.units import last_starts
from discreet.outcome import Rounder
from discreet.parameters import Constraints, Rule, number, whole
from discreet.plan import ColumnPlan
from discreet.rounding._base import STOCHASTIC, Encoding, Rounding
from discreet.rounding._plans import check_length
from discreet.rounding._sizes import held_in_parts
from discreet.table.csv import LARGEST_EXACT_INTEGER
from discreet.table.summary import Summary, summarise

_BASE = number(above=0, called="a base")


@dataclass(eq=False, repr=False)
class BaseRounding(Rounding):
    """Multiples of a base: a value x becomes the multiple r with r - b/2 <= x < r + b/2.

    Give the base itself, or `min_attraction` to take the smallest base for which every released
    multiple stands for so many records.

    Parameters
    ----------
    base : float, optional
        Above 0.
    min_attraction : int, optional
        Smallest number of records that a released multiple may stand for, or of units where `fit`
        is given these.
    bases : list of float, optional
        What `min_attraction` chooses from; left out, 1, 2, 2.5 and 5 times powers of ten, from
        the power of ten at or below the smallest gap between values on.
    encoding : {"group", "nearest", "stochastic"}
        `"group"` rounds halves up, `"nearest"` down, and `"stochastic"` takes one of the two
        neighbouring multiples at random so that means are kept. Only `"group"` promises
        `min_attraction`.
    random_state : int, RandomState instance or None
        For the stochastic encoding.

    Attributes
    ----------
    rounding_sets_ : dict of str to ndarray
        Multiples that occur, of each column.
    group_sizes_ : dict of str to ndarray
        Records at each multiple.
    n_points_ : dict of str to int
    plan_ : dict of str to dict
        Base, multiples and counts of each column.

    See Also
    --------
    OMA : for a minimum number of records per released value at the least loss.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([[21.0], [22.0], [24.0], [37.0], [39.0]])
    >>> BaseRounding(base=5).fit_transform(ages).ravel()
    array([20., 20., 25., 35., 40.])

    With base 5, 24 and 39 would be alone:

    >>> rounding = BaseRounding(min_attraction=2)
    >>> rounding.fit_transform(ages).ravel()
    array([20., 20., 20., 40., 40.])
    >>> rounding.plan_["x0"]["base"]
    10.0
    """

    recipe_name: ClassVar[str] = "base"
    takes_dates: ClassVar[bool] = False
    in_words: ClassVar[str] = "each value is rounded to a multiple of a base"
    published: ClassVar[tuple[str, ...]] = ("base", "min_attraction")
    published_with_noise: ClassVar[tuple[str, ...]] = ("base", "encoding")
    constraints: ClassVar[Constraints] = {
        "base": replace(_BASE, optional=True),
        "min_attraction": whole(1, optional=True),
        "bases": Rule(
            wanted="a list of numbers above 0",
            good=lambda bases: isinstance(bases, list | tuple),
            optional=True,
        ),
    }

    base: float | None = None
    _: KW_ONLY
    min_attraction: int | None = None
    bases: list[float] | None = None
    encoding: Encoding = "group"
    random_state: Any = None

    @property
    def caveat(self) -> str:
        """Multiples are told, whatever the encoding; drawn ones lie on both sides of a value."""
        if self.encoding == "stochastic":
            return STOCHASTIC + (
                "; variances come out too large, differences smaller than the base mean nothing, "
                "and counts heap at its multiples"
            )
        return (
            "values are multiples of a base: differences smaller than it mean nothing, and counts "
            "heap at the multiples"
        )

    @property
    def promise(self) -> str | None:
        """At least `min_attraction` records per multiple, kept by the group encoding alone."""
        return "k-per-value" if self.encoding == "group" and self.min_attraction else None

    def check_params(self) -> None:
        """Refuse both or neither of base and `min_attraction`, and bases where none is chosen."""
        super().check_params()
        if (self.base is None) == (self.min_attraction is None):
            raise BadInput("give either base or min_attraction")
        if self.bases is not None and (self.base is not None or not self.bases):
            raise BadInput("bases lists what min_attraction chooses from; give it with that only")
        for base in self.bases or ():
            _BASE.check("bases", base)

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Take the base, or choose it, and count the records at each multiple."""
        base = float(self._smallest_base(summary, column) if self.base is None else self.base)
        if max(abs(summary.values[0]), abs(summary.values[-1])) > base * LARGEST_EXACT_INTEGER:
            raise BadInput(
                f"base = {base:g} is finer than float64 can tell the values of column '{column}' "
                "apart; give a larger one"
            )
        below, share = _below(summary.values, base)
        at = below + (share > 0.5 if self.encoding == "nearest" else share >= 0.5)
        # Either neighbour can be drawn, even one that no value is nearest to.
        either = np.concatenate([below, below + (share > 0)])
        multiples = np.unique(either if self.encoding == "stochastic" else at)
        counts = np.bincount(np.searchsorted(multiples, at), summary.counts, len(multiples))
        plan: ColumnPlan = {
            "kind": "multiples",
            "base": base,
            "multiples": multiples,
            "points": multiples * base + 0.0,
            "counts": counts.astype(np.int64),
        }
        if summary.holders is not None:
            plan["units"] = summary.holders.in_parts(np.searchsorted(at, multiples, side="right"))
        return plan

    def _smallest_base(self, summary: Summary, column: str) -> float:
        least = self.min_attraction
        assert least is not None
        check_length(summary, least, "min_attraction", column)
        # Neighbours of the outermost values: most small bases are ruled out by these alone.
        outer = summary.values[[0, *_inner(summary, least), -1]]
        for base in sorted(self.bases) if self.bases else _round_bases(summary.values):
            below, share = _below(outer, base)
            at = below + (share >= 0.5)
            if at[0] == at[1] and at[2] == at[3] and _attracted(summary, base).min() >= least:
                return base
        raise BadInput(
            f"column '{column}': no base of {self.bases} leaves {least} "
            f"{'records' if summary.holders is None else 'units'} at each multiple; list a larger "
            "one"
        )

    def apply(self, plan: ColumnPlan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Round to multiples, as the encoding says; NaN stays."""
        below, share = _below(values, plan["base"])
        if plan["encoding"] == "group":
            up = share >= 0.5
        elif plan["encoding"] == "nearest":
            up = share > 0.5
        else:
            up = draws.uniform(np.arange(len(values))) < share
        return (below + up) * plan["base"] + 0.0

    def decide_and_apply(
        self,
        values: np.ndarray,
        column: str,
        draws: Draws,
        rounded: Rounder,
        target: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ColumnPlan]:
        """Round each value by itself."""
        plan = self.decide_rounded(summarise(values, units=units), column, draws, rounded)
        return rounded(column, self.apply(plan, values, draws)), plan


def _below(values: np.ndarray, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the multiple (in bases) at or below each value, and the share of a base beyond it.

    The nearest multiple follows from the share, and not as floor(x / base + 0.5): adding would
    round up what lies just under a half.
    """
    quotient = values / base
    below = np.floor(quotient)
    return below, quotient - below


def _inner(summary: Summary, least: int) -> tuple[int, int]:
    """Return the last of the lowest values that `least` hold, and the first of the highest."""
    held = summary.holders
    if held is not None:
        back = last_starts(held.units, held.starts, held.size, least)
        return int(np.argmax(back >= 0)) - 1, int(back[-1])
    totals = np.cumsum(summary.counts)
    low, high = np.searchsorted(totals, [least - 1, summary.n - least], side="right")
    return int(low), int(high)


def _attracted(summary: Summary, base: float) -> np.ndarray:
    """Count the records or units in each set of attraction that is not empty."""
    below, share = _below(summary.values, base)
    at = below + (share >= 0.5)
    return held_in_parts(summary, np.flatnonzero(np.append(at[1:] != at[:-1], True)) + 1)


def _round_bases(values: np.ndarray) -> Iterable[float]:
    """Return 1, 2, 2.5, 5 times powers of ten, from below the smallest gap to one for all."""
    gap = np.diff(values).min(initial=np.inf) if len(values) > 1 else 1.0
    largest = max(abs(values[0]), abs(values[-1]))
    # Nor below what a float as large as these can tell apart.
    power = math.floor(math.log10(max(gap, largest * 1e-15)))
    while True:
        for factor in ("1", "2", "2.5", "5"):
            base = float(f"{factor}e{power}")
            if largest <= base * LARGEST_EXACT_INTEGER:
                yield base
            if base > 2 * largest:
                return
        power += 1
