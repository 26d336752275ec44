"""Moments of numeric columns, put together from those of parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments of columns: of each by itself, and of all among the rows without a null.

    Attributes
    ----------
    n : ndarray of int64
        Values of each column.
    mean, squares : ndarray of float64
        Their mean, and the sum of squares about it.
    low, high : ndarray of float64
        Smallest and largest value; infinity and its negative where there is none.
    complete : int
        Rows that have a value in every column.
    centre : ndarray of float64
        Means among those.
    products : ndarray of float64
        Sums of products about these means, column by column.
    """

    n: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    complete: int
    centre: np.ndarray
    products: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Sample standard deviation of each column, 0 where it is constant or has one value."""
        spread = np.sqrt(self.squares / np.maximum(self.n - 1, 1))
        return np.where(self.low < self.high, spread, 0.0)

    @property
    def correlations(self) -> np.ndarray:
        """Correlations among complete rows; 0 with a column that is constant there."""
        root = np.sqrt(np.diagonal(self.products))
        scale = np.outer(root, root)
        found = np.divide(self.products, scale, out=np.zeros_like(scale), where=scale > 0)
        np.fill_diagonal(found, 1.0)
        return found


def moments_of(columns: Sequence[np.ndarray]) -> Moments:
    """Take the moments of some columns; NaN is a null.

    Examples
    --------
    >>> found = moments_of([np.array([1.0, 2.0, np.nan]), np.array([4.0, 6.0, 8.0])])
    >>> found.mean, found.complete
    (array([1.5, 6. ]), 2)
    """
    there = [~np.isnan(values) for values in columns]
    alone = [_centred(values[mask]) for values, mask in zip(columns, there, strict=True)]
    complete = np.logical_and.reduce(there)
    together = [_centred(values[complete]) for values in columns]
    rows = np.array([centred for _, centred in together])
    products = np.array([[(one * other).sum() for other in rows] for one in rows])
    present = [values[mask] for values, mask in zip(columns, there, strict=True)]
    return Moments(
        n=np.array([len(values) for values in present]),
        mean=np.array([mean for mean, _ in alone]),
        squares=np.array([(centred**2).sum() for _, centred in alone]),
        low=np.array([values.min(initial=np.inf) for values in present]),
        high=np.array([values.max(initial=-np.inf) for values in present]),
        complete=int(complete.sum()),
        centre=np.array([mean for mean, _ in together]),
        products=products,
    )


def _centred(values: np.ndarray) -> tuple[float, np.ndarray]:
    """Give the mean of some values and what is left of each; 0 where there is none."""
    if not len(values):
        return 0.0, values
    left = values - values[0]
    mean = left.mean()
    return float(values[0] + mean), left - mean


def joined(parts: Iterable[Moments]) -> Moments:
    """Put the moments of parts together (Chan, Golub and LeVeque 1983).

    Examples
    --------
    >>> halves = moments_of([np.array([1.0, 2.0])]), moments_of([np.array([6.0])])
    >>> joined(halves).mean, joined(halves).squares
    (array([3.]), array([14.]))
    """
    first, *others = parts
    for part in others:
        first = _two(first, part)
    return first


def _two(a: Moments, b: Moments) -> Moments:
    n, complete = a.n + b.n, a.complete + b.complete
    share = b.n / np.maximum(n, 1)
    gap = np.where((a.n > 0) & (b.n > 0), b.mean - a.mean, 0.0)
    mean = np.where(a.n > 0, a.mean, b.mean) + np.where(a.n > 0, share * gap, 0.0)
    part = b.complete / max(complete, 1)
    apart = b.centre - a.centre if a.complete and b.complete else np.zeros(len(a.centre))
    return Moments(
        n=n,
        mean=mean,
        squares=a.squares + b.squares + gap**2 * a.n * share,
        low=np.minimum(a.low, b.low),
        high=np.maximum(a.high, b.high),
        complete=complete,
        centre=(a.centre + part * apart) if a.complete else b.centre,
        products=a.products + b.products + np.outer(apart, apart) * a.complete * part,
    )
