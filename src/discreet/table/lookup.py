"""Find each row's tuple among known ones: how a plan made from distinct tuples is applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.classes import plain
from discreet.threads import over_ranges

# A key of several columns stays below it, far from what int64 holds.
_LARGEST_KEY = 2**62
# Rows at a time, where threads share the work.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Lookup:
    """Distinct tuples, to be found again among rows.

    Nulls, NaN included, are one value; -0.0 is 0.0; a dictionary counts by its labels.

    Examples
    --------
    >>> people = {"sex": pa.chunked_array([["f", "m", "f"]]), "age": pa.chunked_array([[30, 8, 8]])}
    >>> lookup = Lookup.learn(people)
    >>> rows = {"sex": pa.chunked_array([["m", "f"]]), "age": pa.chunked_array([[8, 8]])}
    >>> lookup.first[lookup.find(rows)].tolist()
    [1, 2]
    """

    values: dict[str, pa.Array]  # distinct, of each column
    first: np.ndarray  # for each distinct tuple, a row that has it
    # By position of a column: the keys of the columns before it, sorted. Keys are replaced by
    # their places there where they would grow too large. The last is of whole tuples.
    folds: dict[int, np.ndarray]

    @classmethod
    def learn(cls, columns: Mapping[str, pa.ChunkedArray]) -> Lookup:
        """Learn the tuples of some rows; a repeated one counts once."""
        values = {name: _distinct(column) for name, column in columns.items()}
        folds: dict[int, np.ndarray] = {}
        keys, bound = np.zeros(len(next(iter(columns.values()))), np.int64), 1
        for position, (name, known) in enumerate(values.items()):
            if bound * (len(known) + 2) > _LARGEST_KEY:
                folds[position], keys = np.unique(keys, return_inverse=True)
                bound = len(folds[position]) + 1
            keys = _joined(keys, columns[name], known)
            bound *= len(known) + 2
        folds[len(values)], first = np.unique(keys, return_index=True)
        return cls(values, first, folds)

    def find(self, columns: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
        """Return the place of each row's tuple in `first`; all must be known."""
        keys = np.zeros(len(next(iter(columns.values()))), np.int64)
        for position, (name, known) in enumerate(self.values.items()):
            if position in self.folds:
                keys = _places(keys, self.folds[position])
            keys = _joined(keys, columns[name], known)
        places = _places(keys, self.folds[len(self.values)])
        unknown = places == len(self.first)
        if unknown.any():
            row = int(np.argmax(unknown))
            held = ", ".join(f"{name} = {columns[name][row].as_py()!r}" for name in self.values)
            raise BadInput(
                f"a row has {held}, which no row had when the table was counted; use a table that "
                "does not change during the run"
            )
        return places


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a column, nulls left out."""
    if column.null_count == len(column):
        return pa.array([], pa.string())
    if pa.types.is_dictionary(column.type):
        # Those that no row has do no harm.
        labels = [pa.array([], column.type.value_type), *(c.dictionary for c in column.chunks)]
        column = pa.chunked_array(labels)
    return _comparable(column).unique().drop_null()


def _joined(keys: np.ndarray, column: pa.ChunkedArray, known: pa.Array) -> np.ndarray:
    """Append the codes of one more column to the keys."""
    joined = keys * (len(known) + 2)
    joined += _codes(column, known)
    return joined


def _codes(column: pa.ChunkedArray, known: pa.Array) -> np.ndarray:
    """Return each value's place among the known ones; the next for nulls, then one for unknowns."""
    if column.null_count == len(column):
        return np.full(len(column), len(known))
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        labels = _codes(pa.chunked_array([column.chunk(0).dictionary]), known)
        indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
        indices = pc.fill_null(indices.cast(pa.int64()), len(labels))
        return np.append(labels, len(known))[indices.to_numpy()]
    column = _comparable(column)
    if column.type != known.type:
        column = column.cast(known.type)
    found = pc.index_in(column, value_set=known)
    codes = pc.fill_null(found, len(known)).to_numpy()
    if found.null_count == column.null_count:
        return codes
    unknown = pc.and_(found.is_null(), column.is_valid()).to_numpy()
    return codes + unknown


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values so that those are equal which the methods treat as equal."""
    column = plain(column)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def _places(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the place of each key among sorted ones; past the last if it is missing."""
    places = np.empty(len(keys), np.int64)

    def work(start: int, stop: int) -> None:
        found = np.searchsorted(known, keys[start:stop])
        there = known[np.minimum(found, len(known) - 1)] == keys[start:stop]
        places[start:stop] = np.where(there, found, len(known))

    over_ranges(work, len(keys), _CHUNK)
    return places
