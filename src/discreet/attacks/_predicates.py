"""Predicates on people, made of released cells, and how many people each is true of.

A condition is on a column: the person's value fits a released label, is null, or is at or beyond
the lowest or highest released number. A predicate is a conjunction of conditions on different
columns. Where one of the conditions is true of few people, only these are looked at. Otherwise
people are looked at in blocks: a condition is a bit for each of them, and a predicate the
conjunction of bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.attacks._reading import Reading

# Bits of people times conditions that are held at a time.
_BLOCK = 2**26
# Values times labels that are compared at a time.
_COMPARED = 2**24
# A condition that is true of fewer than one in so many people is looked at person by person.
_LISTED = 64


@dataclass(frozen=True)
class Column:
    """A column that conditions are on; their numbers are those of labels, and three more."""

    reading: Reading
    stand_in: np.ndarray  # the value that each label stands for; what tells nothing is none
    lowest: int  # the values below this are at or below the lowest released number
    highest: int  # the values from this on are at or above the highest

    @property
    def null(self) -> int:
        """The condition that a value is null; the next two are the ends."""
        return self.reading.n_labels

    @property
    def released(self) -> np.ndarray:
        """The value that each released record has, as far as its label tells."""
        return self.stand_in[self.reading.labels]

    def holds(self, values: np.ndarray, conditions: np.ndarray) -> np.ndarray:
        """Tell for which values conditions hold: (values, conditions) of bool."""
        some = conditions < self.null
        found = np.zeros((len(values), len(conditions)), bool)
        found[:, some] = self.reading.fit_some(values, conditions[some])
        there = values < self.reading.n_values
        ends = (
            values == self.reading.n_values,
            there & (values < self.lowest),
            there & (values >= self.highest),
        )
        for i, held in enumerate(ends):
            found[:, conditions == self.null + i] = held[:, None]
        return found


def column_of(reading: Reading) -> Column:
    """Make conditions of a column out of what was released of it."""
    found = np.full(reading.n_labels + 1, reading.n_values + 1, np.int64)
    lowest, highest = 0, reading.n_values
    if reading.n_labels and reading.n_values:
        if isinstance(reading.said, np.ndarray):
            known, said = np.asarray(reading.known), reading.said
            above = np.clip(np.searchsorted(known, said), 1, max(1, len(known) - 1))
            above = np.minimum(above, len(known) - 1)
            below = np.maximum(above - 1, 0)
            found[:-1] = np.where(known[above] - said < said - known[below], above, below)
            lowest = int(np.searchsorted(known, said.min(), side="right"))
            highest = int(np.searchsorted(known, said.max()))
        else:
            found[:-1] = _middles(reading)
    return Column(reading, found, lowest, highest)


def _middles(reading: Reading) -> np.ndarray:
    """Return the value in the middle of those that each label fits, by people."""
    found = np.full(reading.n_labels, reading.n_values + 1, np.int64)
    rest = np.arange(reading.n_labels)
    if not isinstance(reading.known, np.ndarray):
        same = pc.index_in(pa.array(reading.said), value_set=pa.array(reading.known))
        own = np.nan_to_num(same.to_numpy(zero_copy_only=False), nan=-1.0).astype(np.int64)
        found[own >= 0] = own[own >= 0]
        rest = np.flatnonzero(own < 0)
    people = np.bincount(reading.values, minlength=reading.n_values + 1)[: reading.n_values]
    step = max(1, _COMPARED // max(1, len(rest)))
    parts = [np.arange(a, min(a + step, len(people))) for a in range(0, len(people), step)]
    half = sum((people[one] @ reading.fit_some(one, rest) for one in parts), np.zeros(len(rest)))
    half = (half + 1) // 2
    upto = np.zeros(len(rest))
    for one in parts:
        sums = upto + np.cumsum(reading.fit_some(one, rest) * people[one][:, None], axis=0)
        here = (upto < half) & (sums[-1] >= half)
        found[rest[here]] = one[np.argmax(sums[:, here] >= half[here], axis=0)]
        upto = sums[-1]
    return found


@dataclass(frozen=True)
class Predicates:
    """Conjunctions of as many conditions each, at most; -1 is no column."""

    columns: Sequence[Column]
    of: np.ndarray  # (predicates, conditions): the columns
    conditions: np.ndarray

    def __len__(self) -> int:
        return len(self.of)

    def some(self, chosen: np.ndarray) -> Predicates:
        """Return some of them."""
        return Predicates(self.columns, self.of[chosen], self.conditions[chosen])

    def counts(self, people: Sequence[np.ndarray]) -> np.ndarray:
        """Count the people whom each is true of; `people` are their values by column."""
        found = np.zeros(len(self), np.int64)
        sizes = [
            np.bincount(values, minlength=column.reading.n_values + 2)
            for column, values in zip(self.columns, people, strict=True)
        ]
        fewest, least = self._fewest(sizes)
        listed = _LISTED * least < len(people[0])
        found[listed] = self.some(listed)._listed(people, sizes, fewest[listed])
        for _, bits in self.some(~listed).bits(people) if not listed.all() else ():
            found[~listed] += np.bitwise_count(bits).sum(axis=0, dtype=np.int64)
        return found

    def _fewest(self, sizes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the column whose condition is true of fewest people, and how many these are."""
        fewest, least = np.full(len(self), -1), np.full(len(self), np.inf)
        for i, (column, size) in enumerate(zip(self.columns, sizes, strict=True)):
            conditions = np.unique(self.conditions[self.of == i])
            values = np.flatnonzero(size)
            mass = _mass(column, values, size[values], conditions)
            for which, given in zip(self.of.T, self.conditions.T, strict=True):
                own = np.flatnonzero(which == i)
                true = mass[np.searchsorted(conditions, given[own])]
                own, true = own[true < least[own]], true[true < least[own]]
                fewest[own], least[own] = i, true
        return fewest, least

    def _listed(
        self, people: Sequence[np.ndarray], sizes: Sequence[np.ndarray], fewest: np.ndarray
    ) -> np.ndarray:
        """Count by a look at those of whom the condition on one column is true."""
        found = np.zeros(len(self), np.int64)
        step = max(1, _COMPARED // max(map(len, sizes)))
        for i in np.unique(fewest):
            order, ends = np.argsort(people[i], kind="stable"), np.cumsum(sizes[i])
            own = np.flatnonzero(fewest == i)
            for chosen in np.split(own, range(step, len(own), step)):
                held = self._held(chosen, sizes)
                for one in chosen:
                    asked = {j: held[j, c] for j, c in self._asked(one)}
                    values = np.flatnonzero(asked.pop(i))
                    first = ends[values] - sizes[i][values]
                    if len(values) and values[-1] - values[0] + 1 == len(values):
                        first, values = first[:1], values[-1:]
                    parts = [order[a:b] for a, b in zip(first, ends[values], strict=True)]
                    rows = parts[0] if len(parts) == 1 else np.concatenate([order[:0], *parts])
                    for j, true in asked.items():
                        rows = rows[true[people[j][rows]]]
                    found[one] = len(rows)
        return found

    def _asked(self, one: int) -> list[tuple[int, int]]:
        """Return the columns and conditions of a predicate."""
        pairs = zip(self.of[one].tolist(), self.conditions[one].tolist(), strict=True)
        return [(i, condition) for i, condition in pairs if i >= 0]

    def _held(
        self, chosen: np.ndarray, sizes: Sequence[np.ndarray]
    ) -> dict[tuple[int, int], np.ndarray]:
        """Tell for which values the conditions of some predicates hold, by column and condition."""
        found: dict[tuple[int, int], np.ndarray] = {}
        for i, (column, size) in enumerate(zip(self.columns, sizes, strict=True)):
            conditions = np.unique(self.conditions[chosen][self.of[chosen] == i])
            true = np.ascontiguousarray(column.holds(np.arange(len(size)), conditions).T)
            found |= {(i, c): row for c, row in zip(conditions.tolist(), true, strict=True)}
        return found

    def bits(self, people: Sequence[np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield which people, and a bit for each: (people / 8, predicates) of uint8."""
        asked = [np.unique(self.conditions[self.of == i]) for i in range(len(self.columns))]
        widest = max([len(self), *map(len, asked)])
        n = len(people[0])
        step = max(8, _BLOCK // max(1, widest) // 8 * 8)
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            yield part, self._bits([one[part] for one in people], asked)

    def _bits(self, people: Sequence[np.ndarray], asked: Sequence[np.ndarray]) -> np.ndarray:
        n = len(people[0])
        found = np.repeat(np.packbits(np.ones(n, bool))[:, None], len(self), axis=1)
        for i, (column, values, conditions) in enumerate(
            zip(self.columns, people, asked, strict=True)
        ):
            if not len(conditions):
                continue
            distinct, place = np.unique(values, return_inverse=True)
            held = np.packbits(column.holds(distinct, conditions)[place], axis=0)
            for which, given in zip(self.of.T, self.conditions.T, strict=True):
                own = np.flatnonzero(which == i)
                found[:, own] &= held[:, np.searchsorted(conditions, given[own])]
        return found

    def shares(
        self, people: Sequence[np.ndarray], times: Sequence[np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the share of people whom each would be true of if columns were independent.

        `times` is how many people have each of the values of a column, if it is not one.
        """
        found = np.ones(len(self))
        for i, (column, values) in enumerate(zip(self.columns, people, strict=True)):
            conditions = np.unique(self.conditions[self.of == i])
            if not len(conditions):
                continue
            distinct, place = np.unique(values, return_inverse=True)
            count = np.bincount(place, None if times is None else times[i])
            share = _mass(column, distinct, count, conditions) / count.sum()
            for which, given in zip(self.of.T, self.conditions.T, strict=True):
                own = which == i
                found[own] *= share[np.searchsorted(conditions, given[own])]
        return found


def _mass(
    column: Column, values: np.ndarray, count: np.ndarray, conditions: np.ndarray
) -> np.ndarray:
    found = np.zeros(len(conditions))
    step = max(1, _COMPARED // max(1, len(conditions)))
    for first in range(0, len(values), step):
        part = slice(first, first + step)
        found += count[part] @ column.holds(values[part], conditions)
    return found
