"""Better nodes near the best one known, where a lattice is too large to be searched to the end.

Branch and bound proves, but comes upon good nodes late. So the levels of one, two or three columns
of the best node are exchanged, and the first change that helps is made, until none does. Then a few
columns are raised at random, and the same starts from there, without end. A candidate is not
evaluated where it is no better even if it suppresses no more than the coarser nodes known, nor
where one of these suppresses too much already.

The search takes so many steps before branch and bound, and a share of the evaluations beside it.
What it does depends on the evaluations made, and never on the clock: a rerun repeats it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

import numpy as np

from discreet.kernels import lattice as kernels

if TYPE_CHECKING:
    from discreet.generalization.search import Levels, Node, Search, Tables

    Rank = tuple[float, int, Levels]

# Steps before branch and bound, and how many there are for each evaluation in all.
_FIRST = 500
_SHARE = 0.05
# So many candidates that are ruled out count as one step.
_RULED_OUT = 20
# How many columns are exchanged at once, and by how many levels.
_EXCHANGES = ((1, 2), (2, 2), (3, 1))
_RAISED = 5


class Neighbours:
    """A search from the best node of another search, until that is over; it keeps its own tables.

    Else those of the many fine nodes here would leave no room for what branch and bound needs.
    """

    def __init__(self, search: Search, tables: Tables, over: Callable[[], bool]) -> None:
        self.search, self.tables, self.over = search, tables, over
        self.coarser = _Coarser(search)
        self.rng = np.random.default_rng(0)
        self.steps, self.walk = 0, self._walk()

    def resume(self) -> None:
        """Take the steps that are due by the evaluations so far."""
        search = self.search
        search.tables, self.tables = self.tables, search.tables
        while search.best and self.steps < _FIRST + _SHARE * len(search.known) and not self.over():
            next(self.walk)
            self.steps += 1
        search.tables, self.tables = self.tables, search.tables

    def _walk(self) -> Iterator[None]:
        """Climb from the best node, and then again and again from nodes near it."""
        top = None
        while True:
            start = self.search.best
            if start == top:
                start = self._raised()
                yield
            if start is not None:
                end = yield from self._climb(start)
                top = end if end == self.search.best else top

    def _climb(self, at: Rank) -> Generator[None, None, Rank]:
        """Move on to the first better neighbour, until there is none."""
        better: Rank | None = at
        while better is not None:
            at, better = better, None
            for tried, levels in enumerate(self._around(at[2])):
                if self.coarser.rule_out(levels, at):
                    if tried % _RULED_OUT == 0:
                        yield
                    continue
                rank = self._look(levels)
                yield
                if rank is not None and rank < at:
                    better = rank
                    break
        return at

    def _look(self, levels: Levels) -> Rank | None:
        """Evaluate a node; None where it is not feasible."""
        node = self.search.look(levels)
        self.coarser.add(levels, node)
        return self.search.rank(levels, node) if node.suppressed <= self.search.allowed else None

    def _around(self, at: Levels) -> Iterator[Levels]:
        """List the nodes in which a few columns have other levels."""
        for size, reach in _EXCHANGES:
            sets = list(itertools.combinations(range(len(at)), size))
            for i in self.rng.permutation(len(sets)):
                for chosen in itertools.product(*(self._others(a, at[a], reach) for a in sets[i])):
                    levels = list(at)
                    for a, level in zip(sets[i], chosen, strict=True):
                        levels[a] = level
                    yield tuple(levels)

    def _others(self, a: int, level: int, reach: int) -> list[int]:
        low, high = max(self.search.lo[a], level - reach), min(self.search.hi[a], level + reach)
        return [other for other in range(low, high + 1) if other != level]

    def _raised(self) -> Rank | None:
        """Raise a few columns of the best node, whatever that costs."""
        assert self.search.best is not None
        levels = list(self.search.best[2])
        for a in self.rng.choice(len(levels), min(_RAISED, len(levels)), replace=False):
            levels[a] = int(self.rng.integers(levels[a], self.search.hi[a] + 1))
        return self._look(tuple(levels))


class _Coarser:
    """What is known of some nodes: finer ones suppress as much, and pay as much for it."""

    def __init__(self, search: Search) -> None:
        self.search, self.m = search, 0
        self.levels = np.zeros((1024, len(search.lo)), np.int64)
        self.least = np.zeros(self.levels.shape)
        for levels, node in search.known.items():
            self.add(levels, node)

    def add(self, levels: Levels, node: Node) -> None:
        """Add a node; infinite is what finer ones pay if they suppress too much."""
        if self.m == len(self.levels):
            self.levels = np.concatenate([self.levels, np.zeros_like(self.levels)])
            self.least = np.concatenate([self.least, np.zeros_like(self.least)])
        self.levels[self.m] = levels
        self.least[self.m] = (
            node.least[: self.least.shape[1]] if node.barred <= self.search.allowed else math.inf
        )
        self.m += 1

    def rule_out(self, levels: Levels, at: Rank) -> bool:
        """Tell whether a node cannot be better than another."""
        search = self.search
        if levels in search.known:
            node = search.known[levels]
            return node.suppressed > search.allowed or search.rank(levels, node) >= at
        target = np.array(levels, np.int64)
        least = kernels.most_of_coarser(self.levels, self.least, self.m, target)
        if least[0] == math.inf:
            return True
        if not search.quality.by_column:
            return False
        bound = search.quality.bound(levels, 0.0, least.tolist())
        return (search.quality.rank(bound), sum(levels), levels) >= at
