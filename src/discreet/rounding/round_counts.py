"""Rounding of published counts and estimates by the fixed rules of offices and data centres."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import ColumnMethod, per_column
from discreet.outcome import Counted, Decision, Given, Outcome, Rounder, as_computed
from discreet.parameters import Constraints, one_of
from discreet.plan import ColumnPlan
from discreet.table.summary import Summary

CountRule = Literal["census-drb", "census-drb-estimates", "acro", "cms", "uk-llc"]
# Whole numbers beyond are not exact in float64.
_LARGEST = 2**53
_DIGITS = 4
# Powers of ten that are exact in float64, so that one operation rounds only once.
_TENS = np.array([float(10**power) for power in range(23)])


class _Rule(NamedTuple):
    """Counts from `lowest` up to, but without, `threshold` are hidden; the others are rounded."""

    lowest: int
    threshold: int
    # Where each band of counts starts, and the base that it is rounded to.
    starts: tuple[int, ...] = ()
    bases: tuple[int, ...] = ()
    in_words: str = ""


# Beyond 999,999, four significant digits are a base for each power of ten.
_DRB = {15: 10, 100: 50, 1000: 100, 10_000: 500, 100_000: 1000}
_DRB |= {10**power: 10 ** (power - _DIGITS + 1) for power in range(6, 16)}
_RULES = {
    "census-drb": _Rule(
        0,
        15,
        tuple(_DRB),
        tuple(_DRB.values()),
        "counts below 15 are left blank, and the others are rounded: up to 99 to tens, up to 999 "
        "to fifties, up to 9,999 to hundreds, up to 99,999 to five hundreds, up to 999,999 to "
        "thousands, and beyond to four significant digits",
    ),
    "acro": _Rule(0, 10, in_words="counts below 10 are left blank"),
    "cms": _Rule(1, 11, in_words="counts from 1 to 10 are left blank"),
    "uk-llc": _Rule(0, 10, in_words="counts below 10, zeros among them, are left blank"),
}


@dataclass(eq=False, repr=False)
class RoundCounts(ColumnMethod):
    """Round the counts or estimates of a table to what a published rule lets out.

    Parameters
    ----------
    rule : {"census-drb", "census-drb-estimates", "acro", "cms", "uk-llc"}, or mapping of str
        `"census-drb"`: the rounding of counts by the Disclosure Review Board of the US Census
        Bureau. Below 15 they are hidden; 15 to 99 are rounded to tens, up to 999 to fifties, up to
        9,999 to hundreds, up to 99,999 to five hundreds, up to 999,999 to thousands, and beyond to
        four significant digits. `"census-drb-estimates"`: the board's four significant digits for
        whatever is not a count. `"acro"` and `"uk-llc"` hide counts below 10, `"cms"` those from 1
        to 10. By column where a mapping.

    Attributes
    ----------
    plan_ : dict of str to dict
        The rule of each column, and how many counts it hid.

    See Also
    --------
    BaseRounding : multiples of one base, for the columns of records.

    Notes
    -----
    A hidden count becomes a null: the column keeps its type, and no number stands for what is
    unknown. A half goes to the even multiple of the base, so that 25 becomes 20 and 35 becomes 40.
    Of estimates that is decided by the digits that a number is written with: 1.0005 is a half
    although no float64 is.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[0.0], [14.0], [25.0], [974.0], [1_234_567.0]])
    >>> RoundCounts("census-drb").fit_transform(counts).ravel()
    array([      nan,       nan, 2.000e+01, 9.500e+02, 1.235e+06])
    """

    recipe_name: ClassVar[str] = "round-counts"
    takes_dates: ClassVar[bool] = False
    blanks: ClassVar[bool] = True
    promise: ClassVar[str] = "rounded-counts"
    in_words: ClassVar[str] = "counts are rounded by a published rule, and small ones left blank"
    caveat: ClassVar[str] = (
        "rounded counts do not add up to rounded totals, and a blank is a small count and not a "
        "missing one; where a total and all but one of its parts are shown, the last part follows"
    )
    published: ClassVar[tuple[str, ...]] = ("rule",)
    constraints: ClassVar[Constraints] = {"rule": one_of(CountRule, by_column=True)}

    rule: CountRule | Mapping[str, CountRule]

    nulls_in_words: ClassVar[str] = "small counts become nulls, and nulls stay nulls"

    @property
    def done_in_words(self) -> str:
        """What the rule does; of several, what each does to its columns."""
        if isinstance(self.rule, str):
            return _in_words(self.rule)
        told = {
            rule: [c for c, own in self.rule.items() if own == rule] for rule in get_args(CountRule)
        }
        said = [f"{', '.join(names)}: {_in_words(rule)}" for rule, names in told.items() if names]
        return "; ".join(said)

    def carried(self, plan: Mapping[str, Any]) -> dict[str, Any] | str:
        """Keep the parameters, which say all that there is to decide."""
        return {}

    def decide(self, summary: Summary, column: str) -> ColumnPlan:
        """Take the rule, and count what it hides."""
        rule = per_column(self.rule, column, "rule")
        new = _by_rule(rule, summary.values, f"column '{column}' holds ")
        hidden = int(summary.counts[np.isnan(new)].sum())
        if hidden and summary.nulls:
            warnings.warn(
                f"column '{column}' has nulls of its own ({summary.nulls:,}), which the release "
                f"does not tell apart from small counts ({hidden:,})",
                stacklevel=2,
            )
        return {"kind": "counts", "rule": rule, "hidden": hidden}

    def decide_from(
        self,
        columns: Sequence[str],
        counted: Counted,
        draws: Callable[[str], Draws],
        rounded: Rounder = as_computed,
    ) -> Decision:
        """Decide on each column, and tell how many counts are hidden."""
        found = super().decide_from(columns, counted, draws, rounded)
        return replace(found, figures=_hidden(found.plans))

    def _run(self, given: Given) -> Outcome:
        found = super()._run(given)
        return replace(found, figures=_hidden(found.plans))

    def apply(self, plan: ColumnPlan, values: np.ndarray, draws: Draws) -> np.ndarray:
        """Round, and hide what is small; NaN stays."""
        there = ~np.isnan(values)
        new = np.full(len(values), np.nan)
        new[there] = _by_rule(plan["rule"], values[there], "")
        return new


def _hidden(plans: Mapping[str, ColumnPlan]) -> dict[str, Any]:
    """Return what the log tells: the counts of each column that are left blank."""
    hidden = {name: plan["hidden"] for name, plan in plans.items() if plan["hidden"]}
    return {"hidden": hidden} if hidden else {}


def _in_words(rule: str) -> str:
    if rule in _RULES:
        return _RULES[rule].in_words
    return "numbers are rounded to four significant digits"


def _by_rule(rule: str, values: np.ndarray, where: str) -> np.ndarray:
    """Return what a rule makes of values, NaN where it hides them."""
    if rule == "census-drb-estimates":
        return significant(values)
    wrong = (values < 0) | (values != np.floor(values)) | (values > _LARGEST)
    if wrong.any():
        raise BadInput(
            f"{where}{values[np.argmax(wrong)]:.17g}, which is not a count; leave the column out, "
            'or round it with rule = "census-drb-estimates"'
        )
    return _rounded(_RULES[rule], values)


def _rounded(rule: _Rule, counts: np.ndarray) -> np.ndarray:
    hidden = (counts >= rule.lowest) & (counts < rule.threshold)
    if rule.starts:
        # Integers, because a half is decided by the last of 16 digits.
        n = counts.astype(np.int64)
        band = np.searchsorted(rule.starts, n, side="right") - 1
        base = np.asarray(rule.bases)[np.maximum(band, 0)]
        multiple, rest = np.divmod(n, base)
        multiple += (2 * rest > base) | ((2 * rest == base) & (multiple % 2 == 1))
        counts = (multiple * base).astype(np.float64)
    return np.where(hidden, np.nan, counts)


def significant(values: np.ndarray) -> np.ndarray:
    """Round to four significant digits; a half, as the number is written, to the even digit.

    Examples
    --------
    >>> significant(np.array([0.0123456, 1.0005, 1.0015, -98765.0]))
    array([ 1.235e-02,  1.000e+00,  1.002e+00, -9.876e+04])
    """
    size = np.abs(values)
    plain = (size > 1e-17) & (size < 1e24)
    x = np.where(plain, values, 1.0)
    power = np.floor(np.log10(np.abs(x))).astype(np.int64) - _DIGITS + 1
    power += (_scaled(np.abs(x), -power) >= 10**_DIGITS).astype(np.int64)
    power -= _scaled(np.abs(x), -power) < 10 ** (_DIGITS - 1)
    digits = _scaled(x, -power)
    new = _scaled(np.rint(digits), power)
    # Near a half, only the number as it is written tells on which side of it the value is.
    near = np.abs(np.abs(digits - np.trunc(digits)) - 0.5) < 1e-8
    (some,) = np.nonzero((near | ~plain) & (size > 0))
    distinct, at = np.unique(values[some], return_inverse=True)
    new[some] = np.array([_written(value) for value in distinct.tolist()], np.float64)[at]
    return np.where(size > 0, new, 0.0)


def _scaled(x: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return x times ten to a power, rounded once."""
    ten = _TENS[np.abs(power)]
    return np.where(power < 0, x / ten, x * ten)


def _written(value: float) -> float:
    number = Decimal(repr(value))
    last = Decimal(1).scaleb(number.adjusted() - _DIGITS + 1)
    return float(number.quantize(last, rounding=ROUND_HALF_EVEN))
