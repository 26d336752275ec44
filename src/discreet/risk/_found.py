"""Whether released records are found, by what each of several columns tells of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.kernels.informed import BELOW, BEST, CODES, SCORES, own_is_best
from discreet.kernels.together import own_is_likeliest
from discreet.risk._tells import UNIT, Tells
from discreet.risk._together import Together
from discreet.threads import over_ranges


@dataclass(frozen=True)
class Told:
    """What a column tells of the records that are looked for, as a `Sheet` has it."""

    bits: float
    layout: np.ndarray
    lengths: tuple[int, ...]  # of the arrays that the layout says the beginnings of


class Sheet:
    """What columns tell of some released records, written down one after the other.

    Any of them can then be put together at once; see `kernels.informed`.

    Parameters
    ----------
    rows : ndarray
        The released records that are looked for.
    small : bool
        Whether codes fit into 16 bits.
    """

    def __init__(self, rows: np.ndarray, small: bool = False) -> None:
        self.rows = rows
        self._places = _Long(np.int16 if small else np.int32)
        self._scores = _Long(np.int32)
        # Where codes of originals are, which many share, by a hash of them.
        self._known: dict[tuple[int, bytes], list[int]] = {}

    @property
    def nbytes(self) -> int:
        """How much is written down."""
        return self._places.nbytes + self._scores.nbytes

    def add(self, one: Tells) -> Told:
        """Write down what a column tells."""
        n, q, table = len(one.codes), len(self.rows), 0 if one.table is None else one.table.size
        pieces = len(one.scores)
        layout = [one.size, 0, *self._codes(one), 0, 0, 0, 0, 0]
        lengths = n, n, one.size + 1, pieces, q * max(1, pieces), pieces or table, q, q
        own = one.codes[self.rows]
        if one.ends is not None:
            ends = np.maximum.accumulate(one.ends(self.rows), axis=1)
            filled = np.diff(ends, axis=1, prepend=0) > 0
            best = np.where(filled, one.scores, np.iinfo(np.int32).min).max(axis=1)
            score = one.scores[(ends <= own[:, None]).sum(axis=1)]
            likely = np.argsort(-one.scores.astype(np.int64), kind="stable")
            layout[1] = pieces
            layout[5:7] = self._places.add(likely), self._places.add(ends)
            layout[7] = self._scores.add(one.scores)
        else:
            assert one.rows is not None
            assert one.table is not None
            rows = one.rows[self.rows]
            best, score = one.table.max(axis=1)[rows], one.table[rows, own]
            layout[6:8] = self._places.add(rows), self._scores.add(one.table)
        layout[8:] = self._scores.add(score), self._scores.add(best)
        return Told(one.bits, np.array(layout, np.int64), lengths)

    def only(self, told: Sequence[Told]) -> tuple[Sheet, list[Told]]:
        """Return a sheet of some columns only, and these columns in it."""
        other = Sheet(self.rows, self._places.array.dtype == np.int16)
        copied: dict[tuple[int, int], int] = {}
        found = []
        for one in told:
            layout = one.layout.copy()
            for field, length in enumerate(one.lengths, start=CODES):
                long, new = (
                    (self._scores, other._scores)
                    if field >= SCORES
                    else (self._places, other._places)
                )
                begin = int(one.layout[field])
                key = field, begin
                # Codes are shared.
                if key not in copied or field > BELOW:
                    copied[key] = new.add(long.array[begin : begin + length])
                layout[field] = copied[key]
            found.append(Told(one.bits, layout, one.lengths))
        other._known = {
            key: [copied[field, begin] for field, begin in enumerate(begins, start=CODES)]
            for key, begins in self._known.items()
            if (CODES, begins[0]) in copied
        }
        return other, found

    def _codes(self, one: Tells) -> list[int]:
        key = one.size, hashlib.blake2b(one.codes.tobytes(), digest_size=16).digest()
        if key not in self._known:
            order = np.argsort(one.codes, kind="stable")
            below = np.append(0, np.cumsum(np.bincount(one.codes, minlength=one.size)))
            self._known[key] = [self._places.add(part) for part in (one.codes, order, below)]
        return self._known[key]

    def hits(self, told: Sequence[Told], most: int | None = None) -> np.ndarray:
        """Return the chance with which the originals of the first so many records are found."""
        n = len(self.rows) if most is None else min(most, len(self.rows))
        hits, given = np.zeros(n), self.written(told)
        over_ranges(lambda a, b: own_is_best(*given, a, b, hits), n, chunk=256)
        return hits

    def written(self, told: Sequence[Told]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what columns tell, those that tell most first, as kernels take it."""
        told = sorted(told, key=lambda one: -one.bits)
        layout = np.array([one.layout for one in told], np.int64).reshape(len(told), BEST + 1)
        return self._places.array, self._scores.array, layout

    def hits_together(self, told: Sequence[Told], moved: Together) -> np.ndarray:
        """Return the same by columns that are taken together, and what others tell."""
        told = sorted(told, key=lambda one: -one.bits)
        layout = np.array([one.layout for one in told], np.int64).reshape(len(told), BEST + 1)
        n, order = len(self.rows), np.argsort(moved.x[:, 0], kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        sheet = self._places.array, self._scores.array
        normal = moved.root, UNIT * moved.peaks, UNIT * moved.nulls
        x, y = moved.x[order], moved.y[self.rows]
        given = sheet, layout, (order, place), self.rows, x, y, normal, float(UNIT)
        hits = np.zeros(n)
        over_ranges(lambda a, b: own_is_likeliest(*given, a, b, hits), n, chunk=256)
        return hits


class _Long:
    """A long array that others are appended to."""

    def __init__(self, kind: type) -> None:
        self.array: np.ndarray = np.empty(1 << 12, kind)
        self._used = 0

    @property
    def nbytes(self) -> int:
        return self._used * self.array.itemsize

    def add(self, part: np.ndarray) -> int:
        """Append an array; return where it begins."""
        begin, self._used = self._used, self._used + part.size
        if self._used > len(self.array):
            room = np.empty(max(self._used, 2 * len(self.array)), self.array.dtype)
            room[:begin] = self.array[:begin]
            self.array = room
        self.array[begin : self._used] = part.ravel()
        return begin
