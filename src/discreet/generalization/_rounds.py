"""Local recoding: node after node, each for the records that those before could not keep.

Suppression costs nothing, since what a node suppresses is left to the next. A round takes the node
at which a kept record costs least, among the nodes that keep enough records: with one class at a
time the loss would be least, and there would be thousands of rounds.

What a record costs is a price of its labels, which is the same in all rounds. So in every round
the records that are left, taken by their least prices, tell what no node is below; and a node that
keeps too few records keeps no more when others are gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.generalization._match import Matching
from discreet.generalization._tuples import Tuples
from discreet.generalization.by_class import BY_CLASS
from discreet.generalization.quality import Quality, bits
from discreet.generalization.search import Entry, Found, Levels, Node, Search, judge
from discreet.kernels import lattice as kernels
from discreet.kernels.privacy import Rules

# These know only the sizes of classes, and no price of a record: suppression keeps its own.
BY_SIZE = ("discernibility", "average-class", *BY_CLASS)
# Towards the end a round need not keep more than this of the records that are left.
_OF_THE_REST = 0.1
# Of so few tuples the classes are formed anew for each node: to keep them costs more.
_FEW_TUPLES = 3_000
# So many nodes are looked at in a round where no budget is given, and until one keeps enough: the
# lattice of many columns is too large, and there are many rounds.
_MOST_NODES = 1_000


def fewest(k: int, share: float, n: int, left: int) -> int:
    """Return how many records a round is to keep, of n that there were and those that are left.

    Examples
    --------
    >>> fewest(5, 0.01, 10_000, 8_000), fewest(5, 0.01, 10_000, 200), fewest(5, 0, 10_000, 200)
    (100, 20, 5)
    """
    return max(k, math.ceil(min(share * n, max(share, _OF_THE_REST) * left)))


class PerRecord(Quality):
    """What a kept record costs on average; of a group's tuples, and the same in all its rounds."""

    def __init__(
        self, name: str, tuples: Tuples, aggregate: str, weights: Sequence[float] | None
    ) -> None:
        super().__init__(name, tuples, aggregate, weights)
        self.products = self.kind == kernels.PRODUCTS
        self.by_column, self.by_ratio, self.exact = True, False, False
        self.lattice = tuples.lattice
        self.price = np.zeros(len(self.lattice.leaves))
        for a, height in enumerate(self.height):
            for level in range(height + 1):
                self.price[self._labels(a, level)] = self._prices(a, level)
        self.floor: list[list[float]] = []

    def of(self, sums: Sequence[float], kept: int) -> float:
        """Return the mean cost of so many records from the sums of their prices by column."""
        return self._joined([x / kept for x in sums]) if kept else math.inf

    def look_at(self, left: Tuples, many: int) -> None:
        """Learn, by column and level, what many records of those that are left cost at least.

        A coarser level may be cheaper for single records, so that a level is as cheap as any above.
        """
        many = 1 if self.products else many
        self.floor = []
        for a, height in enumerate(self.height):
            counts = left.marginal(a)
            levels = [self._cheapest(a, level, counts, many) for level in range(height + 1)]
            self.floor.append(np.minimum.accumulate(levels[::-1])[::-1].tolist())

    def bound(self, lo: Sequence[int], total: float = 0.0, least: Sequence[float] = ()) -> float:
        """Return what no node above `lo` is below; classes need not be known for that."""
        x = [floor[level] for floor, level in zip(self.floor, lo, strict=True)]
        value = math.prod(x) if self.products else self._joined(x)
        return value - 1e-14 * abs(value)

    def _joined(self, x: list[float]) -> float:
        if self.aggregate in ("max", "rank"):
            return max(x)
        return (1.0 if self.kind == kernels.LOGS else 0.0) + sum(x)

    def _labels(self, a: int, level: int) -> slice:
        """Return where the labels of a column's level are."""
        return slice(self.lattice.first[a, level], self.lattice.first[a, level + 1])

    def _held(self, a: int, level: int, counts: np.ndarray) -> np.ndarray:
        """Return the records under each label of a level, from those at each leaf."""
        labels = self._labels(a, level)
        start = self.lattice.step[a, 0, level]
        above = self.lattice.up[start : start + len(counts)]
        return np.bincount(above, counts, labels.stop - labels.start)

    def _prices(self, a: int, level: int) -> np.ndarray | float:
        """Return what a record costs at each label of a level."""
        leaves, domain = self.lattice.leaves[self._labels(a, level)], self.domain[a]
        if self.products:
            return leaves
        if self.kind == kernels.LOSS:
            return self.weights[a] * (leaves - 1) / max(domain - 1, 1)
        if self.name == "height":
            return float(level)
        if self.kind == kernels.PRECISION:
            return level / max(self.height[a], 1)
        if self.kind == kernels.LOGS:
            return np.log10(leaves / domain) * self.scale[a]
        # Entropy: what the records of a label lose on average.
        counts = self.marginals[a].astype(np.float64)
        own = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
        held = self._held(a, level, counts)
        lost = np.log2(held, out=np.zeros_like(held), where=held > 0)
        lost -= self._held(a, level, counts * own) / np.maximum(held, 1)
        whole = bits(self.marginals[a]) / self.n if self.name == "nnue" else 1.0
        return np.maximum(lost, 0.0) / whole if whole else 0.0

    def _cheapest(self, a: int, level: int, counts: np.ndarray, many: int) -> float:
        """Return the mean price of so many records, the cheapest that there are."""
        price = self.price[self._labels(a, level)]
        order = np.argsort(price, kind="stable")
        held = np.minimum(np.cumsum(self._held(a, level, counts)[order]), many)
        return float((np.diff(held, prepend=0.0) * price[order]).sum() / max(held[-1], 1.0))


