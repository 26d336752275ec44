"""Reading CSV: every cell as text first, then the narrowest type that loses nothing.

A column gets a type only if that keeps what the file says: one with `007` in it stays text, so
postcodes and codes survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from discreet.errors import BadInput, one_line
from discreet.table.columns import LARGEST_EXACT_INTEGER
from discreet.table.dialect import LONGEST_LINE, Dialect, Marks, find_dialect, open_bytes
from discreet.table.formulas import unguarded
from discreet.table.quotes import line_ends, long_cell, numbered_rows, refuse_open_quotes
from discreet.threads import over_ranges

_TEXT = pa.large_string()
Parsed = TypeVar("Parsed")
# Not the names of units: a first row may have no values in its columns of numbers.
MISSING_WORDS = frozenset(("na", "n/a", "nan", "nil", "none", "null", "missing", "unknown", "nd"))


def read_csv(
    path: Path,
    known: Marks,
    null_markers: Sequence[str],
    numeric: Sequence[str],
    schema: pa.Schema | None,
) -> pa.Table:
    """Read a CSV file; see `discreet.read_table` for the parameters."""
    table, dialect = _read(path, _TEXT, known, null_markers)
    if schema is not None:
        return cast(unguarded(table, schema), schema, path)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    columns = _typed_columns(path, columns, dialect, numeric)
    return pa.table({name: _short_text(column) for name, column in columns.items()})


def read_csv_by_column(
    path: Path, null_markers: Sequence[str] = (), **known: str | None
) -> Iterator[tuple[str, np.ndarray, pa.Array]]:
    """Read a CSV file as distinct values, which takes less memory than the cells.

    Yields the name of each column, the place of each row's value among the values (-1 where null),
    and these values in the type that `read_csv` would give the column.
    """
    kind = pa.dictionary(pa.int32(), _TEXT)
    table, dialect = _read(path, kind, Marks(**known), null_markers)
    # What is done with need not stay in memory.
    columns, names = list(table.columns), table.column_names
    del table

    def join(place: int) -> tuple[np.ndarray, pa.ChunkedArray]:
        column = columns[place].unify_dictionaries()
        columns[place] = None
        parts = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in column.chunks]
        return np.concatenate(parts), pa.chunked_array([column.chunk(0).dictionary])

    # One after the other: two at a time would hold more of the file at once.
    joined = [join(place) for place in range(len(columns))]
    texts = {name: values for name, (_, values) in zip(names, joined, strict=True)}
    typed = _typed_columns(path, texts, dialect, ())
    for name, (codes, _) in zip(names, joined, strict=True):
        yield name, codes, _short_text(typed[name]).combine_chunks()


def _read(
    path: Path, kind: pa.DataType, known: Marks, null_markers: Sequence[str]
) -> tuple[pa.Table, Dialect]:
    """Read the cells as they are written, in a type of text."""
    dialect = header_of(path, known)
    table = _parse(arrow_csv.read_csv, path, dialect, null_markers, kind, dialect.header)
    if table.num_rows == 0:
        raise BadInput(f"{path} has a header but no rows")
    for column in table.columns:
        _refuse_long_cells(path, dialect, column.chunks)
    refuse_open_quotes(path, dialect, table.num_rows)
    return table, dialect


def _typed_columns(
    path: Path, texts: dict[str, pa.ChunkedArray], dialect: Dialect, numeric: Sequence[str]
) -> dict[str, pa.ChunkedArray]:
    names = list(texts)

    def typed(start: int, stop: int) -> pa.ChunkedArray:
        name = names[start]
        return _typed(texts[name], dialect.decimal or ".", strict=name not in numeric)

    rows = len(texts[names[0]])
    columns = dict(zip(names, over_ranges(typed, len(names), 1, rows), strict=True))
    _refuse_second_header(path, columns)
    points = any(pa.types.is_floating(column.type) for column in columns.values())
    # A decimal comma is taken unasked only where it cannot be mistaken.
    if dialect.decimal is None and dialect.separator != "," and not points:
        for name, column in columns.items():
            if pa.types.is_large_string(column.type):
                columns[name] = _typed(column, ",", strict=name not in numeric)
    return columns


def _parse(
    read: Callable[..., Parsed],
    path: Path,
    dialect: Dialect,
    null_markers: Sequence[str],
    kind: pa.DataType,
    columns: Sequence[str],
) -> Parsed:
    """Parse some columns of a file with one of Arrow's readers, or say what is wrong with it."""
    ragged: list[tuple[int, int]] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.expected_columns, row.actual_columns))
        return "skip"

    try:
        parsed = read(
            open_bytes(path),
            read_options=arrow_csv.ReadOptions(encoding=dialect.encoding, block_size=LONGEST_LINE),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote or False,
                newlines_in_values=True,
                invalid_row_handler=note,
                # A blank line is a row with a null in a one-column file, and nothing elsewhere.
                ignore_empty_lines=len(dialect.header) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.header, kind),
                include_columns=list(columns),
                null_values=["", *null_markers],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, UnicodeError) as error:
        if "straddling" in str(error) or "block" in str(error):
            raise long_cell(path, dialect) from None
        raise BadInput(f"{path} cannot be read as CSV: {one_line(error)}") from None
    if ragged:
        raise BadInput(_say_ragged(path, dialect))
    return parsed


