"""Parquet files and DuckDB: counting and sorting by SQL within a memory limit, pieces by Arrow."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.choice import megabytes
from discreet.engines.files import as_schema, open_parquet, schema_of
from discreet.engines.frame import Engine, Finish, Frame, Numbered, Reading, plain_type
from discreet.engines.pieces import PieceFrame, same_rows
from discreet.errors import BadInput
from discreet.private import private_file
from discreet.table.files import table_writer
from discreet.table.native import marker_values, normalise
from discreet.table.signatures import reading_as
from discreet.threads import cores, spread

# Rows at a time: their numpy arrays are out of the way before memory notices.
PIECE = 1 << 18
# And of wide tables fewer rows, so that no more cells than these are at hand.
CELLS = 1 << 24
_ROW = "number"


class Session(Engine):
    """DuckDB with a memory limit, and a folder for what does not fit.

    DuckDB gets three quarters of the memory, which is 40 % of the machine's by default, and the
    pieces of tables that Arrow and numpy work on get the rest.
    """

    name = "duckdb"

    def __init__(self, folder: Path, memory: str | None = None) -> None:
        self.folder = folder
        self._usage = {"rows_read": 0, "bytes_read": 0, "bytes_shuffled": 0, "bytes_written": 0}
        self._files = 0
        self.connection = duckdb.connect()
        self.run("SET TimeZone = 'UTC'")
        self.run("SET enable_progress_bar = false")
        self.run("SET preserve_insertion_order = false")
        self.run(f"SET threads = {cores()}")
        self.run(f"SET temp_directory = {quoted(str(folder / 'spill'))}")
        self.run(f"SET memory_limit = '{megabytes(memory) * 3 // 4} MiB'")

    def run(self, sql: str) -> None:
        """Execute a statement."""
        with _telling():
            self.connection.execute(sql)

    def table(self, sql: str) -> pa.Table:
        """Return the result of a query, which must fit in memory."""
        with _telling():
            return self.connection.sql(sql).to_arrow_table()

    def stream(self, sql: str) -> Iterator[pa.Table]:
        """Return the result of a query, some rows at a time."""
        # A cursor of its own: other queries may be made while this one is read.
        with _telling():
            for batch in self.connection.cursor().sql(sql).to_arrow_reader(1 << 20):
                yield pa.table(batch)

    def copied(self, sql: str) -> Path:
        """Write the result of a query, in its order, to a temporary file."""
        path = self.new_file()
        # Sorted, DuckDB keeps the order in the file only if it is told to.
        self.run("SET preserve_insertion_order = true")
        self.run(f"COPY ({sql}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION lz4)")
        self.run("SET preserve_insertion_order = false")
        self.used(bytes_shuffled=path.stat().st_size)
        return path

    def new_file(self) -> Path:
        """Name a temporary file."""
        self._files += 1
        return self.folder / f"{self._files}.parquet"

    def used(self, **amounts: int) -> None:
        """Add to what was read, shuffled and written."""
        for what, amount in amounts.items():
            self._usage[what] += amount

    def usage(self) -> dict[str, int]:
        """Return how many rows and bytes were read, shuffled and written."""
        return dict(self._usage)

    def write(
        self, frame: Frame, by: str, without: str, finish: Finish, table: Path, rows: Path
    ) -> int:
        """Sort into a temporary file, then write the two files side by side."""
        assert isinstance(frame, DuckDBFrame)
        ordered = frame.ordered(by, without)
        kind = pa.schema([("original_row", pa.int64())])
        with (
            table_writer(table, finish(ordered.schema.empty_table(), np.empty(0)).schema) as write,
            private_file(rows) as file,
            parquet.ParquetWriter(file, kind, compression="zstd") as numbers,
        ):
            for made, taken in spread(partial(same_rows, finish), ordered.pieces()):
                write(made)
                numbers.write_table(pa.table([pa.array(taken, pa.int64())], schema=kind))
        ordered.remove()
        self.used(bytes_written=table.stat().st_size + rows.stat().st_size)
        return ordered.num_rows

    def open(self, table: Any, how: Reading) -> DuckDBFrame:
        """Use Parquet files as they are, and write anything else to a temporary one."""
        from discreet.engines.sources import duckdb_frame

        return duckdb_frame(self, table, how)

    def released(self, table: Path, rows: Path | None, schema: pa.Schema) -> DuckDBFrame:
        """Read the two files side by side into a temporary file."""
        from discreet.engines.released import released_frame

        return released_frame(self, table, rows, schema)

    def close(self) -> None:
        """Free the memory, and remove the temporary files."""
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class DuckDBFrame(PieceFrame):
    """Columns of Parquet files, which are in the order of their rows.

    A schema is given for files that this module wrote: the types of their columns c0, c1, ... and
    `number`. In others, `markers` stand for a null, besides the empty text and NaN. Rows are stored
    in the order of their numbers, if it is `in_order`.
    """

    positioned = True
    # The column of row numbers in files that this module writes.
    row = _ROW

    def __init__(
        self,
        session: Session,
        files: Sequence[Path],
        markers: Sequence[str] = (),
        schema: pa.Schema | None = None,
        in_order: bool = True,
        stretch: int | None = None,
    ) -> None:
        self.session, self.files, self.markers = session, list(files), list(markers)
        self.own, self.in_order, self.stretch = schema is not None, in_order, stretch
        self._in_order: DuckDBFrame | None = None
        # One file after the other: all at once may be more than a process may open.
        opened = ((found.metadata, found.schema_arrow) for found in map(open_parquet, self.files))
        self.metadata, self.kinds = map(list, zip(*opened, strict=True))
        self.starts = np.cumsum([0, *(found.num_rows for found in self.metadata)])
        self.num_rows = int(self.starts[-1])
        stored = self.kinds[0]
        self.stored = [field.name for field in stored]
        # Otherwise a row's number is its place.
        self.numbered = self.own and _ROW in self.stored
        self.schema = schema_of(stored) if schema is None else schema

    def check_alike(self, what: str) -> None:
        """Refuse files with other columns or types than the first."""
        for file, kind in zip(self.files, self.kinds, strict=True):
            if kind != self.kinds[0] and schema_of(kind) != self.schema:
                raise BadInput(
                    f"{file} does not have the columns and types of {self.files[0].name}; {what} "
                    "must have the same"
                )

    # Counting

    def counts(
        self, columns: Sequence[str], by_value: bool = False, of: str | None = None
    ) -> tuple[pa.Table, np.ndarray]:
        """Count by GROUP BY."""
        read = [*columns] if of is None else [*columns, of]
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes(read))
        keys = [f"c{i}" for i in range(len(columns))]
        what = "*" if of is None else f"DISTINCT c{len(columns)}"
        order = ", ".join(f"{key} NULLS LAST" for key in keys) if by_value else f"min({_ROW})"
        found = self.session.table(
            f"SELECT {', '.join(keys)}, count({what}) AS n FROM ({self.sql(read)}) "
            f"GROUP BY {', '.join(keys)} ORDER BY {order}"
        )
        tuples = found.select(range(len(columns))).rename_columns(list(columns))
        kinds = [plain_type(self.schema.field(name).type) for name in columns]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        return tuples.cast(schema), found["n"].to_numpy().astype(np.int64)

    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Group, sort, and read the result as a stream."""
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes([column]))
        query = f"SELECT c0, count(*) AS n FROM ({self.sql([column])}) GROUP BY c0 ORDER BY c0"
        kind = plain_type(self.schema.field(column).type)
        for part in self.session.stream(f"{query} NULLS LAST"):
            yield part["c0"].cast(kind), part["n"].to_numpy().astype(np.int64)

    def is_unique(self, column: str) -> bool:
        """Count exactly."""
        query = f"SELECT count(DISTINCT c0) AS n FROM ({self.sql([column])})"
        return int(self.session.table(query)["n"][0].as_py()) == self.num_rows

    def unique_rows(self, columns: Sequence[str]) -> int:
        """Count where the tuples are."""
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        query = f"SELECT 1 FROM ({self.sql(columns)}) GROUP BY {keys} HAVING count(*) = 1"
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes(columns))
        return int(self.session.table(f"SELECT count(*) AS n FROM ({query})")["n"][0].as_py())

    def one_valued(self, columns: Sequence[str], of: Sequence[str]) -> list[tuple[int, int]]:
        """Compare the ends of each column where the tuples are."""
        read = [*columns, *of]
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes(read))
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        others = range(len(columns), len(read))
        ends = ", ".join(f"count(c{i}) AS n{i}, min(c{i}) = max(c{i}) AS one{i}" for i in others)
        wanted = ", ".join(f"count(*) FILTER (one{i}), sum(n{i}) FILTER (one{i})" for i in others)
        tuples = f"SELECT {ends} FROM ({self.sql(read)}) GROUP BY {keys} HAVING count(*) > 1"
        found = self.session.table(f"SELECT {wanted} FROM ({tuples})")
        numbers = [int(column[0].as_py() or 0) for column in found.columns]
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def sizes(
        self, columns: Sequence[str], without: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count by two GROUP BYs, so that only the sizes are held in memory."""
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        rows = f"SELECT {keys}, {_ROW} FROM ({self.sql(columns)})"
        if without is not None and len(without):
            gone = pa.table({_ROW: pa.array(without, pa.int64())})
            self.session.connection.register("gone", gone)
            rows = f"{rows} ANTI JOIN gone USING ({_ROW})"
        found = self.session.table(
            f"SELECT size, count(*) AS repeats FROM (SELECT count(*) AS size FROM ({rows}) "
            f"GROUP BY {keys}) GROUP BY size ORDER BY size"
        )
        return tuple(found[name].to_numpy().astype(np.int64) for name in ("size", "repeats"))

    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate by a sketch."""
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        sketch = f"SELECT approx_count_distinct(({keys},)) AS n FROM ({self.sql(columns)})"
        if len(columns) == 1:
            sketch = f"SELECT approx_count_distinct(c0) AS n FROM ({self.sql(columns)})"
        return int(self.session.table(sketch)["n"][0].as_py())

    def sql(self, columns: Sequence[str]) -> str:
        """Return a query for some columns, as c0, c1, ..., and the row numbers, as number."""
        parts = []
        for path, start in zip(self.files, self.starts, strict=False):
            # By position: to DuckDB, A and a are one name.
            names = [f"s{i}" for i in range(len(self.stored))]
            number = f"s{self.stored.index(_ROW)}" if self.numbered else f"place + {start}"
            chosen = [f"{self.cell(name)} AS c{i}" for i, name in enumerate(columns)]
            parts.append(
                f"SELECT {', '.join([*chosen, f'{number} AS {_ROW}'])} FROM "
                f"{numbered(path)} AS t({', '.join([*names, 'place'])})"
            )
        return " UNION ALL ".join(parts)

    def cell(self, name: str) -> str:
        """Return a column's cells as SQL, normalised as `table.normalise` does it."""
        kind = self.schema.field(name).type
        stored = self._stored(name)
        cell = f"s{self.stored.index(stored)}"
        if self.own:
            return cell
        nulls = []
        if pa.types.is_floating(kind):
            # Files say nothing of NaN in a column's least and greatest value, from which DuckDB
            # concludes that isnan() is never true.
            nulls.append(f"NOT (isfinite({cell}) OR isinf({cell}))")
        markers = marker_values(["", *self.markers], plain_type(kind))
        if len(markers):
            values = ", ".join(_literal(value) for value in markers.to_pylist())
            nulls.append(f"{cell} IN ({values})")
        # Adding 0 turns -0.0 into 0.0.
        shown = f"{cell} + 0" if pa.types.is_floating(kind) else cell
        return f"CASE WHEN {' OR '.join(nulls)} THEN NULL ELSE {shown} END" if nulls else shown

    def _bytes(self, columns: Sequence[str]) -> int:
        """Return the size of some columns in the files."""
        wanted = {self._stored(name) for name in columns}
        size = 0
        for found in self.metadata:
            for group in map(found.row_group, range(found.num_row_groups)):
                for column in map(group.column, range(group.num_columns)):
                    if column.path_in_schema in wanted:
                        size += column.total_compressed_size
        return size

    def _stored(self, name: str) -> str:
        return f"c{self.schema.names.index(name)}" if self.own else name

    # Rows, a piece at a time

    def _read(self, columns: Sequence[str]) -> Iterator[Numbered]:
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes(columns))
        stored = [self._stored(name) for name in columns]
        schema = pa.schema([self.schema.field(name) for name in columns])
        size = max(1, min(PIECE, CELLS // max(1, len(columns))))
        wanted = [*stored, _ROW] if self.numbered else stored
        batches = (_batches(path, size, wanted or None, self.own) for path in self.files)
        start = 0
        for table in _full(chain.from_iterable(batches), size):
            if self.numbered:
                rows = table[_ROW].to_numpy()
            else:
                rows = np.arange(start, start + len(table))
                start += len(table)
            # A name such as a.b reads a's parts as well.
            table = table.select([table.column_names.index(name) for name in stored])
            table = table.rename_columns(list(columns))
            if not self.own:
                table = normalise(table.replace_schema_metadata(None), self.markers)
            yield as_schema(table, schema), rows

    def _beside(
        self, after: DuckDBFrame, columns: Sequence[str], columns_after: Sequence[str]
    ) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]]:
        empty = pa.schema([after.schema.field(name) for name in columns_after]).empty_table()
        others = after._sorted().pieces(columns_after)
        return _side_by_side(self._sorted().pieces(columns), others, empty)

    def _made(self, found: Iterable[Numbered], schema: pa.Schema) -> DuckDBFrame:
        """Write rows and their numbers to a temporary file."""
        names = [f"c{i}" for i in range(len(schema))]
        ascend, last = True, -1

        def stored() -> Iterator[pa.Table]:
            nonlocal ascend, last
            # First of all none: a file has a schema even where there are no rows.
            for table, rows in chain([(schema.empty_table(), np.empty(0, np.int64))], found):
                if len(rows):
                    ascend = ascend and rows[0] > last and bool((np.diff(rows) > 0).all())
                    last = int(rows[-1])
                made = table.cast(schema).rename_columns(names)
                yield made.append_column(_ROW, pa.array(rows, pa.int64()))

        path = self.session.new_file()
        self.write(stored(), path)
        return self._like(path, schema, in_order=ascend)

    def _like(self, path: Path, schema: pa.Schema, **how: Any) -> DuckDBFrame:
        """Return a frame over a temporary file that was made from this one."""
        frame = DuckDBFrame(self.session, [path], schema=schema, **how)
        frame.positioned = self.positioned
        return frame

    def write(self, tables: Iterable[pa.Table], path: Path) -> None:
        """Write tables of the same schema to one file."""
        writer = None
        for table in tables:
            if writer is None:
                # Numbers may be too many to list, which is found out slowly.
                long = (pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64())
                listed = [field.name for field in table.schema if field.type not in long]
                writer = parquet.ParquetWriter(
                    path,
                    table.schema,
                    compression="lz4",
                    use_dictionary=listed,
                    write_statistics=False,
                )
            writer.write_table(table)
        if writer is not None:
            writer.close()
            self.session.used(bytes_written=path.stat().st_size)

    def ordered(self, by: str, without: str | None = None) -> DuckDBFrame:
        """Sort by a column, then by row number, leaving out rows that a column marks."""
        columns = self.schema.names
        key = _ROW if by == _ROW else f"c{columns.index(by)}, {_ROW}"
        kept = "" if without is None else f" WHERE NOT c{columns.index(without)}"
        path = self._copied(f"SELECT * FROM ({self.sql(columns)}){kept} ORDER BY {key}")
        return self._like(path, self.schema, in_order=by == _ROW)

    def first_of(self, by: str, columns: Sequence[str]) -> DuckDBFrame:
        """Sort the rows with the least number of each value into a temporary file."""
        first = f"SELECT min({_ROW}) FROM ({self.sql([by])}) GROUP BY c0"
        rows = f"SELECT * FROM ({self.sql(columns)}) WHERE {_ROW} IN ({first})"
        path = self._copied(f"{rows} ORDER BY {_ROW}")
        return self._like(path, pa.schema([self.schema.field(name) for name in columns]))

    def ranked(self, by: Sequence[str], was: str, stretch: int) -> DuckDBFrame:
        """Sort into a temporary file, where a row's number is its place."""
        columns = self.schema.names
        old = f"c{len(columns)}"
        keys = ", ".join([*(f"c{columns.index(name)}" for name in by), old])
        path = self._copied(
            f"SELECT * RENAME ({_ROW} AS {old}) FROM ({self.sql(columns)}) ORDER BY {keys}"
        )
        schema = self.schema.append(pa.field(was, pa.int64()))
        return self._like(path, schema, stretch=stretch)

    def arranged(self, stretch: int) -> DuckDBFrame:
        """Sort into a temporary file."""
        found = self.ordered(_ROW)
        found.stretch = stretch
        return found

    def _copied(self, sql: str) -> Path:
        """Write the result of a query on all columns, in its order, to a temporary file."""
        self.session.used(rows_read=self.num_rows, bytes_read=self._bytes(self.schema.names))
        # DuckDB will need what the pieces before have left to Arrow.
        pa.default_memory_pool().release_unused()
        return self.session.copied(sql)

    def _sorted(self) -> DuckDBFrame:
        """Return the rows in the order of their numbers."""
        if not self.in_order and self._in_order is None:
            self._in_order = self.ordered(_ROW)
        return self._in_order or self

    def remove(self) -> None:
        """Remove the files, if they are temporary ones."""
        if self._in_order is not None:
            self._in_order.remove()
        for path in self.files if self.own else ():
            path.unlink(missing_ok=True)

    def native(self) -> duckdb.DuckDBPyRelation:
        """Return a relation with the columns' own names."""
        quoted = [name.replace('"', '""') for name in self.schema.names]
        names = [f'c{i} AS "{name}"' for i, name in enumerate(quoted)]
        query = f"SELECT {', '.join(names)} FROM ({self.sql(self.schema.names)})"
        return self.session.connection.sql(query)


