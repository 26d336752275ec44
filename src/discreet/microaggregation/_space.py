"""Columns as coordinates: where records lie, and how much of their spread a grouping loses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table import kind_of

# What the kernels compute in: whole multiples of this.
_UNIT = 2.0**-36
# Cells that the refinement may lay categories out in, a column for each label.
_MOST_CELLS = 5e7
# Less would come near to the unit.
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True)
class Column:
    """A column as numbers, with the way back to categories.

    Attributes
    ----------
    values : ndarray of float64
        Numbers, or the categories' places in `labels`; NaN where null.
    kind : {"number", "category", "ordered"}
    labels : pyarrow.Array or None
        The categories in order: as the column has them where ordered, else sorted.
    weight : float
    """

    values: np.ndarray
    kind: Literal["number", "category", "ordered"]
    labels: pa.Array | None
    weight: float

    @property
    def is_constant(self) -> bool:
        """True where there is nothing to tell records apart by."""
        present = self.values[~np.isnan(self.values)]
        return not len(present) or bool((present == present[0]).all())

    def scaled(self, by: Literal["deviation", "range"]) -> np.ndarray:
        """Return the values about their mean, in standard deviations or ranges; 0 where null."""
        present = ~np.isnan(self.values)
        x = self.values[present]
        # About one of the values and in ranges first: near 1e9 a spread of 1e-3 is kept.
        x = (x - x[0]) / (x.max() - x.min())
        x -= x.mean()
        if by == "deviation":
            x /= np.sqrt((x**2).sum() / (len(x) - 1))
        scaled = np.zeros(len(self.values))
        scaled[present] = x
        return scaled


def encode(columns: Mapping[str, Any], weights: Mapping[str, float] | None) -> dict[str, Column]:
    """Take numbers as they are and categories as their places among the sorted ones.

    Weights are divided by the largest, so that no coordinate is larger than without them.
    """
    encoded = {}
    given = {name: float((weights or {}).get(name, 1.0)) for name in columns}
    for name, column in columns.items():
        weight = given[name] / max(given.values())
        if weight < _LEAST_WEIGHT:
            raise BadInput(
                f"the weight of column '{name}' is less than {_LEAST_WEIGHT:g} of the largest; "
                "leave the column out"
            )
        if isinstance(column, np.ndarray):
            # The sum of all differences, which is more than any mean needs.
            with np.errstate(over="ignore"):
                spread = (np.nanmax(column) - np.nanmin(column)) * len(column)
            if not np.isfinite(spread):
                raise BadInput(f"the values of column '{name}' are too far apart to compute with")
            encoded[name] = Column(column, "number", None, weight)
        else:
            encoded[name] = _categories(name, column, weight)
    return encoded


def _categories(name: str, column: pa.ChunkedArray, weight: float) -> Column:
    kind = kind_of(column.type)
    if kind == "other":
        raise BadInput(f"column '{name}' holds {column.type}, which cannot be grouped; drop it")
    if column.null_count == len(column):
        raise BadInput(f"column '{name}' holds only nulls")
    plain = column
    if pa.types.is_dictionary(column.type):
        plain = column.cast(column.type.value_type)
    labels = pc.unique(plain.drop_null())
    if kind == "ordered":
        order = column.unify_dictionaries().chunk(0).dictionary
        labels = order.filter(pc.is_in(order, value_set=labels))
    else:
        labels = labels.take(pc.sort_indices(labels))
    codes = pc.index_in(plain, value_set=labels).cast(pa.float64()).to_numpy()
    return Column(np.array(codes), "ordered" if kind == "ordered" else "category", labels, weight)


@dataclass(frozen=True)
class Space:
    """What the kernels group: points and their distance, see `discreet.kernels.microaggregation`.

    Constant columns are left out; a null lies at 0, as records are compared within one pattern of
    nulls only. `units` are those that k counts; None where it counts records.
    """

    points: np.ndarray
    mismatch: np.ndarray | None
    steps: np.ndarray | None
    units: np.ndarray | None

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return some of the points."""
        return self.points[rows], self.mismatch, self.steps


