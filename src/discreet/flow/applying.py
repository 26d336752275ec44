"""What the steps do to rows of a table: to all of them, or to a piece at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.draws import Draws, Seed
from discreet.engines.frame import in_rows
from discreet.errors import BadInput
from discreet.flow.pseudonyms import Pseudonyms
from discreet.method import Method
from discreet.outcome import Decision, Outcome
from discreet.recipe.recipe import Step
from discreet.table import Numbers, kind_of
from discreet.table.cells import blank, plain
from discreet.table.classes import encode
from discreet.table.columns import numbers_like
from discreet.table.fingerprint import cell_numbers
from discreet.table.keys import group_numbers, row_numbers

# Columns of the treated table that are not released; no column of a user has such a name.
SUPPRESSED, LEFT_OUT, ORDER, UNIT = "\0suppressed", "\0left out", "\0order", "\0unit"


def beside(number: int, column: str) -> str:
    """Name the column beside the others that holds what a step made by sorting."""
    return f"\0{number} {column}"


def among_all(
    schema: pa.Schema, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> pa.Table:
    """Put treated rows among all of a table, whose others are suppressed and left out."""
    columns = dict(zip(schema.names, in_rows(after, there), strict=True))
    for mark in (SUPPRESSED, LEFT_OUT):
        columns[mark] = columns[mark].fill_null(True)
    columns[ORDER] = columns[ORDER].fill_null(0)
    return pa.table(columns, schema=schema)


def as_computed_before(columns: Mapping[str, Any], draws: Any, rounded: Any) -> Outcome:
    """Return what was computed before and now stands beside the rows: how a sorting step treats."""
    return Outcome(dict(columns), {})


@dataclass(frozen=True)
class Treatment:
    """A step that has been decided on."""

    number: int
    step: Step
    decision: Decision
    levels: Mapping[str, str] = field(default_factory=dict)  # as `check.evidence.StepPlan` has them

    @property
    def method(self) -> Method:
        """What the step does."""
        return self.step.build()


@dataclass(frozen=True)
class Households:
    """The numbers that households get instead of their own."""

    column: str
    known: pa.Array  # the input's, in order
    numbers: np.ndarray  # the new one of each

    def of(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the new numbers of some rows' households."""
        column = plain(column)
        if pa.types.is_integer(column.type):
            # Quicker than to hash them all again for every piece.
            there = column.is_valid().to_numpy()
            new = np.zeros(len(column), np.int64)
            place = np.searchsorted(self.known.to_numpy(), column.drop_null().to_numpy())
            new[there] = self.numbers[place]
            return pa.chunked_array([pa.array(new, mask=~there)])
        place = pc.index_in(column, value_set=self.known)
        return pa.chunked_array([pa.array(self.numbers).take(place.combine_chunks())])


@dataclass(frozen=True)
class Applying:
    """All steps so far, to be applied to rows; can be pickled."""

    seed: Seed
    order_seed: int
    treatments: tuple[Treatment, ...] = ()
    # Of the columns that are treated as numbers: decimals and units of the whole column, and its
    # values where the rows are all there are.
    sources: Mapping[str, Numbers] = field(default_factory=dict)
    blanked: tuple[str, ...] = ()  # columns that a suppressed record must not tell
    key: str | None = None  # the column that draws go by, and not the row's number
    households: Households | None = None
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)
    unit: str | None = None  # the column of units, where k counts these

    def after(self, treatment: Treatment) -> Applying:
        """Add a step."""
        return replace(self, treatments=(*self.treatments, treatment))

    @property
    def touched(self) -> set[str]:
        """The columns that a step has treated."""
        return {column for one in self.treatments for column in one.step.columns}

    def needed(self, columns: Sequence[str]) -> set[str]:
        """Name the columns that it takes to apply the steps and to return some columns."""
        sorted_ = {
            beside(one.number, column)
            for one in self.treatments
            if one.method.orders
            for column in one.step.columns
        }
        levels = {level for one in self.treatments for level in one.levels.values()}
        used = filter(None, (self.key, self.unit))
        return {*columns, *self.touched, *sorted_, *levels, *used}

    def rows(self, piece: pa.Table, rows: np.ndarray) -> Rows:
        """Return a piece as the steps leave it."""
        found = Rows(self, piece, rows)
        for one in self.treatments:
            found.do(one)
        return found

    def columns(self, names: Sequence[str], piece: pa.Table, rows: np.ndarray) -> pa.Table:
        """Return some columns of a piece as the steps leave them."""
        found = self.rows(piece, rows)
        return pa.table({name: found.current(name) for name in names})

    def release(self, released: Sequence[str], piece: pa.Table, rows: np.ndarray) -> pa.Table:
        """Return what is released of a piece, and of each row what becomes of it."""
        return self.released(released, self.rows(piece, rows))

    def released(self, names: Sequence[str], rows: Rows) -> pa.Table:
        """Return the same of rows that the steps have treated already."""
        columns = {name: rows.current(name) for name in names}
        if self.households is not None:
            name = self.households.column
            columns[name] = self.households.of(rows.piece[name])
        for name in self.pseudonyms.columns:
            columns[name] = self.pseudonyms.of(rows.piece[name])
        for name in self.blanked:
            columns[name] = blank(columns[name], rows.suppressed)
        for name in names:
            columns[name] = blank(columns[name], rows.left_out)
        words = Draws(self.order_seed, "row order").words(rows.numbers)
        marks = {SUPPRESSED: rows.suppressed, LEFT_OUT: rows.left_out, ORDER: pa.array(words)}
        units = {} if self.unit is None else {UNIT: plain(rows.piece[self.unit])}
        return pa.table(columns | marks | units)


