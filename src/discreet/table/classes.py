"""Classes of records: which records share the values of some columns.

Cells become small integers first, then tuples of them one integer each, so that classes of a
million records are found by hashing integers and never by comparing text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput, nearest
from discreet.table import cells

# Far from overflow when multiplied by the number of values of one more column.
_LARGEST_KEY = 2**31


def encode(column: pa.ChunkedArray, name: str) -> tuple[np.ndarray, int]:
    """Assign a number to each distinct value of a column; nulls, NaN included, are -1.

    Also returns the number of values, which all codes are below.

    Examples
    --------
    >>> codes, size = encode(pa.chunked_array([["f", None, "m", "f"]]), "sex")
    >>> codes.tolist(), size
    ([0, -1, 1, 0], 2)
    """
    column = plain(column)
    try:
        encoded = column.dictionary_encode().unify_dictionaries()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        kind = column.type
        raise BadInput(f"column '{name}' holds {kind}, whose values cannot be counted") from None
    if len(column) == 0:
        return np.empty(0, np.int64), 0
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    codes = pc.fill_null(indices, -1).to_numpy().astype(np.int64)
    return codes, len(encoded.chunk(0).dictionary)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose equal values look the same: no dictionary, no NaN, no -0.0.

    Examples
    --------
    >>> plain(pa.chunked_array([[float("nan"), -0.0]])).to_pylist()
    [None, 0.0]
    """
    # Decoded, because a dictionary may list a value twice or hold nulls itself.
    column = cells.plain(column)
    kind = column.type
    if pa.types.is_floating(kind):
        # NaN is a null, and -0.0 is 0.0.
        column = pc.add(column, pa.scalar(0.0, kind))
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    return column


def encode_columns(table: pa.Table, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Encode some columns, each as `encode` does; the codes have the shape (columns, rows)."""
    check_columns(table, columns)
    encoded = [encode(table[name], name) for name in columns]
    codes = np.array([codes for codes, _ in encoded]).reshape(len(columns), table.num_rows)
    return codes, np.array([size for _, size in encoded], dtype=np.int64)


def check_columns(table: pa.Table, columns: Sequence[str]) -> None:
    """Refuse a column that the table does not have."""
    if isinstance(columns, str):
        raise BadInput(f"columns must be a list, such as ['{columns}']")
    if not columns:
        raise BadInput("columns is empty; name the columns that form the classes")
    for name in columns:
        if name not in table.column_names:
            raise BadInput(f"the table has no column '{name}'; {nearest(name, table.column_names)}")


def classes_of(codes: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """Assign a number to each distinct tuple of encoded columns; nulls are values like any other.

    Returns the class of each row, 0, 1, ..., and how many classes there are.

    Examples
    --------
    >>> ids, count = classes_of(np.array([[0, -1, 0], [1, 1, 1]]), np.array([1, 2]))
    >>> ids.tolist(), count
    ([1, 0, 1], 2)
    """
    keys, bound = np.zeros(codes.shape[1], np.int64), 1
    for column, size in zip(codes, sizes.tolist(), strict=True):
        if bound > _LARGEST_KEY:
            keys, bound = renumber(keys, bound)
        keys = keys * (size + 1) + (column + 1)
        bound *= size + 1
    return renumber(keys, bound)


def in_order(keys: np.ndarray) -> np.ndarray:
    """Return the distinct ones of some whole numbers, in order.

    Examples
    --------
    >>> in_order(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    # `np.unique` hashes them, which takes ten times as long for millions.
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] > keys[:-1])[: len(keys)]]


def first_rows(ids: np.ndarray, count: int) -> np.ndarray:
    """Return the first row of each of the numbers 0, 1, ... below `count`, all of which occur.

    Examples
    --------
    >>> first_rows(np.array([0, 0, 1, 0, 2]), 3)
    array([0, 2, 4])
    """
    first = np.empty(count, np.int64)
    # Of several assignments to one place the last holds.
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    return first


def constant_within(groups: np.ndarray, size: int, codes: np.ndarray) -> bool:
    """Tell whether codes are the same in all rows of each group; groups are 0, 1, ... below `size`.

    Examples
    --------
    >>> homes = np.array([0, 0, 1])
    >>> constant_within(homes, 2, np.array([5, 5, 7])), constant_within(homes, 2, np.arange(3))
    (True, False)
    """
    one = np.empty(size, codes.dtype)
    one[groups] = codes
    return bool((one[groups] == codes).all())


def renumber(keys: np.ndarray, bound: int) -> tuple[np.ndarray, int]:
    """Renumber keys in 0..bound-1 without gaps."""
    if not len(keys):
        return keys, 0
    if bound <= 4 * len(keys):
        present = np.zeros(bound, dtype=bool)
        present[keys] = True
        numbers = np.cumsum(present) - 1
        return numbers[keys], int(numbers[-1]) + 1
    encoded = pa.array(keys).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
