"""t-closeness: how far the confidential values of a class may be from those of all.

A null confidential cell is left out; a class without any value passes. In the columns that form
the classes a null is a value like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.risk.frequency import unit_ids
from discreet.risk.within import Pairs, any_row, classes_and_column, count_pairs, ranks
from discreet.table.classes import encode


def t_closeness(
    table: Any,
    columns: Sequence[str],
    confidential: str,
    *,
    distance: Literal["equal", "ordered", "hierarchical"] = "equal",
    hierarchy: Mapping[Any, Sequence[Any]] | None = None,
    order: Sequence[str] | None = None,
    units: Any = None,
) -> float:
    """Largest distance between a class's distribution and the table's.

    Parameters
    ----------
    table, columns, confidential, units
        As in `l_diversity`.
    distance : {"equal", "ordered", "hierarchical"}
        0.5 sum |p - q|; sum |cumulated (p - q)| / (m - 1), for numbers, ordered categories and text
        with an `order`; or the earth mover's distance with ground distance (lowest common level) /
        height.
    hierarchy : mapping
        For `"hierarchical"`: of each value its coarser labels, the top last.
    order : sequence of str
        For `"ordered"` and text: all its values, from one end to the other. Those that the table
        does not hold are passed over: m is the number of those that it does.

    Examples
    --------
    >>> table = pa.table({"zip": [1, 1, 2, 2], "pay": [10, 20, 30, 40]})
    >>> t_closeness(table, ["zip"], "pay"), t_closeness(table, ["zip"], "pay", distance="ordered")
    (0.5, 0.333...)
    >>> table = pa.table({"zip": [1, 1, 2, 2], "pain": ["none", "mild", "severe", "mild"]})
    >>> t_closeness(
    ...     table, ["zip"], "pain", distance="ordered", order=["none", "mild", "severe"]
    ... )
    0.25
    """
    if order is not None and distance != "ordered":
        raise BadInput("order belongs to distance='ordered'")
    table, groups, classes = classes_and_column(table, columns, confidential)
    column = table[confidential]
    codes = None if units is None else unit_ids(table, units)
    pairs = partial(count_pairs, groups, classes, units=codes)
    if distance == "equal":
        reached = equal_distance(pairs(*encode(column, confidential)))
    elif distance == "ordered":
        reached = ordered_distance(pairs(*ranks(column, confidential, order)))
    elif distance == "hierarchical":
        if not hierarchy:
            raise BadInput("hierarchical t-closeness needs the hierarchy of the column")
        # Moving along a tree costs what crosses its edges: the mean over the levels below the
        # top of the equal distance between the labels there.
        levels = _levels(column, confidential, hierarchy)
        reached = np.mean([equal_distance(pairs(*level)) for level in levels], axis=0)
    else:
        raise BadInput(f"distance must be 'equal', 'ordered' or 'hierarchical', not {distance!r}")
    return float(reached.max(initial=0.0))


def equal_distance(pairs: Pairs) -> np.ndarray:
    """Compute 0.5 sum |p - q| of each class."""
    # p and q both sum to 1, so half the absolute sum is the sum of what p has in excess.
    excess = np.maximum(0.0, pairs.p - pairs.q[pairs.value])
    return np.bincount(pairs.group, excess, minlength=len(pairs.sizes))


def ordered_distance(pairs: Pairs) -> np.ndarray:
    """Compute sum |cumulated (p - q)| / (m - 1) of each class; values are numbered in order."""
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


def _levels(
    column: pa.ChunkedArray, name: str, hierarchy: Mapping[Any, Sequence[Any]]
) -> list[tuple[np.ndarray, int]]:
    """Encode the column at each level below the top."""
    codes, size = encode(column, name)
    labels = column.take(pa.array(any_row(codes, size))).to_pylist()
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
