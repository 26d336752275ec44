"""The distinct values of a column, in their order, and as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.columns import kind_of


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column.

    Attributes
    ----------
    values : pyarrow.Array
        Smallest first; those of an ordered categorical column in its order. No null, no NaN.
    codes : ndarray of int32
        By row the position in `values`; -1 where null.
    ordered : bool
        True where the column says itself how its categories are ordered.
    weights : ndarray of int64, optional
        The records that each row stands for; one each where not given.
    """

    values: pa.Array
    codes: np.ndarray
    ordered: bool
    weights: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        """Records of each value."""
        there = self.codes >= 0
        weights = None if self.weights is None else self.weights[there]
        return counted(self.codes[there], len(self.values), weights)


def counted(codes: np.ndarray, size: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Count the records of each code below a size; `weights` are the records of each row.

    Examples
    --------
    >>> counted(np.array([1, 1, 0]), 3, np.array([10, 20, 5]))
    array([ 5, 30,  0])
    """
    # Floats hold the sums exactly: no table has 2^53 records.
    return np.bincount(codes, weights, size).astype(np.int64)


def distinct(
    column: pa.ChunkedArray | pa.Array, name: str, weights: np.ndarray | None = None
) -> Distinct:
    """Find the distinct values of a column; `weights` are the records of each row.

    Examples
    --------
    >>> found = distinct(pa.chunked_array([[40, 20, None, 40]]), "age")
    >>> found.values.to_pylist(), found.codes.tolist()
    ([20, 40], [1, 0, -1, 1])
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    values, codes = _encode(column, name)
    ordered = pa.types.is_dictionary(column.type) and column.type.ordered
    order = None if ordered else pc.sort_indices(values).to_numpy().astype(np.int64)
    if order is not None and (np.diff(order) < 0).any():
        rank = np.empty(len(order) + 1, np.int32)
        rank[order] = np.arange(len(order))
        rank[-1] = -1
        values, codes = values.take(pa.array(order)), rank[codes]
    return Distinct(values, codes, ordered, weights)


def _encode(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, np.ndarray]:
    """Return the values in the order in which they first appear, or their dictionary lists them."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _encode_dictionary(column, name)
    if types.is_floating(kind):
        # NaN is a null, and -0.0 is 0.0.
        column = pc.add(column, pa.scalar(0.0, kind))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    elif types.is_null(kind) or types.is_string_view(kind):
        column = column.cast(pa.string())
    elif kind_of(kind) == "other" and not types.is_time(kind):
        raise BadInput(f"column '{name}' holds {kind}, whose values cannot be generalized")
    encoded = column.dictionary_encode().unify_dictionaries()
    if encoded.num_chunks == 0:
        return pa.array([], column.type), np.empty(0, np.int32)
    return encoded.chunk(0).dictionary, _codes(encoded)


def _codes(encoded: pa.ChunkedArray) -> np.ndarray:
    """Return the indices of a dictionary column, -1 where null."""
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    return pc.fill_null(indices.cast(pa.int32()), -1).to_numpy()


def _encode_dictionary(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, np.ndarray]:
    """Look at the labels and not at the rows; leave out those that no row has."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return pa.array([], column.type.value_type), np.empty(0, np.int32)
    labels = pa.chunked_array([column.chunk(0).dictionary])
    # A dictionary may list a value twice or hold nulls itself.
    values, recode = _encode(labels, name)
    codes = np.append(recode, np.int32(-1))[_codes(column)]
    used = np.zeros(len(values) + 1, dtype=bool)
    used[codes] = True
    used = used[:-1]
    renumber = np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    return values.filter(pa.array(used)), renumber[codes]


def as_text(values: pa.Array) -> pa.Array:
    """Return values as people write them: 39 for 39.0, a date without the hour if it is midnight.

    Examples
    --------
    >>> as_text(pa.array([39.0, 0.5])).to_pylist()
    ['39', '0.5']
    """
    kind, types = values.type, pa.types
    text = values.cast(pa.string())
    if types.is_timestamp(kind) or types.is_time(kind):
        # 10:30:00.500 and 10:30:00.500000 are one time, whatever the unit of the column.
        text = pc.replace_substring_regex(text, r"\.0+(Z|[+-]\d+)?$", r"\1")
        text = pc.replace_substring_regex(text, r"(\.\d*[1-9])0+(Z|[+-]\d+)?$", r"\1\2")
        text = pc.replace_substring_regex(text, r" 00:00:00$", "")
    return text
