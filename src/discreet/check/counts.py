"""Counts and estimates that are rounded by a rule: written from the rules' own texts.

The steps of `census-drb` are those of the US Census Bureau's Disclosure Review Board, as its DRB
Rounder (2019) lists them: a count N below 15 is told as "N<15".
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.shown import Shown
from discreet.draws import Draws
from discreet.recipe.recipe import Step

# The smallest and the largest count that a rule hides.
HIDDEN = {"census-drb": (0, 14), "acro": (0, 9), "cms": (1, 10), "uk-llc": (0, 9)}
# Up to which count (inclusive) the Census Bureau rounds to which base.
_DRB = ((99, 10), (999, 50), (9_999, 100), (99_999, 500), (999_999, 1_000))


def by_rule(rule: str, value: Decimal) -> Decimal | None:
    """Return what a rule releases of a value, None where it hides it.

    Examples
    --------
    >>> by_rule("census-drb", Decimal(14)), by_rule("census-drb", Decimal(125))
    (None, Decimal('100'))
    """
    if rule == "census-drb-estimates":
        return _significant(value)
    low, high = HIDDEN[rule]
    if low <= value <= high:
        return None
    if rule != "census-drb":
        return value
    for last, base in _DRB:
        if value <= last:
            return round(value / base) * Decimal(base)
    return _significant(value)


def _significant(value: Decimal) -> Decimal:
    """Round to four significant digits, half to even as decimal arithmetic does by default."""
    with localcontext() as context:
        context.prec = 4
        return +value


def as_written(column: pa.Array | pa.ChunkedArray) -> Iterable[Decimal]:
    """Return the numbers of a column as they are written, in as few digits as tell them apart."""
    kind: Any = column.type.to_pandas_dtype() if pa.types.is_floating(column.type) else None
    for value in column.drop_null().to_pylist():
        yield Decimal(str(value) if kind is None else str(kind(value)))


def counts(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Round counts by their rule; what it hides becomes NaN."""
    distinct, at = np.unique(x, return_inverse=True)
    new = [by_rule(plan["rule"], Decimal(repr(value))) for value in distinct.tolist()]
    return np.array([np.nan if one is None else float(one) for one in new], np.float64)[at]


def rounded_counts(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify that a rule would leave every released number what it is."""
    return [_rounded(shown, step, name) for name in step.columns if name in shown.column_names]


def _rounded(shown: Shown, step: Step, name: str) -> Finding:
    given = step.parameters()["rule"]
    rule = given if isinstance(given, str) else given[name]
    values, held, nulls = shown.values(name)
    problem = not_by_rule(rule, values)
    good = f"{len(held):,} values, all of them as it rounds, and {nulls:,} nulls"
    return finding(f"column '{name}' is rounded by the rule {rule}", problem, good)


def not_by_rule(rule: str, values: pa.Array | pa.ChunkedArray) -> str | None:
    """Name the first number that a rule would have rounded or hidden, if there is one."""
    for value in sorted(as_written(values)):
        wanted = by_rule(rule, value)
        if wanted is None:
            return f"{value:f} is shown, which the rule hides"
        if wanted != value:
            return f"{value:f} is shown, which the rule rounds to {wanted:f}"
    return None
