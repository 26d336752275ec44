"""The types in which Spark carries columns, and how cells get there and back.

Spark has no unsigned integers, no nanoseconds and no dictionaries. What it carries instead
compares and sorts exactly as the cells do.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.date32(): "date",
    pa.binary(): "binary",
}
# Unsigned 64 bits less this are signed 64 bits.
HALF = 1 << 63


def carried(kind: pa.DataType) -> pa.DataType:
    """Return the type in which Spark carries another.

    Examples
    --------
    >>> carried(pa.uint8()), carried(pa.timestamp("ns")), carried(pa.timestamp("s", "Asia/Tokyo"))
    (DataType(int16), DataType(int64), TimestampType(timestamp[us, tz=UTC]))
    """
    types = pa.types
    if types.is_dictionary(kind):
        return carried(kind.value_type)
    if kind in _WIDER:
        return _WIDER[kind]
    if types.is_uint64(kind):
        return pa.int64()
    if types.is_timestamp(kind):
        return pa.int64() if kind.unit == "ns" else pa.timestamp("us", "UTC" if kind.tz else None)
    if types.is_date(kind):
        return pa.date32()
    return pa.string() if types.is_large_string(kind) else kind


def spark_name(kind: pa.DataType) -> str:
    """Return Spark's name for the type in which it carries another.

    Examples
    --------
    >>> spark_name(pa.uint16()), spark_name(pa.decimal128(9, 2)), spark_name(pa.timestamp("ms"))
    ('int', 'decimal(9,2)', 'timestamp_ntz')
    """
    kind = carried(kind)
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _NAMES[kind]


def to_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the type that Spark carries.

    Examples
    --------
    >>> to_spark(pa.chunked_array([pa.array([0, 2**64 - 1], pa.uint64())])).to_pylist()
    [-9223372036854775808, 9223372036854775807]
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return to_spark(column.cast(kind.value_type))
    if pa.types.is_uint64(kind):
        half = pa.scalar(HALF, kind)
        chunks = [pc.bit_wise_xor(chunk, half).view(pa.int64()) for chunk in column.chunks]
        return pa.chunked_array(chunks, pa.int64())
    return column.cast(carried(kind))


def from_spark(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column that Spark carried, in its own type."""
    if pa.types.is_dictionary(kind):
        return from_spark(column, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_uint64(kind):
        half = pa.scalar(HALF, kind)
        chunks = [pc.bit_wise_xor(chunk.view(kind), half) for chunk in column.chunks]
        return pa.chunked_array(chunks, kind)
    return column.cast(kind)


def shown(cell: str, kind: pa.DataType) -> str:
    """Return Spark SQL that turns a carried cell into the nearest value that Spark can show.

    Examples
    --------
    >>> shown("c0", pa.uint8()), shown("c0", pa.uint64())
    ('c0', 'CAST(CAST(c0 AS DECIMAL(20, 0)) + 9223372036854775808 AS DECIMAL(20, 0))')
    """
    if pa.types.is_dictionary(kind):
        return shown(cell, kind.value_type)
    if pa.types.is_uint64(kind):
        return f"CAST(CAST({cell} AS DECIMAL(20, 0)) + {HALF} AS DECIMAL(20, 0))"
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        moment = f"timestamp_micros(({cell} - pmod({cell}, 1000)) div 1000)"
        return moment if kind.tz else f"CAST({moment} AS TIMESTAMP_NTZ)"
    return cell
