"""Which version this is, and which commit of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# Written when a package is built (hatch_build.py); a clone has none.
COMMIT_FILE = Path(__file__).with_name("commit.txt")


def version() -> str:
    """Return the version with its commit where that is known, such as `0.1.0 (066a99c)`.

    Examples
    --------
    >>> from discreet import __version__
    >>> version().startswith(__version__)
    True
    """
    from discreet import __version__

    made = commit()
    return __version__ if made is None else f"{__version__} ({made})"


@cache
def commit() -> str | None:
    """Return the commit that was built or, in a clone, the one that is checked out.

    Git's own files are read, because git may be absent, and starting it takes longer.
    """
    try:
        if COMMIT_FILE.exists():
            found = COMMIT_FILE.read_text(encoding="utf-8").strip()
        else:
            # Installed into a folder of somebody else's clone, its commit would be theirs.
            *_, home, root = Path(__file__).parents[:3]
            found = _checked_out(root / ".git") if home.name == "src" else ""
    except (OSError, UnicodeDecodeError):
        return None
    return found[:7] if re.fullmatch(r"[0-9a-f]{7,64}", found) else None


def _checked_out(git: Path) -> str:
    """Return the commit of a clone, or of a worktree, whose `.git` is a file that names another."""
    if git.is_file():
        git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref:"):
        return head
    name = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    common = git / shared.read_text(encoding="utf-8").strip() if shared.exists() else git
    if (common / name).exists():
        return (common / name).read_text(encoding="utf-8").strip()
    packed = (common / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
