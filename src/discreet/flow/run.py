"""One run of a recipe: the columns as the steps go by, the plan and the log."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import Plan, content_hmac
from discreet.draws import Draws
from discreet.errors import BadInput, nearest
from discreet.flow.log import begin_log, tell_null_policy, timed, with_seeds
from discreet.method import Method, Outcome
from discreet.recipe.recipe import Recipe, Step
from discreet.table import Numbers, kind_of, numbers
from discreet.table.cells import blank, differing, plain
from discreet.table.classes import classes_of, encode_columns
from discreet.table.keys import row_numbers

# With two records at a point, each could work out the other's value.
FEWEST_PER_POINT = 3


class Run:
    """One run: the state of the columns as the steps go by, and the log."""

    def __init__(self, original: pa.Table, recipe: Recipe) -> None:
        self.original = original
        self.roles = recipe.roles.assign(original.column_names)
        self.released = recipe.roles.released(original.column_names)
        for number, step in enumerate(recipe.steps, start=1):
            check_columns(step, number, self.roles, self.released)
        if not self.released:
            raise BadInput("no column would be released; give some column another role")
        for column in self.released:
            refuse_strange(original[column].type, column)
        # Numbers of the input with the way back to their type, and what the steps made of them.
        self.inputs: dict[str, Numbers] = {}
        self.values: dict[str, np.ndarray] = {}
        self.precision: dict[str, str] = {}
        self.replaced: dict[str, pa.ChunkedArray] = {}
        self.suppressed = np.zeros(original.num_rows, dtype=bool)
        self.left_out = np.zeros(original.num_rows, dtype=bool)
        self.starred: set[str] = set()  # columns in which suppressed records have stars
        key = recipe.roles.row_key
        self.keys = None if key is None else row_numbers(original[key], key)
        if self.keys is not None and len(np.unique(self.keys)) < len(self.keys):
            raise BadInput(f"the row key '{key}' is the same in several rows; each needs its own")
        self.plan: Plan = {"steps": []}
        self.log: dict[str, Any] = {}
        self._begin(recipe)

    def _begin(self, recipe: Recipe) -> None:
        original = self.original
        nulls = {c: original[c].null_count for c in self.released}
        self.log = begin_log(recipe, self.roles, self.released, nulls)
        with timed(self.log, "hash"):
            hmac = content_hmac(original, bytes.fromhex(self.log["hash_key"]))
        self.log["input"] = {
            "rows": original.num_rows,
            "columns": original.column_names,
            "hmac": hmac,
        }
        self.recipe = with_seeds(recipe)

    @property
    def seen(self) -> set[str]:
        """The columns that steps treat or read, and that of households."""
        seen = {c for s in self.recipe.steps for c in (*s.columns, *s.build().reads)}
        return seen | {self.recipe.roles.household or ""}

    @property
    def seed(self) -> int:
        """What all draws come from."""
        assert self.recipe.seed is not None  # One was drawn where none was given.
        return self.recipe.seed

    def do(self, number: int, step: Step) -> None:
        """Run one step on its columns."""
        method = step.build()
        where = f"step {number} ({step.method})"
        before = {column: self._given(column, method) for column in step.columns}
        refuse_units(method, step.columns, self.inputs, where)
        target = self._target() if method.supervised else None
        started = time.perf_counter()
        # What overflows is found in the result, and refused there.
        overflow = np.errstate(over="ignore", invalid="ignore")
        with overflow, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                outcome = method.run(
                    before,
                    lambda column: self._draws(number, column),
                    lambda column, values: self.inputs[column].round(values, step.precision),
                    target,
                    {column: self.current(column) for column in method.reads},
                )
            except BadInput as error:
                raise BadInput(f"{where}: {error}") from None
        _refuse_rare_points(step, number, outcome.columns)
        _refuse_lost_values(where, method, before, outcome.columns)
        seconds = time.perf_counter() - started
        self._keep(step, outcome)
        self._plan(number, step, outcome)
        tell_null_policy(self.log, number, step)
        self.log["warnings"] += [f"{where}: {w.message}" for w in caught]
        self.log["steps"].append(
            {
                "step": number,
                "method": step.method,
                "effect": method.effect,
                "seconds": round(seconds, 4),
                "changed_cells": {c: differing(before[c], outcome.columns[c]) for c in before},
                **outcome.figures,
            }
        )

    def _draws(self, number: int, column: str) -> Draws:
        """Return the draws of a step and column, by the rows' keys where the table has such."""
        draws = Draws(self.seed, number, column)
        return draws if self.keys is None else draws.at(self.keys)

    def _given(self, column: str, method: Method) -> np.ndarray | pa.ChunkedArray:
        """Return a column as the method needs it: float64, or as Arrow has it."""
        current = self.replaced.get(column, self.original[column])
        if method.needs == "any" or (method.needs == "mixed" and not _is_numeric(current)):
            return self.current(column)
        if column not in self.inputs:
            self.inputs[column] = numbers(current, column)
            self.values[column] = self.inputs[column].values
        return self.values[column]

    def current(self, column: str) -> pa.ChunkedArray:
        """Return a column as the steps so far have left it."""
        if column in self.values:
            try:
                restored = self.inputs[column].restore(
                    self.values[column], self.precision.get(column, "input")
                )
            except BadInput as error:
                raise BadInput(f"column '{column}': {error}") from None
            return pa.chunked_array([restored])
        return self.replaced.get(column, self.original[column])

    def _keep(self, step: Step, outcome: Outcome) -> None:
        for column, values in outcome.columns.items():
            if isinstance(values, np.ndarray):
                self.values[column] = values
                self.precision[column] = step.precision
            else:
                self.replaced[column] = values
                self.values.pop(column, None)
                self.inputs.pop(column, None)
        if outcome.suppressed is not None and outcome.suppressed.any():
            self.suppressed |= outcome.suppressed
            self.starred |= set(outcome.columns)
        if outcome.unsafe is not None:
            self.left_out |= outcome.unsafe
        if outcome.fixed:
            steps = list(self.recipe.steps)
            steps[self.recipe.steps.index(step)] = step.model_copy(update=outcome.fixed)
            self.recipe = self.recipe.model_copy(update={"steps": steps})

    def _plan(self, number: int, step: Step, outcome: Outcome) -> None:
        entry = plan_entry(number, step, outcome.plans, outcome.joint, self.inputs)
        again = {c for later in self.recipe.steps[number:] for c in looked_at(later)}
        if outcome.joint and again:
            # Long sums may differ in the last digit, so that a check must go on from what was.
            kept = {
                c: v for c, v in outcome.columns.items() if c in again and isinstance(v, np.ndarray)
            }
            entry |= {"results": kept} if kept else {}
        if outcome.disclosed is not None and outcome.disclosed.any():
            entry["disclosed"] = np.flatnonzero(outcome.disclosed)
            self.log["warnings"].append(
                f"step {number} ({step.method}): {len(entry['disclosed']):,} records are released "
                "as they are, which allow_disclosure allows"
            )
        self.plan["steps"].append(entry)

    def _target(self) -> np.ndarray:
        """Return the class of each row as 0, 1, ..., in the order of the classes."""
        column = self.recipe.roles.target
        assert column is not None
        classes = self.original[column].combine_chunks()
        if classes.null_count:
            raise BadInput(f"the target '{column}' holds nulls; give each row a class")
        if pa.types.is_dictionary(classes.type):
            classes = classes.dictionary_decode()
        distinct = pc.unique(classes)
        if len(distinct) < 2:
            raise BadInput(f"the target '{column}' holds one class only, {distinct[0]}")
        distinct = distinct.take(pc.sort_indices(distinct))
        return pc.index_in(classes, value_set=distinct).to_numpy()

    def replace_households(self) -> None:
        """Replace household ids by random numbers, one a household."""
        column = self.recipe.roles.household
        if column is None:
            return
        # Sorted, so that the numbers do not depend on the order of rows.
        present = self.original[column].combine_chunks()
        if pa.types.is_dictionary(present.type):
            present = present.dictionary_decode()
        distinct = pc.unique(present.drop_null())
        distinct = distinct.take(pc.sort_indices(distinct))
        assert self.recipe.order_seed is not None
        ids = Draws(self.recipe.order_seed, "household").permutation(len(distinct)) + 1
        position = pc.index_in(present, value_set=distinct)
        self.replaced[column] = pa.chunked_array([pa.array(ids).take(position)])
        self.plan["households"] = {"column": column, "ids": len(distinct)}
        self.log["changed_cells"][column] = len(present) - present.null_count

    def result(self) -> tuple[pa.Table, set[str]]:
        """Return the protected table and the names of its columns that were treated."""
        columns = {name: self.current(name) for name in self.released}
        if self.suppressed.any():
            columns = self._without_records(columns)
        for name in set(self.values) | set(self.replaced):
            if name != self.recipe.roles.household:
                before = self.original[name]
                self.log["changed_cells"][name] = differing(before, columns[name])
        changed = set(self.released) if self.suppressed.any() else set(self.values)
        return pa.table(columns), changed | set(self.replaced)

    def _without_records(self, columns: dict[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
        """Blank the records that may not stay, then the rounding points that lost too many."""
        refuse_suppression(self.recipe, int(self.suppressed.sum()), bool(self.left_out.all()))
        gone = {name: self.left_out.copy() for name in columns}
        for name in self.roles:
            # A suppressed record tells no quasi value; the step itself has made stars of its own.
            if self.roles[name] == "quasi" and name not in self.starred:
                gone[name] |= self.suppressed
        for number, step in enumerate(self.recipe.steps):
            plan = self.plan["steps"][number]
            for name, rows in rare_cells(step, plan, columns, gone).items():
                gone[name] = gone[name] | rows
        blanked = {name: np.flatnonzero(rows & ~self.left_out) for name, rows in gone.items()}
        blanked = {name: rows for name, rows in blanked.items() if len(rows)}
        cells = {name: len(rows) for name, rows in blanked.items()}
        told = {"records": int(self.suppressed.sum()), "left_out": int(self.left_out.sum())}
        self.plan["suppressed"] = told | {"blanked": cells}
        self.log["suppressed"] = told | {"blanked_cells": cells}
        return {name: blank(columns[name], rows) for name, rows in gone.items()}


def refuse_suppression(recipe: Recipe, suppressed: int, all_gone: bool) -> None:
    """Refuse suppressed records where the promise of another step would not outlive it."""
    if all_gone:
        raise BadInput("all records would be suppressed; weaken what the steps must keep")
    others = [
        f"step {number} ({step.method})"
        for number, step in enumerate(recipe.steps, start=1)
        if step.promise and step.build().promise in ("privacy-models", "wildcard-k")
    ]
    if len(others) > 1:
        raise BadInput(
            f"{suppressed:,} records are suppressed, which the classes of {' and '.join(others)} "
            "then lack; put the columns into one step, or allow no suppression"
        )


def plan_entry(
    number: int,
    step: Step,
    plans: Mapping[str, Plan],
    joint: Plan,
    sources: Mapping[str, Numbers],
) -> dict[str, Any]:
    """Return a step's part of the plan, with the units of dates and the like."""
    described = {}
    for column, plan in plans.items():
        source = sources.get(column)
        timed = source is not None and source.unit is not None
        unit = {"unit": source.unit, "unit_ns": source.unit_ns} if source and timed else {}
        described[column] = unit | plan | {"precision": step.precision}
    entry: dict[str, Any] = {"step": number, "method": step.method, "columns": described}
    return entry | ({"joint": joint} if joint else {})


def refuse_units(
    method: Method, columns: Sequence[str], sources: Mapping[str, Numbers], where: str
) -> None:
    """Refuse dates where plain numbers are needed, and to put different things together."""
    units = {column: sources[column].unit for column in columns if column in sources}
    for column, unit in units.items():
        if unit is not None and not method.takes_dates:
            raise BadInput(
                f"{where} takes plain numbers, but column '{column}' holds {sources[column].type}"
            )
    if not method.pools:
        return
    first, *others = columns
    for column in others:
        if units[column] != units[first]:
            held = [units[c] or "plain numbers" for c in (first, column)]
            raise BadInput(
                f"{where} puts its columns together, but '{first}' holds {held[0]} and "
                f"'{column}' {held[1]}; treat them in steps of their own"
            )


def refuse_strange(kind: pa.DataType, column: str) -> None:
    """Refuse a column of a type that cannot be released."""
    if kind_of(kind) == "other" and not pa.types.is_time(kind):
        raise BadInput(
            f"column '{column}' holds {kind}, which cannot be released; drop it, or turn it into "
            "text or numbers"
        )


def _refuse_lost_values(
    where: str, method: Method, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Refuse a result past the range of numbers, and nulls where there were values."""
    for column, values in after.items():
        if not isinstance(values, np.ndarray):
            continue
        lost = np.isinf(values)
        if not method.blanks:
            lost |= np.isnan(values) & ~np.isnan(before[column])
        if lost.any():
            row = int(np.argmax(lost))
            raise BadInput(
                f"{where}: column '{column}', row {row + 1}: {before[column][row]:g} came out as "
                "no number; its values are too large to compute with, so divide them first"
            )


def looked_at(step: Step) -> tuple[str, ...]:
    """Name the columns that a step treats or reads."""
    return (*step.columns, *step.build().reads)


def _is_numeric(column: pa.ChunkedArray) -> bool:
    return kind_of(column.type) == "numeric"


def check_columns(step: Step, number: int, roles: dict[str, str], released: list[str]) -> None:
    """Refuse a step that treats or reads what is not released."""
    for column in looked_at(step):
        where = f"step {number} ({step.method})"
        if column not in roles:
            raise BadInput(f"{where}: the table has no column '{column}'; {nearest(column, roles)}")
        if column not in released:
            does = "treats" if column in step.columns else "reads"
            raise BadInput(f"{where} {does} '{column}', which is not released ({roles[column]})")


def _refuse_rare_points(step: Step, number: int, after: dict[str, Any]) -> None:
    """Refuse points of one or two records, unless the step says how few may share a point.

    The point of one record is that record's own value.
    """
    if not chooses_rarest(step):
        return
    for column, values in after.items():
        _, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        refuse_rare_point(f"step {number} ({step.method})", column, int(counts.min()))


def chooses_rarest(step: Step) -> bool:
    """Tell whether a step could say how few records may share a point, and does not."""
    return "min_count" in step.parameters() and "min_count" not in step.model_fields_set


def refuse_rare_point(where: str, column: str, smallest: int) -> None:
    """Refuse a point that stands for too few records."""
    if smallest < FEWEST_PER_POINT:
        raise BadInput(
            f"{where}: a point of column '{column}' stands for {smallest} "
            f"record{'s' * (smallest > 1)}; set min_count = {FEWEST_PER_POINT} or more to merge "
            "such parts, or min_count = 1 to release them knowingly"
        )


def rare_cells(
    step: Step,
    plan: Mapping[str, Any],
    columns: Mapping[str, pa.ChunkedArray],
    gone: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Find the values of a column that too few records hold once others have gone.

    Rounding promised k records per value, microaggregation per tuple; suppression of records may
    take some of them away.
    """
    promise = step.build().promise
    if not step.promise or promise not in ("k-per-value", "k-per-tuple"):
        return {}
    together = [step.columns] if promise == "k-per-tuple" else [[c] for c in step.columns]
    found = {}
    for names in together:
        lost = np.any([gone[name] for name in names], axis=0)
        if not lost.any():
            continue
        table = pa.table({name: plain(columns[name]) for name in names})
        codes, sizes = encode_columns(table, names)
        classes, n_classes = classes_of(codes, sizes)
        counts = np.bincount(classes[~lost], minlength=n_classes)
        k = step.least_records(names[0], plan["columns"][names[0]])
        rare = ~lost & (counts < k)[classes]
        if promise == "k-per-value":
            rare &= pc.is_valid(table[names[0]]).to_numpy()
        if rare.any():
            found.update(dict.fromkeys(names, rare))
    return found
