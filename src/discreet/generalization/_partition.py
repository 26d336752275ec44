"""The groups of records that Mondrian cuts, by its null policy, and their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.generalization._axes import Axis, Parts
from discreet.generalization._groups import Group
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import Bound
from discreet.kernels.mondrian import FORBIDS, MATCHES, VALUE, mondrian
from discreet.kernels.privacy import Rules, holds
from discreet.table.classes import classes_of

KeepsModel = Callable[[Any, np.ndarray], bool]


def keeps(bound: Bound, rows: np.ndarray) -> bool:
    """Tell whether some records together keep the models."""
    held = bound.codes[:, rows]
    histogram = np.bincount(held[held >= 0], minlength=bound.rules.q.size)
    return holds(bound.rules, int(rows.sum()), histogram)


class Partition:
    """Records in groups, each cut into classes.

    Attributes
    ----------
    classes : ndarray of int32
        The class of each record; -1 where it is suppressed.
    suppressed, unsafe : ndarray of bool
        The suppressed records; all of them again where they may not stay as a class of their own.
    disclosed : ndarray of bool
        The records that are released as they are.
    groups : list of dict
        For each group its name, `patterns` (the sets of columns that are null in it, where groups
        go by them), `treatment` ("cut", "suppress" or "append"), its number of rows, its first
        class and its number of classes.
    """

    def __init__(
        self, axes: Mapping[str, Axis], bound: Bound, nulls: int = VALUE, strict: bool = True
    ) -> None:
        self.axes, self.bound, self.nulls, self.strict = axes, bound, nulls, strict
        self.codes = np.array([axis.codes for axis in axes.values()])
        self.sizes = np.array([axis.size for axis in axes.values()], dtype=np.int64)
        self.null = self.codes == self.sizes[:, None]
        n = self.codes.shape[1]
        self.classes = np.full(n, -1, dtype=np.int32)
        self.suppressed = np.zeros(n, dtype=bool)
        self.unsafe = np.zeros(n, dtype=bool)
        self.disclosed = np.zeros(n, dtype=bool)
        self.groups: list[dict[str, Any]] = []
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._layout = self._lay_out()

    def rows(self, group: Group) -> np.ndarray:
        """Tell which records are in a group."""
        rows = np.zeros(len(self.classes), dtype=bool)
        rows[slice(None) if group.rows is None else group.rows] = True
        return rows

    def cut(self, group: Group) -> None:
        """Cut a group into classes that keep the models."""
        self._cut(group, "cut", self.bound.rules, self.nulls, not self.strict)

    def append(self, group: Group) -> None:
        """Release a group as it is: each distinct tuple is a class of its own."""
        self.disclosed |= self.rows(group)
        self._cut(group, "append", _NO_RULES, VALUE, False)

    def suppress(self, group: Group) -> None:
        """Suppress a group, and tell whether it may stay as a class of its own."""
        rows = self.rows(group)
        self.suppressed |= rows
        if not keeps(self.bound, rows):
            self.unsafe |= rows
        self._note(group, rows, "suppress", 0)

    def _note(self, group: Group, rows: np.ndarray, treatment: str, classes: int) -> None:
        """Keep what was done with a group; its classes come after those of the groups before."""
        names, patterns = list(self.axes), group.patterns
        self.groups.append(
            {
                "group": group.name,
                "patterns": None if patterns is None else [[names[c] for c in p] for p in patterns],
                "treatment": treatment,
                "rows": int(rows.sum()),
                "first_class": self._count,
                "classes": classes,
            }
        )

    @property
    def _count(self) -> int:
        return sum(group["classes"] for group in self.groups)

    def _cut(self, group: Group, treatment: str, rules: Rules, nulls: int, relaxed: bool) -> None:
        rows = self.rows(group)
        cells, units = self._units(rows, rules, relaxed)
        ends, low, high, null = mondrian(cells, *self._layout, rules, relaxed, nulls)
        of_unit = np.empty(len(cells), dtype=np.int32)
        of_unit[cells[:, -1]] = np.repeat(
            np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0)
        )
        self.classes[rows] = of_unit[units] + self._count
        self._parts.append((low, high, null))
        self._note(group, rows, treatment, len(ends))

    def _units(
        self, rows: np.ndarray, rules: Rules, each_row: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the distinct tuples of a group; give the kernel's table and each row's unit.

        Where ties are shared out each row is a unit, because their order matters.
        """
        confidential = self.bound.codes[: rules.offsets.size - 1]
        codes = np.concatenate((self.codes, confidential))
        if not rows.all():
            codes = codes[:, rows]
        n = codes.shape[1]
        first, counts, units = np.arange(n), np.ones(n, dtype=np.int64), np.arange(n)
        if not each_row:
            sizes = np.append(self.sizes + 1, np.full(len(confidential), rules.q.size))
            units, count = classes_of(codes, sizes)
            first = np.empty(count, dtype=np.int64)
            first[units[::-1]] = np.arange(n)[::-1]
            counts = np.bincount(units)
        cells = np.empty((len(first), len(codes) + 2), dtype=np.int32)
        cells[:, :-2] = codes[:, first].T
        cells[:, -2] = counts
        cells[:, -1] = np.arange(len(first))
        return cells, units

    def _lay_out(self) -> tuple[np.ndarray, ...]:
        """Lay the columns' places and trees end to end, as the kernel takes them."""
        starts, used = [], [0, 0]
        places, ranks, spans = [np.empty(0)], [np.empty(0, np.int32)], [np.empty(0)]
        for axis, null in zip(self.axes.values(), self.null, strict=True):
            with_null = bool(null.any()) and self.nulls == VALUE
            starts.append(used[axis.height > 0])
            if axis.height:
                rank, span = axis.tree(with_null)
                ranks.append(rank.ravel())
                spans.append(span.ravel())
            else:
                places.append(axis.place(with_null))
            used[axis.height > 0] += (axis.size + 1) * (axis.height + 1)
        heights = np.array([axis.height for axis in self.axes.values()], dtype=np.int64)
        tables = (np.concatenate(places), np.concatenate(ranks), np.concatenate(spans))
        return self.sizes, heights, np.array(starts, dtype=np.int64), *tables

    def labels(self) -> dict[str, Any]:
        """Name the classes in every column."""
        low, high, null = (np.concatenate(arrays).T for arrays in zip(*self._parts, strict=True))
        if self.nulls == FORBIDS:
            # Nulls alone are released as everything too.
            low, high = np.where(null, 0, low), np.where(null, self.sizes[:, None] - 1, high)
        if self.nulls & MATCHES:
            # Nulls stay as they are, and the label is that of the values beside them.
            null = np.zeros_like(null)
        return {
            name: axis.label(Parts(low[c], high[c], null[c], partial(self._members, c)))
            for c, (name, axis) in enumerate(self.axes.items())
        }

    def released(self, labels: Mapping[str, Any]) -> dict[str, pa.ChunkedArray]:
        """Give each row its class's labels."""
        new = {}
        for null, (name, named) in zip(self.null, labels.items(), strict=True):
            texts = [*named["labels"], TOP]
            # A suppressed record's class, -1, picks the last.
            label = np.append(named["label"], np.int32(len(texts) - 1))[self.classes]
            empty = (label < 0) | self.unsafe | (null & bool(self.nulls & MATCHES))
            indices = pa.array(np.where(empty, 0, label).astype(np.int32), mask=empty)
            new[name] = pa.chunked_array([pa.array(texts, pa.string()).take(indices)])
        return new

    def _members(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the distinct pairs of class and value of a column, in order."""
        kept = (self.classes >= 0) & ~self.null[c]
        size = self.sizes[c]
        pairs = np.unique(self.classes[kept] * size + self.codes[c, kept])
        return pairs // size, pairs % size


# What keeps no model.
_NO_RULES = Rules(
    1,
    np.empty(0, np.int64),
    np.empty((0, 4), np.int64),
    np.empty((0, 2)),
    np.zeros(1, np.int64),
    np.empty(0),
    np.empty(0, np.int32),
)
