"""Which records may share a group: those of one stratum with nulls in the same columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.microaggregation._space import Column, count_units


def parts(
    columns: Mapping[str, Column],
    strata: pa.ChunkedArray | None,
    k: int,
    small: str,
    spread: np.ndarray,
    units: np.ndarray | None = None,
    called: str = "k",
) -> list[np.ndarray]:
    """Return the rows of each part, in order of its first row; rows that are in none are blanked.

    Parameters
    ----------
    columns : mapping of str to Column
    strata : pyarrow.ChunkedArray, optional
        Null is a stratum of its own.
    k : int
        A part has at least so many rows, or units where these are given.
    small : {"blank", "error"}
        What becomes of smaller ones, and of too few rows without any value.
    spread : ndarray of float64
        How far each row lies out. Where blanking leaves fewer than k rows without any value, the
        outermost rows of the largest part are blanked as well: k must hold for them too.
    units : ndarray of int, optional
        The unit of each row.
    called : str
        What a user calls k.
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
    some = [rows[p] for p in np.argsort(first) if not empty[first[p]]]
    many = [count_units(units, r) for r in some]
    kept = [r for r, m in zip(some, many, strict=True) if m >= k]
    blanked = sum(len(r) for r, m in zip(some, many, strict=True) if m < k)
    counted = "" if units is None else " units"
    if blanked and small == "error":
        where = "nulls in the same columns" + (" and one stratum" if strata is not None else "")
        raise BadInput(
            f"{blanked} records share {where} with fewer than {called} = {k}{counted} (the fewest: "
            f"{min(many)}); treat fewer columns, or set small_pattern = 'blank'"
        )
    without = count_units(units, np.flatnonzero(empty))
    if 0 < without < k and small == "error":
        raise BadInput(
            f"{without}{counted or ' records'} hold no value in these columns, fewer than "
            f"{called} = {k}; drop them, or set small_pattern = 'blank'"
        )
    kept = _fill_up(kept, k, spread, units)
    more = int((~empty).sum()) - sum(len(r) for r in kept) - blanked
    reasons = []
    if blanked:
        where = " in their stratum" if strata is not None else ""
        reasons.append(
            f"{blanked} because fewer than {called} = {k}{counted} share their pattern of "
            f"nulls{where}"
        )
    if more:
        reasons.append(
            f"{more} so that records without any value are not fewer than {called} = {k}{counted}"
        )
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


def _fill_up(
    kept: list[np.ndarray], k: int, spread: np.ndarray, units: np.ndarray | None
) -> list[np.ndarray]:
    """Leave out so many more rows that those without any value are k, or none."""
    unit = np.arange(len(spread)) if units is None else units
    out = np.ones(len(spread), dtype=bool)
    for rows in kept:
        out[rows] = False
    while kept and 0 < (without := count_units(units, np.flatnonzero(out))) < k:
        sizes = [count_units(units, rows) for rows in kept]
        rows = kept[np.argmax(sizes)]
        # The outermost row of each unit that is not out yet.
        far = rows[np.argsort(-spread[rows], kind="stable")]
        far = far[~np.isin(unit[far], unit[out])]
        far = far[np.sort(np.unique(unit[far], return_index=True)[1])][: k - without]
        rest = np.setdiff1d(rows, far)
        if len(far) == k - without and count_units(units, rest) >= k:
            kept[np.argmax(sizes)] = rest
            return kept
        # No part can spare them: the smallest is blanked whole.
        out[kept.pop(int(np.argmin(sizes)))] = True
    return kept
