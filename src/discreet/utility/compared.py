"""Columns and rows of two tables, made comparable: what the measures of utility start from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput, nearest
from discreet.risk.values import refuse_infinite
from discreet.table.columns import kind_of
from discreet.table.native import to_arrow
from discreet.table.pairs import common_codes, numeric_pairs

# Sums of float64 that should cancel leave this much, relative to what was summed.
ROUNDING = 1e-12

Pairs = dict[str, tuple[np.ndarray, np.ndarray]]


def leave_out(measure: str, column: str, why: str) -> None:
    """Warn that a measure leaves a column out."""
    warnings.warn(f"{measure} leaves out column '{column}', {why}", stacklevel=3)


def finite_pairs(original: Any, protected: Any) -> Pairs:
    """Return the numeric columns of both tables; one that holds infinity is refused."""
    pairs = numeric_pairs(original, protected)
    for name, (x, y) in pairs.items():
        refuse_infinite(name, x, y)
    return pairs


def compared(original: Any, protected: Any, measure: str) -> Pairs:
    """Return the numeric columns of both tables, cells null on either side NaN in both.

    Columns without any cell to compare are left out with a warning.
    """
    found = {}
    for name, (x, y) in finite_pairs(original, protected).items():
        null = np.isnan(x) | np.isnan(y)
        if null.all():
            leave_out(measure, name, "which has no values to compare")
        elif null.any():
            found[name] = np.where(null, np.nan, x), np.where(null, np.nan, y)
        else:
            found[name] = x, y
    return found


def check_rows(before: pa.Table, after: pa.Table) -> None:
    """Say so where two tables are not equally long."""
    if before.num_rows != after.num_rows:
        raise BadInput(
            f"the original has {before.num_rows:,} rows, the protected table {after.num_rows:,}"
        )


def is_constant(x: np.ndarray) -> bool:
    """Tell whether a column holds one value, or none."""
    return x.size == 0 or not np.nanmax(x) > np.nanmin(x)


def complete_rows(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Stack the columns of the rows that have no null in any."""
    x = np.column_stack([x for x, _ in pairs.values()])
    y = np.column_stack([y for _, y in pairs.values()])
    whole = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    return x[whole], y[whole]


def shared_codes(
    original: Any, protected: Any, wanted: Sequence[str]
) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Return categorical columns of both tables as numbers: equal for equal values, 0 for null.

    Categorical is what is not numeric in both tables: a column of numbers that became intervals
    is one, by the text of its values.
    """
    before, after = to_arrow(original), to_arrow(protected)
    names = [
        name
        for name in after.column_names
        if name in before.column_names
        and name in wanted
        and not kind_of(before[name].type) == kind_of(after[name].type) == "numeric"
    ]
    found = {}
    for name in names:
        texts = as_text(before[name], name), as_text(after[name], name)
        x, y = (np.nan_to_num(c, nan=-1.0).astype(np.int64) + 1 for c in common_codes(*texts))
        found[name] = x, y, int(max(x.max(initial=0), y.max(initial=0))) + 1
    return found


def as_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text; what cannot be text is refused."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise BadInput(f"column '{name}' holds {column.type}, which is no category") from None


def check_target(target: str, names: list[str]) -> None:
    """Say so where the target of a model is not among the columns of both tables."""
    if target not in names:
        raise BadInput(f"the tables share no column '{target}'; {nearest(target, names)}")
