"""Two tables of the same rows, column by column: what most measures start from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.cells import plain
from discreet.table.columns import float_values, kind_of
from discreet.table.native import to_arrow


def numeric_pairs(original: Any, protected: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the numeric columns that two tables or arrays share, as float64, NaN for nulls.

    Both have the same rows in the same order; arrays have columns x0, x1, ..., and beside a table
    its names.

    Examples
    --------
    >>> pairs = numeric_pairs(np.array([[1.0], [2.0]]), np.array([[1.5], [1.5]]))
    >>> pairs["x0"][1]
    array([1.5, 1.5])
    """
    before, after = as_tables(original, protected)
    _check_rows(before, after)
    return {
        name: (float_values(before[name], name), float_values(after[name], name))
        for name in numeric_names(before.schema, after.schema)
    }


def numeric_names(before: pa.Schema, after: pa.Schema) -> list[str]:
    """Name the columns that are numeric in both tables; warn of those numeric in only one."""
    shared = []
    for name in after.names:
        if name in before.names:
            kinds = before.field(name).type, after.field(name).type
            numeric = [kind_of(kind) == "numeric" for kind in kinds]
            if all(numeric):
                shared.append(name)
            elif any(numeric):
                _warn_of_kinds(name, *kinds)
    return shared


def _warn_of_kinds(name: str, before: pa.DataType, after: pa.DataType) -> None:
    warnings.warn(
        f"column '{name}' is not compared as numbers: it is {kind_of(before)} in the original and "
        f"{kind_of(after)} in the protected table",
        stacklevel=4,
    )


def _check_rows(before: pa.Table, after: pa.Table) -> None:
    if before.num_rows != after.num_rows:
        raise BadInput(
            f"the original has {before.num_rows:,} rows, the protected table {after.num_rows:,}"
        )


def as_table(table: Any) -> pa.Table:
    """Return a table or a numeric array as a `pyarrow.Table`; arrays have columns x0, x1, ..."""
    if isinstance(table, np.ndarray | list | tuple):
        array = np.asarray(table, dtype=np.float64)
        array = array.reshape(len(array), -1)
        return pa.table({f"x{i}": array[:, i] for i in range(array.shape[1])})
    return to_arrow(table)


def as_tables(original: Any, protected: Any) -> tuple[pa.Table, pa.Table]:
    """Return two tables or arrays of the same records; an array beside a table takes its names.

    Two that share no column are refused: there would be nothing to compare, and no loss.

    Examples
    --------
    >>> as_tables(pa.table({"age": [31, 58]}), np.array([[30.0], [60.0]]))[1].column_names
    ['age']
    """
    before, after = as_table(original), as_table(protected)
    unnamed = [isinstance(table, np.ndarray | list | tuple) for table in (original, protected)]
    if unnamed[0] != unnamed[1]:
        if before.num_columns != after.num_columns:
            raise BadInput(
                f"the original has {before.num_columns} columns and the protected table "
                f"{after.num_columns}, and one of them is an array without names; give both as "
                'tables, after a method by set_output(transform="pandas")'
            )
        names = after.column_names if unnamed[0] else before.column_names
        before, after = before.rename_columns(names), after.rename_columns(names)
    both = before.num_columns and after.num_columns
    if both and not set(before.column_names) & set(after.column_names):
        raise BadInput(
            f"the two tables share no column: the original's first is "
            f"'{before.column_names[0]}', the protected table's '{after.column_names[0]}'"
        )
    return before, after


@dataclass(frozen=True)
class Pair:
    """One column of two tables as float64, NaN for nulls; both number categories alike."""

    # The numbers stand for categories, which can only be equal or not.
    categorical: bool
    x: np.ndarray  # of the original
    y: np.ndarray  # of the protected table


def shared_pairs(original: Any, protected: Any) -> dict[str, Pair]:
    """Return the columns that two tables or arrays share: numbers as they are, others as codes.

    A column that is numeric in one table and not in the other is left out with a warning.

    Examples
    --------
    >>> import pyarrow as pa
    >>> pairs = shared_pairs(pa.table({"sex": ["f", "m"]}), pa.table({"sex": ["m", None]}))
    >>> pairs["sex"].x, pairs["sex"].y
    (array([0., 1.]), array([ 1., nan]))
    """
    before, after = as_tables(original, protected)
    _check_rows(before, after)
    pairs = {}
    for name in after.column_names:
        if name not in before.column_names:
            continue
        x, y = before[name], after[name]
        numeric = [kind_of(column.type) == "numeric" for column in (x, y)]
        if all(numeric):
            pairs[name] = Pair(False, float_values(x, name), float_values(y, name))
        elif any(numeric):
            _warn_of_kinds(name, x.type, y.type)
        else:
            pairs[name] = Pair(True, *common_codes(x, y))
    return pairs


def common_codes(x: pa.ChunkedArray, y: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories of two columns as numbers on one scale, NaN for nulls."""
    text = pa.large_string()
    both = pa.chunked_array([c for one in (x, y) for c in plain(one).cast(text).chunks], text)
    labels = pc.unique(both.drop_null())
    codes = pc.index_in(both, value_set=labels).cast(pa.float64()).to_numpy()
    return codes[: len(x)], codes[len(x) :]
