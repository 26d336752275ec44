"""Frequencies: how many records of the file, and of the population, share a record's values.

Where people are counted and not records, a class is as large as it has distinct units, and a unit
is as much at risk as the worst of its records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.measure import NOBODY, Entry, Facts, Figure, Measure
from discreet.table.classes import check_columns, classes_of, encode, encode_columns, first_rows
from discreet.table.columns import float_values
from discreet.table.native import to_arrow

Nulls = Literal["value", "match"]


@dataclass(frozen=True)
class Frequencies:
    """Sample and population frequencies, record by record or class by class.

    `sample` is f, the records of the file that share the record's values, itself among them;
    `population` is F, the sum of their weights, or None where there are no weights.
    """

    sample: np.ndarray
    population: np.ndarray | None
    # The number of the record's tuple of values, 0, 1, ...; None where records are not listed.
    classes: np.ndarray | None = None
    repeats: np.ndarray | None = None  # where they are not: the classes that have this f and F
    units: np.ndarray | None = None  # whose record it is, 0, 1, ..., where f and F count units

    @property
    def stands_for(self) -> np.ndarray | None:
        """The records behind each entry; None where each is one."""
        return None if self.repeats is None else self.sample * self.repeats

    @property
    def records(self) -> int:
        """How many records, or units, there are."""
        if self.units is not None:
            return int(self.units.max(initial=-1)) + 1
        return len(self.sample) if self.stands_for is None else int(self.stands_for.sum())

    @property
    def smallest(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The sizes of the classes, and the records in each; the smallest class of each unit."""
        if self.units is None:
            return self.sample, self.stands_for
        return self._of_units(np.minimum, self.sample), None

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries by unit, and where those of each begin."""
        assert self.units is not None
        order = np.argsort(self.units, kind="stable")
        return order, np.flatnonzero(np.diff(self.units[order], prepend=-1))

    def _of_units(self, extreme: np.ufunc, figures: np.ndarray) -> np.ndarray:
        """Return the largest or the smallest figure of each unit."""
        order, starts = self._sorted
        return extreme.reduceat(figures[order], starts) if len(order) else figures

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        if self.repeats is not None:
            return int(self.repeats.sum())
        assert self.classes is not None
        return int(self.classes.max(initial=-1)) + 1

    def total(self, figures: np.ndarray) -> Any:
        """Sum over the records what is said of each entry; over units, the most of each.

        Examples
        --------
        >>> found = Frequencies(np.array([1, 4]), None, repeats=np.array([3, 2]))
        >>> found.total(1 / found.sample), found.records, found.num_classes
        (5.0, 11, 5)
        >>> found = Frequencies(np.array([1, 4, 4]), None, units=np.array([0, 0, 1]))
        >>> found.total(1 / found.sample), found.records
        (1.25, 2)
        """
        if self.units is not None:
            return self._of_units(np.maximum, figures).sum().item()
        records = self.stands_for
        return (figures if records is None else figures * records).sum().item()

    def mean(self, figures: np.ndarray) -> float:
        """Average over the records, or units; 0 where there are none."""
        return float(self.total(figures) / self.records) if self.records else 0.0


def frequencies(
    table: Any,
    columns: Sequence[str],
    *,
    weight: Any = None,
    nulls: Nulls = "value",
    units: Any = None,
) -> Frequencies:
    """Count for each record those, or the units, that share its values.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        Usually the quasi columns.
    weight : str or array, optional
        Sampling weights: a column's name, or a number for each record.
    nulls : {"value", "match"}
        `"value"`: a null is a value like any other. `"match"`: a null equals anything, so a
        record counts all whose cells are equal to its own or null on either side.
    units : str or array, optional
        The person or household of each record, as a column's name or a value for each; a record
        without one is a unit of its own. Distinct units are then counted instead of records, and
        each has the mean weight of its records. Nulls are values.

    Examples
    --------
    >>> table = pa.table({"sex": ["f", "f", None], "weight": [10.0, 20.0, 5.0]})
    >>> frequencies(table, ["sex"], units=["ann", "ann", "bea"]).sample.tolist()
    [1, 1, 1]
    >>> frequencies(table, ["sex"], weight="weight").sample.tolist()
    [2, 2, 1]
    >>> frequencies(table, ["sex"], weight="weight", nulls="match").population.tolist()
    [35.0, 35.0, 35.0]
    """
    if nulls not in ("value", "match"):
        raise BadInput(f"nulls must be 'value' or 'match', not {nulls!r}")
    table = to_arrow(table)
    weights = record_weights(table, weight)
    codes, sizes = encode_columns(table, columns)
    ids, count = classes_of(codes, sizes)
    if units is not None:
        return _by_unit(ids, count, unit_ids(table, units), weights, nulls)
    counts = np.bincount(ids, minlength=count)
    sums = None if weights is None else np.bincount(ids, weights, minlength=count)
    if nulls == "match" and (codes < 0).any():
        from discreet.kernels.wildcard import wildcard_counts

        tuples = np.ascontiguousarray(codes[:, first_rows(ids, count)].T)
        given = counts.astype(np.float64) if sums is None else sums
        counts, matched = wildcard_counts(tuples, sizes, counts, given)
        sums = None if sums is None else matched
    return Frequencies(counts[ids], None if sums is None else sums[ids], ids)


def _by_unit(
    ids: np.ndarray, count: int, units: np.ndarray, weights: np.ndarray | None, nulls: Nulls
) -> Frequencies:
    """Count the distinct units of each class."""
    if nulls != "value":
        raise BadInput("units are counted where a null is a value: leave nulls = 'match' out")
    size = int(units.max(initial=-1)) + 1
    keys = ids * size + units
    order = np.argsort(keys)
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))  # of each pair of class and unit
    class_of = ids[order[first]]
    sample = np.bincount(class_of, minlength=count)[ids]
    if weights is None or not len(keys):
        return Frequencies(sample, weights, ids, units=units)
    means = np.add.reduceat(weights[order], first) / np.diff(first, append=len(keys))
    population = np.bincount(class_of, means, count)[ids]
    return Frequencies(sample, population, ids, units=units)


def unit_ids(table: pa.Table, units: Any, called: str = "units") -> np.ndarray:
    """Return the number of each record's unit, 0, 1, ...; a record without one has its own."""
    if isinstance(units, str):
        check_columns(table, [units])
        column, called = table[units], units
    else:
        column = units if isinstance(units, pa.ChunkedArray) else pa.array(units)
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if len(column) != table.num_rows:
        raise BadInput(f"{called} has {len(column):,} values, the table {table.num_rows:,} rows")
    ids, size = encode(column, called)
    alone = ids < 0
    ids[alone] = size + np.arange(alone.sum())
    return ids


