r"""Text that spreadsheets take for a formula when they open a CSV.

A cell that begins with =, +, -, @, a tab or a carriage return may run as a formula on the machine
of whoever opens the file. A single quote before it has it read as text. So that it can be undone,
text that already has quotes before such a character gets one more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.table.labels import is_text

_FIRST = "=+-@\t\r"
_FORMULA = r"^('*[=+\-@\t\r])"
_GUARDED = r"^'('*[=+\-@\t\r])"
# What the schema of a released file says of its text.
_SAFE = {b"discreet.csv": b"text that looks like a formula has a single quote before it"}


def csv_safe(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a file whose text is guarded."""
    return schema.with_metadata(_SAFE)


def is_csv_safe(schema: pa.Schema) -> bool:
    """Tell whether the text of a file with this schema is guarded."""
    return schema.metadata == _SAFE


def guarded(table: pa.Table) -> pa.Table:
    """Put a quote before text that looks like a formula, and before such names of columns.

    Examples
    --------
    >>> table = pa.table({"=a": ["=1+1", "'=1", "1-1", "'s", None], "b": [-1, 2, -3, 4, 5]})
    >>> made = guarded(table)
    >>> made.column_names, made.column(0).to_pylist()
    (["'=a", 'b'], ["'=1+1", "''=1", '1-1', "'s", None])
    >>> unguarded(made, csv_safe(table.schema)).equals(table)
    True
    """
    return _replaced(table, _FORMULA, r"'\1")


def unguarded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Take the quotes away, where a schema says that there are some."""
    return _replaced(table, _GUARDED, r"\1") if is_csv_safe(schema) else table


def written_names(schema: pa.Schema) -> list[str]:
    """Return the names of the columns as the header of a file has them."""
    if not is_csv_safe(schema):
        return list(schema.names)
    return [re.sub(_FORMULA, r"'\1", name) for name in schema.names]


def formula_cells(columns: Sequence[pa.ChunkedArray]) -> int:
    """Count the cells of some columns that look like a formula.

    Examples
    --------
    >>> formula_cells([pa.chunked_array([["=1", None, "", "a-b", "-"]]), pa.chunked_array([[-5]])])
    2
    """
    chunks = [chunk for column in columns if is_text(column.type) for chunk in column.chunks]
    return sum(int(_looks(chunk).sum()) for chunk in chunks)


def _looks(chunk: pa.Array) -> np.ndarray:
    """Mark the cells that look like a formula."""
    if pa.types.is_dictionary(chunk.type):
        return _looks(chunk.dictionary)[chunk.indices.drop_null().to_numpy()]
    # The first byte of each cell, which is quicker than a pattern.
    wide: Any = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, ends, text = chunk.buffers()
    found = np.zeros(len(chunk), dtype=bool)
    if text is None or not len(chunk):
        return found
    ends = np.frombuffer(ends, dtype=wide)[chunk.offset : chunk.offset + len(chunk) + 1]
    some = ends[1:] > ends[:-1]
    if chunk.null_count:
        some &= chunk.is_valid().to_numpy(zero_copy_only=False)
    first = np.frombuffer(text, np.uint8)[ends[:-1][some]]
    known = np.zeros(256, dtype=bool)
    known[list(_FIRST.encode())] = True
    found[some] = known[first]
    return found


def _replaced(table: pa.Table, pattern: str, by: str) -> pa.Table:
    columns = [
        _in_text(column, pattern, by) if is_text(column.type) else column
        for column in table.columns
    ]
    names = [re.sub(pattern, by, name) for name in table.column_names]
    fields = [
        field.with_name(name).with_type(column.type)
        for field, name, column in zip(table.schema, names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def _in_text(column: pa.ChunkedArray, pattern: str, by: str) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return pc.replace_substring_regex(column, pattern, by)
    made = [
        pa.DictionaryArray.from_arrays(
            chunk.indices,
            pc.replace_substring_regex(chunk.dictionary, pattern, by),
            ordered=column.type.ordered,
        )
        for chunk in column.chunks
    ]
    return pa.chunked_array(made, column.type)
