"""The columns that Mondrian cuts: values in order, or a tree; and what their parts are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._distinct import Distinct, as_text, distinct
from discreet.generalization.ladder import TOP, Ladder
from discreet.table.columns import kind_of, numbers


@dataclass(frozen=True)
class Parts:
    """What classes hold of one column.

    Attributes
    ----------
    low, high : ndarray of int32
        By class the least and the largest code that is not a null's; `low > high` where there is
        none.
    null : ndarray of bool
        By class, whether it holds a null.
    members : callable
        Gives the distinct pairs of class and code, in order, as two arrays.
    """

    low: np.ndarray
    high: np.ndarray
    null: np.ndarray
    members: Callable[[], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Axis:
    """A column laid out for the kernel.

    Attributes
    ----------
    codes : ndarray of int32
        By row the place of its value in the order; `size` where null.
    texts : list of str
        The values, in that order, as people write them.
    originals : ndarray
        The same as the column has them: numbers, else text. What no row has is 0 or empty.
    ordered : bool
        True where an interval of values means something; else parts are sets.
    ladder : Ladder or None
        The tree, leaves in the order of the codes.
    """

    codes: np.ndarray
    texts: list[str]
    originals: np.ndarray
    ordered: bool
    ladder: Ladder | None = None

    @property
    def size(self) -> int:
        """The number of values, which is the code of a null."""
        return len(self.texts)

    @property
    def numeric(self) -> bool:
        """True where the values are numbers."""
        return self.originals.dtype == np.float64

    @property
    def height(self) -> int:
        """The height of the tree; 0 without one."""
        return 0 if self.ladder is None else self.ladder.height

    def place(self, with_null: bool) -> np.ndarray:
        """Return each code's place; a null's is one average step beyond the largest.

        Where the column has no null its place is that of the largest: how wide the column is.
        """
        steps = np.arange(self.size + 1, dtype=np.float64)
        if self.numeric and self.size > 1:
            # A power of two keeps whole numbers exact, and all differences within float64.
            scale = np.frexp(np.abs(self.originals).max())[1]
            scaled = np.ldexp(self.originals, -scale)
            # Times the number of steps, so that an average step is the range of the values.
            steps[:-1] = (scaled - scaled[0]) * (self.size - 1)
            steps[-1] = steps[-2] + scaled[-1] - scaled[0]
        if not with_null:
            steps[-1] = steps[-2]
        return steps if steps[-1] > 0 else np.ones(self.size + 1)

    def tree(self, with_null: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return number and width of the node of each code, level by level.

        Wide as the leaves are many; a null is itself below the top.
        """
        assert self.ladder is not None
        height, size = self.height, self.size
        ranks = np.zeros((height + 1, size + 1), dtype=np.int32)
        spans = np.zeros((height + 1, size + 1))
        leaves = size + with_null
        for level, nodes in enumerate(self.ladder.maps[:height]):
            ranks[level, 1:size] = np.cumsum(nodes[1:] != nodes[:-1])
            ranks[level, size] = ranks[level, size - 1] + 1
            under = np.bincount(ranks[level, :size])
            spans[level, :size] = (under[ranks[level, :size]] - 1) / max(leaves - 1, 1)
        spans[height] = float(leaves > 1)
        return ranks, spans

    def label(self, parts: Parts) -> dict[str, Any]:
        """Name the classes: the labels, the label of each class, and what each label covers.

        Returns
        -------
        dict
            `labels`, `label` (-1 where a class holds nulls only), and either `lower` and `upper`,
            numbers, or `leaves` with `members` and `ends`: the members of label i are
            `members[ends[i - 1]:ends[i]]`, positions in `leaves`. `*` covers everything.
        """
        some = parts.low <= parts.high
        if self.ladder is None and not self.ordered:
            return self._sets(some, some & parts.null, parts.members)
        # What ends with the null is everything.
        first, last = parts.low, np.where(parts.null, self.size, parts.high)
        if self.ladder is not None:
            first, last = self._nodes(first, last)
        key = np.where(some, first.astype(np.int64) * (self.size + 1) + last, -1)
        bounds, label = np.unique(key, return_inverse=True)
        if bounds[0] < 0:
            bounds, label = bounds[1:], label - 1
        first, last = bounds // (self.size + 1), bounds % (self.size + 1)
        name = self._interval if self.ladder is None else self._node
        named: dict[str, Any] = {
            "label": label.astype(np.int32),
            "labels": _objects(map(name, first.tolist(), last.tolist())),
        }
        last = np.minimum(last, self.size - 1)
        if self.ladder is None and self.numeric:
            return named | {"lower": self.originals[first], "upper": self.originals[last]}
        return named | self._covered(
            [np.arange(a, z + 1) for a, z in zip(first, last, strict=True)]
        )

    def _interval(self, first: int, last: int) -> str:
        """Name an interval: 30-39; with words or dates, 2019-04-01 to 2019-05-12."""
        if first == last:
            return self.texts[first]
        if last == self.size or last - first == self.size - 1:
            return TOP
        ends = self.texts[first], self.texts[last]
        plain = all(text.replace(".", "", 1).isdecimal() for text in ends)
        return ("-" if plain else " to ").join(ends)

    def _sets(self, some: np.ndarray, mixed: np.ndarray, members: Callable) -> dict[str, Any]:
        """Name sets of values: {a, b, c}."""
        classes, codes = members()
        starts = np.searchsorted(classes, np.arange(len(some) + 1))
        sets = [np.arange(self.size, dtype=codes.dtype)]
        known: dict[bytes, int] = {}
        if self.size > 1:
            known[sets[0].tobytes()] = 0
        label = np.where(mixed, np.int32(0), np.int32(-1))
        for i in np.flatnonzero(some & ~mixed):
            held = codes[starts[i] : starts[i + 1]]
            label[i] = known.setdefault(held.tobytes(), len(sets))
            if label[i] == len(sets):
                sets.append(held)
        names = [
            self.texts[held[0]]
            if len(held) == 1
            else "{" + ", ".join(self.texts[code] for code in held) + "}"
            for held in sets[1:]
        ]
        return {"label": label, "labels": _objects([TOP, *names])} | self._covered(sets)

    def _nodes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the last leaf of the lowest node that holds two codes."""
        assert self.ladder is not None
        first, last = np.zeros_like(low), np.where(high == self.size, high, self.size - 1)
        open_ = (low <= high) & (high < self.size)
        for nodes in self.ladder.maps[: self.height]:
            begins = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1]))
            start = np.searchsorted(begins, low[open_], side="right") - 1
            same = start == np.searchsorted(begins, high[open_], side="right") - 1
            found = np.flatnonzero(open_)[same]
            first[found] = begins[start[same]]
            last[found] = np.append(begins, self.size)[start[same] + 1] - 1
            open_[found] = False
        return first, last

    def _node(self, first: int, last: int) -> str:
        """Name the lowest node that has exactly these leaves."""
        assert self.ladder is not None
        if last == self.size:
            return TOP
        level = next(i for i, nodes in enumerate(self.ladder.maps) if nodes[first] == nodes[last])
        return self.ladder.labels[level][self.ladder.maps[level][first]]

    def _covered(self, sets: Sequence[np.ndarray]) -> dict[str, Any]:
        occurs = np.zeros(self.size + 1, dtype=bool)
        occurs[self.codes] = True
        held = [codes[occurs[codes]] for codes in sets]
        return {
            "leaves": self.originals,
            "members": np.concatenate([np.empty(0, np.int32), *held]).astype(np.int32),
            "ends": np.cumsum([len(codes) for codes in held], dtype=np.int64),
        }


def in_order(column: pa.ChunkedArray, name: str) -> Axis:
    """Lay out a column by the order of its values."""
    found = distinct(column, name)
    size = len(found.values)
    if size == 0:
        raise BadInput(f"column '{name}' holds only nulls")
    codes = np.where(found.codes < 0, np.int32(size), found.codes)
    originals = _originals(column, name, found, codes, np.arange(size), size)
    texts = as_text(found.values).to_pylist()
    if pa.types.is_duration(column.type):
        unit = numbers(column, name).unit
        texts = [f"{value:g} {unit}" for value in originals]
    ordered = found.ordered or kind_of(column.type) == "numeric"
    return Axis(codes, texts, originals, ordered)


def in_tree(column: pa.ChunkedArray, name: str, ladder: Ladder) -> Axis:
    """Lay out a column by a hierarchy, the leaves of a node side by side."""
    found = distinct(column, name)
    size = len(ladder.leaves)
    if len(found.values) == 0:
        raise BadInput(f"column '{name}' holds only nulls")
    # Nodes come in the order of their first leaf, so that leaves move as little as can be.
    keys = []
    for nodes in ladder.maps:
        first = np.full(nodes.max() + 1, size)
        np.minimum.at(first, nodes, np.arange(size))
        keys.append(first[nodes])
    order = np.lexsort(keys)
    moved = np.empty(size, dtype=np.int32)
    moved[order] = np.arange(size)
    places = moved[ladder.places(found, name)]
    codes = np.append(places, np.int32(size))[found.codes]
    originals = _originals(column, name, found, codes, places, size)
    tree = Ladder(ladder.leaves.take(pa.array(order)), ladder.labels, ladder.maps[:, order])
    return Axis(codes, [ladder.labels[0][i] for i in order], originals, False, tree)


def _originals(
    column: pa.ChunkedArray,
    name: str,
    found: Distinct,
    codes: np.ndarray,
    places: np.ndarray,
    size: int,
) -> np.ndarray:
    """Return the value of each code as the column has it."""
    if kind_of(column.type) == "numeric":
        of = np.zeros(size + 1)
        of[codes] = numbers(column, name).values
        return of[:-1]
    texts = np.full(size, "", dtype=object)
    texts[places] = found.values.cast(pa.string()).to_numpy(zero_copy_only=False)
    return texts


def _objects(texts: Iterable[str]) -> np.ndarray:
    """Return texts as an array, which a plan may keep in a file of its own."""
    return np.array([*texts, None], dtype=object)[:-1]
