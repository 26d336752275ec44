"""`own`: each record shows so little that k or more of the original records agree with it.

What a record must blank depends on no other record's blanks, so that the cheapest set of columns
for each tuple is the optimum of the table. Sets come by price; one pass over the tuples counts the
members that agree in what a set leaves. With several demands, S serves a tuple where, for each
demand (C, k), k members agree with it in C without S; as many sets C without S are the same, each
is counted once, for all tuples, as a bit that tells whether too few agree.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.kernels.blanks import agreeing, clear, sharing
from discreet.suppression._groups import as_solution
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution, rows_of

# Up to so many columns every set is tried where it must be; with more only as many sets as keep the
# passes below so many tuples, a pass being worth some in itself, and the dearer records get a set
# that is good but not proven.
_ALL_SETS, _WORK, _PASS = 12, 3 * 10**8, 15_000
# With several demands, so many sets of columns are counted once for all; else each as it comes.
_CLOSURE = 1 << 14
# So many sets, at most, for which the good sets beyond the proven ones are narrowed.
_NARROWED = 200


def solve_own(problem: Problem) -> Solution:
    """Return the cheapest set of blanks for every tuple; its bound is its cost where proven."""
    found = cheapest_sets(problem)
    masks, rows = found.masks, rows_of(problem)
    lost = masks == GONE
    if lost.any() and not np.isfinite(problem.record_price):
        raise Infeasible(int(rows[lost].sum()))
    return replace(as_solution(problem, masks), bound=float((found.least * rows).sum()))


@dataclass(frozen=True)
class Cheapest:
    """The cheapest set of blanks for every tuple (or GONE), and a price it cannot go below."""

    masks: np.ndarray
    least: np.ndarray
    tied: list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # tuples, sets, prices: also good

    def choices(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return tuples and sets: the one taken, then others as cheap, a number of them at most."""
        kept = np.flatnonzero(self.masks > 0)
        tuples, sets, prices = (
            (np.concatenate(part) for part in zip(*self.tied, strict=True))
            if self.tied
            else (kept[:0],) * 3
        )
        good = (prices <= self.least[tuples] + 1e-9) & (sets > 0) & (sets != self.masks[tuples])
        tuples, sets = np.append(kept, tuples[good]), np.append(self.masks[kept], sets[good])
        order = np.argsort(tuples, kind="stable")
        tuples, sets = tuples[order], sets[order]
        rank = np.arange(len(tuples)) - np.searchsorted(tuples, tuples)
        return tuples[rank < most], sets[rank < most]


def cheapest_sets(problem: Problem) -> Cheapest:
    """Find the cheapest set of blanks for every tuple by itself."""
    search = _Search(problem)
    search.run()
    return Cheapest(search.masks, search.least, search.tied)


