"""Every released pattern is a class that keeps privacy models, or a bound of its risk.

All records of a tuple get the same blanks, so that it does not matter which of them has which
confidential value. That is local recoding over hierarchies of two levels, the value and a blank:
sets of columns are gone through by weight, and the classes that hold with a set are done. What is
left joins other classes with all that can be blanked. Then parts of classes go where fewer blanks
are enough, as long as the class that they leave and the one they go to both hold.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.errors import BadInput
from discreet.suppression._groups import Good, as_solution
from discreet.suppression._problem import GONE, Problem, Solution, rows_of
from discreet.table.classes import classes_of

# Sets of columns to try, and how often parts of classes are looked at for each.
_MOST_SETS, _PASSES = 512, 3
# Classes that are tried one by one to join what is left.
_MOST_TRIED = 100


def solve_judged(problem: Problem, good: Good) -> Solution:
    """Blank as little as possible such that every released pattern is a class that is good.

    Raises `BadInput` where not even blanks in all columns would do.
    """
    return _Classes(problem, good).solution()


class _Classes:
    def __init__(self, problem: Problem, good: Good) -> None:
        self.problem, self.good = problem, good
        q = len(problem.weights)
        self.free = [c for c in range(q) if np.isfinite(problem.weights[c])]
        self.rows = rows_of(problem)
        self.sets = self._sets()
        self.masks = np.zeros(len(problem.counts), np.int64)

    def solution(self) -> Solution:
        """Solve the problem."""
        left = np.arange(len(self.masks))
        for one in self.sets:
            if not len(left):
                break
            ids, n = self._patterns(left, np.full(len(left), one))
            done = self._judge(ids, left, n)[ids]
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

    def _judge(self, ids: np.ndarray, tuples: np.ndarray, groups: int) -> np.ndarray:
        """Tell which groups of tuples are good; empty ones are not."""
        of_tuple = np.full(len(self.masks), -1)
        of_tuple[tuples] = ids
        found = np.zeros(groups, bool)
        good = self.good(of_tuple)
        found[: len(good)] = good
        return found & (np.bincount(ids, minlength=groups) > 0)

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
                    raise BadInput(
                        "not even blanks in all columns that are not fixed would keep what is "
                        "demanded; weaken it, fix fewer columns, or set record_cost so that "
                        "records may be left out"
                    )
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
        """Let classes join the rest: the cheapest that is enough, or more and more of them."""
        tried = [np.empty(0, np.int64), *classes[:_MOST_TRIED]]
        many = 2
        while many < 2 * len(classes):
            tried.append(np.concatenate(classes[:many]))
            many *= 2
        for joined in tried:
            together = np.append(rest, joined)
            if self._judge(np.zeros(len(together), np.int64), together, 1)[0]:
                self.masks[joined] = mask
                return True
        return False

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
        held = self._judge(ids, tuples, 2 * m)
        emptied = np.bincount(source[own[staying]], minlength=m) == 0
        good = (held[:m] | emptied) & (held[m:] | gone)
        moved = picked.copy()
        moved[picked] = good[number[part[picked]]]
        self.masks[there[moved]] = new[moved]
        return bool(moved.any())
