"""The counting: distinct values with counts, distinct tuples with counts.

Methods decide on these and never on the rows, so the same decision comes out of any engine that
can count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Summary:
    """Sorted distinct values of a numeric column with their counts; nulls are counted apart.

    Attributes
    ----------
    values : ndarray of float64
        Strictly increasing.
    counts : ndarray of int64
        How many records hold each value; at least 1.
    nulls : int
        Records without a value.
    """

    values: np.ndarray
    counts: np.ndarray
    nulls: int = 0

    @property
    def n(self) -> int:
        """Records with a value."""
        return int(self.counts.sum())


def summarise(values: np.ndarray) -> Summary:
    """Count the distinct values of an array; NaN is a null.

    Examples
    --------
    >>> summarise(np.array([3.0, 1.0, np.nan, 3.0]))
    Summary(values=array([1., 3.]), counts=array([1, 2]), nulls=1)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    # NaN sorts last.
    n = int(np.searchsorted(ordered, np.nan))
    return summarise_sorted(ordered[:n], len(ordered) - n)


def summarise_sorted(ordered: np.ndarray, nulls: int = 0) -> Summary:
    """Count the distinct values of a sorted array without NaN."""
    # Adding 0.0 turns -0.0 into 0.0.
    ordered = ordered + 0.0
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return Summary(ordered[starts], np.diff(starts, append=len(ordered)), nulls)


def tuple_counts(table: pa.Table, columns: list[str]) -> tuple[pa.Table, np.ndarray]:
    """Count the distinct tuples of some columns; a null is a value like any other here.

    Returns
    -------
    tuples : pyarrow.Table
        One row per distinct tuple.
    counts : ndarray of int64

    Examples
    --------
    >>> table = pa.table({"sex": ["f", "m", "f"], "age": [30, 41, 30]})
    >>> tuples, counts = tuple_counts(table, ["sex", "age"])
    >>> sorted(counts.tolist())
    [1, 2]
    """
    grouped = (
        table.select(columns).group_by(columns, use_threads=False).aggregate([([], "count_all")])
    )
    return grouped.select(columns), grouped["count_all"].to_numpy()
