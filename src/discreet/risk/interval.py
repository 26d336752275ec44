"""Interval disclosure: how often a released value lies close to the original."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from discreet.table.pairs import numeric_pairs


@dataclass(frozen=True)
class Disclosure:
    """A share of cells, and each column's."""

    value: float
    columns: dict[str, float]


@overload
def interval_disclosure(original: Any, protected: Any, *, width: float = ...) -> float: ...
@overload
def interval_disclosure(
    original: Any, protected: Any, *, width: float = ..., detail: Literal[True]
) -> Disclosure: ...
def interval_disclosure(
    original: Any, protected: Any, *, width: float = 0.05, detail: bool = False
) -> float | Disclosure:
    """Share of cells whose original lies within a small interval around the released value.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    width : float
        Half the interval, in standard deviations of the released column.
    detail : bool
        Give the columns' shares too.

    Returns
    -------
    float or Disclosure
        Shares in 0..1. Cells that are null on either side are left out; a column without any
        other is left out with a warning.

    Examples
    --------
    >>> interval_disclosure([[1.0], [2.0], [9.0]], [[1.0], [2.5], [9.0]])
    0.6666666666666666
    """
    close, cells = {}, {}
    for name, (x, y) in numeric_pairs(original, protected).items():
        both = ~(np.isnan(x) | np.isnan(y))
        if not both.any():
            warnings.warn(
                f"interval_disclosure leaves out column '{name}': no values", stacklevel=2
            )
            continue
        sd = np.std(y[both], ddof=1) if both.sum() > 1 else 0.0
        close[name] = int((np.abs(x[both] - y[both]) <= width * sd).sum())
        cells[name] = int(both.sum())
    value = sum(close.values()) / max(1, sum(cells.values()))
    columns = {name: close[name] / cells[name] for name in close}
    return Disclosure(value, columns) if detail else value
