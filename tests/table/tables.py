"""Tables that every format must carry."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa

ZONE = "Europe/Berlin"


def everything(ascii_names: bool = False) -> pa.Table:
    """Columns of every kind that is released, each with nulls."""
    table = pa.table(
        {
            "größe_名": [1.5, None, -3.25, 0.1 + 0.2, 1e9 + 1e-3, 2.0],
            "whole": [1, 2, None, 4, 5, -6],
            "large": pa.array([2**40, 1, 2, 3, None, 5], pa.int64()),
            "small": pa.array([1, 100, None, -3, 4, 5], pa.int8()),
            "day": pa.array(
                [dt.date(2024, 2, 29), dt.date(1582, 10, 20), None, dt.date(2100, 3, 1)]
                + [None] * 2
            ),
            "moment": pa.array([dt.datetime(2024, 3, 31, 1, 30, 5), None] * 3, pa.timestamp("us")),
            "milli": pa.array(
                [dt.datetime(2024, 3, 31, 1, 30, 5, 123000), None] * 3, pa.timestamp("us")
            ),
            "micro": pa.array(
                [dt.datetime(1899, 3, 31, 1, 30, 5, 123457), None] * 3, pa.timestamp("us")
            ),
            "zoned": pa.array(
                [dt.datetime(2024, 3, 31, 1, 30, 5), None] * 3, pa.timestamp("us", tz=ZONE)
            ),
            "time": pa.array([dt.time(13, 5, 7, 250), None] * 3, pa.time64("us")),
            "length": pa.array([dt.timedelta(hours=30), None] * 3, pa.duration("s")),
            "exact": pa.array([Decimal("1.10"), None] * 3, pa.decimal128(9, 2)),
            "yes": [True, None, False] * 2,
            "text": ["ü€名", None, "=1+1", "007", 'a,b;c"d', "x  y"],
            "category": pa.array(["b", "a", None] * 2).dictionary_encode(),
        }
    )
    names = [name.replace("größe_名", "groesse") for name in table.column_names]
    return table.rename_columns(names) if ascii_names else table


def plain(column: pa.ChunkedArray) -> list:
    kind = column.type
    return (column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column).to_pylist()
