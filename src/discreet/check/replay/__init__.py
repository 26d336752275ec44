"""Apply a plan again, for the check: written from the definition of plans, not from the methods.

Two tables say what a plan's `kind` means. `KINDS`: a numeric column by itself, a function of its
plan, its values, their row numbers and its draws. `JOINT`: several columns together, a function of
the step's plan, the columns as they were before it, and the draws of each column.

A table may be looked at a piece of its rows at a time. What must hold of all rows together, such as
the sizes of classes, is counted in each piece (`Columns.tally`) and verified at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.counts import counts
from discreet.check.evidence import Plan, StepPlan, places
from discreet.check.replay.anatomy import anatomy
from discreet.check.replay.differential import private_centres, safepub
from discreet.check.replay.generalization import (
    generalize,
    prepare_generalize,
    verify_generalize,
)
from discreet.check.replay.items import items
from discreet.check.replay.microaggregation import microaggregation
from discreet.check.replay.mondrian import mondrian, verify_mondrian
from discreet.check.replay.perturbation import (
    correlated_noise,
    noise,
    pram,
    shift,
    shuffled,
    sources,
)
from discreet.check.replay.regression import ipso, porop, prepare_porop
from discreet.check.replay.rounding import clip, cuts, multiples
from discreet.check.replay.suppression import (
    prepare_suppression,
    suppression,
    verify_suppression,
)
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.table import Numbers, kind_of, numbers
from discreet.table.classes import encode
from discreet.table.columns import numbers_like
from discreet.table.fingerprint import cell_numbers
from discreet.table.keys import group_numbers, row_numbers

# A column's plan, its values that are not null, their row numbers, its draws -> new values.
ColumnReplay = Callable[[dict[str, Any], np.ndarray, np.ndarray, Draws], np.ndarray]
# A step's plan, the columns before it, the draws of a column by its name -> the treated columns.
# `columns[name]` is float64 (NaN where null) where it holds numbers, else as Arrow has it;
# `columns.arrow(name)` is Arrow always. A pair of arrays is values, and how far off they may be.
JointReplay = Callable[[StepPlan, Mapping[str, Any], Callable[[str], Draws]], dict[str, Any]]

# Numbers of records, counted in pieces: by step, and by what is counted.
Tally = dict[tuple[Any, ...], Any]

KINDS: dict[str, ColumnReplay] = {
    "clip": clip,
    "counts": counts,
    "cuts": cuts,
    "multiples": multiples,
    "noise": noise,
    "sources": sources,
}
JOINT: dict[str, JointReplay] = {
    "anatomy": anatomy,
    "correlated-noise": correlated_noise,
    "generalize": generalize,
    "ipso": ipso,
    "items": items,
    "local-suppression": suppression,
    "mondrian": mondrian,
    "porop": porop,
    "microaggregation": microaggregation,
    "pram": pram,
    "private-centres": private_centres,
    "safepub": safepub,
    "shift": shift,
    "sources": shuffled,
}

# What must hold of a step's rows together: raises ValueError where what was counted is not so.
VERIFY: dict[str, Callable[[StepPlan, Tally], None]] = {
    "generalize": verify_generalize,
    "local-suppression": verify_suppression,
    "mondrian": verify_mondrian,
}
# Makes a step's plan ready to be applied many times, to pieces.
PREPARE: dict[str, Callable[[StepPlan], StepPlan]] = {
    "generalize": prepare_generalize,
    "local-suppression": prepare_suppression,
    "porop": prepare_porop,
}
# Kinds that a piece of rows is not enough for, and what they need. On pieces, steps of these kinds
# are left out and their columns told as not verifiable, unless columns of the piece hold what they
# give, as `computed` names them.
BEYOND_PIECES = {
    "anatomy": "all records in memory",
    "ipso": "all records in memory",
    "match_ranks": "all values in their order",
    "microaggregation": "all records in memory",
    "porop": "all values in their order",
    "private-centres": "all records in memory",
    "safepub": "all records in memory",
    "sources": "all records in memory",
    "splits": "equal values in the order of rows",
}


def beyond_pieces(step: StepPlan) -> str | None:
    """Say what a step needs besides a piece of rows, if anything."""
    kinds = {step.get("joint", {}).get("kind", "")}
    for plan in step["columns"].values():
        kinds |= {plan["kind"], *({"splits", "match_ranks"} & plan.keys())}
    return next((BEYOND_PIECES[kind] for kind in BEYOND_PIECES if kind in kinds), None)


def computed(number: int, name: str) -> tuple[str, str]:
    """Name the columns for what a step gives for a column, and for how far off that may be.

    Where a table has them, the step is not applied to its pieces: see `check.ordered`.
    """
    return f"\0step {number} {name}", f"\0step {number} {name} slack"


def prepared(plan: Plan) -> Plan:
    """Return a plan that is quickly applied to many pieces."""
    steps: list[StepPlan] = []
    for step in plan["steps"]:
        prepare = PREPARE.get(step.get("joint", {}).get("kind", ""))
        steps.append(step if prepare is None else prepare(step))
    return plan | {"steps": steps}


@dataclass(frozen=True)
class Piece:
    """What must be known of a table to replay a plan on some of its rows."""

    rows: np.ndarray  # their numbers
    # Without values, but with the decimals and the units of the whole column.
    sources: Mapping[str, Numbers]


def replay(
    plan: Plan, seed: int, original: pa.Table, key: str | None = None, piece: Piece | None = None
) -> tuple[dict[str, Any], Columns]:
    """Return what the plan makes of the original's columns, in the original's order.

    These are the treated columns, `Numeric` or as Arrow has them, and all columns after the last
    step, with what was counted for `verify_step`. Draws go by the column `key`, or else by the
    rows' numbers. The original is without the rows that the plan excludes. Of a piece, columns of
    steps that need more than a piece are left out.
    """
    gone = np.asarray(plan.get("excluded", ()), dtype=np.int64)
    rows = None if piece is None else piece.rows
    if len(gone):
        if rows is None:
            rows = np.setdiff1d(np.arange(original.num_rows + len(gone)), gone)
        piece = None if piece is None else replace(piece, rows=places(gone, rows))
    columns = Columns(original, piece)
    rows = rows if key is None else row_numbers(original[key], key)
    treated: dict[str, Any] = {}
    for step in plan["steps"]:
        new = None if piece is None else _computed(step, columns)
        if piece is not None and new is None and is_unknown(step, columns.unknown):
            columns.unknown |= set(step["columns"])
            continue
        columns.note_nulls(step, original, set(treated))
        if new is None:
            tie = partial(_tied, seed, original)
            by = rows if key is None else None
            given = partial(_draws, seed, step["step"], by, tie, None if key is None else rows)
            new = _at_levels(step, columns, given)
        for name, values in new.items():
            if isinstance(values, pa.ChunkedArray):
                treated[name] = values
                columns.put(name, values)
                continue
            precision = step["columns"][name]["precision"]
            treated[name] = _numeric(values, columns.source(name), precision)
            # What was computed in long sums is known to the last digit only from what was kept.
            kept = step.get("results", {}).get(name)
            kept = kept if kept is None or piece is None else kept[piece.rows]
            if kept is not None and not treated[name].holds(kept).all():
                raise ValueError(f"column '{name}' after step {step['step']} is not what was kept")
            going_on = treated[name].middle if kept is None else kept
            columns.put_numbers(name, going_on, precision)
    for name in columns.unknown:
        treated.pop(name, None)
    return treated, columns


def _at_levels(step: StepPlan, columns: Columns, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Apply a step; what says the same in all rows of a household or person once for each.

    A piece of rows does not tell which is the first of a household, and need not: what is applied
    to pieces goes by each value alone, and by the household's draws.
    """
    levels, drawn = step.get("levels", {}), step.get("drawn", {})
    if not levels and not drawn:
        return _step(step, columns, draws)
    new: dict[str, Any] = {}
    for once, by in dict.fromkeys((levels.get(n), drawn.get(n)) for n in step["columns"]):
        names = [n for n in step["columns"] if (levels.get(n), drawn.get(n)) == (once, by)]
        part: StepPlan = {**step, "columns": {name: step["columns"][name] for name in names}}
        level = once or by
        if level is None:
            new |= _step(part, columns, draws)
            continue
        numbers = group_numbers(columns.arrow(level))
        if once is None or columns.rows is not None:
            new |= _step(part, columns, partial(_by_group, draws, numbers, None))
            continue
        codes = encode(columns.arrow(once), once)[0]
        first = np.unique(codes, return_index=True)[1]
        some = columns.chosen(first, columns if "joint" in step else names)
        made = _step(part, some, partial(_by_group, draws, numbers, first))
        new |= {name: _rows_of(values, codes) for name, values in made.items()}
    return new


