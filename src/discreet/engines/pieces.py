"""Tables whose rows this process looks at itself, one piece at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.engines.frame import Frame, Merge, Numbered, OfPair, OfPiece, Part
from discreet.threads import spread


class PieceFrame(Frame):
    """A table in pieces; if it has a stretch, each has the rows of one number // stretch."""

    stretch: int | None
    # Calls a function on pieces: two or more at once.
    _call: Callable[..., Iterator[Any]] = staticmethod(spread)

    @abstractmethod
    def _read(self, columns: Sequence[str]) -> Iterator[Numbered]:
        """Return some columns with the row numbers, one piece at a time."""

    @abstractmethod
    def _made(self, found: Iterable[Numbered], schema: pa.Schema) -> Self:
        """Return a table of rows that were made from this one's."""

    def _sorted(self) -> PieceFrame:
        """Return the rows in the order of their numbers."""
        return self

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Numbered]:
        """Return some columns, all by default, with the row numbers, one piece at a time."""
        found = self._read(self.schema.names if columns is None else columns)
        return found if self.stretch is None else whole_stretches(found, self.stretch)

    def fold(self, function: OfPiece[Part], merge: Merge[Part], columns: Sequence[str]) -> Part:
        """Call the function on pieces."""
        return reduce(merge, self._call(function, self._sorted().pieces(columns)))

    def _fold_beside(self, pairs: Any, function: OfPair[Part], merge: Merge[Part]) -> Part:
        return reduce(merge, self._call(function, pairs))

    def _map_beside(self, pairs: Any, function: OfPair[pa.Table], schema: pa.Schema) -> Self:
        return self._made(self._call(partial(same_rows, function), pairs), schema)

    def map(
        self, function: OfPiece[pa.Table], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Self:
        """Call the function on pieces, whose rows keep their numbers."""
        return self.flat_map(partial(same_rows, function), schema, columns)

    def flat_map(
        self, function: OfPiece[Numbered], schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> Self:
        """Call the function on pieces."""
        return self._made(self._call(function, self.pieces(columns)), schema)


def same_rows(
    function: Callable[..., pa.Table], piece: pa.Table, rows: np.ndarray, *others: Any
) -> Numbered:
    """Return what a function makes of rows, which keep their numbers."""
    return function(piece, rows, *others), rows


def whole_stretches(pieces: Iterable[Numbered], stretch: int) -> Iterator[Numbered]:
    """Cut pieces, whose numbers ascend, where number // stretch changes, and only there.

    Examples
    --------
    >>> pieces = [(pa.table({"x": rows}), rows) for rows in (np.arange(4), np.arange(4, 7))]
    >>> [rows.tolist() for _, rows in whole_stretches(pieces, 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    held: list[Numbered] = []
    for table, rows in pieces:
        here = rows // stretch
        cuts = [0, *(np.flatnonzero(np.diff(here)) + 1), len(rows)] if len(rows) else []
        for start, stop in pairwise(cuts):
            if held and held[0][1][0] // stretch != here[start]:
                yield together(held)
                held = []
            held.append((table.slice(start, stop - start), rows[start:stop]))
    if held:
        yield together(held)


def together(held: Iterable[Numbered]) -> Numbered:
    """Join pieces into one."""
    tables, rows = zip(*held, strict=True)
    return pa.concat_tables(tables), np.concatenate(rows)