class _Search:
    """The search for the cheapest set of each tuple; sets of blanks include the tuple's nulls."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.counter = Counter(problem)
        self.nulls = problem.nulls
        n, q = problem.codes.shape
        self.asked = int(np.bitwise_or.reduce([d.columns for d in problem.demands]))
        fixed = ~np.isfinite(problem.weights)
        self.weights = np.where(fixed, 0.0, problem.weights)
        self.fixed = sum(1 << c for c in range(q) if fixed[c])
        some_null = int(np.bitwise_or.reduce(self.nulls)) if n else 0
        self.columns = [
            c for c in range(q) if self.asked >> c & 1 and (not fixed[c] or some_null >> c & 1)
        ]
        self.null_weight = _weight(self.nulls & self.asked, self.weights)
        self.masks = np.full(n, GONE, np.int64)
        # Nothing dearer than to leave the record out is looked at.
        self.best = np.full(n, problem.record_price)
        self.share = np.zeros(n, np.int64)
        self.least = np.zeros(n)
        self.tied: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # tuples, sets, prices

    def run(self) -> None:
        """Try sets by price until every tuple has its cheapest one, or the work is done."""
        n = len(self.nulls)
        active = np.arange(n)
        most = 1 << len(self.columns)
        if len(self.columns) > _ALL_SETS:
            most = max(1 << _ALL_SETS, _WORK // (n + _PASS))
        for tried, (weight, blanks) in enumerate(_by_weight(self.columns, self.weights)):
            slack = weight - self.null_weight[active] - 1e-9
            active = active[self.best[active] >= slack]
            if tried == most or not active.size:
                break
            self._try(blanks, weight, active)
        else:
            active = active[:0]
        self.least = self.best.copy()
        if active.size:
            floor = np.maximum(weight - self.null_weight[active], 0.0)
            self.least[active] = np.minimum(floor, self.least[active])
            self._narrow(active)

    def _try(self, blanks: int, weight: float, active: np.ndarray) -> None:
        """Take a set for those of the active tuples that it serves at a lower price."""
        # All nulls are in the set, for nothing, and nothing of it is fixed.
        apart = self.asked & ~blanks
        nulls = self.nulls[active]
        some = active[(nulls & apart == 0) & (blanks & self.fixed & ~nulls == 0)]
        prices = weight - self.null_weight[some]
        good = prices <= self.best[some] + 1e-9
        some, prices = some[good], prices[good]
        ok = self.counter.served(blanks, some)
        self._take(blanks, some[ok], prices[ok])

    def _take(self, blanks: int, some: np.ndarray, prices: np.ndarray) -> None:
        """Take a set where it is cheaper, or as cheap and shared by more that need blanks."""
        if not some.size:
            return
        share = self.counter.share(self.asked & ~blanks, some)
        self.tied.append((some, blanks & ~self.nulls[some], prices))
        # As cheap as to leave a record out is cheaper: something of it is kept.
        better = (prices < self.best[some] - 1e-9) | (self.masks[some] == GONE)
        better |= share > self.share[some]
        some = some[better]
        self.masks[some] = blanks & ~self.nulls[some]
        self.best[some], self.share[some] = prices[better], share[better]

    def _narrow(self, active: np.ndarray) -> None:
        """Blank all that can be in what is left, then give back the dearest that need not be."""
        everything = sum(1 << c for c in self.columns)
        unserved = active[self.masks[active] == GONE]
        blanks = (everything & ~self.fixed) | self.nulls[unserved] & self.asked
        ok = np.zeros(len(unserved), bool)
        for one in np.unique(blanks):
            same = blanks == one
            ok[same] = self.counter.served(int(one), unserved[same])
        unserved, blanks = unserved[ok], blanks[ok]
        for column in sorted(self.columns, key=lambda c: -self.weights[c]):
            free = (blanks & ~self.nulls[unserved]) >> column & 1 == 1
            sets, number = np.unique(blanks[free], return_counts=True)
            for one in sets[np.argsort(-number, kind="stable")[:_NARROWED]]:
                same = np.flatnonzero(free & (blanks == one))
                narrower = int(one) & ~(1 << column)
                blanks[same[self.counter.served(narrower, unserved[same])]] = narrower
        prices = self.problem.price(blanks, unserved)
        cheap = prices <= self.best[unserved]
        for one in np.unique(blanks):
            same = cheap & (blanks == one)
            self._take(int(one), unserved[same], prices[same])


class Counter:
    """Tells which tuples a set of blanks serves: k or more originals agree in what is left."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.places = self.units = None
        if problem.held is not None:
            order = np.argsort(problem.held.units, kind="stable")
            self.places, self.units = problem.held.tuples[order], problem.held.units[order]
        self.demands = [(int(d.columns), int(d.k)) for d in problem.demands]
        sizes = [int(size) for size in problem.sizes]
        if math.prod(sizes) < 2**63:
            factors = [math.prod(sizes[:c]) for c in range(len(sizes))]
        else:
            factors = [(2 * c + 1) * 0x9E3779B97F4A7C15 % 2**63 | 1 for c in range(len(sizes))]
        self.keys = np.array(factors, np.int64), math.prod(sizes) < 2**63

    def served(self, blanks: int, some: np.ndarray) -> np.ndarray:
        """Tell of each of some tuples, none with a null in what is left, whether all is kept."""
        if self._bits is not None:
            words, index = self._bits
            return clear(words, some, self._needed(blanks, index, words.shape[1]))
        ok = np.ones(len(some), bool)
        for shown, k in _hardest({(c & ~blanks, k) for c, k in self.demands}):
            left = np.flatnonzero(ok)
            ok[left] = self.agree(shown, some[left]) >= k
        return ok

    def agree(self, shown: int, some: np.ndarray) -> np.ndarray:
        """Count the members that agree with each of some tuples in the columns shown."""
        problem = self.problem
        return agreeing(
            problem.codes,
            *self.keys,
            _places(shown),
            some,
            problem.counts,
            self.places,
            self.units,
        )

    def share(self, shown: int, some: np.ndarray) -> np.ndarray:
        """Count the members of some tuples alone that agree with each of them."""
        return sharing(self.problem.codes, *self.keys, _places(shown), some, self.problem.counts)

    @cached_property
    def _bits(self) -> tuple[np.ndarray, np.ndarray] | None:
        """One bit by tuple and set of columns, of all that demands can leave, if they are few."""
        if len(self.demands) == 1:
            return None
        hardest: dict[int, int] = {}
        for columns, k in self.demands:
            if len(_places(columns)) > 14:
                return None
            for shown in _subsets(columns):
                hardest[shown] = max(k, hardest.get(shown, 0))
            if len(hardest) > _CLOSURE:
                return None
        index = np.array(sorted(hardest), np.int64)
        words = np.zeros((len(self.problem.codes), (len(index) + 63) // 64), np.uint64)
        nulls = self.problem.nulls
        for at, shown in enumerate(index):
            some = np.flatnonzero(nulls & shown == 0)
            few = some[self.agree(int(shown), some) < hardest[int(shown)]]
            words[few, at // 64] |= np.uint64(1) << np.uint64(at % 64)
        return words, index

    def _needed(self, blanks: int, index: np.ndarray, size: int) -> np.ndarray:
        at = np.unique(np.searchsorted(index, self._columns & ~blanks))
        needed = np.zeros(size, np.uint64)
        np.bitwise_or.at(needed, at // 64, np.uint64(1) << (at % 64).astype(np.uint64))
        return needed

    @cached_property
    def _columns(self) -> np.ndarray:
        return np.array([columns for columns, _ in self.demands], np.int64)


def _hardest(demands: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leave out demands that others imply, and put first what is most likely to fail."""
    kept = [
        (c, k)
        for c, k in demands
        if not any((c, k) != (d, j) and c & ~d == 0 and k <= j for d, j in demands)
    ]
    return sorted(kept, key=lambda demand: (-demand[0].bit_count(), -demand[1], demand[0]))


def _subsets(columns: int) -> Iterator[int]:
    one = columns
    while True:
        yield one
        if one == 0:
            return
        one = (one - 1) & columns


def _places(columns: int) -> np.ndarray:
    return np.array([c for c in range(columns.bit_length()) if columns >> c & 1], np.int64)


def _weight(masks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return ((masks[:, None] >> np.arange(len(weights))) & 1) @ weights


def _by_weight(columns: list[int], weights: np.ndarray) -> Iterator[tuple[float, int]]:
    """Yield all sets of the columns by weight; none comes before one of its parts."""
    order = sorted(columns, key=lambda c: (weights[c], c))
    heap: list[tuple[float, int, int, int]] = [(0.0, 0, 0, -1)]
    while heap:
        weight, size, mask, last = heapq.heappop(heap)
        yield weight, mask
        after = last + 1
        if after < len(order):
            bit, price = 1 << order[after], float(weights[order[after]])
            heapq.heappush(heap, (weight + price, size + 1, mask | bit, after))
            if last >= 0:
                old = order[last]
                swapped = weight - float(weights[old]) + price
                heapq.heappush(heap, (swapped, size, mask & ~(1 << old) | bit, after))
