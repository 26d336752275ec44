"""What Spark's Python workers do with the rows; none of this needs pyspark."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.files import open_parquet
from discreet.engines.frame import Merge, Numbered, OfPair, OfPiece
from discreet.engines.pieces import together
from discreet.engines.spark.carried import from_spark, to_spark
from discreet.errors import BadInput
from discreet.private import private_file
from discreet.table.native import normalise

Batches = Iterator[pa.RecordBatch]
# The last column of all that goes to workers and comes back.
ROW = "number"
# Rows of a written file that are finished at a time.
GROUP = 1 << 18
PARTIALS = "first bigint, partial binary"
WRITTEN = "part bigint, attempt string, rows bigint, size bigint"
ORIGINAL_ROW = "original_row"


def fold_rows(
    function: OfPiece[Any], merge: Merge[Any], schema: pa.Schema, span: int, batches: Batches
) -> Batches:
    """Combine what a function returns for each run of rows."""
    found = runs(schema, span, batches)
    return _partials(merge, span, ((rows, function(table, rows)) for table, rows in found))


def fold_pair(
    function: OfPair[Any], before: pa.Schema, after: pa.Schema, first: pa.Table, second: pa.Table
) -> pa.Table:
    """Return a function's result for the rows of one span, before and after."""
    table, rows, there, others = _paired(before, after, first, second)
    return pa.table(pickled(int(rows[0]), function(table, rows, there, others)))


def _paired(
    before: pa.Schema, after: pa.Schema, first: pa.Table, second: pa.Table
) -> tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]:
    table, rows = _in_order(before, first)
    others, numbers = _in_order(after, second)
    return table, rows, np.isin(rows, numbers, assume_unique=True), others


def flat_map_rows(
    function: OfPiece[Numbered], schema: pa.Schema, made: pa.Schema, span: int, batches: Batches
) -> Batches:
    """Return the rows and the numbers that a function makes of rows."""
    for table, rows in runs(schema, span, batches):
        found, numbers = function(table, rows)
        yield from sent(found.cast(made), numbers)


def map_pair(
    function: OfPair[pa.Table],
    before: pa.Schema,
    after: pa.Schema,
    made: pa.Schema,
    first: pa.Table,
    second: pa.Table,
) -> pa.Table:
    """Return what a function makes of the rows of one span, before and after."""
    table, rows, there, others = _paired(before, after, first, second)
    found = function(table, rows, there, others).cast(made)
    return pa.Table.from_batches(list(sent(found, rows)))


def write_rows(
    finish: OfPiece[pa.Table],
    schema: pa.Schema,
    order: str,
    bits: int,
    folders: tuple[Path, Path],
    batches: Batches,
) -> Batches:
    """Write the rows of each part, which come in order, and report what was written."""
    for part, runs in groupby(_parts(schema, order, bits, batches), itemgetter(0)):
        # Another attempt at the same part, even at the same time, writes to another file.
        attempt = os.urandom(8).hex()
        numbers: list[np.ndarray] = []
        path, map_path = (folder / f"{attempt}.parquet" for folder in folders)
        write_parquet(_finished(finish, runs, numbers), path)
        rows = np.concatenate(numbers)
        write_row_map(rows, map_path)
        cells = [part, attempt, len(rows), path.stat().st_size]
        yield pa.RecordBatch.from_arrays(
            [pa.array([cell]) for cell in cells], names=["part", "attempt", "rows", "size"]
        )


def _finished(
    finish: OfPiece[pa.Table],
    runs: Iterable[tuple[int, pa.Table, np.ndarray]],
    numbers: list[np.ndarray],
) -> Iterator[pa.Table]:
    """Finish the rows of a part, the same number at a time, and note their numbers."""
    held: list[tuple[pa.Table, np.ndarray]] = []
    for _, table, rows in runs:
        held.append((table, rows))
        while sum(len(rows) for _, rows in held) >= GROUP:
            table, rows = together(held)
            numbers.append(rows[:GROUP])
            yield finish(table.slice(0, GROUP).combine_chunks(), rows[:GROUP])
            held = [(table.slice(GROUP), rows[GROUP:])]
    table, rows = together(held)
    if len(rows):
        numbers.append(rows)
        yield finish(table.combine_chunks(), rows)


