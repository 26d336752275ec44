"""A released table as a frame, with the original row of each of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.duckdb import DuckDBFrame, Session, numbered, takes_duckdbs_name
from discreet.engines.files import check_row_map, open_parquet
from discreet.engines.frame import POSITION, plain_type
from discreet.errors import BadInput
from discreet.table.csv import cast, header_of, stream_text
from discreet.table.dialect import Marks
from discreet.table.files import delimiter_of, format_of, parquet_files
from discreet.table.formulas import unguarded
from discreet.table.signatures import check_content

# Takes a piece of a table.
Write = Callable[[pa.Table], None]


class ReleasedFrame(DuckDBFrame):
    """A released table, in the order of the original's rows."""

    # The same with one more column, `POSITION`.
    placed: DuckDBFrame


def released_frame(
    session: Session, table: Path, rows: Path | None, schema: pa.Schema
) -> ReleasedFrame:
    """Read a released table with its row map into a temporary file, sorted by row number.

    The table is a CSV or Parquet file as `write_table` writes them, or a folder of Parquet files,
    whose row maps have the same names.
    """
    tables = [table] if table.is_file() else parquet_files(table)
    kind = format_of(table) if table.is_file() else "parquet"
    if table.is_file():
        check_content(table, kind)
    if not kind.startswith(("csv", "parquet")):
        raise BadInput(
            f"{table}: the engine duckdb reads CSV and Parquet, not {kind}; use --engine memory"
        )
    if kind == "parquet":
        source = DuckDBFrame(session, tables)
        source.check_alike("the parts of a release")
        kinds = pa.schema([pa.field(f.name, _kind(f, schema)) for f in source.schema])
        same = all(plain_type(f.type) == kinds.field(f.name).type for f in source.schema)
        if not same or takes_duckdbs_name(source.schema.names):
            source = source.map(lambda piece, _: cast(piece, kinds, table).cast(kinds), kinds)
    else:
        source = _of_csv(session, table, schema)
        kinds = source.schema
    if source.num_rows == 0:
        raise BadInput(f"{table} has no rows")
    maps = _maps(source, table, tables, rows)
    order = "" if maps is None else f" ORDER BY {source.row}"
    path = session.copied(f"SELECT * FROM ({_beside(source, maps)}){order}")
    if source.own:
        source.remove()
    frame = ReleasedFrame(session, [path], schema=kinds)
    frame.placed = DuckDBFrame(session, [path], schema=kinds.append(pa.field(POSITION, pa.int64())))
    return frame


def _kind(field: pa.Field, schema: pa.Schema) -> pa.DataType:
    known = schema.field(field.name) if field.name in schema.names else field
    return plain_type(known.type)


def streamed_csv(path: Path, schema: pa.Schema) -> tuple[pa.Schema, Callable[[Write], None]]:
    """Return the types of a released CSV, and what reads it, one piece at a time.

    A column that is not in the schema stays text.
    """
    # As `write_table` writes it, and never guessed at.
    dialect = header_of(path, Marks(delimiter_of(path), quote='"', encoding="utf-8"))
    empty = pa.table({name: pa.array([], pa.string()) for name in dialect.header})
    kinds = cast(unguarded(empty, schema), schema, path).schema

    def read(write: Write) -> None:
        def typed(batch: pa.RecordBatch) -> None:
            write(cast(unguarded(pa.table(batch), schema), schema, path).cast(kinds))

        stream_text(path, dialect, dialect.header, (), typed)

    return kinds, read


def _of_csv(session: Session, path: Path, schema: pa.Schema) -> DuckDBFrame:
    """Read a CSV whose types are known into a temporary file."""
    made, rows = session.new_file(), 0
    kinds, read = streamed_csv(path, schema)
    names = [f"c{i}" for i in range(len(kinds))]
    stored = pa.schema([*zip(names, kinds.types, strict=True), (DuckDBFrame.row, pa.int64())])
    with parquet.ParquetWriter(made, stored, compression="lz4") as writer:

        def write(piece: pa.Table) -> None:
            nonlocal rows
            numbers = pa.array(np.arange(rows, rows + len(piece)))
            writer.write_table(pa.table([*piece.columns, numbers], schema=stored))
            rows += len(piece)

        read(write)
    return DuckDBFrame(session, [made], schema=kinds)


def _maps(
    source: DuckDBFrame, table: Path, tables: Sequence[Path], rows: Path | None
) -> list[Path] | None:
    """Return the row map's files, one for each of the frame's; None if they do not fit."""
    if rows is None:
        return None
    maps = [rows] if rows.is_file() else parquet_files(rows)
    for path in maps:
        check_row_map(path, open_parquet(path).schema_arrow)
    sizes = [parquet.read_metadata(path).num_rows for path in maps]
    if sum(sizes) != source.num_rows:
        return None
    if source.own and len(maps) > 1:
        raise BadInput(f"{table} has other types than its schema says, part by part")
    if sizes != list(np.diff(source.starts)):
        raise BadInput(f"{rows} does not have the parts of {table}")
    if not rows.is_file() and [p.name for p in maps] != [p.name for p in tables]:
        raise BadInput(f"{rows} does not have the parts of {table}")
    return maps


def _beside(source: DuckDBFrame, maps: Sequence[Path] | None) -> str:
    """Return a query for the columns, the place of each row, and its number."""
    names = [f"s{i}" for i in range(len(source.stored))]
    cells = [f"{source.cell(name)} AS c{i}" for i, name in enumerate(source.schema.names)]
    parts = []
    for i, (path, start) in enumerate(zip(source.files, source.starts, strict=False)):
        place = f"place + {start}"
        number, beside = place, ""
        if maps is not None:
            # Both are read from their beginning; each row is where it was written.
            number = "if(place = entry, coalesce(original, -1), error('rows out of order'))"
            beside = f" POSITIONAL JOIN {numbered(maps[i])} AS m(original, entry)"
        chosen = [*cells, f"{place} AS c{len(cells)}", f"{number} AS {source.row}"]
        parts.append(
            f"SELECT {', '.join(chosen)} FROM "
            f"{numbered(path)} AS t({', '.join([*names, 'place'])}){beside}"
        )
    return " UNION ALL ".join(parts)
