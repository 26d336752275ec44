"""Apply a plan again, for the check: written from the definition of plans, not from the methods.

Two tables say what a plan's `kind` means. `KINDS`: a numeric column by itself, a function of its
plan, its values, their row numbers and its draws. `JOINT`: several columns together, a function of
the step's plan, the columns as they were before it, and the draws of each column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.release.evidence import Plan
from discreet.release.replay.rounding import clip, cuts, multiples
from discreet.table import Numbers, kind_of, numbers

# A column's plan, its values that are not null, their row numbers, its draws -> new values.
ColumnReplay = Callable[[dict[str, Any], np.ndarray, np.ndarray, Draws], np.ndarray]
# A step's plan, the columns before it, the draws of a column by its name -> the treated columns.
# A column is float64 (NaN where null) where it holds numbers, else as Arrow has it.
JointReplay = Callable[[dict[str, Any], Mapping[str, Any], Callable[[str], Draws]], dict[str, Any]]

KINDS: dict[str, ColumnReplay] = {"clip": clip, "cuts": cuts, "multiples": multiples}
JOINT: dict[str, JointReplay] = {}


def replay(plan: Plan, seed: int, original: pa.Table) -> dict[str, Any]:
    """Give what the plan makes of the original's columns, in the original's order.

    Parameters
    ----------
    plan : dict
        Of the whole release.
    seed : int
        What the draws came from.
    original : pyarrow.Table

    Returns
    -------
    dict of str to ndarray or pyarrow.ChunkedArray
        The treated columns: float64, NaN where null, for numbers; else Arrow.
    """
    columns = _Columns(original)
    treated: dict[str, Any] = {}
    for step in plan["steps"]:
        new = _step(step, columns, lambda name, step=step: Draws(seed, step["step"], name))
        for name, values in new.items():
            if isinstance(values, np.ndarray):
                values = columns.source(name).round(values, step["columns"][name]["precision"])
            columns[name] = treated[name] = values
    return treated


def _step(
    step: dict[str, Any], columns: Mapping[str, Any], draws: Callable[[str], Draws]
) -> dict[str, Any]:
    kind = step.get("joint", {}).get("kind")
    if kind is not None:
        if kind not in JOINT:
            raise BadInput(f"the plan of step {step['step']} is of an unknown kind, {kind}")
        return JOINT[kind](step, columns, draws)
    new = {}
    for name, plan in step["columns"].items():
        if plan["kind"] not in KINDS:
            raise BadInput(f"the plan of column '{name}' is of an unknown kind, {plan['kind']}")
        values = columns[name]
        (present,) = np.nonzero(~np.isnan(values))
        new[name] = np.full(len(values), np.nan)
        new[name][present] = KINDS[plan["kind"]](plan, values[present], present, draws(name))
    return new


class _Columns(dict[str, Any]):
    """The columns as the steps go by; numbers are taken from the original when first looked at."""

    def __init__(self, original: pa.Table) -> None:
        self.original = original
        self.sources: dict[str, Numbers] = {}

    def __missing__(self, name: str) -> Any:
        column = self.original[name]
        if kind_of(column.type) != "numeric":
            return column
        self[name] = self.source(name).values
        return self[name]

    def source(self, name: str) -> Numbers:
        """Give the numbers of the input, which know how to round."""
        if name not in self.sources:
            self.sources[name] = numbers(self.original[name], name)
        return self.sources[name]
