"""Privacy models, from blanks that make k alike: classes that break a model are mended one by one.

Which of equal records get which blanks matters here, because their confidential values differ: they
are told apart by *kind*, which is a tuple with confidential values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.kernels import mend as kernel
from discreet.kernels.privacy import Rules
from discreet.suppression._problem import GONE, Problem, Solution
from discreet.table.classes import classes_of

# Classes that break a model, times the lots that are looked at for each of them, at most.
_WORK = 10**9


@dataclass(frozen=True)
class Kinds:
    """Kinds of records, sorted by tuple, and the models that they are judged by."""

    tuples: np.ndarray
    counts: np.ndarray
    values: np.ndarray  # kinds by confidential columns, places on the axis of the rules; -1 null
    rules: Rules


def mended(problem: Problem, kinds: Kinds, k: int, start: Solution) -> Solution | None:
    """Mend what k alike break, from either end of the classes; None where nothing helps."""
    found = [_mended(problem, kinds, k, start, order) for order in (1, -1)]
    good = [one for one in found if one is not None]
    return min(good, key=lambda one: one.cost(problem), default=None)


def _mended(problem: Problem, kinds: Kinds, k: int, start: Solution, order: int) -> Solution | None:
    kind, masks, members = _lots(problem, kinds, start)
    state = _classes(problem, kinds, kind, masks, members)
    size = state.size.copy()
    if not len(size):
        return None  # all records are left out
    bad = np.array(
        [c for c in range(len(size)) if not kernel.keeps(state, kinds.rules, k, c, -1, 0, 0)],
        np.int64,
    )
    reach = max(1000, _WORK // max(1, 2 * len(bad)))
    bad = bad[np.argsort(-order * size[bad], kind="stable")]
    if not kernel.mend(state, kinds.rules, k, bad, reach):
        return None
    while kernel.relocate(state, kinds.rules, k, reach) > 0:
        pass
    return _solution(problem, kinds, k, state, start)


def _lots(
    problem: Problem, kinds: Kinds, start: Solution
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the blanks of tuples to kinds, by turns, so that each set of blanks has several."""
    left = problem.counts.copy()
    np.subtract.at(left, start.tuples, start.members)
    bare = np.flatnonzero(left)
    tuples = np.append(bare, start.tuples)
    masks = np.append(np.zeros(len(bare), np.int64), start.masks)
    members = np.append(left[bare], start.members)
    order = np.lexsort((masks, tuples))
    mask_of = np.repeat(masks[order], members[order])
    # Records by tuple; within it one of each kind, then another of each.
    kind = np.repeat(np.arange(len(kinds.counts)), kinds.counts)
    turn = np.arange(len(kind)) - np.repeat(np.cumsum(kinds.counts) - kinds.counts, kinds.counts)
    kind = kind[np.lexsort((kind, turn, kinds.tuples[kind]))]
    pairs, number = np.unique(np.stack([kind, mask_of]), axis=1, return_counts=True)
    return pairs[0], pairs[1], number


def _classes(
    problem: Problem, kinds: Kinds, kind: np.ndarray, masks: np.ndarray, members: np.ndarray
) -> kernel.Classes:
    codes = problem.codes[kinds.tuples].astype(np.int64)
    gone = masks == GONE
    shown = np.where(masks[:, None] >> np.arange(codes.shape[1]) & 1, 0, codes[kind])
    ids, n = classes_of(shown[~gone].T - 1, problem.sizes)
    of_lot = np.full(len(kind), -1)
    of_lot[~gone] = ids
    pattern = np.zeros((n, codes.shape[1]), np.int64)
    pattern[ids] = shown[~gone]
    room = 2 * len(kind) + n + 1  # each class borrows once, or merges
    lots = np.zeros((4, room), np.int64)
    lots[0, : len(kind)], lots[1, : len(kind)] = kind, members
    lots[2], lots[3] = -1, -1
    lots[2, : len(kind)] = of_lot
    first = np.full(n, -1)
    for e in np.flatnonzero(~gone).tolist():
        lots[3, e], first[of_lot[e]] = first[of_lot[e]], e
    size = np.bincount(ids, members[~gone], n).astype(np.int64)
    return kernel.Classes._make(
        [
            codes,
            np.ascontiguousarray(kinds.values),
            problem.weights,
            float(problem.record_price),
            pattern,
            size,
            first,
            *lots,
            np.array([len(kind)]),
            np.zeros(kinds.rules.q.size + 1, np.int64),
        ]
    )


def _solution(
    problem: Problem, kinds: Kinds, k: int, state: kernel.Classes, start: Solution
) -> Solution | None:
    """Return the blanks of all lots, unless a recount finds a class that does not hold."""
    there = np.flatnonzero(state.members > 0)
    kind, of_lot = state.kind[there], state.of_lot[there]
    bits = 1 << np.arange(state.codes.shape[1])
    masks = ((state.pattern[of_lot] == 0) & (state.codes[kind] != 0)) @ bits
    masks = np.where(of_lot < 0, GONE, masks)
    pairs, number = np.unique(np.stack([kind, masks]), axis=1, return_inverse=True)
    members = np.bincount(number.ravel(), state.members[there]).astype(np.int64)
    kind, masks = pairs
    again = _classes(problem, kinds, kind, masks, members)
    if not all(kernel.keeps(again, kinds.rules, k, c, -1, 0, 0) for c in range(len(again.size))):
        return None
    changed = np.flatnonzero(masks)
    changed = changed[np.lexsort((kind[changed], masks[changed], kinds.tuples[kind[changed]]))]
    return Solution(
        kinds.tuples[kind[changed]], masks[changed], members[changed],
        moves=start.moves, stopped=start.stopped, trace=start.trace, kinds=kind[changed],
    )  # fmt: skip
