"""A table encoded for a first look: the distinct values of each column, and a code per record.

The distinct values show what a column looks like; only the search for keys needs the
records, and then only their codes. A CSV file is read into this form directly, which takes a
fraction of the memory of its cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table import kind_of, normalise, read_table, to_arrow
from discreet.table.csv import read_csv_by_column
from discreet.table.files import format_of
from discreet.table.labels import Labels, labels_of
from discreet.table.signatures import check_content


@dataclass(frozen=True)
class Encoded:
    """A column as its distinct values and a code for each record."""

    name: str
    codes: np.ndarray  # int32, -1 where null
    values: pa.Array  # distinct; without nulls
    counts: np.ndarray  # records that hold each value
    labels: Labels  # what the file says about the column
    given: pa.DataType  # its type; lists, times of day and the like are encoded as text

    @property
    def releasable(self) -> bool:
        """False for types that no step treats."""
        return kind_of(self.given) != "other"

    @property
    def nulls(self) -> int:
        """Records without a value."""
        return len(self.codes) - int(self.counts.sum())

    @property
    def unique(self) -> int:
        """Number of values that only one record holds."""
        return int((self.counts == 1).sum())

    @property
    def kind(self) -> str:
        """The kind of the column: numeric, text, boolean, ..."""
        return kind_of(self.given)

    def column(self) -> pa.ChunkedArray:
        """Return the cells of the column."""
        return self._cells(pa.array(self.codes, mask=self.codes < 0))

    def levels(self) -> pa.ChunkedArray:
        """Return each value once, as a column of the same kind."""
        return self._cells(pa.array(np.arange(len(self.values), dtype=np.int32)))

    def _cells(self, codes: pa.Array) -> pa.ChunkedArray:
        if self.kind == "ordered":
            return pa.chunked_array(
                [pa.DictionaryArray.from_arrays(codes, self.values, ordered=True)]
            )
        return pa.chunked_array([self.values.take(codes)])


def encode_column(name: str, column: pa.ChunkedArray, labels: Labels | None = None) -> Encoded:
    """Encode a column."""
    kind = column.type
    if kind_of(kind) == "other":
        # Times of day, lists and the like: told by their text.
        column = pa.chunked_array([pa.array([_text(v) for v in column.to_pylist()], pa.string())])
    ordered = pa.types.is_dictionary(kind)
    encoded = column if ordered else column.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    labels = labels or Labels()
    if not encoded.num_chunks:
        return _counted(name, np.empty(0, np.int32), pa.array([], kind), labels, kind)
    indices = np.concatenate(
        [pc.fill_null(chunk.indices, -1).to_numpy().astype(np.int32) for chunk in encoded.chunks]
    )
    return _counted(name, indices, encoded.chunk(0).dictionary, labels, kind)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _counted(
    name: str, codes: np.ndarray, values: pa.Array, labels: Labels, kind: pa.DataType
) -> Encoded:
    """Count the values, and leave out nulls and values that no record holds."""
    counts = np.bincount(codes[codes >= 0], minlength=len(values)).astype(np.int64)
    kept = (counts > 0) & values.is_valid().to_numpy(zero_copy_only=False)
    if not kept.all():
        numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        codes = np.where(codes >= 0, numbers[codes], -1).astype(np.int32)
        values, counts = values.filter(pa.array(kept)), counts[kept]
    return Encoded(name, codes, values, counts, labels, kind)


def encode_table(table: Any, **dialect: Any) -> dict[str, Encoded]:
    """Encode a table or a file."""
    return {column.name: column for column in _columns(table, dialect)}


def _columns(table: Any, dialect: dict[str, Any]) -> Iterator[Encoded]:
    if isinstance(table, str | Path):
        path = Path(table)
        if path.is_file() and format_of(path).startswith("csv"):
            check_content(path, format_of(path))
            if dialect.pop("sheet", None) is not None:
                raise BadInput(f"{path} is not a workbook, so it has no sheets")
            for name, indices, values in read_csv_by_column(path, **dialect):
                yield _counted(name, indices, values, Labels(), values.type)
            return
        table = read_table(path, **dialect)
    arrow = normalise(to_arrow(table), dialect.get("null_markers", ()))
    if arrow.num_rows == 0:
        raise BadInput("the table has no rows")
    for field in arrow.schema:
        yield encode_column(field.name, arrow[field.name], labels_of(field))