def units_of(units: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the units of some rows, as 0, 1, ...; None where they are as many as the rows."""
    if units is None:
        return None
    found, own = np.unique(units[rows], return_inverse=True)
    return None if len(found) == len(rows) else own


def count_units(units: np.ndarray | None, rows: np.ndarray) -> int:
    """Count what k does of some rows: the distinct units, or the rows where there are none."""
    return len(rows) if units is None else len(np.unique(units[rows]))


def space(columns: Mapping[str, Column], units: np.ndarray | None = None) -> Space:
    """Lay out the columns: z-scores where all are numbers, else Gower's distance."""
    used = _used(columns)
    n = len(next(iter(columns.values())).values)
    if not used:
        return Space(np.zeros((n, 1)), None, None, units)
    points = np.empty((n, len(used)))
    if _all_numbers(columns):
        for c, column in enumerate(used):
            points[:, c] = _whole(column.scaled("deviation") * np.sqrt(column.weight))
        return Space(points, None, None, units)
    mismatch, steps = np.zeros(len(used)), np.zeros(len(used))
    for c, column in enumerate(used):
        if column.kind == "number":
            points[:, c] = _whole(column.scaled("range") * column.weight)
            continue
        assert column.labels is not None
        if column.kind == "category":
            mismatch[c], steps[c] = column.weight, 1.0
        else:
            steps[c] = column.weight / (len(column.labels) - 1)
        points[:, c] = np.nan_to_num(column.values) * steps[c]
    return Space(points, mismatch, steps, units)


def check_refinable(columns: Mapping[str, Column]) -> None:
    """Refuse categories with more labels than `coordinates` has room for."""
    labels = {n: len(c.labels or ()) for n, c in columns.items() if c.kind == "category"}
    rows = len(next(iter(columns.values())).values)
    if rows * sum(labels.values()) > _MOST_CELLS:
        name = max(labels, key=labels.__getitem__)
        raise BadInput(
            f"column '{name}' has {labels[name]:,} labels, too many to refine; set refine = 0 or "
            "leave it out"
        )


def coordinates(columns: Mapping[str, Column]) -> np.ndarray:
    """Lay out the columns so that the loss is a sum of squares, for the refinement.

    A category is a column for each label, 1 or 0, times the root of half its weight: two records
    with different labels then are as far apart as the two ends of a number's range.
    """
    used = _used(columns)
    parts: list[np.ndarray] = []
    for column in used:
        if column.kind == "category":
            assert column.labels is not None
            size = np.sqrt(column.weight / 2)
            parts += [size * (column.values == code) for code in range(len(column.labels))]
        else:
            by: Any = "deviation" if _all_numbers(columns) else "range"
            parts.append(column.scaled(by) * np.sqrt(column.weight))
    return np.ascontiguousarray(np.column_stack(parts)) if parts else np.zeros((0, 1))


def loss(columns: Mapping[str, Column], labels: np.ndarray) -> float:
    """Return what a grouping loses, in percent: 100 * sum of squares within groups / total.

    Numbers and ordered categories count by their squared distance to the group's mean, categories
    by how often two records of a group differ. A blanked cell (label -1) counts as one replaced by
    the column's mean.
    """
    within = total = 0.0
    by: Any = "deviation" if _all_numbers(columns) else "range"
    for column in _used(columns):
        present = ~np.isnan(column.values)
        grouped = present & (labels >= 0)
        blank = present & (labels < 0)
        if column.kind == "category":
            codes = np.nan_to_num(column.values).astype(np.int64)
            lost, all_of_it = (x / 2 for x in _disagreement(codes, labels, grouped, blank))
        else:
            x = column.scaled(by)
            lost = _squares(x[grouped], labels[grouped]) + float((x[blank] ** 2).sum())
            all_of_it = float((x**2).sum())
        within += column.weight * lost
        total += column.weight * all_of_it
    return 100 * within / total if total > 0 else 0.0


def _squares(x: np.ndarray, labels: np.ndarray) -> float:
    if not len(x):
        return 0.0
    size = np.bincount(labels)
    means = np.bincount(labels, x) / np.maximum(size, 1)
    return float(((x - means[labels]) ** 2).sum())


def _disagreement(
    codes: np.ndarray, labels: np.ndarray, grouped: np.ndarray, blank: np.ndarray
) -> tuple[float, float]:
    """Sum squared distances of categories, as 0/1 columns, to their group's and to all's mean."""
    share = np.bincount(codes[grouped | blank]) / max((grouped | blank).sum(), 1)
    own, group = codes[grouped], labels[grouped]
    _, place, count = np.unique(group * len(share) + own, return_inverse=True, return_counts=True)
    agreeing = (count[place] / np.bincount(group)[group]).sum() if len(own) else 0.0
    common = float((share**2).sum())
    lost = len(own) - agreeing + (1 - 2 * share[codes[blank]] + common).sum()
    return float(lost), float((grouped | blank).sum() * (1 - common))


def _used(columns: Mapping[str, Column]) -> list[Column]:
    return [column for column in columns.values() if not column.is_constant]


def _all_numbers(columns: Mapping[str, Column]) -> bool:
    return all(column.kind == "number" for column in columns.values())


def _whole(x: np.ndarray) -> np.ndarray:
    """Round to the multiples that sums of whole numbers need."""
    return np.rint(x / _UNIT) * _UNIT
