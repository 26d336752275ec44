"""A hierarchy proposed from a column."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.generalization._dates import DEFAULT, FORMATS, Dates, are_dates
from discreet.generalization._distinct import Distinct, as_text
from discreet.generalization._intervals import Intervals, floats_of
from discreet.generalization._names import propose_tree
from discreet.generalization._rules import Flat, Order, Prefix, Rule
from discreet.generalization._tables import rows_of_tree, table_of
from discreet.table.columns import kind_of

# Up to so many values nothing lies between them and `*`.
_FEW = 4
_INTERVALS = 25
_MOST_LEVELS = 4
_CODE = r"^[0-9A-Za-z.\-/ ]*$"
# Up to so many whole numbers are taken for codes, unless the name says what they count.
_MOST_CODES = 15
_COUNTED = re.compile(
    r"(?i)(^|[\W_])(age|size|number|num|nr|no|n|count|children|kids|members|persons|people|rooms|cars|"
    r"years?|months?|days|hours|grade|visits|times|anzahl|edad)($|[\W_\d])|size$|^n[A-Z]"
)
_PLACES = re.compile(r"(?i)zip|postcode|postal|plz")
# Amounts whose largest are so many times the median are cut at 1, 2, 5, 10, ...
_SKEWED = 20
# Names that are more are not listed.
_MOST_NAMES = 2_000


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

    Few values: flat. Dates, as text too: calendar periods. An ordered column: neighbours merged.
    Numbers: intervals of round widths, but few whole numbers that count nothing are names. Codes
    with digits in them: prefixes. Names: groups by words that they share, and the rare ones
    together.
    """
    values = found.values
    if len(values) <= _FEW or pa.types.is_boolean(values.type):
        return Flat()
    if found.ordered:
        return Order(_sizes(len(values)))
    written = date_format(values)
    if written is not None:
        return _periods(found, name, written)
    if kind_of(values.type) == "numeric" and not pa.types.is_temporal(values.type):
        return _of_numbers(found, name)
    if kind_of(values.type) == "text" and not pa.types.is_null(values.type):
        return _of_text(found, name)
    return Flat()


def _sizes(count: int) -> tuple[int, ...]:
    """Double from 2 on, while there are at least two groups."""
    return tuple(2**i for i in range(1, _MOST_LEVELS + 1) if 2**i < count)


# Numbers


def _of_numbers(found: Distinct, name: str) -> Rule:
    try:
        x = floats_of(found, name)
    except BadInput:
        return Flat()
    whole = bool((x == np.floor(x)).all())
    if whole and len(x) <= _MOST_CODES and x.min() >= 0 and x.max() < 100:
        return _counts(x, found.counts) if _COUNTED.search(name) else _groups(found, name)
    if whole and x.min() >= 0 and _PLACES.search(name):
        widths = tuple(10**i for i in range(1, 12) if 10**i < np.ptp(x))[-_MOST_LEVELS:]
        return Intervals(widths, (), 0, None, None, None) if widths else Flat()
    low, middle, high = _quantiles(x, found.counts, (0.05, 0.5, 0.99))
    if x.min() >= 0 and high > _SKEWED * max(middle, low) > 0:
        return _decades(low, high)
    widths = _round_widths(x)
    if not widths:
        return Flat()
    upper = _open_end(high, widths, float(x.max()))
    if upper is not None:
        widths = tuple(width for width in widths if width < upper - x.min()) or widths[:1]
    return Intervals(widths, (), 0, None, upper, None)


def _quantiles(x: np.ndarray, counts: np.ndarray, at: tuple[float, ...]) -> list[float]:
    """Return quantiles of the records, given their distinct values in order."""
    shares = np.cumsum(counts) / max(int(counts.sum()), 1)
    places = np.searchsorted(shares, np.array(at) - 1e-12)
    return [float(x[min(place, len(x) - 1)]) for place in places]


def _open_end(high: float, widths: tuple[float, ...], largest: float) -> float | None:
    """Return where the last interval begins, if few records lie above it."""
    step = widths[min(1, len(widths) - 1)]
    end = math.ceil(high / step) * Decimal(str(step))
    if largest < end:
        return None
    return int(end) if end == int(end) else float(end)


