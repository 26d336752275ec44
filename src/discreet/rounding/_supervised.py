"""What the supervised methods share: classes from `y`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.outcome import Given, Outcome
from discreet.plan import ColumnPlan
from discreet.rounding._base import PartRounding
from discreet.table.summary import Summary

MOST_CLASSES = 1000


class SupervisedRounding(PartRounding):
    """Base of the methods that keep classes apart; a subclass writes `cut`."""

    supervised: ClassVar[bool] = True

    def cut(self, classes: np.ndarray) -> np.ndarray:
        """Return the ends (exclusive) of the parts of values with class counts (value by class)."""
        raise NotImplementedError

    def plan(self, summary: Summary, column: str, draws: Draws) -> ColumnPlan:
        """Refuse a column with a value in records of one class only."""
        if summary.classes is None:
            raise BadInput(f"{type(self).__name__} needs the classes of column '{column}'")
        if summary.classes.any(axis=0).sum() < 2:
            raise BadInput(
                f"the records with a value in column '{column}' are all of one class; "
                f"{type(self).__name__} needs two or more"
            )
        return super().plan(summary, column, draws)

    def parts(self, summary: Summary, column: str, draws: Draws) -> np.ndarray:
        """Cut by the classes that occur."""
        assert summary.classes is not None
        occurs = summary.classes.any(axis=0)
        if occurs.sum() < 2:  # all of the others are spikes
            return np.array([len(summary.values)])
        if occurs.all():  # no copy of a large table
            return self.cut(summary.classes)
        return self.cut(np.ascontiguousarray(summary.classes[:, occurs]))

    def _classes(self, y: Any, n: int) -> np.ndarray:
        name = type(self).__name__
        if y is None:
            raise BadInput(f"{name} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if len(y) != n:
            raise BadInput(f"y has {len(y)} classes for {n} rows; give one for each row")
        if pd.isna(y).any():
            raise BadInput("y has missing values (NaN or None); give each row a class")
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise BadInput(f"y is continuous, but {name} needs classes; cut it into classes first")
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise BadInput(f"y holds one class only; {name} needs two or more")
        _refuse_many(codes)
        return codes

    def _run(self, given: Given) -> Outcome:
        """Refuse so many classes that counting each at each value would fill the memory."""
        _refuse_many(given.target)
        return super()._run(given)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _refuse_many(codes: np.ndarray | None) -> None:
    if codes is not None and codes.max(initial=0) >= MOST_CLASSES:
        raise BadInput(
            f"the target has {codes.max() + 1:,} classes; more than {MOST_CLASSES:,} are values "
            "rather than classes: cut them into fewer"
        )
