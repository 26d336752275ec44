"""People found for certain: who is left with one record that can be theirs.

Blanks and labels leave open what a record was. An intruder who knows a person's original values
looks for the records that are compatible with them: where there is only one, it is the person's,
however many records match it through blanks of their own.

Hardly any pair of records is compared. Whoever has a twin, a record that was released with the same
values, is not found; that leaves few, or nobody. Of each column the labels are put on *levels*, so
that on one level a value has one label at most. Released records that show the same columns on the
same levels are then met at once: the person's values are replaced by their labels there, and
records with equal labels are compatible. People with nulls in the same columns who are few, as
where nulls are scattered, are looked for one by one instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Guide, LeftOut, Measure
from discreet.risk.frequency import unit_ids
from discreet.table.cells import plain
from discreet.table.classes import check_columns, classes_of, encode
from discreet.table.native import to_arrow

# What a released cell is that may have been anything, besides a null.
STAR = "*"
# Records that one person is compared with in the time that it takes to meet one kind of them.
_PAIRS = 4000


@dataclass(frozen=True, eq=False)
class FoundForCertain:
    """Who is found for certain: the `value` is their share, in 0..1.

    `found` are how many, of `people`: records, or units where these are counted. `records` tells
    of each record whether only its own, or only those of its unit, can be the person's.
    """

    value: float
    found: int
    people: int
    records: np.ndarray


@overload
def found_for_certain(
    original: Any, protected: Any, columns: Sequence[str], *, units: Any = ...
) -> float: ...
@overload
def found_for_certain(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    units: Any = ...,
    detail: Literal[True],
) -> FoundForCertain: ...
def found_for_certain(
    original: Any,
    protected: Any,
    columns: Sequence[str],
    *,
    units: Any = None,
    detail: bool = False,
) -> float | FoundForCertain:
    """Share of people whose original values are compatible with one released record only.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        The same rows in the same order.
    columns : sequence of str
        What the intruder knows: usually the quasi columns.
    units : str or array, optional
        The person or household of each record, as a column's name of the original or a value for
        each; a record without one is a unit of its own. A unit is found where the values of one
        of its records are compatible with its own records only.
    detail : bool
        Return how many are found, and which.

    Notes
    -----
    A released null or `*` is compatible with any value, an original null with anything, and a
    label, or a rounded number, with the values that were released under it anywhere in the table.
    So an intruder is assumed who knows which values became which labels. Where all records have
    labels of one level, nothing else can be under a label; where they have not, as after local
    recoding, an intruder who knows the hierarchies alone finds no more people than this.

    Examples
    --------
    The first and the third record agree wherever neither has a blank, so that each matches two.
    But whoever knows the man in the north finds one record that can be his:

    >>> original = pa.table({"sex": ["f", "f", "m"], "region": ["north", "south", "north"]})
    >>> protected = pa.table({"sex": ["f", "f", None], "region": ["north", "south", "north"]})
    >>> found = found_for_certain(original, protected, ["sex", "region"], detail=True)
    >>> found.records.tolist()
    [False, True, True]
    """
    before, after = to_arrow(original), to_arrow(protected)
    n = before.num_rows
    if after.num_rows != n:
        raise BadInput(f"the original has {n:,} rows, the protected table {after.num_rows:,}")
    for table in (before, after):
        check_columns(table, columns)
    ids = np.arange(n) if units is None else unit_ids(before, units)
    records = certain(*coded(before, after, columns), ids, ids)
    found = len(np.unique(ids[records]))
    people = int(ids.max(initial=-1)) + 1
    result = FoundForCertain(found / max(1, people), found, people, records)
    return result if detail else result.value


def coded(
    before: pa.Table, after: pa.Table, columns: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Encode the values of some columns before and after; -1 is what may be anything."""
    x, y = [], []
    for name in columns:
        x.append(encode(before[name], name)[0])
        released = plain(after[name])
        if pa.types.is_string(released.type) or pa.types.is_large_string(released.type):
            star = pc.equal(released, pa.scalar(STAR, released.type))
            released = pc.if_else(star, pa.scalar(None, released.type), released)
        y.append(encode(released, name)[0])
    return np.array(x), np.array(y)


