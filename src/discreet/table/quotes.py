"""Quotes of a CSV file that are not closed where they should be.

A cell in quotes may have line ends, so that a quote too many makes one cell of the lines up to the
next quote, or up to the end of the file.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from discreet.errors import BadInput
from discreet.table.dialect import (
    LONGEST_LINE,
    NO_QUOTES,
    Dialect,
    open_bytes,
    rows_of,
    utf8_pieces,
)

# How probable it may be that a cell's lines have the separators of rows by chance: from where on it
# is told, and refused. Of two columns, a list such as of surnames and names has them on purpose.
_TELL, _REFUSE, _REFUSE_TWO = 1e-2, 1e-3, 1e-9


def refuse_open_quotes(path: Path, dialect: Dialect, rows: int) -> None:
    """Refuse a file in which a quote opens that is not closed, or only much later.

    Parameters
    ----------
    path : Path
    dialect : Dialect
        How it was read.
    rows : int
        As many were found. If there are as many lines, no cell has a line end in it.
    """
    if not dialect.quote:
        return
    if dialect.lines == rows + (not _missing_end(dialect)):
        if dialect.quote.encode() in dialect.last and _is_open(dialect):
            raise _never_closed(path, dialect, rows - 1, 1)
        return
    found = _look(path, dialect)
    if found.rows == rows:
        raise _never_closed(path, dialect, rows - 1, found.lines)
    _judge(path, dialect, found)


@dataclass
class _Found:
    """What was found of the cells that have line ends."""

    rows: int = 0
    cells: int = 0
    # Of the one with most lines that look like rows: how many, and where it is.
    most: int = 0
    row: int = 0
    column: int = 0
    # Of the last cell of all.
    lines: int = 1


def _look(path: Path, dialect: Dialect) -> _Found:
    """Read all cells again, and one more row, which is not there if a quote is open at the end."""
    more = _missing_end(dialect) + _one_more(dialect)
    pieces = chain(utf8_pieces(path, dialect.encoding), [more])
    found, width = _Found(), len(dialect.header)
    for batch in _batches(pieces, dialect):
        for place, column in enumerate(batch.columns):
            _look_at(column, place, width, dialect.separator, found)
        found.rows += len(batch)
        last = batch.column(width - 1)
    # Without the row that was put there, which the open cell has taken.
    found.lines = max(1, line_ends(last[-1].as_py().removesuffix(_one_more(dialect).decode())))
    return found


def _look_at(column: pa.Array, place: int, width: int, separator: str, found: _Found) -> None:
    """Note the cells of a column that have line ends, and those whose lines look like rows."""
    broken = pc.or_(pc.match_substring(column, "\n"), pc.match_substring(column, "\r"))
    rows = np.flatnonzero(broken.to_numpy(zero_copy_only=False))
    found.cells += len(rows)
    if width == 1 or not len(rows):
        return
    cells = column.take(pa.array(rows))
    ends = [pc.count_substring(cells, end).to_numpy() for end in ("\n", "\r")]
    marks = pc.count_substring(cells, separator).to_numpy()
    likely = marks == np.maximum(*ends) * (width - 1)
    for row, cell in zip(rows[likely], cells.filter(pa.array(likely)).to_pylist(), strict=True):
        marks = [line.count(separator) for line in re.split("\r\n|\r|\n", cell)]
        # The first line lacks the cells before the quote, and the last those behind it.
        like_rows = [width - 1 - place, *[width - 1] * (len(marks) - 2), place]
        if marks == like_rows and len(marks) > found.most:
            found.most, found.row, found.column = len(marks), found.rows + int(row), place


def _judge(path: Path, dialect: Dialect, found: _Found) -> None:
    """Refuse a cell whose lines are rows in all probability, and tell of one that may be so."""
    width = len(dialect.header)
    if dialect.sure or not found.most:
        return
    # A line of text has one of the numbers of separators that are as many as columns, roughly.
    chance = found.cells / float(width) ** min(found.most, 100)
    if chance > _TELL:
        return
    line = _where(path, dialect, found.row, found.column)
    said = (
        f"{path}: the cell in quotes that begins in line {line} holds {found.most} lines, which "
        "have as many cells as rows have; "
    )
    if chance > (_REFUSE_TWO if width == 2 else _REFUSE):
        said += f"if a closing quote is missing there, close it, or {NO_QUOTES}"
        warnings.warn(said, stacklevel=2)
        return
    raise BadInput(
        f"{said}a closing quote seems to be missing there; close it, or {NO_QUOTES}, or --quote "
        f"'{dialect.quote}' takes the cell as it is"
    )


def _never_closed(path: Path, dialect: Dialect, row: int, lines: int) -> BadInput:
    line = _where(path, dialect, row, len(dialect.header) - 1)
    there = "is 1 line" if lines == 1 else f"are {lines} lines"
    return BadInput(
        f"{path}: the quote {dialect.quote!r} that opens in line {line} is never closed, so that "
        f"there {there} in its cell; close it, or {NO_QUOTES}"
    )


def _where(path: Path, dialect: Dialect, row: int, column: int) -> int:
    """Return the line in which a cell begins, reading the file again, slowly."""
    for number, line, cells in numbered_rows(path, dialect):
        if number == row + 1:
            return line + sum(map(line_ends, cells[:column]))
    return 0


def long_cell(path: Path, dialect: Dialect) -> BadInput:
    """Say where a cell is that is too long, though all lines are short enough."""
    where = ""
    for _, line, cells in numbered_rows(path, dialect):
        if sum(map(len, cells)) > LONGEST_LINE // 2:
            longest = max(range(len(cells)), key=lambda i: len(cells[i]))
            where = f" that begins in line {line + sum(map(line_ends, cells[:longest]))}"
            break
    return BadInput(
        f"{path}: a cell in quotes{where} is longer than {LONGEST_LINE >> 20} MB; a closing quote "
        f"is missing, or the file uses another quote character; {NO_QUOTES}"
    )


def numbered_rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, int, list[str]]]:
    """Read the rows of a file, slowly, with their numbers and the lines that they begin in.

    The header is row 0. A row that is longer than any may be is the last, and cut off.
    """
    held = 0

    def short(lines: Iterable[str]) -> Iterator[str]:
        nonlocal held
        for line in lines:
            held += len(line)
            yield line
            if held > 2 * LONGEST_LINE:
                return

    with io.TextIOWrapper(open_bytes(path), dialect.encoding, newline="") as file:
        reader = rows_of(short(file), dialect.separator, dialect.quote)
        number, line = 0, 1
        for cells in reader:
            held = 0
            if cells or len(dialect.header) == 1:
                yield number, line, cells
                number += 1
            line = reader.line_num + 1


def line_ends(cell: str) -> int:
    """Count the line ends in a cell."""
    return len(re.findall("\r\n|\r|\n", cell))


def _missing_end(dialect: Dialect) -> bytes:
    return b"" if dialect.last.endswith((b"\n", b"\r")) else b"\n"


def _one_more(dialect: Dialect) -> bytes:
    return b"x" + (dialect.separator.encode() + b"x") * (len(dialect.header) - 1) + b"\n"


def _is_open(dialect: Dialect) -> bool:
    """Tell whether a quote is open at the end of the last line, which is one row."""
    names = (dialect.separator.join("x" for _ in dialect.header) + "\n").encode()
    last = dialect.last.decode("latin-1").encode() + _missing_end(dialect)
    pieces = iter([names, last, _one_more(dialect)])
    return sum(map(len, _batches(pieces, dialect, named=False))) < 3


def _batches(
    pieces: Iterable[bytes], dialect: Dialect, named: bool = True
) -> Iterator[pa.RecordBatch]:
    """Parse text as the file was parsed, some rows at a time."""
    try:
        yield from arrow_csv.open_csv(
            pa.PythonFile(_Stream(iter(pieces)), "r"),
            read_options=arrow_csv.ReadOptions(
                block_size=2 * LONGEST_LINE, autogenerate_column_names=not named
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=dialect.quote,
                newlines_in_values=True,
                invalid_row_handler=lambda row: "skip",
                ignore_empty_lines=len(dialect.header) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.header, pa.string()) if named else None,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        # The row that was put there has another length as part of an open cell's.
        if "columns" not in str(error):
            raise


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size and (piece := next(self._pieces, b"")):
            self._held += piece
        found, self._held = self._held[:size], self._held[size:]
        return found
