"""The groups of records that Mondrian cuts, by its null policy, and their classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._alike import Alike, may_break
from discreet.generalization._axes import Axis, Parts
from discreet.generalization._distinct import counted
from discreet.generalization._groups import Group, records
from discreet.generalization._holdings import how_many, pairs
from discreet.generalization._tuples import number_tuples, places
from discreet.generalization.ladder import TOP
from discreet.generalization.privacy import Bound
from discreet.kernels.lattice import members_of
from discreet.kernels.mondrian import (
    FORBIDS,
    MADE_UP,
    MATCHES,
    NOTHING_HELD,
    VALUE,
    Held,
    mondrian,
)
from discreet.kernels.privacy import Rules, holds
from discreet.kernels.semi_partition import semi_partition

# The kernel counts the records of a bundle in 32 bits.
_MOST_RECORDS = 2**31 - 1


def keeps(bound: Bound, rows: np.ndarray, weights: np.ndarray | None) -> bool:
    """Tell whether some rows together keep the models; `weights` are the records of each."""
    if bound.holdings is not None:
        histogram = bound.holdings.histogram(rows)
        return holds(bound.rules, histogram[-1], histogram)
    histogram = np.zeros(bound.rules.q.size, np.int64)
    weights = None if weights is None else weights[rows]
    for codes in bound.codes[:, rows]:
        there = codes >= 0
        held = None if weights is None else weights[there]
        histogram += counted(codes[there], len(histogram), held)
    n = int(rows.sum()) if weights is None else int(weights.sum())
    return holds(bound.rules, n, histogram)


class Partition:
    """Records in groups, each cut into classes.

    Where equal records stay together the work is on *bundles*, their distinct tuples with counts;
    else each row is a bundle.

    Equal records stay together where it is `strict`; `nulls` says what a null is, as the kernel
    has it. `weights` are the records of each row, one each by default.

    Attributes
    ----------
    weights : ndarray of int64 or None
        The records of each bundle; None where it is one each.
    classes : ndarray of int32
        The class of each bundle; -1 where it is suppressed.
    suppressed, unsafe : ndarray of bool
        The suppressed bundles; all of them again where they may not stay as a class of their own.
    disclosed : ndarray of bool
        The bundles that are released as they are.
    groups : list of dict
        For each group its name, `patterns` (the sets of columns that are null in it, where groups
        go by them), `treatment` ("cut", "suppress" or "append"), whether it is left out since it
        may not stay suppressed, its number of rows, its first class and its number of classes.
    """

    def __init__(
        self,
        axes: Mapping[str, Axis],
        bound: Bound,
        nulls: int = VALUE,
        strict: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        self._ids: np.ndarray | None = None
        self._of_rows, self._weights_of_rows = bound, weights
        if strict:
            axes, bound, weights, self._ids = _unite(axes, bound, weights)
        self._held = _held(self._of_rows, self._ids, bound.codes.shape[1])
        self.axes, self.bound, self.nulls, self.strict = axes, bound, nulls, strict
        self.weights = weights
        self.codes = np.array([axis.codes for axis in axes.values()])
        self.sizes = np.array([axis.size for axis in axes.values()], dtype=np.int64)
        self.null = self.codes == self.sizes[:, None]
        n = self.codes.shape[1]
        self.classes = np.full(n, -1, dtype=np.int32)
        self.suppressed = np.zeros(n, dtype=bool)
        self.unsafe = np.zeros(n, dtype=bool)
        self.disclosed = np.zeros(n, dtype=bool)
        self.groups: list[dict[str, Any]] = []
        self._groups: list[Group] = []
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._layout = self._lay_out()

    def by_row(self, of_bundle: np.ndarray) -> np.ndarray:
        """Return each row what its bundle has."""
        return of_bundle if self._ids is None else of_bundle[self._ids]

    def keeps(self, bundles: np.ndarray) -> bool:
        """Tell whether some bundles together keep the models."""
        if self._of_rows.holdings is None:
            return keeps(self.bound, bundles, self.weights)
        return keeps(self._of_rows, self.by_row(bundles), None)

    def units_of(self, bundles: np.ndarray | slice) -> int:
        """Count the units of some bundles."""
        assert self._of_rows.holdings is not None
        chosen = np.zeros(len(self.classes), bool)
        chosen[bundles] = True
        return how_many(self._of_rows.holdings.of_row[-1, self.by_row(chosen)])

    def sizes_in(self, classes: np.ndarray, count: int) -> np.ndarray:
        """Return what k counts, records or units, in each of some classes of bundles."""
        held = self._of_rows.holdings
        if held is None:
            return counted(classes, count, self.weights)
        of_row = self.by_row(classes)
        return counted(of_row[pairs(held.of_row[-1], of_row)[1]], count)

    @property
    def sizes_of_classes(self) -> np.ndarray:
        """Records of each class."""
        kept = self.classes >= 0
        weights = None if self.weights is None else self.weights[kept]
        return counted(self.classes[kept], self._count, weights)

    def tuples(self) -> dict[str, Any]:
        """Return the class of each distinct tuple, by first appearance, for the plan.

        Returns
        -------
        dict
            `values`, of each column those that occur, numbers or else text, in their order;
            `codes`, of each column the place of each tuple's value there, -1 where null; and
            `classes`, of each tuple, -1 where it is suppressed.
        """
        first: Any = slice(None)
        if len(self.bound.codes):
            word, shift, _ = places((self.sizes + 1).tolist())
            first = number_tuples(list(self.codes), word, shift)[2]
        values, codes = {}, {}
        for held, (name, axis) in zip(self.codes, self.axes.items(), strict=True):
            occurs = np.bincount(held, minlength=axis.size + 1)[: axis.size] > 0
            values[name] = axis.originals[occurs]
            number = np.append(np.cumsum(occurs, dtype=np.int32) - 1, np.int32(-1))
            codes[name] = number[held[first]]
        return {"values": values, "codes": codes, "classes": self.classes[first]}

    def rows(self, group: Group) -> np.ndarray:
        """Tell which bundles are in a group."""
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
        unsafe = not self.keeps(rows)
        if unsafe:
            self.unsafe |= rows
        self._note(group, "suppress", 0, unsafe)

    def suppress_alike(self) -> int:
        """Suppress classes of the same labels that break the models together; count the records.

        The suppressed records of all groups are a class too.
        """
        if not may_break(self._of_rows):
            return 0
        new = self.released(self.labels())
        labels = {name: (self.by_row(places), texts) for name, (places, texts) in new.items()}
        alike = Alike.by_labels(self._of_rows, labels, self._weights_of_rows)
        apart = self.by_row(np.where(self.disclosed, -1, self.classes))
        rows = alike.broken(apart)
        gone = np.isin(self.classes, np.unique(apart[rows]))
        if gone.any():
            self._drop(gone)
        stars = self.by_row(self.suppressed & ~self.unsafe)
        hold = not stars.any() or alike.stars_hold((apart >= 0) & ~rows, stars)
        for group, told in zip(self._groups, self.groups, strict=True):
            left = self.rows(group) & self.suppressed
            told["left_out"] = bool(left.any()) and not (hold and self.keeps(left))
            self.unsafe |= left & told["left_out"]
        return records(self.weights, gone)

    def _drop(self, gone: np.ndarray) -> None:
        """Suppress whole classes, by their bundles, and number the others anew."""
        stays = np.full(self._count, True)
        stays[self.classes[gone]] = False
        if not stays.any():
            raise BadInput(
                "no class keeps the privacy models with all records of its labels; weaken them"
            )
        place = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1).astype(np.int32)
        self.classes, self.suppressed = place[self.classes], self.suppressed | gone
        bounds = zip(*self._parts, strict=True)
        low, high, null = (np.concatenate(arrays)[stays] for arrays in bounds)
        self._parts = [(low, high, null)]
        for told in self.groups:
            first, last = told["first_class"], told["first_class"] + told["classes"]
            told["first_class"] = int(stays[:first].sum())
            told["classes"] = int(stays[first:last].sum())

    def _note(self, group: Group, treatment: str, classes: int, left_out: bool = False) -> None:
        """Keep what was done with a group; its classes come after those of the groups before."""
        names, patterns = list(self.axes), group.patterns
        self._groups.append(group)
        self.groups.append(
            {
                "group": group.name,
                "patterns": None if patterns is None else [[names[c] for c in p] for p in patterns],
                "treatment": treatment,
                "left_out": left_out,
                "rows": group.n,
                "first_class": self._count,
                "classes": classes,
            }
        )

    @property
    def _count(self) -> int:
        return sum(group["classes"] for group in self.groups)

    def _cut(self, group: Group, treatment: str, rules: Rules, nulls: int, relaxed: bool) -> None:
        cells = self._cells(np.flatnonzero(self.rows(group)), rules)
        held = NOTHING_HELD if rules.units < 0 else self._held
        if nulls == MADE_UP:
            ends, low, high, null = semi_partition(cells, *self._layout, rules.k)
        else:
            ends, low, high, null = mondrian(cells, *self._layout, rules, held, relaxed, nulls)
        classes = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))
        self.classes[cells[:, -1]] = classes + self._count
        self._parts.append((low, high, null))
        self._note(group, treatment, len(ends))

    def _cells(self, bundles: np.ndarray, rules: Rules) -> np.ndarray:
        """Return the kernel's table of some bundles."""
        codes = [*self.codes, *self.bound.codes[: rules.offsets.size - 1]]
        cells = np.empty((len(bundles), len(codes) + 2), dtype=np.int32)
        for c, column in enumerate(codes):
            cells[:, c] = column if len(bundles) == len(column) else column[bundles]
        cells[:, -2] = 1 if self.weights is None else self.weights[bundles]
        cells[:, -1] = bundles
        return cells

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

    def released(self, labels: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, pa.Array]]:
        """Return the place of each bundle's label on a list of labels, and that list, by column."""
        new = {}
        for null, (name, named) in zip(self.null, labels.items(), strict=True):
            texts = [*named["labels"], TOP, None]
            # A suppressed bundle's class, -1, picks the last.
            label = np.append(named["label"], np.int32(len(texts) - 2))[self.classes]
            empty = (label < 0) | self.unsafe | (null & bool(self.nulls & MATCHES))
            label[empty] = len(texts) - 1
            new[name] = label.astype(np.int32, copy=False), pa.array(texts, pa.string())
        return new

    def _members(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct pairs of class and value of a column, in order."""
        kept = (self.classes >= 0) & ~self.null[c]
        size = self.sizes[c]
        pairs = np.unique(self.classes[kept] * size + self.codes[c, kept])
        return pairs // size, pairs % size


def _unite(
    axes: Mapping[str, Axis], bound: Bound, weights: np.ndarray | None
) -> tuple[dict[str, Axis], Bound, np.ndarray, np.ndarray]:
    """Return distinct tuples, by first appearance, instead of rows; and each row's tuple."""
    sizes = [axis.size + 1 for axis in axes.values()]
    confidential = [codes + 1 for codes in bound.codes]
    word, shift, _ = places(sizes + [bound.rules.q.size + 1] * len(confidential))
    codes = [*(axis.codes for axis in axes.values()), *confidential]
    _, ids, first = number_tuples(codes, word, shift)
    counts = counted(ids, len(first), weights)
    if counts.max(initial=0) > _MOST_RECORDS:
        raise BadInput(
            f"{counts.max():,} records are alike in the columns {', '.join(axes)}; mondrian takes "
            f"{_MOST_RECORDS:,} at most: generalize takes more"
        )
    united = {name: replace(axis, codes=axis.codes[first]) for name, axis in axes.items()}
    return united, replace(bound, codes=bound.codes[:, first], holdings=None), counts, ids


def _held(bound: Bound, ids: np.ndarray | None, bundles: int) -> Held:
    """List what the units of each bundle hold, each unit once; `ids` are the bundles of rows."""
    if bound.holdings is None:
        return NOTHING_HELD
    of_row, size = bound.holdings.of_row, len(bound.holdings.place)
    if ids is None:
        return Held(np.arange(bundles + 1), of_row, size)
    rows = pairs(of_row[-1], ids)[1]
    order, starts = members_of(ids[rows], bundles)
    return Held(starts, np.ascontiguousarray(of_row[:, rows[order]]), size)


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
