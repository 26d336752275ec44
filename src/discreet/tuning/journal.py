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
        kept = _read(path, header, self.known) if resume and path.exists() else None
        if kept is None:
            write_private(path, json.dumps(dict(header)) + "\n")
        else:
            os.truncate(path, kept)
        self._file = path.open("a", encoding="utf-8", newline="\n")

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
            except ValueError:
                said = None
            if said is None:
                break
            if number == 0:
                _refuse_another(path, said, header)
            else:
                choice, queries, figures = said
                known[tuple(choice), queries] = Figures(*figures)
            end = (end or 0) + len(line)
    return end


def _refuse_another(path: Path, found: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    for name, value in header.items():
        if found.get(name) != value:
            # What comes after it may differ for that reason alone.
            raise BadInput(
                f"'{path.parent}' is of a search with another {name}; search into another folder, "
                "or without resuming"
            )
