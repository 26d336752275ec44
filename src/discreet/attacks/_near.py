"""Released numbers that were moved: by noise, in groups, by swapping; they are near the original's.

A released number y says of a value x: log p(y | x) / p(y), where y given x is normal around x. How
far numbers were moved is known to whoever knows the method: the same everywhere, either by value
or by rank, with a spread that is taken as it is or so that a few large ones do not count. Of the
four, the one that says most of the numbers that were released is taken. Some numbers may be as
they were; these are weighed by how few people have them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# The largest loss by a number that is not near at all: it may have been moved otherwise.
_LEAST = 1e-3
# In ranks, how near is near where rows do not show how far numbers were moved.
_NEAR = 0.02
# What must be said of a number on average before that counts as shown.
_SHOWN = 0.02
# Standard deviations that are as good as infinite, and have a square in single precision.
_FAR = 1e18
# Pairs that are looked at to find how far numbers were moved, and points of their distribution.
_PAIRS, _POINTS = 2000, 256

# Of some values, and of all labels or some.
Table = Callable[..., np.ndarray]
Some = np.ndarray | slice
ALL = slice(None)


@dataclass(frozen=True)
class _Kernel:
    """How likely released numbers are, given values: p(y | x) / p(y)."""

    at: np.ndarray  # where the values are
    of: np.ndarray  # where the released numbers are
    spread: float
    base: np.ndarray  # p(y), of each released number

    @classmethod
    def make(cls, at: np.ndarray, of: np.ndarray, spread: float, people: np.ndarray) -> _Kernel:
        points = np.quantile(
            np.repeat(at, people), (np.arange(_POINTS) + 0.5) / _POINTS, method="inverted_cdf"
        )
        # Wide enough that the points of the distribution make one.
        wide = float(np.hypot(spread, 0.05 * np.std(points)))
        # Smooth between released numbers, so that not each needs to be looked at.
        some = np.unique(of[:: max(1, len(of) // _PAIRS)])
        base = np.interp(of, some, [_normal(y - points, wide).mean() for y in some])
        # No number fits less than one person.
        return cls(at, of, spread, np.maximum(base, 1 / (spread * people.sum())))

    def pairs(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the ratios of values and labels, pair by pair."""
        off = self.of[labels] - self.at[values]
        return _normal(off, self.spread) / self.base[labels]

    def table(self) -> Table:
        """Return a function to the ratios of some values and all labels, as float32."""
        middle = np.median(self.at)
        scaled = (np.clip((x - middle) / self.spread, -_FAR, _FAR) for x in (self.at, self.of))
        at, of = (one.astype(np.float32) for one in scaled)
        height = (1 / (self.spread * self.base)).astype(np.float32)

        def ratios(values: np.ndarray) -> np.ndarray:
            found = at[values][:, None] - of
            with np.errstate(under="ignore"):
                found *= found
                found *= np.float32(-0.5)
                np.exp(found, out=found)
                found *= height
            return found

        return ratios


def near(
    known: np.ndarray, labels: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[Table, Table]:
    """Return which released numbers fit some values, and how they score, as two functions.

    Parameters
    ----------
    known, labels : (values,), (labels,) float64
        The distinct numbers of the original and of the release, in order.
    x, y : (records,) int64
        The number of each record among them; one more is a null.

    Examples
    --------
    >>> known = np.arange(100.0)
    >>> labels = known + np.random.default_rng(1).normal(size=100)
    >>> order = np.argsort(labels)
    >>> fits, scores = near(known, labels[order], np.arange(100), np.argsort(order))
    >>> found = scores(np.array([50]))[0]
    >>> found[50] > 2, found[10] < -5
    (np.True_, np.True_)
    """
    # Huge numbers have no squares, and tiny ones squares of 0.
    largest = max(np.abs(known).max(), np.abs(labels).max()) or 1.0
    known, labels = known / largest, labels / largest
    people = np.bincount(x, minlength=len(known) + 1)[: len(known)]
    shares = people / max(1, people.sum())
    same = _same(known, labels)
    x, y = _some_pairs(x, y, len(known), len(labels))
    own = np.where(same >= 0, shares[same], 0.0)
    kept = _kept(same[y] == x, own[y])
    kernel = _told_by(known, labels, people, x, y, same)
    if kernel is None:
        kernel = _Kernel.make(*_ranks(known, labels, people), _NEAR, people)
        kept = max(kept, 0.5)
    exact = (kept / np.maximum(own, 1 / max(1, people.sum()))).astype(np.float32)
    ratios = kernel.table()

    def scores(values: np.ndarray) -> np.ndarray:
        likely = ratios(values)
        likely *= np.float32(1 - kept)
        likely += np.float32(_LEAST)
        if kept > 0:
            likely += exact * (values[:, None] == same)
        return np.log(likely, out=likely)

    def fits(values: np.ndarray, labels: Some = ALL) -> np.ndarray:
        off = np.abs(kernel.at[values][:, None] - kernel.of[labels])
        return (off <= 2 * kernel.spread) | (values[:, None] == same[labels])

    return fits, scores


def _told_by(
    known: np.ndarray,
    labels: np.ndarray,
    people: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    same: np.ndarray,
) -> _Kernel | None:
    """Return the kernel that says most of numbers that were moved; None if none says anything."""
    moved = same[y] != x
    x, y = x[moved], y[moved]
    best, most = None, _SHOWN
    for at, of in [(known, labels), _ranks(known, labels, people)] if len(x) else []:
        off = np.abs(at[x] - of[y])
        for spread in (float(np.sqrt(np.mean(off**2))), 1.48 * float(np.median(off))):
            if spread > 0:
                kernel = _Kernel.make(at, of, spread, people)
                said = float(np.mean(np.log(kernel.pairs(x, y) + _LEAST)))
                if said > most:
                    best, most = kernel, said
    return best


def _ranks(
    known: np.ndarray, labels: np.ndarray, people: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and released numbers as shares of people who have less."""
    ranks = (np.cumsum(people) - people / 2) / max(1, people.sum())
    return ranks, np.interp(labels, known, ranks)


def _same(known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the place of each released number among the original's; -1 if it is none."""
    place = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    return np.where(known[place] == labels, place, -1)


def _some_pairs(
    x: np.ndarray, y: np.ndarray, values: int, labels: int
) -> tuple[np.ndarray, np.ndarray]:
    both = np.flatnonzero((x < values) & (y < labels))
    both = both[:: max(1, len(both) // _PAIRS)]
    return x[both], y[both]


def _kept(right: np.ndarray, chance: np.ndarray) -> float:
    """Return the share of numbers that are as they were, above what chance makes equal."""
    by_chance = float(np.mean(chance)) if len(chance) else 1.0
    if by_chance >= 1:
        return 0.0
    return min(1.0, max(0.0, float((right.mean() - by_chance) / (1 - by_chance))))


def _normal(off: np.ndarray, spread: float) -> np.ndarray:
    with np.errstate(under="ignore"):
        return np.exp(-0.5 * (off / spread) ** 2) / spread
