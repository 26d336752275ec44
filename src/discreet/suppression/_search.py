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

# Lots that are searched together (neighbours take the square of it), and neighbours of each item
# that are looked at.
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
        self.items, self.parts, self.draws = items, [lots], draws
        self.moves = 0
        self.tasks = 0
        self.stopped = False
        self.trace = Trace("moves", "cost")

    @property
    def lots(self) -> Lots:
        """All lots, in an order that does not depend on the regions."""
        parts = zip(*(part.parts for part in self.parts), strict=True)
        lots = Lots(*(np.concatenate(one) for one in parts))
        return lots.at(np.lexsort((lots.masks, lots.items)))

    def run(self, seconds: float | None, moves: int | None, whole: bool = False) -> None:
        """Search for some time, or for a number of moves, which gives the same result again.

        Where `whole` is asked for, only the first cycle is begun without moves enough to end it.
        """
        self.most = moves if moves is not None or seconds else 0
        self.seconds, self.end = seconds or 0.0, np.inf
        items = self.items
        size = np.bincount(items.own, items.counts)[items.own]
        # Whose tuple has too few needs one blank, at least.
        self.least = np.where(size < items.k, min(self._weights().min(), items.price), 0.0)
        lots = self.lots
        self.cost = float((self._prices(lots) * items.rows[lots.items] * lots.members).sum())
        self.trace.add(0, self.cost)
        try:
            for cycle in count():
                lots = self.lots
                short = (self.most or 0) - self.moves < self._moves_of(cycle, lots)
                if self._over() or (whole and cycle and short) or not self._cycle(cycle, lots):
                    return
        except KeyboardInterrupt:
            self.stopped = True

    def _over(self) -> bool:
        if self.most is not None:
            return self.moves >= self.most
        return time.monotonic() >= self.end

    def _prices(self, lots: Lots) -> np.ndarray:
        """Return what a record of each lot costs."""
        items = self.items
        price = np.where(lots.masks == GONE, items.price, 0.0)
        blanks = np.where(lots.masks == GONE, 0, lots.masks & ~items.nulls[lots.items])
        for byte, table in enumerate(items.tables):
            price += table[(blanks >> 8 * byte) & 255]
        return price

    def _moves_of(self, cycle: int, lots: Lots) -> int:
        """Return a cycle's moves: none where all cost the least that they can."""
        if (self._prices(lots) <= self.least[lots.items] + 1e-9).all():
            return 0
        return int((lots.masks != self.items.nulls[lots.items]).sum()) << min(cycle, 20)

    def _cycle(self, cycle: int, lots: Lots) -> bool:
        """Go through all regions once; tell whether there was something to improve."""
        before, regions = self.moves, self._regions(lots)
        order, ends = np.argsort(regions, kind="stable"), np.cumsum(np.bincount(regions))
        self.parts = [lots.at(some) for some in np.split(order, ends[:-1])]
        for number, part in enumerate(self.parts):
            if self._over():
                break
            if len(part.items) <= 3 * _REGION:
                self._improve(number, cycle)
        return self.moves > before

    def _improve(self, number: int, cycle: int) -> None:
        """Search one region; after each slice its lots are the best that was found."""
        items, lots = self.items, self.parts[number]
        some, local = np.unique(lots.items, return_inverse=True)
        tries = self._moves_of(cycle, lots)
        if not tries:
            return
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
        done, least = 0, float(state.cost[0])
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
            done += now
            if found < least - 1e-9:
                kept = best[1 : best[0, 0] + 1].copy()
                lots, gain, least = (
                    Lots(some[kept[:, 0]], kept[:, 3], kept[:, 2]),
                    least - found,
                    found,
                )
                self.cost -= gain
            # At once, so that whenever it is stopped the same moves give the same lots again.
            self.parts[number], self.moves = lots, self.moves + now
            self.trace.add(self.moves, self.cost)

    def _weights(self) -> np.ndarray:
        """Return the weights of the columns that are not fixed, or infinity."""
        q = self.items.codes.shape[1]
        weights = self.items.tables[:, 1 << np.arange(8)].ravel()[:q]
        return np.append(weights[np.isfinite(weights)], np.inf)

    def _unit(self) -> float:
        """Return the mean weight of a column."""
        weights = self._weights()[:-1]
        weights = weights[weights > 0]
        return float(weights.mean()) if len(weights) else 1.0

    def _regions(self, lots: Lots) -> np.ndarray:
        """Cut the lots into regions, between patterns, in the order of columns as drawn."""
        items = self.items
        pieces = len(lots.items) // _REGION
        if pieces < 2:
            return np.zeros(len(lots.items), np.int64)
        pattern, first = kernel.numbered(items.codes, lots.items, lots.masks)
        q = items.codes.shape[1]
        words = self.draws.words(np.arange(q) + self.tasks * q, stream=1)
        # Values in an order of their own each time, so that cuts fall elsewhere.
        mixed = [
            kernel.scattered(items.codes[lots.items, c], words[c]) for c in np.argsort(words)[::-1]
        ]
        rank = np.empty(len(first), np.int64)
        rank[np.lexsort([column[first] for column in mixed])] = np.arange(len(first))
        part = self._split(lots, rank[pattern], mixed)
        at = np.cumsum(np.bincount(part))
        return ((at - 1) * pieces // len(lots.items))[part]

    def _split(self, lots: Lots, pattern: np.ndarray, mixed: list[np.ndarray]) -> np.ndarray:
        """Split patterns of many lots into parts, each of which has k members by itself."""
        size = max(_REGION // 2, self.items.k)
        number = np.bincount(pattern)
        many = np.flatnonzero((number >= 2 * size)[pattern])
        part = np.zeros(len(pattern), np.int64)
        if not len(many):
            return pattern
        many = many[np.lexsort([*(column[many] for column in mixed), pattern[many]])]
        own = pattern[many]
        place = np.arange(len(many)) - np.searchsorted(own, own)
        part[many] = place * (number[own] // size) // number[own]
        if self.items.unit.size:
            # A unit in several lots counts once.
            three = np.stack([own, part[many], self.items.unit[lots.items[many]]])
            pairs = np.unique(three, axis=1)[:2]
            pairs, units = np.unique(pairs, axis=1, return_counts=True)
            part[np.isin(pattern, pairs[0, units < self.items.k])] = 0
        last = np.zeros(len(number), np.int64)
        np.maximum.at(last, pattern, part)
        return (np.cumsum(last + 1) - last - 1)[pattern] + part
