"""Levels drawn by the exponential mechanism, so that they tell little of any record.

Section 5 of R. Bild, K. Kuhn and F. Prasser, "SafePub", PETS 2018. A score says how good a node of
the lattice is, and is divided by what one record can change of it; a node is drawn with a chance in
proportion to exp(epsilon * score / 2). The lattice is too large to be drawn from at once, so that
the search goes down from the top: each of its steps draws the next node among those below the ones
drawn before, and at last one of the nodes that were drawn is taken. All of these draws share the
budget evenly.

Scores are of a sample of the records, so that they are of what a release of them would be like. It
is a sample of its own: scores of the one that is released would make chance of the levels and of
the classes depend on each other, and their budgets would not simply add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.chance import Chance
from discreet.generalization._tuples import Tuples, lay_out, number_tuples
from discreet.generalization.ladder import Ladder
from discreet.generalization.search import Tables
from discreet.kernels import lattice as kernels

Score = Literal["loss", "precision", "nue", "average-class"]
Levels = tuple[int, ...]
# Scores are rounded to this part of one, since chances are exact for whole numbers only. Two that
# differ by 1 then differ by one part more at most, however the float arithmetic has come out.
_PARTS = 64


def collapsed(ladders: Sequence[Ladder], codes: Sequence[np.ndarray]) -> tuple[Tuples, np.ndarray]:
    """Return distinct tuples of leaves with counts, and the tuple of each row."""
    lattice = lay_out(ladders)
    keys, ids, first = number_tuples(codes, lattice.word, lattice.shift)
    counts = kernels.count(ids, len(first), np.empty(0, np.int64))
    nothing = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
    return Tuples(lattice, kernels.Table(kernels.take(keys, first), counts, *nothing)), ids


class Scores:
    """The score of each node, divided by what one record more or less can change of it.

    `tuples` are the sampled records, with a null as the last leaf of each column, and `n` is the
    number of all. Records that are not sampled, or whose class has fewer than k, are suppressed.

    With S suppressed records, c the sizes of the other classes and d columns, the scores are

    - loss: -(sum of c * share + S * d) / (d * (k - 1)), shares of all columns added up; precision
      has level / height in place of the share. A record that completes a class of k brings k - 1
      others along, each of which costs d less at most.
    - nue: -(sum over columns of (sum of squares of the counts of its values) / n + S) / (d *
      (k^2 / (k - 1) + 1)), where `*` counts as suppressed. A class that is completed takes k - 1
      from S, and adds less than 2k to squares / n; n + 1 in place of n takes less than 1 from them.
    - average-class: the number of classes, the suppressed records being one.
    """

    def __init__(self, score: Score, tuples: Tuples, ladders: Sequence[Ladder], n: int, k: int):
        self.score, self.tuples, self.n, self.k = score, tuples, n, k
        self.heights = [ladder.height for ladder in ladders]
        self.shares = [_shares(ladder) for ladder in ladders]
        self.tables = Tables(tuples)
        self.ready: set[Levels] = set()

    def of(self, levels: Levels, below: Levels | None = None) -> float:
        """Return a node's score; several are found quickly from one that is below all of them."""
        if below is not None and below not in self.ready:
            self.ready.add(below)
            self.table(below)
        classes = Tuples(self.tuples.lattice, self.table(levels))
        kept = classes.table.counts >= self.k
        counts = classes.table.counts[kept]
        gone = self.n - int(counts.sum())
        d = len(levels)
        if self.score == "average-class":
            return float(len(counts) + (gone > 0))
        if self.score == "nue":
            cost = sum(self._squares(classes, kept, counts, a, levels[a], gone) for a in range(d))
            return -cost / (d * (self.k**2 / (self.k - 1) + 1))
        if self.score == "loss":
            shares = (
                float(counts @ self.shares[a][levels[a]][classes.codes(a)[kept]]) for a in range(d)
            )
        else:
            heights = zip(levels, self.heights, strict=True)
            shares = (int(counts.sum()) * level / height for level, height in heights)
        return -(sum(shares) + gone * d) / (d * (self.k - 1))

    def _squares(
        self, classes: Tuples, kept: np.ndarray, counts: np.ndarray, a: int, level: int, gone: int
    ) -> float:
        """Return what a column costs: the squares of its values' counts, and suppression."""
        if level == self.heights[a]:
            return float(self.n)
        found = np.bincount(classes.codes(a)[kept], counts, 1)
        return float(found @ found) / self.n + gone

    def table(self, levels: Levels) -> kernels.Table:
        """Return the classes of a node."""
        target = np.array(levels)
        source, finer = self.tables.finer(target)
        table: kernels.Table = kernels.roll_up(self.tuples.lattice, finer, source, target)[0]
        self.tables.keep(target, table)
        return table


def _shares(ladder: Ladder) -> list[np.ndarray]:
    """Return by level the share of each label's leaves; a null is as rare as one of them.

    Whether the table has nulls must change nothing, so that they are not counted among the leaves.
    """
    size = len(ladder.leaves) - 1
    found = [np.bincount(of_leaf[:-1], minlength=1) / size for of_leaf in ladder.maps[:-1]]
    return [*(np.append(shares, 1 / size) for shares in found), np.ones(1)]


def draw_levels(
    scores: Callable[[Levels, Levels], float],
    top: Levels,
    epsilon: Fraction,
    steps: int,
    chance: Chance,
) -> tuple[Levels, int]:
    """Draw a node by the exponential mechanism, and also return how many nodes were scored.

    `scores` has of a node, and of one below it and its neighbours, the score.
    """
    rate = epsilon / (steps + 1) / (2 * (_PARTS + 1))
    pivot, known = top, {top: _whole(scores(top, top))}
    open_, drawn = [top], [top]
    for _ in range(steps):
        below = tuple(max(0, level - 1) for level in pivot)
        for node in _predecessors(pivot):
            if node not in known:
                known[node] = _whole(scores(node, below))
                open_.append(node)
        open_.remove(pivot)
        if not open_:
            break
        pivot = open_[chance.choose([known[node] for node in open_], rate)]
        drawn.append(pivot)
    return drawn[chance.choose([known[node] for node in drawn], rate)], len(known)


def _whole(score: float) -> int:
    return int(np.floor(score * _PARTS))


def _predecessors(levels: Levels) -> Iterator[Levels]:
    for a, level in enumerate(levels):
        if level:
            yield (*levels[:a], level - 1, *levels[a + 1 :])
