"""What units hold: where k counts units, a class counts each unit, and each value of a unit, once.

A *holding* is a unit, or a unit with one of its values in a confidential column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.generalization._distinct import counted
from discreet.kernels.lattice import number


@dataclass(frozen=True)
class Holdings:
    """The distinct holdings of a table as numbers.

    Attributes
    ----------
    of_row : ndarray of int32, shape (columns + 1, rows)
        By confidential column the holding of each row, -1 where null; in the last row its unit.
    place : ndarray of int32
        Of each holding the place of its value on the axis of values. All units are at one place,
        the last.
    """

    of_row: np.ndarray
    place: np.ndarray

    def part(self, rows: Any) -> Holdings:
        """Take some rows, by number or mask."""
        return Holdings(np.ascontiguousarray(self.of_row[:, rows]), self.place)

    def histogram(self, rows: Any) -> np.ndarray:
        """Count the distinct holdings of some rows at each place; the last are the units."""
        held = np.zeros(len(self.place) + 1, bool)
        held[self.of_row[:, rows]] = True  # a null, -1, marks the last
        return counted(self.place[held[:-1]], int(self.place[-1]) + 1)


def find_holdings(units: np.ndarray, codes: np.ndarray, places: int) -> Holdings:
    """Assign numbers to holdings; `codes` (columns by rows) are below `places`, -1 where null."""
    of_row = np.empty((len(codes) + 1, len(units)), np.int32)
    place: list[np.ndarray] = []
    used = 0
    for j, column in enumerate(codes):
        numbers, first = pairs(units, column)
        of_row[j] = np.where(numbers >= 0, numbers + used, -1)
        place.append(column[first])
        used += len(first)
    size = int(units.max(initial=0)) + 1
    of_row[-1] = units + used
    return Holdings(of_row, np.concatenate([*place, np.full(size, places)]).astype(np.int32))


def pairs(units: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign numbers to distinct pairs of unit and code, -1 for a null; also return first rows.

    Examples
    --------
    >>> numbers, first = pairs(np.array([0, 0, 1, 0]), np.array([5, 5, 5, -1]))
    >>> numbers.tolist(), first.tolist()
    ([0, 0, 1, -1], [0, 2])
    """
    there = np.flatnonzero(codes >= 0)
    keys = (units[there].astype(np.uint64) << np.uint64(32)) | codes[there].astype(np.uint64)
    ids, first = number(keys, float(len(there)))
    numbers = np.full(len(codes), -1, np.int32)
    numbers[there] = ids
    return numbers, there[first]


def how_many(units: np.ndarray) -> int:
    """Count distinct units."""
    return int(np.count_nonzero(np.bincount(units)))


def with_several(units: np.ndarray | None, weights: np.ndarray | None) -> np.ndarray | None:
    """Return the units, or None where each has one record: to count these is the same then.

    `weights` are the records of each row, one each by default.
    """
    if units is None or np.bincount(units, weights).max(initial=0) > 1:
        return units
    return None
