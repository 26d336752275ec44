"""Which records may share a group: those of one stratum with nulls in the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.microaggregation._space import Column


def parts(
    columns: Mapping[str, Column],
    strata: pa.ChunkedArray | None,
    k: int,
    small: str,
    spread: np.ndarray,
) -> list[np.ndarray]:
    """Return the rows of each part, in order of its first row; rows that are in none are blanked.

    Parameters
    ----------
    columns : mapping of str to Column
    strata : pyarrow.ChunkedArray, optional
        Null is a stratum of its own.
    k : int
        A part has at least so many rows.
    small : {"blank", "error"}
        What becomes of smaller ones, and of too few rows without any value.
    spread : ndarray of float64
        How far each row lies out. Where blanking leaves fewer than k rows without any value, the
        outermost rows of the largest part are blanked as well: k must hold for them too.
    """
    part = _patterns(columns)
    empty = np.all([np.isnan(column.values) for column in columns.values()], axis=0)
    if strata is not None:
        codes = strata.combine_chunks().dictionary_encode()
        if isinstance(codes, pa.ChunkedArray):
            codes = codes.combine_chunks()
        stratum = pc.fill_null(codes.indices, len(codes.dictionary)).to_numpy()
        part = part * (len(codes.dictionary) + 1) + stratum
    part = np.where(empty, -1, part)
    _, first, part, sizes = np.unique(
        part, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(part, kind="stable")
    rows = np.split(order, np.cumsum(sizes)[:-1])
    kept = [rows[p] for p in np.argsort(first) if not empty[first[p]] and sizes[p] >= k]
    blanked = int(sum(sizes[p] for p in range(len(rows)) if sizes[p] < k and not empty[first[p]]))
    if blanked and small == "error":
        where = "nulls in the same columns" + (" and one stratum" if strata is not None else "")
        few = min(sizes[p] for p in range(len(rows)) if not empty[first[p]])
        raise BadInput(
            f"{blanked} records share {where} with fewer than k = {k} (the fewest: {few}); "
            "treat fewer columns, or set small_pattern = 'blank'"
        )
    if 0 < empty.sum() < k and small == "error":
        raise BadInput(
            f"{empty.sum()} records hold no value in these columns, fewer than k = {k}; drop them, "
            "or set small_pattern = 'blank'"
        )
    kept = _fill_up(kept, blanked + int(empty.sum()), k, spread)
    more = int((~empty).sum()) - sum(len(r) for r in kept) - blanked
    reasons = []
    if blanked:
        where = " in their stratum" if strata is not None else ""
        reasons.append(f"{blanked} because fewer than k = {k} share their pattern of nulls{where}")
    if more:
        reasons.append(f"{more} so that records without any value are not fewer than k = {k}")
    if reasons:
        warnings.warn(
            f"{blanked + more} records are blanked in these columns: {', '.join(reasons)}",
            stacklevel=4,
        )
    return kept


def _patterns(columns: Mapping[str, Column]) -> np.ndarray:
    """Return each row the number of the set of columns in which it has nulls."""
    pattern = np.zeros(len(next(iter(columns.values())).values), dtype=np.int64)
    for column in columns.values():
        null = np.isnan(column.values)
        if null.any():
            _, pattern = np.unique(2 * pattern + null, return_inverse=True)
    return pattern


def _fill_up(kept: list[np.ndarray], without: int, k: int, spread: np.ndarray) -> list[np.ndarray]:
    """Leave out so many more rows that those without any value are k, or none."""
    while 0 < without < k and kept:
        largest = max(range(len(kept)), key=lambda p: len(kept[p]))
        rows = kept[largest]
        if len(rows) - (k - without) >= k:
            outer = np.argsort(-spread[rows], kind="stable")[: k - without]
            kept[largest] = np.delete(rows, outer)
            return kept
        # No part can spare them: the smallest is blanked whole.
        without += len(kept.pop(min(range(len(kept)), key=lambda p: len(kept[p]))))
    return kept
