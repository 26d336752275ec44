"""Two tables of the same rows, column by column: what most measures start from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.columns import float_values, kind_of
from discreet.table.native import to_arrow


def numeric_pairs(original: Any, protected: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give the numeric columns that two tables or arrays share, as float64, NaN where null.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order; arrays have columns x0, x1, ...

    Examples
    --------
    >>> pairs = numeric_pairs(np.array([[1.0], [2.0]]), np.array([[1.5], [1.5]]))
    >>> pairs["x0"][1]
    array([1.5, 1.5])
    """
    before, after = as_table(original), as_table(protected)
    if before.num_rows != after.num_rows:
        raise BadInput(
            f"the original has {before.num_rows:,} rows, the protected table {after.num_rows:,}"
        )
    shared = [
        name
        for name in after.column_names
        if name in before.column_names
        and kind_of(before[name].type) == kind_of(after[name].type) == "numeric"
    ]
    return {
        name: (float_values(before[name], name), float_values(after[name], name)) for name in shared
    }


def as_table(table: Any) -> pa.Table:
    """Give a table or a numeric array as a `pyarrow.Table`; arrays have columns x0, x1, ..."""
    if isinstance(table, np.ndarray | list | tuple):
        array = np.asarray(table, dtype=np.float64)
        array = array.reshape(len(array), -1)
        return pa.table({f"x{i}": array[:, i] for i in range(array.shape[1])})
    return to_arrow(table)
