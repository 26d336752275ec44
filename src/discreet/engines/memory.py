"""Tables in memory, in Arrow: all rows are one piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from discreet.engines.files import check_row_map
from discreet.engines.frame import POSITION, Engine, Finish, Frame, Numbered, Reading
from discreet.engines.pieces import PieceFrame, together
from discreet.errors import BadInput
from discreet.private import private_file
from discreet.table.classes import classes_of, encode, encode_columns, in_order, plain
from discreet.table.files import delimiter_of, format_of, read_table, write_table
from discreet.table.labels import carried, take_rows, with_stars
from discreet.table.native import normalise, to_arrow
from discreet.table.signatures import reading_as


class Memory(Engine):
    """The engine for tables in memory, with numpy and Arrow."""

    name = "memory"

    def open(self, table: Any, how: Reading) -> MemoryFrame:
        """Read a file of any format, or use a table; types are those of whole columns."""
        if isinstance(table, str | Path):
            markers, dialect = how.null_markers, how.dialect or {}
            found = read_table(table, null_markers=markers, numeric=how.numeric, **dialect)
        else:
            found = normalise(to_arrow(table), how.null_markers)
        if not len(found):
            where = table if isinstance(table, str | Path) else "the table"
            raise BadInput(f"{where} has no rows")
        return MemoryFrame(found)

    def write(
        self, frame: Frame, by: str, without: str, finish: Finish, table: Path, rows: Path
    ) -> int:
        """Sort the finished rows; nulls keep the codes that statistical packages give them."""
        assert isinstance(frame, MemoryFrame)
        kept = np.flatnonzero(~frame.table[without].to_numpy())
        order = kept[np.argsort(frame.table[by].to_numpy()[kept], kind="stable")]
        made = take_rows(finish(frame.table, frame.rows), order)
        write_table(carried(made, format_of(table)), table)
        numbers = pa.table({"original_row": pa.array(frame.rows[order], pa.int64())})
        with private_file(rows) as file:
            parquet.write_table(numbers, file, compression="zstd")
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


def starred(frame: Frame) -> Frame:
    """Return a release that was read without its schema, with the stars of SPSS and Stata files."""
    return MemoryFrame(with_stars(frame.table)) if isinstance(frame, MemoryFrame) else frame


def _comparable(column: pa.ChunkedArray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return an array that differs where cells do, and which of them are not null."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.fill_null(0).to_numpy(), column.is_valid().to_numpy()
    codes, _ = encode(column, name)
    return codes, codes >= 0


def _row_map(path: Path) -> np.ndarray:
    with reading_as(path, "parquet"):
        found = parquet.read_table(path)
    check_row_map(path, found.schema)
    # A number that is none of a row's is no row; so is one that is not there.
    rows = found["original_row"].cast(pa.int64(), safe=False)
    return rows.fill_null(-1).to_numpy()


class MemoryFrame(PieceFrame):
    """A table in memory, normalised; a row's number is its position unless numbers are given.

    Pieces are the whole table, or its stretches. `placed` is for a released table: the same with
    one more column, `POSITION`.
    """

    whole = True
    placed: MemoryFrame
    _call = staticmethod(starmap)

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
        self._encoded: dict[str, tuple[np.ndarray, int]] = {}  # columns whose values are counted

    # Counting

    def counts(
        self, columns: Sequence[str], by_value: bool = False, of: str | None = None
    ) -> tuple[pa.Table, np.ndarray]:
        """Count by hashing."""
        ids, n = classes_of(*encode_columns(self.table, columns))
        # Of each tuple the first row by number, which is written last.
        order = np.argsort(self.rows, kind="stable")[::-1]
        first = np.empty(n, np.int64)
        first[ids[order]] = order
        first = first[np.argsort(self.rows[first], kind="stable")]
        found = pa.table([plain(self.table[c]).take(first) for c in columns], names=columns)
        counted = ids if of is None else self._once_each(ids, of)
        counts = np.bincount(counted, minlength=n)[ids[first]]
        if not by_value:
            return found, counts
        # By number, because a name such as ".a" is a path to Arrow.
        keys = [str(i) for i in range(len(columns))]
        by = [(key, "ascending") for key in keys]
        place = pc.sort_indices(found.rename_columns(keys), by)
        return found.take(place), counts[place.to_numpy()]

    def _once_each(self, ids: np.ndarray, of: str) -> np.ndarray:
        """Return the classes of rows, each as often as it holds another value of a column."""
        if of not in self._encoded:
            self._encoded[of] = encode(self.table[of], of)
        codes, size = self._encoded[of]
        return in_order((ids * size + codes)[codes >= 0]) // max(size, 1)

    def one_valued(self, columns: Sequence[str], of: Sequence[str]) -> list[tuple[int, int]]:
        """Compare each row's value with that of the last row of its class."""
        ids, n = classes_of(*encode_columns(self.table, columns))
        alone = np.bincount(ids, minlength=n) == 1
        found = []
        for name in of:
            values, there = _comparable(self.table[name], name)
            own = ids if there.all() else ids[there]
            values = values if there.all() else values[there]
            last = np.zeros(n, values.dtype)
            last[own] = values
            records = np.bincount(own, minlength=n)
            records[own[last[own] != values]] = 0
            records[alone] = 0
            found.append((int((records > 0).sum()), int(records.sum())))
        return found

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

    def _read(self, columns: Sequence[str]) -> Iterator[Numbered]:
        table, rows = self._in_order
        return iter([(table.select(list(columns)), rows)])

    def _beside(
        self, after: MemoryFrame, columns: Sequence[str], columns_after: Sequence[str]
    ) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]]:
        ((before, rows),) = self.pieces(columns)
        ((table, numbers),) = after.pieces(columns_after)
        known = np.isin(numbers, rows)
        table = table if known.all() else table.filter(pa.array(known))
        yield before, rows, np.isin(rows, numbers), table

    def _made(self, found: Iterable[Numbered], schema: pa.Schema) -> MemoryFrame:
        # The function decides the types.
        return MemoryFrame(*together(found), self.positioned)

    def first_of(self, by: str, columns: Sequence[str]) -> MemoryFrame:
        """Take the rows at which a value first comes."""
        table, rows = self._in_order
        codes = classes_of(*encode_columns(table, [by]))[0]
        first = np.sort(np.unique(codes, return_index=True)[1])
        return MemoryFrame(table.select(list(columns)).take(pa.array(first)), rows[first])

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
