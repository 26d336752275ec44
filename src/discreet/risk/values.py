"""Columns of numbers as measures take them: finite, and scaled by their standard deviation."""

from __future__ import annotations

import numpy as np

from discreet.errors import BadInput


def refuse_infinite(name: str, *columns: np.ndarray) -> None:
    """Say so where a column holds infinity, of which no mean and no distance can be taken.

    Examples
    --------
    >>> refuse_infinite("age", np.array([20.0, np.nan]))
    """
    if any(np.isinf(values).any() for values in columns):
        raise BadInput(f"column '{name}' holds infinity; make it null or code it first")


def sd(values: np.ndarray) -> float:
    """Sample standard deviation of the values that are not null; 0 of fewer than two.

    Examples
    --------
    >>> sd(np.array([1.0, np.nan, 3.0])) ** 2
    2.000...
    """
    present = values[~np.isnan(values)]
    if len(present) < 2:
        return 0.0
    scaled, exponent = _scaled(present, present)
    return float(np.ldexp(np.std(scaled, ddof=1), exponent))


def standardize(values: np.ndarray) -> np.ndarray:
    """Centre by the mean and divide by the standard deviation of the values that are not null."""
    null = np.isnan(values)
    scaled, _ = _scaled(values, values[~null] if null.any() else values)
    present = scaled[~null] if null.any() else scaled
    return (scaled - present.mean()) / present.std(ddof=1)


def _scaled(values: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, int]:
    """Move and scale values to 0..1; the second is the power of two that they were divided by.

    From the least value on, so that little is lost far from zero; by a power of two, which loses
    nothing, so that squares of huge values do not overflow.
    """
    low = present.min()
    exponent = int(np.frexp(present.max() - low)[1])
    return np.ldexp(values - low, -exponent), exponent