def _by_group(
    draws: Callable[..., Draws], numbers: np.ndarray, first: np.ndarray | None, column: str
) -> Draws:
    """Return the draws of households or persons, of each row or of the first rows alone."""
    found = draws(column, numbers)
    return found if first is None else found.at(first)


def _rows_of(values: Any, rows: np.ndarray) -> Any:
    """Take some rows of what a step gives."""
    if isinstance(values, tuple):
        return tuple(_rows_of(part, rows) for part in values)
    return values[rows] if isinstance(values, np.ndarray) else values.take(pa.array(rows))


def is_unknown(step: StepPlan, unknown: set[str]) -> bool:
    """Tell whether a piece does not say what a step gives, by columns of which this is so."""
    return beyond_pieces(step) is not None or bool(unknown & set(step["columns"]))


def _computed(step: StepPlan, columns: Columns) -> dict[str, Any] | None:
    """Return what was computed of a step before, if it was."""
    names = {name: computed(step["step"], name) for name in step["columns"]}
    if not {name for pair in names.values() for name in pair} <= set(columns):
        return None
    return {
        name: (columns.arrow(value).to_numpy(), columns.arrow(slack).to_numpy())
        for name, (value, slack) in names.items()
    }


def verify_step(step: StepPlan, tally: Tally) -> None:
    """Raise ValueError where what was counted in all pieces is not as a step's plan says."""
    verify = VERIFY.get(step.get("joint", {}).get("kind", ""))
    if verify is not None:
        verify(step, {key[1:]: found for key, found in tally.items() if key[0] == step["step"]})


