"""Records collapsed to distinct tuples of codes with counts: what a search works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.generalization._distinct import counted
from discreet.generalization.ladder import Ladder
from discreet.generalization.privacy import Bound
from discreet.kernels import lattice as kernels
from discreet.kernels.lattice import Lattice, Table

_WORD = 64


@dataclass(frozen=True)
class Tuples:
    """Distinct tuples with counts: the classes of the bottom node of a lattice, one each tuple."""

    lattice: Lattice
    table: Table

    @property
    def n(self) -> int:
        """Records."""
        return int(self.table.counts.sum())

    @property
    def d(self) -> int:
        """Columns."""
        return len(self.lattice.height)

    def codes(self, a: int) -> np.ndarray:
        """Return the leaf of column a in each tuple."""
        words = self.table.keys[self.lattice.word[a]]
        return ((words >> self.lattice.shift[a]) & self.lattice.mask[a]).astype(np.int32)

    def labels(self, a: int, level: int) -> np.ndarray:
        """Return the label of column a in each tuple at a level."""
        return self.lattice.up[self.lattice.step[a, 0, level] + self.codes(a)]

    def marginal(self, a: int) -> np.ndarray:
        """Return the records at each leaf of column a."""
        size = int(self.lattice.domain[a])
        return np.bincount(self.codes(a), self.table.counts, size).astype(np.int64)

    def part(self, chosen: np.ndarray) -> Tuples:
        """Take some of the tuples."""
        rows = np.flatnonzero(chosen).astype(np.int32)
        keys, table = kernels.take(self.table.keys, rows), self.table
        starts, values, numbers = _some(chosen, table.starts, table.values, table.numbers)
        since, holdings = _some(chosen, table.shared.starts, table.shared.holdings)
        shared = table.shared._replace(starts=since, holdings=holdings)
        counts = table.counts[chosen]
        return Tuples(self.lattice, Table(keys, counts, starts, values, numbers, shared))

    def sizes(self, units: int) -> np.ndarray:
        """Return what k counts in each tuple: records, or the units that are at a place.

        Units are exact below k only.
        """
        if units < 0:
            return self.table.counts
        found, shared = self.own(units), self.table.shared
        if len(shared.starts) > 1:
            here = shared.place[shared.holdings] == units
            found += _per_tuple(shared.starts, here)
        return found

    def holds(self, first: int, last: int) -> np.ndarray:
        """Tell which tuples have a value among some places."""
        table, shared = self.table, self.table.shared
        found = _per_tuple(table.starts, (table.values >= first) & (table.values < last))
        if len(shared.starts) > 1:
            places = shared.place[shared.holdings]
            found += _per_tuple(shared.starts, (places >= first) & (places < last))
        return found > 0

    def own(self, units: int) -> np.ndarray:
        """Return the units of each tuple that no other has, which are at a place."""
        table = self.table
        return _per_tuple(table.starts, table.values == units, table.numbers)


def _some(chosen: np.ndarray, starts: np.ndarray, *entries: np.ndarray) -> list[np.ndarray]:
    """Take the entries of some tuples, and where each now starts."""
    if len(starts) <= 1:
        return [starts, *entries]
    sizes = np.diff(starts)
    kept = np.repeat(chosen, sizes)
    return [np.append(0, np.cumsum(sizes[chosen])), *(entry[kept] for entry in entries)]


def _per_tuple(
    starts: np.ndarray, chosen: np.ndarray, numbers: np.ndarray | None = None
) -> np.ndarray:
    """Count the entries that are chosen, tuple by tuple, or add up their numbers."""
    of_entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    numbers = None if numbers is None else numbers[chosen]
    return counted(of_entry[chosen], len(starts) - 1, numbers)


def lay_out(ladders: Sequence[Ladder]) -> Lattice:
    """Write hierarchies as flat arrays."""
    d, levels = len(ladders), max(ladder.height for ladder in ladders) + 1
    step = np.full((d, levels, levels), -1, np.int64)
    first = np.full((d, levels + 1), -1, np.int64)
    up: list[np.ndarray] = []
    leaves: list[np.ndarray] = []
    steps = labels = 0
    for a, ladder in enumerate(ladders):
        for u in range(ladder.height + 1):
            size = len(ladder.labels[u])
            first[a, u] = labels
            leaves.append(np.bincount(ladder.maps[u], minlength=size))
            labels += size
            first[a, u + 1] = labels
            for v in range(u, ladder.height + 1):
                # Levels nest, so that any leaf under a label says what it becomes.
                becomes = np.zeros(size, np.int32)
                becomes[ladder.maps[u]] = ladder.maps[v]
                step[a, u, v] = steps
                up.append(becomes)
                steps += size
    word, shift, mask = places([len(ladder.leaves) for ladder in ladders])
    return Lattice(
        word,
        shift,
        mask,
        np.concatenate(up),
        step,
        np.concatenate(leaves).astype(np.float64),
        first,
        np.array([len(ladder.leaves) for ladder in ladders], np.float64),
        np.array([ladder.height for ladder in ladders], np.int64),
    )


def places(sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each column its bits in a key of 64-bit words."""
    word, shift, mask = [], [], []
    w = used = 0
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        if used + bits > _WORD:
            w, used = w + 1, 0
        word.append(w)
        shift.append(used)
        mask.append((1 << bits) - 1)
        used += bits
    return np.array(word, np.int64), np.array(shift, np.uint64), np.array(mask, np.uint64)


