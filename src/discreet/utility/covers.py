"""What a released label still says: the original values that it covers.

`30-39` covers the numbers from 30 on and below 40, `*` everything, a value of the original itself.
Another label covers what the hierarchy has under it, and where none is known the original values
that were released under it. Measures of recoded columns go by this and not by the text of labels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.columns import float_values, kind_of
from discreet.utility.compared import as_text

if TYPE_CHECKING:
    from discreet.generalization.hierarchy import Hierarchy

    Hierarchies = Mapping[str, Hierarchy]

TOP = "*"
_MOST_NAMED = 3
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORMS = {
    form: re.compile(pattern)
    for form, pattern in {
        "one": rf"({_NUMBER})",
        "closed": rf"({_NUMBER})(?:-| to |–)({_NUMBER})",
        "half": rf"\[({_NUMBER}), ({_NUMBER})\)",
        "both": rf"\[({_NUMBER}), ({_NUMBER})\]",
        "from": rf">=({_NUMBER})",
        "below": rf"<({_NUMBER})",
    }.items()
}


@dataclass(frozen=True)
class Covers:
    """A column before and after, and the original values that each released label covers.

    Values are numbered 0, 1, ... in their order, null last; so are labels. What a label covers is
    the values from `start` to `end`, or else those that `values` lists from `ends[i - 1]` to
    `ends[i]`; `top` marks labels that cover everything.
    """

    x: np.ndarray  # the value of each record
    y: np.ndarray  # its label
    counts: np.ndarray  # the records of each value, those of null last
    top: np.ndarray
    with_null: np.ndarray  # labels that cover null too
    start: np.ndarray | None = None
    end: np.ndarray | None = None
    values: np.ndarray | None = None
    ends: np.ndarray | None = None
    # Every record's label covers its value, or is null: nothing was put in place of it.
    truthful: bool = True
    known: Any = ()  # the values, and the labels, in their order
    labels: Any = ()

    @property
    def recoded(self) -> bool:
        """Tell whether a label is none of the values."""
        return not {*map(_written, self.labels)} <= {*map(_written, self.known)}

    def names(self, group: np.ndarray, size: int) -> list[str]:
        """Name groups of values: by the value, the label of exactly these, or the values."""
        members: list[list[int]] = [[] for _ in range(size)]
        for value, own in enumerate(group[:-1].tolist()):
            members[own].append(value)
        labels = {self._covered(i): i for i in np.flatnonzero(~self.top).tolist()}
        return [self._name(own, labels) for own in members]

    def _covered(self, label: int) -> tuple[int, ...]:
        """Return the ends of what a label covers, or all of it."""
        if self.start is not None and self.end is not None:
            return int(self.start[label]), int(self.end[label])
        assert self.values is not None
        assert self.ends is not None
        first = self.ends[label - 1] if label else 0
        return tuple(self.values[first : self.ends[label]].tolist())

    def _name(self, members: list[int], labels: Mapping[tuple[int, ...], int]) -> str:
        if len(members) == 1:
            return _written(self.known[members[0]])
        ends = self.start is not None and members
        held = (members[0], members[-1] + 1) if ends else tuple(members)
        if (label := labels.get(held)) is not None:
            return _written(self.labels[label])
        if len(members) == len(self.known):
            return TOP
        if self.start is not None and members:
            return " to ".join(_written(self.known[i]) for i in (members[0], members[-1]))
        shown = [_written(self.known[i]) for i in members[:_MOST_NAMED]]
        more = len(members) - len(shown)
        return ", ".join(shown) + f" and {more} more" * (more > 0)

    @property
    def null(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether each record was null, and is."""
        return self.x == len(self.counts) - 1, self.y == len(self.top)

    def mass(self) -> np.ndarray:
        """Return the records of the original that each label covers."""
        counts = self.counts[:-1]
        if self.start is not None:
            upto = np.append(0, np.cumsum(counts))
            found = upto[self.end] - upto[self.start]
        else:
            assert self.values is not None
            assert self.ends is not None
            upto = np.append(0, np.cumsum(counts[self.values]))
            found = np.diff(upto[np.append(0, self.ends)])
        found = found + self.with_null * self.counts[-1]
        return np.where(self.top, self.counts.sum(), found)

    def covered(self) -> np.ndarray:
        """Return how many records the original has that each record could be, by its label.

        A null could be any record, if it was not null before: then it could be one of those that
        were null or are.
        """
        was, now = self.null
        found = np.append(self.mass(), len(self.x))[self.y]
        found[was & now] = np.count_nonzero(was | now)
        return found


