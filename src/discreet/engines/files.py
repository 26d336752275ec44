"""Parquet files as engines take them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from discreet.errors import BadInput
from discreet.table.native import normalise, to_arrow


def open_parquet(path: Path) -> parquet.ParquetFile:
    """Read a file's footer."""
    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} cannot be read as Parquet: {error}") from None


def schema_of(stored: pa.Schema) -> pa.Schema:
    """Give the columns of a file as a frame has them: plain types, without a pandas index.

    Examples
    --------
    >>> schema_of(pa.schema({"age": pa.float16(), "town": pa.string_view()}))
    age: float
    town: string
    """
    empty = normalise(to_arrow(stored.empty_table()), [])
    # Without what a file adds: that a column has no nulls may no longer be so.
    return pa.schema([pa.field(field.name, field.type) for field in empty.schema])
