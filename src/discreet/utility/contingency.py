"""Information loss of categorical columns: how far their two-way tables move."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import Figure, Measure
from discreet.table.classes import renumber
from discreet.table.native import to_arrow
from discreet.utility.compared import check_rows, shared_codes
from discreet.utility.loss import Loss

# A table, and the records that each of its rows stands for; None: one.
Counted = tuple[pa.Table, np.ndarray | None]


@overload
def contingency_loss(original: Any, protected: Any) -> float: ...
@overload
def contingency_loss(original: Any, protected: Any, *, detail: Literal[True]) -> Loss: ...
def contingency_loss(original: Any, protected: Any, *, detail: bool = False) -> float | Loss:
    """Share of records that would have to move for all two-way tables to be as they were.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        As many rows in both. All columns that are not numeric in both tables are crossed, by the
        text of their values.
    detail : bool
        Give each column's mean over the tables it is in.

    Returns
    -------
    float or Loss
        Sum of |count differences| / (2 n tables), in 0..1. A null is a value like any other.
        Refused with fewer than two such columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"sex": ["f", "m"], "job": ["nurse", "judge"]})
    >>> contingency_loss(original, pa.table({"sex": ["f", "m"], "job": ["judge", "judge"]}))
    0.5
    """
    before, after = to_arrow(original), to_arrow(protected)
    check_rows(before, after)
    loss = contingency_loss_of((before, None), (after, None))
    return loss if detail else loss.value


def contingency_loss_of(before: Counted, after: Counted) -> Loss:
    """Take the loss from tables of distinct tuples, and how many records each stands for.

    Examples
    --------
    >>> before = pa.table({"sex": ["f", "m"], "job": ["nurse", "judge"]}), np.array([2, 1])
    >>> after = pa.table({"sex": ["f"], "job": ["nurse"]}), np.array([3])
    >>> contingency_loss_of(before, after).value
    0.333...
    """
    codes = shared_codes(before[0], after[0])
    if len(codes) < 2:
        raise BadInput("contingency_loss needs two columns that are not numeric, in both tables")
    moved: dict[str, list[float]] = {name: [] for name in codes}
    for one, other in combinations(codes, 2):
        share = _moved(codes[one], codes[other], before[1], after[1])
        moved[one].append(share)
        moved[other].append(share)
    columns = {name: float(np.mean(shares)) for name, shares in moved.items()}
    # Each table is in the lists of two columns, all of the same length.
    return Loss(float(np.mean(list(columns.values()))), columns)


def _moved(
    one: tuple[np.ndarray, np.ndarray, int],
    other: tuple[np.ndarray, np.ndarray, int],
    *records: np.ndarray | None,
) -> float:
    n, bound = len(one[0]), one[2] * other[2]
    before, after = one[0] * other[2] + other[0], one[1] * other[2] + other[1]
    if bound > 4 * n:
        # Only the cells that occur, so that memory follows the records.
        keys, bound = renumber(np.concatenate([before, after]), bound)
        before, after = keys[:n], keys[n:]
    was, now = (
        np.bincount(side, count, minlength=bound)
        for side, count in zip((before, after), records, strict=True)
    )
    return float(np.abs(was - now).sum() / (2 * max(1, was.sum())))


CONTINGENCY_LOSS = Measure(
    "contingency_loss",
    "share of records to move for two-way tables of categories to be as they were",
    lambda t: asdict(t.contingency_loss([c for c in t.shared if c not in t.numeric])),
    [Figure("two-way tables moved", "", "%", untouched=0.0, headline=True)],
    needs=["changed categories"],
)
