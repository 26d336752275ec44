"""A hierarchy proposed from a column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.generalization._dates import DEFAULT, Dates, days_of
from discreet.generalization._distinct import Distinct
from discreet.generalization._intervals import Intervals, floats_of
from discreet.generalization._rules import Flat, Order, Prefix, Rule
from discreet.table.columns import kind_of

# Up to so many values nothing lies between them and `*`.
_FEW = 4
_INTERVALS = 25
_MOST_LEVELS = 4
_CODE = r"^[0-9A-Za-z.\-/ ]*$"


@dataclass(frozen=True)
class Auto:
    """Whatever suits the column."""

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        return {"kind": "auto"}

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Label the values by what is proposed."""
        return propose(found, name).levels(found, name)

    def settle(self, found: Distinct, name: str) -> Rule:
        """Take what is proposed."""
        return propose(found, name).settle(found, name)


def propose(found: Distinct, name: str) -> Rule:
    """Choose by the kind of the column.

    Few values: flat. Numbers: intervals of round widths. Dates: calendar periods. An ordered
    column: neighbours merged. Codes of one length with digits in them: prefixes. Others: flat.
    """
    values = found.values
    if len(values) <= _FEW or pa.types.is_boolean(values.type):
        return Flat()
    if found.ordered:
        return Order(_sizes(len(values)))
    if _is_date(values, name):
        return _periods(found, name)
    if kind_of(values.type) == "numeric" and not pa.types.is_temporal(values.type):
        return _intervals(found, name)
    if kind_of(values.type) == "text" and _are_codes(values):
        return _prefixes(pc.utf8_length(values[0]).as_py())
    return Flat()


def _sizes(count: int) -> tuple[int, ...]:
    """Double from 2 on, while there are at least two groups."""
    return tuple(2**i for i in range(1, _MOST_LEVELS + 1) if 2**i < count)


def _intervals(found: Distinct, name: str) -> Rule:
    try:
        widths = _round_widths(floats_of(found, name))
    except BadInput:
        return Flat()
    return Intervals(widths, (), 0, None, None, None) if widths else Flat()


def _round_widths(x: np.ndarray) -> tuple[float, ...]:
    """Return widths such as 5, 10, 20, 40: the first makes about 25 intervals.

    The range is taken between the twentieths at both ends, so that a few far values do not decide.
    """
    low, high = np.quantile(x, [0.05, 0.95])
    span = float(high - low) / 0.9
    if span <= 0 or not math.isfinite(span):
        return ()
    wanted = span / _INTERVALS
    if (x == np.floor(x)).all():
        wanted = max(wanted, 2)
    power = math.floor(math.log10(wanted))
    if power < -10 or power > 14:
        return ()
    mantissa = next(m for m in (1, 2, 5, 10) if m * 10.0**power >= wanted * (1 - 1e-9))
    widths = [mantissa]
    # 2, 10, 20: rounder than 2, 4, 8.
    while len(widths) < _MOST_LEVELS:
        widths.append(widths[-1] * (5 if widths[-1] == 2 else 2))
    scaled = [w * 10**power if power >= 0 else round(w * 10.0**power, -power) for w in widths]
    return tuple(width for width in scaled if width < span) or ()


def _is_date(values: pa.Array, name: str) -> bool:
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return True
    if kind_of(values.type) != "text" or pa.types.is_null(values.type):
        return False
    # Years and codes parse as dates in some forms; a date has two hyphens.
    if not pc.all(pc.match_substring_regex(values, r"^\d{4}-\d\d-\d\d")).as_py():
        return False
    try:
        days_of(values, name)
    except BadInput:
        return False
    return True


def _periods(found: Distinct, name: str) -> Rule:
    """Leave out the periods that are no coarser than the values, or hold them all."""
    periods = ("day", *DEFAULT)
    counts = [len(level.dictionary) for level in Dates(periods).levels(found, name)]
    kept = []
    before = len(found.values)
    for period, count in zip(periods, counts, strict=True):
        if 1 < count < before:
            kept.append(period)
            before = count
    return Dates(tuple(kept)) if kept else Flat()


def _are_codes(values: pa.Array) -> bool:
    lengths = pc.min_max(pc.utf8_length(values)).as_py()
    if lengths["min"] != lengths["max"] or lengths["max"] < 2:
        return False
    plain = pc.all(pc.match_substring_regex(values, _CODE)).as_py()
    return plain and pc.all(pc.match_substring_regex(values, r"[0-9]")).as_py()


def _prefixes(length: int) -> Rule:
    """Hide characters from the right, in at most so many levels."""
    step = -(-(length - 1) // (_MOST_LEVELS + 1))
    return Prefix(tuple(range(step, length, step)), "right")
