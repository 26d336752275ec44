"""Information loss of categorical columns: how far their two-way tables move."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal, overload

import numpy as np

from discreet.errors import BadInput
from discreet.table.classes import renumber
from discreet.utility.compared import shared_codes
from discreet.utility.loss import Loss


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
    codes = shared_codes(original, protected)
    if len(codes) < 2:
        raise BadInput("contingency_loss needs two columns that are not numeric, in both tables")
    moved: dict[str, list[float]] = {name: [] for name in codes}
    for one, other in combinations(codes, 2):
        share = _moved(codes[one], codes[other])
        moved[one].append(share)
        moved[other].append(share)
    columns = {name: float(np.mean(shares)) for name, shares in moved.items()}
    # Each table is in the lists of two columns, all of the same length.
    value = float(np.mean(list(columns.values())))
    return Loss(value, columns) if detail else value


def _moved(
    one: tuple[np.ndarray, np.ndarray, int], other: tuple[np.ndarray, np.ndarray, int]
) -> float:
    n, bound = len(one[0]), one[2] * other[2]
    before, after = one[0] * other[2] + other[0], one[1] * other[2] + other[1]
    if bound > 4 * n:
        # Only the cells that occur, so that memory follows the records.
        keys, bound = renumber(np.concatenate([before, after]), bound)
        before, after = keys[:n], keys[n:]
    change = np.bincount(before, minlength=bound) - np.bincount(after, minlength=bound)
    return float(np.abs(change).sum() / (2 * max(1, n)))
