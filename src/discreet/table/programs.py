"""How SPSS, Stata and SAS store dates and numbers, and what their formats say about them."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UTC_TEXT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?Z$"
_SECOND = 10**6  # of the microseconds that datetimes count here


@dataclass(frozen=True)
class Program:
    """A statistical package's way with dates and numbers."""

    name: str  # for messages
    epoch: int  # days from 1970-01-01 to the day that dates count from; negative
    date_unit: int  # numbers that make a day: 1, or 86,400 where dates are seconds
    datetime_unit: int  # microseconds in one number of a datetime or a time
    finest: int  # microseconds that a number of today's size still tells apart
    # It holds magnitudes from the first up to below the second, and 0.
    smallest: float
    limit: float
    # Patterns of formats.
    dates: str
    datetimes: str
    times: str
    whole: str
    # What to write if nothing better is known.
    formats: dict[str, str]


SPSS = Program(
    name="SPSS",
    epoch=-141_428,  # 1582-10-14
    date_unit=86_400,
    datetime_unit=_SECOND,
    finest=10,
    smallest=0.0,
    limit=1.7976931348623155e308,  # The last two numbers stand for a missing value and an end.
    dates=r"([AEJS]?DATE|QYR|MOYR|WKYR)\d+",
    datetimes=r"(DATETIME|YMDHMS)\d+(\.\d+)?",
    times=r"TIME\d+(\.\d+)?",
    whole=r"[FN]\d+(\.0)?",
    formats={"date": "SDATE10", "datetime": "YMDHMS23.3", "time": "TIME15.6", "whole": "F20.0"},
)
STATA = Program(
    name="Stata",
    epoch=-3653,  # 1960-01-01
    date_unit=1,
    datetime_unit=1000,
    finest=1,
    smallest=0.0,
    limit=2.0**1023,
    dates=r"%-?(td|d).*",
    datetimes=r"%-?tc.*",
    times=r"%-?tcH.*",
    whole=r"%-?\d+\.0f",
    formats={
        "date": "%tdCCYY-NN-DD",
        "datetime": "%tcCCYY-NN-DD_HH:MM:SS",
        "time": "%tcHH:MM:SS",
        "whole": "%20.0f",
    },
)
SAS = Program(
    name="SAS",
    epoch=-3653,
    date_unit=1,
    datetime_unit=_SECOND,
    finest=1,
    smallest=2.0**-260,  # Those of IBM's mainframes, as pyreadstat writes them.
    limit=2.0**249,
    dates=r"(DATE|DDMMYY[BCDNPS]?|MMDDYY[BCDNPS]?|YYMMDD[BCDNPS]?|E8601DA|B8601DA|JULIAN|JULDAY"
    r"|MONYY|YYMON|WEEKDATE|WEEKDATX|WORDDATE|WORDDATX)\d*",
    datetimes=r"(DATETIME|E8601DT|B8601DT|DATEAMPM|MDYAMPM)\d*(\.\d+)?",
    times=r"(TIME|HHMM|E8601TM|TOD)\d*(\.\d+)?",
    whole=r"((BEST|F)?\d*(\.0?)?)?",
    formats={"date": "E8601DA10", "datetime": "E8601DT26.6", "time": "E8601TM15.6", "whole": ""},
)


def typed(numbers: pa.ChunkedArray, format: str, program: Program) -> pa.ChunkedArray:
    """Return float64 numbers as dates, datetimes, times or integers if their format says so."""

    def says(pattern: str) -> bool:
        return re.fullmatch(pattern, format.upper() if program is not STATA else format) is not None

    if says(program.times):
        micros = _micros(numbers, program)
        fits = pc.and_(pc.greater_equal(micros, 0), pc.less(micros, 86_400 * _SECOND))
        return micros.cast(pa.time64("us")) if pc.all(fits).as_py() is not False else numbers
    if says(program.dates):
        days = pc.divide(numbers, float(program.date_unit))
        if _is_whole(days):
            return pc.add(days, float(program.epoch)).cast(pa.int32()).cast(pa.date32())
        return _datetimes(numbers, program) if program.date_unit > 1 else numbers
    if says(program.datetimes):
        return _datetimes(numbers, program)
    if says(program.whole) and numbers.null_count < len(numbers) and _is_whole(numbers):
        return numbers.cast(pa.int64())
    return numbers


def _is_whole(numbers: pa.ChunkedArray) -> bool:
    values = numbers.drop_null().to_numpy()
    return bool((values == np.floor(values)).all() and (np.abs(values) <= 2**53).all())


def _micros(numbers: pa.ChunkedArray, program: Program) -> pa.ChunkedArray:
    # The whole part as integers, since microseconds since 1582 are too many for float64.
    whole = pc.floor(numbers)
    part = pc.multiply(pc.subtract(numbers, whole), program.datetime_unit / program.finest)
    micros = pc.multiply(pc.round(part).cast(pa.int64()), program.finest)
    return pc.add(pc.multiply(whole.cast(pa.int64()), program.datetime_unit), micros)


def _datetimes(numbers: pa.ChunkedArray, program: Program) -> pa.ChunkedArray:
    since = program.epoch * 86_400 * _SECOND
    return pc.add(_micros(numbers, program), since).cast(pa.timestamp("us"))


def as_numbers(
    column: pa.ChunkedArray, program: Program
) -> tuple[pa.ChunkedArray, str] | tuple[None, None]:
    """Return dates, datetimes or times as a program's numbers, with a format.

    None if the program's numbers cannot hold the column exactly.
    """
    kind = column.type
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
        numbers = pc.multiply(pc.subtract(days, float(program.epoch)), float(program.date_unit))
        format = program.formats["date"]
    else:
        try:
            target = pa.time64("us") if pa.types.is_time(kind) else pa.timestamp("us")
            micros = column.cast(target).cast(pa.int64())
        except pa.ArrowInvalid:
            return None, None
        format = program.formats["time"]
        if pa.types.is_timestamp(kind):
            micros = pc.subtract(micros, program.epoch * 86_400 * _SECOND)
            format = program.formats["datetime"]
        unit = program.datetime_unit
        whole = pc.floor(pc.divide(micros.cast(pa.float64(), safe=False), float(unit)))
        rest = pc.subtract(micros, pc.multiply(whole.cast(pa.int64()), unit))
        numbers = pc.add(whole, pc.divide(rest.cast(pa.float64()), float(unit)))
    back = typed(numbers, format, program)
    if back.type == numbers.type or pc.all(pc.equal(back.cast(kind), column)).as_py() is False:
        return None, None
    return numbers, format


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and times as text; those with a zone in UTC, marked by a Z."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, tz="UTC"))
    return column.cast(pa.string())


def utc_datetimes(column: pa.ChunkedArray, text: bool) -> pa.ChunkedArray:
    """Read datetimes with a zone, which are written as text, as CSV does, unless `text` is set."""
    present = column.drop_null()
    if not text and len(present) and pc.all(pc.match_substring_regex(present, UTC_TEXT)).as_py():
        with contextlib.suppress(pa.ArrowInvalid):  # Nanoseconds, as pandas has them.
            return column.cast(pa.timestamp("us", tz="UTC"))
    return column.cast(pa.string()) if column.nbytes < 1 << 30 else column
