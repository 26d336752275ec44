"""The first rows of a CSV file that is too large to be read whole."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.dialect import open_bytes, packing
from discreet.table.files import read_table

# Bytes of the file that are read, unpacked.
HEAD = 32 << 20
# A cell that goes on over more bytes than these is none.
_LONGEST = 1 << 16


def read_head(
    path: Path,
    rows: int,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    null_markers: Sequence[str] = (),
) -> pa.Table:
    r"""Read the first rows of a CSV file as `discreet.read_table` reads all of them.

    Parameters
    ----------
    path : Path
    rows : int
        How many at most; fewer where they are very long.
    separator, decimal, quote, encoding : str, optional
        How it is written; detected in its first part by default.
    null_markers : sequence of str
        Cells that are to be nulls, besides the empty ones.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = path.write_text("zip;height\n01234;1,80\n20095;1,75\n")
    >>> read_head(path, 1).to_pylist()
    [{'zip': '01234', 'height': 1.8}]
    """
    with open_bytes(path) as file:
        start = file.read(HEAD + 1)
    if len(start) > HEAD:
        start = _whole_lines(start[:HEAD], (quote or '"').encode()[:1], encoding)
    name = path.name.removesuffix(path.suffix) if packing(path) else path.name
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        part = Path(folder) / name
        part.write_bytes(start)
        try:
            found = read_table(
                part,
                separator=separator,
                decimal=decimal,
                quote=quote,
                encoding=encoding,
                null_markers=null_markers,
            )
        except BadInput as error:
            raise BadInput(str(error).replace(str(part), str(path))) from None
    return found.slice(0, rows)


def _whole_lines(start: bytes, quote: bytes, encoding: str | None) -> bytes:
    """Cut off the last line, which may have ended in the middle; not within quotes."""
    last = end = start.rfind(b"\n")
    odd = start.count(quote, 0, max(0, last)) % 2
    while end >= 0 and odd:
        # Only what is passed over is counted: to count from the start each time takes minutes.
        before = start.rfind(b"\n", max(0, last - _LONGEST), end)
        odd ^= start.count(quote, max(0, before), end) % 2
        end = before
    # Where there is no such end, a quote is no mark but a part of the text.
    end = end if end >= 0 else last
    if end < 0:
        return start
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff")) or "16" in (encoding or "")
    width = 4 if "32" in (encoding or "") or start.startswith(b"\xff\xfe\0\0") else 1 + wide
    cut = end + 1
    return start[: cut + -cut % width]
