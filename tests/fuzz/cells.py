"""Tables of any library as plain cells: None, bool, float, text and timestamps, nothing else."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# What dates and times may be multiples of, in microseconds.
_UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)


def frame(table: Any) -> pd.DataFrame:
    """Return a table with plain cells."""
    if isinstance(table, pd.DataFrame):
        columns = {name: table[name].tolist() for name in table.columns}
    else:
        arrow = (
            table
            if hasattr(table, "to_pydict")
            else (table.to_arrow() if hasattr(table, "to_arrow") else table.arrow().read_all())
        )
        columns = arrow.to_pydict()
    return pd.DataFrame(
        {
            name: pd.Series([plain(x) for x in cells], dtype=object)
            for name, cells in columns.items()
        }
    )


def plain(cell: Any) -> Any:
    """Return a cell as one of the five things that there are."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return None if cell != cell else float(cell)
    if isinstance(cell, datetime | date | np.datetime64):
        stamp = pd.Timestamp(cell)
        return stamp if stamp.tz is None else stamp.tz_convert("UTC").tz_localize(None)
    return str(cell)


def without_markers(table: pd.DataFrame, markers: list[str]) -> pd.DataFrame:
    """Return a table in which cells that stand for a missing value are null."""
    return pd.DataFrame(
        {
            name: pd.Series(
                [None if cell in markers else cell for cell in table[name]], dtype=object
            )
            for name in table.columns
        }
    )


def nulls(cells: pd.Series) -> np.ndarray:
    """Mask the nulls."""
    return np.array([cell is None for cell in cells], dtype=bool)


def numbers(cells: pd.Series) -> np.ndarray:
    """Return numbers as they are and times as microseconds since 1970; NaN for null."""
    return np.array([_number(cell) for cell in cells], dtype=float)


def _number(cell: Any) -> float:
    if cell is None:
        return np.nan
    return cell.value // 1000 if isinstance(cell, pd.Timestamp) else float(cell)


def tolerance(cells: pd.Series, precision: str, kind: str = "") -> float:
    """Return how far rounding to the input's decimals, or units of time, may move a result.

    Decimals are never released with more digits than they had, and numbers of single precision
    have seven.
    """
    narrow = kind == "single"
    values = numbers(cells)
    values = values[~np.isnan(values)]
    if not len(values):
        return 0.0
    if any(isinstance(cell, pd.Timestamp) for cell in cells):
        return next(unit for unit in _UNITS if not (values % unit).any()) / 2 + 1
    size = float(np.abs(values).max())
    least = size * (3e-7 if narrow else 2e-14) + 1e-300
    if precision == "full" and kind != "decimal":
        return least
    for decimals in range(13):
        if (np.abs(np.round(values, decimals) - values) <= (1e-7 * size if narrow else 0)).all():
            return 0.5000001 * 10.0**-decimals + least
    return least
