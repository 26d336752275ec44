"""Information loss of numeric columns, cell by cell: IL1s and the share of squares lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.measure import Figure, Measure
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
    changes, spreads, cells = {}, {}, {}
    for name, (x, y) in compared(original, protected, "il1s").items():
        changes[name] = float(np.nansum(np.abs(x - y)))
        spreads[name] = 0.0 if is_constant(x) else sd(x)
        cells[name] = int((~np.isnan(x)).sum())
    loss = il1s_of(changes, spreads, cells, normalize)
    return loss if detail else loss.value


def il1s_of(
    changes: Mapping[str, float],
    spreads: Mapping[str, float],
    cells: Mapping[str, int],
    normalize: bool,
) -> Loss:
    """IL1s from each column's sum of |x - y|, its standard deviation and its number of cells.

    Examples
    --------
    >>> il1s_of({"pay": 10.0}, {"pay": 2.0}, {"pay": 4}, normalize=True).value
    0.883...
    """
    parts = {}
    for name, change in changes.items():
        if spreads[name] > 0:
            parts[name] = float(change / (np.sqrt(2) * spreads[name]))
        else:
            leave_out("il1s", name, "which is constant")
    cells = {name: cells[name] for name in parts}
    if normalize:
        columns = {name: part / cells[name] for name, part in parts.items()}
        value = sum(parts.values()) / max(1, sum(cells.values()))
    else:
        columns, value = parts, float(sum(parts.values()))
    return Loss(value, columns)


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
    lost, total = {}, {}
    for name, (x, y) in compared(original, protected, "sse_ratio").items():
        spread = 0.0 if is_constant(x) else sd(x)
        scale = spread if standardize and spread > 0 else 1.0
        lost[name] = float(np.nansum(((x - y) / scale) ** 2))
        total[name] = float((~np.isnan(x)).sum() - 1) * (spread / scale) ** 2
    loss = sse_ratio_of(lost, total)
    return loss if detail else loss.value


def sse_ratio_of(lost: Mapping[str, float], total: Mapping[str, float]) -> Loss:
    """Squares lost in percent, from each column's squares lost and its squares about its mean.

    Examples
    --------
    >>> sse_ratio_of({"pay": 2.0, "age": 1.0}, {"pay": 10.0, "age": 20.0}).value
    10.0
    """
    columns = {}
    for name, squares in lost.items():
        if total[name] > 0:
            columns[name] = 100 * squares / total[name]
        else:
            leave_out("sse_ratio", name, "which is constant")
    everything = sum(total[name] for name in columns)
    value = 100 * sum(lost[name] for name in columns) / everything if columns else 0.0
    return Loss(value, columns)


IL1S = Measure(
    "il1s",
    "mean absolute change in units of 1.41 standard deviations; 0 is no loss",
    lambda t: asdict(t.il1s()),
    [
        Figure("information loss IL1s", "", "× 1.41 sd", untouched=0.0, headline=True),
        Figure("IL1s", "", "× 1.41 sd", untouched=0.0, each=True),
    ],
    needs=["changed numbers"],
)
SSE_RATIO = Measure(
    "sse_ratio",
    "squares lost in percent of all, columns weighing alike",
    lambda t: asdict(t.sse_ratio()),
    [Figure("squares lost", "", "percent", untouched=0.0, headline=True)],
    needs=["changed numbers"],
)
