"""How many points or how large groups: quantiles, and the rule of Freedman and Diaconis (1981)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from discreet.method import per_column
from discreet.parameters import Rule, is_whole
from discreet.table.summary import Summary

ByRule = Literal["freedman-diaconis"]
Size = int | ByRule | Mapping[str, int | ByRule]
SIZE = Rule(
    wanted="a whole number of at least 1",
    good=lambda x: is_whole(x, 1) or x in get_args(ByRule),
    bounds={"minimum": 1},
    hint=" (or the rule 'freedman-diaconis')",
    by_column=True,
)
# The least that a rule may let a point stand for: two can work each other out.
LEAST = 3


def held(summary: Summary) -> int:
    """Return how many hold a value: units where these are counted, else records."""
    return summary.n if summary.holders is None else summary.holders.count


def held_in_parts(summary: Summary, ends: np.ndarray) -> np.ndarray:
    """Return how many hold each part, by the parts' ends (exclusive, among the distinct values)."""
    if summary.holders is not None:
        return summary.holders.in_parts(ends)
    return np.diff(np.append(0, np.cumsum(summary.counts))[ends], prepend=0)


def group_size(k: Size, summary: Summary, column: str) -> int:
    """Return the k of a column, by the rule where it says so: at least 3 then."""
    size: Any = per_column(k, column, "k")
    if not isinstance(size, str):
        return int(size)
    raw = held(summary) // freedman_diaconis(summary, column)
    if raw < LEAST:
        warnings.warn(
            f"column '{column}': the Freedman-Diaconis rule gives k = {raw}; k = {LEAST} is used",
            stacklevel=2,
        )
    return max(LEAST, raw)


def point_count(n_points: Size, summary: Summary, column: str) -> int:
    """Return the number of points of a column, by the rule where it says so: at most n/3 then."""
    size: Any = per_column(n_points, column, "n_points")
    if not isinstance(size, str):
        return int(size)
    raw, n = freedman_diaconis(summary, column), held(summary)
    most = max(1, n // LEAST)
    if raw > most:
        what = "values" if summary.holders is None else "units"
        warnings.warn(
            f"column '{column}': the Freedman-Diaconis rule gives {raw} points for {n} {what}; "
            f"{most} are used",
            stacklevel=2,
        )
    return min(raw, most)


def freedman_diaconis(summary: Summary, column: str) -> int:
    """Return the rule's number of classes, ceil(range / width), width = 2 IQR / n^(1/3).

    Where the interquartile range is 0, or next to it, Scott's width 3.49 s / n^(1/3) serves. Where
    units are counted, n is their number.

    Examples
    --------
    >>> freedman_diaconis(Summary(np.arange(1000.0), np.ones(1000, dtype=np.int64)), "age")
    10
    """
    spread = float(summary.values[-1]) - float(summary.values[0])
    if spread == 0 or spread == math.inf:
        why = "is constant" if spread == 0 else "has a range beyond what float64 holds"
        warnings.warn(f"column '{column}' {why}: it gets one group", stacklevel=2)
        return 1
    root = math.cbrt(held(summary))
    quartiles = quantiles(summary, 4)
    middle = float(quartiles[3] - quartiles[1])
    width = 2 * middle / root
    if width == 0 or spread / width == math.inf:
        warnings.warn(
            f"column '{column}' has interquartile range {middle:g}: Scott's rule is used instead "
            "of Freedman and Diaconis's",
            stacklevel=2,
        )
        # In shares of the range, whose squares can be neither too large nor all too small.
        share = (summary.values - summary.values[0]) / spread
        share -= np.average(share, weights=summary.counts)
        deviation = math.sqrt((summary.counts * share**2).sum() / (summary.n - 1))
        return math.ceil(root / (3.49 * deviation))
    return math.ceil(spread / width)


def quantiles(summary: Summary, parts: int) -> np.ndarray:
    """Return the quantiles 0/parts, 1/parts, ..., 1, interpolated as R's type 7.

    Examples
    --------
    >>> quantiles(Summary(np.array([1.0, 2.0, 10.0]), np.array([1, 2, 1])), 2)
    array([ 1.,  2., 10.])
    """
    # Position (n - 1) * i / parts, in whole numbers: a quantile that is a value equals it.
    position, rest = np.divmod((summary.n - 1) * np.arange(parts + 1), parts)
    totals = np.cumsum(summary.counts)
    low = summary.values[np.searchsorted(totals, position, side="right")]
    following = np.minimum(position + 1, summary.n - 1)
    high = summary.values[np.searchsorted(totals, following, side="right")]
    return low + rest / parts * (high - low)
