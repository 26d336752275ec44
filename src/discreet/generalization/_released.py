"""From treated columns to the table that is given back, and which records stay in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.generalization._distinct import as_text, distinct
from discreet.generalization._holdings import how_many, pairs
from discreet.generalization.privacy import Bound
from discreet.kernels.privacy import Rules, stars_hold
from discreet.method import as_given


def released(
    X: Any, table: pa.Table, new: Mapping[str, pa.ChunkedArray], unsafe: np.ndarray
) -> Any:
    """Put treated columns into a table, and empty the unsafe rows in all columns."""
    for name, column in new.items():
        table = table.set_column(table.column_names.index(name), name, column)
    changed = set(new)
    if unsafe.any():
        table = table.take(pa.array(np.arange(len(unsafe)), mask=unsafe))
        changed = set(table.column_names)
    return as_given(X, table, changed)


@dataclass(frozen=True)
class Judge:
    """Privacy models that were bound to one table, to judge the rows of another.

    `axes` are of each confidential column its name, its values as text, and their places.
    """

    rules: Rules
    axes: list[tuple[str, pa.Array, np.ndarray]]

    @classmethod
    def learn(cls, bound: Bound, columns: Mapping[str, pa.ChunkedArray]) -> Judge:
        """Keep where the values of the confidential columns stand."""
        axes = []
        for name, codes in zip(bound.columns, bound.codes, strict=True):
            found = distinct(columns[name], name)
            places = np.empty(len(found.values), np.int64)
            there = found.codes >= 0
            places[found.codes[there]] = codes[there]
            axes.append((name, as_text(found.values), places))
        return cls(bound.rules, axes)

    def unsafe(
        self,
        columns: Mapping[str, pa.ChunkedArray],
        suppressed: np.ndarray,
        groups: np.ndarray,
        units: np.ndarray | None = None,
    ) -> np.ndarray:
        """Tell which suppressed rows are no class: with those of their group they break a model.

        A value that the models do not know breaks them. `units` are the unit of each row, where
        the models count these.
        """
        if self.rules.population >= 0:
            # What the population has like them is not known of new rows.
            return suppressed
        places = [self._places(columns[name], name, *axis) for name, *axis in self.axes]
        unsafe = np.zeros(len(suppressed), bool)
        for group in np.unique(groups[suppressed]):
            rows = suppressed & (groups == group)
            histogram = np.zeros(self.rules.q.size, np.int64)
            known, size = True, int(rows.sum()) if units is None else how_many(units[rows])
            for of_row in places:
                found = of_row[rows]
                known = known and not (found == -2).any()
                once = found >= 0 if units is None else pairs(units[rows], found)[1]
                np.add.at(histogram, found[once], 1)
            if not (known and stars_hold(self.rules, size, histogram)):
                unsafe |= rows
        return unsafe

    @staticmethod
    def _places(
        column: pa.ChunkedArray, name: str, values: pa.Array, places: np.ndarray
    ) -> np.ndarray:
        """Return the place of each row's value; -1 where null, -2 where it is not known."""
        found = distinct(column, name)
        known = pc.index_in(as_text(found.values), value_set=values)
        place = np.append(places, -2)[pc.fill_null(known, -1).to_numpy()]
        return np.append(place, -1)[found.codes]