def _batches(
    path: Path, size: int, columns: list[str] | None, own: bool
) -> Iterator[pa.RecordBatch]:
    with reading_as(path, "parquet"):
        for batch in open_parquet(path).iter_batches(size, columns=columns):
            # A damaged page may say that text ends where there is no memory.
            batch.validate(full=not own)
            yield batch


def _full(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Join the batches of small files, which cost as much each as large ones."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if held and (rows + len(batch) > size or batch.schema != held[0].schema):
            yield pa.Table.from_batches(held).combine_chunks()
            held, rows = [], 0
        held.append(batch)
        rows += len(batch)
        if rows == size:
            # At once, and not when one more is in memory.
            yield pa.Table.from_batches(held).combine_chunks()
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _side_by_side(
    before: Iterator[Numbered], after: Iterator[Numbered], empty: pa.Table
) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]]:
    """Join the rows of two tables by their numbers, which ascend in both."""
    none = np.empty(0, np.int64)
    held, numbers = next(after, (empty, none))
    for table, rows in before:
        parts = [empty]
        there = np.zeros(len(rows), dtype=bool)
        while len(numbers):
            # Those of the held rows that belong to this piece.
            stop = int(np.searchsorted(numbers, rows[-1], side="right"))
            there[np.searchsorted(rows, numbers[:stop])] = True
            parts.append(held.slice(0, stop))
            held, numbers = held.slice(stop), numbers[stop:]
            if len(numbers):
                break
            held, numbers = next(after, (empty, none))
        yield table, rows, there, pa.concat_tables(parts)


