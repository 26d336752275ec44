"""The kinds of columns, and numeric columns as float64 and back.

Numbers are integers, floats, decimals, dates, datetimes and durations. The last three count units
since 1970 (or of length), in the coarsest unit that holds every value exactly, so that results
are as fine as the input was and no finer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.ranges import LARGEST_EXACT_INTEGER, limits, nanoseconds, say_outside

_MOST_DECIMALS = 12
# 180 million times less than float64 can hold: room for sums and for noise.
_LARGEST = 1e300


def kind_of(kind: pa.DataType) -> str:
    """Name the kind of a column by its type.

    Examples
    --------
    >>> kind_of(pa.date32()), kind_of(pa.string()), kind_of(pa.bool_())
    ('numeric', 'text', 'boolean')
    """
    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_duration(kind)
    ):
        return "numeric"
    if types.is_dictionary(kind):
        return "ordered" if kind.ordered else "categorical"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return "text" if types.is_null(kind) else "other"


def ends_of(column: pa.ChunkedArray | pa.Array) -> tuple[Any, Any]:
    """Return the smallest and the largest value of a numeric column.

    Examples
    --------
    >>> ends_of(pa.array([3, None, 1]))
    (1, 3)
    """
    kind = column.type
    if pa.types.is_duration(kind):
        # Arrow finds no minimum of durations.
        first, last = ends_of(column.cast(pa.int64()))
        return tuple(pa.scalar(end, pa.int64()).cast(kind).as_py() for end in (first, last))
    ends = pc.min_max(column).as_py()
    return ends["min"], ends["max"]


@dataclass(frozen=True)
class Numbers:
    """A numeric column as float64, NaN where null, and the way back to its own type."""

    values: np.ndarray
    type: pa.DataType
    # Digits behind the point in the input; None where they are too many to count.
    decimals: int | None
    # Units of the type in one number: 1, but 86,400,000,000 for midnights kept in microseconds.
    scale: int = 1

    @property
    def unit_ns(self) -> int | None:
        """Nanoseconds in one number of a date, datetime or duration column."""
        if not pa.types.is_temporal(self.type):
            return None
        return self.scale * nanoseconds(self.type)

    @property
    def unit(self) -> str | None:
        """What one number means in a date, datetime or duration column."""
        if self.unit_ns is None:
            return None
        names = {1: "seconds", 60: "minutes", 3600: "hours", 86400: "days"}
        seconds = self.unit_ns / 10**9
        name = names.get(int(seconds)) if seconds >= 1 else f"{seconds:g} seconds"
        return name if pa.types.is_duration(self.type) else f"{name} since 1970-01-01"

    def round(self, values: np.ndarray, precision: str = "input") -> np.ndarray:
        """Round to the input's decimals, half to even; `"full"` leaves plain numbers alone."""
        if self.decimals is not None and (precision == "input" or self._always_rounds):
            # Adding 0.0 turns -0.0, as of a small negative number, into 0.0.
            with np.errstate(over="ignore"):
                rounded = np.round(values, self.decimals)
            # What is too large to be rounded is whole.
            values = np.where(np.isinf(rounded), values, rounded) + 0.0
        return _narrowed(values, self.type) if pa.types.is_floating(self.type) else values

    @property
    def _always_rounds(self) -> bool:
        return pa.types.is_temporal(self.type) or pa.types.is_decimal(self.type)

    def restore(self, values: np.ndarray, precision: str = "input", start: int = 0) -> pa.Array:
        """Return numbers in the column's own type; with `"full"`, integers become floats.

        Messages count rows from `start`.

        Decimals get more digits before the point if they need them: the type that they came in
        is often a guess from the values themselves.
        """
        mask = np.isnan(values)
        rounded = self.round(values, precision)
        kind = self.type
        if pa.types.is_floating(kind) or (precision == "full" and pa.types.is_integer(kind)):
            kind = kind if pa.types.is_floating(kind) else pa.float64()
            self._refuse_outside(np.isinf(rounded), values, kind, start)
            return pa.array(rounded, pa.float64(), mask=mask).cast(kind, safe=False)
        whole = np.where(mask, 0.0, rounded)
        if pa.types.is_decimal(kind):
            unscaled = np.rint(whole * 10.0**kind.scale)
            self._refuse_outside(np.abs(unscaled) > LARGEST_EXACT_INTEGER, values, kind, start)
            return _shift(pa.array(unscaled.astype(np.int64), mask=mask), kind)
        low, high = limits(kind, self.scale)
        self._refuse_outside((whole < low) | (whole > high), whole, kind, start)
        integers = np.rint(whole).astype(np.int64) * self.scale
        return pa.array(integers, pa.int64(), mask=mask).cast(_storage(kind)).cast(kind)

    def _refuse_outside(
        self, outside: np.ndarray, values: np.ndarray, kind: pa.DataType, start: int
    ) -> None:
        if outside.any():
            row = int(np.argmax(outside))
            raise BadInput(say_outside(kind, self.scale, float(values[row]), start + row + 1))


