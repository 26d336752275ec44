"""The counting: distinct values with counts, distinct tuples with counts.

Methods decide on these and never on the rows, so the same decision comes out of any engine that
can count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.kernels.parts import class_counts, distinct
from discreet.kernels.sorting import sort, sort_rows
from discreet.kernels.units import units_in_parts


@dataclass(frozen=True)
class Holders:
    """The units that hold each of some sorted values: persons, or households."""

    units: np.ndarray  # as 0, 1, ..., value after value; one may come again
    starts: np.ndarray  # where those of each value start, and where the last one's end
    size: int  # how many units there are in all, or more

    @property
    def count(self) -> int:
        """Units that hold any of the values."""
        return int(self.in_parts(np.array([len(self.starts) - 1]))[0])

    def in_parts(self, ends: np.ndarray) -> np.ndarray:
        """Count the units of each part, given where parts end (exclusive) among the values.

        Examples
        --------
        >>> held = Holders(np.array([0, 0, 1, 2]), np.array([0, 1, 3, 4]), 3)
        >>> held.in_parts(np.array([2, 3]))
        array([2, 1])
        """
        return units_in_parts(self.units, self.starts, np.asarray(ends, np.int64), self.size)


@dataclass(frozen=True)
class Summary:
    """Sorted distinct values of a numeric column with their counts; nulls are counted apart."""

    values: np.ndarray  # strictly increasing
    counts: np.ndarray  # at least 1
    nulls: int = 0
    # For supervised methods: for each value (row), how many of its records are in each class.
    classes: np.ndarray | None = None
    # Where k counts units and not records.
    holders: Holders | None = None

    @property
    def n(self) -> int:
        """Records with a value."""
        return int(self.counts.sum())


def summarise(
    values: np.ndarray, target: np.ndarray | None = None, units: np.ndarray | None = None
) -> Summary:
    """Count the distinct values of an array; NaN is a null.

    The target, the class of each row as 0, 1, ..., adds `classes`, and units `holders`.

    Examples
    --------
    >>> summarise(np.array([3.0, 1.0, np.nan, 3.0]))
    Summary(values=array([1., 3.]), counts=array([1, 2]), nulls=1, classes=None, holders=None)
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if target is None and units is None:
        ordered = sort(values)
        return summarise_sorted(ordered, len(values) - len(ordered))
    ordered, rows = sort_rows(values)
    return summarise_sorted(
        ordered,
        len(values) - len(ordered),
        None if target is None else target[rows],
        None if units is None else units[rows],
    )


def summarise_sorted(
    ordered: np.ndarray,
    nulls: int = 0,
    target: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> Summary:
    """Count the distinct values of a sorted array without NaN and -0.0."""
    values, counts = distinct(ordered)
    classes = holders = None
    if target is not None:
        classes = class_counts(counts, target, int(target.max(initial=0)) + 1)
    if units is not None:
        starts = np.append(0, np.cumsum(counts))
        holders = Holders(units, starts, int(units.max(initial=0)) + 1)
    return Summary(values, counts, nulls, classes, holders)


def followed_by(low: Summary, high: Summary) -> Summary:
    """Join two summaries; all values of the second must be larger."""
    return Summary(
        np.concatenate([low.values, high.values]),
        np.concatenate([low.counts, high.counts]),
        low.nulls + high.nulls,
    )


def tuple_counts(table: pa.Table, columns: list[str]) -> tuple[pa.Table, np.ndarray]:
    """Count the distinct tuples of some columns; a null is a value like any other here.

    Examples
    --------
    >>> table = pa.table({"sex": ["f", "m", "f"], "age": [30, 41, 30]})
    >>> tuples, counts = tuple_counts(table, ["sex", "age"])
    >>> sorted(counts.tolist())
    [1, 2]
    """
    # By number, because a name such as ".a" is a path to Arrow.
    keys = [str(i) for i in range(len(columns))]
    numbered = table.select(columns).rename_columns(keys)
    grouped = numbered.group_by(keys, use_threads=False).aggregate([([], "count_all")])
    return grouped.select(keys).rename_columns(columns), grouped["count_all"].to_numpy()


class Tuples:
    """Distinct tuples with their counts, collected from pieces of a table.

    The first table has one row per tuple; a tuple may come again.

    Examples
    --------
    >>> one = Tuples.of(pa.table({"sex": ["f", "m", "f"]}))
    >>> tuples, counts = one.joined(Tuples.of(pa.table({"sex": ["f"]}))).result()
    >>> tuples["sex"].to_pylist(), counts.tolist()
    (['f', 'm'], [3, 1])
    """

    def __init__(self, table: pa.Table, counts: np.ndarray) -> None:
        self._names = table.column_names
        # By number, because a name such as ".a" is a path to Arrow.
        keys = [str(i) for i in range(table.num_columns)]
        self._parts = [table.rename_columns(keys).append_column("n", pa.array(counts, pa.int64()))]
        self._settled = table.num_rows

    @classmethod
    def of(cls, table: pa.Table) -> Tuples:
        """Count the rows of a table."""
        return cls(*tuple_counts(table, table.column_names))

    def joined(self, other: Tuples) -> Tuples:
        """Join two; they are only counted again once there are many."""
        both = Tuples.__new__(Tuples)
        both._names, both._parts = self._names, [*self._parts, *other._parts]
        both._settled = max(self._settled, other._settled)
        if sum(map(len, both._parts)) > 2 * both._settled + (1 << 16):
            both._settle()
        return both

    def _settle(self) -> None:
        keys = [str(i) for i in range(len(self._names))]
        grouped = pa.concat_tables(self._parts).group_by(keys, use_threads=False)
        found = grouped.aggregate([("n", "sum")]).select([*keys, "n_sum"])
        self._parts = [found.rename_columns([*keys, "n"])]
        self._settled = len(found)

    def result(self) -> tuple[pa.Table, np.ndarray]:
        """Return the distinct tuples and their counts."""
        if len(self._parts) > 1:
            self._settle()
        (found,) = self._parts
        return found.drop_columns(["n"]).rename_columns(self._names), found["n"].to_numpy()