def quoted(value: str) -> str:
    """Quote text for SQL."""
    return "'" + value.replace("'", "''") + "'"


def numbered(path: Path) -> str:
    """Return SQL for a Parquet file's rows, with their places after all columns.

    It reads this file and no other that its name would match as a pattern, and only its own
    columns, whatever the folders above it are called.
    """
    exact = re.sub(r"([*?\[])", r"[\1]", str(path))
    return f"read_parquet({quoted(exact)}, file_row_number = true, hive_partitioning = false)"


def takes_duckdbs_name(names: Sequence[str]) -> bool:
    """Tell whether a column has the name that DuckDB uses for the places of rows."""
    return any(name.lower() == "file_row_number" for name in names)


@contextmanager
def _telling() -> Iterator[None]:
    """Report problems with memory or files in one sentence, and let the user interrupt."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        first = str(error).splitlines()[0]
        raise BadInput(
            f"the engine ran out of memory ({first}); allow more with --memory"
        ) from None
    except (duckdb.InvalidInputException, duckdb.IOException) as error:
        # A damaged file, a full disk.
        raise BadInput(f"the engine duckdb stopped: {str(error).splitlines()[0]}") from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


def _literal(value: Any) -> str:
    """Write a value as SQL."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"'{value}'::DOUBLE"
    if isinstance(value, int | float):
        return repr(value)
    return quoted(str(value))
