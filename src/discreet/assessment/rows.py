"""Records of two tables side by side, in memory: all that there are, or a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.measure import LeftOut
from discreet.risk.frequency import Frequencies, frequencies, record_weights
from discreet.table.columns import float_values

if TYPE_CHECKING:
    from discreet.assessment.facts import Facts


@dataclass
class Rows:
    """The same records of both tables, in the same order; the first may have more columns."""

    before: pa.Table
    after: pa.Table
    numbers: np.ndarray  # of these rows in the original
    numeric: Sequence[str]  # columns that are numbers in both
    of: Facts = field(init=False, repr=False)  # what is known of all records

    @property
    def num_rows(self) -> int:
        """How many records there are."""
        return len(self.numbers)

    @cached_property
    def pairs(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Numeric columns of both, NaN where null."""
        return {
            name: (float_values(self.before[name], name), float_values(self.after[name], name))
            for name in self.numeric
        }

    def take(self, at: np.ndarray) -> Rows:
        """Return the records at some places."""
        before, after = (side.take(pa.array(at)) for side in (self.before, self.after))
        return Rows(before, after, self.numbers[at], self.numeric)

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The weight of each record, as the original has it, where there are weights."""
        return record_weights(self.before, self.of.roles.weight)

    @cached_property
    def frequencies(self) -> tuple[Frequencies, Frequencies]:
        """Of the quasi columns, record by record; weights are the original's."""
        before, after = (
            frequencies(side, self.of.quasi, weight=self.weights, units=self.units)
            for side in (self.before, self.after)
        )
        return before, after

    @property
    def units(self) -> pa.ChunkedArray | None:
        """The unit of each record, as the original has it, where units are counted."""
        return None if self.of.recipe.counted is None else self.before[self.of.recipe.counted]

    # Linkage

    def linked(self) -> tuple[pa.Table, pa.Table]:
        """Return the columns that an intruder links by: quasi ones, else changed numbers."""
        columns = self.of.quasi or self.of.changed_numeric
        if not columns:
            raise LeftOut("there is no quasi column in both tables, and no numeric one differs")
        for column in columns:
            if column not in self.numeric and not self.of.same_labels(column):
                raise LeftOut(
                    f"'{column}' was recoded: labels that the original does not hold are equally "
                    "far from all that it does; see class_sizes"
                )
        return self.before.select(columns), self.after.select(columns)

    def too_many_to_link(self, columns: list[str]) -> bool:
        """Tell whether linking takes more than a few seconds, by what was measured."""
        mixed = not set(columns) <= set(self.numeric)
        # A k-d tree serves the worse the more columns there are.
        cost = self.num_rows * len(columns) ** 2
        return self.num_rows > 100_000 if mixed else cost > 25_000_000

    def changed(self) -> tuple[pa.Table, pa.Table]:
        """Return the numeric columns that differ, here or in other records."""
        self.of.need_changed()
        names = self.of.changed_numeric
        x, y = (pa.table({c: self.pairs[c][side] for c in names}) for side in (0, 1))
        return x, y
