"""The strict solver's improvement: regions of patterns, searched one after the other."""

from __future__ import annotations

import time
from itertools import count

import numpy as np

from discreet.draws import Draws
from discreet.kernels import recreate
from discreet.kernels import suppression as kernel
from discreet.suppression._lots import Items, Lots, power
from discreet.suppression._problem import GONE
from discreet.trace import Trace

# Items that are searched together, and neighbours of each that are looked at.
_REGION, _NEAR = 2000, 120
# Moves of a slice, after which the clock is read.
_SLICE = 500
# The heat, in weights of a column, at the start and at the end of a cycle.
_HOT, _COLD = 1.5, 0.15
# The first cycle has no heat and one move for each lot with blanks; each next has twice as many
# moves, and as many cycles pass until all of the heat is there.
_WARM = 2


class Search:
    """An improvement that can be stopped at any time; `moves` are those done."""

    def __init__(self, items: Items, lots: Lots, draws: Draws) -> None:
        self.items, self.lots, self.draws = items, lots, draws
        self.moves = 0
        self.tasks = 0
        self.stopped = False
        self.trace = Trace("moves", "cost")

    def run(self, seconds: float | None, moves: int | None, whole: bool = False) -> None:
        """Search for some time, or for a number of moves, which gives the same result again.

        Where `whole` is asked for, only the first cycle is begun without moves enough to end it.
        """
        self.most = moves if moves is not None or seconds else 0
        self.seconds, self.end = seconds or 0.0, np.inf
        self.cost = self._cost(self.lots)
        self.trace.add(0, self.cost)
        try:
            for cycle in count():
                short = (self.most or 0) - self.moves < self._moves_of(cycle)
                if self._over() or (whole and cycle and short) or not self._cycle(cycle):
                    return
        except KeyboardInterrupt:
            self.stopped = True

    def _over(self) -> bool:
        if self.most is not None:
            return self.moves >= self.most
        return time.monotonic() >= self.end

    def _cost(self, lots: Lots) -> float:
        items = self.items
        price = np.where(lots.masks == GONE, items.price, 0.0)
        blanks = np.where(lots.masks == GONE, 0, lots.masks & ~items.nulls[lots.items])
        for byte, table in enumerate(items.tables):
            price += table[(blanks >> 8 * byte) & 255]
        return float((price * items.rows[lots.items] * lots.members).sum())

    def _moves_of(self, cycle: int, lots: Lots | None = None) -> int:
        lots = lots or self.lots
        return int((lots.masks != self.items.nulls[lots.items]).sum()) << min(cycle, 20)

    def _cycle(self, cycle: int) -> bool:
        """Go through all regions once; tell whether there was something to improve."""
        lots = self.lots
        if not self._moves_of(cycle):
            return False
        regions = self._regions()
        order, ends = np.argsort(regions, kind="stable"), np.cumsum(np.bincount(regions))
        parts = [lots.at(some) for some in np.split(order, ends[:-1])]
        try:
            for number, part in enumerate(parts):
                if self._over():
                    break
                parts[number] = self._improved(part, cycle)
        finally:
            self.lots = Lots(
                *(np.concatenate(one) for one in zip(*(p.parts for p in parts), strict=True))
            )
        return True

    def _improved(self, lots: Lots, cycle: int) -> Lots:
        """Search one region; return its lots at the best that was found."""
        items = self.items
        some, local = np.unique(lots.items, return_inverse=True)
        tries = self._moves_of(cycle, lots)
        if not tries:
            return lots
        many = len(lots.items)
        state = items.state(some, 2 * many + 1000, many + 1000, journal=True)
        table = np.full(power(2 * len(state.patterns)), -1)
        kernel.fill(state, table, local, lots.masks, lots.members)
        near, gaps = recreate.neighbours(state.codes, items.tables, _NEAR)
        generator = self.draws.words(np.array([self.tasks]))
        self.tasks += 1
        best = np.zeros((len(state.lots) + 1, 4), np.int64)
        waiting = np.zeros(len(some), np.int64)
        # A few moves cannot make good what heat undoes.
        unit = self._unit() * min(1.0, cycle / _WARM)
        before, done, least = float(state.cost[0]), 0, np.inf
        if np.isinf(self.end):
            # Compiles, where that was never done, before the clock starts.
            recreate.anneal(state, near, gaps, items.k, 0, 0.0, 0.0, generator, best, waiting)
            self.end = time.monotonic() + self.seconds
        while done == 0 or (done < tries and not self._over()):
            now = min(_SLICE, tries - done)
            if self.most is not None:
                now = min(now, self.most - self.moves)
            hot, cold = (_HOT * (_COLD / _HOT) ** (at / tries) for at in (done, done + now))
            found = recreate.anneal(
                state, near, gaps, items.k, now, hot * unit, cold * unit, generator, best, waiting
            )
            done, self.moves = done + now, self.moves + now
            if found < least - 1e-9:
                least, kept = found, best[1 : best[0, 0] + 1].copy()
            self.trace.add(self.moves, self.cost - before + least)
        self.cost += least - before
        return Lots(some[kept[:, 0]], kept[:, 3], kept[:, 2])

    def _unit(self) -> float:
        """Return the mean weight of a column."""
        weights = self.items.tables[:, 1 << np.arange(8)]
        weights = weights[np.isfinite(weights) & (weights > 0)]
        return float(weights.mean()) if len(weights) else 1.0

    def _regions(self) -> np.ndarray:
        """Cut the lots into regions, between patterns, in the order of columns as drawn."""
        lots, items = self.lots, self.items
        pieces = len(lots.items) // _REGION
        if pieces < 2:
            return np.zeros(len(lots.items), np.int64)
        pattern, first = kernel.numbered(items.codes, lots.items, lots.masks)
        columns = items.codes[lots.items[first]].T
        words = self.draws.words(np.arange(len(columns)) + self.tasks * len(columns), stream=1)
        # Values in an order of their own each time, so that cuts fall elsewhere.
        mixed = [kernel.scattered(columns[c], words[c]) for c in np.argsort(words)]
        rank = np.empty(len(first), np.int64)
        rank[np.lexsort(mixed[::-1])] = np.arange(len(first))
        at = np.cumsum(np.bincount(rank[pattern]))
        return ((at - 1) * pieces // len(lots.items))[rank[pattern]]
