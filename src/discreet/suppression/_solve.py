"""Which solver is called for what is demanded, and how limits are kept around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization.targets import of_whole_table, refuse_whole
from discreet.suppression._combined import solve_combined
from discreet.suppression._demands import essential
from discreet.suppression._exact import lower_bound, solve_exact
from discreet.suppression._groups import (
    Good,
    as_solution,
    both,
    grouped,
    members_of,
    shared_by,
)
from discreet.suppression._judged import solve_judged
from discreet.suppression._limits import Solver, solve_within
from discreet.suppression._match import solve_match
from discreet.suppression._mended import Kinds, mended
from discreet.suppression._own import solve_own
from discreet.suppression._problem import GONE, Demand, Infeasible, Problem, Solution
from discreet.suppression._risk import MOST_COLUMNS, solve_suda
from discreet.suppression._strict import solve_strict
from discreet.suppression._whole import Asked, solve_whole


def solve(
    problem: Problem,
    method: Any,
    names: Sequence[str],
    draws: Draws,
    good: Good | None,
    kinds: Kinds | None = None,
) -> Solution:
    """Solve a problem as a method's parameters say, with its limits.

    `good` tells whether groups keep what is demanded besides numbers of members, if anything is,
    and `kinds` are of records that need not be treated alike for that.
    """
    solver = partial(_solve, method=method, draws=draws, good=good, kinds=kinds)
    given = method.improve, method.improve_moves
    whole = of_whole_table(method.models)
    if not problem.demands and good is None and method.risk != "suda" and not whole:
        return as_solution(problem, np.zeros(len(problem.counts), np.int64))
    found = solver(problem, *given)
    if method.limit:
        own = method.null_policy == "own"
        solver = partial(solver, either=False)
        found = solve_within(problem, method.limit, names, solver, _is_possible, found, own)
    if method.null_policy != "value" or method.exact or not problem.demands:
        return found
    # The solvers of the strict reading leave the bound to others.
    return replace(found, bound=lower_bound(problem))


def _solve(
    problem: Problem,
    seconds: float | None,
    moves: int | None,
    method: Any,
    draws: Draws,
    good: Good | None,
    kinds: Kinds | None,
    either: bool = True,
) -> Solution:
    """Call the solver of a reading and of what is demanded; with equal prices too, or not."""
    if method.exact:
        return solve_exact(problem, method.null_policy)
    if method.null_policy == "own":
        return solve_own(problem)
    if method.null_policy == "match":
        match = partial(solve_match, draws=draws)
        found = (_either(match) if either else match)(problem, seconds, moves)
        return _without_gone(match, problem, found, moves if seconds is None else found.moves)
    q = problem.codes.shape[1]
    everything = (1 << q) - 1
    if method.risk == "suda":
        if not problem.demands and good is None and q <= MOST_COLUMNS:
            return solve_suda(problem, method.max_risk)
        # Scores are of records that are alone: where nobody is, all are 0.
        problem = replace(problem, demands=essential([*problem.demands, Demand(everything, 2)]))
    if good is not None:
        # What as many members share in all columns, they share in some.
        k = max([demand.k for demand in problem.demands], default=1)
        found = solve_judged(problem, both(shared_by(problem, k), good))
        if kinds is None:
            return found
        k = max(k, kinds.rules.k)
        alike = replace(problem, demands=(Demand(everything, k),))
        start = solve_strict(alike, seconds, moves, draws)
        other = mended(problem, kinds, k, start)
        if other is not None and other.cost(problem) < found.cost(problem):
            return other
        return replace(found, moves=start.moves, stopped=start.stopped)
    if whole := of_whole_table(method.models):
        refuse_units(problem, whole)
        k = max([demand.k for demand in problem.demands], default=1)
        strict = partial(solve_strict, seconds=seconds, moves=moves, draws=draws)
        return solve_whole(problem, Asked.of(whole), k, strict)
    if [demand.columns for demand in problem.demands] == [everything]:
        strict = partial(solve_strict, draws=draws)
        return (_either(strict) if either else strict)(problem, seconds, moves)
    return solve_combined(problem, seconds, moves, draws)


def refuse_units(problem: Problem, models: Sequence[Any]) -> None:
    """Refuse models of all records where units are counted."""
    if problem.held is not None:
        refuse_whole(models, "counts records; use k or max_risk where units are counted")


def _without_gone(solver: Solver, problem: Problem, found: Solution, moves: int | None) -> Solution:
    """Return a solution that leaves no record out, where that is cheaper.

    A blank protects others too, which the price of leaving a record out does not know.
    """
    if not (found.masks == GONE).any():
        return found
    try:
        other = solver(replace(problem, record_price=np.inf), None, moves)
    except Infeasible:
        return found
    if other.cost(problem) >= found.cost(problem):
        return found
    return replace(other, bound=found.bound, moves=found.moves, stopped=found.stopped)


def _either(solver: Solver) -> Solver:
    """Return what solves a problem at its prices and at equal ones, and takes what is cheaper.

    Prices that differ a little leave fewer sets of blanks that are equally good to choose from.
    """

    def solve_both(problem: Problem, seconds: float | None, moves: int | None) -> Solution:
        free = np.isfinite(problem.weights)
        if len(np.unique(problem.weights[free])) < 2:
            return solver(problem, seconds, moves)
        found = solver(problem, None if seconds is None else seconds / 2, moves)
        weights = np.where(free, problem.weights[free].mean(), np.inf)
        other = solver(replace(problem, weights=weights), None, found.moves)
        if found.stopped or other.stopped or found.cost(problem) <= other.cost(problem):
            return found
        return replace(other, bound=found.bound, moves=found.moves)

    return solve_both


def _is_possible(problem: Problem) -> bool:
    try:
        refuse_impossible(problem, [""] * problem.codes.shape[1], "", "value")
    except BadInput:
        return False
    return True


def refuse_impossible(
    problem: Problem, names: Sequence[str], counted: str, null_policy: str
) -> None:
    """Refuse demands that not even blanks in all columns that are not fixed would keep."""
    if np.isfinite(problem.record_price):
        return
    # Under the other readings a null of the input is a blank in a fixed column too.
    strict = null_policy == "value"
    fixed = [bit for bit, w in enumerate(problem.weights) if strict and not np.isfinite(w)]
    for demand in problem.demands:
        kept = [bit for bit in fixed if demand.columns >> bit & 1]
        ids = grouped(problem, kept, np.arange(len(problem.counts)))
        few = (members_of(problem, ids) < demand.k)[ids]
        if few.any() and kept:
            shown = ", ".join(f"'{names[bit]}'" for bit in kept)
            raise BadInput(
                f"{int(problem.counts[few].sum()):,} {counted} share their values in the fixed "
                f"columns {shown} with fewer than k = {demand.k}; fix fewer columns, or set "
                "record_cost so that records may be left out"
            )
        if few.any():
            n = _how_many(problem)
            there = f"is only 1 {counted[:-1]}" if n == 1 else f"are only {n:,} {counted}"
            raise BadInput(f"there {there}, fewer than k = {demand.k}; lower k")


def _how_many(problem: Problem) -> int:
    if problem.held is None:
        return int(problem.counts.sum())
    return len(np.unique(problem.held.units))


# The share of the cost below which a bound says nothing of use.
_NO_BOUND = 0.1


def log_entries(problem: Problem, solution: Solution, null_policy: str) -> dict[str, Any]:
    """Return cost, bound, gap and moves, for the log; no bound where none of use is known.

    Under "match" a bound allows for records that are blanked whole, so that it is far off.
    """
    cost = solution.cost(problem)
    assert solution.bound <= cost + 1e-6 * max(1.0, cost), "no solution costs less than its bound"
    bound = min(solution.bound, cost)  # they may differ in the last digits
    found: dict[str, Any] = {"cost": cost, "bound": None, "gap": None, "moves": solution.moves}
    if bound >= (1 if null_policy == "match" else _NO_BOUND) * cost:
        found |= {"bound": bound, "gap": (cost - bound) / cost if cost > 0 else 0.0}
    return found
