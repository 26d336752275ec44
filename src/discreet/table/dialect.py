"""How a CSV file is written: its encoding, separator and quote character are detected."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import BadInput, one_line

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 1000
# In bytes, of UTF-8 where it is decoded on the way: readers hold a whole line in memory.
LONGEST_LINE = 1 << 23
NO_QUOTES = "--quote none takes quotes as plain text"
_ENDS = (b"\n", b"\r")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Western European letters and punctuation as cp1252 writes them. Rarer ones are left out, so that
# damaged UTF-8 is not mistaken for cp1252.
_CP1252 = frozenset(
    "€‚„…‘’“”–—ŠšŽžŒœ ¡£§«°»¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûü".encode(
        "cp1252"
    )
)


@dataclass(frozen=True)
class Marks:
    """What the caller knows of how a CSV file is written; None is detected.

    The quote may be "none": then quotes are letters like all others.
    """

    separator: str | None = None
    decimal: str | None = None
    quote: str | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class Dialect:
    """What it takes to read a CSV file, and its header."""

    encoding: str
    separator: str
    # Empty if there is none.
    quote: str
    header: tuple[str, ...]
    # None if the caller does not know.
    decimal: str | None
    # Line ends in the file, and its last line, with its end if it has one.
    lines: int
    last: bytes
    # The caller says what the quote is.
    sure: bool


def packing(path: Path) -> str | None:
    """Name how a file is packed, by its suffix."""
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())


def open_bytes(path: Path) -> pa.NativeFile:
    """Open a file to read its bytes, unpacked."""
    return pa.input_stream(str(path), compression=packing(path))


def pieces(path: Path) -> Iterator[bytes]:
    """Read a file's bytes, unpacked, some at a time."""
    try:
        with open_bytes(path) as stream:
            while piece := stream.read(LONGEST_LINE):
                yield piece
    except (OSError, pa.ArrowException) as error:
        how = f"unpacked as {packing(path)}" if packing(path) else "read"
        raise BadInput(f"{path} cannot be {how}: {one_line(error)}") from None


def find_dialect(path: Path, known: Marks) -> Dialect:
    """Detect how a file that exists is written, as far as the caller does not know."""
    if known.decimal not in (None, ".", ","):
        raise BadInput(f"the decimal mark must be a point or a comma, not {known.decimal!r}")
    sure, known = known.quote is not None, replace(known, quote=_mark(known.quote))
    for name, mark in (("separator", known.separator), ("quote", known.quote or None)):
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in "\r\n\0"):
            other = " or none" if name == "quote" else ""
            raise BadInput(f"the {name} must be one character{other}, not {mark!r}")
    encoding, lines = _find_encoding(path, known.encoding)
    if lines.nul > 1:
        # The names of the columns may have none.
        warnings.warn(
            f"{path}: line {lines.nul} has a NUL character, which text does not have; is the file "
            "damaged?",
            stacklevel=2,
        )
    # Cells may be as long as they like.
    csv.field_size_limit(1 << 31)
    try:
        text, whole = _sample(path, encoding, known)
        quote = known.quote
        if quote is None:
            quote = "'" if _quotes_with_apostrophes(text, known.separator, whole) else '"'
        separator = known.separator or max(
            SEPARATORS, key=lambda mark: _fit(text, mark, quote, whole)
        )
        header = next(rows := _rows(text, separator, quote))
        if next(rows, None) is None:
            _refuse_open_header(path, text, separator, quote, whole)
    except csv.Error as error:
        raise BadInput(
            f"{path} cannot be read as CSV: {error}; does it lack a closing quote, or end its "
            "lines with a carriage return alone?"
        ) from None
    if not header:
        raise BadInput(f"{path}: line 1 is blank; it must hold the names of the columns")
    return Dialect(
        encoding,
        separator,
        quote,
        tuple(header),
        known.decimal,
        lines.ends,
        lines.last,
        sure,
    )


def _refuse_open_header(path: Path, text: str, separator: str, quote: str, whole: bool) -> None:
    """Refuse a header that takes up all that was read, unless it is all that there is."""
    if not whole:
        raise BadInput(
            f"{path}: the header is longer than {LONGEST_LINE >> 20} MB; a closing quote is "
            "missing, or the file uses another quote character"
        )
    # One more line is a row, or part of a name that is still open.
    if sum(1 for _ in _rows(f"{text}\nx\n", separator, quote)) == 1:
        raise BadInput(
            f"{path}: the quote {quote!r} that opens in the header is never closed, so that there "
            f"are no rows; close it, or {NO_QUOTES}"
        )


