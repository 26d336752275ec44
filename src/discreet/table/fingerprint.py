"""A table's fingerprint: a keyed hash of its content, the same wherever its rows are.

A row's word depends on its cells and, where rows have places, on its number; the words are added
up. So pieces may come in any size and order, and any engine finds the same. A cell counts by its
value and not by how it is stored: 5 and 5.0 are the same, and so are all kinds of null.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.draws import Draws
from discreet.kernels.fingerprint import fold_cells, text_words
from discreet.kernels.philox import philox
from discreet.table.cells import plain

# What a cell is, so that no value passes for one of another kind, or for a null.
_NULL, _NUMBER, _LARGE, _DAY, _MOMENT, _TEXT = range(1, 7)
_EXACT = 2**53  # whole numbers up to here are the same in float64
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Fingerprint:
    """What is known of the rows so far.

    Examples
    --------
    >>> table = pa.table({"age": [30, 40], "town": ["Ulm", None]})
    >>> whole = Fingerprint.of(2024, table, np.arange(2))
    >>> parts = [Fingerprint.of(2024, table.slice(i, 1), np.array([i])) for i in (1, 0)]
    >>> whole == parts[0] + parts[1]
    True
    >>> len(whole.hexdigest(2024))
    64
    """

    columns: tuple[str, ...]
    rows: int
    sums: tuple[int, int]

    @classmethod
    def of(cls, seed: int, piece: pa.Table, rows: np.ndarray | None) -> Fingerprint:
        """Look at a piece; `rows` are its rows' numbers, None where they have no fixed place."""
        names = sorted(piece.column_names)
        key = Draws(seed, "fingerprint").key
        places = np.zeros(len(piece), np.uint64) if rows is None else rows.astype(np.uint64)
        states = philox(*key, places, np.uint64(2))
        for name in names:
            own = Draws(seed, "fingerprint", name).key
            for words, kinds in _words(plain(piece[name]), *own):
                states = fold_cells(*own, words, states ^ kinds)
        sums = [philox(*key, states, np.uint64(i)).sum(dtype=np.uint64) for i in range(2)]
        said = tuple(_said(name, piece.schema.field(name).type, piece[name]) for name in names)
        return cls(said, len(piece), (int(sums[0]), int(sums[1])))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        first, second = ((a + b) % 2**64 for a, b in zip(self.sums, other.sums, strict=True))
        return Fingerprint(self.columns, self.rows + other.rows, (first, second))

    def hexdigest(self, seed: int) -> str:
        """Return it in 64 digits, which tell nothing to one who does not know the seed."""
        said = repr((self.columns, self.rows, self.sums)).encode()
        return hmac.new(str(seed).encode(), said, hashlib.sha256).hexdigest()


def cell_numbers(seed: int, column: pa.ChunkedArray, numbers: np.ndarray) -> np.ndarray:
    """Return a number of each cell, by its value and the number of its row.

    Examples
    --------
    >>> numbers = np.array([7, 3, 7], np.uint64)
    >>> one = cell_numbers(2024, pa.chunked_array([[20, 20, 20]]), numbers)
    >>> other = cell_numbers(2024, pa.chunked_array([[20.0, 30.0, 20.0]]), numbers)
    >>> (one == other).tolist(), bool(one[0] == one[2])
    ([True, False, True], True)
    """
    key = Draws(seed, "cells").key
    states = np.ascontiguousarray(numbers, dtype=np.uint64)
    for words, kinds in _words(plain(column), *key):
        states = fold_cells(*key, words, states ^ kinds)
    return states


def _said(name: str, kind: pa.DataType, column: pa.ChunkedArray) -> str:
    """Return a column's name, and the order of its categories where they have one."""
    if not pa.types.is_dictionary(kind) or not kind.ordered or not column.num_chunks:
        return name
    return repr((name, column.chunk(0).dictionary.to_pylist()))


Cells = tuple[np.ndarray, np.ndarray]  # words, and what kind each cell is of


def _words(column: pa.ChunkedArray, key_0: np.uint64, key_1: np.uint64) -> Sequence[Cells]:
    """Return the cells of a column as words; moments are two, their seconds and the rest."""
    kind = column.type
    absent = column.is_null().to_numpy()
    if pa.types.is_timestamp(kind):
        per = _PER_SECOND[kind.unit]
        seconds, rest = np.divmod(_integers(column), per)
        parts = seconds, rest * (10**9 // per)
        return [_cells(part.view(np.uint64), _MOMENT, absent) for part in parts]
    if pa.types.is_floating(kind):
        numbers = column.cast(pa.float64()).fill_null(np.nan).to_numpy()
        return [_cells(_bits(numbers), _NUMBER, absent | np.isnan(numbers))]
    if pa.types.is_date32(kind):
        return [_cells(_integers(column).view(np.uint64), _DAY, absent)]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole = _integers(column)
        large = (whole > _EXACT) | (whole < -_EXACT)
        if kind == pa.uint64():
            large |= whole < 0
        words = np.where(large, whole.view(np.uint64), _bits(whole.astype(np.float64)))
        # A word above 2^63 is a negative number's, unless the column has none.
        beyond = large & (whole < 0) if kind == pa.uint64() else np.zeros(len(whole), bool)
        return [_cells(words, np.where(large, _LARGE + 8 * beyond, _NUMBER), absent)]
    text = column if pa.types.is_large_string(kind) else column.cast(pa.large_string())
    return [_cells(_texts(text, key_0, key_1), _TEXT, absent)]


def _cells(words: np.ndarray, kind: Any, absent: np.ndarray) -> Cells:
    return np.where(absent, np.uint64(0), words), np.where(absent, _NULL, kind).astype(np.uint64)


def _texts(column: pa.ChunkedArray, key_0: np.uint64, key_1: np.uint64) -> np.ndarray:
    found = [np.empty(0, np.uint64)]
    for chunk in column.chunks:
        if len(chunk):
            _, places, letters = chunk.buffers()
            starts = np.frombuffer(places, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
            held = np.frombuffer(letters or b"", np.uint8)
            found.append(text_words(key_0, key_1, held, starts))
    return np.concatenate(found)


def _integers(column: pa.ChunkedArray) -> np.ndarray:
    """Return whole numbers, days or ticks as int64; those above 2^63 wrap round."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return pc.fill_null(column.cast(pa.int64(), safe=False), 0).to_numpy()


def _bits(numbers: np.ndarray) -> np.ndarray:
    return (numbers + 0.0).view(np.uint64)  # no -0.0
