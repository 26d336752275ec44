"""An evolutionary search: children of the points of the front, raced against it.

After NSGA-II (Deb et al. 2002), with the front itself as the population: parents are taken where
the front has gaps, a child mixes two of them that are near each other, and some of its parts move
a few places along their options in order of loss.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.tuning.estimate import Estimate
from discreet.tuning.lagrange import Ladder
from discreet.tuning.pareto import crowding, gain, on_map
from discreet.tuning.space import Choice, Part, settled
from discreet.tuning.trials import Trials

# Parts of a child that are changed, on average.
_CHANGED = 1.5
# Of the changes, those that go up to so many places along the order of loss; others go anywhere.
_NEAR, _PLACES = 0.6, 3
# Children in a row that were all seen before, after which there is nothing more to find.
_SEEN = 2_000
# Children of which the most promising is judged, the share of times that any is, and the share of
# children that have two parents.
_LITTER = 32
_FOUND = 0.97
_BLIND = 0.2
_MIXED = 0.5
# How often a column that is treated by itself joins those that are treated together.
_JOINS = 0.25
# One in so many children is dear: what is done to columns together is made anew for it.
_DEAR = 10


def evolve(trials: Trials, parts: Sequence[Part], found: Sequence[Ladder], seed: int) -> None:
    """Judge children of what was judged, until the budget is spent or nothing new comes up."""
    breed = _Breed(trials, parts, found, seed)
    while child := breed.best_child():
        breed.met.update(breed.made_anew(child.choice))
        trials.race(child.choice)
        breed.learn(child)


@dataclass(frozen=True)
class _Child:
    choice: Choice
    parent: Choice


class _Breed:
    """What makes children."""

    def __init__(
        self, trials: Trials, parts: Sequence[Part], found: Sequence[Ladder], seed: int
    ) -> None:
        self.trials, self.parts, self.found = trials, parts, found
        self.free = [number for number, part in enumerate(parts) if len(part.options) > 1]
        self.random = random.Random(seed).random
        self.estimate = Estimate(parts, found, trials.rows)
        self.joint = [number for number, part in enumerate(parts) if part.joint]
        self.met = {key for choice in trials.seen for key in self.made_anew(choice)}
        self.children = 0

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def best_child(self) -> _Child | None:
        """Return the most promising of some children, mostly; None if all were seen before."""
        parents = self._parents()
        spots = [] if self.trials.single else [self._spot(choice) for choice in parents]
        room, blind = crowding(spots), self.trials.single or self.random() < _BLIND
        self.children += 1
        wanted = self.children % _DEAR == 0
        litter: dict[Choice, _Child] = {}
        others: dict[Choice, _Child] = {}
        for tries in range(_SEEN if self.free else 0):
            child = self._child(parents, room)
            if child.choice not in self.trials.seen:
                dear = not self.met.issuperset(self.made_anew(child.choice))
                (litter if dear == wanted else others).setdefault(child.choice, child)
            enough = blind or len(litter) == _LITTER or tries > 3 * _LITTER
            if (litter and enough) or (others and tries > 5 * _LITTER):
                break
        litter = litter or others
        known = [one for one in litter.values() if self.estimate.alike(one.parent, one.choice)]
        if blind or not known:
            return next(iter(litter.values()), None)
        front = [self._spot(choice) for choice in self.trials.front]
        return max(known, key=lambda one: round(gain(front, self._expected(one)), 9))

    def made_anew(self, choice: Choice) -> list[tuple[int, ...]]:
        """Return what is made for a choice of columns together, where that takes long."""
        found = []
        for number in self.joint:
            option = self.parts[number].options[choice[number]]
            if option.steps and not option.rest:
                own = [] if option.alone else self._own(number)
                found.append((number, choice[number], *(choice[part] for part in own)))
        return found

    def _own(self, joint: int) -> list[int]:
        """Return the parts of the columns of a joint part."""
        columns = set(self.parts[joint].columns)
        return [
            number
            for number, part in enumerate(self.parts)
            if not part.joint and columns.intersection(part.columns)
        ]

    def learn(self, child: _Child) -> None:
        """Take note of what a child turned out to be."""
        figures = self.trials.last
        if self.trials.single or not self.estimate.alike(child.parent, child.choice):
            return
        if figures is not None:
            spot = on_map(figures, self.trials.rows)
            self.estimate.learn(child.parent, self._spot(child.parent), child.choice, spot)

    def _spot(self, choice: Choice) -> tuple[float, float]:
        return on_map(self.trials.judged[choice], self.trials.rows)

    def _expected(self, child: _Child) -> tuple[float, float]:
        return self.estimate.of(child.parent, self._spot(child.parent), child.choice)

    def _child(self, parents: list[Choice], room: list[float]) -> _Child:
        """Return a child of a point: one part or two moved, or mixed with another point."""
        first, second = self._pair(len(parents), room)
        parent, other = parents[first], parents[second]
        child = list(parent)
        if self.random() < _MIXED:
            child = [a if self.random() < 0.5 else b for a, b in zip(parent, other, strict=True)]
            rate = _CHANGED / max(1, len(self.free))
            changed = [part for part in self.free if self.random() < rate]
        else:
            changed = [self.free[self.below(len(self.free))] for _ in range(1 + self.below(2))]
        for part in changed:
            child[part] = 0 if self._joins(part, child) else self._moved(part, child[part])
        choice = settled(self.parts, tuple(child))
        # It is compared with the parent that treats columns together as it does.
        if not self.estimate.alike(parent, choice) and self.estimate.alike(other, choice):
            parent = other
        return _Child(choice, parent)

    def _joins(self, part: int, child: list[int]) -> bool:
        """Whether a column is treated as the rest is from now on."""
        own = self.parts[part]
        return any(
            self.parts[number].options[child[number]].rest
            and set(own.columns) <= set(self.parts[number].columns)
            and self.random() < _JOINS
            for number in (() if own.joint else self.joint)
        )

    def _parents(self) -> list[Choice]:
        """Return the front, or those whose single figure is best."""
        trials = self.trials
        if trials.single:
            return [choice for *_, choice in trials.best_first]
        # Where nearly all are found, nothing is won by small steps.
        found = [choice for choice in trials.front if trials.judged[choice].risk <= _FOUND]
        return found or trials.front

    def _pair(self, n: int, room: list[float]) -> tuple[int, int]:
        """Return the places of two parents: one where the front has room, and one near it."""
        first, rival = self.below(n), self.below(n)
        if self.trials.single:
            return min(first, rival), self.below(n)
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
