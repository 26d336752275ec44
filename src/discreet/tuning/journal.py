"""What a search has judged so far, line by line, so that a search that was killed can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from discreet.errors import BadInput
from discreet.private import write_private
from discreet.tuning.figures import Figures
from discreet.tuning.space import Choice

try:
    import fcntl
except ImportError:  # On Windows.
    fcntl = None  # type: ignore[assignment]

# What was judged: a choice, and on how many queries; None for all.
Key = tuple[Choice, int | None]


class Journal:
    """The figures of every choice that was judged, in memory and in a file.

    A search that is resumed runs again from its start, and takes from here what is known: so it
    gets to where it was in no time, and to the same front as if it had never been stopped.

    Parameters
    ----------
    path : Path, optional
        Of the file; where not given, nothing is written.
    header : mapping
        What the figures hold for: table, recipe, seed, version. Another search is refused.
    resume : bool
        Read what the file has; else it is begun anew.

    Examples
    --------
    >>> journal = Journal(None, {"seed": 1})
    >>> journal.add((0, 2), None, Figures(0.5, 0.1))
    >>> journal.get((0, 2), None)
    Figures(risk=0.5, loss=0.1, broken=0.0)
    """

    def __init__(
        self, path: Path | None, header: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.known: dict[Key, Figures] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        if not path.exists():
            write_private(path, "")
        self._file = path.open("a", encoding="utf-8", newline="\n")
        try:
            _lock(self._file, path)
            kept = _read(path, header, self.known) if resume else None
        except BaseException:
            self._file.close()
            raise
        os.truncate(path, kept or 0)
        if kept is None:
            self._file.write(json.dumps(dict(header)) + "\n")
            self._file.flush()

    def get(self, choice: Choice, queries: int | None) -> Figures | None:
        """Return what is known of a choice."""
        return self.known.get((choice, queries))

    def add(self, choice: Choice, queries: int | None, figures: Figures) -> None:
        """Keep the figures of a choice."""
        self.known[choice, queries] = figures
        if self._file is not None:
            line = [list(choice), queries, [figures.risk, figures.loss, figures.broken]]
            # Handed to the operating system line by line: a killed search loses at most one.
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _lock(file: IO[str], path: Path) -> None:
    """Refuse a journal that another search writes to."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(
            f"another search is under way in '{path.parent}'; wait for its end, or search into "
            "another folder"
        ) from None
    except OSError:  # A file system without locks.
        return


def is_journal(path: Path) -> bool:
    """Tell whether a file is the journal of a search, by how it begins."""
    with path.open("rb") as file:
        return file.read(12) in (b"", b'{"version": ')


def _read(path: Path, header: Mapping[str, Any], known: dict[Key, Figures]) -> int | None:
    """Read a journal; returns where its whole lines end, or None if not even its header is whole.

    What follows the first line that is torn is not read.
    """
    end: int | None = None
    with path.open("rb") as file:
        for number, line in enumerate(file):
            try:
                said = json.loads(line) if line.endswith(b"\n") else None
                if said is None:
                    break
                if number:
                    key, figures = _judged(said)
                    known[key] = figures
            except (ValueError, TypeError):
                break
            if number == 0:
                _refuse_another(path, said if isinstance(said, dict) else {}, header)
            end = (end or 0) + len(line)
    return end


def _judged(said: Any) -> tuple[Key, Figures]:
    """Read what a line says of a choice."""
    choice, queries, figures = said
    return (tuple(map(int, choice)), queries), Figures(*map(float, figures))


def _refuse_another(path: Path, found: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    for name, value in header.items():
        if found.get(name) != value:
            # What comes after it may differ for that reason alone.
            raise BadInput(
                f"'{path.parent}' is of a search with another {name}; search into another folder, "
                "or without resuming"
            )
