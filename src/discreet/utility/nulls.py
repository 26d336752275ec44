"""Null rates: what a release left empty, from masks and never from the text of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure
from discreet.table.classes import check_columns
from discreet.table.native import to_arrow


@dataclass(frozen=True)
class NullRates:
    """Nulls of a release, of which a suppressed record counts all its cells.

    `value`, NVIr, is null cells / (columns * records), `before` that of the original. `records`,
    NVRr, is the share of records with any null, `suppressed`, SRC, the number of those suppressed.
    `blanked` is the share of cells that had a value and have none in a record that was not
    suppressed, as local suppression leaves them, and `blanked_records` that of records with any.
    A release is contaminated where it has more null cells than the original.
    """

    value: float
    records: float
    suppressed: int
    before: float
    contaminated: bool
    columns: dict[str, float]
    blanked: float
    blanked_records: float


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
    blanked = now & ~was & ~gone
    found = null_rates_of(
        n,
        int(was.sum()),
        {c: int(row.sum()) for c, row in zip(columns, now, strict=True)},
        int(now.any(axis=0).sum()),
        int(gone.sum()),
        (int(blanked.sum()), int(blanked.any(axis=0).sum())),
    )
    return found if detail else found.value


def null_rates_of(
    n: int,
    was: int,
    now: Mapping[str, int],
    records: int,
    suppressed: int,
    blanked: tuple[int, int] = (0, 0),
) -> NullRates:
    """Null rates of n records, from the null cells of the original and of each released column.

    Those of suppressed records are among the second. `records` have any null; `blanked` are the
    cells that were emptied in records that were not suppressed, and the records with any.

    Examples
    --------
    >>> null_rates_of(10, 1, {"age": 2, "zip": 3}, records=4, suppressed=2).value
    0.25
    """
    cells, empty = max(1, n * len(now)), sum(now.values())
    return NullRates(
        value=empty / cells,
        records=records / max(1, n),
        suppressed=suppressed,
        before=was / cells,
        contaminated=empty > was,
        columns={name: count / max(1, n) for name, count in now.items()},
        blanked=blanked[0] / cells,
        blanked_records=blanked[1] / max(1, n),
    )


def null_cells(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Mask the null cells, NaN among them, one row per column."""
    check_columns(table, columns)
    masks = [pc.is_null(table[name], nan_is_null=True).to_numpy() for name in columns]
    return np.array(masks, dtype=bool).reshape(len(columns), table.num_rows)


def _take(t: Facts) -> Entry:
    found = asdict(t.null_rates())
    if not found["blanked"]:
        del found["blanked"], found["blanked_records"]
    return {"before": found.pop("before"), "after": found.pop("value"), **found}


NULL_RATES = Measure(
    "null_rates",
    "share of null cells in the quasi columns",
    _take,
    [
        Figure("nulls in quasi columns", "", "%", headline=True),
        Figure("blanked cells in quasi columns", "blanked", "%", untouched=0.0,
               reading="share of the quasi columns' cells that had a value and were emptied in a "
               "record that was not suppressed"),
        Figure("records with blanked cells", "blanked_records", "%", untouched=0.0,
               reading="share of records in which a quasi column was emptied"),
    ],
    needs=["quasi columns"],
)  # fmt: skip


def _take_columns(t: Facts) -> Entry:
    found = {}
    for name in t.numeric:
        before, after = t.moments(name)
        found[name] = {key: [before[key], after[key]] for key in before}
    return {"columns": found}


COLUMNS = Measure(
    "columns",
    "moments and nulls of each numeric column",
    _take_columns,
    [
        Figure("mean", "mean", "", None, each=True, reading="mean of the values"),
        Figure("sd", "sd", "", None, each=True, reading="standard deviation of the values"),
        Figure("nulls", "nulls", "cells", None, each=True, reading="cells without a value"),
    ],
)