class RoundSearch(Search):
    """The search of one round.

    A node must keep the `least` records. `most` has what nodes kept in earlier rounds: they keep no
    more now; what this round learns is added.
    """

    # Rounds are many: none is worth more than its own search.
    large: ClassVar[float] = math.inf

    def __init__(
        self,
        tuples: Tuples,
        rules: Rules,
        price: PerRecord,
        least: int,
        lo: Sequence[int],
        hi: Sequence[int],
        matching: Matching | None,
        most: dict[Levels, int],
    ) -> None:
        super().__init__(tuples, rules, price, tuples.n - least, lo, hi, matching)
        self.price, self.least, self.most = price, least, most
        self.passed_over = math.inf

    def run(
        self, time_limit: float | None = None, evaluations: int | None = None, *drawn: Any
    ) -> Found | None:
        """Find the best node that keeps enough; where none does, half is enough, and so on."""
        if time_limit is None and evaluations is None:
            evaluations = _MOST_NODES
        given = time_limit, evaluations, *drawn
        self.price.look_at(self.tuples, self.least)
        found = super().run(*given)
        while found is None and self.least > self.rules.k:
            self.least = max(self.rules.k, self.least // 2)
            self.allowed = self.tuples.n - self.least
            self.price.look_at(self.tuples, self.least)
            for levels, node in self.known.items():
                if self._is_best(levels, node):
                    self.best = self.rank(levels, node)
            found = super().run(*given)
        return found

    def _bounded(self, over: Callable[[], bool] | None) -> float:
        return min(super()._bounded(over), self.passed_over)

    def bound(self, lo: Levels, hi: Levels) -> float:
        """Return what no node of a box is below."""
        return self.price.bound(lo)

    def _entry(self, lo: Levels, hi: Levels) -> Entry | None:
        """Return a box with its bound, unless it holds nothing better than the best node known."""
        bound = self.bound(lo, hi)
        entry = (self.quality.rank(bound), sum(lo), lo, hi, bound)
        if self.best is not None and entry[:3] >= self.best:
            return None
        if self.most.get(hi, self.least) < self.least:
            return None
        if self.best is None and hi not in self.known and len(self.known) >= _MOST_NODES:
            self.passed_over = min(self.passed_over, bound)
            return None
        if self.look(hi).barred > self.allowed:
            return None
        return entry if self.best is None or entry[:3] < self.best else None

    def _descend(self, over: Callable[[], bool]) -> None:
        """Go up from the bottom until enough is kept, to have a good node early.

        This is done however short the budget is: it takes few evaluations, since what earlier
        rounds learned shows the way.
        """
        levels = self.lo
        while levels != self.hi and self._kept(levels) < self.least:
            above = [
                (*levels[:a], level + 1, *levels[a + 1 :])
                for a, level in enumerate(levels)
                if level < self.hi[a]
            ]
            levels = max(above, key=lambda x: self._kept(x) / (self.price.bound(x) + 1e-9))

    def _kept(self, levels: Levels) -> int:
        """Return how many records a node keeps; too few is exact enough."""
        before = self.most.get(levels, self.least)
        return before if before < self.least else self.tuples.n - self.look(levels).suppressed

    def _node(self, levels: Levels, target: np.ndarray) -> Node:
        lattice, tuples, price = self.tuples.lattice, self.tuples, self.price
        plain = self.matching is None and self.targets is None and not len(self.rules.profit)
        if plain and len(tuples.table.counts) <= _FEW_TUPLES:
            given = self.rules, price.price, price.products
            suppressed, barred, sums = kernels.priced(lattice, tuples.table, target, *given)
        else:
            table = self.classes(target)
            out, sure = judge(lattice, self.rules, table, target, self.matching)
            barred = int(sure.sum())
            if self.targets is not None:
                barred = self.targets.least(lattice, table, target, sure)
                out = self.targets.judge(lattice, table, target, out, tuples.n)
            suppressed = int(out.sum())
            sums = kernels.prices(lattice, table, target, out, price.price, price.products)
        kept = tuples.n - suppressed
        if self.rules.monotone:
            # Other models may hold again when records are gone.
            self.most[levels] = kept
        return Node(suppressed, barred, price.of(sums.tolist(), kept), [0.0] * tuples.d, 0.0)
