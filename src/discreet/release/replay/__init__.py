"""Apply a plan again, for the check: written from the definition of plans, not from the methods.

Two tables say what a plan's `kind` means. `KINDS`: a numeric column by itself, a function of its
plan, its values, their row numbers and its draws. `JOINT`: several columns together, a function of
the step's plan, the columns as they were before it, and the draws of each column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.release.evidence import Plan
from discreet.release.replay.generalization import generalize
from discreet.release.replay.microaggregation import microaggregation
from discreet.release.replay.mondrian import mondrian
from discreet.release.replay.perturbation import correlated_noise, noise, pram, shuffled, sources
from discreet.release.replay.regression import ipso, porop
from discreet.release.replay.rounding import clip, cuts, multiples
from discreet.table import Numbers, kind_of, numbers

# A column's plan, its values that are not null, their row numbers, its draws -> new values.
ColumnReplay = Callable[[dict[str, Any], np.ndarray, np.ndarray, Draws], np.ndarray]
# A step's plan, the columns before it, the draws of a column by its name -> the treated columns.
# `columns[name]` is float64 (NaN where null) where it holds numbers, else as Arrow has it;
# `columns.arrow(name)` is Arrow always. A pair of arrays is values, and how far off they may be.
JointReplay = Callable[[dict[str, Any], Mapping[str, Any], Callable[[str], Draws]], dict[str, Any]]

KINDS: dict[str, ColumnReplay] = {
    "clip": clip,
    "cuts": cuts,
    "multiples": multiples,
    "noise": noise,
    "sources": sources,
}
JOINT: dict[str, JointReplay] = {
    "correlated-noise": correlated_noise,
    "generalize": generalize,
    "ipso": ipso,
    "mondrian": mondrian,
    "porop": porop,
    "microaggregation": microaggregation,
    "pram": pram,
    "sources": shuffled,
}


def replay(plan: Plan, seed: int, original: pa.Table) -> tuple[dict[str, Any], Columns]:
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
    treated : dict of str to Numeric or pyarrow.ChunkedArray
        The treated columns.
    columns : Columns
        All columns, as they are after the last step.
    """
    columns = Columns(original)
    treated: dict[str, Any] = {}
    for step in plan["steps"]:
        new = _step(step, columns, partial(Draws, seed, step["step"]))
        for name, values in new.items():
            if isinstance(values, pa.ChunkedArray):
                treated[name] = values
                columns.put(name, values)
                continue
            precision = step["columns"][name]["precision"]
            treated[name] = _numeric(values, columns.source(name), precision)
            # What was computed in long sums is known to the last digit only from what was kept.
            kept = step.get("results", {}).get(name)
            if kept is not None and not treated[name].holds(kept).all():
                raise ValueError(f"column '{name}' after step {step['step']} is not what was kept")
            going_on = treated[name].middle if kept is None else kept
            columns.put_numbers(name, going_on, precision)
    return treated, columns


@dataclass(frozen=True)
class Numeric:
    """What a numeric column should hold, NaN where null: anything from low to high."""

    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray

    def holds(self, found: np.ndarray) -> np.ndarray:
        """Tell of each cell whether it is what it should be."""
        there = (found >= self.low) & (found <= self.high)
        return there | (np.isnan(found) & np.isnan(self.middle))

    def where(self, rows: np.ndarray, gone: np.ndarray) -> Numeric:
        """Take some rows, nulls where the mask says so."""
        low, middle, high = (
            np.where(gone, np.nan, side)[rows] for side in (self.low, self.middle, self.high)
        )
        return Numeric(low, middle, high)


def _numeric(values: Any, source: Numbers, precision: str) -> Numeric:
    """Round as the release was; a pair is values, and how far off another arithmetic may be."""
    if not isinstance(values, tuple):
        middle = source.round(values, precision)
        return Numeric(middle, middle, middle)
    values, slack = values
    low, middle, high = (source.round(values + by, precision) for by in (-slack, 0.0, slack))
    return Numeric(low, middle, high)


def _step(step: dict[str, Any], columns: Columns, draws: Callable[[str], Draws]) -> dict[str, Any]:
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


class Columns(Mapping[str, Any]):
    """The columns as the steps go by: numbers as float64, NaN where null, others as Arrow."""

    def __init__(self, original: pa.Table) -> None:
        self._arrow = {name: original[name] for name in original.column_names}
        self._numbers: dict[str, tuple[np.ndarray, str]] = {}
        self._sources: dict[str, Numbers] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._numbers:
            return self._numbers[name][0]
        column = self._arrow[name]
        return self.source(name).values if kind_of(column.type) == "numeric" else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrow)

    def __len__(self) -> int:
        return len(self._arrow)

    def arrow(self, name: str) -> pa.ChunkedArray:
        """Give a column as Arrow has it, numbers in their own type."""
        if name not in self._numbers:
            return self._arrow[name]
        return pa.chunked_array([self.source(name).restore(*self._numbers[name])])

    def source(self, name: str) -> Numbers:
        """Give the numbers as they came in, which know how to round."""
        if name not in self._sources:
            self._sources[name] = numbers(self._arrow[name], name)
        return self._sources[name]

    def put_numbers(self, name: str, values: np.ndarray, precision: str) -> None:
        """Take what a step made of a numeric column."""
        self._numbers[name] = values, precision

    def put(self, name: str, column: pa.ChunkedArray) -> None:
        """Take what a step made of a column, in whatever type that is."""
        self._arrow[name] = column
        self._numbers.pop(name, None)
        self._sources.pop(name, None)
