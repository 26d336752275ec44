"""What the types of numeric columns can hold, and the message for a value that they cannot."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput

# Past this float64 does not hold every integer.
LARGEST_EXACT_INTEGER = 2**53
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400 * 10**9
# 0001-01-01 and 9999-12-31, in days since 1970: files and Python know no other dates.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896

_LESS = "take less noise, or a method that keeps to the column's own values, such as rank-swap"


def nanoseconds(kind: pa.DataType) -> int:
    """Nanoseconds in one stored integer of a date, datetime or duration type."""
    if pa.types.is_date32(kind):
        return _DAY
    return 10**6 if pa.types.is_date64(kind) else 10**9 // _PER_SECOND[kind.unit]


def days_held(kind: pa.DataType) -> tuple[int, int]:
    """Return the first and last whole day that a date or datetime type holds, since 1970.

    Examples
    --------
    >>> days_held(pa.date32()), days_held(pa.timestamp("ns"))
    ((-719162, 2932896), (-106751, 106750))
    """
    most = (2**63 - 1) * nanoseconds(kind) // _DAY
    return max(_FIRST_DAY, -most), min(_LAST_DAY, most - 1)


def refuse_years(column: pa.ChunkedArray, name: str) -> None:
    """Refuse dates and datetimes outside the years 1 to 9999, which a calendar cannot name."""
    if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        return
    stored = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    unit = nanoseconds(column.type)
    ends = pc.min_max(column.cast(stored)).as_py().values()
    if any(end is not None and not _FIRST_DAY <= end * unit // _DAY <= _LAST_DAY for end in ends):
        raise BadInput(
            f"column '{name}' holds a date before the year 1 or after 9999; correct it, or leave "
            "the cell empty"
        )


def limits(kind: pa.DataType, scale: int) -> tuple[int, int]:
    """Return the smallest and largest whole number that both a type and float64 hold exactly.

    The type is of integers, dates, datetimes or durations, with `scale` units in one number.

    Examples
    --------
    >>> limits(pa.uint8(), 1)
    (0, 255)
    >>> limits(pa.date32(), 1)
    (-719162, 2932896)
    """
    if pa.types.is_integer(kind):
        held = np.iinfo(kind.to_pandas_dtype())
        low, high = int(held.min), int(held.max)
    else:
        high = (2**63 - 1) // scale
        low = -high
        if not pa.types.is_duration(kind):
            unit = scale * nanoseconds(kind)
            low = max(low, -(-_FIRST_DAY * _DAY // unit))
            high = min(high, ((_LAST_DAY + 1) * _DAY - 1) // unit)
    return max(low, -LARGEST_EXACT_INTEGER), min(high, LARGEST_EXACT_INTEGER)


def say_outside(kind: pa.DataType, scale: int, value: float, row: int) -> str:
    """Say that a type cannot hold the value of a row, and what to do.

    Examples
    --------
    >>> say_outside(pa.date32(), 1, 3e6, row=7).split("; ")[0]
    'date32[day] cannot hold 10183-09-21 (row 7), only 0001-01-01 to 9999-12-31'
    """
    types = pa.types
    if types.is_integer(kind):
        low, high = limits(kind, scale)
        exactly = " exactly" if abs(value) > LARGEST_EXACT_INTEGER else ""
        return (
            f"{kind} cannot hold {value:.15g}{exactly} (row {row}), only {low} to {high}; bring "
            "such values back with a top-bottom step, give the column a wider type, or set "
            'precision = "full"'
        )
    if types.is_date(kind) or types.is_timestamp(kind):
        unit = scale * nanoseconds(kind)
        day, first, last = (_day(number, unit) for number in (value, *limits(kind, scale)))
        narrow = types.is_timestamp(kind) and kind.unit == "ns"
        wider = ", or give the column in microseconds" if narrow else ""
        return f"{kind} cannot hold {day} (row {row}), only {first} to {last}; {_LESS}{wider}"
    exactly = " exactly" if types.is_decimal(kind) else ""
    return f"{kind} cannot hold {value:g}{exactly} (row {row}); {_LESS}"


def _day(number: float, unit: int) -> str:
    """Name the day that lies that many units after 1970."""
    days = int(number) * unit // _DAY
    return (
        str(np.datetime64(days, "D"))
        if abs(days) < 10**9
        else f"{number * unit / _DAY:g} days since 1970-01-01"
    )
