"""Reading CSV: every cell as text first, then the narrowest type that loses nothing.

A type is taken only where it keeps what the file says: a column with `007` in it stays text, so
postcodes and codes survive.
"""

from __future__ import annotations

import csv as python_csv
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from discreet.errors import BadInput
from discreet.table.dialect import Dialect, find_dialect

LARGEST_EXACT_INTEGER = 2**53
_TEXT = pa.large_string()


def read_csv(
    path: Path,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    null_markers: Sequence[str] = (),
    schema: pa.Schema | None = None,
) -> pa.Table:
    """Read a CSV file; see `discreet.read_table` for the parameters."""
    dialect = find_dialect(path, separator, quote, encoding)
    _check_header(path, dialect.header)
    table = _read_text(path, dialect, null_markers)
    if table.num_rows == 0:
        raise BadInput(f"{path} has a header but no rows")
    if schema is not None:
        return _cast(table, schema, path)
    columns = {name: _typed(table[name], ".") for name in table.column_names}
    if decimal is None:
        decimal = _find_decimal(dialect, columns)
    if decimal != ".":
        for name, column in columns.items():
            if pa.types.is_large_string(column.type):
                columns[name] = _typed(column, decimal)
    return pa.table({name: _plain_text(column) for name, column in columns.items()})


def _check_header(path: Path, header: tuple[str, ...]) -> None:
    for position, name in enumerate(header, start=1):
        if not name.strip():
            raise BadInput(f"{path}: column {position} has no name in the header")
        if header.index(name) != position - 1:
            raise BadInput(f"{path}: the header names column '{name}' twice")


def _read_text(path: Path, dialect: Dialect, null_markers: Sequence[str]) -> pa.Table:
    ragged: list[tuple[int, int]] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.expected_columns, row.actual_columns))
        return "skip"

    try:
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(encoding=dialect.encoding, block_size=1 << 23),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote,
                newlines_in_values=True,
                invalid_row_handler=note,
                # A blank line is a row with a null in a one-column file, and nothing elsewhere.
                ignore_empty_lines=len(dialect.header) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.header, _TEXT),
                null_values=["", *null_markers],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as CSV: {error}") from None
    if ragged:
        raise BadInput(_say_ragged(path, dialect))
    return table


def _say_ragged(path: Path, dialect: Dialect) -> str:
    """Find the first ragged row again, slowly, to give its number."""
    width = len(dialect.header)
    with path.open(encoding=dialect.encoding, newline="") as file:
        rows = python_csv.reader(file, delimiter=dialect.separator, quotechar=dialect.quote)
        for number, row in enumerate(rows):
            if row and len(row) != width:
                return (
                    f"{path}: row {number} has {len(row)} cells, but the header has {width} "
                    f"(separator {dialect.separator!r}, quote {dialect.quote!r})"
                )
    return f"{path}: some rows do not have the header's {width} cells"


def _cast(table: pa.Table, schema: pa.Schema, path: Path) -> pa.Table:
    """Give text columns their known types; a column that the schema does not know stays text."""
    columns = {}
    for name in table.column_names:
        kind = schema.field(name).type if name in schema.names else pa.string()
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        try:
            column = table[name]
            columns[name] = (
                column.cast(pa.int64()).cast(kind)
                if pa.types.is_duration(kind)
                else column.cast(kind)
            )
        except pa.ArrowInvalid as error:
            raise BadInput(f"{path}: column '{name}' does not hold {kind}: {error}") from None
    return pa.table(columns)


def _typed(column: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Give a text column the narrowest type that keeps what it says, or leave it text."""
    if column.null_count == len(column):
        return column
    first = column[pc.index(pc.is_valid(column), True).as_py()].as_py()
    if first in ("true", "false"):
        values = set(pc.unique(column.drop_null()).to_pylist())
        return column.cast(pa.bool_()) if values <= {"true", "false"} else column
    if first[:1] not in "+-.,0123456789infINF ":
        return column
    if decimal != ".":
        if pc.any(pc.match_substring(column, ".")).as_py():
            return column
        column_to_parse = pc.replace_substring(column, decimal, ".")
    else:
        column_to_parse = column
    for parse in (_as_integers, _as_floats, _as_dates):
        parsed = parse(column_to_parse)
        if parsed is not None:
            return parsed
    return column


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        parsed = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    # 007 and -0 parse but would not come back as they were.
    same = pc.all(pc.equal(parsed.cast(_TEXT), column)).as_py()
    return parsed if same else None


def _as_floats(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        parsed = pc.utf8_trim_whitespace(column).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    if pc.any(pc.match_substring_regex(column, r"^\s*[+-]?0\d")).as_py():
        return None
    # Digits alone past 2^53 are a code or an integer that a float would change.
    large = pc.greater(pc.abs(parsed), float(LARGEST_EXACT_INTEGER))
    if pc.any(large).as_py():
        digits = pc.match_substring_regex(column.filter(large), r"^\s*[+-]?\d+\s*$")
        if pc.any(digits).as_py():
            return None
    return pc.if_else(pc.is_nan(parsed), None, parsed)


def _as_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for target in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return column.cast(target)
        except pa.ArrowInvalid:
            continue
    return None


def _find_decimal(dialect: Dialect, columns: dict[str, pa.ChunkedArray]) -> str:
    """Take the comma only where it cannot be mistaken: no comma separator, no decimal points."""
    points = any(pa.types.is_floating(column.type) for column in columns.values())
    return "." if dialect.separator == "," or points else ","


def _plain_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