def _draws(
    seed: int,
    step: int,
    rows: np.ndarray | None,
    tie: Callable[[Draws, str, np.ndarray], Draws],
    keys: np.ndarray | None,
    column: str,
    groups: np.ndarray | None = None,
) -> Draws:
    """Return the draws of a column: by group, by the rows' keys, or by their numbers."""
    draws = Draws(seed, step, column)
    numbers = keys if groups is None else groups
    if numbers is not None:
        return tie(draws.at(numbers), column, numbers)
    return draws if rows is None else draws.at(rows)


def _tied(seed: int, original: pa.Table, draws: Draws, column: str, numbers: np.ndarray) -> Draws:
    """Put the project's draws beside others, if there is a project."""
    project = getattr(seed, "project", None)
    if project is None:
        return draws
    return draws.tied(project, column, numbers, cell_numbers(project, original[column], numbers))


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

    def where(self, kept: np.ndarray, gone: np.ndarray) -> Numeric:
        """Take the rows that a mask keeps, nulls where another says so."""
        if kept.all() and not gone.any():
            return self
        low, middle, high = (
            np.where(gone, np.nan, side)[kept] for side in (self.low, self.middle, self.high)
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


def _step(step: StepPlan, columns: Columns, draws: Callable[[str], Draws]) -> dict[str, Any]:
    kind = step.get("joint", {}).get("kind", "")
    if kind:
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

    def __init__(self, original: pa.Table, piece: Piece | None = None) -> None:
        self._arrow = {name: original[name] for name in original.column_names}
        self._numbers: dict[str, tuple[np.ndarray, str]] = {}
        self._sources: dict[str, Numbers] = {}
        self._piece = piece
        self.rows = None if piece is None else piece.rows
        # The records that the steps so far suppress, and those of them that may not stay.
        self.suppressed = np.zeros(original.num_rows, dtype=bool)
        self.left_out = np.zeros(original.num_rows, dtype=bool)
        self.tally: Tally = {}
        # By the number of a step that blanks cells, its columns before it.
        self.before: dict[int, dict[str, pa.ChunkedArray]] = {}
        # By the number of a step that treats nulls apart, the cells of a column that earlier steps
        # have made null, or filled.
        self.moved: dict[int, dict[str, np.ndarray]] = {}
        # Columns of a piece that only the whole table tells.
        self.unknown: set[str] = set()

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.suppressed)

    def chosen(self, rows: np.ndarray, names: Iterable[str]) -> Columns:
        """Take some rows of some columns as they are now."""
        taken = {name: self._arrow[name].take(pa.array(rows)) for name in names}
        some = Columns(pa.table(taken))
        for name, column in taken.items():
            if name in self._numbers:
                values, precision = self._numbers[name]
                some.put_numbers(name, values[rows], precision)
            if kind_of(column.type) == "numeric" and self._arrow[name].null_count < self.num_rows:
                # With the decimals of the whole column.
                whole = self.source(name)
                some._sources[name] = replace(whole, values=whole.values[rows])
        return some

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
        """Return a column as Arrow has it, numbers in their own type."""
        if name not in self._numbers:
            return self._arrow[name]
        return pa.chunked_array([self.source(name).restore(*self._numbers[name])])

    def source(self, name: str) -> Numbers:
        """Return the numbers as they came in, which know how to round."""
        if name not in self._sources:
            column = self._arrow[name]
            if self._piece is not None:
                known = self._piece.sources[name]
                values = numbers_like(column, name, known)
                self._sources[name] = Numbers(values, known.type, known.decimals, known.scale)
            elif column.null_count == len(column):
                # Steps have blanked all of it, so that it has no decimals.
                self._sources[name] = Numbers(np.full(len(column), np.nan), column.type, None)
            else:
                self._sources[name] = numbers(column, name)
        return self._sources[name]

    def count(self, step: StepPlan, *what: Any, records: Any) -> None:
        """Note a number of records, or several, for what is verified at the end."""
        self.tally[(step.get("step"), *what)] = records

    def suppress(self, suppressed: np.ndarray, left_out: np.ndarray) -> None:
        """Note which records a step suppresses, and which of them may not stay."""
        self.suppressed |= suppressed
        self.left_out |= left_out

    def note_nulls(self, step: StepPlan, original: pa.Table, treated: set[str]) -> None:
        """Note which cells are null before a step and were not in the original, or the reverse."""
        if step.get("joint", {}).get("null_policy") != "segregate":
            return
        for name in treated & set(step["columns"]):
            was, now = (
                column.is_null(nan_is_null=True).to_numpy()
                for column in (original[name], self.arrow(name))
            )
            if (was != now).any():
                self.moved.setdefault(step["step"], {})[name] = was != now

    def put_numbers(self, name: str, values: np.ndarray, precision: str) -> None:
        """Take what a step made of a numeric column."""
        self._numbers[name] = values, precision

    def put(self, name: str, column: pa.ChunkedArray) -> None:
        """Take what a step made of a column, in whatever type that is."""
        self._arrow[name] = column
        self._numbers.pop(name, None)
        self._sources.pop(name, None)
