"""From what a user has, a file or a table, to a frame of DuckDB's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.duckdb import DuckDBFrame, Session
from discreet.engines.files import plain_files
from discreet.errors import BadInput
from discreet.table.csv import header_of, parse_text, stream_text, text_types
from discreet.table.files import format_of
from discreet.table.native import check_names, normalise, to_arrow
from discreet.table.signatures import check_content

# Given the columns of a table, names those that are needed.
Needed = Callable[[Sequence[str]], Sequence[str]]


def duckdb_frame(
    session: Session,
    table: Any,
    needed: Needed,
    null_markers: Sequence[str] = (),
    numeric: Sequence[str] = (),
    dialect: Mapping[str, str | None] | None = None,
) -> DuckDBFrame:
    """Take a file, a folder of Parquet files, a relation or a table in memory as a frame.

    Parameters
    ----------
    session : Session
    table : path, DuckDB relation, or pandas, polars or pyarrow table
    needed : callable
        Given the names of all columns, those of which the types must be known; the others of a
        CSV stay text.
    null_markers, numeric : sequence of str
        As in `discreet.read_table`.
    dialect : mapping, optional
        How a CSV is written: separator, decimal, quote, encoding.
    """
    if isinstance(table, duckdb.DuckDBPyRelation):
        return _of_relation(session, table, null_markers)
    if not isinstance(table, str | Path):
        return _of_table(session, normalise(to_arrow(table), null_markers))
    path = Path(table)
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    if path.is_dir():
        return _of_parquet(session, path, plain_files(path), null_markers)
    kind = format_of(path)
    check_content(path, kind)
    if kind == "parquet":
        return _of_parquet(session, path, [path], null_markers)
    if not kind.startswith("csv"):
        raise BadInput(
            f"{path}: the engine duckdb reads CSV and Parquet, not {kind}; use --engine memory, "
            "or convert it"
        )
    return _of_csv(session, path, needed, null_markers, numeric, dict(dialect or {}))


def _of_table(session: Session, table: pa.Table) -> DuckDBFrame:
    if not len(table):
        raise BadInput("the table has no rows")
    path = session.new_file()
    parquet.write_table(table, path, compression="lz4")
    return DuckDBFrame(session, [path])


def _of_parquet(
    session: Session, path: Path, files: Sequence[Path], null_markers: Sequence[str]
) -> DuckDBFrame:
    frame = DuckDBFrame(session, files, null_markers)
    if frame.num_rows == 0:
        raise BadInput(f"{path} has no rows")
    for file in files[1:]:
        if DuckDBFrame(session, [file]).schema != frame.schema:
            raise BadInput(
                f"{file} does not have the columns and types of {files[0].name}; the files of a "
                "folder must have the same"
            )
    return frame


def _of_relation(
    session: Session, relation: duckdb.DuckDBPyRelation, null_markers: Sequence[str]
) -> DuckDBFrame:
    """Write a relation to a file: it belongs to a connection of its own, and has no order."""
    check_names(relation.columns)
    path = session.new_file()
    relation.write_parquet(str(path), compression="lz4")
    frame = DuckDBFrame(session, [path], null_markers)
    if frame.num_rows == 0:
        raise BadInput("the table has no rows")
    frame.positioned = False
    return frame


def _of_csv(
    session: Session,
    path: Path,
    needed: Needed,
    null_markers: Sequence[str],
    numeric: Sequence[str],
    dialect: dict[str, str | None],
) -> DuckDBFrame:
    """Read a CSV as text, find the types by the distinct cells, and give it these."""
    decimal = dialect.get("decimal")
    if decimal not in (None, ".", ","):
        raise BadInput(f"the decimal mark must be a point or a comma, not {decimal!r}")
    found = header_of(path, dialect.get("separator"), dialect.get("quote"), dialect.get("encoding"))
    columns, typed = list(found.header), set(needed(found.header))
    text = session.new_file()
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(len(columns))])
    with parquet.ParquetWriter(text, schema, compression="lz4") as writer:
        stream_text(
            path,
            found,
            columns,
            null_markers,
            lambda batch: writer.write_batch(batch.rename_columns(schema.names)),
        )
    frame = DuckDBFrame(session, [text])
    stored = zip(schema.names, columns, strict=True)
    texts = {name: frame.counts([c])[0][c] for c, name in stored if name in typed}
    types = dict.fromkeys(columns, (pa.string(), False))
    types |= text_types(path, texts, found, decimal, numeric)
    kinds = pa.schema([(name, types[name][0]) for name in columns])
    parsed = frame.map(partial(_parsed, types), kinds)
    frame.remove()
    return parsed


def _parsed(
    types: Mapping[str, tuple[pa.DataType, bool]], piece: pa.Table, rows: np.ndarray
) -> pa.Table:
    columns = {
        name: parse_text(column, *kind)
        for column, (name, kind) in zip(piece.columns, types.items(), strict=True)
    }
    return pa.table(columns)
