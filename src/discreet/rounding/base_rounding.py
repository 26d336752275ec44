"""Rounding to multiples of a base."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput, Unmet
from discreet.kernels.bases import end_multiples, least_width, smallest_base, too_small
from discreet.kernels.units import first_ends, last_starts
from discreet.method import per_column
from discreet.outcome import Rounder
from discreet.parameters import Constraints, Rule, number, whole
from discreet.plan import ColumnPlan
from discreet.rounding._base import STOCHASTIC, Encoding, Rounding
from discreet.rounding._plans import check_length
from discreet.table.csv import LARGEST_EXACT_INTEGER
from discreet.table.summary import Summary, summarise

_BASE = number(above=0, called="a base")
_CHOICES = ("smallest", "nice")
# Fewer points than this are told, if they stand for so many distinct values each or more.
FEW_POINTS = 5
FEW_OF = 4
# Sets of attraction that the search for the smallest base looks at before it takes larger steps.
BUDGET = 10_000_000
# Digits of a base that `min_attraction` finds, where so few will do.
DIGITS = 3


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
    bases : {"smallest", "nice"}, list of float, or mapping of str to such lists
        What `min_attraction` chooses from: all numbers; 1, 2, 2.5 and 5 times powers of ten; or
        those of a list, by column where a mapping. See the notes for how far `"smallest"` is exact.
    rounding : {"nearest", "floor"}
        The nearest multiple, or the one at or below a value: r <= x < r + b.
    ends : {"closed", "open"}
        What becomes of values beyond the outermost multiples in the column's range, r1 and rn:
        they go to multiples of their own, or to r1 and rn. Open, the outer sets of attraction are
        all values below r1 + b/2 and all from rn - b/2 on, as Willenborg and de Waal (2001) have
        it; the smallest base is then smaller, and no point lies beyond the column's range, unless
        no multiple lies in it: then all go to the one nearest to its middle.
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
        Base, multiples and counts of each column; and `none_below`, see the notes.

    Notes
    -----
    A base that works may have larger ones above it that do not, so `"smallest"` goes through all
    bases, from each at which a value crosses a border (j + 1/2) b to the next. Sets of attraction
    without a value are not counted. The plan's `none_below` is the bound that was found: every
    base below it leaves some multiple with too few. It is exact but for the last bits of float64.
    The base itself is that bound rounded up to three digits, or to as many as it takes to keep
    `min_attraction`: the bound is the very point at which a value changes sides, so that all of
    its digits would tell that value. If the search has looked at 10 million sets of attraction, it
    goes on in steps of a thousandth; a warning says so, and `none_below` is then how far it came.

    Where every value is shared by `min_attraction` or more, any small base would do; the one taken
    is the power of ten at or below the smallest gap between values, and there is no `none_below`.

    See Also
    --------
    OMA : for a minimum number of records per released value at the least loss.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([[21.0], [22.0], [24.0], [37.0], [39.0], [40.0], [58.0], [62.0]])
    >>> BaseRounding(base=5).fit_transform(ages).ravel()
    array([20., 20., 25., 35., 40., 40., 60., 60.])

    With base 5, 24 and 37 are alone:

    >>> rounding = BaseRounding(min_attraction=2)
    >>> rounding.fit_transform(ages).ravel()
    array([21.6, 21.6, 21.6, 37.8, 37.8, 37.8, 59.4, 59.4])
    >>> rounding.plan_["x0"]["base"]
    5.4
    >>> BaseRounding(min_attraction=2, bases="nice").fit_transform(ages).ravel()
    array([20., 20., 20., 40., 40., 40., 60., 60.])
    """

    recipe_name: ClassVar[str] = "base"
    takes_dates: ClassVar[bool] = False
    in_words: ClassVar[str] = "each value is rounded to a multiple of a base"
    published: ClassVar[tuple[str, ...]] = ("base", "min_attraction", "rounding", "ends")
    published_with_noise: ClassVar[tuple[str, ...]] = ("base", "encoding", "ends")
    constraints: ClassVar[Constraints] = {
        "base": replace(_BASE, optional=True),
        "min_attraction": whole(1, optional=True),
        "bases": Rule(
            wanted="'smallest', 'nice' or a list of numbers above 0",
            good=lambda bases: (
                bases in _CHOICES or (isinstance(bases, list | tuple) and bool(bases))
            ),
            by_column=True,
        ),
    }

    base: float | None = None
    _: KW_ONLY
    min_attraction: int | None = None
    bases: Literal["smallest", "nice"] | list[float] | Mapping[str, list[float]] = "smallest"
    rounding: Literal["nearest", "floor"] = "nearest"
    ends: Literal["closed", "open"] = "closed"
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

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep the base; `min_attraction` may choose no other."""
        if self.base is not None:
            return {}
        return {"bases": {c: [float(one["base"])] for c, one in plan["columns"].items()}}

    def check_params(self) -> None:
        """Refuse both or neither of base and `min_attraction`, and bases where none is chosen."""
        super().check_params()
        if (self.base is None) == (self.min_attraction is None):
            raise BadInput("give either base or min_attraction")
        if self.bases != "smallest" and self.base is not None:
            raise BadInput("bases says what min_attraction chooses from; give it with that only")
        if self.rounding == "floor" and self.encoding != "group":
            raise BadInput(
                "rounding = 'floor' takes the multiple at or below a value; use it with encoding = "
                "'group'"
            )
        given = self.bases.values() if isinstance(self.bases, Mapping) else [self.bases]
        for base in (one for bases in given if not isinstance(bases, str) for one in bases):
            _BASE.check("bases", base)

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Take the base, or choose it, and count the records at each multiple."""
        plan: ColumnPlan = {"kind": "multiples", "rounding": self.rounding, "ends": self.ends}
        plan |= self._chosen(summary, column) if self.base is None else {"base": float(self.base)}
        values, base = summary.values, plan["base"]
        if max(abs(values[0]), abs(values[-1])) > base * LARGEST_EXACT_INTEGER:
            raise BadInput(
                f"base = {base:g} is finer than float64 can tell the values of column '{column}' "
                "apart; give a larger one"
            )
        below, share = _below(values, base)
        at = below + _up(share, self.rounding, self.encoding)
        # Either neighbour can be drawn, even one that no value is nearest to.
        either = np.concatenate([below, below + (share > 0)])
        first, last = self._ends(values, base)
        at, either = np.clip(at, first, last), np.clip(either, first, last)
        multiples = np.unique(either if self.encoding == "stochastic" else at)
        counts = np.bincount(np.searchsorted(multiples, at), summary.counts, len(multiples))
        plan |= {
            "multiples": multiples,
            "points": multiples * base + 0.0,
            "counts": counts.astype(np.int64),
        }
        if summary.holders is not None:
            plan["units"] = summary.holders.in_parts(np.searchsorted(at, multiples, side="right"))
        self._tell_few(plan, len(values), column)
        return plan

    def _tell_few(self, plan: ColumnPlan, distinct: int, column: str) -> None:
        """Warn where few points are left of many values."""
        points, base = plan["points"], f"column '{column}': base {plan['base']:.6g}"
        if len(points) >= FEW_POINTS or distinct < FEW_OF * len(points):
            return
        said = f"{base} leaves {len(points)} points of {distinct:,} distinct values"
        if len(points) == 1:
            said = f"{base} turns all {distinct:,} distinct values into {points[0]:.6g}"
        remedy = "use a smaller one" if self.base is not None else "lower min_attraction"
        if self.bases != "smallest":
            remedy = "take bases = 'smallest'"
        warnings.warn(f"{said}; {remedy} to keep more of them", stacklevel=2)

    def _ends(self, values: np.ndarray, base: float) -> tuple[float, float]:
        """Return the first and the last multiple that there is."""
        first, last = end_multiples(values, base, self.ends == "open")
        if first > last:  # none in the range
            below, share = _below(values[:1] + (values[-1] - values[0]) / 2, base)
            first = last = float(below[0] + _up(share, self.rounding, "group")[0])
        return first, last

    def _chosen(self, summary: Summary, column: str) -> ColumnPlan:
        """Choose the base: the smallest of those allowed that leaves enough at each multiple."""
        least = self.min_attraction
        assert least is not None
        check_length(summary, least, "min_attraction", column)
        values, back = summary.values, _back(summary, least)
        up, is_open = 0.5 if self.rounding == "nearest" else 1.0, self.ends == "open"

        def works(base: float) -> bool:
            start, end, _ = too_small(values, back, base, up, is_open)
            return bool(start == end)

        given: Any = per_column(self.bases, column, "bases")
        if given != "smallest":
            bases = _nice_bases(values) if given == "nice" else sorted(given)
            found = next((float(base) for base in bases if works(base)), math.inf)
            if found == math.inf:
                raise self._none(summary, column)
            return {"base": found}
        width = least_width(values, back, first_ends(back))
        if width == 0:
            return {"base": next(filter(works, _nice_bases(values)))}
        # Of the outer sets, open ends can make two where there was one, and no more.
        width = np.nextafter(width / 2 if is_open else width, np.inf)
        finest = max(abs(values[0]), abs(values[-1])) / LARGEST_EXACT_INTEGER
        base, bound = smallest_base(values, back, max(width, finest), up, is_open, BUDGET)
        if not math.isfinite(base):
            raise self._none(summary, column)
        if bound < base:
            warnings.warn(
                f"column '{column}': the search for the smallest base went on in steps of a "
                f"thousandth from {bound:.6g}; {base:.6g} works, and one between the two may",
                stacklevel=2,
            )
        return {"base": _in_few_digits(base, works), "none_below": bound}

    def _none(self, summary: Summary, column: str) -> Unmet:
        given: Any = per_column(self.bases, column, "bases")
        listed = "" if isinstance(given, str) else f" of {given}"
        remedy = "list a larger one" if listed else "few lie on one side of 0; use ends = 'open'"
        return Unmet(
            f"column '{column}': no base{listed} leaves {self.min_attraction} "
            f"{'records' if summary.holders is None else 'units'} at each multiple",
            remedy,
        )

    def apply(self, plan: ColumnPlan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Round to multiples, as the encoding says; NaN stays."""
        below, share = _below(values, plan["base"])
        if plan["encoding"] == "stochastic":
            at = below + (draws.uniform(np.arange(len(values))) < share)
        else:
            at = below + _up(share, plan["rounding"], plan["encoding"])
        if plan["ends"] == "open":
            at = np.clip(at, plan["multiples"][0], plan["multiples"][-1])
        return at * plan["base"] + 0.0

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


def _up(share: np.ndarray, rounding: str, encoding: str) -> np.ndarray:
    """Tell which values go to the multiple above them."""
    if rounding == "floor":
        return np.zeros(len(share), dtype=bool)
    return share > 0.5 if encoding == "nearest" else share >= 0.5


def _back(summary: Summary, least: int) -> np.ndarray:
    """Return for each end the last start such that the values between hold `least`; -1: none."""
    held = summary.holders
    if held is not None:
        return last_starts(held.units, held.starts, held.size, least)
    totals = np.append(0, np.cumsum(summary.counts))
    return (np.searchsorted(totals, totals - least, side="right") - 1).astype(np.int32)


def _in_few_digits(base: float, works: Callable[[float], bool]) -> float:
    """Round a base up to the fewest digits, three or more, with which it works.

    Examples
    --------
    >>> _in_few_digits(541.96876, lambda base: True), _in_few_digits(2.0, lambda base: True)
    (542.0, 2.0)
    >>> _in_few_digits(541.96876, lambda base: base < 541.975)
    541.97
    """
    for digits in range(DIGITS, 17):
        with localcontext(prec=digits, rounding=ROUND_CEILING):
            rounded = float(+Decimal(repr(base)))
        if math.isfinite(rounded) and works(rounded):
            return rounded
    return base


def _nice_bases(values: np.ndarray) -> Iterable[float]:
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
