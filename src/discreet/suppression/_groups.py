"""Blanks by groups: sets of columns from light to heavy, until what is left is good enough.

For demands that are not a number of members alone: privacy models, and risks by sampling weights.
Tuples that agree outside of a set of columns are a group. A group that is good gets these columns
blanked and is done; the others go on to the next set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np

from discreet.errors import BadInput
from discreet.generalization._holdings import pairs
from discreet.generalization.privacy import Bound
from discreet.kernels.privacy import holds
from discreet.risk.individual import risk_by
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.table.classes import classes_of

# Sets of columns that are tried.
_MOST_SETS = 4096
# From the group of each tuple, -1 where it is in none, to which groups are good.
Good = Callable[[np.ndarray], np.ndarray]


def solve_groups(problem: Problem, good: Good) -> Solution:
    """Blank sets of columns, the same in all members of a tuple."""
    q = problem.codes.shape[1]
    free = [bit for bit in range(q) if np.isfinite(problem.weights[bit])]
    sets = [s for n in range(len(free) + 1) for s in _up_to(_MOST_SETS, combinations(free, n))]
    sets.sort(key=lambda some: (sum(problem.weights[list(some)]), some))
    masks = np.zeros(len(problem.counts), np.int64)
    left = np.arange(len(masks))
    for some in [*sets[:_MOST_SETS], tuple(free)]:
        of_tuple = np.full(len(masks), -1)
        of_tuple[left] = grouped(problem, [bit for bit in range(q) if bit not in some], left)
        done = good(of_tuple)[of_tuple[left]]
        masks[left[done]] = sum(1 << bit for bit in some)
        left = left[~done]
        if not len(left):
            return as_solution(problem, masks)
    return as_solution(problem, _all_blank(problem, good, masks, left, free))


def _up_to(most: int, sets: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [one for one, _ in zip(sets, range(most), strict=False)]


def _all_blank(
    problem: Problem, good: Good, masks: np.ndarray, left: np.ndarray, free: list[int]
) -> np.ndarray:
    """Blank all that is not fixed in what is left, and in all that shares its fixed values."""
    fixed = [bit for bit in range(problem.codes.shape[1]) if bit not in free]
    ids = grouped(problem, fixed, np.arange(len(masks)))
    theirs = np.isin(ids, ids[left])
    bad = theirs.copy()
    bad[theirs] = ~good(np.where(theirs, ids, -1))[ids[theirs]]
    if bad.any() and not np.isfinite(problem.record_price):
        raise BadInput(
            "not even blanks in all columns that are not fixed would keep what is demanded; weaken "
            "it, fix fewer columns, or set record_cost so that records may be left out"
        )
    return np.where(bad, GONE, np.where(theirs, sum(1 << bit for bit in free), masks))


def grouped(problem: Problem, columns: list[int], tuples: np.ndarray) -> np.ndarray:
    """Return the group of each of some tuples, which agree in some columns."""
    if not columns:
        return np.zeros(len(tuples), np.int64)
    codes = problem.codes[tuples][:, columns].T.astype(np.int64) - 1
    return classes_of(codes, problem.sizes[columns])[0]


def members_of(problem: Problem, of_tuple: np.ndarray) -> np.ndarray:
    """Count the members of groups of tuples, a unit once."""
    size = int(of_tuple.max(initial=-1)) + 1
    if problem.held is None:
        there = of_tuple >= 0
        return np.bincount(of_tuple[there], problem.counts[there], size).astype(np.int64)
    group = of_tuple[problem.held.tuples]
    there = group >= 0
    groups = group[there]
    first = pairs(problem.held.units[there], groups)[1]
    return np.bincount(groups[first], minlength=size)


def as_solution(problem: Problem, masks: np.ndarray) -> Solution:
    """Return what all members of each tuple get as a solution."""
    if problem.held is None:
        tuples = np.flatnonzero(masks)
        return Solution(tuples, masks[tuples], problem.counts[tuples])
    held = np.flatnonzero(masks[problem.held.tuples])
    tuples = problem.held.tuples[held]
    return Solution(tuples, masks[tuples], np.ones(len(held), np.int64), held)


# What is good


def shared_by(problem: Problem, k: int) -> Good:
    """Return what tells whether groups have k members."""
    return lambda of_tuple: members_of(problem, of_tuple) >= k


def both(one: Good, other: Good) -> Good:
    """Return what tells whether groups are good for both."""
    return lambda of_tuple: one(of_tuple) & other(of_tuple)


def keeping(bound: Bound, of_row: np.ndarray, weights: np.ndarray | None) -> Good:
    """Return what tells whether groups keep privacy models, which are bound to rows."""

    def good(of_tuple: np.ndarray) -> np.ndarray:
        of_group = of_tuple[of_row]
        rows = np.flatnonzero(of_group >= 0)
        return _kept(bound, rows, of_group[rows], weights)

    return good


def _kept(
    bound: Bound, rows: np.ndarray, groups: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Tell which groups of rows keep the models, group after group."""
    count, found, places, records = int(groups.max(initial=-1)) + 1, [], [], []
    if bound.holdings is None:
        own = np.ones(len(rows), np.int64) if weights is None else weights[rows]
        sizes = np.bincount(groups, own, count).astype(np.int64)
        for codes in bound.codes[:, rows]:
            there = codes >= 0
            found.append(groups[there])
            places.append(codes[there])
            records.append(own[there])
    else:
        held = bound.holdings
        for holdings in held.of_row[:, rows]:
            first = pairs(groups, holdings)[1]
            found.append(groups[first])
            places.append(held.place[holdings[first]])
            records.append(np.ones(len(first), np.int64))
        sizes = np.bincount(found[-1], minlength=count)
    if not found:
        return sizes >= bound.rules.k
    of_entry, place, n = (np.concatenate(parts) for parts in (found, places, records))
    order = np.argsort(of_entry, kind="stable")
    ends = np.searchsorted(of_entry[order], np.arange(count + 1))
    place, n = place[order], n[order]
    width = len(bound.rules.q) if bound.holdings is None else bound.rules.units + 1
    good = sizes >= bound.rules.k
    for group in np.flatnonzero(good).tolist():
        part = slice(ends[group], ends[group + 1])
        histogram = np.bincount(place[part], n[part], width).astype(np.int64)
        good[group] = holds(bound.rules, int(sizes[group]), histogram)
    return good


def under_risk(
    of_row: np.ndarray,
    weights: np.ndarray,
    records: np.ndarray,
    units: np.ndarray | None,
    most: float,
) -> Good:
    """Return what tells whether a group's individual risk is at most so much.

    `weights` are the sampling weights of rows that stand for `records` each, and `units` their
    units, where these are counted: a unit has the mean weight of its records in the group.
    """

    def good(of_tuple: np.ndarray) -> np.ndarray:
        of_group = of_tuple[of_row]
        rows = np.flatnonzero(of_group >= 0)
        groups, count = of_group[rows], int(of_tuple.max(initial=-1)) + 1
        n, total = records[rows], weights[rows] * records[rows]
        if units is not None:
            numbers, first = pairs(units[rows], groups)
            total = np.bincount(numbers, total) / np.bincount(numbers, n)
            groups, n = groups[first], np.ones(len(first), np.int64)
        f, population = np.bincount(groups, n, count), np.bincount(groups, total, count)
        low = np.zeros(count, bool)
        low[f > 0] = risk_by(f[f > 0].astype(np.int64), population[f > 0]) <= most
        return low

    return good
