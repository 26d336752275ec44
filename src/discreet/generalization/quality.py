"""Quality models: what generalization costs; lower is better.

Every model is g + p: g is what the levels cost if nothing were suppressed, and p what suppression
costs on top. g grows with generalization and p falls, so that over the nodes between `lo` and `hi`
the quality is at least g(lo) + p(hi). Where g is a sum over columns of what a column's own level
costs, no classes have to be formed for it.

Notation: c class size, S suppressed records, n records, D_a leaves of column a's hierarchy, share_a
of a label its leaves / D_a, l_a level, h_a height, d columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.kernels import lattice as kernels

QualityName = Literal[
    "loss",
    "precision",
    "nue",
    "nnue",
    "discernibility",
    "ambiguity",
    "average-class",
    "entropy-based",
]
Aggregate = Literal["sum", "max", "mean", "geometric"]

_KINDS = {
    "loss": kernels.LOSS,
    "precision": kernels.PRECISION,
    "nue": kernels.NUE,
    "nnue": kernels.NUE,
    "discernibility": kernels.SQUARES,
    "ambiguity": kernels.PRODUCTS,
    "average-class": kernels.CLASSES,
    "entropy-based": kernels.LOGS,
    # Not offered: the fewest records that must be suppressed, to say which limit works.
    "suppressed": kernels.RECORDS,
}
# Relative differences below this are rounding: such nodes tie.
_QUANTUM = 40


class Quality:
    """A quality model on one set of tuples; aggregate and weights by column are for loss."""

    def __init__(
        self,
        name: str,
        tuples: Tuples,
        aggregate: str = "geometric",
        weights: Sequence[float] | None = None,
    ) -> None:
        self.name, self.kind = name, _KINDS[name]
        self.n, self.domain = tuples.n, tuples.lattice.domain.tolist()
        self.height = tuples.lattice.height.tolist()
        self.aggregate = aggregate
        self.weights = list(weights) if weights is not None else [1.0] * len(self.domain)
        # Whether g is known column by column, from the levels alone.
        self.by_column = self.kind < kernels.SQUARES
        # Whether values are whole numbers that float64 holds exactly.
        largest = self.n if self.kind == kernels.SQUARES else math.prod(self.domain)
        whole = self.kind in (kernels.SQUARES, kernels.PRODUCTS)
        self.exact = whole and largest * self.n < 2**53
        self.marginals = [tuples.marginal(a) for a in range(tuples.d)]
        self.scale = self._scales()
        self.parts = [
            [self._part(tuples, a, level) for level in range(h + 1)]
            for a, h in enumerate(self.height)
        ]
        self.steps = self._steps(tuples)
        self._finish: Callable[[list[float]], float] = {
            kernels.LOSS: lambda x: aggregated(x, self.aggregate),
            kernels.PRECISION: lambda x: sum(x) / len(x),
            kernels.LOGS: lambda x: self.n + sum(x),
        }.get(self.kind, sum)

    def value(self, levels: Sequence[int], penalty: Sequence[float], total: float) -> float:
        """Return the quality of a node from the penalty of its suppressed classes."""
        if self.by_column:
            parts = zip(self.parts, levels, penalty, self.scale, strict=True)
            return self._finish([(part[level] + p) * scale for part, level, p, scale in parts])
        if self.kind == kernels.CLASSES:
            # Suppressed records are one class more.
            return self.n / max(1.0, total - penalty[0] + (penalty[0] > 0))
        return total + penalty[0]

    def bound(self, lo: Sequence[int], total: float, least: Sequence[float]) -> float:
        """Return what no node between `lo` and `hi` is below.

        Parameters
        ----------
        lo : sequence of int
            Levels.
        total : float
            Of `lo`, for the models that look at whole records; for average-class the classes that
            nodes above it can have.
        least : sequence of float
            Penalty at `hi` of the classes that no node below can keep; for average-class the
            classes that nodes below can have.
        """
        if self.kind == kernels.CLASSES:
            return self.n / max(1.0, min(total, least[0]) + 1)
        value = self.value(lo, least, total)
        if self.exact:
            return value
        return value - 1e-14 * (self.n if self.kind == kernels.LOGS else abs(value))

    def rank(self, value: float) -> float:
        """Round a value so that rounding errors decide nothing."""
        if self.exact or value == 0:
            return value
        mantissa, exponent = math.frexp(value)
        return math.ldexp(round(math.ldexp(mantissa, _QUANTUM)), exponent - _QUANTUM)

    def _scales(self) -> list[float]:
        """Return what a column's g and penalty are multiplied by."""
        if self.kind == kernels.LOSS:
            # x = (sum of leaves - n) / (n D - n): whole numbers, so that 0 is 0.
            sizes = zip(self.weights, self.domain, strict=True)
            return [w / (self.n * (size - 1)) if size > 1 else 0.0 for w, size in sizes]
        if self.kind == kernels.LOGS:
            whole = sum(math.log10(size) for size in self.domain)
            return [1 / whole if whole else 0.0] * len(self.domain)
        if self.name == "nnue":
            return [1 / e if (e := bits(counts)) > 0 else 0.0 for counts in self.marginals]
        return [1.0] * len(self.domain)

    def _steps(self, tuples: Tuples) -> list[list[float]]:
        """Return what a column's levels cost, to choose the column along which a box is cut."""
        if self.by_column and self.kind != kernels.RECORDS:
            scaled = zip(self.parts, self.scale, strict=True)
            return [[g * scale for g in part] for part, scale in scaled]
        # No column has a price of its own; the logarithm of what a label could be is one.
        lattice, steps = tuples.lattice, []
        for a, height in enumerate(self.height):
            labels = [tuples.labels(a, level) for level in range(height + 1)]
            leaves = [np.log(lattice.leaves[lattice.first[a, v] + u]) for v, u in enumerate(labels)]
            steps.append([float((tuples.table.counts * x).sum()) for x in leaves])
        return steps

    def _part(self, tuples: Tuples, a: int, level: int) -> float:
        """Return g of one column at one level."""
        lattice, counts = tuples.lattice, self.marginals[a]
        first, last = lattice.first[a, level], lattice.first[a, level + 1]
        start = lattice.step[a, 0, level]
        label = lattice.up[start : start + len(counts)]
        held = np.bincount(label, counts, last - first)
        leaves = lattice.leaves[first:last]
        if self.kind == kernels.LOSS:
            return float((held * leaves).sum()) - self.n
        if self.kind == kernels.PRECISION:
            return level / self.height[a] if self.height[a] else 0.0
        if self.kind == kernels.NUE:
            there = counts > 0
            cost = counts[there] * np.log2(held[label[there]] / counts[there])
            return float(cost.sum())
        if self.kind == kernels.LOGS:
            return float((held * np.log10(leaves / self.domain[a])).sum())
        return 0.0


def aggregated(x: Sequence[float], aggregate: str) -> float:
    """Aggregate the losses of the columns.

    Examples
    --------
    >>> aggregated([0.5, 0.25], "sum"), aggregated([0.5, 0.25], "mean")
    (0.75, 0.375)
    """
    if aggregate == "sum":
        return sum(x)
    if aggregate == "max":
        return max(x)
    if aggregate == "mean":
        return sum(x) / len(x)
    # prod(1 + x)^(1/d) - 1, without losing the digits of small losses beside the 1.
    return math.expm1(sum(math.log1p(value) for value in x) / len(x))


def bits(counts: np.ndarray) -> float:
    """Return the entropy of counts in bits, over all that they count."""
    there = counts[counts > 0]
    return float(-(there * np.log2(there / there.sum())).sum())