def _refuse_long_cells(path: Path, dialect: Dialect, arrays: Iterable[pa.Array]) -> None:
    """Refuse cells longer than a line may be; Arrow does so only where they fill a whole block."""
    for array in arrays:
        if array.nbytes > LONGEST_LINE:
            texts = array.dictionary if pa.types.is_dictionary(array.type) else array
            if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_LINE:
                raise long_cell(path, dialect)


def stream_text(
    path: Path,
    dialect: Dialect,
    columns: Sequence[str],
    null_markers: Sequence[str],
    write: Callable[[pa.RecordBatch], None],
) -> None:
    """Read some columns of a CSV file as text, a block at a time."""

    def read(file: Any, **options: Any) -> int:
        rows = 0
        for batch in arrow_csv.open_csv(file, **options):
            _refuse_long_cells(path, dialect, batch.columns)
            write(batch)
            rows += len(batch)
        return rows

    rows = _parse(read, path, dialect, null_markers, pa.string(), columns)
    if rows == 0:
        raise BadInput(f"{path} has a header but no rows")
    refuse_open_quotes(path, dialect, rows)


def header_of(path: Path, known: Marks) -> Dialect:
    """Detect how a CSV file is written, and check the names of its columns."""
    dialect = find_dialect(path, known)
    seen: set[str] = set()
    for position, name in enumerate(dialect.header, start=1):
        if not name.strip():
            raise BadInput(f"{path}: column {position} has no name in the header")
        if name in seen:
            raise BadInput(f"{path}: the header names column '{name}' twice")
        if "\0" in name:
            raise BadInput(
                f"{path}: the name of column {name!r} has a NUL character; rename it, or name the "
                "encoding if it is another one (such as utf-16-le)"
            )
        seen.add(name)
    return dialect


def text_types(
    path: Path, texts: dict[str, pa.ChunkedArray], dialect: Dialect, numeric: Sequence[str]
) -> dict[str, tuple[pa.DataType, bool]]:
    """Detect the types of columns from their distinct cells, and which have a decimal comma."""
    large = {name: column.cast(_TEXT) for name, column in texts.items()}
    found = {}
    for name, column in _typed_columns(path, large, dialect, numeric).items():
        if pa.types.is_large_string(column.type):
            found[name] = pa.string(), False
            continue
        # What cannot be read as the same with points was read with commas.
        pointed = _typed(large[name], ".", strict=False).type == column.type
        found[name] = column.type, not pointed
    return found


def parse_text(column: pa.ChunkedArray, kind: pa.DataType, comma: bool) -> pa.ChunkedArray:
    """Parse text whose type is known."""
    if pa.types.is_string(kind):
        return column
    if comma:
        column = pc.replace_substring(column, ",", ".")
    if not pa.types.is_floating(kind):
        return column.cast(kind)
    parsed = pc.utf8_trim_whitespace(column).cast(kind)
    return _without_negative_zeros(pc.if_else(pc.is_nan(parsed), None, parsed))


def _refuse_second_header(path: Path, columns: dict[str, pa.ChunkedArray]) -> None:
    """Refuse a first row of words above columns of numbers or dates, such as their units."""
    if len(columns) < 2 or not all(pa.types.is_large_string(c.type) for c in columns.values()):
        return
    below = {}
    for name, column in columns.items():
        # Of a column without a value there may be none, where only distinct ones are looked at.
        first = column[0].as_py() if len(column) >= 3 else None
        if first is None or not first[:1].isalpha():
            return
        typed = _typed(column.slice(1), ".", strict=True)
        if not pa.types.is_large_string(typed.type) and first.lower() not in MISSING_WORDS:
            below[name] = first
    # One such column may be a word for a missing value above its numbers.
    if len(below) > 1:
        name, word = next(iter(below.items()))
        raise BadInput(
            f"{path}: row 1 looks like a second header ('{word}' above numbers in column '{name}')"
            "; keep one row of names"
        )


