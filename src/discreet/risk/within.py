"""Counts of confidential values within classes, for the models that look at them.

p is the column's distribution in a class, q in the whole table. Only the pairs of class and value
that occur are counted, so memory grows with the records. In the columns that form the classes a
null is a value like any other; null confidential cells are left out of p and q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.risk.frequency import unit_ids
from discreet.table.classes import (
    check_columns,
    classes_of,
    encode,
    encode_columns,
    in_order,
    renumber,
)
from discreet.table.columns import kind_of
from discreet.table.listed import places_in
from discreet.table.native import to_arrow


@dataclass(frozen=True)
class Pairs:
    """The pairs of class and value that occur, sorted by class, then value."""

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    sizes: np.ndarray  # records with a value, by class
    q: np.ndarray

    @property
    def p(self) -> np.ndarray:
        """Share of the value in the class."""
        return self.count / self.sizes[self.group]


def count_pairs(
    groups: np.ndarray,
    classes: int,
    values: np.ndarray,
    size: int,
    records: np.ndarray | None = None,
    units: np.ndarray | None = None,
) -> Pairs:
    """Count the pairs of encoded classes and values; -1 is a null.

    Each entry is a record, or stands for as many as `records` says. Where units are given, each
    counts once for every value that it has in a class, and in q once for every value.
    """
    held = values >= 0
    if units is not None:
        return _by_unit(groups[held], classes, values[held], size, units[held])
    keys = groups[held] * size + values[held]
    if records is None:
        keys, counts = np.unique(keys, return_counts=True)
    else:
        keys, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, records[held], minlength=len(keys)).astype(np.int64)
    group, value = keys // max(size, 1), keys % max(size, 1)
    total = np.bincount(value, counts, minlength=size)
    sizes = np.bincount(group, counts, minlength=classes).astype(np.int64)
    return Pairs(group, value, counts, sizes, total / max(1, counts.sum()))


def _by_unit(
    groups: np.ndarray, classes: int, values: np.ndarray, size: int, units: np.ndarray
) -> Pairs:
    if not len(units):
        return count_pairs(groups, classes, values, size)
    owned, number = renumber(units * size + values, (int(units.max()) + 1) * size)
    value = np.empty(number, np.int64)
    value[owned] = values
    group, own = np.divmod(in_order(groups * number + owned), number)
    pairs = count_pairs(group, classes, value[own], size)
    return replace(pairs, q=np.bincount(value, minlength=size) / number)


def classes_and_column(
    table: Any, columns: Sequence[str], confidential: str
) -> tuple[pa.Table, Any, int]:
    """Return the table, the class of each row, and the number of classes."""
    table = to_arrow(table)
    check_columns(table, [*columns, confidential])
    return table, *classes_of(*encode_columns(table, columns))


def counted(table: Any, columns: Sequence[str], confidential: str, units: Any = None) -> Pairs:
    """Count the pairs of classes and confidential values of a table."""
    table, groups, classes = classes_and_column(table, columns, confidential)
    codes = None if units is None else unit_ids(table, units)
    return count_pairs(groups, classes, *encode(table[confidential], confidential), units=codes)


def ranks(
    column: pa.ChunkedArray, name: str, order: Sequence[str] | None = None
) -> tuple[np.ndarray, int]:
    """Return the values' numbers, in their order or in that of a list."""
    kind = kind_of(column.type)
    if order is not None:
        column = places_in(order, column, name)
    elif kind == "ordered":
        column = column.unify_dictionaries()
        column = pa.chunked_array(
            [chunk.indices.cast(pa.int64()) for chunk in column.chunks], pa.int64()
        )
    elif kind not in ("numeric", "boolean"):
        raise BadInput(
            f"column '{name}' is {kind} and has no order; give its values as order=[...], or use "
            "distance='equal' or 'hierarchical'"
        )
    codes, size = encode(column, name)
    values = column.to_numpy(zero_copy_only=False)[any_row(codes, size)]
    rank = np.full(size + 1, -1)  # the code of a null, -1, picks the last
    rank[np.argsort(values)] = np.arange(size)
    return rank[codes], size


def any_row(codes: np.ndarray, size: int) -> np.ndarray:
    """Return a row that holds each code."""
    rows = np.zeros(size, np.int64)
    held = np.flatnonzero(codes >= 0)
    rows[codes[held]] = held
    return rows
