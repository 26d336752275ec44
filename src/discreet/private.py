"""Files that hold seeds, keys, plans or rows: nobody but their owner may read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def make_private(path: str | Path) -> Path:
    """Make an empty file that only its owner can read, whatever the umask, and return its path.

    A file that is there is removed first: whoever has it open, or may read it, sees nothing of the
    new one. Writers that open the path again keep its mode.

    Examples
    --------
    >>> import tempfile
    >>> path = make_private(Path(tempfile.mkdtemp(), "seed"))
    >>> oct(path.stat().st_mode)[-3:]
    '600'
    """
    path = Path(path)
    if path.is_file() and not path.is_symlink():
        path.unlink()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # A umask may have taken the owner's rights, and a link may lead to a file of another mode.
        if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(file).st_mode):
            os.fchmod(file, 0o600)
    finally:
        os.close(file)
    return path


def write_private(path: str | Path, content: str | bytes) -> None:
    """Write a file that only its owner can read."""
    text = content.encode() if isinstance(content, str) else content
    make_private(path).write_bytes(text)


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, whatever the umask."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)