def _say_ragged(path: Path, dialect: Dialect) -> str:
    """Find the first ragged row again, slowly, to give its number."""
    width = len(dialect.header)
    for number, line, cells in numbered_rows(path, dialect):
        if cells and len(cells) != width:
            broken = next((i for i, cell in enumerate(cells) if line_ends(cell)), None)
            many = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            said = (
                f"{path}: row {number} has {many}, but the header has {width} "
                f"(line {line}, separator {dialect.separator!r}, quote {dialect.quote or 'none'!r})"
            )
            if broken is None:
                return said
            return (
                f"{said}; a quote that opens in line {line} is closed in another line, or not at "
                "all"
            )
    return f"{path}: some rows do not have the header's {width} cells"


def cast(table: pa.Table, schema: pa.Schema, path: Path) -> pa.Table:
    """Cast columns to their known types; a column that is not in the schema stays as it is."""
    columns = {}
    for name in table.column_names:
        kind = schema.field(name).type if name in schema.names else table[name].type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        try:
            columns[name] = _as_kind(table[name], kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise BadInput(f"{path}: column '{name}' does not hold {kind}: {error}") from None
    return pa.table({name: _short_text(column) for name, column in columns.items()})


def read_as(text: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Read text as another type, each distinct one once.

    Examples
    --------
    >>> read_as(pa.chunked_array([["7", None, "7"]]), pa.int8()).to_pylist()
    [7, None, 7]
    """
    encoded = text.combine_chunks().dictionary_encode()
    values = _as_kind(pa.chunked_array([encoded.dictionary]), kind)
    return values.take(encoded.indices)


def _as_kind(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to a type that is no dictionary; raises `pa.ArrowException` where it cannot."""
    own = column.type
    if own == kind:
        return column
    text = pa.types.is_string(own) or pa.types.is_large_string(own)
    if pa.types.is_duration(kind):
        return column.cast(pa.int64()).cast(kind)
    if pa.types.is_time(kind) and text:
        # Text does not cast to times of day; datetimes of one day do.
        whole = pc.binary_join_element_wise("1970-01-01", column.cast(pa.string()), " ")
        unit = "ns" if kind.unit == "ns" else "us"
        return whole.cast(pa.timestamp(unit)).cast(pa.time64(unit)).cast(kind)
    if pa.types.is_decimal(kind) and pa.types.is_floating(own):
        return pc.round(column, kind.scale).cast(kind)
    return column.cast(kind, safe=not pa.types.is_floating(kind))


def _typed(column: pa.ChunkedArray, decimal: str, strict: bool) -> pa.ChunkedArray:
    """Cast a text column to the narrowest type that keeps what it says, or leave it text.

    Strict: cells that are spelt differently (10.1 and 10.10, +49 and 49) may be codes and must stay
    different. A column that a step treats as numbers need not be strict.
    """
    if column.null_count == len(column):
        return column
    first = column[pc.index(pc.is_valid(column), True).as_py()].as_py()
    if first in ("true", "false"):
        values = set(pc.unique(column.drop_null()).to_pylist())
        return column.cast(pa.bool_()) if values <= {"true", "false"} else column
    if first[:1] not in "+-.,0123456789infINF ":
        return column
    text = column
    if decimal == ",":
        if pc.any(pc.match_substring(column, ".")).as_py():
            return column
        text = pc.replace_substring(column, ",", ".")
    integers = _as_integers(text)
    if integers is not None:
        return integers
    parsed = _as_floats(text)
    parsed = _as_dates(text) if parsed is None else parsed
    if parsed is None or (strict and _merges(text, parsed)):
        return column
    return _without_negative_zeros(parsed)


def _merges(text: pa.ChunkedArray, parsed: pa.ChunkedArray) -> bool:
    """Tell whether a type would lose how cells are spelt: +49, 1E5, 10.1 and 10.10, +02:00."""
    codes = r"^\+|^\d+[eE]\d+$"
    codes += r"|[+-]\d\d:?\d\d$" if pa.types.is_timestamp(parsed.type) else ""
    if pc.any(pc.match_substring_regex(text, codes)).as_py():
        return True
    kept = pc.count_distinct(parsed).as_py()
    present = len(parsed) - parsed.null_count
    # All distinct numbers can only come from distinct texts.
    return kept != present and kept != pc.count_distinct(text.filter(pc.is_valid(parsed))).as_py()


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


def _without_negative_zeros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn -0.0, which is another value to what counts bits or writes text, into 0.0."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))


def _as_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for target in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return column.cast(target)
        except pa.ArrowInvalid:
            continue
    return None


def _short_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast text to the usual type, unless it is too long for its offsets."""
    if pa.types.is_large_string(column.type) and column.nbytes < 1 << 30:
        return column.cast(pa.string())
    return column
