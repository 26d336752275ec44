"""Which solver is called for what is demanded, and how limits are kept around it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.suppression._limits import solve_within
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.suppression._strict import solve_strict
from discreet.table.classes import classes_of

# Sets of columns that the stand-in tries.
_MOST_SETS = 4096


def solve(problem: Problem, method: Any, names: Sequence[str], draws: Draws) -> Solution:
    """Solve a problem as a method's parameters say, with its limits."""
    solver = partial(_solve, method=method, draws=draws)
    given = method.improve, method.improve_moves
    if not problem.demands:
        return _as_solution(problem, np.zeros(len(problem.counts), np.int64))
    if method.limit:
        return solve_within(problem, method.limit, names, solver, _is_possible, *given)
    return solver(problem, *given)


def _solve(
    problem: Problem, seconds: float | None, moves: int | None, method: Any, draws: Draws
) -> Solution:
    """Call the solver of a reading and of what is demanded."""
    everything = (1 << problem.codes.shape[1]) - 1
    whole = [demand.columns for demand in problem.demands] == [everything]
    if method.null_policy == "value" and whole:
        return solve_strict(problem, seconds, moves, draws)
    return _stand_in(problem)


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
        few = _members_of_groups(problem, kept) < demand.k
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


def _members_of_groups(problem: Problem, columns: list[int]) -> np.ndarray:
    """Count for each tuple the members of all that share its values in some columns."""
    ids = _grouped(problem, columns, np.arange(len(problem.counts)))
    return _sizes(problem, ids, np.arange(len(problem.counts)))[ids]


def _grouped(problem: Problem, columns: list[int], tuples: np.ndarray) -> np.ndarray:
    if not columns:
        return np.zeros(len(tuples), np.int64)
    codes = problem.codes[tuples][:, columns].T.astype(np.int64) - 1
    return classes_of(codes, problem.sizes[columns])[0]


def _sizes(problem: Problem, ids: np.ndarray, tuples: np.ndarray) -> np.ndarray:
    """Count the members of groups of tuples, a unit once."""
    if problem.held is None:
        return np.bincount(ids, problem.counts[tuples]).astype(np.int64)
    of_tuple = np.full(len(problem.counts), -1)
    of_tuple[tuples] = ids
    group = of_tuple[problem.held.tuples]
    there = group >= 0
    pairs = np.unique(np.stack([group[there], problem.held.units[there]]), axis=1)
    return np.bincount(pairs[0], minlength=int(ids.max(initial=-1)) + 1)


def _stand_in(problem: Problem) -> Solution:
    q, k = problem.codes.shape[1], max(demand.k for demand in problem.demands)
    free = [bit for bit in range(q) if np.isfinite(problem.weights[bit])]
    sets = [s for n in range(len(free) + 1) for s in combinations(free, n)]
    sets.sort(key=lambda s: (sum(problem.weights[bit] for bit in s), s))
    sets = [*sets[: _MOST_SETS - 1], tuple(free)]
    masks = np.zeros(len(problem.counts), np.int64)
    left = np.arange(len(problem.counts))
    for some in sets:
        if not len(left):
            break
        ids = _grouped(problem, [bit for bit in range(q) if bit not in some], left)
        done = (_sizes(problem, ids, left) >= k)[ids]
        masks[left[done]] = sum(1 << bit for bit in some)
        left = left[~done]
    whole = sum(1 << bit for bit in free)
    fixed = [bit for bit in range(q) if bit not in free]
    if len(left):
        # Those that share the rest's fixed values go with it.
        ids = _grouped(problem, fixed, np.arange(len(masks)))
        few = (_sizes(problem, ids, np.arange(len(masks))) < k)[ids]
        masks[np.isin(ids, ids[left])] = whole
        masks[few] = GONE
    return _as_solution(problem, masks)


def _as_solution(problem: Problem, masks: np.ndarray) -> Solution:
    """Return what all records of each tuple get as a solution."""
    if problem.held is None:
        tuples = np.flatnonzero(masks)
        return Solution(tuples, masks[tuples], problem.counts[tuples])
    held = np.flatnonzero(masks[problem.held.tuples])
    tuples = problem.held.tuples[held]
    return Solution(tuples, masks[tuples], np.ones(len(held), np.int64), held)


def told(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Return cost, bound, gap and moves, for the log."""
    cost = solution.cost(problem)
    bound = min(solution.bound, cost)
    gap = (cost - bound) / cost if cost > 0 else 0.0
    return {"cost": cost, "bound": bound, "gap": gap, "moves": solution.moves}
