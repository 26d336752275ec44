"""Files that hold seeds, keys, plans or rows: nobody but their owner may read them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def private_file(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file that only its owner can read, whatever the umask.

    It takes its place when it is whole, also that of a link. Until then a file that is there stays
    as it is, and whoever has that open sees nothing of the new one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "seed")
    >>> with private_file(path) as file:
    ...     _ = file.write(b"1")
    >>> oct(path.stat().st_mode)[-3:]
    '600'
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # A terminal or a pipe, such as /dev/stdout.
        with path.open("wb") as file:
            yield file
        return
    new = path.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for name in ("O_NOFOLLOW", "O_BINARY"):  # Not every system has both.
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
        try:
            if hasattr(os, "fchmod"):  # A umask may have taken the owner's rights.
                os.fchmod(file.fileno(), 0o600)
            yield file
            file.close()  # What is buffered may not fit on the disk.
            os.replace(new, path)
        except BaseException:
            new.unlink()
            raise


def write_private(path: str | Path, content: str | bytes) -> None:
    """Write a file that only its owner can read."""
    with private_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, whatever the umask."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)
