"""Sorted tables on Spark: files in the order of their rows, read in whole stretches.

Spark sorts, and each of its tasks writes what it has to one file. Tasks are numbered in the order
of their rows, so the files are in order too, and what follows is read from them by workers alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.files import open_parquet
from discreet.engines.frame import Merge, Numbered, OfPiece, Part
from discreet.engines.pieces import whole_stretches
from discreet.engines.spark import workers
from discreet.engines.spark.frame import SparkFrame, ddl
from discreet.engines.spark.workers import ROW, Batches

_WRITTEN = "task bigint, attempt string, rows bigint, first bigint, last bigint"
_READ = 1 << 17


@dataclass(frozen=True)
class _File:
    """One of the files that hold a sorted table: numbers of its first and of its last row."""

    path: Path
    first: int
    last: int


class SortedFrame(SparkFrame):
    """Rows in files, in the order of their numbers; pieces are whole stretches."""

    # Of the files, in a list: what tasks get.
    _places: Any
    # From columns and a file's place to the stretches that begin in it.
    _reading: Callable[[list[str], int], Iterator[Numbered]]

    @classmethod
    def ranked_rows(
        cls, frame: SparkFrame, by: Sequence[str], was: str, stretch: int
    ) -> SortedFrame:
        """Sort by columns and number, where a row's number is then its place."""
        schema = frame.schema.append(pa.field(was, pa.int64()))
        return cls._sorted(frame, frame._keys(by), schema, stretch, anew=True)

    @classmethod
    def arranged_rows(cls, frame: SparkFrame, stretch: int) -> SortedFrame:
        """Sort by number."""
        return cls._sorted(frame, [], frame.schema, stretch, anew=False)

    @classmethod
    def _sorted(
        cls, frame: SparkFrame, keys: list[str], schema: pa.Schema, stretch: int, anew: bool
    ) -> SortedFrame:
        session = frame.session
        folder = session.new_folder()
        folder.mkdir()
        work = partial(write_sorted, frame.schema, folder)
        with session.telling():
            found = frame._rows().sort(*keys, ROW).mapInArrow(work, _WRITTEN).toArrow()
        files, start = [], 0
        for one in sorted(found.to_pylist(), key=lambda one: one["task"]):
            first, last = (start, start + one["rows"] - 1) if anew else (one["first"], one["last"])
            files.append(_File(folder / f"{one['attempt']}.parquet", first, last))
            start += one["rows"]
        places = session.spark.range(0, len(files), 1, max(1, len(files)))
        plan = places.mapInArrow(partial(read_rows, files, schema, anew), ddl(schema))
        made = cls(session, plan, schema, start, frame.positioned, span=0)
        made._folder, made._places = folder, places
        made._reading = partial(read_stretches, files, schema, anew, stretch)
        return made

    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Fold the stretches of each file, and combine the results here."""
        if not self.num_rows:
            return function(self._schema(columns).empty_table(), np.arange(0))
        work = partial(fold_stretches, function, merge, self._reading, list(columns))
        return self._merged(self._places.mapInArrow(work, workers.PARTIALS), merge)

    def _mapped(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None
    ) -> SparkFrame:
        columns = self.schema.names if columns is None else list(columns)
        work = partial(map_stretches, function, schema, self._reading, columns)
        return self._like(self._places.mapInArrow(work, ddl(schema)), schema)


# What workers do


def write_sorted(schema: pa.Schema, folder: Path, batches: Batches) -> Batches:
    """Write the rows of a task, numbers last, and report what was written."""
    from pyspark import TaskContext

    # Another attempt, even at the same time, writes to another file.
    attempt, writer, count, first, last = os.urandom(8).hex(), None, 0, 0, 0
    names = [f"c{place}" for place in range(len(schema) + 1)]
    for table, rows in workers.runs(schema, 0, batches):
        stored = pa.table([*table.columns, pa.array(rows)], names=names)
        if writer is None:
            path = folder / f"{attempt}.parquet"
            writer = parquet.ParquetWriter(
                path, stored.schema, compression="lz4", use_dictionary=False
            )
            first = int(rows[0])
        writer.write_table(stored)
        count, last = count + len(rows), int(rows[-1])
    if writer is not None:
        writer.close()
        cells = [TaskContext.get().partitionId(), attempt, count, first, last]
        names = ["task", "attempt", "rows", "first", "last"]
        yield pa.RecordBatch.from_arrays([pa.array([cell]) for cell in cells], names=names)


def read_rows(files: list[_File], schema: pa.Schema, anew: bool, batches: Batches) -> Batches:
    """Return the rows of files to Spark."""
    for place in workers.places(batches):
        for table, rows in _read(files[place], schema, anew, schema.names):
            yield from workers.sent(table, rows)


def fold_stretches(
    function: OfPiece[Any], merge: Merge[Any], reading: Any, columns: list[str], batches: Batches
) -> Batches:
    """Combine what a function returns for the stretches that begin in each file."""
    for place in workers.places(batches):
        firsts, parts = [], []
        for table, rows in reading(columns, place):
            firsts.append(int(rows[0]))
            parts.append(function(table, rows))
        if parts:
            yield workers.pickled(firsts[0], reduce(merge, parts))


def map_stretches(
    function: OfPiece[Numbered],
    schema: pa.Schema,
    reading: Any,
    columns: list[str],
    batches: Batches,
) -> Batches:
    """Return what a function makes of the stretches that begin in each file."""
    for place in workers.places(batches):
        for table, rows in reading(columns, place):
            made, numbers = function(table, rows)
            yield from workers.sent(made.cast(schema), numbers)


def read_stretches(
    files: list[_File], schema: pa.Schema, anew: bool, stretch: int, columns: list[str], place: int
) -> Iterator[Numbered]:
    """Return the stretches that begin in a file, to their ends, which may be in later files."""
    return whole_stretches(_beginning_in(files, schema, anew, stretch, columns, place), stretch)


def _beginning_in(
    files: list[_File], schema: pa.Schema, anew: bool, stretch: int, columns: list[str], place: int
) -> Iterator[Numbered]:
    before = files[place - 1].last // stretch if place else -1
    last = files[place].last // stretch
    if last == before:
        return
    for table, rows in _read(files[place], schema, anew, columns):
        skipped = int(np.searchsorted(rows // stretch, before, side="right"))
        yield table.slice(skipped), rows[skipped:]
    for file in files[place + 1 :]:
        if file.first // stretch != last:
            return
        for table, rows in _read(file, schema, anew, columns):
            taken = int(np.searchsorted(rows // stretch, last, side="right"))
            yield table.slice(0, taken), rows[:taken]
            if taken < len(rows):
                return


def _read(file: _File, schema: pa.Schema, anew: bool, columns: Sequence[str]) -> Iterator[Numbered]:
    """Return some columns of a file with the row numbers: positions, or what was stored."""
    places = [schema.names.index(name) for name in columns]
    stored = [f"c{place}" for place in places]
    number = f"c{len(schema)}"
    kinds = pa.schema([schema.field(place) for place in places])
    start = file.first
    for batch in open_parquet(file.path).iter_batches(
        _READ, columns=stored if anew else [*stored, number]
    ):
        table = pa.table(batch)
        rows = np.arange(start, start + len(table)) if anew else table[number].to_numpy()
        start += len(table)
        yield table.select(stored).rename_columns(list(columns)).cast(kinds), rows
