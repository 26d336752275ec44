"""An evolutionary search: children of the points of the front, raced against it.

After NSGA-II (Deb et al. 2002), with the front itself as the population: parents are taken where
the front has gaps, a child mixes two of them that are near each other, and some of its parts move
a few places along their options in order of loss.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from discreet.tuning.lagrange import Ladder
from discreet.tuning.pareto import crowding, on_map
from discreet.tuning.space import Choice, Part
from discreet.tuning.trials import Trials

# Parts of a child that are changed, on average.
_CHANGED = 1.5
# Of the changes, those that go up to so many places along the order of loss; others go anywhere.
_NEAR, _PLACES = 0.6, 3
# Children in a row that were all seen before, after which there is nothing more to find.
_SEEN = 2_000


def evolve(trials: Trials, parts: Sequence[Part], found: Sequence[Ladder], seed: int) -> None:
    """Judge children of what was judged, until the budget is spent or nothing new comes up."""
    breed = _Breed(trials, parts, found, seed)
    in_a_row = 0
    while in_a_row < _SEEN:
        child = settled(parts, breed.child())
        if child in trials.seen:
            in_a_row += 1
        else:
            in_a_row = 0
            trials.race(child)


def settled(parts: Sequence[Part], choice: Choice) -> Choice:
    """Return a choice with the first option in every part that another part decides alone."""
    decided = {
        column
        for part, option in zip(parts, choice, strict=True)
        if part.options[option].alone
        for column in part.columns
    }
    if not decided:
        return choice
    return tuple(
        option if part.joint or not decided.issuperset(part.columns) else 0
        for part, option in zip(parts, choice, strict=True)
    )


class _Breed:
    """What makes children."""

    def __init__(
        self, trials: Trials, parts: Sequence[Part], found: Sequence[Ladder], seed: int
    ) -> None:
        self.trials, self.found = trials, found
        self.free = [number for number, part in enumerate(parts) if len(part.options) > 1]
        self.random = random.Random(seed).random

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def child(self) -> Choice:
        """Return a child of two points that are near each other."""
        parents = self._parents()
        one, other = (list(parents[place]) for place in self._pair(parents))
        child = [a if self.random() < 0.5 else b for a, b in zip(one, other, strict=True)]
        rate = _CHANGED / max(1, len(self.free))
        changed = [part for part in self.free if self.random() < rate]
        if not changed and tuple(child) in (tuple(one), tuple(other)) and self.free:
            changed = [self.free[self.below(len(self.free))]]
        for part in changed:
            child[part] = self._moved(part, child[part])
        return tuple(child)

    def _parents(self) -> list[Choice]:
        """Return the front, or those whose single figure is best."""
        trials = self.trials
        return [choice for *_, choice in trials.best_first] if trials.single else trials.front

    def _pair(self, parents: list[Choice]) -> tuple[int, int]:
        """Return the places of two parents: one where the front has room, and one near it."""
        n = len(parents)
        first, rival = self.below(n), self.below(n)
        if self.trials.single:
            return min(first, rival), self.below(n)
        points = [on_map(self.trials.judged[choice], self.trials.rows) for choice in parents]
        room = crowding(points)
        if room[rival] > room[first]:
            first = rival
        near = first + (1 + self.below(_PLACES)) * (1 if self.random() < 0.5 else -1)
        return first, min(n - 1, max(0, near))

    def _moved(self, part: int, option: int) -> int:
        """Return another option of a part: mostly one that loses about as much."""
        ladder = self.found[part]
        if self.random() >= _NEAR:
            return ladder.options[self.below(len(ladder.options))]
        order = ladder.good if option in ladder.good else ladder.options
        step = (1 + self.below(_PLACES)) * (1 if self.random() < 0.5 else -1)
        place = order.index(option) + step
        return order[min(len(order) - 1, max(0, place))]
