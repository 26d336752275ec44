"""Limits: the largest share of the records that may be blanked in a column.

Columns that are over their limits become dearer until blanks go elsewhere, and at last they are
fixed; then the lowest such prices are searched for. Under `own`, where each record stands for
itself, those that can do without a column at the lowest price do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import BadInput
from discreet.suppression._own import cheapest_sets
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution

# How many times a column becomes dearer, and by how much each time.
_ROUNDS, _DEARER = 8, 3.0
# How often prices are halved, for all columns and for each; moves of a solution on the way.
_HALVED, _FEW_MOVES = 7, 20_000
# By how much prices are raised where more moves lead over a limit again.
_RAISED = (1.0, 1.01, 1.03)

# From a problem, with seconds or a number of moves, to a solution.
Solver = Callable[[Problem, float | None, int | None], Solution]


def solve_within(
    problem: Problem,
    limit: Mapping[str, float],
    names: Sequence[str],
    solver: Solver,
    feasible: Callable[[Problem], bool],
    first: Solution,
    own: bool,
) -> Solution:
    """Solve a problem such that no column is blanked more often than its limit allows.

    `first` is its solution without limits, under `own` or another reading.
    """
    search = _Search(problem, limit, names, solver, first)
    over = search.over(first)
    if own and len(over) == 1 and len(limit) == 1:
        found = _own_within(problem, over[0], limit[names[over[0]]], first)
        if found is not None:
            return replace(found, bound=min(first.bound, found.cost(problem)))
    if over:
        search.make_dearer(feasible)
        search.make_cheaper()
    assert search.best is not None
    # The number of moves of the first, so that a rerun that is given it does the same.
    bound = min(first.bound, search.best.cost(problem))
    return replace(search.best, bound=bound, moves=first.moves)


@dataclass
class _Search:
    """Prices at which the limits are kept, and the cheapest solution that keeps them."""

    problem: Problem
    limit: Mapping[str, float]
    names: Sequence[str]
    solver: Solver
    first: Solution
    best: Solution | None = None

    def __post_init__(self) -> None:
        self.times = np.ones(len(self.names))
        if not self.over(self.first):
            self.best = self.first

    def over(self, solution: Solution) -> list[int]:
        """Return the columns that are blanked too often."""
        shares = _shares(self.problem, solution)
        return [bit for bit, name in enumerate(self.names) if shares[bit] > self.limit.get(name, 1)]

    def make_dearer(self, feasible: Callable[[Problem], bool]) -> None:
        """Raise prices until the limits are kept; say so where they cannot be."""
        found = self.first
        for turn in range(_ROUNDS + len(self.names) + 1):
            over = self.over(found)
            if not over:
                return
            times = self.times.copy()
            times[over] *= _DEARER if turn < _ROUNDS else np.inf
            if turn >= _ROUNDS and not feasible(self._priced(times)):
                break
            self.times = times
            try:
                found = self._solved(times, self._few)
            except Infeasible:
                break
        raise self._refusal(found)

    def make_cheaper(self) -> None:
        """Search for the lowest prices that keep the limits, and solve with all moves there."""
        dearer = np.flatnonzero(np.isfinite(self.times) & (self.times > 1))
        together = [dearer] if len(dearer) else []
        # Each by itself, where several were raised.
        for some in together + [dearer[i : i + 1] for i in range(len(dearer)) if len(dearer) > 1]:
            low, high = 0.0, 1.0
            top = self.times.copy()
            for _ in range(_HALVED):
                times, middle = top.copy(), (low + high) / 2
                times[some] = top[some] ** middle
                if self.over(self._solved(times, self._few)):
                    low = middle
                else:
                    high, self.times = middle, times
        if self.first.moves > self._few:
            for raised in _RAISED:
                times = np.where(self.times > 1, self.times * raised, 1.0)
                if not self.over(self._solved(times, self.first.moves)):
                    break

    @property
    def _few(self) -> int:
        return min(self.first.moves, _FEW_MOVES)

    def _priced(self, times: np.ndarray) -> Problem:
        return replace(self.problem, weights=self.problem.weights * times)

    def _solved(self, times: np.ndarray, moves: int) -> Solution:
        """Solve at prices, and keep the solution if it is the best that keeps the limits."""
        found = self.solver(self._priced(times), None, moves)
        if not self.over(found) and (
            self.best is None or found.cost(self.problem) < self.best.cost(self.problem)
        ):
            self.best = found
        return found

    def _refusal(self, found: Solution) -> BadInput:
        column = self.over(found)[0]
        share = _shares(self.problem, found)[column]
        name = self.names[column]
        return BadInput(
            f"no way was found to keep the limit of column '{name}', {self.limit[name]:g}: the "
            f"smallest share found is {np.ceil(share * 1e4) / 1e4:g}; raise it, or let other "
            "columns be blanked more"
        )


def _own_within(problem: Problem, column: int, share: float, found: Solution) -> Solution | None:
    """Return the optimum under `own` where one column has a limit; None where it cannot be kept.

    The records that can do without blanks in the column at the lowest price do.
    """
    weights = problem.weights.copy()
    weights[column] = np.inf
    without = cheapest_sets(replace(problem, weights=weights)).masks[found.tuples]
    rows, everyone = _rows(problem, found)
    some = np.flatnonzero((found.masks != GONE) & (found.masks >> column & 1 == 1))
    over = int(rows[some].sum() - np.floor(share * everyone))
    prices = [problem.price(sets[some], found.tuples[some]) for sets in (without, found.masks)]
    extra = prices[0] - prices[1]
    order = np.argsort(extra, kind="stable")
    some = some[order[np.isfinite(extra[order])]]
    upto = np.cumsum(rows[some])
    if upto.max(initial=0) < over:
        return None
    some = some[upto - rows[some] < over]
    new, members = found.masks.copy(), found.members.copy()
    new[some] = without[some]
    parts = [found.tuples, new, members]
    if found.held is None:
        # Of the last tuple only as many as are needed.
        last = some[-1]
        spared = upto[len(some) - 1] - over
        members[last] -= spared
        more = found.tuples[last], found.masks[last], spared
        parts = [np.append(part, one) for part, one in zip(parts, more, strict=True)]
    order = np.lexsort((parts[1], parts[0]))
    order = order[parts[2][order] > 0]
    tuples, new, members = (part[order] for part in parts)
    return Solution(tuples, new, members, None if found.held is None else found.held[order])


def _shares(problem: Problem, solution: Solution) -> np.ndarray:
    """Return the share of all records that are blanked in each column."""
    rows, everyone = _rows(problem, solution)
    masks = np.where(solution.masks == GONE, 0, solution.masks & ~problem.nulls[solution.tuples])
    bits = masks[:, None] >> np.arange(problem.codes.shape[1]) & 1
    return rows @ bits / max(1, everyone)


def _rows(problem: Problem, solution: Solution) -> tuple[np.ndarray, int]:
    """Return the records of each entry, and of all tuples."""
    if solution.held is not None and problem.held is not None:
        return problem.held.rows[solution.held], int(problem.held.rows.sum())
    return solution.members, int(problem.counts.sum())
