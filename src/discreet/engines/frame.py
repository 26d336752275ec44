"""A table where its rows are: in memory, in files, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
# From rows before (with their numbers), which of them there are after, and those after, in order.
OfPair = Callable[[pa.Table, np.ndarray, np.ndarray, pa.Table], Part]
# Rows and their numbers.
Numbered = tuple[pa.Table, np.ndarray]
Merge = Callable[[Part, Part], Part]
# Given the columns of a table, names those that are needed.
Needed = Callable[[Sequence[str]], Sequence[str]]


class Engine(ABC):
    """Where the work on tables is done: in memory, on DuckDB, on Spark.

    Attributes
    ----------
    name : str
        The name by which a user chooses it.
    """

    name: str

    @abstractmethod
    def read(
        self,
        table: Any,
        needed: Needed,
        null_markers: Sequence[str] = (),
        numeric: Sequence[str] = (),
        dialect: Mapping[str, str | None] | None = None,
    ) -> Frame:
        """Open a file, a folder of Parquet files, or a table as a frame.

        Parameters
        ----------
        table : path, or pandas, polars or pyarrow table, or one of the engine's own
        needed : callable
            Given the names of all columns, returns those whose types must be known; the others
            of a CSV may stay text.
        null_markers, numeric : sequence of str
            As in `discreet.read_table`.
        dialect : mapping, optional
            How a CSV is written: separator, decimal, quote, encoding; the sheet of a workbook.
        """

    @abstractmethod
    def write(
        self,
        frame: Frame,
        by: str,
        without: str,
        finish: OfPiece[pa.Table],
        table: Path,
        rows: Path,
    ) -> int:
        """Write a table in the order of a column, and the row numbers beside it.

        Parameters
        ----------
        frame : Frame
        by : str
            The column to sort by; equal values by row number.
        without : str
            The column that marks the rows to leave out.
        finish : callable
            Turns the sorted rows into what is written.
        table, rows : Path
            Files with the same rows in the same order; folders of part files if that is how the
            engine writes.

        Returns
        -------
        int
            Rows written.
        """

    @abstractmethod
    def released(self, table: Path, rows: Path | None, schema: pa.Schema) -> Frame:
        """Open a written table, with its row numbers, as a frame.

        Parameters
        ----------
        table : Path
            A file, or a folder of part files.
        rows : Path or None
            The row map; if it is None or of another length, rows are numbered by position.
        schema : pyarrow.Schema
            Types of the columns; a column that is not in it keeps its own.
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
    """A table where its rows are.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types of the columns. Cells are normalised: whatever means null is null.
    num_rows : int
    positioned : bool
        A row's number is its position in the user's table, from 0, and so the same in every run.
        Otherwise it is any unique number, the same within a run.
    whole : bool
        All rows are in memory, and functions get all of them as one piece.
    """

    schema: pa.Schema
    num_rows: int
    positioned: bool
    whole: bool = False

    @abstractmethod
    def counts(self, columns: Sequence[str], by_value: bool = False) -> tuple[pa.Table, np.ndarray]:
        """Count the distinct tuples of some columns; a null is a value like any other.

        Parameters
        ----------
        columns : sequence of str
        by_value : bool
            In the order of their values, nulls last, instead of by the first row that has each.

        Returns
        -------
        tuples : pyarrow.Table
            In the columns' types, dictionaries as plain values.
        counts : ndarray of int64
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
        left = np.bincount(number, signed, minlength=classes).astype(np.int64)[
            number[: len(counts)]
        ]
        return tuples.filter(pa.array(left > 0)), left[left > 0]

    def sizes(
        self, columns: Sequence[str], without: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the distinct tuples of each size: how many occur once, twice, ...

        Parameters
        ----------
        columns : sequence of str
        without : ndarray of int64, optional
            Numbers of rows that do not count.

        Returns
        -------
        sizes, repeats : ndarray of int64
            Numbers of rows per tuple, in order, and how many tuples have that many. A null is a
            value like any other.
        """
        none = np.empty(0, np.int64)
        _, counts = self.counts_without(columns, none if without is None else without)
        return np.unique(counts, return_counts=True)

    @abstractmethod
    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Return a column's distinct values in order, nulls last, with counts, some at a time."""

    @abstractmethod
    def is_unique(self, column: str) -> bool:
        """Tell whether no two rows have the same value."""

    def unique_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique on some columns."""
        return int((self.counts(columns)[1] == 1).sum())

    @abstractmethod
    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate the number of distinct tuples, within a few percent."""

    @abstractmethod
    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Combine what a function returns for each piece of some columns, in row order."""

    @abstractmethod
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

    @abstractmethod
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

    @abstractmethod
    def ranked(self, by: Sequence[str], was: str, stretch: int) -> Frame:
        """Sort the rows by columns without nulls, then by number, and renumber them from 0.

        Parameters
        ----------
        by : sequence of str
        was : str
            Name of a new column for the numbers that they had before.
        stretch : int
            Pieces of the result are whole stretches: all rows of the same number // stretch,
            in order.
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
