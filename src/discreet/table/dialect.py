"""How a CSV file is written: its encoding, separator and quote character are detected."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from discreet.errors import BadInput

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 1000
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
    """What the caller knows of how a CSV file is written; None is detected."""

    separator: str | None = None
    decimal: str | None = None
    quote: str | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class Dialect:
    """What it takes to read a CSV file, and its header."""

    encoding: str
    separator: str
    quote: str
    header: tuple[str, ...]
    # None if the caller does not know.
    decimal: str | None


def contents(path: Path) -> memoryview:
    """Return a file's bytes: mapped into memory, or unpacked where its suffix is .gz or .zst."""
    if path.stat().st_size == 0:
        raise BadInput(f"{path} is empty: it has no header and no rows")
    if packing(path) is None:
        return memoryview(pa.memory_map(str(path)).read_buffer()).cast("B")
    try:
        with open_bytes(path) as stream:
            return memoryview(stream.read_buffer()).cast("B")
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path} cannot be unpacked as {packing(path)}: {error}") from None


def packing(path: Path) -> str | None:
    """Name how a file is packed, by its suffix."""
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())


def open_bytes(path: Path) -> pa.NativeFile:
    """Open a file to read its bytes, unpacked."""
    return pa.input_stream(str(path), compression=packing(path))


def find_dialect(path: Path, known: Marks) -> Dialect:
    """Detect how a file that exists is written, as far as the caller does not know."""
    separator, quote = known.separator, known.quote
    if known.decimal not in (None, ".", ","):
        raise BadInput(f"the decimal mark must be a point or a comma, not {known.decimal!r}")
    for name, mark in (("separator", separator), ("quote", quote)):
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in "\r\n"):
            raise BadInput(f"the {name} must be one character, not {mark!r}")
    content = contents(path)
    encoding = known.encoding or _find_encoding(path, content)
    raw = bytes(content[:_SAMPLE_BYTES])
    text = _decode(path, raw, encoding).removeprefix("\ufeff")
    if not text.strip():
        raise BadInput(f"{path} is empty: it has no header and no rows")
    whole = len(raw) < _SAMPLE_BYTES
    # Cells may be as long as they like.
    csv.field_size_limit(1 << 31)
    try:
        if quote is None:
            quote = "'" if _quotes_with_apostrophes(text, separator, whole) else '"'
        separator = separator or max(SEPARATORS, key=lambda s: _fit(text, s, quote, whole))
        header = next(_rows(text, separator, quote))
    except csv.Error as error:
        raise BadInput(
            f"{path} cannot be read as CSV: {error}; does it lack a closing quote, or end its "
            "lines with a carriage return alone?"
        ) from None
    return Dialect(encoding, separator, quote, tuple(header), known.decimal)


def _decode(path: Path, raw: bytes, encoding: str) -> str:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        text = decoder.decode(raw)
        if isinstance(text, str):
            return text
    except (UnicodeDecodeError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise BadInput(f"{path} cannot be read as {encoding}: {error.reason}") from None
    except Exception:
        # Codecs that are no encodings of text fail in many ways.
        pass
    raise BadInput(f"'{encoding}' is not a text encoding that Python knows")


def _rows(text: str, separator: str, quote: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)


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


def _find_encoding(path: Path, content: memoryview) -> str:
    """Choose UTF-8, or what a byte-order mark says, or cp1252 if all high bytes fit it."""
    for mark, encoding in _MARKS:
        if content[: len(mark)] == mark:
            return encoding
    broken = _broken_utf8(content)
    if broken is None:
        return "utf-8"
    if _looks_like_cp1252(content):
        warnings.warn(f"{path} is not UTF-8 and was read as cp1252", stacklevel=2)
        return "cp1252"
    line = bytes(content[:broken]).count(b"\n") + 1
    raise BadInput(
        f"{path} is not valid UTF-8: byte 0x{content[broken]:02x} in line {line}; "
        "if it has another encoding, name it (for example cp1252)"
    )


_PIECE = 1 << 24


def _broken_utf8(content: memoryview) -> int | None:
    """Position of the first byte that is not UTF-8, reading in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(content), _PIECE):
        piece = bytes(content[start : start + _PIECE])
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(piece, final=start + _PIECE >= len(content))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None


def _looks_like_cp1252(content: memoryview) -> bool:
    """Tell whether every byte above 127 is a common cp1252 letter, and no two are a UTF-8 pair."""
    if re.search(rb"[\xc2-\xdf][\x80-\xbf]", content):
        return False
    common = bytes(sorted(_CP1252))
    for start in range(0, len(content), _PIECE):
        high = bytes(content[start : start + _PIECE]).translate(None, bytes(range(128)))
        if high.translate(None, common):
            return False
    return True
