"""A bound of the risk of every record: by its class and sampling weights, or by SUDA.

By its class alone, 1 / f at most r, the bound is k-anonymity with k = 1 / r rounded up, a demand
like any other. What is here is the individual risk (Franconi, Polettini), for which a blank is one
more value, and DIS-SUDA, for which a set of columns with a blank in it singles nobody out and
matches nobody, as in `discreet.risk.suda2`: a record's blanks take it out of the sets that gave it
away, but also out of those on which it kept others from being unique, which are counted anew.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np

from discreet.risk.frequency import Frequencies
from discreet.risk.individual import risk_of
from discreet.suppression._judged import Judge, Rows, as_solution
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.suppression._strict import Infeasible
from discreet.table.classes import classes_of

# The sampling fraction that DIS assumes.
_FRACTION = 0.01
# What a risk may miss its bound by: rounding.
_TOLERANCE = 1e-12
# Cells that are counted for each that is tried to be given back, in all.
_WORK = 5_000_000


def individual_judge(problem: Problem, weights: np.ndarray, max_risk: float, rows: Rows) -> Judge:
    """Return a judge of individual risk; `weights` are by row. The problem's k counts too.

    Where units are counted, one has the mean weight of its records in the class.
    """
    order, starts, records = rows.sorted(len(problem.counts))
    weights = np.asarray(weights, np.float64)[order]
    units = None if rows.units is None else rows.units[order]
    k = max((demand.k for demand in problem.demands), default=1)

    def judge(ids: np.ndarray, tuples: np.ndarray, groups: int) -> np.ndarray:
        many = starts[tuples + 1] - starts[tuples]
        first = np.repeat(starts[tuples] - np.cumsum(many) + many, many)
        row = first + np.arange(len(first))
        group, count, weight = np.repeat(ids, many), records[row], weights[row] * records[row]
        if units is not None:
            pairs, of_row = np.unique(np.stack([group, units[row]]), axis=1, return_inverse=True)
            of_row = of_row.ravel()
            weight = np.bincount(of_row, weight) / np.bincount(of_row, count)
            group, count = pairs[0], np.ones(len(weight), np.int64)
        f = np.bincount(group, count, groups).astype(np.int64)
        population = np.maximum(np.bincount(group, weight, groups), f)
        there = f > 0
        risk = np.ones(groups)
        risk[there] = risk_of(Frequencies(f[there], population[there]))
        return (risk <= max_risk + _TOLERANCE) & (f >= k)

    return judge


def solve_suda(problem: Problem, max_risk: float) -> Solution:
    """Blank cells until no record's DIS-SUDA is above a bound, then give back what can be.

    Column by column, the one that most of a record's score for its price comes from.
    """
    records = problem.counts
    if problem.held is not None:
        held = problem.held
        records = np.bincount(held.tuples, held.rows, len(records)).astype(np.int64)
    masks = np.zeros(len(records), np.int64)
    free = np.isfinite(problem.weights)
    while True:
        dis, by_column = _dis(problem, masks, records)
        worst = np.flatnonzero(dis > max_risk + _TOLERANCE)
        if not len(worst):
            break
        gain = by_column[:, worst] / np.where(free, problem.weights, np.inf)[:, None]
        best = gain.argmax(axis=0)
        stuck = gain.max(axis=0) <= 0
        if stuck.any() and not np.isfinite(problem.record_price):
            raise Infeasible(int(stuck.sum()), int(records[worst[stuck]].sum()))
        masks[worst] |= np.int64(1) << best
        masks[worst[stuck]] = GONE
    _give_back(problem, masks, records, max_risk)
    return as_solution(problem, masks)


def _give_back(problem: Problem, masks: np.ndarray, records: np.ndarray, most: float) -> None:
    """Show cells again where no risk rises above the bound, the dearest first, while there is time.

    Of many cells some are tried together.
    """
    n, q = problem.codes.shape
    cells = [(t, c) for t in np.flatnonzero(masks > 0) for c in range(q) if masks[t] >> c & 1]
    cells.sort(key=lambda cell: -problem.weights[cell[1]])
    tries = max(_WORK // (n << q), 16)
    waiting = [cells[at :: max(1, tries // 2)] for at in range(min(len(cells), max(1, tries // 2)))]
    while waiting and tries:
        some = waiting.pop()
        tries -= 1
        before = masks.copy()
        for t, c in some:
            masks[t] &= ~(1 << c)
        if (_dis(problem, masks, records)[0] > most + _TOLERANCE).any():
            masks[:] = before
            if len(some) > 1:
                waiting += [some[: len(some) // 2], some[len(some) // 2 :]]


def _dis(problem: Problem, masks: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the DIS of each tuple, and by column what its score comes from."""
    n, m = problem.codes.shape
    shown = np.array([np.where(masks >> c & 1, -1, problem.codes[:, c] - 1) for c in range(m)])
    by_column = np.zeros((m, n))
    scores = np.zeros(n)
    before = {(): np.zeros(n, bool)}
    for size in range(1, m + 1):
        now = {}
        for chosen in map(list, combinations(range(m), size)):
            there = np.flatnonzero((shown[chosen] >= 0).all(axis=0))
            ids, count = classes_of(shown[chosen][:, there], problem.sizes[chosen])
            alone = np.zeros(n, bool)
            alone[there] = np.bincount(ids, records[there], count)[ids] == 1
            smaller = [before[part] for part in combinations(chosen, size - 1)]
            least = alone & ~np.any(smaller, axis=0)
            scores[least] += factorial(m - size)
            by_column[np.ix_(chosen, np.flatnonzero(least))] += factorial(m - size)
            now[tuple(chosen)] = alone
        before = now
    whole = np.flatnonzero((shown >= 0).all(axis=0))
    pairs = 2 * int((records[whole] == 2).sum())
    scored = scores > 0
    power = scores[scored] ** (1 + (8 - m) / 20)
    dis = np.zeros(n)
    odds = pairs * (1 - _FRACTION) / (_FRACTION * power * (1 / power).sum())
    dis[scored] = 1 / (1 + odds)
    return dis, by_column
