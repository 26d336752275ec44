"""CSV files, which the driver reads and writes as one stream: their rows have an order."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from discreet.engines.duckdb import Session as DuckDB
from discreet.engines.files import store_table
from discreet.engines.frame import Reading
from discreet.engines.released import streamed_csv
from discreet.private import write_private
from discreet.table.files import table_writer
from discreet.table.native import normalise, to_arrow

_PART = "part-00000.parquet"


def store(table: Any, folder: Path, how: Reading) -> Path:
    """Write a pandas, polars or pyarrow table to a Parquet file in a new folder."""
    folder.mkdir()
    store_table(normalise(to_arrow(table), how.null_markers), folder / "table.parquet")
    return folder / "table.parquet"


def parse_csv(path: Path, folder: Path, how: Reading) -> tuple[list[Path], pa.Schema]:
    """Parse a CSV to a Parquet file in a new folder; types are detected as on DuckDB."""
    folder.mkdir()
    session = DuckDB(folder)
    try:
        frame = session.open(path, how)
        return frame.files, frame.schema
    finally:
        # The files stay.
        session.connection.close()


def join_parts(parts: Path, maps: Path, table: Path, rows: Path) -> None:
    """Join part files, which are in order, into one file, and their row maps into one."""
    for folder, target in ((parts, table), (maps, rows)):
        files = sorted(folder.glob("part-*.parquet"))
        schema = parquet.read_schema(files[0])
        if target is rows:
            write_private(target, b"")  # The writer keeps its mode.
        with table_writer(target, schema) as write:
            for file in files:
                for batch in parquet.ParquetFile(file).iter_batches():
                    write(pa.table(batch))
        shutil.rmtree(folder)


def as_parts(table: Path, rows: Path, schema: pa.Schema, folder: Path) -> tuple[Path, Path]:
    """Turn a released CSV and its row map into part files."""
    parts, maps = folder / "parts", folder / "maps"
    for made in (parts, maps):
        made.mkdir(parents=True)
    shutil.copy(rows, maps / _PART)
    kinds, read = streamed_csv(table, schema)
    with parquet.ParquetWriter(parts / _PART, kinds, compression="lz4") as writer:
        read(writer.write_table)
    return parts, maps
