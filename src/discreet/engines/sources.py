"""From a user's file or table to a DuckDB frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.engines.duckdb import DuckDBFrame, Session, takes_duckdbs_name
from discreet.engines.files import plain_files, store_table
from discreet.engines.frame import Reading
from discreet.errors import BadInput
from discreet.table.csv import header_of, parse_text, stream_text, text_types
from discreet.table.dialect import Marks
from discreet.table.files import format_of
from discreet.table.native import check_names, normalise, to_arrow
from discreet.table.signatures import check_content, check_path

# Distinct cells of a CSV's column that its type is found by.
MOST_CELLS = 4_000_000
# DuckDB plans each file anew in each query, in the time that it takes to read so many bytes. So
# many files below this mean size are copied into one, and larger ones are read where they are.
FEW = 16
SMALL = 1 << 23


def duckdb_frame(session: Session, table: Any, how: Reading) -> DuckDBFrame:
    """Open a file, a folder of Parquet files, a relation or a table in memory as a frame."""
    null_markers = how.null_markers
    if isinstance(table, duckdb.DuckDBPyRelation):
        return _of_relation(session, table, null_markers)
    if not isinstance(table, str | Path):
        return _of_table(session, normalise(to_arrow(table), null_markers))
    path = Path(table)
    check_path(path)
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
    return _of_csv(session, path, how)


def _of_table(session: Session, table: pa.Table) -> DuckDBFrame:
    if not len(table):
        raise BadInput("the table has no rows")
    path = session.new_file()
    store_table(table, path)
    return _of_parquet(session, path, [path], ())


def _of_parquet(
    session: Session, path: Path, files: Sequence[Path], null_markers: Sequence[str]
) -> DuckDBFrame:
    frame = DuckDBFrame(session, files, null_markers)
    if frame.num_rows == 0:
        raise BadInput(f"{path} has no rows")
    frame.check_alike("the files of a folder")
    if takes_duckdbs_name(frame.schema.names) or _many_small(files):
        return frame.map(lambda piece, _: piece, frame.schema)
    return frame


def _many_small(files: Sequence[Path]) -> bool:
    return len(files) > FEW and sum(f.stat().st_size for f in files) < SMALL * len(files)


def _of_relation(
    session: Session, relation: duckdb.DuckDBPyRelation, null_markers: Sequence[str]
) -> DuckDBFrame:
    """Write a relation to a file: it belongs to another connection, and has no order."""
    check_names(relation.columns)
    path = session.new_file()
    try:
        relation.write_parquet(str(path), compression="lz4")
    except duckdb.Error as error:
        raise BadInput(f"the relation cannot be read: {str(error).splitlines()[0]}") from None
    frame = _of_parquet(session, path, [path], null_markers)
    frame.positioned = False
    return frame


def _of_csv(session: Session, path: Path, how: Reading) -> DuckDBFrame:
    """Read a CSV as text, detect the types from the distinct cells, and cast to them."""
    known = {name: mark for name, mark in (how.dialect or {}).items() if name != "sheet"}
    found = header_of(path, Marks(**known))
    columns, typed = list(found.header), set(how.needed(found.header))
    text = session.new_file()
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(len(columns))])
    with parquet.ParquetWriter(text, schema, compression="lz4") as writer:

        def write(batch: pa.RecordBatch) -> None:
            writer.write_batch(batch.rename_columns(schema.names))

        stream_text(path, found, columns, how.null_markers, write)
    frame = DuckDBFrame(session, [text])
    stored = {name: c for c, name in zip(schema.names, columns, strict=True) if name in typed}
    texts = {name: _distinct(frame, c) for name, c in stored.items()}
    types = dict.fromkeys(columns, (pa.string(), False))
    types |= text_types(path, texts, found, how.numeric)
    kinds = pa.schema([(name, types[name][0]) for name in columns])
    parsed = frame.map(partial(_parsed, types), kinds)
    frame.remove()
    return parsed


def _distinct(frame: DuckDBFrame, column: str) -> pa.ChunkedArray:
    """Return the distinct cells of a text column, as far as its type depends on them.

    If there are very many, one cell of each shape: nonzero digits count as 1 and letters as a.
    Whether a column holds numbers, dates or text is a matter of shapes.
    """
    if frame.about_how_many([column]) <= MOST_CELLS:
        return frame.counts([column])[0][column]
    shaped = "regexp_replace(regexp_replace(c0, '[1-9]', '1', 'g'), '[A-Za-z]', 'a', 'g')"
    query = (
        f"SELECT arg_min(c0, {frame.row}) AS cell FROM ({frame.sql([column])}) "
        f"WHERE c0 IS NOT NULL GROUP BY {shaped} ORDER BY min({frame.row}) LIMIT {MOST_CELLS}"
    )
    return frame.session.table(query)["cell"].cast(pa.string())


def _parsed(
    types: Mapping[str, tuple[pa.DataType, bool]], piece: pa.Table, rows: np.ndarray
) -> pa.Table:
    columns = {}
    for column, (name, kind) in zip(piece.columns, types.items(), strict=True):
        try:
            columns[name] = parse_text(column, *kind)
        except pa.ArrowInvalid as error:
            raise BadInput(
                f"column '{name}' looks like {kind[0]} and holds other cells ({error}); convert "
                "the file to Parquet with the types that you mean"
            ) from None
    return pa.table(columns)
