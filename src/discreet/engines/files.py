"""Parquet files as engines read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from discreet.errors import BadInput
from discreet.table.files import parquet_files
from discreet.table.native import normalise, to_arrow


def open_parquet(path: Path) -> parquet.ParquetFile:
    """Read a file's footer."""
    try:
        # Read ahead, what was read would stay in memory until the last row.
        return parquet.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} cannot be read as Parquet: {error}") from None


def check_row_map(path: Path, schema: pa.Schema) -> None:
    """Refuse a file that does not hold the original rows of a released table."""
    if schema.names != ["original_row"] or not pa.types.is_integer(schema.types[0]):
        raise BadInput(
            f"{path} is not a row map: it must hold one column of whole numbers, original_row"
        )


def schema_of(stored: pa.Schema) -> pa.Schema:
    """Return a file's columns as a frame has them: plain types, without a pandas index.

    Examples
    --------
    >>> schema_of(pa.schema({"age": pa.float16(), "town": pa.string_view()}))
    age: float
    town: string
    """
    empty = normalise(to_arrow(stored.empty_table()), [])
    # Without what a file adds: that a column has no nulls may no longer be so.
    return pa.schema([pa.field(field.name, field.type) for field in empty.schema])


def plain_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder; each must hold all the columns itself."""
    files = parquet_files(folder)
    if any("=" in part for file in files for part in file.relative_to(folder).parts[:-1]):
        raise BadInput(
            f"{folder} has columns in the names of its folders, which only the memory engine "
            "reads; write it as plain Parquet files"
        )
    return files
