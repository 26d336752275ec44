"""The two tables that `assess` compares, and what its measures ask of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import utility
from discreet.measure import Facts, LeftOut
from discreet.recipe.roles import Roles
from discreet.risk import interval_disclosure
from discreet.risk.diversity import Diversity, diversity_of
from discreet.risk.frequency import Frequencies, frequencies, record_weights
from discreet.risk.individual import household_ids, household_risk_of
from discreet.risk.interval import Disclosure
from discreet.risk.values import sd
from discreet.table import kind_of
from discreet.table.pairs import numeric_pairs
from discreet.utility.loss import Loss
from discreet.utility.moments import MomentLoss
from discreet.utility.nulls import NullRates
from discreet.utility.structure import BeforeAfter


@dataclass
class Tables(Facts):
    """The two tables in memory, row by row."""

    before: pa.Table
    after: pa.Table
    roles: Roles
    perturbed: Mapping[str, str]
    whole: pa.Table  # the original with the rows that the release lacks
    place: np.ndarray | None  # for each row of both the position in the whole; None: in order
    suppressed: np.ndarray  # mask over the whole

    @property
    def num_rows(self) -> int:
        """Records of both."""
        return self.after.num_rows

    @cached_property
    def shared(self) -> list[str]:
        """Columns of both tables."""
        names = self.after.column_names
        return [c for c in names if c in self.before.column_names and c != self.roles.household]

    @cached_property
    def pairs(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Numeric columns of both tables, NaN where null."""
        return numeric_pairs(self.before, self.after.select(self.shared))

    @property
    def numeric(self) -> list[str]:
        """Names of the pairs."""
        return list(self.pairs)

    @cached_property
    def changed_numeric(self) -> list[str]:
        """Numeric columns with a cell that differs."""
        same = (c for c, (x, y) in self.pairs.items() if np.array_equal(x, y, equal_nan=True))
        unchanged = set(same)
        return [c for c in self.pairs if c not in unchanged]

    @cached_property
    def changed_categories(self) -> list[str]:
        """Other columns with a cell that differs."""
        kept = [c for c in self.shared if c not in self.pairs]
        return [c for c in kept if not self.before[c].equals(self.after[c])]

    @cached_property
    def weights(self) -> np.ndarray | None:
        """Sampling weights, which the original holds, whether or not they are released."""
        return record_weights(self.before, self.roles.weight)

    @property
    def weighted(self) -> bool:
        """Whether there are any."""
        return self.weights is not None

    @cached_property
    def frequencies(self) -> tuple[Frequencies, Frequencies]:
        """Counted once for all measures that need them."""
        self.need_quasi()
        before, after = (
            frequencies(table, self.quasi, weight=self.weights)
            for table in (self.before, self.after)
        )
        return before, after

    @property
    def to_link(self) -> Tables:
        """All records."""
        return self

    def rows(self) -> Tables:
        """All records."""
        return self

    def household_risk(self, risk: np.ndarray) -> float | None:
        """Mean over the records."""
        if self.roles.household not in self.before.column_names:
            return None
        ids = household_ids(self.before, self.roles.household)
        return float(household_risk_of(risk, ids).mean()) if len(risk) else 0.0

    def diversity(self, side: int, column: str) -> Diversity:
        """Take it from the classes that were counted."""
        table, counted = (self.before, self.after)[side], self.frequencies[side]
        assert counted.classes is not None
        return diversity_of(table[column], column, counted.classes)

    def linked(self) -> tuple[pa.Table, pa.Table]:
        """Return the columns that an intruder links by: quasi ones, else changed numbers."""
        columns = self.quasi or self.changed_numeric
        if not columns:
            raise LeftOut("there is no quasi column in both tables, and no numeric one differs")
        for column in columns:
            if column not in self.pairs and not self.same_labels(column):
                raise LeftOut(
                    f"'{column}' was recoded: labels that the original does not hold are equally "
                    "far from all that it does; see class_sizes"
                )
        return self.before.select(columns), self.after.select(columns)

    def same_labels(self, column: str) -> bool:
        """Tell whether every released label of a column is one of the original's."""
        before, after = self.before[column], self.after[column]
        if kind_of(before.type) != kind_of(after.type):
            return False
        known = set(pc.unique(before).to_pylist())
        return set(pc.unique(after).to_pylist()) <= known | {None}

    def too_many_to_link(self, columns: list[str]) -> bool:
        """Tell whether linking takes more than a few seconds, by what was measured."""
        mixed = not set(columns) <= set(self.pairs)
        # A k-d tree serves the worse the more columns there are.
        cost = self.after.num_rows * len(columns) ** 2
        return self.after.num_rows > 100_000 if mixed else cost > 25_000_000

    def changed(self) -> tuple[pa.Table, pa.Table]:
        """Return the numeric columns that differ."""
        self.need_changed()
        x, y = (pa.table({c: self.pairs[c][side] for c in self.changed_numeric}) for side in (0, 1))
        return x, y

    def interval_disclosure(self) -> Disclosure:
        """Of the numbers that differ, as the losses are."""
        return interval_disclosure(*self.changed(), detail=True)

    def il_metrics(self) -> MomentLoss:
        """Change of cells and moments."""
        return utility.il_metrics(*self.changed(), detail=True)

    def il1s(self) -> Loss:
        """Absolute change, averaged."""
        return utility.il1s(*self.changed(), normalize=True, detail=True)

    def sse_ratio(self) -> Loss:
        """Squares lost, columns weighing alike."""
        return utility.sse_ratio(*self.changed(), standardize=True, detail=True)

    def mean_absolute_correlation(self) -> BeforeAfter:
        """Of all numbers."""
        x, y = (pa.table({c: pair[side] for c, pair in self.pairs.items()}) for side in (0, 1))
        return utility.mean_absolute_correlation(x, y, detail=True)

    def entropy(self, columns: list[str]) -> BeforeAfter:
        """Of some columns."""
        return utility.entropy(self.before.select(columns), self.after.select(columns), detail=True)

    def contingency_loss(self, columns: list[str]) -> Loss:
        """Of some columns."""
        before, after = self.before.select(columns), self.after.select(columns)
        return utility.contingency_loss(before, after, detail=True)

    def null_rates(self) -> NullRates:
        """Of the quasi columns, records that are not there among them."""
        released = self.after.select(self.quasi)
        if self.place is not None:
            # Records that are not there at all are nulls throughout.
            position = np.full(self.whole.num_rows, -1)
            position[self.place] = np.arange(len(self.place))
            released = released.take(pa.array(position, mask=position < 0))
        return utility.null_rates(
            self.whole, released, self.quasi, suppressed=self.suppressed, detail=True
        )

    def moments(self, column: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of the cells that are there."""
        before, after = (_moments(side) for side in self.pairs[column])
        return before, after


def _moments(x: np.ndarray) -> dict[str, Any]:
    present = x[~np.isnan(x)]
    # Of infinity there is neither, which is told of later.
    with np.errstate(invalid="ignore"):
        return _mean_and_sd(present) | {"nulls": len(x) - len(present)}


def _mean_and_sd(present: np.ndarray) -> dict[str, Any]:
    return {
        "mean": float(present.mean()) if len(present) else None,
        "sd": sd(present) if len(present) > 1 else None,
    }
