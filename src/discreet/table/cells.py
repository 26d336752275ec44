"""Cells: which differ, and how they are blanked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def equal_cells(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Compare two columns of the same type cell by cell; two nulls are equal, and NaN is a null."""
    if pa.types.is_floating(before.type):
        before, after = (pc.if_else(pc.is_nan(c), None, c) for c in (before, after))
    if pa.types.is_nested(before.type):
        return pa.chunked_array(
            [[a == b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True)]]
        )
    both_null = pc.and_(pc.is_null(before), pc.is_null(after))
    return pc.fill_null(pc.or_kleene(both_null, pc.equal(before, after)), False)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of categories as its labels."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def differing(before: Any, after: Any) -> int:
    """Count the cells that differ; columns of different types are compared as text."""
    if isinstance(before, np.ndarray):
        return int(((before != after) & ~(np.isnan(before) & np.isnan(after))).sum())
    before, after = plain(before), plain(after)
    if before.type != after.type:
        before, after = before.cast(pa.string()), after.cast(pa.string())
    return len(before) - int(pc.sum(equal_cells(before, after)).as_py() or 0)


def blank(column: pa.ChunkedArray, rows: np.ndarray) -> pa.ChunkedArray:
    """Turn some cells into nulls."""
    if not rows.any():
        return column
    # By position, since not every type has an if_else.
    position = pa.array(np.arange(len(column)), mask=rows)
    return column.take(position)