def _shift(unscaled: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return integers as decimals, with their point as the type has it, or a wider one."""
    largest = pc.max(pc.abs(unscaled)).as_py() or 0
    precision = max(kind.precision, len(str(largest)))
    make = pa.decimal256 if pa.types.is_decimal256(kind) else pa.decimal128
    widened = unscaled.cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, 0))
    return pa.Array.from_buffers(
        pa.decimal128(38, kind.scale), len(widened), widened.buffers(), offset=widened.offset
    ).cast(make(precision, kind.scale))


def _storage(kind: pa.DataType) -> pa.DataType:
    """Integer type that a type can be cast from."""
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    return kind if pa.types.is_integer(kind) else pa.int64()


def numbers(column: pa.ChunkedArray, name: str, start: int = 0) -> Numbers:
    """Convert a column to float64, or say in one sentence why that is not possible.

    Messages count rows from `start`, if it is a piece of a longer column.

    Examples
    --------
    >>> column = pa.chunked_array([pa.array([1.25, None, 3.5])])
    >>> numbers(column, "height")
    Numbers(values=array([1.25,  nan, 3.5 ]), type=DataType(double), decimals=2, scale=1)
    """
    if column.null_count == len(column):
        raise BadInput(f"column '{name}' holds only nulls")
    taken = _take(column, name, start=start)
    if np.isnan(taken.values).all():
        raise BadInput(f"column '{name}' holds only nulls")
    return taken


def numbers_like(column: pa.ChunkedArray, name: str, known: Numbers) -> np.ndarray:
    """Convert a piece of a column to float64, counted in the units of the whole column.

    Examples
    --------
    >>> days = pa.chunked_array([pa.array([86_400, 172_800], pa.timestamp("s"))])
    >>> hours = Numbers(np.empty(0), days.type, decimals=0, scale=3600)
    >>> numbers_like(days, "seen", hours)
    array([24., 48.])
    """
    return _take(column, name, exact=False, scale=known.scale).values


def float_values(column: pa.ChunkedArray, name: str, unit_ns: int = 10**9) -> np.ndarray:
    """Convert a column's values to float64 for measuring, NaN for a null.

    An integer too large for float64 is rounded. One number of a date, datetime or duration is so
    many nanoseconds: a second by default, so that two columns compare whatever their units.
    """
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if not pa.types.is_temporal(column.type) or kind_of(column.type) != "numeric":
        return _take(column, name, exact=False).values
    integers = column.cast(_storage(column.type)).cast(pa.int64())
    whole = pc.fill_null(integers, 0).to_numpy()
    own = nanoseconds(column.type)
    if own >= unit_ns:
        values = whole.astype(np.float64) * (own // unit_ns)
    else:
        # The whole part as integers: nanoseconds since 1970 are too many for float64.
        values = whole // (unit_ns // own) + (whole % (unit_ns // own)) / (unit_ns // own)
    values[column.is_null().to_numpy()] = np.nan
    return values


def _take(
    column: pa.ChunkedArray, name: str, exact: bool = True, start: int = 0, scale: int | None = None
) -> Numbers:
    kind = column.type
    if kind_of(kind) != "numeric":
        raise BadInput(_say_not_numeric(column, name, start))
    if pa.types.is_floating(kind):
        values = column.cast(pa.float64()).to_numpy() + 0.0
        if exact:
            why = "is infinite; remove it or mark it as missing"
            _refuse(np.isinf(values), column, name, why, start)
        return Numbers(values, kind, _decimals(values, kind) if exact else None)
    if pa.types.is_decimal(kind):
        values, large = _decimal_values(column)
        if exact:
            _refuse_large(large, column, name, start)
        return Numbers(values + 0.0, kind, kind.scale)
    integers = column.cast(_storage(kind))
    scale = _coarsest(integers, kind) if scale is None else scale
    if scale > 1:
        integers = pc.divide(integers.cast(pa.int64()), scale)
    if exact:
        _refuse_large(_beyond_float64(integers), column, name, start)
    values = integers.cast(pa.float64(), safe=False).to_numpy()
    return Numbers(values + 0.0, kind, 0, scale)


def _decimal_values(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return decimals as float64, and which of them have too many digits for it.

    From their digits as an integer, because a cast to float64 is off by a bit in some.
    """
    array = column.cast(pa.decimal256(76, column.type.scale)).combine_chunks()
    words = np.frombuffer(array.buffers()[1], dtype=np.int64).reshape(-1, 4)
    words = words[array.offset : array.offset + len(array)]
    null = array.is_null().to_numpy(zero_copy_only=False)
    low = np.where(null, 0, words[:, 0])
    fits = (words[:, 1:] == (words[:, 0] >> 63)[:, None]).all(axis=1)
    large = ~null & (~fits | (np.abs(low) > LARGEST_EXACT_INTEGER))
    values = low / 10.0**column.type.scale
    if large.any():
        values[large] = column.cast(pa.float64()).to_numpy()[large]
    values[null] = np.nan
    return values, large


def _beyond_float64(integers: pa.ChunkedArray) -> np.ndarray:
    limit = pa.scalar(LARGEST_EXACT_INTEGER)
    if pa.types.is_unsigned_integer(integers.type):
        large = pc.greater(integers.cast(pa.uint64()), limit.cast(pa.uint64()))
    else:
        integers = integers.cast(pa.int64())
        large = pc.or_(pc.greater(integers, limit), pc.less(integers, pc.negate(limit)))
    return pc.fill_null(large, False).to_numpy()


def _coarsest(integers: pa.ChunkedArray, kind: pa.DataType) -> int:
    """Units of the type in the coarsest of day, hour, minute, second, ... that divides all."""
    if pa.types.is_date64(kind):
        return 86_400_000
    if not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        return 1
    present = integers.cast(pa.int64()).drop_null().to_numpy()
    second = 10**9 // nanoseconds(kind)
    steps = [second * 86400, second * 3600, second * 60, second]
    steps += [s for s in (10**6, 10**3) if s < second]
    return next((step for step in steps if not (present % step).any()), 1)


def _decimals(values: np.ndarray, kind: pa.DataType) -> int | None:
    """Smallest number of decimals that holds every value exactly; None past 12."""
    # Larger ones are whole, and need not be multiplied by powers of ten.
    present = values[np.abs(values) < LARGEST_EXACT_INTEGER]
    for decimals in range(_MOST_DECIMALS + 1):
        # A short look first: most columns are settled by it.
        if all(
            (_narrowed(np.round(some, decimals), kind) == some).all()
            for some in (present[:100], present)
        ):
            return decimals
    return None


def _narrowed(values: np.ndarray, kind: pa.DataType) -> np.ndarray:
    """Return float64 values as a float32 column would hold them."""
    if kind.bit_width == 64:
        return values
    with np.errstate(over="ignore"):  # infinity, which is refused when the type is given back
        return values.astype(np.float32 if kind.bit_width == 32 else np.float16).astype(np.float64)


def _refuse(bad: np.ndarray, column: pa.ChunkedArray, name: str, why: str, start: int) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(f"column '{name}', row {start + row + 1}: {column[row].as_py()} {why}")


def refuse_huge(column: pa.ChunkedArray, name: str, rows: np.ndarray) -> None:
    """Refuse numbers so large that differences and sums of a few would be infinite."""
    if not pa.types.is_floating(column.type) or column.type.bit_width < 64:
        return
    ends = pc.min_max(column).as_py().values()
    if all(end is None or abs(end) <= _LARGEST for end in ends):
        return
    values = column.to_numpy()
    bad = (np.abs(values) > _LARGEST) & np.isfinite(values)
    why = (
        "is too large to compute with; if it stands for a missing value, list it in null_markers, "
        "else divide the column by a power of ten"
    )
    row = int(np.argmax(bad))
    _refuse(bad, column, name, why, int(rows[row]) - row)


def _refuse_large(large: np.ndarray, column: pa.ChunkedArray, name: str, start: int) -> None:
    why = (
        "has more digits than a float64 can hold exactly (2^53); "
        "release it as text, or drop or shorten it"
    )
    _refuse(large, column, name, why, start)


def _say_not_numeric(column: pa.ChunkedArray, name: str, start: int) -> str:
    """Name the first cell that is not a number."""
    kind = kind_of(column.type)
    if kind != "text":
        return f"column '{name}' is {kind}, but this step needs numbers"
    for row, cell in enumerate(column, start + 1):
        text = cell.as_py()
        if text is not None and not is_number(text):
            if is_number(text.replace(".", "").replace(",", ".")):
                return (
                    f"column '{name}', row {row}: '{text}' is not a number with a decimal point; "
                    "if the comma is its decimal mark, say so (decimal), and take out other marks"
                )
            return (
                f"column '{name}', row {row}: '{text}' is not a number; "
                "correct it, or list it in null_markers if it marks a missing value"
            )
    return _say_number_as_text(column, name, start)


def _say_number_as_text(column: pa.ChunkedArray, name: str, start: int) -> str:
    for row, cell in enumerate(column, start + 1):
        text = cell.as_py()
        if text is not None and abs(float(text)) > LARGEST_EXACT_INTEGER:
            return (
                f"column '{name}', row {row}: {text} has more digits than a float64 can hold "
                "exactly (2^53); release it as text, or drop or shorten it"
            )
    first: Any = next(cell.as_py() for cell in column if cell.is_valid)
    return f"column '{name}' holds numbers as text, such as '{first}'; convert it to numbers first"


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def sources_of(names: Sequence[str], piece: pa.Table, rows: np.ndarray) -> dict[str, Numbers]:
    """Find the decimals and units of the numbers in a piece, for columns that have values."""
    found = {}
    for name in names:
        if piece[name].null_count < len(piece):
            source = numbers(piece[name], name, int(rows[0]))
            found[name] = Numbers(np.empty(0), source.type, source.decimals, source.scale)
    return found


def finer(one: dict[str, Numbers], other: dict[str, Numbers]) -> dict[str, Numbers]:
    """Take the more decimals and the smaller units of two pieces."""
    found = one | other
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        many = None if a.decimals is None or b.decimals is None else max(a.decimals, b.decimals)
        found[name] = Numbers(np.empty(0), a.type, many, min(a.scale, b.scale))
    return found
