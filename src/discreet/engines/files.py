"""Parquet files as engines read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from discreet.errors import BadInput
from discreet.table.files import parquet_files
from discreet.table.native import normalise, to_arrow
from discreet.table.signatures import reading_as

_CATEGORIES = b"discreet.categories"


def open_parquet(path: Path) -> parquet.ParquetFile:
    """Read a file's footer."""
    with reading_as(path, "parquet"):
        # Read ahead, what was read would stay in memory until the last row.
        return parquet.ParquetFile(path, pre_buffer=False)


def check_row_map(path: Path, schema: pa.Schema) -> None:
    """Refuse a file that does not hold the original rows of a released table."""
    if schema.names != ["original_row"] or not pa.types.is_integer(schema.types[0]):
        raise BadInput(
            f"{path} is not a row map: it must hold one column of whole numbers, original_row"
        )


def store_table(table: pa.Table, path: Path) -> None:
    """Write a table to a temporary file, from which `schema_of` knows its categories.

    Parquet itself remembers categories only where they are text.
    """
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        noted = field.remove_metadata()
        if pa.types.is_dictionary(field.type) and not pa.types.is_string(field.type.value_type):
            order = b"ordered" if field.type.ordered else b""
            noted = pa.field(field.name, field.type.value_type, metadata={_CATEGORIES: order})
        fields.append(noted)
        columns.append(column.cast(noted.type))
    made = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    parquet.write_table(made, path, compression="lz4")


def as_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast columns to the types of a schema; Arrow itself makes no categories of numbers."""
    columns = [
        column.dictionary_encode()
        if pa.types.is_dictionary(field.type) and column.type == field.type.value_type
        else column
        for field, column in zip(schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names).cast(schema)


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
    fields = []
    for field in empty.schema:
        noted = (stored.field(field.name).metadata or {}).get(_CATEGORIES)
        kind = field.type
        if noted is not None:
            kind = pa.dictionary(pa.int32(), kind, ordered=noted == b"ordered")
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def plain_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder; each must hold all the columns itself."""
    files = parquet_files(folder)
    if any("=" in part for file in files for part in file.relative_to(folder).parts[:-1]):
        raise BadInput(
            f"{folder} has columns in the names of its folders, which only the memory engine "
            "reads; write it as plain Parquet files"
        )
    return files
