"""Files in and out, by their suffix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from discreet.errors import BadInput, nearest
from discreet.table.bare import bare
from discreet.table.cells import plain
from discreet.table.csv import cast, header_of, read_csv
from discreet.table.dialect import Marks, packing
from discreet.table.labels import is_text, public_field, replaced, uncoded
from discreet.table.native import normalise, tidy_dictionary, to_arrow
from discreet.table.signatures import (
    FORMATS,
    READ_ONLY,
    check_content,
    check_path,
    reading_as,
    suffix_of,
)

# Rows that a chunk of a table should have.
_CHUNK = 1 << 14


def format_of(path: Path, write: bool = False) -> str:
    """Name the format of a file by its suffix."""
    suffix = suffix_of(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    if suffix not in READ_ONLY:
        raise BadInput(
            f"{path}: no known table format has the suffix '{path.suffix}'; "
            + nearest(suffix, FORMATS)
        )
    if write:
        raise BadInput(f"{path}: files with the suffix '{suffix}' are read, but not written")
    return READ_ONLY[suffix]


def delimiter_of(path: Path) -> str:
    """Return the separator that a CSV file is written with."""
    return "\t" if suffix_of(path).startswith(".tsv") else ","


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
    sheet: str | None = None,
) -> pa.Table:
    r"""Read a table from a file, or from a folder of Parquet files.

    Parameters
    ----------
    path : str or Path
        `.csv`, `.tsv`, `.txt` (also with `.gz` or `.zst`), `.parquet`, `.feather`, `.xlsx`, `.sav`
        (SPSS), `.dta` (Stata), `.xpt` or `.sas7bdat` (SAS). A folder holds Parquet files.
    separator, decimal, quote, encoding : str, optional
        How the CSV is written; detected by default. The quote may be `"none"`. A decimal comma is
        recognised only if the separator is not a comma and no column has decimal points. The
        encoding also applies to an SPSS, Stata or SAS file that does not state its own.
    null_markers : sequence of str
        Cells that stand for a missing value, besides the empty cell.
    numeric : sequence of str
        Columns of a CSV that are surely numbers, however they are spelt. In other columns `10.1`
        beside `10.10`, or a leading `+`, makes the column text, because they may be codes.
    schema : pyarrow.Schema, optional
        Types of the columns, if known; detected by default.
    sheet : str, optional
        The sheet of an Excel workbook; the first by default.

    Returns
    -------
    pyarrow.Table
        Numbers, dates and times if a whole column holds them and nothing is lost (`007` stays
        text), otherwise text. Labels, formats and missing-value codes come with the fields
        (`discreet.table.labels`).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("zip;height\n01234;1,80\n20095;?\n")
    >>> read_table(path, null_markers=["?"]).to_pylist()
    [{'zip': '01234', 'height': 1.8}, {'zip': '20095', 'height': None}]
    """
    path = Path(path)
    check_path(path)
    if path.is_dir():
        return _finished(_read_folder(path), path, null_markers, schema)
    kind = format_of(path)
    check_content(path, kind)
    if sheet is not None and kind != "xlsx":
        raise BadInput(f"{path} is not a workbook, so it has no sheet '{sheet}'")
    if kind.startswith("csv"):
        known = Marks(separator, decimal, quote, encoding)
        return read_csv(path, known, null_markers, numeric, schema)
    text = [] if schema is None else [field.name for field in schema if is_text(field.type)]
    with reading_as(path, kind):
        if kind == "xlsx":
            from discreet.table.excel import read_excel

            table = read_excel(path, sheet, null_markers, text)
        elif kind in ("parquet", "feather"):
            table = _read_arrow(path, kind)
        else:
            from discreet.table.statistics_files import read_statistics_file

            table = read_statistics_file(path, kind, encoding, text)
    return _finished(table, path, null_markers, schema)


def columns_of(path: str | Path, **known: str | None) -> list[str]:
    """Return the names of a table's columns, without reading the rest where that is possible.

    Parameters
    ----------
    path : str or Path
    **known : str
        How the file is written, as for `read_table`.
    """
    path = Path(path)
    check_path(path)
    if path.is_file() and format_of(path).startswith("csv"):
        check_content(path, format_of(path))
        marks = {name: known.get(name) for name in ("separator", "decimal", "quote", "encoding")}
        return list(header_of(path, Marks(**marks)).header)
    if path.is_file() and format_of(path) == "parquet":
        with reading_as(path, "parquet"):
            return list(parquet.read_schema(path).names)
    given: dict[str, Any] = dict(known)
    return list(read_table(path, **given).column_names)


def _finished(
    table: pa.Table, path: Path, null_markers: Sequence[str], schema: pa.Schema | None
) -> pa.Table:
    if table.num_rows == 0:
        raise BadInput(f"{path} has no rows")
    table = table if schema is None else uncoded(table, schema)
    table = normalise(to_arrow(table), null_markers)
    return table if schema is None else cast(table, schema, path)


def _read_arrow(path: Path, kind: str) -> pa.Table:
    if kind == "feather":
        table = feather.read_table(str(path), memory_map=False)
    else:
        table = parquet.ParquetFile(pa.OSFile(str(path))).read()
    # A damaged page may say that text ends where there is no memory.
    table.validate(full=True)
    return table


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder, in the order of their names."""
    found = [p for p in folder.rglob("*") if p.suffix.lower() in (".parquet", ".pq")]
    hidden = ("_", ".")
    paths = sorted(p for p in found if not p.name.startswith(hidden))
    if not paths:
        raise BadInput(f"{folder} is a folder without Parquet files")
    for path in paths:
        check_path(path)
        if path.is_dir():
            raise BadInput(f"{path} is a folder, though its suffix says that it is a file")
    return paths


