"""What becomes of the structure of a table: figures that minimum standards are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.table.pairs import numeric_pairs
from discreet.utility import propensity_mse, regression_utility


def correlation_change(before: pa.Table, after: pa.Table) -> float:
    """Return the largest absolute change of a correlation between numeric columns of both tables.

    Each correlation is over the records that have both values; one with a column that is constant
    counts as 0. 0 where there are not two numeric columns.

    Examples
    --------
    >>> x = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.0]})
    >>> y = x.set_column(1, "b", pa.array([4.0, 3.0, 2.0, 1.0]))
    >>> correlation_change(x, x), correlation_change(x, y)
    (0.0, 2.0)
    """
    pairs = list(numeric_pairs(before, after).values())
    largest = 0.0
    for number, (x, y) in enumerate(pairs):
        for other_x, other_y in pairs[:number]:
            change = _correlation(x, other_x) - _correlation(y, other_y)
            largest = max(largest, abs(change))
    return largest


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    found = float(np.corrcoef(x, y)[0, 1])
    return found if np.isfinite(found) else 0.0


def model_loss(before: pa.Table, after: pa.Table) -> float:
    """Return how much worse linear models of each numeric column by the others become.

    The mean over the columns of the R squared on the original that is lost where the model is
    trained on the protected table, from 0 to 1. 0 where there are not two numeric columns.
    """
    names = list(numeric_pairs(before, after))
    lost = [one for name in names if (one := _lost_r2(before, after, names, name)) is not None]
    return float(np.mean(lost)) if lost else 0.0


def _lost_r2(before: pa.Table, after: pa.Table, names: Sequence[str], target: str) -> float | None:
    if len(names) < 2:
        return None
    x, y = before.select(names), after.select(names)
    try:
        best = max(0.0, regression_utility(x, x, target))
        return min(1.0, max(0.0, best - max(0.0, regression_utility(x, y, target))))
    except BadInput:  # Nothing to learn, or nothing to learn from.
        return None


def pmse(before: pa.Table, after: pa.Table) -> float:
    """Return how well a model tells the tables apart by the columns of both: 0 to 0.25."""
    shared = [name for name in after.column_names if name in before.column_names]
    if not shared or not before.num_rows:
        return 0.0
    return propensity_mse(before.select(shared), after.select(shared))


# What a minimum standard may be about: the largest value that a point may have.
STANDARDS: dict[str, Callable[[pa.Table, pa.Table], float]] = {
    "correlations": correlation_change,
    "pmse": pmse,
    "models": model_loss,
}
