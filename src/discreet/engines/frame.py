"""A table where its rows are: in memory, in files, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.classes import classes_of, encode_columns

# The column of a released table that holds a row's place in the file, from 0; no column of a user
# has such a name.
POSITION = "\0position"

Part = TypeVar("Part")
# From some rows and their numbers. Can be pickled, as all functions that go to the rows.
OfPiece = Callable[[pa.Table, np.ndarray], Part]
Finish = OfPiece[pa.Table]
# From rows before (with their numbers), which of them there are after, and those after, in order.
OfPair = Callable[[pa.Table, np.ndarray, np.ndarray, pa.Table], Part]
# Rows and their numbers.
Numbered = tuple[pa.Table, np.ndarray]
Merge = Callable[[Part, Part], Part]
# Given the columns of a table, names those that are needed.
Needed = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Reading:
    """How a table is read: what `discreet.read_table` takes, and which types must be known.

    The columns of a CSV whose types need not be known may stay text.
    """

    needed: Needed
    null_markers: Sequence[str] = ()
    numeric: Sequence[str] = ()
    # How a CSV is written: separator, decimal, quote, encoding; the sheet of a workbook.
    dialect: Mapping[str, str | None] | None = None


class Engine(ABC):
    """Where the work on tables is done: in memory, on DuckDB, on Spark."""

    # By which a user chooses it.
    name: str

    def read(
        self,
        table: Any,
        needed: Needed,
        null_markers: Sequence[str] = (),
        numeric: Sequence[str] = (),
        dialect: Mapping[str, str | None] | None = None,
    ) -> Frame:
        """Open a file, a folder of Parquet files, or a table as a frame; see `Reading`."""
        return self.open(table, Reading(needed, null_markers, numeric, dialect))

    @abstractmethod
    def open(self, table: Any, how: Reading) -> Frame:
        """Open a path, a pandas, polars or pyarrow table, or one of the engine's own."""

    @abstractmethod
    def write(
        self, frame: Frame, by: str, without: str, finish: Finish, table: Path, rows: Path
    ) -> int:
        """Write a table in the order of a column, and the row numbers beside it; count its rows.

        Equal values are sorted by row number, rows that the column `without` marks are left out,
        and `finish` turns the sorted rows into what is written. The two files have the same rows in
        the same order; they are folders of part files if that is how the engine writes.
        """

    @abstractmethod
    def released(self, table: Path, rows: Path | None, schema: pa.Schema) -> Frame:
        """Open a written file, or a folder of part files, with its row numbers as a frame.

        If the row map is None or of another length, rows are numbered by position. A column that
        is not in the schema keeps its own type.
        """

    @abstractmethod
    def usage(self) -> dict[str, int]:
        """Return how many rows and bytes were read, shuffled and written."""

    @abstractmethod
    def close(self) -> None:
        """Free memory and remove temporary files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Frame(ABC):
    """A table where its rows are."""

    # Cells are normalised: whatever means null is null.
    schema: pa.Schema
    num_rows: int
    # A row's number is its position in the user's table, from 0, and so the same in every run.
    # Otherwise it is any unique number, the same within a run.
    positioned: bool
    # All rows are in memory, and functions get all of them as one piece.
    whole: bool = False

    @abstractmethod
    def counts(
        self, columns: Sequence[str], by_value: bool = False, of: str | None = None
    ) -> tuple[pa.Table, np.ndarray]:
        """Count the rows of each distinct tuple of some columns; a null is a value like any other.

        They come in the order of their values, nulls last, or of the first row that has each, and
        in the columns' types, dictionaries as plain values. With the name of a column in `of`, its
        distinct values are counted instead of rows, nulls aside.
        """

    def counts_without(
        self, columns: Sequence[str], without: np.ndarray
    ) -> tuple[pa.Table, np.ndarray]:
        """Count the distinct tuples among all rows except those with some numbers."""
        tuples, counts = self.counts(columns)
        if not len(without):
            return tuples, counts
        gone = self.fold(partial(_chosen, without), _stacked, columns)
        # The tuples that are there come first, so that each is the one of its number.
        both = pa.concat_tables([tuples, gone.cast(tuples.schema)])
        number, classes = classes_of(*encode_columns(both, columns))
        signed = np.concatenate([counts, np.full(len(gone), -1)])
        left = np.bincount(number, signed, minlength=classes).astype(np.int64)
        left = left[number[: len(counts)]]
        return tuples.filter(pa.array(left > 0)), left[left > 0]

    def sizes(
        self, columns: Sequence[str], without: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of rows per distinct tuple, in order, and how many tuples have each.

        The rows with the numbers `without` do not count. A null is a value like any other.
        """
        _, counts = self.counts_without(columns, np.empty(0) if without is None else without)
        return np.unique(counts, return_counts=True)

    @abstractmethod
    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Return a column's distinct values in order, nulls last, with counts, some at a time."""

    def nulls(self, column: str) -> int:
        """Count the rows in which a column is null."""
        return self.fold(partial(_nulls, column), add, [column])

    @abstractmethod
    def is_unique(self, column: str) -> bool:
        """Tell whether no two rows have the same value."""

    def unique_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique on some columns."""
        return int((self.counts(columns)[1] == 1).sum())

    @abstractmethod
    def one_valued(self, columns: Sequence[str], of: Sequence[str]) -> list[tuple[int, int]]:
        """Count, for each column in `of`, the distinct tuples that hold one value of it alone.

        And the rows that hold it there; nulls aside. Only tuples of two rows or more.
        """

    @abstractmethod
    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate the number of distinct tuples, within a few percent."""

    @abstractmethod
    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Combine what a function returns for each piece of some columns, in row order."""

    def fold_pairs(
        self,
        after: Frame,
        function: OfPair[Part],
        merge: Merge[Part],
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Part:
        """Combine what a function returns for pieces of this table and another, row by row.

        The other has rows with the same numbers, some of which may be missing. All columns of each
        by default.
        """
        return self._fold_beside(self._pairs(after, columns, columns_after), function, merge)

    @abstractmethod
    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Frame:
        """Return a table with as many rows, made piece by piece, from all columns by default."""

    @abstractmethod
    def flat_map(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Frame:
        """Return a table of other rows with numbers of their own, made piece by piece."""

    def map_pairs(
        self,
        after: Frame,
        function: OfPair[pa.Table],
        schema: pa.Schema,
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Frame:
        """Return a table with as many rows, made from pieces of this table and another.

        The other table is as for `fold_pairs`.
        """
        return self._map_beside(self._pairs(after, columns, columns_after), function, schema)

    def _pairs(
        self, after: Frame, columns: Sequence[str] | None, columns_after: Sequence[str] | None
    ) -> Any:
        chosen = self.schema.names if columns is None else columns
        return self._beside(
            after, chosen, after.schema.names if columns_after is None else columns_after
        )

    @abstractmethod
    def _beside(self, after: Any, columns: Sequence[str], columns_after: Sequence[str]) -> Any:
        """Put some columns of this table and another side by side, for the next two."""

    @abstractmethod
    def _fold_beside(self, pairs: Any, function: OfPair[Part], merge: Merge[Part]) -> Part: ...

    @abstractmethod
    def _map_beside(self, pairs: Any, function: OfPair[pa.Table], schema: pa.Schema) -> Frame: ...

    @abstractmethod
    def first_of(self, by: str, columns: Sequence[str]) -> Frame:
        """Return some columns of the first row of each value that a column holds."""

    @abstractmethod
    def ranked(self, by: Sequence[str], was: str, stretch: int) -> Frame:
        """Sort the rows by columns without nulls, then by number, and renumber them from 0.

        A new column, `was`, has the numbers from before. Pieces of the result are whole stretches:
        all rows of the same number // stretch, in order.
        """

    @abstractmethod
    def arranged(self, stretch: int) -> Frame:
        """Sort the rows by number, in pieces of whole stretches as in `ranked`."""

    @abstractmethod
    def remove(self) -> None:
        """Remove what is stored for this table, and what `map` has made from it.

        What `flat_map`, `map_pairs`, `ranked` and `arranged` returned stays.
        """

    @abstractmethod
    def native(self) -> Any:
        """Return the table as the engine's own kind of table."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a dictionary's labels, and other types as they are."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def refuse_type(field: pa.Field) -> None:
    """Refuse a column type that engines do not count and write as the memory engine does."""
    kind, types = plain_type(field.type), pa.types
    known = (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal128(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )
    if not known or (types.is_dictionary(field.type) and field.type.ordered):
        what = "ordered categories" if known else str(field.type)
        raise BadInput(
            f"column '{field.name}' holds {what}, which only the memory engine takes; drop it, or "
            "turn it into text or numbers"
        )


def _chosen(numbers: np.ndarray, piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return piece.filter(pa.array(np.isin(rows, numbers)))


def _stacked(one: pa.Table, other: pa.Table) -> pa.Table:
    return pa.concat_tables([one, other])


def _nulls(column: str, piece: pa.Table, rows: np.ndarray) -> int:
    return piece[column].null_count


def remaining(gone: np.ndarray, piece: pa.Table, rows: np.ndarray) -> Numbered:
    """Return the rows whose numbers are not among some, in ascending order, with theirs."""
    place = np.minimum(np.searchsorted(gone, rows), max(len(gone) - 1, 0))
    there = gone[place] != rows if len(gone) else np.full(len(rows), True)
    return piece.filter(pa.array(there)), rows[there]


def in_rows(after: pa.Table, there: np.ndarray) -> list[pa.ChunkedArray]:
    """Return the columns of a pair's second table by the rows of the first; null if missing there.

    Examples
    --------
    >>> [column] = in_rows(pa.table({"x": [5, 6]}), np.array([True, False, True]))
    >>> column.to_pylist()
    [5, None, 6]
    """
    place = pa.array(np.cumsum(there) - 1, mask=~there)
    return [column.take(place) for column in after.columns]


def joined(
    schema: pa.Schema, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> pa.Table:
    """Put the columns of a pair side by side, with the names and types of a schema."""
    return pa.table([*before.columns, *in_rows(after, there)], schema=schema)
