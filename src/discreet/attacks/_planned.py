"""A table as the plan of a generalization sees it: leaves, levels, and the class of each tuple.

Attacks on a minimal generalization argue about classes, which the release shows, and about finer
labels, which it does not. Both are numbers here: a label's place on its level, nulls last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.cells import plain

TOP = "*"


@dataclass(frozen=True)
class Column:
    """A column's hierarchy: what each leaf is at every level, and the share of records it has.

    The last leaf is the null, which stays a null below the top.
    """

    name: str
    at: list[np.ndarray]  # by level, the label of each leaf
    texts: list[np.ndarray]  # by level, the labels as they are released; None is the null
    share: np.ndarray  # of all records, by leaf

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.at) - 1

    def up(self, low: int, high: int) -> np.ndarray:
        """Return what each label of a level is at a higher one."""
        above = np.zeros(len(self.texts[low]), np.int64)
        above[self.at[low]] = self.at[high]
        return above

    def shares(self, level: int) -> np.ndarray:
        """Return the share of records under each label of a level."""
        return np.bincount(self.at[level], self.share, len(self.texts[level]))

    def within(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of each lower label in its higher one, and the values that occur there.

        The second is by higher label: how many of its lower labels have records at all.
        """
        share, above = self.shares(low), self.up(low, high)
        there = share > 0
        held = np.bincount(above, share, len(self.texts[high]))[above]
        number = np.bincount(above[there], minlength=len(self.texts[high]))
        return np.divide(share, held, out=np.zeros_like(share), where=held > 0), number

    def below(self, level: int) -> np.ndarray:
        """Return of each label the next lower level that tells some of its records apart, or -1."""
        found = np.full(len(self.texts[level]), -1)
        for low in range(level):
            found[self.within(low, level)[1] > 1] = low
        return found


@dataclass(frozen=True)
class Shown:
    """The classes of one round of one group, as they are released."""

    levels: tuple[int, ...]
    labels: np.ndarray  # by column and class
    sizes: np.ndarray
    tuples: np.ndarray  # the numbers of the tuples that they hold
    of_tuple: np.ndarray  # and the class of each
    known: np.ndarray  # whether its labels tell of which round a class is


@dataclass(frozen=True)
class Group:
    """Records that were generalized together; the rounds that kept them, in order."""

    rounds: list[Shown]
    left: np.ndarray  # the numbers of the tuples that are suppressed
    starred: bool  # whether these are released, as stars that could be of no other group
    proofs: list[Mapping[str, Any]]


class Planned:
    """A table's distinct tuples, with what the plan of a generalization makes of them."""

    def __init__(self, table: pa.Table, plan: Mapping[str, Any], counts: Any = None) -> None:
        if plan.get("kind") != "generalize":
            raise BadInput(
                "this attack is on plans of `generalize`, and this one is of another method"
            )
        names = list(plan["hierarchies"])
        n = np.ones(len(table), np.int64) if counts is None else np.asarray(counts, np.int64)
        coded = [_leaves(table[name], plan["hierarchies"][name], name) for name in names]
        first, of_row = numbered([leaf for leaf, _ in coded])
        self.of_row = of_row
        self.counts = np.bincount(of_row, n, len(first)).astype(np.int64)
        self.leaf = np.array([leaf[first] for leaf, _ in coded])
        self.columns = [
            _column(name, plan["hierarchies"][name], nulls, leaf, n)
            for name, (leaf, nulls) in zip(names, coded, strict=True)
        ]
        self.plan = plan

    @property
    def names(self) -> list[str]:
        """The treated columns."""
        return [column.name for column in self.columns]

    def at(self, a: int, level: int, tuples: np.ndarray) -> np.ndarray:
        """Return what a column of some tuples is at a level."""
        return self.columns[a].at[level][self.leaf[a][tuples]]

    @cached_property
    def groups(self) -> list[Group]:
        """The groups, with the classes that each round kept."""
        of_tuple = self._groups_of_tuples()
        described = self.plan["groups"]
        several = len(described) > 1
        made = []
        for number, group in enumerate(described):
            left = np.flatnonzero(of_tuple == number)
            rounds, single = [], False
            for one in group["rounds"]:
                levels = tuple(int(one["levels"][name]) for name in self.names)
                labels = np.array([self._labels(a, levels[a], one) for a in range(len(levels))])
                at = np.array([self.at(a, levels[a], left) for a in range(len(levels))])
                place = places_of(labels, at)
                kept = place >= 0
                sizes = np.bincount(place[kept], self.counts[left[kept]], labels.shape[1])
                sizes = sizes.astype(np.int64)
                single |= bool((sizes != np.asarray(one["sizes"])).any())
                rounds.append(Shown(levels, labels, sizes, left[kept], place[kept], np.empty(0)))
                left = left[~kept]
            if group["treatment"] == "append":
                left = left[:0]
            # Where single rows of classes are suppressed too, a star may be what was shown.
            starred = bool(len(left)) and not (several or single or group["left_out"])
            proofs = [one["certificate"] for one in group["rounds"]]
            made.append(Group(rounds, left, starred, proofs))
        return _with_known(made, self.columns, several)

    def _labels(self, a: int, level: int, one: Mapping[str, Any]) -> np.ndarray:
        codes = np.asarray(one["classes"][self.names[a]], np.int64)
        return np.where(codes < 0, len(self.columns[a].texts[level]) - 1, codes)

    def _groups_of_tuples(self) -> np.ndarray:
        nulls = {
            name: self.leaf[a] == len(self.columns[a].share) - 1
            for a, name in enumerate(self.names)
        }
        deficient = np.any(list(nulls.values()), axis=0)
        found = np.full(len(self.counts), -1)
        for number, group in enumerate(self.plan["groups"]):
            if group["group"] == "all":
                found[:] = number
            elif group["group"] == "without nulls":
                found[~deficient] = number
            elif group["patterns"] is None:
                found[deficient] = number
            else:
                for pattern in group["patterns"]:
                    same = [nulls[name] == (name in pattern) for name in self.names]
                    found[np.all(same, axis=0)] = number
        return found


