"""Cells: which differ, which must be blanked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.release.recipe import Step
from discreet.table.classes import classes_of, encode_columns


def equal_cells(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Compare two columns of one type cell by cell; two nulls are equal, and NaN is a null."""
    if pa.types.is_floating(before.type):
        before, after = (pc.if_else(pc.is_nan(c), None, c) for c in (before, after))
    if pa.types.is_nested(before.type):
        return pa.chunked_array(
            [[a == b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True)]]
        )
    both_null = pc.and_(pc.is_null(before), pc.is_null(after))
    return pc.fill_null(pc.or_kleene(both_null, pc.equal(before, after)), False)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column of categories as its labels."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def differing(before: Any, after: Any) -> int:
    """Count the cells that differ; of columns of two types, by their text."""
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


def rare_cells(
    step: Step,
    plan: Mapping[str, Any],
    columns: Mapping[str, pa.ChunkedArray],
    gone: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Find the values of a column that too few records hold once others have gone.

    Rounding promised k records per value, microaggregation per tuple; suppression of records may
    take some of them away.
    """
    promise = step.build().promise
    if not step.promise or promise not in ("k-per-value", "k-per-tuple"):
        return {}
    together = [step.columns] if promise == "k-per-tuple" else [[c] for c in step.columns]
    found = {}
    for names in together:
        lost = np.any([gone[name] for name in names], axis=0)
        if not lost.any():
            continue
        table = pa.table({name: plain(columns[name]) for name in names})
        codes, sizes = encode_columns(table, names)
        classes, n_classes = classes_of(codes, sizes)
        counts = np.bincount(classes[~lost], minlength=n_classes)
        k = least_records(step, plan["columns"][names[0]], names[0])
        rare = ~lost & (counts < k)[classes]
        if promise == "k-per-value":
            rare &= pc.is_valid(table[names[0]]).to_numpy()
        if rare.any():
            found.update(dict.fromkeys(names, rare))
    return found


def least_records(step: Step, plan: Mapping[str, Any] | None, name: str) -> Any:
    """Give the least number of records per value; the name of a rule where no plan says more."""
    given = step.parameters()
    k = next(given[key] for key in ("k", "min_count", "min_attraction") if key in given)
    k = k[name] if isinstance(k, Mapping) else k
    return plan["k"] if isinstance(k, str) and plan is not None else k
