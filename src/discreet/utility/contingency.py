"""What two-way tables of categories would get wrong: counts from the release beside the original's.

Labels are compared by what they cover, not by their text: a table of five-year groups is right if
its groups are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from scipy.sparse import coo_array, csr_array

from discreet.errors import BadInput
from discreet.measure import Entry, Facts, Figure, Measure
from discreet.table.columns import kind_of
from discreet.table.native import to_arrow
from discreet.utility.compared import check_rows
from discreet.utility.covers import Covers, covers_of
from discreet.utility.loss import Loss

if TYPE_CHECKING:
    from discreet.utility.covers import Hierarchies

# Groups of values that a column is compared by; rarer ones are one.
MOST_GROUPS = 1_000


@overload
def contingency_loss(
    original: Any,
    protected: Any,
    *,
    hierarchies: Hierarchies | None = ...,
    weights: np.ndarray | None = ...,
) -> float: ...
@overload
def contingency_loss(
    original: Any,
    protected: Any,
    *,
    hierarchies: Hierarchies | None = ...,
    weights: np.ndarray | None = ...,
    detail: Literal[True],
) -> Loss: ...
def contingency_loss(
    original: Any,
    protected: Any,
    *,
    hierarchies: Hierarchies | None = None,
    weights: np.ndarray | None = None,
    detail: bool = False,
) -> float | Loss:
    """Share of records that two-way tables made from the release count in a wrong cell.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table
        As many rows in both. All columns that are not numeric in both tables are crossed.
    hierarchies : mapping of str to Hierarchy, optional
        Of columns of text: what their labels cover. Where not given, that is what was seen under
        them.
    weights : ndarray, optional
        Of the records; one each where not given.
    detail : bool
        Give each column's mean over the tables it is in.

    Returns
    -------
    float or Loss
        Sum of |count differences| / (2 n tables), in 0..1. Refused with fewer than two such
        columns.

    Notes
    -----
    Both tables are of the finest groups of original values that released labels tell apart, so that
    recoding all records alike moves none: what that costs is a matter of `information_loss`. A
    label that covers several groups, because others show more, is spread over them in proportion to
    the distinct values that each has; so is `*`, over all. A null is a value like any other. Of
    more than 1,000 groups the rarest are one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"sex": ["f", "m"], "job": ["nurse", "judge"]})
    >>> contingency_loss(original, pa.table({"sex": ["f", "m"], "job": ["judge", "judge"]}))
    0.5
    >>> contingency_loss(original, pa.table({"sex": ["f", "m"], "job": ["care", "law"]}))
    0.0
    """
    before, after = to_arrow(original), to_arrow(protected)
    check_rows(before, after)
    names = [
        name
        for name in after.column_names
        if name in before.column_names
        and not kind_of(before[name].type) == kind_of(after[name].type) == "numeric"
    ]
    if len(names) < 2:
        raise BadInput("contingency_loss needs two columns that are not numeric, in both tables")
    given = hierarchies or {}
    sides = {
        name: grouped(covers_of(before[name], after[name], name, given.get(name))) for name in names
    }
    moved: dict[str, list[float]] = {name: [] for name in names}
    for one, other in combinations(names, 2):
        share = _moved(sides[one], sides[other], weights)
        moved[one].append(share)
        moved[other].append(share)
    columns = {name: float(np.mean(shares)) for name, shares in moved.items()}
    # Each table is in the lists of two columns, all of the same length.
    loss = Loss(float(np.mean(list(columns.values()))), columns)
    return loss if detail else loss.value


@dataclass(frozen=True)
class Grouped:
    """A column at the level that its released labels are at."""

    was: np.ndarray  # the group of each record's original value
    label: np.ndarray  # its released label
    spread: csr_array  # of each label, the share that falls to each group
    of_value: np.ndarray  # the group of each of the original's values, null last

    @property
    def size(self) -> int:
        """How many groups there are, with one for labels that cover nothing."""
        return int(self.spread.shape[1])


def grouped(covers: Covers) -> Grouped:
    """Find the groups of values that the labels of a column tell apart, and spread labels."""
    group, label, at, weight = _segments(covers) if covers.start is not None else _sets(covers)
    size, n_labels = int(group.max()) + 1, len(covers.top)
    # What was never null is not spread over nulls.
    held = np.bincount(group[: len(group) - (covers.counts[-1] == 0)], minlength=size)
    tops, some = np.flatnonzero(covers.top), np.flatnonzero(held)
    with_null = np.flatnonzero(covers.with_null & ~covers.top)
    total = np.bincount(label, weight, minlength=n_labels) + np.bincount(
        with_null, minlength=n_labels
    )
    # A label that covers nothing that the original has is in a group of its own.
    nowhere = np.flatnonzero((total == 0) & ~covers.top)
    parts = [
        (label, at, weight),
        (with_null, np.full(len(with_null), group[-1]), np.ones(len(with_null))),
        (np.repeat(tops, len(some)), np.tile(some, len(tops)), np.tile(held[some], len(tops))),
        (nowhere, np.full(len(nowhere), size), np.ones(len(nowhere))),
        (np.array([n_labels]), group[-1:], np.ones(1)),
    ]
    rows, columns, weights = (np.concatenate(side) for side in zip(*parts, strict=True))
    whole = np.bincount(rows, weights, minlength=n_labels + 1)
    spread = coo_array((weights / whole[rows], (rows, columns)), shape=(n_labels + 1, size + 1))
    return Grouped(group[covers.x], covers.y, csr_array(spread), group)


_Spread = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _segments(covers: Covers) -> _Spread:
    """Cut ordered values where a label begins or ends.

    Returns the group of each value; and of labels and groups how many values they share.
    """
    assert covers.start is not None
    assert covers.end is not None
    values = len(covers.counts) - 1
    kept = np.flatnonzero(~covers.top & (covers.start < covers.end))
    start, end = covers.start[kept], covers.end[kept]
    cuts = np.unique(np.concatenate([start, end, [0, values]]))
    if len(cuts) > MOST_GROUPS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, MOST_GROUPS).astype(np.int64)]
    group = np.searchsorted(cuts, np.arange(values), side="right") - 1
    first = np.searchsorted(cuts, start, side="right") - 1
    many = np.searchsorted(cuts, end, side="left") - first
    at = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
    low, high = (np.repeat(side, many) for side in (start, end))
    shared = np.minimum(high, cuts[at + 1]) - np.maximum(low, cuts[at])
    return np.append(group, max(0, len(cuts) - 1)), np.repeat(kept, many), at, shared


def _sets(covers: Covers) -> _Spread:
    """Put values together that the same labels cover; what is returned is as above."""
    assert covers.values is not None
    assert covers.ends is not None
    label = np.repeat(np.arange(len(covers.ends)), np.diff(covers.ends, prepend=0))
    # Values that the same labels cover have the same sum of the labels' words.
    words = np.random.default_rng(0).integers(1, 2**63, len(covers.ends), dtype=np.uint64)
    sums = np.zeros(len(covers.counts) - 1, np.uint64)
    np.add.at(sums, covers.values, words[label])
    _, group = np.unique(sums, return_inverse=True)
    group = _pooled(np.append(group, group.max(initial=-1) + 1), covers.counts)
    return group, label, group[covers.values], np.ones(len(label))


def _pooled(group: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Put the rarest groups together where there are too many."""
    records = np.bincount(group, counts)
    if len(records) <= MOST_GROUPS:
        return group
    order = np.argsort(-records, kind="stable")
    number = np.full(len(records), MOST_GROUPS - 1)
    number[order[: MOST_GROUPS - 1]] = np.arange(MOST_GROUPS - 1)
    return number[group]


