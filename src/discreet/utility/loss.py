"""Information loss of numeric columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.table.pairs import numeric_pairs


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
    for name, (x, y) in numeric_pairs(original, protected).items():
        both = ~(np.isnan(x) | np.isnan(y))
        sd = np.std(x[both], ddof=1) if both.sum() > 1 else 0.0
        if sd == 0:
            warnings.warn(f"il1s leaves out column '{name}', which is constant", stacklevel=2)
            continue
        parts[name] = float(np.abs(x[both] - y[both]).sum() / (np.sqrt(2) * sd))
        cells[name] = int(both.sum())
    if normalize:
        columns = {name: part / cells[name] for name, part in parts.items()}
        value = sum(parts.values()) / max(1, sum(cells.values()))
    else:
        columns, value = parts, sum(parts.values())
    return Loss(value, columns) if detail else value
