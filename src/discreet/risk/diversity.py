"""Confidential values inside classes: l-diversity, t-closeness, beta-likeness, alpha-k-anonymity.

Each function gives the value that a table reaches: the smallest l, the largest t, beta or alpha
over its classes. p is the column's distribution in a class, q in the whole table. Only the pairs of
class and value that occur are counted, so memory grows with the records. In the columns that form
the classes a null is a value like any other; a null confidential cell never counts towards l, and
is left out of p and q elsewhere. A class without any value has l = 0, and passes the other models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.classes import check_columns, classes_of, encode, encode_columns
from discreet.table.columns import kind_of
from discreet.table.native import to_arrow


@dataclass(frozen=True)
class _Pairs:
    """The pairs of class and value that occur, sorted by class, then value."""

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    sizes: np.ndarray  # records with a value, by class
    q: np.ndarray

    @property
    def p(self) -> np.ndarray:
        return self.count / self.sizes[self.group]


def _pairs(groups: np.ndarray, classes: int, values: np.ndarray, size: int) -> _Pairs:
    held = values >= 0
    keys, counts = np.unique(groups[held] * size + values[held], return_counts=True)
    group, value = keys // max(size, 1), keys % max(size, 1)
    total = np.bincount(values[held], minlength=size)
    sizes = np.bincount(group, counts, minlength=classes).astype(np.int64)
    return _Pairs(group, value, counts, sizes, total / max(1, held.sum()))


def _groups(table: Any, columns: Sequence[str], confidential: str) -> tuple[pa.Table, Any, int]:
    table = to_arrow(table)
    check_columns(table, [*columns, confidential])
    return table, *classes_of(*encode_columns(table, columns))


def _counted(table: Any, columns: Sequence[str], confidential: str) -> _Pairs:
    table, groups, classes = _groups(table, columns, confidential)
    return _pairs(groups, classes, *encode(table[confidential], confidential))


def l_diversity(
    table: Any,
    columns: Sequence[str],
    confidential: str,
    *,
    kind: Literal["distinct", "entropy", "recursive"] = "distinct",
    c: float | None = None,
) -> float:
    """Smallest l over the classes.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        The columns that form the classes.
    confidential : str
    kind : {"distinct", "entropy", "recursive"}
        Distinct values; exp of the Shannon entropy; or the largest l with
        r_1 < c (r_l + ... + r_m), counts r in falling order.
    c : float
        Of recursive (c, l)-diversity, and needed there.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 1, 2, 2], "ill": ["flu", "flu", "gout", "flu", "acne"]})
    >>> l_diversity(table, ["zip"], "ill")
    2.0
    """
    if kind not in ("distinct", "entropy", "recursive"):
        raise BadInput(f"kind must be 'distinct', 'entropy' or 'recursive', not {kind!r}")
    if kind == "recursive" and (c is None or not c > 0):
        raise BadInput("recursive l-diversity needs a c above 0, such as c=2")
    pairs = _counted(table, columns, confidential)
    classes = len(pairs.sizes)
    if kind == "distinct":
        reached = np.bincount(pairs.group, minlength=classes).astype(float)
    elif kind == "entropy":
        p = pairs.p
        entropy = np.bincount(pairs.group, -p * np.log(p), minlength=classes)
        reached = np.where(pairs.sizes > 0, np.exp(entropy), 0.0)
    else:
        assert c is not None
        reached = _recursive(pairs, c)
    return float(reached.min()) if classes else 0.0


def _recursive(pairs: _Pairs, c: float) -> np.ndarray:
    order = np.lexsort((-pairs.count, pairs.group))
    counts, group = pairs.count[order], pairs.group[order]
    classes = len(pairs.sizes)
    start = np.searchsorted(group, np.arange(classes))
    before = np.cumsum(counts) - counts
    # What is left from the l-th most frequent value on, this one included.
    tail = pairs.sizes[group] - (before - before[start[group]])
    # The tail shrinks with l, so the values that satisfy the rule are the first ones.
    return np.bincount(group, counts[start[group]] < c * tail, minlength=classes)


def t_closeness(
    table: Any,
    columns: Sequence[str],
    confidential: str,
    *,
    distance: Literal["equal", "ordered", "hierarchical"] = "equal",
    hierarchy: Mapping[Any, Sequence[Any]] | None = None,
) -> float:
    """Largest distance between a class's distribution and the table's.

    Parameters
    ----------
    table, columns, confidential
        As in `l_diversity`.
    distance : {"equal", "ordered", "hierarchical"}
        0.5 sum |p - q|; sum |cumulated (p - q)| / (m - 1), for numbers and ordered categories; or
        the earth mover's distance with ground distance (lowest common level) / height.
    hierarchy : mapping
        For `"hierarchical"`: of each value its coarser labels, the top last.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "pay": [10, 20, 30, 40]})
    >>> t_closeness(table, ["zip"], "pay"), t_closeness(table, ["zip"], "pay", distance="ordered")
    (0.5, 0.333...)
    """
    table, groups, classes = _groups(table, columns, confidential)
    column = table[confidential]
    if distance == "equal":
        reached = _equal(_pairs(groups, classes, *encode(column, confidential)))
    elif distance == "ordered":
        reached = _ordered(_pairs(groups, classes, *_ranks(column, confidential)))
    elif distance == "hierarchical":
        if not hierarchy:
            raise BadInput("hierarchical t-closeness needs the hierarchy of the column")
        # Moving along a tree costs what crosses its edges: the mean over the levels below the
        # top of the equal distance between the labels there.
        levels = _levels(column, confidential, hierarchy)
        parts = [_equal(_pairs(groups, classes, codes, size)) for codes, size in levels]
        reached = np.mean(parts, axis=0)
    else:
        raise BadInput(f"distance must be 'equal', 'ordered' or 'hierarchical', not {distance!r}")
    return float(reached.max(initial=0.0))


def _equal(pairs: _Pairs) -> np.ndarray:
    # p and q both sum to 1, so half the absolute sum is the sum of what p has in excess.
    excess = np.maximum(0.0, pairs.p - pairs.q[pairs.value])
    return np.bincount(pairs.group, excess, minlength=len(pairs.sizes))


def _ordered(pairs: _Pairs) -> np.ndarray:
    m = len(pairs.q)
    classes = len(pairs.sizes)
    if m < 2 or len(pairs.group) == 0:
        return np.zeros(classes)
    cumulated = np.cumsum(pairs.q)
    sums = np.concatenate(([0.0], np.cumsum(cumulated)))
    first = np.searchsorted(pairs.group, np.arange(classes))
    running = np.cumsum(pairs.count)
    level = (running - (running - pairs.count)[first[pairs.group]]) / pairs.sizes[pairs.group]
    last = np.append(pairs.group[1:] != pairs.group[:-1], True)
    start, end = pairs.value, np.append(pairs.value[1:], m)
    end = np.where(last, m - 1, end)
    # Between two values of a class its cumulated share is constant, the table's rises: what is
    # below the crossing counts one way, what is above the other.
    cross = np.clip(np.searchsorted(cumulated, level), start, end)
    gap = level * (2 * cross - start - end) - 2 * sums[cross] + sums[start] + sums[end]
    ahead = np.bincount(pairs.group, gap, minlength=classes)
    held = pairs.sizes > 0
    ahead[held] += sums[pairs.value[first[held]]]  # before the first value of the class
    return ahead / (m - 1)


def _ranks(column: pa.ChunkedArray, name: str) -> tuple[np.ndarray, int]:
    """Give the values numbers in their order."""
    kind = kind_of(column.type)
    if kind == "ordered":
        column = column.unify_dictionaries()
        column = pa.chunked_array([chunk.indices for chunk in column.chunks], pa.int64())
    elif kind not in ("numeric", "boolean"):
        raise BadInput(
            f"column '{name}' is {kind} and has no order; use distance='equal' or 'hierarchical'"
        )
    codes, size = encode(column, name)
    values = column.to_numpy(zero_copy_only=False)[_any_row(codes, size)]
    rank = np.full(size + 1, -1)  # the code of a null, -1, picks the last
    rank[np.argsort(values)] = np.arange(size)
    return rank[codes], size


def _any_row(codes: np.ndarray, size: int) -> np.ndarray:
    rows = np.zeros(size, np.int64)
    held = np.flatnonzero(codes >= 0)
    rows[codes[held]] = held
    return rows


def _levels(
    column: pa.ChunkedArray, name: str, hierarchy: Mapping[Any, Sequence[Any]]
) -> list[tuple[np.ndarray, int]]:
    """Encode the column at each level below the top."""
    codes, size = encode(column, name)
    labels = column.take(pa.array(_any_row(codes, size))).to_pylist()
    heights = {len(path) for path in hierarchy.values()}
    if len(heights) != 1 or 0 in heights:
        raise BadInput(f"the hierarchy of '{name}' must give every value the same number of levels")
    for label in labels:
        if label not in hierarchy:
            raise BadInput(f"the hierarchy of '{name}' has no value {label!r}")
    found = [(codes, size)]
    for level in range(heights.pop() - 1):
        # A label stands for itself and all above it: equal names under two parents are two nodes.
        nodes = {tuple(hierarchy[label][level:]): None for label in labels}
        number = {node: i for i, node in enumerate(nodes)}
        recode = [number[tuple(hierarchy[label][level:])] for label in labels]
        # The code of a null, -1, picks the last.
        found.append((np.array([*recode, -1])[codes], len(nodes)))
    return found


def beta_likeness(
    table: Any, columns: Sequence[str], confidential: str, *, enhanced: bool = False
) -> float:
    """Largest relative gain in confidence about a value, (p - q) / q where p > q.

    Parameters
    ----------
    table, columns, confidential
        As in `l_diversity`.
    enhanced : bool
        Also bound the gain by -ln q. The table then has no beta at all where a gain is above
        that, and infinity is returned.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "gout"]})
    >>> beta_likeness(table, ["zip"], "ill")
    1.0
    """
    pairs = _counted(table, columns, confidential)
    q = pairs.q[pairs.value]
    gain = np.maximum(0.0, (pairs.p - q) / q)
    if enhanced and (gain > -np.log(q) + 1e-12).any():
        return float("inf")
    return float(gain.max(initial=0.0))


@dataclass(frozen=True)
class AlphaK:
    """What (alpha, k)-anonymity a table reaches."""

    alpha: float
    k: int


def alpha_k_anonymity(table: Any, columns: Sequence[str], confidential: str) -> AlphaK:
    """Largest share of one value in a class, and the smallest class.

    Parameters are those of `l_diversity`.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "gout"]})
    >>> alpha_k_anonymity(table, ["zip"], "ill")
    AlphaK(alpha=1.0, k=2)
    """
    table, groups, classes = _groups(table, columns, confidential)
    pairs = _pairs(groups, classes, *encode(table[confidential], confidential))
    k = int(np.bincount(groups, minlength=classes).min()) if classes else 0
    return AlphaK(float(pairs.p.max(initial=0.0)), k)