def _moved(one: Grouped, other: Grouped, weights: np.ndarray | None) -> float:
    weights = np.ones(len(one.was)) if weights is None else weights
    shape = one.spread.shape[0], other.spread.shape[0]
    labels = csr_array(coo_array((weights, (one.label, other.label)), shape=shape))
    now = (one.spread.T @ labels @ other.spread).toarray()
    was = np.bincount(one.was * other.size + other.was, weights, minlength=now.size)
    total = weights.sum()
    return float(np.abs(was.reshape(now.shape) - now).sum() / (2 * total)) if total else 0.0


def _take(t: Facts) -> Entry:
    columns = [c for c in t.shared if c not in t.numeric]
    before, after = t.shown("contingency_loss", columns)
    known = t.recipe.hierarchies
    entry = asdict(contingency_loss(before, after, hierarchies=known, detail=True))
    if t.weighted:
        weights = t.drawn.weights
        entry["weighted"] = contingency_loss(before, after, hierarchies=known, weights=weights)
    return entry


CONTINGENCY_LOSS = Measure(
    "contingency_loss",
    "share of records that two-way tables of categories made from the release count in a wrong "
    "cell, at the level that was released",
    _take,
    [
        Figure("two-way tables: counted wrongly", "", "%", untouched=0.0, headline=True),
        Figure(
            "two-way tables: counted wrongly, weighted",
            "weighted",
            "%",
            untouched=0.0,
            reading="the same of weighted tables: the share of the weights",
        ),
    ],
    needs=["changed categories"],
)