def _mark(quote: str | None) -> str | None:
    """Return a quote as it is used within: empty if there is none."""
    if quote == "":
        raise BadInput("the quote must be one character or none, not ''")
    return "" if quote == "none" else quote


def _sample(path: Path, encoding: str, known: Marks) -> tuple[str, bool]:
    """Read the beginning of a file, with the whole header; also tells whether that is all of it.

    Where the header ends depends on the quote and the separator, which are not known yet: so much
    is read that it ends in whichever way it is read.
    """
    raw, stream, size = b"", pieces(path), _SAMPLE_BYTES
    while True:
        while len(raw) < size and (piece := next(stream, b"")):
            raw += piece
        whole = len(raw) < size
        text = _decode(path, raw[:size], encoding, _decoder(encoding)).removeprefix("\ufeff")
        if not text.strip():
            raise BadInput(f"{path} is empty: it has no header and no rows")
        if whole:
            return text, True
        # Without the line that is cut off, or all if there is no other.
        text = text[: text.rfind("\n") + 1] or text
        if _header_ends(text, known) or size > LONGEST_LINE:
            return text, False
        size *= 2


def _header_ends(text: str, known: Marks) -> bool:
    """Tell whether a second row begins in a text, whatever its marks are."""
    separators = [known.separator] if known.separator else SEPARATORS
    quotes = ['"', "'"] if known.quote is None else [known.quote]
    return all(
        sum(1 for _ in islice(_rows(text, separator, quote), 2)) == 2
        for separator, quote in product(separators, quotes)
    )


@dataclass
class _Lines:
    """What was seen of a file's lines: how many have ended, and the last one, with its end."""

    ends: int = 0
    last: bytes = b""
    nul: int = 0  # the first line that has a NUL

    def held(self) -> int:
        """Return how long the line is that goes on in the next piece."""
        return 0 if self.last.endswith(_ENDS) else len(self.last)

    def add(self, piece: bytes) -> None:
        """Look at the next piece."""
        returns = piece.count(b"\r")
        pairs = piece.count(b"\r\n") if returns else 0
        # A line end may be half in one piece and half in the next.
        halved = self.last.endswith(b"\r") and piece.startswith(b"\n")
        self.ends += piece.count(b"\n") + returns - pairs - halved
        stop = len(piece) - len(piece[-2:]) + len(piece[-2:].rstrip(b"\r\n"))
        start = max(piece.rfind(b"\n", 0, stop), piece.rfind(b"\r", 0, stop)) + 1
        goes_on = start == 0 and (self.held() or (halved and len(piece) == 1))
        self.last = (self.last if goes_on else b"") + piece[start:]


def _short_lines(path: Path, lines: _Lines, encoding: str = "utf-8") -> Iterator[bytes]:
    """Read a file in pieces, count its lines, and refuse one that is longer than a piece."""
    for piece in pieces(path) if _like_ascii(encoding) else utf8_pieces(path, encoding):
        ends = [end for end in (piece.find(b"\n"), piece.find(b"\r")) if end >= 0]
        if lines.held() + min(ends, default=len(piece)) > LONGEST_LINE:
            raise BadInput(
                f"{path}: line {lines.ends + 1} is longer than {LONGEST_LINE >> 20} MB; are its "
                "line ends missing, or is it not a CSV?"
            )
        if not lines.nul and (nul := piece.find(b"\0")) >= 0:
            lines.nul = lines.ends + 1 + piece.count(b"\n", 0, nul)
        lines.add(piece)
        yield piece


def utf8_pieces(path: Path, encoding: str) -> Iterator[bytes]:
    """Read a file in pieces of UTF-8, whatever its encoding is."""
    decoder = _decoder(encoding)
    for piece in pieces(path):
        if encoding != "utf-8":
            piece = _decode(path, piece, encoding, decoder).encode("utf-8", "surrogatepass")
        yield piece