def certain(x: np.ndarray, y: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Tell which people have no records that can be theirs but their own.

    Parameters
    ----------
    x, y : ndarray of int
        Original and released values, by column and entry: codes, -1 where it may be anything.
    first, last : ndarray of int
        The smallest and the largest number of those who have the entry: the same where it is one
        record, or those of one unit.

    Examples
    --------
    >>> x, y = np.array([[0, 0, 1], [0, 1, 0]]), np.array([[0, 0, -1], [0, 1, 0]])
    >>> certain(x, y, np.arange(3), np.arange(3)).tolist()
    [False, True, True]
    """
    if not y.shape[1]:
        return np.zeros(0, dtype=bool)
    tuples, n = classes_of(y, y.max(axis=1) + 1)
    low, high = _ends(tuples, n, first, last)
    alone = low[tuples] == high[tuples]
    if not alone.any():
        return alone
    # All entries that were released as one tuple: their columns and levels are its own.
    at = np.empty(n, np.int64)
    at[tuples] = np.arange(len(tuples))
    tables, levels = zip(*map(_levels, x, y), strict=True)
    released = _Released(y[:, at], low, high, list(_alike(np.array(levels)[:, at])))
    entries = np.flatnonzero(alone)
    nulls, kinds = classes_of((x[:, entries] < 0).astype(np.int64), np.full(len(x), 2))
    for kind in range(kinds):
        mine = entries[nulls == kind]
        few = len(mine) * n <= _PAIRS * len(released.alike)
        look = _none_fits if few else _no_others
        alone[mine] = look(x[:, mine], first[mine], released, tables)
    return alone


class _Released(NamedTuple):
    """The distinct released tuples, and who has each."""

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alike: list[tuple[np.ndarray, np.ndarray]]  # levels, column by column, and the tuples on them


def _alike(levels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the levels that tuples are on, column by column, and which are; few columns first."""
    kinds, n = classes_of(levels, levels.max(axis=1) + 1)
    order = np.argsort(kinds, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(kinds, minlength=n))[:-1])
    for those in sorted(parts, key=lambda part: np.count_nonzero(levels[:, part[0]])):
        yield levels[:, those[0]], those


def _no_others(
    x: np.ndarray, own: np.ndarray, released: _Released, tables: Sequence[np.ndarray]
) -> np.ndarray:
    """Tell who is compatible with own records only, of people with nulls in the same columns."""
    alone = np.ones(len(own), dtype=bool)
    known = x[:, 0] >= 0
    sizes = released.codes.max(axis=1) + 1
    for level, those in _left_in_common(released.alike, known):
        (left,) = np.nonzero(alone)
        if not len(left):
            break
        columns = np.flatnonzero(known & (level > 0)).tolist()
        labels = {c: tables[c][level[c] - 1] for c in columns}
        # Most have no value in common with the others in some column.
        for c in sorted(columns, key=lambda c: -sizes[c]):
            mine, theirs = labels[c][x[c, left]], released.codes[c, those]
            left = left[_among(mine, theirs, sizes[c])]
            those = those[_among(theirs, labels[c][x[c, left]], sizes[c])]
        if not len(left):
            continue
        codes = [np.append(labels[c][x[c, left]], released.codes[c, those]) for c in columns]
        both = np.array(codes, np.int64).reshape(len(columns), len(left) + len(those))
        ids, n = classes_of(both, sizes[columns])
        least, most = _ends(ids[len(left) :], n, released.low[those], released.high[those])
        mine = ids[: len(left)]
        # Nobody is there where the least is more than the most.
        none = least[mine] > most[mine]
        alone[left] = none | ((least[mine] == own[left]) & (most[mine] == own[left]))
    return alone


