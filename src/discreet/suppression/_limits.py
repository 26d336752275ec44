"""Limits: the largest share of the records that may be blanked in a column.

A column that is over its limit becomes dearer, until blanks go elsewhere; at last it is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.errors import BadInput
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution

# How many times a column becomes dearer, and by how much each time.
_ROUNDS, _DEARER = 8, 3.0

# From a problem, with seconds or a number of moves, to a solution.
Solver = Callable[[Problem, float | None, int | None], Solution]


def solve_within(
    problem: Problem,
    limit: Mapping[str, float],
    names: Sequence[str],
    solver: Solver,
    feasible: Callable[[Problem], bool],
    seconds: float | None,
    moves: int | None,
) -> Solution:
    """Solve a problem such that no column is blanked more often than its limit allows."""
    first = solver(problem, seconds, moves)
    found, dearer = first, problem
    over = _over(problem, found, limit, names)
    for turn in range(_ROUNDS + len(names) + 1):
        if not over:
            return replace(found, bound=min(first.bound, found.cost(problem)))
        weights = dearer.weights.copy()
        weights[over] *= _DEARER if turn < _ROUNDS else np.inf
        tried = replace(problem, weights=weights)
        if turn >= _ROUNDS and not feasible(tried):
            break
        dearer = tried
        # The same number of moves each time, so that a rerun that is given it does the same.
        try:
            found = solver(dearer, None, first.moves)
        except Infeasible:
            break
        over = _over(problem, found, limit, names)
    column = over[0]
    share = _shares(problem, found)[column]
    raise BadInput(
        f"the limit of column '{names[column]}', {limit[names[column]]:g}, cannot be kept: the "
        f"smallest share found is {np.ceil(share * 1e4) / 1e4:g}; raise it, or let other columns "
        "be blanked more"
    )


def _over(
    problem: Problem, solution: Solution, limit: Mapping[str, float], names: Sequence[str]
) -> list[int]:
    shares = _shares(problem, solution)
    return [bit for bit, name in enumerate(names) if shares[bit] > limit.get(name, 1)]


def _shares(problem: Problem, solution: Solution) -> np.ndarray:
    """Return the share of all records that are blanked in each column."""
    members, everyone = solution.members, problem.counts
    if solution.held is not None and problem.held is not None:
        members, everyone = problem.held.rows[solution.held], problem.held.rows
    masks = np.where(solution.masks == GONE, 0, solution.masks & ~problem.nulls[solution.tuples])
    bits = masks[:, None] >> np.arange(problem.codes.shape[1]) & 1
    return members @ bits / max(1, everyone.sum())
