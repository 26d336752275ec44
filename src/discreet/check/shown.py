"""What a release shows of its records, counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.check.findings import Shown
from discreet.engines import Frame
from discreet.table.summary import Tuples

_MOST_KEPT = 1 << 25

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class ShownFrame(Shown):
    """What a release shows of its records: distinct tuples with counts, when they are asked for.

    Attributes
    ----------
    frame : Frame
    hidden : tuple of int
        Rows of the original that are not shown.
    empty : int
        Rows of nulls alone, which are suppressed records.
    """

    frame: Frame | None = None
    hidden: tuple[int, ...] = ()
    empty: int = 0
    known: dict[tuple[str, ...], tuple[pa.Table, np.ndarray]] = field(default_factory=dict)

    needs: ClassVar[str] = "needs all rows in memory: check it with the engine memory"

    @classmethod
    def of(cls, frame: Frame, suppressed_inside: bool = False) -> ShownFrame:
        """Show a table; with suppressed records inside, rows of nulls alone are not shown."""
        names = frame.schema.names
        empty = frame.fold(_empty, _sum, names) if suppressed_inside else 0
        return cls(frame.schema.empty_table(), frame=frame, empty=empty)

    @property
    def source(self) -> Frame:
        """The table."""
        assert self.frame is not None
        return self.frame

    @property
    def num_rows(self) -> int:
        """The number of records."""
        return self.source.num_rows - self.empty - len(self.hidden)

    def without(self, rows: Any) -> ShownFrame:
        """Leave out some rows of the original."""
        return replace(self, hidden=tuple(int(row) for row in rows))

    def over(self, columns: Sequence[str]) -> Shown:
        """Count distinct tuples."""
        table, counts = self._counts(tuple(columns))
        parts = []
        if self.hidden:
            parts.append(self.source.fold(partial(_rows, self.hidden), _joined, columns))
        if self.empty:
            nulls = pa.table({name: pa.nulls(1, table.schema.field(name).type) for name in columns})
            parts.append(Tuples(nulls, np.array([self.empty])))
        for part in parts:
            fewer, records = part.result()
            both = Tuples(table, counts).joined(Tuples(fewer.cast(table.schema), -records))
            table, counts = both.result()
            table, counts = table.filter(pa.array(counts > 0)), counts[counts > 0]
        return Shown(table, counts=counts)

    def _counts(self, columns: tuple[str, ...]) -> tuple[pa.Table, np.ndarray]:
        """Count distinct tuples, once where they are not too many to be kept."""
        if columns in self.known:
            return self.known[columns]
        found = self.source.counts(columns, by_value=True)
        if sum(len(counts) for _, counts in self.known.values()) + len(found[1]) < _MOST_KEPT:
            self.known[columns] = found
        return found

    def values(self, name: str) -> tuple[pa.ChunkedArray, np.ndarray, int]:
        """Count the distinct values of a column."""
        found = self.over([name])
        assert found.counts is not None
        there = found.table[name].is_valid().to_numpy()
        nulls = int(found.counts[~there].sum())
        return found.table[name].filter(pa.array(there)), found.counts[there], nulls

    def ends(self, name: str) -> Ends:
        """Look for the smallest and the largest number piece by piece."""
        return self.source.fold(partial(_ends, name), _wider, [name])

    def unique(self, columns: list[str]) -> int:
        """Count the records that no other shares some columns with."""
        if self.empty or self.hidden:
            counts = self.over(columns).counts
            assert counts is not None
            return int((counts == 1).sum())
        return self.source.unique_rows(columns)


def _empty(piece: pa.Table, rows: np.ndarray) -> int:
    empty = np.full(len(piece), True)
    for column in piece.columns:
        empty &= column.is_null(nan_is_null=True).to_numpy()
    return int(empty.sum())


def _sum(one: int, other: int) -> int:
    return one + other


def _rows(wanted: tuple[int, ...], piece: pa.Table, rows: np.ndarray) -> Tuples:
    return Tuples.of(piece.filter(pa.array(np.isin(rows, wanted))))


def _joined(one: Tuples, other: Tuples) -> Tuples:
    return one.joined(other)


def _ends(name: str, piece: pa.Table, rows: np.ndarray) -> Ends:
    return Shown(piece).ends(name)


def _wider(one: Ends, other: Ends) -> Ends:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])