class Rows:
    """Rows of a table as the steps go by: all that there are (`whole`), or a piece of them."""

    def __init__(
        self, plan: Applying, piece: pa.Table, rows: np.ndarray, whole: bool = False
    ) -> None:
        self.plan, self.piece, self.numbers, self.whole = plan, piece, rows, whole
        self.start = int(rows[0]) if len(rows) else 0
        # Of all rows, some are not there: those that are keep their numbers.
        self.parted = whole and len(rows) > 0 and int(rows[-1]) >= len(rows)
        self.keys = None if plan.key is None else row_numbers(piece[plan.key], plan.key)
        self.values: dict[str, np.ndarray] = {}
        self.precision: dict[str, str] = {}
        self.replaced: dict[str, pa.ChunkedArray] = {}
        self._codes: dict[str, np.ndarray] = {}
        self._groups: dict[str, np.ndarray] = {}
        self.suppressed = np.zeros(len(piece), dtype=bool)
        self.left_out = np.zeros(len(piece), dtype=bool)

    def do(self, one: Treatment) -> None:
        """Apply a step that has been decided on."""
        method, step = one.method, one.step
        before = {name: self.given(name, method) for name in step.columns}
        given = before
        if method.orders:
            made = {name: self.piece[beside(one.number, name)] for name in step.columns}
            given = {name: column.to_numpy() for name, column in made.items()}
        outcome = one.decision.treat(
            given,
            partial(self.draws, one.number, one.levels),
            partial(self.rounded, step.precision),
        )
        self.keep(one.number, step, before, outcome)

    def keep(self, number: int, step: Step, before: Mapping[str, Any], outcome: Outcome) -> None:
        """Take what a step made of its columns."""
        for name, values in outcome.columns.items():
            if isinstance(values, np.ndarray):
                self._refuse_lost(number, step, name, before[name], values)
                self.values[name], self.precision[name] = values, step.precision
            else:
                self.replaced[name] = values
                self.values.pop(name, None)
        if outcome.suppressed is not None:
            self.suppressed |= outcome.suppressed
        if outcome.unsafe is not None:
            self.left_out |= outcome.unsafe

    def current(self, name: str) -> pa.ChunkedArray:
        """Return a column as the steps so far have left it."""
        if name not in self.values:
            return self.replaced[name] if name in self.replaced else self.piece[name]
        source = self.plan.sources[name]
        try:
            restored = source.restore(self.values[name], self.precision[name], self.start)
        except BadInput as error:
            raise BadInput(f"column '{name}': {error}") from None
        if pa.types.is_decimal128(restored.type) and not self.whole:
            # How many digits a piece needs differs from piece to piece.
            restored = restored.cast(pa.decimal128(38, restored.type.scale))
        return pa.chunked_array([restored])

    def given(self, name: str, method: Method) -> Any:
        """Return a column as a method needs it: float64, or as Arrow has it."""
        now = self.replaced.get(name, self.piece[name])
        if method.needs == "any" or (method.needs == "mixed" and kind_of(now.type) != "numeric"):
            return self.current(name)
        if name not in self.values:
            source = self.plan.sources[name]
            known = self.whole and name not in self.replaced
            self.values[name] = source.values if known else numbers_like(now, name, source)
            self.precision[name] = "input"
        return self.values[name]

    def codes(self, name: str) -> np.ndarray:
        """Return numbers 0, 1, ... for the values of a column of the input, such as its units."""
        if name not in self._codes:
            self._codes[name] = encode(self.piece[name], name)[0]
        return self._codes[name]

    def groups(self, name: str) -> np.ndarray:
        """Return the numbers that draws by a column of households or persons go by."""
        if name not in self._groups:
            self._groups[name] = group_numbers(self.piece[name])
        return self._groups[name]

    def draws(self, number: int, levels: Mapping[str, str], column: str) -> Draws:
        """Return the draws of a step and column: by household or person, or by the rows' keys."""
        draws = Draws(self.plan.seed, number, column)
        if column in levels:
            return self._tied(draws, column, self.groups(levels[column]))
        if self.keys is not None:
            return self._tied(draws, column, self.keys)
        return draws if self.whole and not self.parted else draws.at(self.numbers)

    def _tied(self, draws: Draws, column: str, numbers: np.ndarray) -> Draws:
        """Return the draws of rows by some numbers, with those of the project, if there is one."""
        placed, project = draws.at(numbers), self.plan.seed.project
        if project is None:
            return placed
        cells = cell_numbers(project, self.piece[column], numbers)
        return placed.tied(project, column, numbers, cells)

    def rounded(self, precision: str, column: str, values: np.ndarray) -> np.ndarray:
        """Round a column's numbers to what may be released."""
        return self.plan.sources[column].round(values, precision)

    def _refuse_lost(
        self, number: int, step: Step, name: str, before: np.ndarray, after: np.ndarray
    ) -> None:
        """Refuse a result past the range of numbers, and nulls where there were values."""
        lost = np.isinf(after)
        if not step.build().blanks:
            lost |= np.isnan(after) & ~np.isnan(before)
        if lost.any():
            row = int(np.argmax(lost))
            raise BadInput(
                f"step {number} ({step.method}): column '{name}', row {self.numbers[row] + 1}: "
                f"{before[row]:g} came out as no number; its values are too large to compute "
                "with, so divide them first"
            )
