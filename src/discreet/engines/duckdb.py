"""Parquet files and DuckDB: counting and sorting by SQL within a memory limit, pieces by Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.files import open_parquet, schema_of
from discreet.engines.frame import Frame, Merge, OfPair, OfPiece, Part, plain_type, refuse_type
from discreet.errors import BadInput
from discreet.table.native import marker_values, normalise
from discreet.threads import cores, spread

# Rows at a time: their numpy arrays are out of the way before memory notices.
PIECE = 1 << 18
_ROW = "number"


class Session:
    """DuckDB with a memory limit, and a folder for what does not fit.

    Parameters
    ----------
    folder : Path
        For temporary files; whoever made it removes it.
    memory : str, optional
        DuckDB's limit, such as "4GB"; 40 % of the machine's where not given.
    """

    def __init__(self, folder: Path, memory: str | None = None) -> None:
        self.folder = folder
        self._files = 0
        self.connection = duckdb.connect()
        self.run("SET TimeZone = 'UTC'")
        self.run("SET enable_progress_bar = false")
        self.run("SET preserve_insertion_order = false")
        self.run(f"SET threads = {cores()}")
        self.run(f"SET temp_directory = {_text(str(folder / 'spill'))}")
        try:
            self.run(f"SET memory_limit = {_text(memory or '40%')}")
        except duckdb.Error:
            raise BadInput(f"'{memory}' is no amount of memory; give one such as 4GB") from None

    def run(self, sql: str) -> None:
        """Execute a statement."""
        try:
            self.connection.execute(sql)
        except duckdb.OutOfMemoryException as error:
            raise BadInput(_say_full(error)) from None

    def table(self, sql: str) -> pa.Table:
        """Give the result of a query, which must fit in memory."""
        try:
            return self.connection.sql(sql).to_arrow_table()
        except duckdb.OutOfMemoryException as error:
            raise BadInput(_say_full(error)) from None

    def new_file(self) -> Path:
        """Name a temporary file."""
        self._files += 1
        return self.folder / f"{self._files}.parquet"

    def close(self) -> None:
        """Let go of the memory and of the files."""
        self.connection.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class DuckDBFrame(Frame):
    """Columns of Parquet files.

    Parameters
    ----------
    session : Session
    files : sequence of Path
        In the order of their rows.
    markers : sequence of str
        What stands for a null in them, besides the empty text and NaN.
    schema : pyarrow.Schema, optional
        Of the columns c0, c1, ... and `number` of files that this module wrote; as the files say
        where not given.
    in_order : bool
        Rows are stored in the order of their numbers.
    """

    positioned = True

    def __init__(
        self,
        session: Session,
        files: Sequence[Path],
        markers: Sequence[str] = (),
        schema: pa.Schema | None = None,
        in_order: bool = True,
    ) -> None:
        self.session, self.files, self.markers = session, list(files), list(markers)
        self.own, self.in_order = schema is not None, in_order
        metadata = [open_parquet(path).metadata for path in self.files]
        self.starts = np.cumsum([0, *(found.num_rows for found in metadata)])
        self.num_rows = int(self.starts[-1])
        stored = open_parquet(self.files[0]).schema_arrow
        self.stored = [field.name for field in stored]
        if schema is None:
            schema = schema_of(stored)
        self.schema = schema
        for field in schema:
            refuse_type(field)

    # Counting

    def counts(self, columns: Sequence[str], by_value: bool = False) -> tuple[pa.Table, np.ndarray]:
        """Count by GROUP BY."""
        keys = [f"c{i}" for i in range(len(columns))]
        order = ", ".join(f"{key} NULLS LAST" for key in keys) if by_value else f"min({_ROW})"
        found = self.session.table(
            f"SELECT {', '.join(keys)}, count(*) AS n FROM ({self.sql(columns)}) "
            f"GROUP BY {', '.join(keys)} ORDER BY {order}"
        )
        tuples = found.select(range(len(columns))).rename_columns(list(columns))
        kinds = [plain_type(self.schema.field(name).type) for name in columns]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        return tuples.cast(schema), found["n"].to_numpy().astype(np.int64)

    def values(self, column: str) -> Iterator[tuple[pa.ChunkedArray, np.ndarray]]:
        """Group, sort, and read the result as a stream."""
        query = f"SELECT c0, count(*) AS n FROM ({self.sql([column])}) GROUP BY c0 ORDER BY c0"
        kind = plain_type(self.schema.field(column).type)
        reader = (
            self.session.connection.cursor().sql(f"{query} NULLS LAST").to_arrow_reader(1 << 20)
        )
        for batch in reader:
            part = pa.table(batch)
            yield part["c0"].cast(kind), part["n"].to_numpy().astype(np.int64)

    def is_unique(self, column: str) -> bool:
        """Count exactly."""
        query = f"SELECT count(DISTINCT c0) AS n FROM ({self.sql([column])})"
        return int(self.session.table(query)["n"][0].as_py()) == self.num_rows

    def about_how_many(self, columns: Sequence[str]) -> int:
        """Estimate by a sketch."""
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        sketch = f"SELECT approx_count_distinct(({keys},)) AS n FROM ({self.sql(columns)})"
        if len(columns) == 1:
            sketch = f"SELECT approx_count_distinct(c0) AS n FROM ({self.sql(columns)})"
        return int(self.session.table(sketch)["n"][0].as_py())

    def sql(self, columns: Sequence[str]) -> str:
        """Give a query for some columns, as c0, c1, ..., and for the rows' numbers, as number."""
        parts = []
        for path, start in zip(self.files, self.starts, strict=False):
            # By position: to DuckDB, A and a are one name.
            names = [f"s{i}" for i in range(len(self.stored))]
            number = f"s{self.stored.index(_ROW)}" if self.own else f"place + {start}"
            chosen = [f"{self._cell(name)} AS c{i}" for i, name in enumerate(columns)]
            parts.append(
                f"SELECT {', '.join([*chosen, f'{number} AS {_ROW}'])} FROM "
                f"read_parquet({_text(str(path))}, file_row_number = true) "
                f"AS t({', '.join([*names, 'place'])})"
            )
        return " UNION ALL ".join(parts)

    def _cell(self, name: str) -> str:
        """Give a column's cells as SQL, normalised as `table.normalise` does it."""
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

    def _stored(self, name: str) -> str:
        return f"c{self.schema.names.index(name)}" if self.own else name

    # Rows, a piece at a time

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Give some columns a piece at a time, with the rows' numbers."""
        stored = [self._stored(name) for name in columns]
        schema = pa.schema([self.schema.field(name) for name in columns])
        for path, start in zip(self.files, self.starts, strict=False):
            wanted = [*stored, _ROW] if self.own else stored
            for batch in open_parquet(path).iter_batches(PIECE, columns=wanted or None):
                table = pa.table(batch)
                if self.own:
                    rows = table[_ROW].to_numpy()
                else:
                    rows = np.arange(start, start + len(table))
                    start += len(table)
                # A name such as a.b reads a's parts as well.
                table = table.select([table.column_names.index(name) for name in stored])
                table = table.rename_columns(list(columns))
                if not self.own:
                    table = normalise(table.replace_schema_metadata(None), self.markers)
                yield table.cast(schema), rows

    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Call the function on pieces, two or more at once."""
        return reduce(merge, spread(function, self._sorted().pieces(columns)))

    def fold_pairs(
        self,
        after: Frame,
        function: OfPair[Part],
        merge: Merge[Part],
        columns: Sequence[str] | None = None,
        columns_after: Sequence[str] | None = None,
    ) -> Part:
        """Read both in the order of their rows, side by side."""
        assert isinstance(after, DuckDBFrame)
        columns = self.schema.names if columns is None else columns
        columns_after = after.schema.names if columns_after is None else columns_after
        found = _side_by_side(self._sorted().pieces(columns), after._sorted().pieces(columns_after))
        return reduce(merge, spread(function, found))

    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> DuckDBFrame:
        """Write what the function gives to a temporary file."""

        def with_rows(piece: pa.Table, rows: np.ndarray) -> pa.Table:
            made = function(piece, rows).cast(schema)
            names = [f"c{i}" for i in range(len(schema))]
            return made.rename_columns(names).append_column(_ROW, pa.array(rows, pa.int64()))

        columns = self.schema.names if columns is None else columns
        path = self.session.new_file()
        self.write(spread(with_rows, self.pieces(columns)), path)
        return DuckDBFrame(self.session, [path], schema=schema, in_order=self.in_order)

    def write(self, tables: Iterable[pa.Table], path: Path) -> None:
        """Write tables of one kind to one file."""
        writer = None
        for table in tables:
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="lz4")
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def ordered(self, by: str, without: str | None = None) -> DuckDBFrame:
        """Sort by a column, then by row number, leaving out rows that a column marks."""
        columns = self.schema.names
        key = _ROW if by == _ROW else f"c{columns.index(by)}, {_ROW}"
        kept = "" if without is None else f" WHERE NOT c{columns.index(without)}"
        path = self.session.new_file()
        # Sorted, DuckDB keeps the order in the file only if it is told to.
        self.session.run("SET preserve_insertion_order = true")
        self.session.run(
            f"COPY (SELECT * FROM ({self.sql(columns)}){kept} ORDER BY {key}) "
            f"TO {_text(str(path))} (FORMAT parquet, COMPRESSION lz4)"
        )
        self.session.run("SET preserve_insertion_order = false")
        return DuckDBFrame(self.session, [path], schema=self.schema, in_order=by == _ROW)

    def _sorted(self) -> DuckDBFrame:
        """Give the rows in the order of their numbers."""
        return self if self.in_order else self.ordered(_ROW)


def _side_by_side(
    before: Iterator[tuple[pa.Table, np.ndarray]], after: Iterator[tuple[pa.Table, np.ndarray]]
) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray, pa.Table]]:
    """Put the rows of two tables together by their numbers, which ascend in both."""
    held, numbers = next(after)
    empty = held.slice(0, 0)
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
            held, numbers = next(after, (empty, numbers))
        yield table, rows, there, pa.concat_tables(parts)


def _say_full(error: Exception) -> str:
    first = str(error).splitlines()[0]
    return f"the engine's memory is not enough ({first}); allow more with --memory"


def _text(value: str) -> str:
    """Quote text for SQL."""
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _literal(value: Any) -> str:
    """Write a value as SQL."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    return _text(str(value))
