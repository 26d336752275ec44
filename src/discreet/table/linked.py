"""Rows that can be seen to belong together: the itemsets of units, and how many units share them.

A row's item is its tuple of values in some columns; a unit's itemset is the set of its distinct
items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.kernels import linked as kernels
from discreet.table.classes import classes_of, in_order


@dataclass(frozen=True)
class Failed:
    """Combinations of items that too few units share, or that have too few values.

    None contains another one.

    Attributes
    ----------
    combinations : ndarray of int32
        Items in ascending order, one row a combination; -1 after the last.
    support : ndarray of int64
        Units that hold each.
    holders : ndarray of int32
        These units, combination after combination.
    smallest : int
        Fewest units that hold any combination that was counted.
    """

    combinations: np.ndarray
    support: np.ndarray
    holders: np.ndarray
    smallest: int

    def part(self, chosen: np.ndarray) -> Failed:
        """Return some of the combinations."""
        holders = self.holders[np.repeat(chosen, self.support)]
        return Failed(self.combinations[chosen], self.support[chosen], holders, self.smallest)


@dataclass(frozen=True)
class Itemsets:
    """The distinct items of each unit, in ascending order, unit after unit.

    Attributes
    ----------
    starts, items : ndarray
        Those of unit u are `items[starts[u]:starts[u + 1]]`.
    entry : ndarray of int64
        Where each row's item is among them; -1 where it has none.
    size : int
        All items are below.
    """

    starts: np.ndarray
    items: np.ndarray
    entry: np.ndarray
    size: int

    @classmethod
    def of(cls, items: np.ndarray, units: np.ndarray) -> Itemsets:
        """Collect the items of units from the item, or -1 for none, and the unit of each row.

        Examples
        --------
        >>> found = Itemsets.of(np.array([2, 0, 2, 1]), np.array([0, 0, 0, 1]))
        >>> found.starts.tolist(), found.items.tolist(), found.entry.tolist()
        ([0, 2, 3], [0, 2, 1], [1, 0, 1, 2])
        """
        size, n_units = int(items.max(initial=-1)) + 1, int(units.max(initial=-1)) + 1
        items, units = (np.ascontiguousarray(x, np.int64) for x in (items, units))
        starts, held, entry = kernels.itemsets(items, units, size, n_units)
        return cls(starts, held, entry, size)

    @cached_property
    def owner(self) -> np.ndarray:
        """The unit of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of rows of each entry."""
        return np.bincount(self.entry[self.entry >= 0], minlength=len(self.items))

    @cached_property
    def support(self) -> np.ndarray:
        """The number of units that hold each item."""
        return np.bincount(self.items, minlength=self.size)

    @cached_property
    def sets(self) -> np.ndarray:
        """A number for each unit's whole itemset, the same for equal ones; -1 where it is empty."""
        return kernels.whole_sets(self.starts, self.items)

    @cached_property
    def units_of_sets(self) -> np.ndarray:
        """The number of units that have each whole itemset."""
        found = self.sets[self.sets >= 0]
        return np.bincount(found, minlength=int(self.sets.max(initial=-1)) + 1)

    def failed(
        self,
        k: int,
        m: int,
        values: np.ndarray | None = None,
        least: int = 0,
    ) -> Failed:
        """Find the combinations of at most m items of a unit that fewer than k units hold.

        With `values`, the confidential value of each row (-1 is none), also those whose rows, of
        the units that hold the combination, have fewer than `least` distinct values together. Of
        combinations that contain another one only the smallest are listed.

        Examples
        --------
        Two units have the items 0 and 1, and one each has 0 and 2 alone.

        >>> found = Itemsets.of(np.array([0, 1, 0, 1, 0, 2]), np.array([0, 0, 1, 1, 2, 3]))
        >>> found.failed(2, 2).combinations.tolist()
        [[2, -1]]
        >>> found.failed(3, 2).combinations.tolist()
        [[1, -1], [2, -1]]
        """
        held, n_values = self._values(None if least == 0 else values)
        sets = kernels.Sets(self.starts, self.items, self.owner, *held)
        room = np.array([len(self.items) + 16, 4 * len(self.items) + 16])
        while True:
            found = kernels.Found(
                np.full((room[0], m), -1, np.int32),
                np.zeros(room[0], np.int64),
                np.zeros(room[1], np.int32),
                np.zeros(2, np.int64),
            )
            smallest = kernels.failures(
                sets, self.size, n_values, k, least if n_values else 0, m, found
            )
            if (found.n <= room).all():
                break
            room = found.n
        count, holders = found.n
        listed = found.combinations[:count], found.support[:count], found.holders[:holders]
        return _minimal(Failed(*listed, int(smallest)), self.size)

    def _values(self, values: np.ndarray | None) -> tuple[tuple[np.ndarray, np.ndarray], int]:
        """Return the distinct values of each entry, and how many values there are."""
        if values is None:
            return (np.zeros(1, np.int64), np.empty(0, np.int64)), 0
        entries, held, size = self._pairs(np.arange(len(self.items)), values)
        starts = np.append(0, np.cumsum(np.bincount(entries, minlength=len(self.items))))
        return (starts, held), size

    def _pairs(self, groups: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the distinct pairs of an entry's group and a value, and how many values may be."""
        there = (values >= 0) & (self.entry >= 0)
        size = int(values.max(initial=0)) + 1
        group, value = np.divmod(in_order(groups[self.entry[there]] * size + values[there]), size)
        return group, value, size

    def values_of_sets(self, values: np.ndarray) -> np.ndarray:
        """Count the distinct values (-1 is none) that the units of each whole itemset have."""
        sets, _, _ = self._pairs(self.sets[self.owner], values)
        return np.bincount(sets, minlength=int(self.sets.max(initial=-1)) + 1)

    def marked(self, failed: Failed) -> np.ndarray:
        """Mark the rows that take part in one of some combinations."""
        found = kernels.marked(
            self.starts, self.items, failed.combinations, failed.support, failed.holders
        )
        return self.of_rows(found)

    def of_rows(self, entries: np.ndarray) -> np.ndarray:
        """Mark the rows of entries that are marked."""
        return np.append(entries, False)[self.entry]


def _minimal(failed: Failed, size: int) -> Failed:
    """Leave out the combinations that contain another one."""
    listed, m = failed.combinations, failed.combinations.shape[1]
    lengths = (listed >= 0).sum(axis=1)
    fine = np.full(len(listed), True)
    # Single items, and so pairs, are minimal already: items that fail are in no longer combination.
    for length in range(3, m + 1):
        longer = np.flatnonzero(lengths == length)
        for shorter in range(2, length):
            known = listed[lengths == shorter][:, :shorter]
            for chosen in combinations(range(length), shorter):
                both = np.concatenate([known, listed[longer][:, list(chosen)]])
                fine[longer] &= ~_among(both, len(known), size)
    return failed if fine.all() else failed.part(fine)


def _among(rows: np.ndarray, known: int, size: int) -> np.ndarray:
    """Tell which rows after the first `known` equal one of these."""
    ids, count = classes_of(rows.T.astype(np.int64), np.full(rows.shape[1], size))
    seen = np.zeros(count, bool)
    seen[ids[:known]] = True
    return seen[ids[known:]]
