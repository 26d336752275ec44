"""Tables in memory, in Arrow: all rows are one piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from discreet.engines.frame import (
    POSITION,
    Engine,
    Frame,
    Merge,
    Needed,
    Numbered,
    OfPair,
    OfPiece,
    Part,
)
from discreet.engines.stretches import whole_stretches
from discreet.errors import BadInput
from discreet.table.classes import classes_of, encode_columns, plain
from discreet.table.files import delimiter_of, format_of, read_table, write_table
from discreet.table.labels import carried, take_rows
from discreet.table.native import normalise, to_arrow


class Memory(Engine):
    """The engine for tables in memory, with numpy and Arrow."""

    name = "memory"

    def read(
        self,
        table: Any,
        needed: Needed,
        null_markers: Sequence[str] = (),
        numeric: Sequence[str] = (),
        dialect: Mapping[str, str | None] | None = None,
    ) -> MemoryFrame:
        """Read a file of any format, or use a table; types are those of whole columns."""
        if isinstance(table, str | Path):
            found = read_table(table, null_markers=null_markers, numeric=numeric, **(dialect or {}))
        else:
            found = normalise(to_arrow(table), null_markers)
        if not len(found):
            where = table if isinstance(table, str | Path) else "the table"
            raise BadInput(f"{where} has no rows")
        return MemoryFrame(found)

    def write(
        self,
        frame: Frame,
        by: str,
        without: str,
        finish: OfPiece[pa.Table],
        table: Path,
        rows: Path,
    ) -> int:
        """Sort the finished rows; nulls keep the codes that statistical packages give them."""
        assert isinstance(frame, MemoryFrame)
        kept = np.flatnonzero(~frame.table[without].to_numpy())
        order = kept[np.argsort(frame.table[by].to_numpy()[kept], kind="stable")]
        made = take_rows(finish(frame.table, frame.rows), order)
        write_table(carried(made, format_of(table)), table)
        numbers = pa.table({"original_row": pa.array(frame.rows[order], pa.int64())})
        parquet.write_table(numbers, rows, compression="zstd")
        return len(order)

    def released(self, table: Path, rows: Path | None, schema: pa.Schema) -> MemoryFrame:
        """Read a released file as `write_table` writes it, without guessing, and its row map."""
        separator = None if table.is_dir() else delimiter_of(table)
        found = read_table(table, schema=schema, separator=separator, quote='"', encoding="utf-8")
        return placed(found, None if rows is None else _row_map(rows))

    def usage(self) -> dict[str, int]:
        """Return nothing: work in memory is not counted."""
        return {}

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def placed(table: pa.Table, rows: np.ndarray | None) -> MemoryFrame:
    """Return a released table as a frame with its row numbers, and their places in a column."""
    numbers = rows if rows is not None and len(rows) == len(table) else None
    frame = MemoryFrame(table, numbers)
    places = pa.array(np.arange(len(table)))
    frame.placed = MemoryFrame(table.append_column(POSITION, places), numbers)
    return frame


def _row_map(path: Path) -> np.ndarray:
    try:
        found = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} cannot be read as Parquet: {error}") from None
    if found.column_names != ["original_row"] or not pa.types.is_integer(found.schema.types[0]):
        raise BadInput(
            f"{path} is not a row map: it must hold one column of whole numbers, original_row"
        )
    return found["original_row"].fill_null(-1).to_numpy()


class MemoryFrame(Frame):
    """A table in memory.

    Parameters
    ----------
    table : pyarrow.Table
        Normalised.
    rows : ndarray of int64, optional
        The numbers of its rows; their positions by default.
    positioned : bool
    stretch : int, optional
        Make each piece of the rows with the same number // stretch instead of the whole table.

    Attributes
    ----------
    placed : MemoryFrame
        For a released table: the same with one more column, `POSITION`.
    """

    whole = True
    placed: MemoryFrame

    def __init__(
        self,
        table: pa.Table,
        rows: np.ndarray | None = None,
        positioned: bool = True,
        stretch: int | None = None,
    ) -> None:
        self.table, self.num_rows, self.stretch = table, table.num_rows, stretch
        self.schema, self.positioned = table.schema, positioned
        self.rows = np.arange(table.num_rows) if rows is None else rows

    # Counting

    def counts(self, columns: Sequence[str], by_value: bool = False) -> tuple[pa.Table, np.ndarray]:
        """Count by hashing."""
        ids, n = classes_of(*encode_columns(self.table, columns))
        # Of each tuple the first row by number, which is written last.
        order = np.argsort(self.rows, kind="stable")[::-1]
        first = np.empty(n, np.int64)
        first[ids[order]] = order
        first = first[np.argsort(self.rows[first], kind="stable")]
        found = pa.table([plain(self.table[c]).take(first) for c in columns], names=columns)
        counts = np.bincount(ids, minlength=n)[ids[first]]
        if not by_value:
            return found, counts
        # By number, because a name such as ".a" is a path to Arrow.
        keys = [str(i) for i in range(len(columns))]
        by = [(key, "ascending") for key in keys]
        place = pc.sort_indices(found.rename_columns(keys), by)
        return found.take(place), counts[place.to_numpy()]

    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Count all of them at once."""
        tuples, counts = self.counts([column], by_value=True)
        yield tuples[column], counts

    def is_unique(self, column: str) -> bool:
        """Count exactly."""
        return self.about_how_many([column]) == self.num_rows

    def about_how_many(self, columns: Sequence[str]) -> int:
        """Count exactly."""
        return len(self.counts(columns)[1])

    # Rows

    @cached_property
    def _in_order(self) -> tuple[pa.Table, np.ndarray]:
        if (np.diff(self.rows) > 0).all():
            return self.table, self.rows
        order = np.argsort(self.rows, kind="stable")
        return self.table.take(pa.array(order)), self.rows[order]

    def pieces(self, columns: Sequence[str]) -> Iterator[Numbered]:
        """Return some columns with the row numbers, all at once unless it has stretches."""
        table, rows = self._in_order
        whole = table.select(list(columns)), rows
        return iter([whole]) if self.stretch is None else whole_stretches([whole], self.stretch)

    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Call the function on the whole table."""
        return reduce(merge, (function(*piece) for piece in self.pieces(columns)))

    def _beside(
        self, after: Frame, columns: Sequence[str] | None, columns_after: Sequence[str] | None
    ) -> tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]:
        assert isinstance(after, MemoryFrame)
        ((before, rows),) = self.pieces(self.schema.names if columns is None else columns)
        names = after.schema.names if columns_after is None else columns_after
        ((table, numbers),) = after.pieces(names)
        known = np.isin(numbers, rows)
        table = table if known.all() else table.filter(pa.array(known))
        return before, rows, np.isin(rows, numbers), table

    def fold_pairs(
        self,
        after: Frame,
        function: OfPair[Part],
        merge: Merge[Part],
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Part:
        """Call the function on both tables."""
        return function(*self._beside(after, columns, columns_after))

    def map_pairs(
        self,
        after: Frame,
        function: OfPair[pa.Table],
        schema: pa.Schema,
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> MemoryFrame:
        """Call the function on both tables."""
        pair = self._beside(after, columns, columns_after)
        return MemoryFrame(function(*pair), pair[1], self.positioned)

    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> MemoryFrame:
        """Call the function on the whole table; it decides the types."""
        made = [
            (function(*piece), piece[1])
            for piece in self.pieces(self.schema.names if columns is None else columns)
        ]
        return self._made(made)

    def flat_map(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> MemoryFrame:
        """Call the function on the whole table."""
        found = self.pieces(self.schema.names if columns is None else columns)
        return self._made([function(*piece) for piece in found])

    def _made(self, parts: Sequence[Numbered]) -> MemoryFrame:
        tables, rows = zip(*parts, strict=True)
        return MemoryFrame(pa.concat_tables(tables), np.concatenate(rows), self.positioned)

    def ordered(self, by: str, without: str | None = None) -> MemoryFrame:
        """Sort by a column, then by row number, leaving out rows that a column marks."""
        table, rows = self._in_order
        kept = np.arange(len(rows))
        if without is not None:
            kept = kept[~table[without].to_numpy()]
        order = kept[np.argsort(table[by].to_numpy()[kept], kind="stable")]
        return MemoryFrame(table.take(pa.array(order)), rows[order], self.positioned)

    def ranked(self, by: Sequence[str], was: str, stretch: int) -> MemoryFrame:
        """Sort the table."""
        table, rows = self._in_order
        table = table.append_column(was, pa.array(rows, pa.int64()))
        order = np.lexsort([table[name].to_numpy() for name in reversed(by)])
        return MemoryFrame(table.take(pa.array(order)), None, self.positioned, stretch)

    def arranged(self, stretch: int) -> MemoryFrame:
        """Sort the table."""
        return MemoryFrame(*self._in_order, self.positioned, stretch)

    def remove(self) -> None:
        """Do nothing: the table goes when nobody holds it any more."""

    def native(self) -> pa.Table:
        """Return the table."""
        return self.table