def covers_of(
    before: pa.ChunkedArray,
    after: pa.ChunkedArray,
    name: str,
    hierarchy: Hierarchy | None = None,
) -> Covers:
    """Find what the released labels of a column cover.

    Examples
    --------
    >>> ages = pa.chunked_array([[31, 38, 45, 52]])
    >>> labels = pa.chunked_array([["30-39", "38", "30-49", "*"]])
    >>> covers_of(ages, labels, "age").covered().tolist()
    [2, 1, 3, 4]
    """
    if kind_of(before.type) == "numeric":
        return _of_numbers(before, after, name)
    return _of_labels(before, after, name, hierarchy)


def _of_numbers(before: pa.ChunkedArray, after: pa.ChunkedArray, name: str) -> Covers:
    x, known, counts = _numbered(float_values(before, name))
    spoken = kind_of(after.type) != "numeric"
    if spoken:
        y, labels = _coded(as_text(after, name))
        texts = labels.to_pylist()
    else:
        y, values, _ = _numbered(float_values(after, name))
    size = len(texts) if spoken else len(values)
    both = (x < len(known)) & (y < size)
    # What was seen with each: from the smallest to the largest.
    start, end = np.full(size, len(known)), np.zeros(size, np.int64)
    np.minimum.at(start, y[both], x[both])
    np.maximum.at(end, y[both], x[both] + 1)
    filled = np.bincount(y[(x == len(known)) & (y < size)], minlength=size) > 0
    top, read = np.zeros(size, bool), np.ones(size, bool)
    if not spoken:
        truthful = _in_order(x, y, both, known, values, start, end)
    else:
        top = np.array([text == TOP for text in texts], bool)
        # The calendar's labels look like numbers and ranges, and are none.
        ranges = [] if pa.types.is_temporal(before.type) else [range_of(text) for text in texts]
        read = np.array([one is not None for one in ranges or texts], bool) & bool(ranges)
        ends = np.array([one for one in ranges if one is not None]).reshape(-1, 2)
        start[read] = np.searchsorted(known, ends[:, 0], side="left")
        end[read] = np.searchsorted(known, ends[:, 1], side="left")
        inside = (start[y[both]] <= x[both]) & (x[both] < end[y[both]])
        truthful = bool((inside | top[y[both]]).all())
    return Covers(
        x,
        y,
        counts,
        top,
        with_null=filled & ~read | top,
        start=start,
        end=np.maximum(start, end),
        # A null that was filled in is no longer what it was.
        truthful=truthful and not (filled & read).any(),
        known=_shown(before, known, name),
        labels=texts if spoken else _shown(after, values, name),
    )


def _shown(column: pa.ChunkedArray, values: np.ndarray, name: str) -> Any:
    """Return distinct values as they are named: dates, which are seconds here, as text."""
    if not pa.types.is_temporal(column.type):
        return values
    distinct = pc.unique(column.drop_null())
    texts = as_text(pa.chunked_array([distinct.take(pc.sort_indices(distinct))]), name).to_pylist()
    # Of moments that differ by less than a number can tell, one is named.
    return texts if len(texts) == len(values) else values


def _in_order(
    x: np.ndarray,
    y: np.ndarray,
    both: np.ndarray,
    known: np.ndarray,
    values: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
) -> bool:
    """Tell whether released numbers say between which the original lies: those of steps do.

    Whoever knows the steps reads intervals off them. Numbers that chance moved tell nothing of the
    kind, unless they are as they were.
    """
    if not len(known) or np.array_equal(known[x[both]], values[y[both]]):
        return True
    held = end > 0
    return bool((end[held][:-1] - 1 <= start[held][1:]).all())