def _read_folder(folder: Path) -> pa.Table:
    """Read the Parquet files of a folder, in the order of their names, as one table."""
    paths = parquet_files(folder)
    first = None
    for path in paths:
        with reading_as(path, "parquet"):
            schema = parquet.read_schema(path).remove_metadata()
        first = first or schema
        if schema != first:
            odd = next(iter([f.name for f in schema if f not in first] or first.names))
            raise BadInput(
                f"{path}: column '{odd}' differs from {paths[0].name}; the files of a folder must "
                "have the same columns and types"
            )
    from pyarrow import dataset

    with reading_as(folder, "parquet"):
        files = dataset.dataset([str(p) for p in paths], format="parquet", partitioning="hive")
        table = files.to_table()
        table.validate(full=True)
    # Each column of each file is a chunk, and work on a chunk takes a while however short it is.
    return table.combine_chunks() if len(table) < _CHUNK * len(paths) else table


def write_table(table: Any, path: str | Path) -> None:
    """Write a table in the format of the path's suffix; CSV with comma, decimal point, UTF-8.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
        Missing values, NaN included, are written as the format's own null, or as the code that
        they had, if the table was read from a file of the same program. Labels and formats are
        written if the format has them.
    path : str or Path
        Replaced if it exists.

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
    target = format_of(path, write=True)
    table = to_arrow(table)
    columns = {name: _nan_to_null(table[name]) for name in table.column_names}
    if target.startswith("csv"):
        cells = pa.table({name: for_csv(name, column) for name, column in columns.items()})
        with _csv_stream(path) as file:
            arrow_csv.write_csv(cells, file, _csv_options(path))
        return
    for name, column in columns.items():
        if pa.types.is_dictionary(column.type):
            columns[name] = tidy_dictionary(column)
    fields = [replaced(field, table[field.name], columns[field.name]) for field in table.schema]
    whole = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
    if target in ("parquet", "feather"):
        # Which code a null had stays out: the file has a null of its own.
        whole = whole.cast(pa.schema([public_field(field) for field in whole.schema]))
        with pa.OSFile(str(path), "wb") as file:
            if target == "parquet":
                parquet.write_table(whole, file, compression="zstd")
            else:
                feather.write_feather(bare(whole), file, compression="zstd")
    elif target == "xlsx":
        from discreet.table.excel import write_excel

        write_excel(whole, path)
    else:
        from discreet.table.statistics_files import write_statistics_file

        write_statistics_file(whole, path, target)


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """Return a function that writes a table to a CSV or Parquet file piece by piece.

    The content is what `write_table` writes.
    """
    if format_of(path, write=True) == "parquet":
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer.write_table
        return
    empty = schema.empty_table()
    kinds = pa.schema([(c, for_csv(c, empty[c]).type) for c in schema.names])
    options = _csv_options(path)
    with (
        _csv_stream(path) as file,
        arrow_csv.CSVWriter(file, kinds, write_options=options) as csv,
    ):
        yield lambda piece: csv.write_table(
            pa.table({c: for_csv(c, _nan_to_null(piece[c])) for c in schema.names})
        )


def _csv_stream(path: Path) -> Any:
    return pa.output_stream(str(path), compression=packing(path))


def _csv_options(path: Path) -> arrow_csv.WriteOptions:
    return arrow_csv.WriteOptions(delimiter=delimiter_of(path))


def _nan_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def for_csv(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a type that CSV can hold."""
    column = plain(column)
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_time(column.type):
        return column.cast(pa.string())
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise BadInput(f"column '{name}' holds {column.type}, which CSV cannot hold; use Parquet")
    return column
