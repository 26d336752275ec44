"""Hierarchies of calendar periods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput, nearest
from discreet.generalization._distinct import Distinct
from discreet.generalization._rules import Rule, by_key

DEFAULT = ("month", "quarter", "year", "decade")


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

    @classmethod
    def make(cls, levels: Any) -> Dates:
        """Check the parameters."""
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
        return cls(tuple(levels))

    def spec(self) -> dict[str, Any]:
        """Return it as a recipe has it."""
        return {"kind": "dates", "levels": list(self.periods)}

    def levels(self, found: Distinct, name: str) -> list[pa.Array]:
        """Find the period of each value."""
        days = days_of(found.values, name)
        levels = []
        for period in self.periods:
            key, label = PERIODS[period]
            levels.append(by_key(key(days), label))
        return levels

    def settle(self, found: Distinct, name: str) -> Rule:
        """Nothing depends on the column."""
        return self


def days_of(values: pa.Array, name: str) -> np.ndarray:
    """Return dates, datetimes (in their own zone) and ISO 8601 text as days since 1970."""
    kind, types = values.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        values = _parsed(values, name)
        kind = values.type
    if not (types.is_timestamp(kind) or types.is_date(kind)):
        raise BadInput(f"column '{name}' holds {kind}, not dates; convert it to dates first")
    # The cast takes a datetime with a zone in that zone.
    return values.cast(pa.date32(), safe=False).cast(pa.int32()).to_numpy().astype(np.int64)


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
