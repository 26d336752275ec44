"""Moments of numeric columns, put together from those of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Moments of columns: of each by itself, and of all among the rows without a null."""

    n: np.ndarray  # values of each column
    mean: np.ndarray
    squares: np.ndarray  # their sum about the mean
    # Infinity and minus infinity if there is no value.
    low: np.ndarray
    high: np.ndarray
    complete: int  # rows that have a value in every column
    centre: np.ndarray  # means among those
    products: np.ndarray  # their sums about these means, column by column
    # What rounding took from `mean` and `centre`. Near 1e9 that is 1e-7, which matters for parts
    # whose means differ by 1e-3.
    mean_rest: np.ndarray
    centre_rest: np.ndarray

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
    """Compute the moments of some columns; NaN is a null.

    Examples
    --------
    >>> found = moments_of([np.array([1.0, 2.0, np.nan]), np.array([4.0, 6.0, 8.0])])
    >>> found.mean, found.complete
    (array([1.5, 6. ]), 2)
    """
    complete = np.logical_and.reduce([~np.isnan(values) for values in columns])
    together = [_centred(values[complete]) for values in columns]
    rows = np.array([centred for *_, centred in together])
    return replace(
        _alone(columns, lambda left: (left**2).sum()),
        complete=int(complete.sum()),
        centre=np.array([mean for mean, _, _ in together]),
        products=np.array([[(one * other).sum() for other in rows] for one in rows]),
        centre_rest=np.array([rest for _, rest, _ in together]),
    )


def _centred(values: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the mean of some values with its rounding rest, and the deviations; 0 for none."""
    if not len(values):
        return 0.0, 0.0, values
    left = values - values[0]
    off = left.mean()
    mean, rest = _sum(values[0], off)
    return float(mean), float(rest), left - off


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Add, and also return what rounding took away (Knuth)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def spreads_of(columns: Sequence[np.ndarray]) -> Moments:
    """Compute the moments of each column separately, and no joint ones.

    Examples
    --------
    >>> spreads_of([np.array([1.0, 2.0, np.nan])]).squares
    array([0.5])
    """
    return _alone(columns, lambda left: np.einsum("i,i", left, left))


def _alone(columns: Sequence[np.ndarray], squares: Callable[[np.ndarray], Any]) -> Moments:
    """Compute the moments of each column; the two ways to sum squares differ in the last bit."""
    nulls = [np.isnan(values) for values in columns]
    present = [v[~null] if null.any() else v for v, null in zip(columns, nulls, strict=True)]
    found = [_centred(values) for values in present]
    return Moments(
        n=np.array([len(values) for values in present], dtype=np.int64),
        mean=np.array([mean for mean, _, _ in found]),
        squares=np.array([squares(left) for *_, left in found]),
        low=np.array([values.min(initial=np.inf) for values in present]),
        high=np.array([values.max(initial=-np.inf) for values in present]),
        complete=0,
        centre=np.empty(0),
        products=np.empty((0, 0)),
        mean_rest=np.array([rest for _, rest, _ in found]),
        centre_rest=np.empty(0),
    )


def joined(parts: Iterable[Moments]) -> Moments:
    """Combine the moments of parts (Chan, Golub and LeVeque 1983).

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
    share, gap, mean, mean_rest = _means(a.n, a.mean, a.mean_rest, b.n, b.mean, b.mean_rest)
    part, apart, centre, centre_rest = _means(
        a.complete, a.centre, a.centre_rest, b.complete, b.centre, b.centre_rest
    )
    return Moments(
        n=n,
        mean=mean,
        squares=a.squares + b.squares + gap**2 * a.n * share,
        low=np.minimum(a.low, b.low),
        high=np.maximum(a.high, b.high),
        complete=complete,
        centre=centre,
        products=a.products + b.products + np.outer(apart, apart) * a.complete * part,
        mean_rest=mean_rest,
        centre_rest=centre_rest,
    )


def _means(
    n: Any, mean: np.ndarray, rest: np.ndarray, m: Any, other: np.ndarray, other_rest: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Combine two means with their rests; also return the second's share and how far it is off."""
    share = m / np.maximum(n + m, 1)
    gap = np.where(np.logical_and(n > 0, m > 0), (other - mean) + (other_rest - rest), 0.0)
    both, lost = _sum(mean, share * gap)
    return share, gap, np.where(n > 0, both, other), np.where(n > 0, lost + rest, other_rest)
