"""The best node of the lattice, with proof: branch and bound over boxes of nodes.

A box is all nodes between `lo` and `hi`. No node in it suppresses less than the classes of `hi`
that cannot be kept, nor costs less than g(lo) + p(hi) (see `discreet.generalization.quality`). The
box with the least bound is cut along one column, until no box can hold a better node than the best
known.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.draws import Draws
from discreet.generalization._drawn import Race
from discreet.generalization._match import Matching
from discreet.generalization._neighbours import Neighbours
from discreet.generalization._targets import Targets
from discreet.generalization._tuples import Tuples
from discreet.generalization.by_class import ByClass
from discreet.generalization.quality import Quality
from discreet.kernels import lattice as kernels
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.privacy import Rules
from discreet.kernels.worth import suppress_unprofitable
from discreet.trace import Trace

Levels = tuple[int, ...]
Box = tuple[Levels, Levels]
# A box with its bound; the first three are compared.
Entry = tuple[float, int, Levels, Levels, float]
# Rows of all tables that are kept to roll up from, in multiples of the distinct tuples.
_KEPT_TABLES = 20
_KEPT_ROWS = 4_000_000
# The search near the best node may keep so much of that.
_NEAR = 0.25
# What leads searches to their best node, or says that it cannot: where many searches look at the
# same classes with another k or quality, every node may be tried once for all of them.
guide: ContextVar[Callable[[Search], bool] | None] = ContextVar("guide", default=None)


@dataclass(frozen=True)
class Certificate:
    """What a search proved.

    Attributes
    ----------
    nodes : int
        In the lattice, or the part of it that `levels` leaves.
    evaluations : int
        Nodes whose classes were formed.
    optimum : float
        Quality of the best node that was found.
    bound : float
        No feasible node has a lower quality.
    drawn : float, optional
        Quality of the node that was taken instead, where it was drawn and not the best.
    """

    nodes: int
    evaluations: int
    optimum: float
    bound: float
    drawn: float | None = None

    @property
    def taken(self) -> float:
        """Quality of the node that was taken."""
        return self.optimum if self.drawn is None else self.drawn

    @property
    def gap(self) -> float:
        """What could still be gained, as a share of the quality; 0 where it is the optimum."""
        if self.optimum <= self.bound:
            return 0.0
        return (self.optimum - self.bound) / abs(self.optimum)

    @property
    def proven(self) -> bool:
        """True where no node is better."""
        return self.gap == 0

    def __str__(self) -> str:
        """Say what was proved."""
        looked = f"{self.evaluations:,} of {self.nodes:,} nodes evaluated"
        drawn = "" if self.drawn is None else f"{self.drawn:.6g} was drawn; "
        if self.proven:
            return f"{drawn}{self.optimum:.6g} is the optimum, proven with {looked}"
        return (
            f"{drawn}{self.optimum:.6g} was found and nothing is below {self.bound:.6g} "
            f"(gap {self.gap:.2%}), with {looked}"
        )


@dataclass(frozen=True)
class Found:
    """The node that a search chose, and how it came there."""

    levels: Levels
    suppressed: int
    certificate: Certificate
    trace: dict[str, list[float]]


@dataclass(frozen=True)
class Node:
    """What was learned of a node."""

    suppressed: int
    barred: int
    value: float
    least: list[float]
    total: Any


class Search:
    """A search over the nodes of one lattice, from the lowest to the highest level of each column.

    So many records as `allowed` may be suppressed. Classes are judged by the rules, or by
    `matching` where it is given, and the whole table by `targets`.
    """

    # Under a budget, neighbours of the best node are searched too in lattices of so many nodes.
    large: ClassVar[float] = 1_000_000
    targets: Targets | None = None

    def __init__(
        self,
        tuples: Tuples,
        rules: Rules,
        quality: Quality,
        allowed: int,
        lo: Sequence[int],
        hi: Sequence[int],
        matching: Matching | None = None,
    ) -> None:
        self.matching = matching
        self.tuples, self.rules, self.quality, self.allowed = tuples, rules, quality, allowed
        self.lo, self.hi = tuple(lo), tuple(hi)
        self.nodes = math.prod(h - low + 1 for low, h in zip(lo, hi, strict=True))
        self.tables = Tables(tuples)
        self.known: dict[Levels, Node] = {}
        self.best: tuple[float, int, Levels] | None = None
        self.drawn = False
        self.trace = Trace("evaluations", "quality")

    def run(
        self,
        time_limit: float | None = None,
        evaluations: int | None = None,
        draws: Draws | None = None,
        stream: int = 0,
    ) -> Found | None:
        """Find the best feasible node, or None where there is none.

        The best so far is taken after so many seconds, or evaluations, which a rerun can repeat.
        With `draws`, of which a step's searches have a `stream` each, another may be taken.
        """
        self.drawn = draws is not None
        over = self._budget(time_limit, evaluations)
        led = over is None and draws is None and self._led()
        bound = math.inf if led else self._bounded(over)
        if self.best is None:
            return None
        self.trace.add(len(self.known), self.known[self.best[2]].value)
        drawn = None
        if draws is not None:
            drawn = Race(self, draws, stream).first(over or (lambda: False))
        # After a search that was cut short, the draw may have come upon a better one.
        best = float(self.known[self.best[2]].value)
        levels = self.best[2] if drawn is None else drawn
        node = self.known[levels]
        certificate = Certificate(
            self.nodes,
            self.nodes if led else len(self.known),
            best,
            min(best, float(bound)),
            None if drawn is None else node.value,
        )
        return Found(levels, node.suppressed, certificate, self.trace.to_dict())

    def _led(self) -> bool:
        """Let a guide look at the best nodes, if there is one that knows them."""
        leads = guide.get()
        return leads is not None and leads(self)

    def _budget(self, seconds: float | None, evaluations: int | None) -> Callable[[], bool] | None:
        """Return what tells whether the budget is over; None where there is none."""
        if seconds is None and evaluations is None:
            return None
        end = math.inf if seconds is None else time.perf_counter() + seconds
        most = math.inf if evaluations is None else evaluations
        return lambda: len(self.known) >= most or time.perf_counter() > end

    def _bounded(self, over: Callable[[], bool] | None) -> float:
        """Search until the best node is proven or the budget is over; what is left is not below."""
        heap: list[Entry] = []
        self._push(heap, self.lo, self.hi)
        near = None
        if over is not None:
            self._descend(over)
            if self.nodes >= self.large and heap:
                near = Neighbours(self, Tables(self.tuples, _NEAR), over)
                near.resume()
                heap = self._trimmed(heap, over)
        while heap and (self.best is None or heap[0][:3] < self.best):
            if near is not None:
                near.resume()
            _, _, lo, hi, bound = heap[0]
            if lo == hi:
                heapq.heappop(heap)
                continue
            below, above = self.halves(lo, hi)
            # What needs no evaluation is done in any case: a rerun by evaluations ends here too.
            if over and self.best and over() and not self.are_known(below, above):
                return bound
            heapq.heappop(heap)
            self._push(heap, *below)
            self._push(heap, *above)
        return math.inf

    def _trimmed(self, heap: list[Entry], over: Callable[[], bool]) -> list[Entry]:
        """Leave out of the first box the lowest levels that no better node has in a column."""
        if not self.quality.by_column:
            return heap
        ((_, _, lo, hi, _),) = heap
        for a in range(len(lo)):
            while lo[a] < hi[a]:
                top = (*hi[:a], lo[a], *hi[a + 1 :])
                if (over() and top not in self.known) or self._entry(lo, top) is not None:
                    break
                lo = (*lo[:a], lo[a] + 1, *lo[a + 1 :])
        entry = self._entry(lo, hi)
        return [] if entry is None else [entry]

    def halves(self, lo: Levels, hi: Levels) -> tuple[Box, Box]:
        """Cut a box in two."""
        a, level = self._cut(lo, hi)
        return (lo, (*hi[:a], level, *hi[a + 1 :])), ((*lo[:a], level + 1, *lo[a + 1 :]), hi)

    def are_known(self, below: Box, above: Box) -> bool:
        """Tell whether the bounds of two halves need no evaluation."""
        return below[1] in self.known and (self.quality.by_column or above[0] in self.known)

    def bound(self, lo: Levels, hi: Levels) -> float:
        """Return what no node of a box is below."""
        total = 0.0 if self.quality.by_column else self.look(lo).total
        return self.quality.bound(lo, total, self.look(hi).least)

    def look(self, levels: Levels) -> Node:
        """Evaluate a node, once, and keep it where it is the best so far."""
        if levels in self.known:
            return self.known[levels]
        node = self._judged(levels, self._node(levels, np.array(levels, np.int64)))
        self.known[levels] = node
        if self._is_best(levels, node):
            self.best = self.rank(levels, node)
            self.trace.add(len(self.known), node.value)
        return node

    def classes(self, target: np.ndarray) -> Table:
        """Return the classes of a node, from the smallest table that it can be rolled up from."""
        source, table = self.tables.finer(target)
        if (source != target).any():
            table, _ = kernels.roll_up(self.tuples.lattice, table, source, target)
            self.tables.keep(target, table)
        return table

    def _node(self, levels: Levels, target: np.ndarray) -> Node:
        """Learn of a node what bounds and quality need."""
        table = self.classes(target)
        judged = judge(self.tuples.lattice, self.rules, table, target, self.matching)
        if isinstance(self.quality, ByClass):
            node = self._by_class(levels, target, table, *judged)
        elif self.targets is not None:
            node = self._whole(levels, target, table, *judged)
        else:
            node = self._by_record(levels, target, table, *judged)
        if self.rules.lowest > 0 and not table.counts.all():
            # A class of the population has no record, and neither has a part of it.
            beyond = self.tuples.n + 1
            node = replace(node, suppressed=beyond, barred=beyond)
        return node

    def _by_record(
        self,
        levels: Levels,
        target: np.ndarray,
        table: Table,
        out: np.ndarray,
        sure: np.ndarray,
    ) -> Node:
        """Learn of a node from what each record costs; `out` and `sure` are as `judge` has them."""
        quality, lattice, rules = self.quality, self.tuples.lattice, self.rules
        given = quality.kind, quality.n
        suppressed, penalty = kernels.penalties(lattice, table, target, out, *given)
        barred, least = suppressed, penalty
        if not rules.monotone:
            # Of a class that breaks these models, parts may keep them.
            barred, least = kernels.penalties(lattice, table, target, sure, *given)
        total = 0.0
        if not quality.by_column:
            total = kernels.spread(lattice, table, target, quality.kind)
        value = quality.value(levels, quality.weighed(penalty.tolist(), suppressed), total)
        if quality.kind == kernels.CLASSES:
            # A class may be smaller than k where it has others to match.
            finer, total = kernels.fitting(table, sure, 1 if self.matching else rules.k)
            least = np.array([finer])
        return Node(suppressed, barred, value, quality.weighed(least.tolist(), barred), total)

    def _by_class(
        self,
        levels: Levels,
        target: np.ndarray,
        table: Table,
        out: np.ndarray,
        sure: np.ndarray,
    ) -> Node:
        """Learn of a node the same from what whole classes cost."""
        lattice, rules, targets = self.tuples.lattice, self.rules, self.targets
        assert isinstance(self.quality, ByClass)
        # Who is kept by k, or distinct values, is so where classes grow.
        plainly = rules.monotone and type(self) is Search and targets is None
        stays = (out == 0) & plainly
        sure = out if rules.monotone else sure
        more = 0
        if targets is not None:
            more = targets.least(lattice, table, target, sure)
            out = targets.judge(lattice, table, target, out, self.allowed)
        suppressed, barred, *rest = self.quality.learn(levels, table, target, out, sure, stays)
        return Node(suppressed, max(barred, more), *rest)

    def _whole(
        self,
        levels: Levels,
        target: np.ndarray,
        table: Table,
        out: np.ndarray,
        sure: np.ndarray,
    ) -> Node:
        """Learn of a node the same where models of the whole table make classes go besides."""
        quality, lattice, targets = self.quality, self.tuples.lattice, self.targets
        assert targets is not None
        given = quality.kind, quality.n
        spread = 0.0 if quality.by_column else kernels.spread(lattice, table, target, quality.kind)
        many, penalty = kernels.penalties(lattice, table, target, sure, *given)
        least, total = quality.weighed(penalty.tolist(), many), spread
        if quality.kind == kernels.CLASSES:
            finer, total = kernels.fitting(table, sure, self.rules.k)
            least = [float(finer)]
        barred = targets.least(lattice, table, target, sure)
        suppressed, value = quality.n + 1, math.inf
        # What cannot be the best, whatever goes, need not be judged.
        bound = quality.bound(levels, total, least)
        if self.drawn or self.best is None or quality.rank(bound) <= self.best[0]:
            out = targets.judge(lattice, table, target, out, self.allowed)
            suppressed, penalty = kernels.penalties(lattice, table, target, out, *given)
            value = quality.value(levels, quality.weighed(penalty.tolist(), suppressed), spread)
        return Node(suppressed, barred, value, least, total)

    def _judged(self, levels: Levels, node: Node) -> Node:
        """Judge a node by what its classes do not tell."""
        return node

    def rank(self, levels: Levels, node: Node) -> tuple[float, int, Levels]:
        """Return what nodes are compared by: the least is the best."""
        return self.quality.rank(node.value), sum(levels), levels

    def _is_best(self, levels: Levels, node: Node) -> bool:
        """Tell whether a node is feasible, and better than the best so far."""
        if node.suppressed > self.allowed:
            return False
        return self.best is None or self.rank(levels, node) < self.best

    def _push(self, heap: list[Entry], lo: Levels, hi: Levels) -> None:
        entry = self._entry(lo, hi)
        if entry is not None:
            heapq.heappush(heap, entry)

    def _entry(self, lo: Levels, hi: Levels) -> Entry | None:
        """Return a box with its bound, unless it holds nothing better than the best node known."""
        if self.look(hi).barred > self.allowed:
            return None
        bound = self.bound(lo, hi)
        entry = (self.quality.rank(bound), sum(lo), lo, hi, bound)
        return entry if self.best is None or entry[:3] < self.best else None

    def _cut(self, lo: Levels, hi: Levels) -> tuple[int, int]:
        """Choose the column whose levels differ most in cost, and the level after which to cut.

        Where costs are known by column the highest level is cut off, which leaves one node to
        evaluate; else the lowest.
        """
        steps = self.quality.steps
        _, a = min((part[lo[a]] - part[hi[a]], a) for a, part in enumerate(steps) if lo[a] < hi[a])
        return a, hi[a] - 1 if self.quality.by_column else lo[a]

    def _descend(self, over: Callable[[], bool]) -> None:
        """Go down from the top as long as that is better, to have a good node early."""
        levels = self.hi
        while True:
            before = self.best
            for a, level in enumerate(levels):
                if over():
                    return
                if level > self.lo[a]:
                    self.look((*levels[:a], level - 1, *levels[a + 1 :]))
            if self.best is None or self.best == before:
                return
            levels = self.best[2]


def judge(
    lattice: Lattice, rules: Rules, table: Table, node: np.ndarray, matching: Matching | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return suppressed records by class, and those that every finer node suppresses at least."""
    if matching is None:
        out, sure = kernels.judge(rules, table)
        if len(rules.profit):
            suppress_unprofitable(lattice, table, node, rules.profit, rules.among, out)
        return out, sure
    return matching.judge(lattice, table, node)


