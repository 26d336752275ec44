"""Moments of numeric columns, put together from those of parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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
    mean_tail, centre_tail : ndarray of float64
        What the means are beyond their last digit: far from zero that is much of the spread.
    """

    n: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    complete: int
    centre: np.ndarray
    products: np.ndarray
    mean_tail: np.ndarray | float = 0.0
    centre_tail: np.ndarray | float = 0.0

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
    rows = np.array([centred for *_, centred in together])
    products = np.array([[(one * other).sum() for other in rows] for one in rows])
    present = [values[mask] for values, mask in zip(columns, there, strict=True)]
    return Moments(
        n=np.array([len(values) for values in present]),
        mean=np.array([mean for mean, _, _ in alone]),
        mean_tail=np.array([tail for _, tail, _ in alone]),
        squares=np.array([(centred**2).sum() for *_, centred in alone]),
        low=np.array([values.min(initial=np.inf) for values in present]),
        high=np.array([values.max(initial=-np.inf) for values in present]),
        complete=int(complete.sum()),
        centre=np.array([mean for mean, _, _ in together]),
        centre_tail=np.array([tail for _, tail, _ in together]),
        products=products,
    )


def spreads_of(columns: Sequence[np.ndarray]) -> Moments:
    """Take the moments of each column by itself, and none of them together.

    Examples
    --------
    >>> spreads_of([np.array([1.0, 2.0, np.nan])]).squares
    array([0.5])
    """
    nulls = [np.isnan(values) for values in columns]
    present = [v[~null] if null.any() else v for v, null in zip(columns, nulls, strict=True)]
    found = [_centred(values) for values in present]
    return Moments(
        n=np.array([len(values) for values in present], dtype=np.int64),
        mean=np.array([mean for mean, _, _ in found]),
        mean_tail=np.array([tail for _, tail, _ in found]),
        squares=np.array([np.einsum("i,i", left, left) for *_, left in found]),
        low=np.array([values.min(initial=np.inf) for values in present]),
        high=np.array([values.max(initial=-np.inf) for values in present]),
        complete=0,
        centre=np.empty(0),
        products=np.empty((0, 0)),
    )


def _centred(values: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Give the mean of some values, its tail, and what is left of each; 0 where there is none."""
    if not len(values):
        return 0.0, 0.0, values
    left = values - values[0]
    mean = left.mean()
    return *_sum(values[0], mean), left - mean


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Add two numbers; the second result is what the first has lost by rounding (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


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
    tails = b.mean_tail - a.mean_tail
    gap = np.where((a.n > 0) & (b.n > 0), (b.mean - a.mean) + tails, 0.0)
    mean, mean_tail = (
        np.where(a.n > 0, ours, theirs)
        for ours, theirs in zip(
            _sum(a.mean, a.mean_tail + share * gap), (b.mean, b.mean_tail), strict=True
        )
    )
    part = b.complete / max(complete, 1)
    apart = np.zeros(len(a.centre))
    centre, centre_tail = (a.centre, a.centre_tail) if a.complete else (b.centre, b.centre_tail)
    if a.complete and b.complete:
        apart = (b.centre - a.centre) + (b.centre_tail - a.centre_tail)
        centre, centre_tail = _sum(a.centre, a.centre_tail + part * apart)
    return Moments(
        n=n,
        mean=mean,
        mean_tail=mean_tail,
        squares=a.squares + b.squares + gap**2 * a.n * share,
        low=np.minimum(a.low, b.low),
        high=np.maximum(a.high, b.high),
        complete=complete,
        centre=centre,
        centre_tail=centre_tail,
        products=a.products + b.products + np.outer(apart, apart) * a.complete * part,
    )
