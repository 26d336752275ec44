"""The warning about values that came out as they went in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from discreet.threads import over_ranges

# Past this share of unchanged values the user is told.
UNCHANGED = 0.1
# A value is unchanged when it moved by no more than this share of its column's range.
SAME = 1e-9


def share_unchanged(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
    """Return the share of the values, nulls aside, that hardly moved.

    Examples
    --------
    >>> share_unchanged({"a": np.array([0.0, 1.0, np.nan])}, {"a": np.array([0.0, 1.5, np.nan])})
    0.5
    """
    same = present = 0
    for name, values in before.items():
        present += len(values) - int(np.isnan(values).sum())
        same += _count_same(values, after[name])
    return same / present


def _count_same(before: np.ndarray, after: np.ndarray) -> int:
    most = SAME * (np.nanmax(before) - np.nanmin(before))

    def count(start: int, stop: int) -> int:
        return int((np.abs(after[start:stop] - before[start:stop]) <= most).sum())

    # In pieces, so that what is in between stays in the cache.
    return sum(over_ranges(count, len(before), 1 << 16))


def warn_unchanged(share: float, why: str, column: str = "", most: float = UNCHANGED) -> None:
    """Warn if more than a tenth of the values, or of a column's values, are unchanged."""
    if share > most:
        where = f"column '{column}': " if column else ""
        warnings.warn(f"{where}{share:.0%} of the values came out unchanged: {why}", stacklevel=3)