def numbered(keys: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Give distinct tuples numbers: return the first row of each, and the number of each row.

    Examples
    --------
    >>> [found.tolist() for found in numbered([np.array([4, 4, 1, 4]), np.array([0, 2, 0, 0])])]
    [[2, 0, 1], [1, 2, 0, 1]]
    """
    _, first, one = np.unique(combined(keys), return_index=True, return_inverse=True)
    return first, one


def combined(keys: Sequence[np.ndarray]) -> np.ndarray:
    """Return one number for each tuple, the same for the same.

    Examples
    --------
    >>> combined([np.array([4, 4, 1, 4]), np.array([0, 2, 0, 0])]).tolist()
    [12, 14, 3, 12]
    """
    one, size = np.zeros(len(keys[0]), np.int64), 1
    for key in keys:
        width = int(key.max(initial=0)) + 1
        if size * width >= 1 << 62:
            values, one = np.unique(one, return_inverse=True)
            size = len(values)
        one, size = one * width + key, size * width
    return one


def places_of(labels: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return of each tuple the class whose labels it has, -1 where there is none."""
    held = labels.shape[1]
    _, one = numbered([np.concatenate(pair) for pair in zip(labels, at, strict=True)])
    place = np.full(int(one.max(initial=-1)) + 1, -1)
    place[one[:held]] = np.arange(held)
    return place[one[held:]]


def _with_known(groups: list[Group], columns: list[Column], several: bool) -> list[Group]:
    """Note which classes can be told apart from those of other rounds and groups."""
    shown = [one for group in groups for one in group.rounds]
    if not shown:
        return groups
    texts = [
        [column.texts[one.levels[a]][one.labels[a]] for a, column in enumerate(columns)]
        for one in shown
    ]
    keys = []
    for a in range(len(columns)):
        written = np.concatenate([np.asarray(t[a], object) for t in texts])
        values = pa.array(written, pa.string()).dictionary_encode(null_encoding="encode")
        keys.append(values.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    _, of_class = numbered(keys)
    alone = np.bincount(of_class)[of_class] == 1
    ends = np.cumsum([len(one.sizes) for one in shown])
    # A star may stand for a null, so that it does not tell the group.
    topped = [np.any([x == TOP for x in t], axis=0) for t in texts]
    parts = iter(
        part & ~top if several else part
        for part, top in zip(np.split(alone, ends[:-1]), topped, strict=True)
    )
    return [
        Group(
            [
                Shown(x.levels, x.labels, x.sizes, x.tuples, x.of_tuple, next(parts))
                for x in group.rounds
            ],
            group.left,
            group.starred,
            group.proofs,
        )
        for group in groups
    ]


def _leaves(
    column: pa.ChunkedArray, described: Mapping[str, Any], name: str
) -> tuple[np.ndarray, int]:
    """Return the leaf of each row, and the number that a null has."""
    null = sum(label is not None for label in described["labels"][0])
    coded = plain(column).combine_chunks().dictionary_encode()
    texts = coded.dictionary.cast(pa.string())
    known = pa.array(np.asarray(described["values"], object), pa.string())
    places = pc.fill_null(pc.index_in(texts, value_set=known), -1).to_numpy()
    if (places < 0).any():
        missing = texts[int(np.argmax(places < 0))]
        raise BadInput(f"column '{name}' holds '{missing}', which the plan does not know")
    leaf = np.append(np.asarray(described["leaf"], np.int64)[places], null)
    rows = pc.fill_null(coded.indices, len(leaf) - 1).to_numpy(zero_copy_only=False)
    return leaf[rows], null


def _column(
    name: str, described: Mapping[str, Any], null: int, leaf: np.ndarray, counts: np.ndarray
) -> Column:
    texts, at = [], []
    last = len(described["labels"]) - 1
    for level, given in enumerate(described["labels"]):
        own = [label for label in given if label is not None]
        below = level < last
        texts.append(np.array([*own, None] if below else own, object))
        known = np.asarray(described["maps"][level], np.int64)[:null]
        at.append(np.append(known, len(own) if below else 0))
    share = np.bincount(leaf, counts, null + 1).astype(np.float64)
    return Column(name, at, texts, share / max(share.sum(), 1))
