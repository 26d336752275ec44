"""A bound of DIS-SUDA, the chance that a match to a special unique is right.

A set of columns with a blank in it singles nobody out and matches nobody, as in
`discreet.risk.suda2`: a record's blanks take it out of the sets that gave it away, but also out of
those on which it kept others from being unique. So all are counted anew after each round of blanks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import factorial

import numpy as np

from discreet.suppression._groups import as_solution
from discreet.suppression._problem import GONE, Infeasible, Problem, Solution, rows_of
from discreet.table.classes import classes_of

# Beyond, no record is left unique at all: all sets of columns would be too many to count often.
MOST_COLUMNS = 12
# The sampling fraction that DIS assumes.
_FRACTION = 0.01
# What a risk may miss its bound by: rounding.
_TOLERANCE = 1e-12
# Cells that are counted for each that is tried to be given back, in all.
_WORK = 5_000_000


def solve_suda(problem: Problem, max_risk: float) -> Solution:
    """Blank cells until no record's DIS-SUDA is above a bound, then give back what can be.

    Column by column, the one that most of a record's score for its price comes from.
    """
    records = rows_of(problem)
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
            raise Infeasible(int(records[worst[stuck]].sum()))
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
    for chosen, least in least_uniques(shown, problem.sizes, records):
        scores[least] += factorial(m - len(chosen))
        by_column[np.array(chosen)[:, None], least] += factorial(m - len(chosen))
    whole = np.flatnonzero((shown >= 0).all(axis=0))
    pairs = 2 * int((records[whole] == 2).sum())
    scored = scores > 0
    power = scores[scored] ** (1 + (8 - m) / 20)
    dis = np.zeros(n)
    odds = pairs * (1 - _FRACTION) / (_FRACTION * power * (1 / power).sum())
    dis[scored] = 1 / (1 + odds)
    return dis, by_column


def least_uniques(
    shown: np.ndarray, sizes: np.ndarray, records: np.ndarray
) -> Iterator[tuple[list[int], np.ndarray]]:
    """Return sets of columns, and the tuples whose only record is alone on it, but on no part.

    Who is alone on a part matches nobody on the set. Sets on which nobody is left who could be
    alone are passed over: whoever shares all that it shows never is.
    """
    m, n = shown.shape
    filled = np.packbits(shown >= 0, axis=1)
    hopeful = np.packbits(_hopeful(shown, sizes, records))
    # Sets of the last size -> the tuples still to be counted on them, a bit each.
    before: dict[tuple[int, ...], np.ndarray] = {(): np.packbits(np.ones(n, bool))}
    for size in range(1, m + 1):
        now: dict[tuple[int, ...], np.ndarray] = {}
        for chosen in combinations(range(m), size):
            names = list(combinations(chosen, size - 1))
            if not all(name in before for name in names):
                continue
            parts = [before[name] for name in names]
            bits = np.bitwise_and.reduce([*parts, *filled[list(chosen)]])
            if not (bits & hopeful).any():
                continue
            some = np.flatnonzero(np.unpackbits(bits, count=n))
            ids, count = classes_of(shown[list(chosen)][:, some], sizes[list(chosen)])
            alone = np.bincount(ids, records[some], count)[ids] == 1
            yield list(chosen), some[alone]
            still = np.zeros(n, bool)
            still[some[~alone]] = True
            now[chosen] = np.packbits(still)
        if not (before := now):
            break


def _hopeful(shown: np.ndarray, sizes: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Mark tuples of one record that no other tuple with as many columns has in common."""
    ids, count = classes_of(shown, sizes)
    return np.bincount(ids, records, count)[ids] == 1
