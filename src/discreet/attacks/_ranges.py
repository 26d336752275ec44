"""Tight ranges and sets: what the ends of a class's range, and the members of its set, give away.

`mondrian` replaces the values of a class by the range, or the set, that they span. So somebody in
the class has the lower end and somebody the upper one, and every member of a set is had by
somebody. Two records of `41-44` are 41 and 44.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.attacks._planned import TOP, numbered, places_of
from discreet.errors import BadInput
from discreet.table.cells import plain
from discreet.table.columns import float_values


@dataclass
class Told:
    """Counts of records and cells."""

    cells: int = 0
    records: int = 0
    made_up: int = 0
    right: int = 0
    guessed: int = 0


def told_by_ranges(
    table: pa.Table, plan: Mapping[str, Any], counts: np.ndarray, trees: Collection[str]
) -> Told:
    """Count what tight labels tell; `trees` names the columns whose labels are of a hierarchy."""
    names = list(plan["labels"])
    codes, of_row, alone = classes_of_rows(table, plan)
    sizes = np.bincount(of_row[of_row >= 0], counts[of_row >= 0], len(plan["sizes"]))
    found, opened, whole = Told(), np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
    for name in names:
        one = _Column(plan["labels"][name], codes[name], of_row, counts, sizes, alone)
        if "lower" in plan["labels"][name]:
            values = np.asarray(plan["tuples"]["values"][name], np.float64)
            one.ranges(values)
        else:
            one.sets(name in trees)
        found.cells += int(sizes[one.open].sum())
        found.right += one.count(one.child)
        found.guessed += one.count(one.guess)
        opened |= one.open
        whole |= one.whole
    found.records, found.made_up = int(sizes[opened].sum()), int(sizes[whole].sum())
    return found


def classes_of_rows(
    table: pa.Table, plan: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return the codes of each column, the class of each row, and which classes look like no other.

    A null has the code -1, and so has a suppressed row as its class.
    """
    if "tuples" not in plan or plan["null_policy"] not in ("segregate", "value", "suppress"):
        raise BadInput(
            "attacks on `mondrian` are on strict cuts, and on null_policy = 'segregate', 'value' "
            "or 'suppress'"
        )
    names = list(plan["labels"])
    codes = {name: _codes(table[name], plan["tuples"]["values"][name], name) for name in names}
    known = np.array([np.asarray(plan["tuples"]["codes"][name]) + 1 for name in names])
    place = places_of(known, np.array([codes[name] + 1 for name in names]))
    of_row = np.append(np.asarray(plan["tuples"]["classes"], np.int64), -1)[place]
    _, look = numbered([np.asarray(plan["labels"][name]["label"]) + 1 for name in names])
    # Classes that look alike are one to who sees them, and none of them is told from its size.
    return codes, of_row, np.bincount(look)[look] == 1


class _Column:
    """A column of the classes: which stand for several values, and what is guessed of each."""

    def __init__(
        self,
        labels: Mapping[str, Any],
        codes: np.ndarray,
        of_row: np.ndarray,
        counts: np.ndarray,
        sizes: np.ndarray,
        alone: np.ndarray,
    ) -> None:
        self.labels, self.codes, self.of_row, self.counts = labels, codes, of_row, counts
        self.sizes = sizes
        self.label = np.asarray(labels["label"], np.int64)
        n = len(sizes)
        self.open, self.whole = np.zeros(n, bool), np.zeros(n, bool)
        self.guess, self.child = np.full(n, -1), np.full(n, -1)
        there = codes >= 0
        self.share = np.bincount(codes[there], counts[there]) / max(counts.sum(), 1)
        # A star may stand for anything.
        texts = np.append(np.asarray(labels["labels"], object), TOP)
        self.said = (
            alone & (self.label >= 0) & np.array([text != TOP for text in texts])[self.label]
        )

    def count(self, guess: np.ndarray) -> int:
        """Count the records whose value is what is guessed of their class."""
        there = (self.of_row >= 0) & (self.codes >= 0)
        rows = np.flatnonzero(there & np.append(self.open, False)[self.of_row])
        hit = rows[self.codes[rows] == guess[self.of_row[rows]]]
        return int(self.counts[hit].sum())

    def ranges(self, values: np.ndarray) -> None:
        """Guess the values of ranges; each end is somebody's."""
        share = np.zeros(len(values))
        share[: len(self.share)] = self.share
        for number in range(len(self.sizes)):
            label, n = self.label[number], int(self.sizes[number])
            if label < 0 or n == 0:
                continue
            low = int(np.searchsorted(values, self.labels["lower"][label], "left"))
            high = int(np.searchsorted(values, self.labels["upper"][label], "right")) - 1
            if high <= low:
                continue
            p = share[low : high + 1] / max(share[low : high + 1].sum(), 1e-300)
            self.open[number] = True
            self.guess[number] = self.child[number] = low + int(np.argmax(p))
            if self.said[number]:
                self.child[number] = low + int(np.argmax(given_ends(p, n)))
                self.whole[number] = n == 2

    def sets(self, of_tree: bool) -> None:
        """Guess the values of sets; each member is somebody's, unless a hierarchy named them."""
        ends = np.append(0, np.asarray(self.labels["ends"], np.int64))
        members = np.asarray(self.labels["members"], np.int64)
        share = np.zeros(max(len(self.share), int(members.max(initial=-1)) + 1))
        share[: len(self.share)] = self.share
        for number in range(len(self.sizes)):
            label, n = self.label[number], int(self.sizes[number])
            if label < 0 or n == 0:
                continue
            held = members[ends[label] : ends[label + 1]]
            held = held[share[held] > 0]
            if len(held) < 2:
                continue
            self.open[number] = True
            self.guess[number] = self.child[number] = held[np.argmax(share[held])]
            self.whole[number] = self.said[number] and not of_tree and n == len(held)


def given_ends(p: np.ndarray, n: int) -> np.ndarray:
    """Return how likely each value is for one of n records, given that the first and last occur.

    By inclusion and exclusion, from the values' shares p.

    Examples
    --------
    Two records of three values are the first and the last:

    >>> given_ends(np.array([0.1, 0.8, 0.1]), 2).round(3).tolist()
    [0.5, 0.0, 0.5]
    """
    a, b = p[0], p[-1]

    def both(m: int) -> float:
        return float(1 - (1 - a) ** m - (1 - b) ** m + max(1 - a - b, 0.0) ** m)

    found = p * both(n - 1)
    found[0] = a * (1 - (1 - b) ** (n - 1))
    found[-1] = b * (1 - (1 - a) ** (n - 1))
    found = np.maximum(found, 0.0)
    return found / max(float(found.sum()), 1e-300)


def _codes(column: pa.ChunkedArray, values: Any, name: str) -> np.ndarray:
    """Return the place of each cell among the plan's values, -1 for a null."""
    known = np.asarray(values)
    if known.dtype.kind == "f":
        numbers = float_values(column, name)
        place = np.searchsorted(known, numbers)
        found = np.where(np.isnan(numbers), -1, np.minimum(place, len(known) - 1))
        return found
    coded = plain(column).combine_chunks().dictionary_encode()
    texts = coded.dictionary.cast(pa.string())
    place = pc.fill_null(pc.index_in(texts, value_set=pa.array(known, pa.string())), -1).to_numpy()
    rows = pc.fill_null(coded.indices, len(place)).to_numpy(zero_copy_only=False)
    return np.append(place, -1)[rows].astype(np.int64)
