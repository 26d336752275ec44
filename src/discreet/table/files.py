"""Files in and out, by their suffix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from discreet.errors import BadInput, nearest
from discreet.table.csv import read_csv
from discreet.table.native import normalise, tidy_dictionary, to_arrow

FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}


def format_of(path: Path) -> str:
    """Name the format of a file by its suffix."""
    if path.suffix.lower() not in FORMATS:
        raise BadInput(
            f"{path}: no known table format has the suffix '{path.suffix}'; "
            + nearest(path.suffix, FORMATS)
        )
    return FORMATS[path.suffix.lower()]


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    null_markers: Sequence[str] = (),
    numeric: Sequence[str] = (),
    schema: pa.Schema | None = None,
) -> pa.Table:
    r"""Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        `.csv`, `.tsv`, `.txt` or `.parquet`.
    separator, decimal, quote, encoding : str, optional
        How the CSV is written; what is not given is found by looking at the file. A decimal comma
        is taken only where the separator is not a comma and no column has decimal points.
    null_markers : sequence of str
        Cells that stand for a missing value, besides the empty cell.
    numeric : sequence of str
        Columns of a CSV that are numbers for certain, however they are spelt. In others `10.1`
        beside `10.10`, or a leading `+`, makes a column text, because they may be codes.
    schema : pyarrow.Schema, optional
        Types of a CSV's columns where they are known; found by looking where not.

    Returns
    -------
    pyarrow.Table
        Numbers, dates and times where a whole column holds them and nothing is lost by it (`007`
        stays text), text elsewhere.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("zip;height\n01234;1,80\n20095;?\n")
    >>> read_table(path, null_markers=["?"]).to_pylist()
    [{'zip': '01234', 'height': 1.8}, {'zip': '20095', 'height': None}]
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    if not path.is_file():
        raise BadInput(f"{path} is not a file")
    kind = format_of(path)
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if kind == "csv":
        return read_csv(
            path,
            separator=separator,
            decimal=decimal,
            quote=quote,
            encoding=encoding,
            null_markers=null_markers,
            numeric=numeric,
            schema=schema,
        )
    try:
        table = parquet.read_table(pa.OSFile(str(path)))
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"{path} cannot be read as Parquet: {error}") from None
    if table.num_rows == 0:
        raise BadInput(f"{path} has no rows")
    return normalise(to_arrow(table), null_markers)


def write_table(table: Any, path: str | Path) -> None:
    """Write a table as CSV (comma, decimal point, UTF-8) or Parquet, by the path's suffix.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
        Missing values, NaN among them, are written as the format's own null.
    path : str or Path
        Replaced where it exists.

    Examples
    --------
    >>> import tempfile, pathlib, pyarrow as pa
    >>> path = pathlib.Path(tempfile.mkdtemp(), "out.csv")
    >>> write_table(pa.table({"zip": ["01234", None], "height": [1.8, float("nan")]}), path)
    >>> print(path.read_text())
    "zip","height"
    "01234",1.8
    ,
    """
    path = Path(path)
    target = format_of(path)
    table = to_arrow(table)
    columns = {name: _nan_to_null(table[name]) for name in table.column_names}
    if target == "csv":
        columns = {name: for_csv(name, column) for name, column in columns.items()}
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        options = arrow_csv.WriteOptions(delimiter=delimiter)
        with pa.OSFile(str(path), "wb") as file:
            arrow_csv.write_csv(pa.table(columns), file, options)
        return
    for name, column in columns.items():
        if pa.types.is_dictionary(column.type):
            columns[name] = tidy_dictionary(column)
    with pa.OSFile(str(path), "wb") as file:
        parquet.write_table(pa.table(columns), file, compression="zstd")


def _nan_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def for_csv(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column in a type that CSV can hold."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_time(column.type):
        return column.cast(pa.string())
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise BadInput(f"column '{name}' holds {column.type}, which CSV cannot; use Parquet")
    return column
