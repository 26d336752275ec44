"""Every released pattern is a class that keeps privacy models, or a bound of its risk.

All records of a tuple get the same blanks, so that it does not matter which of them has which
confidential value. That is local recoding over hierarchies of two levels, the value and a blank:
sets of columns are gone through by weight, and the classes that hold with a set are done. What is
left joins other classes with all that can be blanked. Then parts of classes go where fewer blanks
are enough, as long as the class that they leave and the one they go to both hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.generalization.privacy import Bound
from discreet.kernels import whole as kernel
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.suppression._strict import Infeasible
from discreet.table.classes import classes_of

# Which groups hold: entry by entry the number of a group and a tuple that it has, and how many
# groups there are.
Judge = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
# Sets of columns to try, and how often parts of classes are looked at for each.
_MOST_SETS, _PASSES = 512, 3


@dataclass(frozen=True)
class Rows:
    """What the rows of a table have besides their keys: its place among the tuples, and so on."""

    tuples: np.ndarray
    records: np.ndarray | None = None  # that each row stands for; one each by default
    units: np.ndarray | None = None  # as 0, 1, ..., where units are counted

    def sorted(self, tuples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the order of rows by tuple, where each tuple's start, and their records."""
        order = np.argsort(self.tuples, kind="stable")
        starts = np.searchsorted(self.tuples[order], np.arange(tuples + 1))
        if self.records is None:
            return order, starts, np.ones(len(order), np.int64)
        return order, starts, self.records[order].astype(np.int64)


def models_judge(problem: Problem, bound: Bound, rows: Rows) -> Judge:
    """Return a judge of privacy models, which are bound to the rows; the problem's k counts too."""
    order, starts, records = rows.sorted(len(problem.counts))
    k = max([int(bound.rules.k), *(demand.k for demand in problem.demands)])
    rules = bound.rules._replace(k=k)
    codes = np.ascontiguousarray(bound.codes[:, order])
    holdings, place = np.empty((0, len(order)), np.int32), np.empty(0, np.int32)
    if bound.holdings is not None:
        holdings = np.ascontiguousarray(bound.holdings.of_row[:, order])
        place = bound.holdings.place

    def judge(ids: np.ndarray, tuples: np.ndarray, groups: int) -> np.ndarray:
        return kernel.judge(
            ids.astype(np.int64), groups, tuples, starts, codes, records, holdings, place, rules
        )

    return judge


def solve_judged(problem: Problem, judge: Judge) -> Solution:
    """Blank as little as possible such that every released pattern is a class that holds.

    Raises `Infeasible` where no solution is found.
    """
    return _Classes(problem, judge).solution()


