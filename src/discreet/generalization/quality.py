"""Quality models: what generalization costs; lower is better.

Every model is g + p: g is what the levels cost if nothing were suppressed, and p what suppression
costs on top. g grows with generalization and p falls, so that over the nodes between `lo` and `hi`
the quality is at least g(lo) + p(hi). Where g is a sum over columns of what a column's own level
costs, no classes have to be formed for it. Models that look at whole classes are in
`discreet.generalization.by_class`.

A suppression factor of 0.5 weighs both alike; below, suppression costs less, and above,
generalization does.

Notation: c class size, S suppressed records, n records, D_a leaves of column a's hierarchy, share_a
of a label its leaves / D_a, l_a level, h_a height, d columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

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
    "precision-of-levels",
    "nue-of-levels",
    "height",
    "kl-divergence",
    "kl-divergence-by-record",
    "classification",
    "payout",
]
Aggregate = Literal["sum", "max", "mean", "geometric", "rank"]

_KINDS = {
    "loss": kernels.LOSS,
    "precision": kernels.PRECISION,
    "nue": kernels.NUE,
    "nnue": kernels.NUE,
    "discernibility": kernels.SQUARES,
    "ambiguity": kernels.PRODUCTS,
    "average-class": kernels.CLASSES,
    "entropy-based": kernels.LOGS,
    "precision-of-levels": kernels.PRECISION,
    "nue-of-levels": kernels.NUE,
    "height": kernels.PRECISION,
    # Not offered: the fewest records that must be suppressed, to say which limit works.
    "suppressed": kernels.RECORDS,
}
# Suppressed records cost what the levels do, as if they were kept.
OF_LEVELS = ("precision-of-levels", "nue-of-levels", "height")
# Those that know a suppression factor.
WEIGHABLE = ("loss", "precision", "average-class", "entropy-based", "classification")
# Relative differences below this are rounding: such nodes tie.
_QUANTUM = 40


class Ranked(float):
    """The largest of the columns' losses, which are compared one after the other, largest first."""

    def __new__(cls, losses: Sequence[float]) -> Ranked:
        """Put the losses into order."""
        self = super().__new__(cls, max(losses))
        self.losses = sorted(losses, reverse=True)
        return self

    losses: list[float]


def factors(factor: float) -> tuple[float, float]:
    """Return the weights of generalization and of suppression for a suppression factor.

    Examples
    --------
    >>> factors(0.5), factors(0.25), factors(0.75)
    ((1.0, 1.0), (1.0, 0.5), (0.5, 1.0))
    """
    return min(1.0, 2 * (1 - factor)), min(1.0, 2 * factor)


class Quality:
    """A quality model on one set of tuples; aggregate and weights by column are for loss."""

    # Whether values are compared by their ratio, since the model multiplies.
    by_ratio = False

    def __init__(
        self,
        name: str,
        tuples: Tuples,
        aggregate: str = "geometric",
        weights: Sequence[float] | None = None,
        factor: float = 0.5,
    ) -> None:
        self.name, self.kind = name, _KINDS[name]
        self.of_kept, self.of_gone = factors(factor)
        self.n, self.domain = tuples.n, tuples.lattice.domain.tolist()
        self.height = tuples.lattice.height.tolist()
        self.aggregate = aggregate
        self.weights = list(weights) if weights is not None else [1.0] * len(self.domain)
        # Whether g is known column by column, from the levels alone.
        self.by_column = self.kind < kernels.SQUARES
        self.by_ratio = not self.by_column
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
            kernels.PRECISION: lambda x: sum(x) / (1 if name == "height" else len(x)),
            kernels.LOGS: lambda x: self.n + sum(x),
        }.get(self.kind, sum)

    def value(self, levels: Sequence[int], penalty: Sequence[float], total: Any) -> float:
        """Return the quality of a node from the penalty of its suppressed classes."""
        if self.by_column:
            return self._over_columns(levels, penalty)
        if self.kind == kernels.CLASSES:
            return self._average(total - penalty[0], penalty[0] > 0)
        return total + penalty[0]

    def _over_columns(self, levels: Sequence[int], penalty: Sequence[float]) -> float:
        parts = zip(self.parts, levels, penalty, self.scale, strict=True)
        return self._finish([(part[level] + p) * scale for part, level, p, scale in parts])

    def weighed(self, penalty: list[float], suppressed: int) -> list[float]:
        """Return what so many suppressed records cost besides g, from their plain penalty."""
        if self.name in OF_LEVELS:
            return [0.0] * len(penalty)
        if self.kind == kernels.LOSS:
            # Less than its worth, or the whole of a column for a label whose price is reduced.
            less, more = min(self.of_kept, self.of_gone), (1 - self.of_kept) * suppressed
            return [less * p + more * size for p, size in zip(penalty, self.domain, strict=True)]
        if self.kind == kernels.PRECISION:
            more = (self.of_gone - self.of_kept) * suppressed / self.n
            tall = zip(penalty, self.height, strict=True)
            return [self.of_kept * p + more if height else 0.0 for p, height in tall]
        return penalty

    def _average(self, kept: float, suppressed: bool) -> float:
        """Return the average size of the kept classes; suppressed records are one class more."""
        classes = self.of_gone * kept + self.of_kept * suppressed
        return self.n / classes if classes > 0 else math.inf

    def bound(self, lo: Sequence[int], total: Any, least: Sequence[float]) -> float:
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
            return self._average(min(total, least[0]), True)
        if self.kind == kernels.PRECISION and self.of_gone < self.of_kept:
            # It may be cheaper to suppress a record than to generalize it.
            least = [
                max(0.0, p) - max(0.0, part[level] - self.of_gone)
                for p, part, level in zip(least, self.parts, lo, strict=True)
            ]
        value = self.value(lo, least, total)
        if self.exact:
            return value
        if isinstance(value, Ranked):
            return Ranked([(1 - 1e-14) * x for x in value.losses])
        return value - 1e-14 * (self.n if self.kind == kernels.LOGS else abs(value))

    def rank(self, value: float) -> Any:
        """Round a value so that rounding errors decide nothing."""
        if isinstance(value, Ranked):
            return [_rounded(x) for x in value.losses]
        return value if self.exact else _rounded(value)

    def _scales(self) -> list[float]:
        """Return what a column's g and penalty are multiplied by."""
        if self.kind == kernels.LOSS:
            # x = (sum of leaves - n) / (n D - n): whole numbers, so that 0 is 0.
            sizes = zip(self.weights, self.domain, strict=True)
            return [w / (self.n * (size - self.of_kept)) if size > 1 else 0.0 for w, size in sizes]
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
            return self.of_kept * (float((held * leaves).sum()) - self.n)
        if self.name == "height":
            return float(level)
        if self.kind == kernels.PRECISION:
            return self.of_kept * level / self.height[a] if self.height[a] else 0.0
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
    if aggregate == "rank":
        return Ranked(x)
    # prod(1 + x)^(1/d) - 1, without losing the digits of small losses beside the 1.
    return math.expm1(sum(math.log1p(value) for value in x) / len(x))


def _rounded(value: float) -> float:
    if value == 0 or math.isinf(value):
        return value
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, _QUANTUM)), exponent - _QUANTUM)


def bits(counts: np.ndarray) -> float:
    """Return the entropy of counts in bits, over all that they count."""
    there = counts[counts > 0]
    return float(-(there * np.log2(there / there.sum())).sum())
