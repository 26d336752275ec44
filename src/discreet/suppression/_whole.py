"""Bounds of the risk over all records: some may stay alone, as long as they are few enough.

Blanks that make every record one of k alike keep an average risk of 1 / k, and mostly a lower one
than that. So the smallest k is taken whose blanks keep what is asked for, and then cells are given
back, the dearest first, as long as that stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.generalization.targets import AverageRisk, size_for
from discreet.suppression._problem import GONE, Demand, Problem, Solution
from discreet.table.classes import classes_of

# How often all blanks are looked at to be given back.
_PASSES = 3
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Asked:
    """What is asked of class sizes: an average, and shares of records in classes under some k."""

    average: float
    under: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, models: Sequence[Any]) -> Asked:
        """Read it from the models of the whole table."""
        average, under = 1.0, []
        for model in models:
            if isinstance(model, AverageRisk):
                average = min(average, model.average)
                if model.highest is not None:
                    under.append((size_for(model.highest), model.records or 0.0))
            else:
                under.append((2, model.share))
        return cls(average, tuple(under))

    @property
    def enough(self) -> int:
        """The k that keeps all of it."""
        return max([size_for(self.average), *(k for k, _ in self.under)])

    def weigh(self, size: Any) -> np.ndarray:
        """Return what classes of some size add to what must not be above 0, one row by bound."""
        size = np.asarray(size, np.float64)
        there = size > 0
        found = [there - self.average * size]
        found += [size * (size < k) - share * size for k, share in self.under]
        return np.array(found)


def solve_whole(
    problem: Problem, asked: Asked, k: int, solver: Callable[[Problem], Solution]
) -> Solution:
    """Blank as little as possible such that the classes keep what is asked, and have k members.

    `solver` solves the problem for one k over all columns.
    """
    everything = (1 << problem.codes.shape[1]) - 1

    def solved(least: int) -> _Classes:
        if least == 1:
            none = np.empty(0, np.int64)
            return _Classes(problem, Solution(none, none, none), asked)
        demands = (Demand(everything, least),)
        return _Classes(problem, solver(replace(problem, demands=demands)), asked)

    best = solved(k)
    if best.keeps:
        return best.solution
    low, high = k, max(min(asked.enough, int(problem.counts.sum())), k)
    best = solved(high)
    if not best.keeps:
        raise BadInput(
            f"the average risk of {problem.counts.sum():,} records is 1 / "
            f"{problem.counts.sum():,} at least; ask for a larger one"
        )
    while high - low > 1:
        middle = (low + high) // 2
        found = solved(middle)
        if found.keeps:
            high = middle
            best = min(found, best, key=lambda one: one.solution.cost(problem))
        else:
            low = middle
    return best.given_back(k)


class _Classes:
    """The classes that a solution releases."""

    def __init__(self, problem: Problem, solution: Solution, asked: Asked) -> None:
        self.problem, self.solution, self.asked = problem, solution, asked
        n = len(problem.counts)
        tuples = np.append(np.arange(n), solution.tuples)
        masks = np.append(np.zeros(n, np.int64), solution.masks)
        shown = problem.codes[tuples].T.astype(np.int64)
        shown = [np.where(masks >> c & 1, 0, column) - 1 for c, column in enumerate(shown)]
        self.ids, classes = classes_of(np.array(shown), problem.sizes)
        members = np.append(problem.counts, solution.members)
        np.subtract.at(members, solution.tuples, solution.members)
        members[n:][solution.masks == GONE] = 0
        self.size = np.bincount(self.ids, members, classes).astype(np.int64)
        self.excess = asked.weigh(self.size).sum(axis=1)

    @property
    def keeps(self) -> bool:
        """Whether they are what is asked."""
        return self._within(self.excess)

    def _within(self, excess: np.ndarray) -> bool:
        return bool((excess <= _TOLERANCE * self.problem.counts.sum()).all())

    def given_back(self, k: int) -> Solution:
        """Show what was blanked again, the dearest first, where the classes stay what is asked."""
        solution, size, n = self.solution, self.size, len(self.problem.counts)
        left = np.full(len(solution.tuples), True)
        order = np.argsort(-self.problem.price(solution.masks, solution.tuples), kind="stable")
        for _ in range(_PASSES):
            before = left.sum()
            for e in order[left[order]].tolist():
                members = solution.members[e]
                own = self.ids[solution.tuples[e]]
                there = self.ids[n + e] if solution.masks[e] != GONE else -1
                if own == there:
                    continue
                places = [own] if there < 0 else [own, there]
                after = np.array([size[own] + members, size[there] - members])[: len(places)]
                if ((after > 0) & (after < k)).any():
                    continue
                change = self.asked.weigh(after).sum(axis=1)
                excess = self.excess + change - self.asked.weigh(size[places]).sum(axis=1)
                if self._within(excess):
                    size[places], self.excess, left[e] = after, excess, False
            if left.sum() == before:
                break
        return replace(
            solution,
            tuples=solution.tuples[left],
            masks=solution.masks[left],
            members=solution.members[left],
        )
