"""Null rates: what a release left empty, from masks and never from the text of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.classes import check_columns
from discreet.table.native import to_arrow


@dataclass(frozen=True)
class NullRates:
    """Nulls of a release.

    Attributes
    ----------
    value : float
        NVIr: null cells / (columns * records); a suppressed record counts all its cells.
    records : float
        NVRr: records with any null / records.
    suppressed : int
        SRC: suppressed records.
    before : float
        Null cells / (columns * records) of the original.
    contaminated : bool
        More null cells out than in.
    columns : dict of str to float
        Share of null cells in each column.
    """

    value: float
    records: float
    suppressed: int
    before: float
    contaminated: bool
    columns: dict[str, float]


@overload
def null_rates(
    original: Any, protected: Any, columns: Sequence[str], *, suppressed: Any = ...
) -> float: ...
@overload
def null_rates(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    suppressed: Any = ...,
    detail: Literal[True],
) -> NullRates: ...
def null_rates(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    suppressed: Any = None,
    detail: bool = False,
) -> float | NullRates:
    """Share of null cells in some columns of the protected table (NVIr).

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        The same rows in the same order.
    columns : sequence of str
        Usually the quasi columns.
    suppressed : array of bool, optional
        The suppressed records, such as `Generalize.suppressed_mask_`.
    detail : bool
        Give the other rates too.

    Returns
    -------
    float or NullRates
        A `*` that generalization gave is a value and does not count. 0 for a table without rows.

    Examples
    --------
    >>> original = pa.table({"age": [31, None], "zip": ["a", "b"]})
    >>> protected = pa.table({"age": [31, None], "zip": ["*", "*"]})
    >>> null_rates(original, protected, ["age", "zip"], suppressed=[False, True])
    0.5
    """
    before, after = to_arrow(original), to_arrow(protected)
    n = after.num_rows
    if before.num_rows != n:
        raise BadInput(f"the original has {before.num_rows:,} rows, the protected table {n:,}")
    gone = np.zeros(n, bool) if suppressed is None else np.asarray(suppressed, dtype=bool)
    if gone.shape != (n,):
        raise BadInput(f"suppressed has shape {gone.shape}, the table {n:,} rows")
    was, now = null_cells(before, columns), null_cells(after, columns) | gone
    cells = max(1, now.size)
    value = float(now.sum() / cells)
    if not detail:
        return value
    return NullRates(
        value=value,
        records=float(now.any(axis=0).sum() / max(1, n)),
        suppressed=int(gone.sum()),
        before=float(was.sum() / cells),
        contaminated=bool(now.sum() > was.sum()),
        columns={c: float(row.sum() / max(1, n)) for c, row in zip(columns, now, strict=True)},
    )


def null_cells(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Mask the null cells, NaN among them, one row per column."""
    check_columns(table, columns)
    masks = [pc.is_null(table[name], nan_is_null=True).to_numpy() for name in columns]
    return np.array(masks, dtype=bool).reshape(len(columns), table.num_rows)
