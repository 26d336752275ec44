"""Which solver is called for what is demanded, and how limits are kept around it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._holdings import pairs
from discreet.suppression import _strict
from discreet.suppression._combined import solve_combined
from discreet.suppression._judged import Good, as_solution, solve_judged
from discreet.suppression._limits import solve_within
from discreet.suppression._match import solve_match
from discreet.suppression._own import solve_own
from discreet.suppression._problem import Infeasible, Problem, Solution
from discreet.suppression._risk import solve_suda
from discreet.table.classes import classes_of


def solve(
    problem: Problem, method: Any, names: Sequence[str], draws: Draws, good: Good | None
) -> Solution:
    """Solve a problem as a method's parameters say, with its limits.

    `good` tells whether groups keep what is demanded besides numbers of members, if anything is.
    """
    solver = partial(_solve, method=method, draws=draws, good=good)
    given = method.improve, method.improve_moves
    if method.limit:
        return solve_within(problem, method.limit, names, solver, _is_possible, *given)
    return solver(problem, *given)


def _solve(
    problem: Problem,
    seconds: float | None,
    moves: int | None,
    method: Any,
    draws: Draws,
    good: Good | None,
) -> Solution:
    """Call the solver of a reading and of what is demanded."""
    try:
        if good is not None:
            return solve_judged(problem, _shared_too(problem, good))
        if not problem.demands and method.max_risk is not None and method.risk == "suda":
            return solve_suda(problem, method.max_risk)
        if not problem.demands:
            return as_solution(problem, np.zeros(len(problem.counts), np.int64))
        if method.null_policy == "own":
            return solve_own(problem)
        if method.null_policy == "match":
            return solve_match(problem, seconds, moves, draws)
        everything = (1 << problem.codes.shape[1]) - 1
        if [demand.columns for demand in problem.demands] == [everything]:
            return _strict.solve_strict(problem, seconds, moves, draws)
        return solve_combined(problem, seconds, moves, draws)
    except _strict.Infeasible as error:
        raise Infeasible(error.members, error.rows) from None


def _shared_too(problem: Problem, good: Good) -> Good:
    """Demand of groups that are good as many members, too, as the problem does."""
    # What as many members share in all columns, they share in some.
    k = max([demand.k for demand in problem.demands], default=1)
    return lambda of_tuple: (_members(problem, of_tuple) >= k) & good(of_tuple)


def _members(problem: Problem, of_tuple: np.ndarray) -> np.ndarray:
    """Count the members of groups of tuples, a unit once; -1 is no group."""
    size = int(of_tuple.max(initial=-1)) + 1
    if problem.held is None:
        there = of_tuple >= 0
        return np.bincount(of_tuple[there], problem.counts[there], size).astype(np.int64)
    groups = of_tuple[problem.held.tuples]
    return np.bincount(groups[pairs(problem.held.units, groups)[1]], minlength=size)


def _is_possible(problem: Problem) -> bool:
    try:
        refuse_impossible(problem, [""] * problem.codes.shape[1], "")
    except BadInput:
        return False
    return True


def refuse_impossible(problem: Problem, names: Sequence[str], counted: str) -> None:
    """Refuse demands that not even blanks in all columns that are not fixed would keep."""
    if np.isfinite(problem.record_price):
        return
    fixed = [bit for bit, weight in enumerate(problem.weights) if not np.isfinite(weight)]
    for demand in problem.demands:
        kept = [bit for bit in fixed if demand.columns >> bit & 1]
        ids = np.zeros(len(problem.counts), np.int64)
        if kept:
            codes = problem.codes[:, kept].T.astype(np.int64) - 1
            ids = classes_of(codes, problem.sizes[kept])[0]
        few = (_members(problem, ids) < demand.k)[ids]
        if few.any() and kept:
            shown = ", ".join(f"'{names[bit]}'" for bit in kept)
            raise BadInput(
                f"{int(problem.counts[few].sum()):,} {counted} share their values in the fixed "
                f"columns {shown} with fewer than k = {demand.k}; fix fewer columns, or set "
                "record_cost so that records may be left out"
            )
        if few.any():
            n = _how_many(problem)
            raise BadInput(f"{n:,} {counted} cannot be k = {demand.k} of a kind; lower k")


def _how_many(problem: Problem) -> int:
    if problem.held is None:
        return int(problem.counts.sum())
    return len(np.unique(problem.held.units))


def told(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Return cost, bound, gap and moves, for the log."""
    cost = solution.cost(problem)
    bound = min(solution.bound, cost)
    gap = (cost - bound) / cost if cost > 0 else 0.0
    return {"cost": cost, "bound": bound, "gap": gap, "moves": solution.moves}