def _left_in_common(
    alike: list[tuple[np.ndarray, np.ndarray]], known: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Put together what is on the same levels in the known columns; few columns first."""
    if known.all():
        return alike
    found: dict[bytes, tuple[np.ndarray, list[np.ndarray]]] = {}
    for level, those in alike:
        left = np.where(known, level, 0)
        found.setdefault(left.tobytes(), (left, []))[1].append(those)
    parts = sorted(found.values(), key=lambda part: np.count_nonzero(part[0]))
    return [(level, np.concatenate(those)) for level, those in parts]


def _none_fits(
    x: np.ndarray, own: np.ndarray, released: _Released, tables: Sequence[np.ndarray]
) -> np.ndarray:
    """Tell who is compatible with own records only, person by person."""
    known = np.flatnonzero(x[:, 0] >= 0) if x.size else np.empty(0, np.int64)
    known = known[np.argsort(-released.codes[known].max(axis=1, initial=-1), kind="stable")]
    alone = np.ones(len(own), dtype=bool)
    for i, unit in enumerate(own):
        those = np.flatnonzero((released.low != unit) | (released.high != unit))
        for c in known.tolist():
            codes = released.codes[c, those]
            fits = codes < 0
            for label in tables[c][:, x[c, i]]:
                fits |= codes == label
            those = those[fits]
        alone[i] = not len(those)
    return alone


def _among(codes: np.ndarray, others: np.ndarray, size: int) -> np.ndarray:
    """Mask the codes, -1 for none, that are among others; all are below a size."""
    there = np.zeros(size + 1, dtype=bool)
    there[others] = True
    there[-1] = False  # where -1 looks
    return there[codes]


def _ends(
    ids: np.ndarray, n: int, first: np.ndarray, last: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least first and the largest last number of each of n classes."""
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
    np.minimum.at(low, ids, first)
    np.maximum.at(high, ids, last)
    return low, high


def _levels(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put the labels of a column on levels, on each of which a value has one label at most.

    Returns the label of each value on each level, -1 where there is none, and the level of each
    entry: 1, 2, ..., and 0 where it may be anything.

    Examples
    --------
    >>> table, levels = _levels(np.array([0, 1, 1, 2]), np.array([0, 0, 1, -1]))
    >>> table.tolist(), levels.tolist()
    ([[0, 0, -1], [-1, 1, -1]], [1, 1, 2, 0])
    """
    size, labels = int(x.max()) + 1, int(y.max()) + 1
    both = (x >= 0) & (y >= 0)
    values, under = np.divmod(np.unique(x[both] * labels + y[both]), max(1, labels))
    level = np.ones(labels + 1, np.int64)
    level[-1] = 0  # which a code of -1 takes
    # Most labels share no value with another.
    shared = np.bincount(values, minlength=size)[values] > 1
    table = [np.full(size, -1)]
    doubtful = np.isin(under, under[shared])
    table[0][values[~doubtful]] = under[~doubtful]
    order = np.argsort(under[doubtful], kind="stable")
    values, under = values[doubtful][order], under[doubtful][order]
    starts = np.flatnonzero(np.diff(under, prepend=-1))
    parts = (
        list(zip(under[starts], np.split(values, starts[1:]), strict=True)) if len(under) else []
    )
    # Wide labels first: those of one level of a hierarchy come together.
    for label, own in sorted(parts, key=lambda part: -len(part[1])):
        free = (i for i, row in enumerate(table) if (row[own] < 0).all())
        place = next(free, len(table))
        if place == len(table):
            table.append(np.full(size, -1))
        table[place][own] = label
        level[label] = place + 1
    return np.array(table), level[y]


def _take(t: Facts) -> Entry:
    """Look for people before and after, among the records that are in both tables."""
    for column in t.quasi:
        if column in t.perturbed:
            raise LeftOut(
                f"{t.perturbed[column]} perturbs '{column}': what a released value can have been "
                "is not certain"
            )
    sides, first, last = t.known_and_released()
    people = int(first.max(initial=-1)) + 1 if t.counts else t.num_rows
    entry: Entry = {"columns": t.quasi}
    for name, side in zip(("before", "after"), sides, strict=True):
        those = certain(*coded(sides[0], side, t.quasi), first, last)
        found = len(np.unique(first[those]))
        entry[name] = {"found": found, "share": found / max(1, people)}
    return entry | t.counts


def _nothing_open(t: Facts) -> str:
    if set(t.quasi) & t.seen.changed:
        return ""
    return "no quasi column has blanks or labels, so that class_sizes tells as much"


FOUND_FOR_CERTAIN = Measure(
    "found_for_certain",
    "people whose original quasi values only one released record is compatible with; a blank is "
    "compatible with anything, a label with the values that were released under it",
    _take,
    [
        Figure("found for certain", "found", "records", headline=True,
               guide=Guide(0, "Nobody should be found for certain."),
               reading="people whose original quasi values only one released record is "
               "compatible with"),
        Figure("share found for certain", "share", "%", reading="the same, as a share of all"),
    ],
    needs=["quasi columns"],
    on_request=_nothing_open,
    intruder="looking for the only compatible record; beside nobody being found",
)  # fmt: skip
