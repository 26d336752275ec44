"""The row numbers that draws go by, if the table has a key column."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.cells import plain


def row_numbers(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Return for each row the number that its draws go by, taken from its key.

    Whole numbers stand for themselves, text for 64 bits of its hash.

    Examples
    --------
    >>> row_numbers(pa.chunked_array([[7, 3]]), "id")
    array([7, 3], dtype=uint64)
    """
    if column.null_count:
        raise BadInput(f"the row key '{name}' holds nulls; every row needs one")
    column = plain(column)
    if pa.types.is_integer(column.type):
        return column.to_numpy().astype(np.uint64)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        found = [_number(text) for text in column.to_pylist()]
        return np.array(found, dtype=np.uint64)
    raise BadInput(f"the row key '{name}' must hold whole numbers or text, not {column.type}")


def group_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return for each row the number that draws of its household or person go by.

    Examples
    --------
    >>> group_numbers(pa.chunked_array([[7, 3, 7]]))
    array([7, 3, 7], dtype=uint64)
    """
    column = plain(column)
    if pa.types.is_integer(column.type):
        return column.to_numpy().astype(np.uint64)
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    numbers = np.array([_number(text) for text in encoded.dictionary.to_pylist()], np.uint64)
    return numbers[encoded.indices.to_numpy()]


def _number(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"discreet row key").digest()
    return int.from_bytes(digest, "little")