def _like_ascii(encoding: str) -> bool:
    """Tell whether an encoding writes line ends as ASCII does."""
    try:
        return _decoder(encoding).decode(b"\r\n") == "\r\n"
    except UnicodeError:
        return False


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        if isinstance(decoder.decode(b""), str):
            return decoder
    except Exception:
        # Codecs that are no encodings of text fail in many ways.
        pass
    raise BadInput(f"'{encoding}' is not a text encoding that Python knows")


def _decode(path: Path, raw: bytes, encoding: str, decoder: codecs.IncrementalDecoder) -> str:
    try:
        return decoder.decode(raw)
    except UnicodeError as error:
        why = getattr(error, "reason", error)
        raise BadInput(f"{path} cannot be read as {encoding}: {why}") from None


def _rows(text: str, separator: str, quote: str) -> Iterator[list[str]]:
    return rows_of(io.StringIO(text, newline=""), separator, quote)


def rows_of(lines: Iterable[str], separator: str, quote: str) -> Any:
    """Return a reader of the rows in some lines, with or without a quote."""
    if not quote:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, quotechar=quote)


def _quotes_with_apostrophes(text: str, separator: str | None, whole: bool) -> bool:
    """Tell whether cells are quoted with ' and do not merely begin with one, as 't Hooft does."""
    if '"' in text:
        return False
    for one in (separator,) if separator else SEPARATORS:
        mark = re.escape(one)
        opened = len(re.findall(rf"(?:^|{mark})'", text, re.MULTILINE))
        closed = len(re.findall(rf"'(?:{mark}|\r?$)", text, re.MULTILINE))
        if opened and opened == closed and _fit(text, one, "'", whole)[0] == 1:
            return True
    return False


def _fit(text: str, separator: str, quote: str, whole: bool) -> tuple[float, int]:
    """Rate a separator by the share of rows as long as the header, then the number of columns."""
    rows = []
    for row in _rows(text, separator, quote):
        if row:
            rows.append(len(row))
        if len(rows) == _SAMPLE_ROWS:
            break
    else:
        # The last row of a sample may be cut off.
        rows = rows if whole else rows[:-1]
    columns = rows[0] if rows else 0
    if columns < 2:
        return (0.0, 1)
    return (sum(length == columns for length in rows) / len(rows), columns)


def _find_encoding(path: Path, known: str | None) -> tuple[str, _Lines]:
    """Choose UTF-8, or what a byte-order mark says, or cp1252 if all high bytes fit it.

    On the way the whole file is read, its lines are counted, and it is refused if one is too long.
    """
    lines = _Lines()
    start = next(pieces(path), b"")
    known = known or next((code for mark, code in _MARKS if start.startswith(mark)), None)
    if known is not None:
        for _ in _short_lines(path, lines, known):
            pass
        return known, lines
    broken = _broken_utf8(_short_lines(path, lines))
    if broken is None:
        return "utf-8", lines
    if _looks_like_cp1252(path):
        warnings.warn(f"{path} is not UTF-8 and was read as cp1252", stacklevel=2)
        # The lines behind the first byte that is not UTF-8 have not been counted.
        return _find_encoding(path, "cp1252")
    raise BadInput(
        f"{path} is not valid UTF-8: {broken}; if it has another encoding, name it (for example "
        "cp1252)"
    )


def _broken_utf8(parts: Iterable[bytes]) -> str | None:
    """Say where the first byte is that is not UTF-8."""
    decoder, held, line = codecs.getincrementaldecoder("utf-8")(), b"", 1
    for part in chain(parts, [None]):
        piece = held + (part or b"")
        decoder.reset()
        try:
            decoder.decode(piece, final=part is None)
        except UnicodeDecodeError as error:
            line += piece.count(b"\n", 0, error.start)
            return f"byte 0x{piece[error.start]:02x} in line {line}"
        line += piece.count(b"\n")
        # A character that goes on in the next piece.
        held = decoder.getstate()[0]
    return None


def _looks_like_cp1252(path: Path) -> bool:
    """Tell whether every byte above 127 is a common cp1252 letter, and no two are a UTF-8 pair."""
    common, last = bytes(sorted(_CP1252)), b""
    for piece in pieces(path):
        if re.search(rb"[\xc2-\xdf][\x80-\xbf]", last + piece):
            return False
        if piece.translate(None, bytes(range(128))).translate(None, common):
            return False
        last = piece[-1:]
    return True
