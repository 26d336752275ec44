"""What the users of a released table larger than memory are told of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from discreet.engines import Frame
from discreet.table.columns import ends_of, kind_of
from discreet.table.csv import cast
from discreet.table.files import delimiter_of, format_of, parquet_files
from discreet.table.formulas import unguarded, written_names
from discreet.utility.nulls import empty_cells

# Rows of a released table that pictures are made of.
_SHOWN = 100_000


@dataclass(frozen=True)
class Told:
    """What codebook and report ask of a released table, as `pyarrow.Table` would tell it."""

    released: Frame
    schema: pa.Schema
    num_rows: int
    null_counts: dict[str, int]
    ends: dict[str, pa.ChunkedArray]  # the smallest and the largest value of columns of numbers
    # The distinct values of other columns that were asked for.
    listed: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @classmethod
    def of(cls, released: Frame, schema: pa.Schema) -> Told:
        """Look at a table once."""
        nulls, ends = released.fold(partial(_look, tuple(schema.names)), _both, schema.names)
        return cls(released, schema, released.num_rows, nulls, ends)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def num_columns(self) -> int:
        """The number of the columns."""
        return len(self.schema)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        """Return a column's distinct values, or of numbers the ends."""
        if name in self.ends:
            return self.ends[name]
        if name not in self.listed:
            self.listed[name] = self.released.counts([name], by_value=True)[0][name]
        return self.listed[name]


Look = tuple[dict[str, int], dict[str, pa.ChunkedArray]]
Counts = tuple[int, int]


def _look(names: tuple[str, ...], piece: pa.Table, rows: np.ndarray) -> Look:
    numeric = [name for name in names if kind_of(piece.schema.field(name).type) == "numeric"]
    nulls = {name: piece[name].null_count for name in names}
    return nulls, {name: _ends(piece[name].drop_null()) for name in numeric}


def _both(one: Look, other: Look) -> Look:
    ends = {
        name: _ends(pa.chunked_array([*column.chunks, *other[1][name].chunks], column.type))
        for name, column in one[1].items()
    }
    return {name: count + other[0][name] for name, count in one[0].items()}, ends


def _ends(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(ends_of(column), column.type)]) if len(column) else column


def empties(released: pa.Table | Told, names: list[str]) -> Counts:
    """Count the cells of some columns that are null or *, and the rows with any."""
    if isinstance(released, pa.Table):
        return _empties(tuple(names), released)
    return released.released.fold(partial(_empties, tuple(names)), _add, names)


def _empties(names: tuple[str, ...], piece: pa.Table, rows: np.ndarray | None = None) -> Counts:
    found = empty_cells(piece, names, "count")
    return int(found.sum()), int(found.any(axis=0).sum())


def _add(one: Counts, other: Counts) -> Counts:
    return one[0] + other[0], one[1] + other[1]


def first_rows(path: Path, schema: pa.Schema) -> pa.Table:
    """Read the first rows of a released file or folder, which are any rows: the order is random."""
    if path.is_dir() or format_of(path) == "parquet":
        files = parquet_files(path) if path.is_dir() else [path]
        pieces, rows = [], 0
        for file in files:
            for batch in parquet.ParquetFile(file).iter_batches(_SHOWN):
                pieces.append(pa.table(batch))
                rows += len(batch)
                if rows >= _SHOWN:
                    return pa.concat_tables(pieces).slice(0, _SHOWN)
        return pa.concat_tables(pieces)
    parse = arrow_csv.ParseOptions(delimiter=delimiter_of(path), newlines_in_values=True)
    text = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(written_names(schema), pa.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    # A row must fit into a block.
    read = arrow_csv.ReadOptions(block_size=1 << 26)
    with arrow_csv.open_csv(path, read, parse, text) as reader:
        pieces, rows = [], 0
        for batch in reader:
            pieces.append(cast(unguarded(pa.table(batch), schema), schema, path))
            rows += len(batch)
            if rows >= _SHOWN:
                break
    return pa.concat_tables(pieces).slice(0, _SHOWN)
