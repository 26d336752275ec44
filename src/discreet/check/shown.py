"""What a release shows of its records, counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.findings import NEEDS_INTERNAL
from discreet.engines import Frame
from discreet.recipe.recipe import Recipe
from discreet.table import float_values

NEEDS_MEMORY = "needs all rows in memory: check it with the engine memory"
_MOST_KEPT = 1 << 25

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Shown:
    """What a release shows of its records: distinct tuples with counts, when they are asked for."""

    frame: Frame
    mapped: bool = False  # rows have the numbers of the original's rows
    complete: bool = False  # left-out records are there, as rows of nulls
    empty: int = 0  # rows of nulls alone, which are suppressed records and not shown
    suppression: bool | None = None  # of records; None where only the plan would tell
    hidden: tuple[int, ...] = ()  # rows of the original that are not shown
    known: dict[tuple[str, ...], tuple[pa.Table, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, frame: Frame, recipe: Recipe, evidence: Evidence | None, path: Path | None
    ) -> Shown:
        """Show a table; a file does not hold the records that are left out."""
        if evidence is None:
            promises = {step.build().promise for step in recipe.steps}
            unclear = bool({"privacy-models", "wildcard-k"} & promises)
            return cls(frame, empty=_empty_rows(frame), suppression=None if unclear else False)
        gone = evidence.suppressed
        rows = evidence.log["input"]["rows"]
        complete = path is None and gone["left_out"] > 0 and frame.num_rows == rows
        return cls(
            frame,
            complete or evidence.row_map is None or evidence.mapped == frame.num_rows,
            complete,
            # A row of values where there should be nulls is shown, and counted.
            min(gone["left_out"], _empty_rows(frame)) if complete else 0,
            gone["records"] > 0,
        )

    @property
    def column_names(self) -> list[str]:
        """The released columns."""
        return self.frame.schema.names

    @property
    def num_rows(self) -> int:
        """The number of records."""
        return self.frame.num_rows - self.empty - len(self.hidden)

    @property
    def needs(self) -> str | None:
        """What it would take to look at each record beside its original, if anything."""
        if not self.frame.whole:
            return NEEDS_MEMORY
        return None if self.mapped else NEEDS_INTERNAL

    def without(self, rows: Any) -> Shown:
        """Leave out some rows of the original, where it is known which they are."""
        return replace(self, hidden=tuple(int(row) for row in rows)) if self.mapped else self

    def over(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Count distinct tuples."""
        if not columns:
            raise ValueError("none of its columns is there")
        if self.hidden:
            table, counts = self.frame.counts_without(columns, np.array(self.hidden))
        else:
            table, counts = self._counts(tuple(columns))
        if self.empty:
            counts = counts - self.empty * all_null(table)
            table, counts = table.filter(pa.array(counts > 0)), counts[counts > 0]
        return table, counts

    def _counts(self, columns: tuple[str, ...]) -> tuple[pa.Table, np.ndarray]:
        """Count distinct tuples, once where they are not too many to be kept."""
        if columns in self.known:
            return self.known[columns]
        found = self.frame.counts(columns, by_value=True)
        if sum(len(counts) for _, counts in self.known.values()) + len(found[1]) < _MOST_KEPT:
            self.known[columns] = found
        return found

    def values(self, name: str) -> tuple[pa.ChunkedArray, np.ndarray, int]:
        """Return the distinct values of a column, their counts, and the number of nulls."""
        table, counts = self.over([name])
        there = table[name].is_valid().to_numpy()
        return table[name].filter(pa.array(there)), counts[there], int(counts[~there].sum())

    def ends(self, name: str) -> Ends:
        """Return a column's smallest and largest number; None where it holds nulls alone."""
        return self.frame.fold(partial(_ends, name), _wider, [name])

    def unique(self, columns: Sequence[str]) -> int:
        """Count the records that no other shares some columns with."""
        if self.empty or self.hidden:
            return int((self.over(columns)[1] == 1).sum())
        return self.frame.unique_rows(columns)


def all_null(table: pa.Table) -> np.ndarray:
    """Mask the rows that are null in every column."""
    empty = np.full(table.num_rows, True)
    for column in table.columns:
        empty &= column.is_null(nan_is_null=True).to_numpy()
    return empty


def _empty_rows(frame: Frame) -> int:
    return frame.fold(_empty, add, frame.schema.names)


def _empty(piece: pa.Table, rows: np.ndarray) -> int:
    return int(all_null(piece).sum())


def _ends(name: str, piece: pa.Table, rows: np.ndarray) -> Ends:
    values = float_values(piece[name], name)
    if np.isnan(values).all():
        return None
    return float(np.nanmin(values)), float(np.nanmax(values))


def _wider(one: Ends, other: Ends) -> Ends:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])