class _Classes:
    def __init__(self, problem: Problem, judge: Judge) -> None:
        self.problem, self.judge = problem, judge
        q = len(problem.weights)
        self.free = [c for c in range(q) if np.isfinite(problem.weights[c])]
        self.rows = problem.counts
        if problem.held is not None:
            tuples, rows = problem.held.tuples, problem.held.rows
            self.rows = np.bincount(tuples, rows, len(problem.counts))
        self.sets = self._sets()
        self.masks = np.zeros(len(problem.counts), np.int64)

    def solution(self) -> Solution:
        """Solve the problem."""
        left = np.arange(len(self.masks))
        for one in self.sets:
            if not len(left):
                break
            ids, n = self._patterns(left, np.full(len(left), one))
            done = self.judge(ids, left, n)[ids]
            self.masks[left[done]] = one
            left = left[~done]
        if len(left):
            self._join(left)
        self.masks[self.masks != GONE] &= ~self.problem.nulls[self.masks != GONE]
        for _ in range(_PASSES):
            moved = [self._move_to(one) for one in [*self.sets, GONE]]
            if not any(moved):
                break
        return as_solution(self.problem, self.masks)

    def _sets(self) -> list[int]:
        """Return sets of columns by weight; the last has all that are free."""
        found: list[int] = []
        for size in range(len(self.free)):
            if len(found) < _MOST_SETS:
                found += [sum(1 << c for c in some) for some in combinations(self.free, size)]
        weights = self.problem.weights
        found.sort(key=lambda one: sum(weights[c] for c in self.free if one >> c & 1))
        return [*found[: _MOST_SETS - 1], sum(1 << c for c in self.free)]

    def _patterns(self, tuples: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the number of each tuple's pattern under its mask, and how many there are."""
        codes = self.problem.codes[tuples].T.astype(np.int64)
        shown = [np.where(masks >> c & 1, 0, column) - 1 for c, column in enumerate(codes)]
        return classes_of(np.array(shown).reshape(codes.shape), self.problem.sizes)

    def _prices(self, tuples: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return self.problem.price(masks, tuples) * self.rows[tuples]

    # What is left

    def _join(self, left: np.ndarray) -> None:
        """Blank all that can be in what is left, with other classes until that holds."""
        everything = self.sets[-1]
        self.masks[left] = everything
        every = np.arange(len(self.masks))
        groups, _ = self._patterns(every, np.full(len(every), everything))
        holding = np.zeros(len(self.masks), bool)
        holding[left] = True
        for group in np.unique(groups[left]):
            alike = np.flatnonzero(groups == group)
            rest, others = alike[holding[alike]], alike[~holding[alike]]
            classes = self._by_price(others)
            if not self._grow(rest, classes, everything):
                if not np.isfinite(self.problem.record_price):
                    raise Infeasible(len(rest), int(self.rows[rest].sum()))
                self.masks[rest] = GONE

    def _by_price(self, others: np.ndarray) -> list[np.ndarray]:
        """Return the classes of some tuples, cheapest first to be blanked altogether."""
        if not len(others):
            return []
        ids, n = self._patterns(others, self.masks[others])
        whole = np.full(len(others), self.sets[-1])
        prices = self._prices(others, whole) - self._prices(others, self.masks[others])
        order = np.argsort(np.bincount(ids, prices, n), kind="stable")
        by_class = np.argsort(ids, kind="stable")
        parts = np.split(others[by_class], np.cumsum(np.bincount(ids, minlength=n))[:-1])
        return [parts[c] for c in order]

    def _grow(self, rest: np.ndarray, classes: list[np.ndarray], mask: int) -> bool:
        """Let classes join the rest: one that is enough, or more and more of them."""
        if self._holds([rest])[0]:
            return True
        ones = self._holds([np.append(rest, one) for one in classes[:1000]])
        if ones.any():
            self.masks[classes[int(np.argmax(ones))]] = mask
            return True
        many = 2
        while many < 2 * len(classes):
            joined = np.concatenate(classes[:many])
            if self._holds([np.append(rest, joined)])[0]:
                self.masks[joined] = mask
                return True
            many *= 2
        return False

    def _holds(self, groups: list[np.ndarray]) -> np.ndarray:
        if not groups:
            return np.zeros(0, bool)
        ids = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return self.judge(ids, np.concatenate(groups), len(groups))

    # Fewer blanks

    def _move_to(self, mask: int) -> bool:
        """Give a set of blanks to parts of classes that cost more; tell whether any was moved.

        The tuples of a class that would be alike move together.
        """
        price = self.problem.record_price if mask == GONE else 0.0
        there = np.flatnonzero((self.masks != 0) & (self.masks != GONE))
        if not np.isfinite(price) or not len(there):
            return False
        new = np.full(len(there), mask)
        if mask != GONE:
            new &= ~self.problem.nulls[there]
        saved = self._prices(there, self.masks[there]) - self._prices(there, new)
        there, new, saved = (x[saved > 1e-9] for x in (there, new, saved))
        if not len(there):
            return False
        # All classes as they are, and the patterns to go to, numbered alike.
        kept = np.flatnonzero(self.masks != GONE)
        both = np.concatenate([kept, there])
        ids, n = self._patterns(both, np.concatenate([self.masks[kept], new]))
        own = np.full(len(self.masks), -1)
        own[kept] = ids[: len(kept)]
        goal = ids[len(kept) :] if mask != GONE else np.full(len(there), n)
        parts, part = np.unique(np.stack([own[there], goal]), axis=1, return_inverse=True)
        part = part.ravel()
        gain = np.bincount(part, saved)
        used = np.zeros(n + 1, bool)
        chosen = []
        for p in np.argsort(-gain, kind="stable").tolist():
            source, target = parts[0, p], parts[1, p]
            if not used[source] and not used[target]:
                # Any number of records can be left out at a time.
                used[source], used[target] = True, target < n
                chosen.append(p)
        return self._settle(own, n, parts, part, there, new, chosen)

    def _settle(
        self,
        own: np.ndarray,
        n: int,
        parts: np.ndarray,
        part: np.ndarray,
        there: np.ndarray,
        new: np.ndarray,
        chosen: list[int],
    ) -> bool:
        """Move those parts for which the classes that they leave and go to hold."""
        number = np.full(parts.shape[1], -1)
        number[chosen] = np.arange(len(chosen))
        source, target = np.full((2, n + 1), -1)
        source[parts[0, chosen]] = np.arange(len(chosen))
        target[parts[1, chosen]] = np.arange(len(chosen))
        gone = parts[1, chosen] == n
        moving = np.zeros(len(own), bool)
        picked = number[part] >= 0
        moving[there[picked]] = True
        inside = np.flatnonzero(own >= 0)
        staying = inside[(source[own[inside]] >= 0) & ~moving[inside]]
        waiting = inside[target[own[inside]] >= 0]
        m = len(chosen)
        ids = np.concatenate(
            [source[own[staying]], m + target[own[waiting]], m + number[part[picked]]]
        )
        tuples = np.concatenate([staying, waiting, there[picked]])
        held = self.judge(ids, tuples, 2 * m)
        emptied = np.bincount(source[own[staying]], minlength=m) == 0
        good = (held[:m] | emptied) & (held[m:] | gone)
        moved = picked.copy()
        moved[picked] = good[number[part[picked]]]
        self.masks[there[moved]] = new[moved]
        return bool(moved.any())


def as_solution(problem: Problem, masks: np.ndarray) -> Solution:
    """Return what all records of each tuple get as a solution."""
    if problem.held is None:
        tuples = np.flatnonzero(masks)
        return Solution(tuples, masks[tuples], problem.counts[tuples])
    held = np.flatnonzero(masks[problem.held.tuples])
    tuples = problem.held.tuples[held]
    return Solution(tuples, masks[tuples], np.ones(len(held), np.int64), held)
