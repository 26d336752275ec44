"""What stands for a group: its mean, its most frequent category, its median category."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.microaggregation._space import Column


def centres(column: Column, labels: np.ndarray, groups: int) -> np.ndarray:
    """Return each group's centre, NaN where its records are null.

    Numbers: the mean. Categories, by their places: the most frequent, the first of several; ordered
    ones: the lower median.
    """
    used = (labels >= 0) & ~np.isnan(column.values)
    values, group = column.values[used], labels[used]
    found = np.full(groups, np.nan)
    if not len(values):
        return found
    if column.kind == "number":
        # About a value of the group itself: equal values have just that value as their mean.
        origin = np.zeros(groups)
        origin[group[::-1]] = values[::-1]
        size = np.bincount(group, minlength=groups)
        sums = np.bincount(group, values - origin[group], minlength=groups)
        present = size > 0
        found[present] = origin[present] + sums[present] / size[present]
        return found
    order = np.lexsort((values, group))
    values, group = values[order], group[order]
    size = np.bincount(group, minlength=groups)
    starts = np.cumsum(size) - size
    present = size > 0
    if column.kind == "ordered":
        found[present] = values[(starts + (size - 1) // 2)[present]]
        return found
    first = np.r_[True, (values[1:] != values[:-1]) | (group[1:] != group[:-1])]
    at = np.flatnonzero(first)
    count = np.diff(np.r_[at, len(values)])
    # By group, the most frequent first, then the first in order; the head of each group is taken.
    best = np.lexsort((values[at], -count, group[at]))
    heads = best[np.r_[True, np.diff(group[at][best]) > 0]]
    found[group[at][heads]] = values[at][heads]
    return found


def released(column: Column, source: Any, places: np.ndarray) -> Any:
    """Return a column of centres as it came: numbers as they are, categories in their type."""
    if column.labels is None:
        return places
    null = np.isnan(places)
    codes = np.where(null, 0, places).astype(np.int32)
    if not pa.types.is_dictionary(source.type):
        return pa.chunked_array([column.labels.take(pa.array(codes, mask=null))], source.type)
    cells = pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=null), column.labels, ordered=source.type.ordered
    )
    return pa.chunked_array([cells])


def planned(column: Column, found: np.ndarray) -> np.ndarray:
    """Return centres for the plan: numbers, or categories by name; None where null."""
    null = np.isnan(found)
    if column.labels is None:
        return np.where(null, np.array(None), found) if null.any() else found
    names = np.array([*column.labels.to_pylist(), None], dtype=object)
    return names[np.where(null, len(column.labels), found).astype(np.int64)]