def range_of(text: str) -> tuple[float, float] | None:
    """Return the first number that a label covers, and the first after it that it does not.

    Examples
    --------
    >>> range_of("30-39"), range_of("[0.5, 1)"), range_of(">=90"), range_of("thirties")
    ((30.0, 40.0), (0.5, 1.0), (90.0, inf), None)
    """
    form, found = next(
        ((form, match) for form, rule in _FORMS.items() if (match := rule.fullmatch(text))),
        ("", None),
    )
    if found is None:
        return None
    first, last = float(found[1]), float(found[found.re.groups])
    after = float(np.nextafter(last, np.inf))
    # 39.5 is in 30-39, which says so in whole numbers.
    whole = all(part.lstrip("+-").isdecimal() for part in found.groups())
    return {
        "one": (first, after),
        "closed": (first, last + 1 if whole else after),
        "half": (first, last),
        "both": (first, after),
        "from": (first, np.inf),
        "below": (-np.inf, last),
    }[form]


def middle_of(text: str) -> float:
    """Return the middle of a range, as a reader takes it; NaN of what has none.

    Examples
    --------
    >>> middle_of("30-39"), middle_of("[30, 40)"), middle_of("31"), middle_of(">=90")
    (34.5, 35.0, 31.0, nan)
    """
    found = next((match for rule in _FORMS.values() if (match := rule.fullmatch(text))), None)
    if found is None or text.startswith((">=", "<")):
        return math.nan
    return (float(found[1]) + float(found[found.re.groups])) / 2


def _written(value: Any) -> str:
    """Write a number without the decimals that it does not need."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _of_labels(
    before: pa.ChunkedArray, after: pa.ChunkedArray, name: str, hierarchy: Hierarchy | None
) -> Covers:
    before = as_text(before, name)
    x, known = _coded(before)
    y, labels = _coded(as_text(after, name))
    size, n_values = len(labels), len(known)
    own = pc.fill_null(pc.index_in(labels, value_set=known), -1).to_numpy()
    is_own = own >= 0
    top = pc.equal(labels, TOP).to_numpy(zero_copy_only=False) & ~is_own
    by = np.flatnonzero(is_own), own[is_own]
    pairs = [by[0] * n_values + by[1]]
    under = leaves_of(labels, known, name, hierarchy)
    pairs.append(under[0] * n_values + under[1])
    # Labels that nothing says more of cover what was seen under them.
    unknown = ~(is_own | top)
    unknown[under[0]] = False
    both = (x < n_values) & (y < size)
    seen = np.append(unknown, False)[y] & both
    pairs.append(y[seen] * n_values + x[seen])
    keys = np.unique(np.concatenate(pairs).astype(np.int64))
    label, value = np.divmod(keys, max(1, n_values))
    inside = np.isin(y[both] * n_values + x[both], keys) | top[y[both]]
    filled = np.bincount(y[(x == n_values) & (y < size)], minlength=size) > 0
    return Covers(
        x,
        y,
        np.bincount(x, minlength=n_values + 1),
        top,
        with_null=filled & unknown | top,
        values=value,
        ends=np.cumsum(np.bincount(label, minlength=size)),
        truthful=bool(inside.all()) and not (filled & ~unknown & ~top).any(),
        known=known,
        labels=labels,
    )


def leaves_of(
    labels: pa.Array, known: pa.Array, name: str, hierarchy: Hierarchy | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and values that a hierarchy has under them, of those that occur."""
    nothing = np.empty(0, np.int64)
    if hierarchy is None or not len(known):
        return nothing, nothing
    try:
        ladder = hierarchy.bind(pa.chunked_array([known]), name)
        leaf = ladder.encode(known, name)
    except BadInput:  # It is for other values: a step before has changed them.
        return nothing, nothing
    found = []
    for names, nodes in zip(ladder.labels[1:-1], ladder.maps[1:-1], strict=True):
        place = pc.fill_null(pc.index_in(pa.array(names, labels.type), value_set=labels), -1)
        label = place.to_numpy()[nodes[leaf]]
        found.append((label[label >= 0], np.flatnonzero(label >= 0)))
    if not found:
        return nothing, nothing
    label, value = (np.concatenate(part).astype(np.int64) for part in zip(*found, strict=True))
    return label, value


def _numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the place of each number among the distinct ones, NaN last; these; their counts."""
    null = np.isnan(values)
    known, inverse = np.unique(values[~null], return_inverse=True)
    places = np.full(len(values), len(known))
    places[~null] = inverse
    return places, known, np.bincount(places, minlength=len(known) + 1)


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Return the place of each text among the distinct ones, null last; and these."""
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    size = len(coded.dictionary)
    return pc.fill_null(coded.indices, size).to_numpy().astype(np.int64), coded.dictionary
