"""A node drawn by a secret, good ones more often, so that it does not tell which nodes failed.

Whoever knows that the best node is released knows that every better one breaks a privacy model,
and may learn from that what a class must hold (the minimality attack of Wong et al. 2007, and the
downcoding of Cohen 2022). Here every feasible node can be taken, with a chance that falls as
exp(-loss / scale). The scale is a third of what one level costs on average from the bottom of the
lattice to its top, so that a neighbour that costs so much is taken once for every twenty times that
the best is. Levels of a column that no value tells apart, such as 1011* and 101** where all values
differ in their first character, make the same classes: they count as one level, and share the
chance of one. Else a long hierarchy would make the nodes above them as good as impossible.

To draw so, let every feasible node wait for a time that is exponential with this chance as its
rate: the first to come is taken. Of nodes that all cost the same, with shares that add up to m, the
first comes after an exponential time of rate m, and is any of them by their shares; the first of
the others comes later by another such time. So boxes of nodes are cut as the search for the best
one cuts them, each with the time of its first node, and the box that may come first is cut next
until it is one node (A* sampling, Maddison, Tarlow and Minka 2014). Most nodes are never evaluated.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.draws import Draws

if TYPE_CHECKING:
    from discreet.generalization.search import Levels, Search

# Chances fall by exp(-this) for what one level costs on average.
_STEEPNESS = 3.0


class Race:
    """The nodes of a search that was run, each with the time at which it comes.

    `stream` numbers the searches of one step. The draws of a box depend on what it is, and not on
    when it is looked at.
    """

    def __init__(self, search: Search, draws: Draws, stream: int) -> None:
        self.search, self.draws, self.stream = search, draws.apart(), 2 * stream
        self.sizes = [high - low + 1 for low, high in zip(search.lo, search.hi, strict=True)]
        # These models multiply: their values are compared by ratio.
        self.cost: Callable[[float], float] = math.log if search.quality.by_ratio else float
        top = self.cost(search.look(search.hi).value)
        spread = top - self.cost(search.bound(search.lo, search.hi))
        self.shares = [self._shares(a) for a in range(len(self.sizes))]
        steps = round(sum(map(sum, self.shares))) - len(self.shares)
        self.scale = spread / steps / _STEEPNESS if steps else 0.0

    def first(self, over: Callable[[], bool]) -> Levels:
        """Return the node that comes first; of those evaluated so far, if it is over before."""
        search = self.search
        assert search.best is not None
        if self.scale <= 0:
            return search.best[2]
        heap: list[tuple[float, Levels, Levels, float]] = []
        self._push(heap, search.lo, search.hi, self._wait(search.lo, search.hi))
        while heap[0][1] != heap[0][2]:
            _, lo, hi, came = heap[0]
            below, above = search.halves(lo, hi)
            if over() and not search.are_known(below, above):
                return self._of_evaluated()
            heapq.heappop(heap)
            # The first node of the box is in either part by their shares.
            one, other = below, above
            if self._uniform(lo, hi, 1) * self._size(lo, hi) > self._size(*below):
                one, other = above, below
            self._push(heap, *one, came)
            self._push(heap, *other, came + self._wait(*other))
        return heap[0][1]

    def _push(
        self, heap: list[tuple[float, Levels, Levels, float]], lo: Levels, hi: Levels, came: float
    ) -> None:
        """Add a box whose nodes all come after some time, unless none of them is feasible."""
        top = self.search.look(hi)
        if lo == hi:
            if top.suppressed <= self.search.allowed:
                heapq.heappush(heap, (self._when(top.value, came), lo, hi, came))
        elif top.barred <= self.search.allowed:
            heapq.heappush(heap, (self._when(self.search.bound(lo, hi), came), lo, hi, came))

    def _of_evaluated(self) -> Levels:
        """Let only the nodes take part that were evaluated."""
        search = self.search
        return min(
            (self._when(node.value, self._wait(levels, levels)), levels)
            for levels, node in search.known.items()
            if node.suppressed <= search.allowed
        )[1]

    def _when(self, value: float, came: float) -> float:
        """Return the logarithm of the time at which a node of some quality comes."""
        return self.cost(value) / self.scale + math.log(came)

    def _wait(self, lo: Levels, hi: Levels) -> float:
        """Draw the time until the first node of a box, if each came at rate 1."""
        return -math.log(self._uniform(lo, hi, 0)) / self._size(lo, hi)

    def _uniform(self, lo: Levels, hi: Levels, which: int) -> float:
        number = 0
        for level, low, size in zip(
            (*lo, *hi), (*self.search.lo,) * 2, (*self.sizes,) * 2, strict=True
        ):
            number = (number * size + level - low) % 2**63
        return float(self.draws.uniform(np.array([number]), self.stream + which)[0])

    def _shares(self, a: int) -> list[float]:
        """Return of each level of a column one by the levels that group its values as it does."""
        levels = range(self.search.lo[a], self.search.hi[a] + 1)
        # Levels nest: as many labels are the same groups.
        labels = [len(np.unique(self.search.tuples.labels(a, level))) for level in levels]
        return [1 / labels.count(x) for x in labels]

    def _size(self, lo: Levels, hi: Levels) -> float:
        """Add up the shares of the nodes of a box."""
        columns = zip(self.shares, self.search.lo, lo, hi, strict=True)
        return math.prod(sum(x[low - least : high - least + 1]) for x, least, low, high in columns)
