"""How much a number and its released value differ, learned from pairs of them.

Places of numbers are on some scale: ranks, of which equal values have several, or the values. The
differences of matching pairs are put into bins. A bin's density tells how likely such a difference
is, and bins of a wide scale end somewhere among the original's values for each released one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Bins of differences, at most, and pairs to each.
_BINS = 40
_PER_BIN = 12
# Released values of which all originals are looked at, to learn how much their own stands out.
_LOOKED_AT = 200


class Cells(NamedTuple):
    """Released cells: of which run of the recipe, 0 for the release itself, and in which row."""

    run: np.ndarray
    row: np.ndarray

    def first(self, most: int) -> Cells:
        """Return no more than some."""
        return Cells(self.run[:most], self.row[:most])


class Scale(NamedTuple):
    """Places of numbers, each from the first to the last that it has."""

    codes: np.ndarray  # of the originals: which of the distinct values each is
    counts: np.ndarray  # of these values, in order
    x: tuple[np.ndarray, np.ndarray]  # places of these values
    y: tuple[np.ndarray, np.ndarray]  # of the cells of each run

    @property
    def farthest(self) -> float:
        """How far any two are apart."""
        ends = [np.nanmin(self.y[0]), np.nanmax(self.y[1]), self.x[0][0], self.x[1][-1]]
        return float(max(ends) - min(ends)) or 1.0

    def differences(self, pairs: Cells) -> np.ndarray:
        """How far the original is above the released value; 0 where their places overlap."""
        low, high = (side[self.codes[pairs.row]] for side in self.x)
        y_low, y_high = (side[pairs.run, pairs.row] for side in self.y)
        return np.maximum(low - y_high, 0.0) - np.maximum(y_low - high, 0.0)

    def apart(self, pairs: Cells) -> float:
        """How far neighbouring released values are apart: the median over some pairs."""
        low = self.y[0][pairs.run, pairs.row]
        values = np.unique(low)
        if len(values) < 2:
            return self.farthest
        steps = np.append(np.diff(values), values[-1] - values[-2])
        return float(np.median(steps[np.searchsorted(values, low)]))

    def ends(self, cells: Cells, edges: Edges) -> np.ndarray:
        """Return for some released cells where the bins end among the original's values."""
        low, high = (side[cells.run, cells.row][:, None] for side in self.y)
        below = np.searchsorted(self.x[1], low + edges.below, side="right")
        lower = np.searchsorted(self.x[1], low, side="left")
        above = np.searchsorted(self.x[0], high + np.append(0.0, edges.above), side="right")
        return np.column_stack([below, lower, above, np.full(len(low), len(self.counts))])


class Edges(NamedTuple):
    """Where bins of differences end: some below 0, and some above; 0 is a bin of its own."""

    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, differences: np.ndarray) -> Edges:
        """Cut differences into bins; none of them is beyond the outermost edges.

        Examples
        --------
        >>> Edges.of(np.array([-2.0, 0.0, 0.0, 1.0])).above.round(6)
        array([1.])
        """
        bins = min(_BINS, max(2, len(differences) // _PER_BIN))
        sides = []
        for sign in (-1.0, 1.0):
            own = sign * differences
            own = own[own > 0]
            parts = max(1, round(bins * len(own) / max(1, len(differences))))
            # Narrower towards the ends, where densities fall off.
            levels = 1 - (1 - np.arange(1, parts + 1) / parts) ** 2
            cuts = np.quantile(own, levels) if len(own) else own
            # A little more, so that rounding leaves the largest inside.
            sides.append(sign * np.unique(cuts * (1 + 1e-9)))
        return cls(sides[0][::-1], sides[1])

    @property
    def bins(self) -> int:
        """How many there are."""
        return len(self.below) + len(self.above) + 3

    def place(self, differences: np.ndarray) -> np.ndarray:
        """Return the bin of each difference."""
        within = np.searchsorted(self.below, differences, side="left")
        beyond = len(self.below) + 2 + np.searchsorted(self.above, differences, side="left")
        zero = len(self.below) + 1
        return np.where(differences < 0, within, np.where(differences > 0, beyond, zero))

    def widths(self, zero: float, farthest: float) -> np.ndarray:
        """Return how wide the bins are, that of 0 as given; the outermost reach the farthest."""
        below, above = (
            np.diff(np.concatenate([[0.0], side, [max(farthest, 1.01 * side[-1])]]))
            if len(side)
            else np.array([farthest])
            for side in (-self.below[::-1], self.above)
        )
        return np.concatenate([below[::-1], [zero], above])


class Differences:
    """How densely matching cells differ on a scale, bin by bin.

    Attributes
    ----------
    scores : ndarray
        The logarithm of each bin's density, over what is usual among all originals.
    nats : float
        How much a released cell tells of its own original on average.
    """

    def __init__(self, scale: Scale, pairs: Cells) -> None:
        self.scale = scale
        own = scale.differences(pairs)
        self.edges = Edges.of(own)
        place = self.edges.place(own)
        counts = np.bincount(place, minlength=self.edges.bins)
        share = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
        same = own == 0
        alike = Cells(pairs.run[same], pairs.row[same]) if same.any() else pairs
        density = share / self.edges.widths(scale.apart(alike), scale.farthest)
        some = pairs.first(_LOOKED_AT)
        below = np.append(0, np.cumsum(scale.counts)) / scale.counts.sum()
        in_bins = np.diff(below[scale.ends(some, self.edges)], axis=1, prepend=0)
        usual = np.log(in_bins @ density).mean()
        self.scores = np.log(density) - usual
        self.nats = float(self.scores[place[: len(in_bins)]].mean())
