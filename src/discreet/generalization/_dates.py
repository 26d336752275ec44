"""Hierarchies of calendar periods."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput, nearest
from discreet.generalization._distinct import Distinct, as_text
from discreet.generalization._rules import Rule, by_key

DEFAULT = ("month", "quarter", "year", "decade")
_FIRST = date(1970, 1, 1).toordinal()
_MARKS = {"%d", "%m", "%b", "%Y", "%y", "%H", "%M", "%S"}
# How dates are written, and the formats that this may be. Four digits of a year are told from two.
FORMATS = {
    r"\d{4}-\d\d-\d\d([T ].*)?": [""],
    r"\d{4}-\d{1,2}-\d{1,2}": ["%Y-%m-%d"],
    r"\d{1,2}\.\d{1,2}\.\d{4}": ["%d.%m.%Y"],
    r"\d{1,2}\.\d{1,2}\.\d{2}": ["%d.%m.%y"],
    r"\d{1,2}/\d{1,2}/\d{4}": ["%d/%m/%Y", "%m/%d/%Y"],
    r"\d{1,2}/\d{1,2}/\d{2}": ["%d/%m/%y", "%m/%d/%y"],
    r"\d{1,2}-\d{1,2}-\d{4}": ["%d-%m-%Y", "%m-%d-%Y"],
    r"\d{4}/\d{1,2}/\d{1,2}": ["%Y/%m/%d"],
    r"\d{8}": ["%Y%m%d"],
    r"(?i)\d{1,2} [a-z]{3} \d{4}": ["%d %b %Y"],
    r"(?i)\d{1,2}-[a-z]{3}-\d{4}": ["%d-%b-%Y"],
    r"(?i)\d{1,2}-[a-z]{3}-\d{2}": ["%d-%b-%y"],
}


def _months(days: np.ndarray) -> np.ndarray:
    """Months since January of year 0."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64) + 1970 * 12


def _thursdays(days: np.ndarray) -> np.ndarray:
    """Return the Thursday of each day's week: its year is the week's year by ISO 8601."""
    return days - (days + 3) % 7 + 3


def _week(thursday: int) -> str:
    day = np.datetime64(thursday, "D")
    year = day.astype("M8[Y]")
    number = int((day - year.astype("M8[D]")).astype(int)) // 7 + 1
    return f"{int(year.astype(int)) + 1970:04d}-W{number:02d}"


def _day(day: int) -> str:
    return str(np.datetime64(day, "D"))


# The finest first: the key of a day, and the label of a key.
PERIODS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[int], str]]] = {
    "day": (lambda days: days, _day),
    "week": (_thursdays, _week),
    "month": (_months, lambda month: f"{month // 12:04d}-{month % 12 + 1:02d}"),
    "quarter": (lambda days: _months(days) // 3, lambda q: f"{q // 4:04d}-Q{q % 4 + 1}"),
    "year": (lambda days: _months(days) // 12, lambda year: f"{year:04d}"),
    "decade": (lambda days: _months(days) // 120, lambda decade: f"{decade * 10:04d}s"),
}


@dataclass(frozen=True)
class Dates:
    """Days merged into calendar periods."""

    periods: tuple[str, ...]
    format: str = ""  # how text is written; ISO 8601 where empty

    @classmethod
    def make(cls, levels: Any, format: Any = None) -> Dates:
        """Check the parameters."""
        if format is not None and (not isinstance(format, str) or not _is_format(format)):
            raise BadInput(
                f"format must say where day, month and year stand, as '%d.%m.%Y', not {format!r}"
            )
        if isinstance(levels, str) or not isinstance(levels, Sequence) or not len(levels):
            raise BadInput(f"levels must be a list such as ['month', 'year'], not {levels!r}")
        for level in levels:
            if not isinstance(level, str) or level not in PERIODS:
                raise BadInput(f"there is no level '{level}'; {nearest(level, PERIODS)}")
        order = list(PERIODS)
        for below, above in pairwise(levels):
            if order.index(above) <= order.index(below):
                raise BadInput(
                    f"levels must grow coarser, but '{above}' follows '{below}'; "
                    f"their order is {', '.join(order)}"
                )
            if below == "week":
                raise BadInput(
                    f"levels 'week' and '{above}' do not nest: a week can lie in two "
                    f"{above}s; leave one of them out"
                )
        return cls(tuple(levels), format or "")

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        spec: dict[str, Any] = {"kind": "dates", "levels": list(self.periods)}
        return spec | ({"format": self.format} if self.format else {})

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Find the period of each value."""
        days = days_of(found.values, name, self.format)
        levels = []
        for period in self.periods:
            key, label = PERIODS[period]
            levels.append(by_key(key(days), label))
        return levels

    def settle(self, found: Distinct, name: str) -> Rule:
        """Nothing depends on the column."""
        return self


def days_of(values: pa.Array, name: str, format: str = "") -> np.ndarray:
    """Return dates, datetimes (in their own zone) and text as days since 1970."""
    kind, types = values.type, pa.types
    if format and not (types.is_timestamp(kind) or types.is_date(kind)):
        return _read(values, name, format)
    if types.is_string(kind) or types.is_large_string(kind):
        values = _parsed(values, name)
        kind = values.type
    if not (types.is_timestamp(kind) or types.is_date(kind)):
        raise BadInput(f"column '{name}' holds {kind}, not dates; convert it to dates first")
    # The cast takes a datetime with a zone in that zone.
    return values.cast(pa.date32(), safe=False).cast(pa.int32()).to_numpy().astype(np.int64)


def are_dates(texts: pa.Array, format: str) -> bool:
    """Tell whether all of some text is dates, written in a format or as ISO 8601.

    Examples
    --------
    >>> texts = pa.array(["24.12.1999", "1.1.2000"])
    >>> are_dates(texts, "%d.%m.%Y"), are_dates(texts, "%m.%d.%Y"), are_dates(texts, "")
    (True, False, False)
    """
    try:
        days_of(texts, "text", format)
    except BadInput:
        return False
    return True


def _read(values: pa.Array, name: str, format: str) -> np.ndarray:
    """Read dates that are written in a format, as numbers too.

    Not by Arrow, which takes 31.02.2019 for a day in March.
    """
    days = np.empty(len(values), np.int64)
    for place, text in enumerate(as_text(values).to_pylist()):
        try:
            days[place] = datetime.strptime(text, format).toordinal() - _FIRST
        except ValueError:
            raise BadInput(
                f"column '{name}': '{text}' is not a date written as '{format}'; correct the "
                "format, or list it in null_markers if it marks a missing value"
            ) from None
    return days


def _is_format(format: str) -> bool:
    """Tell whether a format says day, month and year, each once, and nothing unknown."""
    marks = re.findall(r"%.?", format)
    known = all(len(set(marks) & set(some)) == 1 for some in (("%d",), ("%m", "%b"), ("%Y", "%y")))
    return known and len(marks) == len(set(marks)) and set(marks) <= _MARKS


def _parsed(values: pa.Array, name: str) -> pa.Array:
    for kind in (pa.date32(), pa.timestamp("us")):
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            continue
    for text in values.to_pylist():
        try:
            pa.array([text]).cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            raise BadInput(
                f"column '{name}': '{text}' is not a date; write it as 2019-04-05, "
                "or list it in null_markers if it marks a missing value"
            ) from None
    raise BadInput(f"column '{name}' does not hold dates; write them as 2019-04-05")