def read_released(
    schema: pa.Schema, parts: Sequence[tuple[Path, Path]], batches: Batches
) -> Batches:
    """Return the rows of written parts, with their numbers from the row map."""
    for place in places(batches):
        path, map_path = parts[place]
        numbers = open_parquet(map_path).read()[ORIGINAL_ROW].to_numpy()
        start = 0
        for batch in open_parquet(path).iter_batches(1 << 16):
            table = pa.table(batch)
            rows = numbers[start : start + len(table)]
            start += len(table)
            if len(rows) < len(table):
                break
            table = normalise(table.replace_schema_metadata(None), [])
            yield from sent(table.select(schema.names).cast(schema), rows)
        if start != len(numbers):
            raise BadInput(f"{path} does not have the rows that its row map {map_path} lists")


def places(batches: Batches) -> Iterator[int]:
    """Return the places, in a list of files, that a task is to work on."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def write_parquet(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables of the same schema to one file."""
    writer = None
    for table in tables:
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def write_row_map(rows: np.ndarray, path: Path) -> None:
    """Write which original row each written row is."""
    with private_file(path) as file:
        parquet.write_table(pa.table({ORIGINAL_ROW: rows}), file, compression="zstd")


def runs(schema: pa.Schema, span: int, batches: Batches) -> Iterator[Numbered]:
    """Return the rows in pieces with consecutive numbers.

    Spark puts parts of several files in one batch, in any order. If the span is 1, a piece
    has each number from its first to its last; if it is more, only numbers of one span, such as
    0 to span-1; if it is 0, rows are taken as they come.
    """
    for batch in batches:
        if batch.num_rows:
            table, rows = _typed(schema, pa.table(batch))
            start = 0
            for stop in [*_breaks(rows, span), len(rows)]:
                yield table.slice(start, stop - start), rows[start:stop]
                start = stop


def _typed(schema: pa.Schema, sent: pa.Table) -> tuple[pa.Table, np.ndarray]:
    """Return the first columns of what Spark sent in their own types, and the rows' numbers."""
    rows = sent.column(ROW).to_numpy()
    columns = [from_spark(sent.column(place), field.type) for place, field in enumerate(schema)]
    # Without columns a table has no rows; who asks for none gets the numbers.
    return pa.table(columns, schema=schema) if columns else pa.table({ROW: rows}), rows


def _in_order(schema: pa.Schema, sent: pa.Table) -> tuple[pa.Table, np.ndarray]:
    table, rows = _typed(schema, sent)
    places = np.argsort(rows)
    return table.take(places), rows[places]


def _breaks(rows: np.ndarray, span: int) -> list[int]:
    if span == 0:
        return []
    ends = np.diff(rows) != 1 if span == 1 else np.diff(rows // span) != 0
    return [int(place) + 1 for place in np.flatnonzero(ends)]


def _partials(merge: Merge[Any], span: int, found: Iterator[tuple[np.ndarray, Any]]) -> Batches:
    """Merge results for consecutive rows; the driver merges the rest."""
    first, last, merged = -1, -1, None
    for rows, part in found:
        if first >= 0 and not _breaks(np.array([last, rows[0]]), span):
            merged = merge(merged, part)
        else:
            if first >= 0:
                yield pickled(first, merged)
            first, merged = int(rows[0]), part
        last = int(rows[-1])
    if first >= 0:
        yield pickled(first, merged)


def pickled(first: int, part: Any) -> pa.RecordBatch:
    """Pickle a function's result for the driver."""
    cells = [pa.array([first]), pa.array([pickle.dumps(part)], pa.binary())]
    return pa.RecordBatch.from_arrays(cells, names=["first", "partial"])


def sent(table: pa.Table, rows: np.ndarray) -> Batches:
    """Send a table back to Spark."""
    names = [f"c{place}" for place in range(table.num_columns)]
    columns = [to_spark(column) for column in table.columns]
    whole = pa.table([*columns, pa.array(rows, pa.int64())], names=[*names, ROW])
    yield from whole.combine_chunks().to_batches()


def _parts(
    schema: pa.Schema, order: str, bits: int, batches: Batches
) -> Iterator[tuple[int, pa.Table, np.ndarray]]:
    """Cut the rows where the part given by their order word changes."""
    for table, rows in runs(schema, 0, batches):
        words = table[order].to_numpy()
        part = (words >> np.uint64(64 - bits)) if bits else np.zeros(len(words), dtype=np.uint64)
        stops = [*(np.flatnonzero(np.diff(part)) + 1), len(part)]
        start = 0
        for stop in stops:
            yield int(part[start]), table.slice(start, stop - start), rows[start:stop]
            start = stop
