"""The key columns as codes: distinct tuples in the order of their values, and who has each.

That order, and that of units by their drawn words, is the same whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._distinct import distinct
from discreet.suppression._problem import Held
from discreet.table.classes import classes_of, first_rows

# Sets of columns are the bits of an int64, one of which is its sign and one means left out.
MOST_COLUMNS = 62


@dataclass(frozen=True)
class Keys:
    """Distinct tuples of key columns.

    `of_row` has the tuple of each row that they were taken from.
    """

    values: dict[str, pa.Array]  # the distinct ones of each column, in order
    codes: np.ndarray  # int32, tuples by columns: 0 where null, else the place of the value + 1
    records: np.ndarray  # of each tuple
    of_row: np.ndarray

    @classmethod
    def of(cls, columns: Mapping[str, pa.ChunkedArray], weights: np.ndarray | None) -> Keys:
        """Take them from columns; `weights` are the records that each row stands for."""
        if len(columns) > MOST_COLUMNS:
            raise BadInput(
                f"{len(columns)} key columns are more than the {MOST_COLUMNS} that can be blanked "
                "together; leave some out"
            )
        found = {name: distinct(column, name) for name, column in columns.items()}
        codes = np.array([one.codes for one in found.values()], np.int64)
        ids, count = classes_of(codes, np.array([len(one.values) for one in found.values()]))
        tuples = codes[:, first_rows(ids, count)]
        order = np.lexsort(tuples[::-1])
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        of_row = place[ids]
        return cls(
            {name: one.values for name, one in found.items()},
            (tuples[:, order].T + 1).astype(np.int32),
            np.bincount(of_row, weights, count).astype(np.int64),
            of_row,
        )


@dataclass(frozen=True)
class Units:
    """Which tuple is held by which unit, by tuple and then by the units' drawn words."""

    held: Held
    words: np.ndarray  # of each pair, that of its unit
    of_row: np.ndarray  # the pair of each row

    @classmethod
    def of(
        cls, keys: Keys, units: np.ndarray, words: np.ndarray, weights: np.ndarray | None
    ) -> Units:
        """Pair the rows' tuples with their units (0, 1, ...); `words` are by row."""
        first = first_rows(units, int(units.max()) + 1)
        order = np.argsort(words[first], kind="stable")
        rank = np.empty(len(first), np.int64)
        rank[order] = np.arange(len(first))
        pairs, of_row = np.unique(keys.of_row * len(first) + rank[units], return_inverse=True)
        rows = np.bincount(of_row, weights).astype(np.int64)
        tuples, of_pair = np.divmod(pairs, len(first))
        return cls(Held(tuples, of_pair, rows), words[first][order][of_pair], of_row)
