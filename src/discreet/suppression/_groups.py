"""Groups of tuples: which records or units they have, and whether they keep what is demanded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.generalization._holdings import pairs
from discreet.generalization.privacy import Bound
from discreet.kernels import whole as kernel
from discreet.risk.individual import risk_by
from discreet.suppression._problem import Problem, Solution
from discreet.table.classes import classes_of

# From the group of each tuple, -1 where it is in none, to which groups are good.
Good = Callable[[np.ndarray], np.ndarray]


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
    """Return what tells whether groups keep privacy models, which are bound to rows.

    `of_row` is the tuple of each row, and `weights` the records that it stands for.
    """
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(of_row.max(initial=-1) + 2))
    records = np.ones(len(order), np.int64) if weights is None else weights[order]
    codes = np.ascontiguousarray(bound.codes[:, order])
    holdings, place = np.empty((0, len(order)), np.int32), np.empty(0, np.int32)
    if bound.holdings is not None:
        holdings = np.ascontiguousarray(bound.holdings.of_row[:, order])
        place = bound.holdings.place

    def good(of_tuple: np.ndarray) -> np.ndarray:
        there = np.flatnonzero(of_tuple >= 0)
        groups = int(of_tuple.max(initial=-1)) + 1
        return kernel.judge(
            of_tuple[there].astype(np.int64), groups, there, starts, codes,
            records.astype(np.int64), holdings, place, bound.rules,
        )  # fmt: skip

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
