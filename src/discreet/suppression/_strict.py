"""The strict reading: every released pattern, a blank being one more value, has k members."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.draws import Draws
from discreet.kernels import suppression as kernel
from discreet.kernels import suppression_start
from discreet.suppression._lots import Items, Lots, lots_of, power
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution
from discreet.suppression._search import Search

# Up to so many columns, all sets of them are gone through; beyond, so many sets, small ones first.
_ALL_SETS, _MOST_SETS = 12, 4096
# How often the start may hash, for each item and at least, so that it stays near-linear, and by how
# much the price per record rises from level to level.
_HASHED, _LEAST_HASHED, _RISE = 400, 20_000_000, 1.3
# Moves by default, at most: about two seconds. On tables with few items they are faster.
_FEW_ITEMS, _MOVES, _MOVES_OF_FEW = 1000, 50_000, 100_000


def solve_strict(
    problem: Problem, seconds: float | None, moves: int | None, draws: Draws
) -> Solution:
    """Blank as little as possible such that every pattern has k members.

    Raises `Infeasible` where no solution exists. Searches for some seconds, or for a number of
    moves; by default for a number that depends on the problem only.
    """
    items = Items(problem)
    lots = _start(items, problem)
    search = Search(items, lots, draws)
    if seconds is None and moves is None:
        few = len(items.own) <= _FEW_ITEMS
        search.run(None, _MOVES_OF_FEW if few else _MOVES, whole=True)
    else:
        search.run(seconds, moves)
    lots = _given_back(items, search.lots)
    return _solution(problem, items, lots, search)


def _solution(problem: Problem, items: Items, lots: Lots, search: Search) -> Solution:
    changed = np.flatnonzero(lots.masks != items.nulls[lots.items])
    changed = changed[np.lexsort((lots.masks[changed], lots.items[changed]))]
    some = lots.items[changed]
    order = np.lexsort((lots.masks[changed], items.own[some]))
    changed, some = changed[order], some[order]
    return Solution(
        items.own[some],
        np.where(lots.masks[changed] == GONE, GONE, lots.masks[changed] & ~items.nulls[some]),
        lots.members[changed],
        held=None if problem.held is None else some,
        moves=search.moves,
        stopped=search.stopped,
        trace=search.trace.to_dict(),
    )


# The start


def _start(items: Items, problem: Problem) -> Lots:
    k, n = items.k, len(items.own)
    size = np.bincount(items.own, items.counts, minlength=1)[items.own]
    pools = np.flatnonzero(size >= k)
    pools = pools[np.argsort(-size[pools], kind="stable")]
    waiting = np.where(size >= k, 0, items.counts)
    left = int((waiting > 0).sum())
    spare = int(items.counts[pools].sum())
    room = n + min(spare, (k - 1) * left) + 1
    state = items.state(np.arange(n), room, len(pools) + 2 * left + 1, journal=False)
    table = np.full(power(2 * len(state.patterns)), -1)
    kernel.fill(state, table, pools, items.nulls[pools], items.counts[pools])
    sets, few = _sets(problem)
    most = max(_HASHED * n, _LEAST_HASHED)
    active = suppression_start.start(
        state, table, sets, few, k, _levels(items, sets), waiting, np.flatnonzero(waiting), pools,
        most,
    )  # fmt: skip
    if len(active):
        active = suppression_start.absorb(state, table, int(sets.max(initial=0)), waiting, active)
    if len(active):
        raise Infeasible(int((waiting * items.rows)[active].sum()))
    return lots_of(state)


def _levels(items: Items, sets: np.ndarray) -> np.ndarray:
    """Return prices per record, from the lowest weight to that of everything, k times."""
    weights = np.array([kernel.weight_of(items.tables, s) for s in sets])
    weights = weights[weights > 0]
    if not len(weights):
        return np.array([np.inf])
    low, high = weights.min(), min(items.k * weights.max(), items.price)
    steps = max(0, int(np.ceil(np.log(high / low) / np.log(_RISE)))) if high > low else 0
    levels = np.minimum(low * _RISE ** np.arange(steps + 1), high)
    # Where records may be left out, nothing is worth more than that.
    return levels if np.isfinite(items.price) else np.append(levels, np.inf)


def _sets(problem: Problem) -> tuple[np.ndarray, int]:
    """Return sets of columns by weight, and how many of the last are to be tried in any case."""
    free = np.flatnonzero(np.isfinite(problem.weights))
    if len(free) <= _ALL_SETS:
        found = [tuple(c for c in range(len(free)) if s >> c & 1) for s in range(1 << len(free))]
    else:
        found = []
        for size in range(len(free)):
            if len(found) >= _MOST_SETS:
                break
            found += list(combinations(range(len(free)), size))
    sets = np.array([sum(1 << int(free[c]) for c in s) for s in found], np.int64)
    weights = np.array([problem.weights[free[list(s)]].sum() for s in found])
    sets = sets[np.argsort(weights, kind="stable")]
    # Columns that differ most for their price are blanked first when sets run out.
    worth = [len(np.unique(problem.codes[:, c])) / max(problem.weights[c], 1e-9) for c in free]
    chain = np.cumsum(1 << free[np.argsort(worth, kind="stable")[::-1]].astype(np.int64))
    return np.append(sets, chain), len(chain)


# The end


def _given_back(items: Items, lots: Lots) -> Lots:
    for _ in range(5):
        n = len(lots.items)
        state = items.state(np.arange(len(items.own)), 3 * n + 1000, 2 * n + 1000, journal=False)
        table = np.full(power(2 * len(state.patterns)), -1)
        kernel.fill(state, table, lots.items, lots.masks, lots.members)
        before = float(state.cost[0])
        kernel.give_back(state, table, items.k)
        lots = lots_of(state)
        if state.cost[0] >= before - 1e-9:
            break
    return lots
