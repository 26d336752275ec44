"""What all steps do to some rows of a table, wherever these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.method import Decision, Method, Outcome
from discreet.recipe.recipe import Step
from discreet.table import Numbers, kind_of
from discreet.table.cells import blank
from discreet.table.columns import numbers_like
from discreet.table.keys import row_numbers

# Columns of the treated table that are not released; no column of a user has such a name.
SUPPRESSED, LEFT_OUT, ORDER = "\0suppressed", "\0left out", "\0order"


def beside(number: int, column: str) -> str:
    """Name the column beside the others that holds what a step made by sorting."""
    return f"\0{number} {column}"


def as_computed_before(columns: Mapping[str, Any], draws: Any, rounded: Any) -> Outcome:
    """Return what was computed before and now stands beside the rows: how a sorting step treats."""
    return Outcome(dict(columns), {})


@dataclass(frozen=True)
class Treatment:
    """A step that has been decided on."""

    number: int
    step: Step
    decision: Decision

    @property
    def method(self) -> Method:
        """What the step does."""
        return self.step.build()


@dataclass(frozen=True)
class Applying:
    """All steps so far, to be applied to pieces of the table; can be pickled.

    Attributes
    ----------
    seed, order_seed : int
    treatments : tuple of Treatment
    sources : dict of str to Numbers
        Of the columns that are treated as numbers: without values, but with the decimals and the
        units of the whole column.
    blanked : tuple of str
        Quasi columns that a suppressed record must not tell.
    key : str or None
        The column that draws go by; the row's number where there is none.
    """

    seed: int
    order_seed: int
    treatments: tuple[Treatment, ...] = ()
    sources: Mapping[str, Numbers] = field(default_factory=dict)
    blanked: tuple[str, ...] = ()
    key: str | None = None

    def after(self, treatment: Treatment) -> Applying:
        """Add a step."""
        return replace(self, treatments=(*self.treatments, treatment))

    @property
    def touched(self) -> set[str]:
        """The columns that a step has treated."""
        return {column for one in self.treatments for column in one.step.columns}

    def needed(self, columns: Sequence[str]) -> set[str]:
        """Name the columns that it takes to apply the steps and to give some columns."""
        sorted_ = {
            beside(one.number, column)
            for one in self.treatments
            if one.method.orders
            for column in one.step.columns
        }
        return {*columns, *self.touched, *sorted_, *([] if self.key is None else [self.key])}

    def columns(self, released: Sequence[str], piece: pa.Table, rows: np.ndarray) -> pa.Table:
        """Return some columns of a piece as the steps leave them."""
        state = _State(self, piece, rows)
        for one in self.treatments:
            state.do(one)
        return pa.table({name: state.current(name) for name in released})

    def release(self, released: Sequence[str], piece: pa.Table, rows: np.ndarray) -> pa.Table:
        """Return what is released of a piece, and of each row what becomes of it."""
        state = _State(self, piece, rows)
        for one in self.treatments:
            state.do(one)
        columns = {name: state.current(name) for name in released}
        for name in self.blanked:
            columns[name] = blank(columns[name], state.suppressed)
        for name in released:
            columns[name] = blank(columns[name], state.left_out)
        words = Draws(self.order_seed, "row order").words(rows)
        return pa.table(
            columns
            | {SUPPRESSED: state.suppressed, LEFT_OUT: state.left_out, ORDER: pa.array(words)}
        )


class _State:
    """A piece of the table as the steps go by."""

    def __init__(self, plan: Applying, piece: pa.Table, rows: np.ndarray) -> None:
        self.plan, self.piece, self.start = plan, piece, int(rows[0]) if len(rows) else 0
        self.rows = rows if plan.key is None else row_numbers(piece[plan.key], plan.key)
        self.values: dict[str, np.ndarray] = {}
        self.precision: dict[str, str] = {}
        self.replaced: dict[str, pa.ChunkedArray] = {}
        self.suppressed = np.zeros(len(piece), dtype=bool)
        self.left_out = np.zeros(len(piece), dtype=bool)

    def do(self, one: Treatment) -> None:
        """Apply one step."""
        method, step = one.method, one.step
        before = {name: self._given(name, method) for name in step.columns}
        given = before
        if method.orders:
            made = {name: self.piece[beside(one.number, name)] for name in step.columns}
            given = {name: column.to_numpy() for name, column in made.items()}
        outcome = one.decision.treat(
            given, partial(self._draws, one.number), partial(self._rounded, step.precision)
        )
        for name, values in outcome.columns.items():
            if isinstance(values, np.ndarray):
                self._refuse_lost(one, name, before[name], values)
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
            return self.replaced.get(name, self.piece[name])
        source = self.plan.sources[name]
        try:
            restored = source.restore(self.values[name], self.precision[name], self.start)
        except BadInput as error:
            raise BadInput(f"column '{name}': {error}") from None
        if pa.types.is_decimal(restored.type):
            # How many digits a piece needs differs from piece to piece.
            restored = restored.cast(pa.decimal128(38, restored.type.scale))
        return pa.chunked_array([restored])

    def _given(self, name: str, method: Method) -> Any:
        now = self.replaced.get(name, self.piece[name])
        if method.needs == "any" or (method.needs == "mixed" and kind_of(now.type) != "numeric"):
            return self.current(name)
        if name not in self.values:
            self.values[name] = numbers_like(now, name, self.plan.sources[name])
            self.precision[name] = "input"
        return self.values[name]

    def _draws(self, number: int, column: str) -> Draws:
        return Draws(self.plan.seed, number, column).at(self.rows)

    def _rounded(self, precision: str, column: str, values: np.ndarray) -> np.ndarray:
        return self.plan.sources[column].round(values, precision)

    def _refuse_lost(
        self, one: Treatment, name: str, before: np.ndarray, after: np.ndarray
    ) -> None:
        """Refuse a result past the range of numbers, and nulls where there were values."""
        lost = np.isinf(after)
        if not one.method.blanks:
            lost |= np.isnan(after) & ~np.isnan(before)
        if lost.any():
            row = int(np.argmax(lost))
            raise BadInput(
                f"step {one.number} ({one.step.method}): column '{name}', row "
                f"{self.start + row + 1}: {before[row]:g} came out as no number; its values are "
                "too large to compute with, so divide them first"
            )