def _counts(x: np.ndarray, counts: np.ndarray) -> Rule:
    """Keep small counts, such as those of children, and take the largest together."""
    end = max(int(_quantiles(x, counts, (0.97,))[0]), int(x[2]))
    below = range(int(x[0]) + 1, end + 1)
    levels = [tuple(below), tuple(below)[1::2], tuple(below)[3::4]]
    cuts = [level for level in levels if level]
    nested = [level for level, finer in zip(cuts[1:], cuts, strict=False) if level != finer]
    return Intervals((), (cuts[0], *nested), 0, None, None, None)


def _decades(low: float, high: float) -> Rule:
    """Cut amounts of very different sizes at 1, 2, 5, 10, 20, 50, ..., then at 1, 10, 100, ..."""
    first, last = math.floor(math.log10(max(low, high / 1e4))), math.floor(math.log10(high))
    tens = [_power(power) for power in range(first, last + 1)]
    fine = [cut for ten in tens for cut in (ten, 2 * ten, 5 * ten) if low < cut <= high]
    coarse = [ten for ten in tens if low < ten <= high]
    levels = [tuple(level) for level in (fine, coarse) if level]
    if not levels:
        return Flat()
    return Intervals((), tuple(dict.fromkeys(levels)), 0, None, None, None)


def _power(power: int) -> float:
    return 10**power if power >= 0 else float(Decimal(1).scaleb(power))


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


# Dates


def date_format(values: pa.Array) -> str | None:
    """Return how all values are written, if they are dates; "" where that need not be said."""
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return ""
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        if ends["min"] is None or ends["min"] < 18_000_101 or ends["max"] > 20_991_231:
            return None
    elif kind_of(values.type) != "text" or pa.types.is_null(values.type):
        return None
    texts = as_text(values)
    # A look at one value spares that of all, in columns of any other text.
    first = texts[0].as_py()
    for pattern, formats in FORMATS.items():
        if not re.fullmatch(pattern, first):
            continue
        if pc.all(pc.match_substring_regex(texts, f"^({pattern})$")).as_py():
            found = next((one for one in formats if are_dates(texts, one)), None)
            if found is not None:
                return found
    return None


def _periods(found: Distinct, name: str, written: str) -> Rule:
    """Leave out the periods that are no coarser than the values, or hold them all."""
    periods: tuple[str, ...] = ("day", *DEFAULT)
    # 03/04 may be April or March: then only the year is sure.
    swapped = written.replace("%d", "#").replace("%m", "%d").replace("#", "%m")
    if written[:3] in ("%d/", "%d-") and are_dates(as_text(found.values), swapped):
        periods = ("year", "decade")
    counts = [len(level.dictionary) for level in Dates(periods, written).levels(found, name)]
    kept = []
    before = len(found.values)
    for period, count in zip(periods, counts, strict=True):
        if 1 < count < before:
            kept.append(period)
            before = count
    return Dates(tuple(kept), written) if kept else Flat()


# Text


def _of_text(found: Distinct, name: str) -> Rule:
    values = found.values
    lengths = pc.min_max(pc.utf8_length(values)).as_py()
    if _are_codes(values) and lengths["min"] >= 2:
        if lengths["min"] == lengths["max"]:
            return _prefixes(lengths["max"])
        kept = tuple(n for n in (4, 3, 2, 1) if n < lengths["max"] and n <= lengths["min"])
        return Prefix(None, "right", kept) if kept else _groups(found, name)
    if len(values) > _MOST_NAMES and lengths["min"] >= 1:
        return Prefix(None, "right", (3, 2, 1))
    return _groups(found, name)


def _groups(found: Distinct, name: str) -> Rule:
    texts = as_text(found.values).to_pylist()
    if "" in texts or "*" in texts:
        return Flat()
    tree = propose_tree(texts, found.counts, name)
    if tree is None:
        return Flat()
    return table_of(rows_of_tree(tree), {"kind": "groups", "tree": tree}, "the hierarchy")


def _are_codes(values: pa.Array) -> bool:
    plain = pc.all(pc.match_substring_regex(values, _CODE)).as_py()
    return plain and pc.all(pc.match_substring_regex(values, r"[0-9]")).as_py()


def _prefixes(length: int) -> Rule:
    """Hide characters from the right, in at most so many levels."""
    step = -(-(length - 1) // (_MOST_LEVELS + 1))
    return Prefix(tuple(range(step, length, step)), "right")
