"""Information loss of numeric columns, cell by cell: IL1s and the share of squares lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.risk.values import sd
from discreet.utility.compared import compared, is_constant, leave_out


@dataclass(frozen=True)
class Loss:
    """A loss and what each column adds to it."""

    value: float
    columns: dict[str, float]


@overload
def il1s(original: Any, protected: Any, *, normalize: bool = ...) -> float: ...
@overload
def il1s(
    original: Any, protected: Any, *, normalize: bool = ..., detail: Literal[True]
) -> Loss: ...
def il1s(
    original: Any, protected: Any, *, normalize: bool = False, detail: bool = False
) -> float | Loss:
    """IL1s: absolute change in units of sqrt(2) standard deviations (Mateo-Sanz et al. 2004).

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    normalize : bool
        False: the sum over all cells. True: the mean over the cells compared.
    detail : bool
        Give the columns' parts too.

    Returns
    -------
    float or Loss
        Cells that are null on either side are left out, and so are constant columns, each with a
        warning.

    Examples
    --------
    >>> round(il1s([[1.0], [3.0]], [[2.0], [3.0]]), 12)
    0.5
    """
    parts, cells = {}, {}
    for name, (x, y) in compared(original, protected, "il1s").items():
        if is_constant(x):
            leave_out("il1s", name, "which is constant")
            continue
        parts[name] = float(np.nansum(np.abs(x - y)) / (np.sqrt(2) * sd(x)))
        cells[name] = int((~np.isnan(x)).sum())
    if normalize:
        columns = {name: part / cells[name] for name, part in parts.items()}
        value = sum(parts.values()) / max(1, sum(cells.values()))
    else:
        columns, value = parts, float(sum(parts.values()))
    return Loss(value, columns) if detail else value


@overload
def sse_ratio(original: Any, protected: Any, *, standardize: bool = ...) -> float: ...
@overload
def sse_ratio(
    original: Any, protected: Any, *, standardize: bool = ..., detail: Literal[True]
) -> Loss: ...
def sse_ratio(
    original: Any, protected: Any, *, standardize: bool = False, detail: bool = False
) -> float | Loss:
    """Squares lost, in percent of all: 100 SSE / SST, the usual figure of microaggregation.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    standardize : bool
        Scale each column by the original's standard deviation first, so that all weigh alike.
    detail : bool
        Give each column's own ratio too.

    Returns
    -------
    float or Loss
        Cells that are null on either side are left out, and so are constant columns, each with a
        warning.

    Examples
    --------
    >>> sse_ratio([[1.0], [3.0], [5.0]], [[2.0], [2.0], [5.0]])
    25.0
    """
    lost = total = 0.0
    columns = {}
    for name, (x, y) in compared(original, protected, "sse_ratio").items():
        if is_constant(x):
            leave_out("sse_ratio", name, "which is constant")
            continue
        scale = sd(x) if standardize else 1.0
        sse = float(np.nansum(((x - y) / scale) ** 2))
        sst = float((~np.isnan(x)).sum() - 1) * (sd(x) / scale) ** 2
        columns[name] = 100 * sse / sst
        lost, total = lost + sse, total + sst
    value = 100 * lost / total if total else 0.0
    return Loss(value, columns) if detail else value