class Tables:
    """The classes of nodes that were evaluated, to roll up from."""

    def __init__(self, tuples: Tuples, share: float = 1.0) -> None:
        d = len(tuples.lattice.height)
        self.levels = np.zeros((64, d), np.int64)
        self.sizes = np.zeros(64, np.int64)
        self.tables = [tuples.table]
        self.sizes[0] = len(tuples.table.counts)
        self.room = share * max(_KEPT_ROWS, _KEPT_TABLES * int(self.sizes[0]))
        self.rows = 0
        self.came_from = 0

    def finer(self, target: np.ndarray) -> tuple[np.ndarray, Table]:
        """Return the smallest table that the target can be rolled up from, and its levels."""
        i = kernels.smallest_finer(self.levels, self.sizes, len(self.tables), target)
        self.came_from = int(self.sizes[i])
        return self.levels[i], self.tables[i]

    def keep(self, levels: np.ndarray, table: Table) -> None:
        """Keep a table, if it is much smaller than what it was made from."""
        rows = len(table.counts)
        if rows > 0.8 * self.came_from or self.rows + rows > self.room:
            return
        m = len(self.tables)
        if m == len(self.sizes):
            self.levels = np.concatenate([self.levels, np.zeros_like(self.levels)])
            self.sizes = np.concatenate([self.sizes, np.zeros_like(self.sizes)])
        self.levels[m], self.sizes[m] = levels, rows
        self.tables.append(table)
        self.rows += rows
