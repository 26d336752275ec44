"""What one who has found a record learns from it: its confidential values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.risk.interval import WIDTH, disclosed_cells
from discreet.risk.values import sd
from discreet.table import kind_of
from discreet.table.classes import encode
from discreet.table.columns import float_values


def values_learned(before: pa.Table, after: pa.Table, columns: Sequence[str]) -> dict[str, float]:
    """Return the share of each column's values that the released ones give away.

    The rows are the same in both, null after where a record was left out. A number is learned if
    the released one is within 0.05 standard deviations of it, as in interval disclosure; a label
    if it is the commonest among the records that are released with the same one. Of a number that
    became a label, the mean of those with that label is guessed. A column that is not released
    tells nothing, and one without values is left out.

    Examples
    --------
    >>> people = pa.table({"job": ["nurse", "judge", "judge"], "pay": [10.0, 20.0, 60.0]})
    >>> released = pa.table({"job": ["*", "*", "*"], "pay": [10.0, 20.0, 40.0]})
    >>> {name: round(share, 2) for name, share in
    ...  values_learned(people, released, ["job", "pay"]).items()}
    {'job': 0.67, 'pay': 0.67}
    """
    found = {}
    for name in columns:
        if kind_of(before[name].type) == "numeric":
            hits, n = _numbers(before[name], after, name)
        else:
            hits, n = _labels(before[name], after, name)
        if n:
            found[name] = hits / n
    return found


def _numbers(column: pa.ChunkedArray, after: pa.Table, name: str) -> tuple[int, int]:
    x = float_values(column, name)
    there = np.isfinite(x)
    if name not in after.column_names:
        return 0, int(there.sum())
    if kind_of(after[name].type) == "numeric":
        y = float_values(after[name], name)
        both = there & np.isfinite(y)
        close = disclosed_cells(x[both], y[both], "sd", WIDTH) if both.any() else both
        return int(close.sum()), int(there.sum())
    codes, size = encode(after[name], name)
    both = there & (codes >= 0)
    sums = np.bincount(codes[both], x[both], minlength=size)
    means = sums / np.maximum(1, np.bincount(codes[both], minlength=size))
    close = np.abs(x[both] - means[codes[both]]) <= WIDTH * sd(x[there])
    return int(close.sum()), int(there.sum())


def _labels(column: pa.ChunkedArray, after: pa.Table, name: str) -> tuple[int, int]:
    x, size = encode(column, name)
    n = int((x >= 0).sum())
    if name not in after.column_names:
        return 0, n
    y, _ = encode(after[name], name)
    both = (x >= 0) & (y >= 0)
    pairs, counts = np.unique(y[both] * np.int64(size) + x[both], return_counts=True)
    if not len(pairs):
        return 0, n
    starts = np.flatnonzero(np.diff(pairs // size, prepend=-1))
    return int(np.maximum.reduceat(counts, starts).sum()), n
