"""A table where its rows are: in files, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

Part = TypeVar("Part")
# From some rows and their numbers. Can be pickled, as all functions that go to the rows.
OfPiece = Callable[[pa.Table, np.ndarray], Part]
# From rows before (with their numbers), which of them there are after, and those after, in order.
OfPair = Callable[[pa.Table, np.ndarray, np.ndarray, pa.Table], Part]
# Rows and their numbers.
Numbered = tuple[pa.Table, np.ndarray]
Merge = Callable[[Part, Part], Part]


class Frame(ABC):
    """A table where its rows are.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types of the columns. Cells are normalised: what means a null is one.
    num_rows : int
    positioned : bool
        The number of a row is its position in the table as the user knows it, from 0, and so the
        same in every run. Otherwise it is some number of its own, the same within a run.
    """

    schema: pa.Schema
    num_rows: int
    positioned: bool

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

    @abstractmethod
    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Give a column's distinct values in order, nulls last, with counts, some at a time."""

    @abstractmethod
    def is_unique(self, column: str) -> bool:
        """Tell whether no two rows have the same value."""

    @abstractmethod
    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate the number of distinct tuples, within a few percent."""

    @abstractmethod
    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Put together what a function gives for each piece of some columns, in the rows' order."""

    @abstractmethod
    def fold_pairs(
        self,
        after: Frame,
        function: OfPair[Part],
        merge: Merge[Part],
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Part:
        """Put together what a function gives for pieces of this table and another, row by row.

        The other holds rows of the same numbers, some of which may be missing. All columns of each
        where none are named.
        """

    @abstractmethod
    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Frame:
        """Give a table of as many rows, made piece by piece; of all columns if none are named."""

    @abstractmethod
    def flat_map(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Frame:
        """Give a table of other rows, made piece by piece, which have numbers of their own."""

    @abstractmethod
    def map_pairs(
        self,
        after: Frame,
        function: OfPair[pa.Table],
        schema: pa.Schema,
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Frame:
        """Give a table of as many rows, made from pieces of this table and another, row by row.

        The other is as `fold_pairs` takes it.
        """

    @abstractmethod
    def ranked(self, by: Sequence[str], was: str, stretch: int) -> Frame:
        """Sort the rows by columns without nulls, then by number, and number them anew from 0.

        Parameters
        ----------
        by : sequence of str
        was : str
            Name of one more column, for the numbers that they had.
        stretch : int
            Pieces of the result are whole stretches: all rows of the same number // stretch,
            in order.
        """

    @abstractmethod
    def arranged(self, stretch: int) -> Frame:
        """Sort the rows by number, in pieces of whole stretches as `ranked` has them."""

    @abstractmethod
    def drop(self) -> None:
        """Let go of what is stored for this table, which is not used any more."""