def collapse(
    lattice: Lattice,
    codes: Sequence[np.ndarray],
    bound: Bound,
    weights: np.ndarray | None = None,
) -> tuple[Tuples, np.ndarray]:
    """Collapse rows to distinct tuples; also return the tuple of each row.

    `codes` are by column the leaf of each row, and `bound` has the confidential codes of the same
    rows. `weights` are the records of each row, one each by default.
    """
    keys, ids, first = number_tuples(codes, lattice.word, lattice.shift)
    weights = np.empty(0, np.int64) if weights is None else weights
    counts = kernels.count(ids, len(first), weights)
    if bound.holdings is not None:
        kept = _held(ids, len(first), bound)
    elif len(bound.codes):
        kept = kernels.tally(ids, len(first), bound.codes, len(bound.rules.q), weights)
    else:
        # The population may be counted there.
        starts = np.zeros(len(first) + 1 if bound.rules.population >= 0 else 1, np.int64)
        kept = starts, np.empty(0, np.int32), np.empty(0, np.int64)
    return Tuples(lattice, Table(kernels.take(keys, first), counts, *kept)), ids


def with_population(
    tuples: Tuples, codes: Sequence[np.ndarray], counts: np.ndarray, place: int
) -> Tuples:
    """Count a population's tuples at a place; those that it alone has follow, with no record.

    `codes` are by column the leaf of each of its tuples, and `counts` the records of these.
    """
    lattice, table = tuples.lattice, tuples.table
    there = len(table.counts)
    together = [np.append(tuples.codes(a), more) for a, more in enumerate(codes)]
    keys, ids, first = number_tuples(together, lattice.word, lattice.shift)
    # The tuples of the sample come first, so that each keeps its number.
    numbers = counted(ids[there:], len(first), counts)
    own = np.zeros(len(first), np.int64)
    if len(table.starts) > 1:
        own[:there] = np.diff(table.starts)
    starts = np.append(0, np.cumsum(own + (numbers > 0)))
    last = np.zeros(starts[-1], bool)
    last[starts[1:][numbers > 0] - 1] = True
    values, many = np.full(starts[-1], place, np.int32), np.empty(starts[-1], np.int64)
    values[~last], many[~last], many[last] = table.values, table.numbers, numbers[numbers > 0]
    records = np.append(table.counts, np.zeros(len(first) - there, np.int64))
    return Tuples(lattice, Table(kernels.take(keys, first), records, starts, values, many))


def _held(ids: np.ndarray, classes: int, bound: Bound) -> tuple[Any, ...]:
    """Return the histograms of holdings, and those that several tuples share."""
    assert bound.holdings is not None
    rules, held = bound.rules, bound.holdings
    exact = np.append(np.isin(np.arange(len(bound.codes)), rules.kinds[:, 1]), True)
    *kept, starts, listed = kernels.hold(ids, classes, held.of_row, held.place, exact, rules)
    if not len(listed):
        return *kept, kernels.NOTHING_SHARED
    return *kept, kernels.Shared(
        starts, listed, held.place, rules.units, rules.k, not exact[:-1].any()
    )


def number_tuples(
    codes: Sequence[np.ndarray], word: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Assign one number to equal tuples of codes, in the order of their first appearance.

    Returns the keys (words by rows), the number of each row, and the first row of each number.
    """
    n = len(codes[0])
    if n >= 2**31:
        raise BadInput(f"{n:,} records are too many; generalize fewer than 2,147,483,648 at a time")
    keys = np.zeros((int(word.max()) + 1, n), np.uint64)
    for a, column in enumerate(codes):
        kernels.pack(np.ascontiguousarray(column, np.int32), keys[word[a]], shift[a])
    return keys, *kernels.number(kernels.fold(keys), float(n))