def record_weights(table: pa.Table, weight: Any) -> np.ndarray | None:
    """Return the weights, a column's or an array's, or say what is wrong with them."""
    if weight is None:
        return None
    if isinstance(weight, str):
        check_columns(table, [weight])
        name, weights = f"column '{weight}'", float_values(table[weight], weight)
    else:
        name, weights = "weight", np.asarray(weight, dtype=np.float64)
        if weights.shape != (table.num_rows,):
            raise BadInput(f"weight has shape {weights.shape}, the table {table.num_rows:,} rows")
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(say_bad_weight(name, row, float(weights[row])))
    return weights


def say_bad_weight(name: str, row: int, weight: float) -> str:
    """Say which weight is none."""
    return f"{name}, row {row + 1}: a weight must be above 0, not {weight}"


@dataclass(frozen=True)
class ClassSizes:
    """Sizes of the classes of records that share a tuple, in figures.

    `smallest` is the k of k-anonymity that the table reaches; `unique`, `under_3` and `under_5` are
    the records in classes of fewer than 2, 3 and 5: the violations of k-anonymity at these k;
    `average_risk` is the mean over the records of 1 / class size. Where units are counted, all of
    them are numbers of units, each as the smallest of its classes has it.
    """

    records: int
    classes: int
    smallest: int
    unique: int
    under_3: int
    under_5: int
    average_risk: float

    @classmethod
    def of(cls, found: Frequencies) -> ClassSizes:
        """Summarise frequencies that were counted before."""
        f = found.sample
        return cls(
            records=found.records,
            classes=found.num_classes,
            smallest=int(f.min()) if len(f) else 0,
            unique=int(found.total(f < 2)),
            under_3=int(found.total(f < 3)),
            under_5=int(found.total(f < 5)),
            average_risk=found.mean(1 / f),
        )


def class_sizes(
    table: Any, columns: Sequence[str], *, nulls: Nulls = "value", units: Any = None
) -> ClassSizes:
    """Count the classes that some columns form together, and the violations of k-anonymity.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    columns : sequence of str
        Usually the quasi columns.
    nulls : {"value", "match"}
        As in `frequencies`; under `"match"` classes overlap, and `classes` counts the distinct
        tuples.
    units : str or array, optional
        Count these instead of records, as in `frequencies`.

    Examples
    --------
    >>> table = pa.table({"sex": ["f", "f", "m"], "region": ["north", "north", "north"]})
    >>> class_sizes(table, ["sex", "region"]).unique
    1

    Two records of one household are one household:

    >>> class_sizes(table, ["sex", "region"], units=[1, 1, 2]).unique
    2
    """
    return ClassSizes.of(frequencies(table, columns, nulls=nulls, units=units))


def _take(t: Facts) -> Entry:
    before, after = (asdict(ClassSizes.of(found)) for found in t.frequencies)
    return {"columns": t.quasi, "nulls": "value", "before": before, "after": after} | t.counts


CLASS_SIZES = Measure(
    "class_sizes",
    "records that share all quasi values with few others; unique ones stand out",
    _take,
    [
        Figure("smallest class", "smallest", "records", "more", headline=True,
               reading="the k of k-anonymity that the table reaches"),
        Figure("in classes under 2", "unique", "records", guide=NOBODY, headline=True,
               reading="records unique on the quasi columns"),
        Figure("in classes under 3", "under_3", "records", guide=NOBODY,
               reading="records that share their quasi values with at most one other"),
        Figure("in classes under 5", "under_5", "records", guide=NOBODY, headline=True,
               reading="records that share their quasi values with at most three others"),
        Figure("classes", "classes", "tuples", None,
               reading="distinct combinations of quasi values"),
    ],
    needs=["quasi columns"],
    by_frequency=True,
    intruder="matching on all quasi columns; beside the original table",
)  # fmt: skip
