"""Excel workbooks, through openpyxl: one sheet, its first row the names of the columns."""

from __future__ import annotations

import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput, nearest
from discreet.table.cells import plain
from discreet.table.csv import MISSING_WORDS
from discreet.table.labels import is_text
from discreet.table.programs import as_text, utc_datetimes
from discreet.table.signatures import optional

_MOST_ROWS, _MOST_COLUMNS, _MOST_TEXT = 1_048_576, 16_384, 32_767
_FIRST_DATE = dt.date(1900, 3, 1)  # Before it Excel counts a day that never was.
_EXACT_IN_EXCEL = 10**15
# A carriage return comes back as a line feed.
_NOT_IN_XML = r"[\x00-\x08\x0b-\x1f\x{fffe}\x{ffff}]"
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+\d+:[A-Z]+\d+)"')
_ERRORS = ("#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")
# As a person writes a number, with marks of thousands or without; 007 is a code.
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*|[1-9]\d{0,2}([.,' ]\d{3})+)([.,]\d+)?")
# Workbooks that were written here have no row that is not a record.
_CREATOR = "discreet"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def read_excel(
    path: Path, sheet: str | None, null_markers: Sequence[str], text: Collection[str] = ()
) -> pa.Table:
    """Read a sheet of a workbook, the first by default.

    The columns named in `text` stay text, even if they look like datetimes.
    """
    openpyxl = optional("openpyxl", path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except AttributeError:
        # openpyxl cannot read a sheet that is a chart, where the chart is not there.
        raise BadInput(
            f"{path} cannot be read as an Excel workbook; if it has a chart sheet, delete it, or "
            "save the table's sheet as a workbook of its own"
        ) from None
    with closing(book):
        where = _sheet_of(path, book, sheet)
        ours = book.properties.creator == _CREATOR
        rows = _rows(book[where], ours)
        header = next(rows, None)
        if header is None:
            raise BadInput(f"{path}: sheet '{where}' is empty")
        names = _names(path, where, header)
        cells: list[list[Any]] = [[] for _ in names]
        for number, row in enumerate(rows, start=2):
            if len(row) > len(names):
                raise BadInput(
                    f"{path}: row {number} of sheet '{where}' has {len(row)} cells, but the header "
                    f"has {len(names)}; the names of the columns must be in the first row"
                )
            for column, value in zip_longest(cells, row):
                column.append(value)
        if any(None in column for column in cells):
            _refuse_merged(path, book[where], len(cells), len(cells[0]) + 1)
    if not cells or not cells[0]:
        raise BadInput(f"{path}: sheet '{where}' has a header but no rows")
    place = f"{path}: sheet '{where}'"
    cells = [_cleared(column, set(null_markers), n, place) for n, column in enumerate(cells)]
    _refuse_second_header(cells, place)
    if any(None in column for column in cells):
        _refuse_formulas(path, where, cells)
    if not ours:
        _warn_of_leftovers(f"{place}: ", names, cells)
    return pa.table({n: _column(c, n in text) for n, c in zip(names, cells, strict=True)})


def _warn_of_leftovers(place: str, names: Sequence[str], cells: Sequence[list[Any]]) -> None:
    """Tell what an export often leaves: empty rows in between, and numbers that are text."""
    empty = sum(all(value is None for value in row) for row in zip(*cells, strict=True))
    if empty:
        one = "1 row is empty and is a record"
        said = one if empty == 1 else f"{empty} rows are empty and are records"
        warnings.warn(f"{place}{said} without any value; delete what is none", stacklevel=4)
    held = [[value for value in column if value is not None] for column in cells]
    numbers = [
        f"'{name}'"
        for name, column in zip(names, held, strict=True)
        if column and all(isinstance(x, str) and _NUMBER.fullmatch(x.strip()) for x in column)
    ]
    if numbers:
        named = ", ".join(numbers)
        what = f"column {named} holds" if len(numbers) == 1 else f"columns {named} hold"
        warnings.warn(
            f"{place}{what} numbers as text, and text they stay; if they are amounts, turn them "
            "into numbers in the workbook",
            stacklevel=4,
        )


def _sheet_of(path: Path, book: Any, sheet: str | None) -> str:
    names = [one.title for one in book.worksheets]
    if not names:
        raise BadInput(f"{path} has no sheet of cells")
    if sheet is not None and sheet not in names:
        raise BadInput(f"{path} has no sheet '{sheet}'; {nearest(sheet, names)}")
    if sheet is None and len(names) > 1:
        others = ", ".join(f"'{name}'" for name in names[1:])
        warnings.warn(
            f"{path}: the first sheet, '{names[0]}', was read; there are others: {others}",
            stacklevel=4,
        )
    return sheet if sheet is not None else str(names[0])


def _rows(sheet: Any, exact: bool) -> Iterator[list[Any]]:
    """Return the rows without the empty cells at their ends and the empty rows at the end.

    Excel keeps rows that are formatted but otherwise empty; with `exact`, each row is a record.
    """
    held = 0
    # A sheet may say that it is smaller than it is.
    sheet.reset_dimensions()
    for cells in sheet.iter_rows(values_only=True):
        row = list(cells)
        while row and row[-1] is None:
            row.pop()
        if not row and not exact:
            held += 1
            continue
        yield from ([] for _ in range(held))
        held = 0
        yield row


def _names(path: Path, sheet: str, header: list[Any]) -> list[str]:
    names = []
    for position, value in enumerate(header, start=1):
        name = "" if value is None else str(value)
        if not name.strip():
            raise BadInput(
                f"{path}: column {position} of sheet '{sheet}' has no name in the first row; "
                "is there a title above the names, or a header of two rows?"
            )
        if name in names:
            raise BadInput(f"{path}: the first row of sheet '{sheet}' names column '{name}' twice")
        names.append(name)
    return names


def _cleared(column: list[Any], markers: set[str], position: int, place: str) -> list[Any]:
    """Turn null markers and empty text into None, and refuse Excel's errors."""
    cleared = []
    for row, value in enumerate(column, start=2):
        if isinstance(value, str):
            if value == "" or value in markers:
                value = None
            elif value in _ERRORS:
                raise BadInput(
                    f"{place}, row {row}, column {position + 1} holds the error {value}; correct "
                    "it, or list it in null_markers"
                )
        cleared.append(value)
    return cleared


def _refuse_second_header(cells: list[list[Any]], place: str) -> None:
    """Refuse a first row of words above columns of numbers or dates."""
    if len(cells) < 2 or len(cells[0]) < 3:
        return
    if not all(isinstance(column[0], str) for column in cells):
        return
    numbers = [
        column
        for column in cells
        if not any(isinstance(value, str) for value in column[1:])
        and any(value is not None for value in column[1:])
        and column[0].lower() not in MISSING_WORDS
    ]
    if len(numbers) > 1:
        raise BadInput(
            f"{place}: row 2 looks like a second header ('{numbers[0][0]}' above numbers); "
            "keep one row of names"
        )


def _refuse_merged(path: Path, sheet: Any, columns: int, last_row: int) -> None:
    """Refuse merged cells below the header: all but the first of them would look like nulls."""
    bounds = optional("openpyxl.utils", path).range_boundaries
    tail = b""
    # A sheet that is read row by row does not know of them; they come after its rows.
    with sheet._get_source() as source:
        while block := source.read(1 << 20):
            text = tail + block
            for found in _MERGED.finditer(text):
                merged = found[1].decode()
                left, top, _, bottom = bounds(merged)
                if left <= columns and top <= last_row and bottom >= 2:
                    raise BadInput(
                        f"{path}: sheet '{sheet.title}' has merged cells ({merged}), of which only "
                        "the first has a value; unmerge them in Excel and fill each cell"
                    )
            tail = text[-200:]


def _refuse_formulas(path: Path, sheet: str, cells: list[list[Any]]) -> None:
    """Refuse formulas whose values were never computed: they would look like nulls."""
    openpyxl = optional("openpyxl", path)
    with closing(openpyxl.load_workbook(path, read_only=True, data_only=False)) as book:
        for number, row in enumerate(book[sheet].iter_rows(values_only=True, min_row=2)):
            for position, value in enumerate(row[: len(cells)]):
                formula = isinstance(value, str) and value.startswith("=")
                empty = number < len(cells[0]) and cells[position][number] is None
                if formula and empty:
                    raise BadInput(
                        f"{path}: sheet '{sheet}', row {number + 2}, column {position + 1} holds "
                        "a formula that was never computed; open and save the workbook in Excel"
                    )


def _column(cells: list[Any], text: bool) -> pa.Array | pa.ChunkedArray:
    """Return cells in their common type, or as text."""
    kinds = {type(value) for value in cells if value is not None}
    if kinds <= {int, float} and kinds:
        if float in kinds:
            return pa.array([None if v is None else float(v) for v in cells], pa.float64())
        if max(abs(value) for value in cells if value is not None) < 2**63:
            return pa.array(cells, pa.int64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds <= {dt.datetime, dt.date} and kinds:
        return _dates(cells)
    if len(kinds) == 1 and kinds <= {dt.time, dt.timedelta}:
        return pa.array(cells)
    texts = pa.array([None if v is None else _text(v) for v in cells], pa.large_string())
    return utc_datetimes(pa.chunked_array([texts]), text)


def _dates(cells: list[Any]) -> pa.Array:
    whole = [
        v if v is None or isinstance(v, dt.datetime) else dt.datetime.combine(v, dt.time())
        for v in cells
    ]
    times = pa.array(whole, pa.timestamp("us"))
    midnights = all(v is None or v.time() == dt.time() for v in whole)
    return times.cast(pa.date32()) if midnights else times


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


# Writing


def write_excel(table: pa.Table, path: Path) -> None:
    """Write a workbook of one sheet. What Excel cannot hold exactly is written as text."""
    openpyxl = optional("openpyxl", Path(path.name))
    if table.num_rows >= _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        raise BadInput(
            f"{path.name}: {table.num_rows:,} rows and {table.num_columns:,} columns do not fit a "
            f"sheet ({_MOST_ROWS - 1:,} and {_MOST_COLUMNS:,}); use CSV or Parquet"
        )
    book = openpyxl.Workbook(write_only=True)
    book.properties.creator = _CREATOR
    sheet = book.create_sheet("table")
    if pc.any(pc.match_substring_regex(pa.array(table.column_names), _NOT_IN_XML)).as_py():
        raise BadInput(
            "a column's name holds control characters, which Excel does not allow; rename it"
        )
    columns = [_cells(table[name], name) for name in table.column_names]
    for row in (table.column_names, *zip(*columns, strict=True)):
        sheet.append([_literal(openpyxl, sheet, value) for value in row])
    book.save(path)
    _undated(path)


def _literal(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """Return a value in a form that openpyxl writes unchanged.

    Text may look like a formula, and a number may have more than the 16 digits that are written.
    """
    text = isinstance(value, str)
    if not text and not (isinstance(value, float) and float(f"{value:.16g}") != value):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, value if text else repr(value))
    cell.data_type = "s" if text else "n"
    return cell


def _cells(column: pa.ChunkedArray, name: str) -> list[Any]:
    column = plain(column)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise BadInput(f"column '{name}' holds {kind}, which Excel cannot hold; use Parquet")
    if pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        if pc.any(pc.is_inf(column)).as_py():
            raise BadInput(f"column '{name}' holds infinity, which Excel cannot hold; use Parquet")
    elif not _fits(column):
        column = as_text(column)
    if is_text(column.type):
        _check_text(column, name)
    return column.to_pylist()


def _fits(column: pa.ChunkedArray) -> bool:
    """Tell whether Excel gives the cells back as they are."""
    kind = column.type
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        return all(abs(v or 0) < _EXACT_IN_EXCEL for v in ends.values())
    if pa.types.is_date(kind):
        first = pc.min(column.cast(pa.date32())).as_py()
        return first is None or first >= _FIRST_DATE
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            return False
        first = pc.min(column).as_py()
        coarse = column.cast(pa.timestamp("ms"), safe=False).cast(kind)
        return pc.all(pc.equal(coarse, column)).as_py() is not False and (
            first is None or first.date() >= _FIRST_DATE
        )
    return not pa.types.is_time(kind) and not pa.types.is_decimal(kind)


def _check_text(column: pa.ChunkedArray, name: str) -> None:
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    if longest > _MOST_TEXT:
        raise BadInput(
            f"column '{name}' holds a text of {longest:,} characters, but a cell of Excel at most "
            f"{_MOST_TEXT:,}; use CSV or Parquet"
        )
    bad = pc.index(pc.match_substring_regex(column, _NOT_IN_XML), True).as_py()
    if bad >= 0:
        raise BadInput(
            f"column '{name}', row {bad + 1} holds a control character or a carriage return, which "
            "Excel cannot hold; use CSV or Parquet"
        )
    bad = pc.index(pc.is_in(column, value_set=pa.array(_ERRORS, column.type)), True).as_py()
    if bad >= 0:
        raise BadInput(
            f"column '{name}', row {bad + 1} holds the text {column[bad]}, which is an error in "
            "Excel; use CSV or Parquet"
        )


def _undated(path: Path) -> None:
    """Replace the current time by a fixed date, so that a rerun gives the same bytes."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"1980-01-01T00:00:00Z", content
                )
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            book.writestr(entry, content)
