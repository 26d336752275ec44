"""One run of a recipe: the columns as the steps go by, the plan and the log."""

from __future__ import annotations

import platform
import secrets
import time
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import discreet
from discreet.draws import Draws, secret_seed
from discreet.errors import BadInput, nearest
from discreet.method import Method, Outcome
from discreet.release.cells import blank, differing, rare_cells
from discreet.release.evidence import Plan, content_hmac
from discreet.release.recipe import Recipe, Step
from discreet.table import Numbers, kind_of, numbers

# With two records at a point, each could work out the other's value.
FEWEST_PER_POINT = 3
# What becomes of nulls in the columns of a step that has a null policy.
NULL_POLICIES = {
    "value": "a null is one more value",
    "suppress": "records with a null are suppressed",
    "match": "a null matches any value, which is wildcard k-anonymity only",
    "segregate": "records with and without nulls are treated apart",
    "contaminate": "a column with a null in a class is released as *",
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "pydantic")


class Run:
    """One run: the state of the columns as the steps go by, and the log."""

    def __init__(self, original: pa.Table, recipe: Recipe) -> None:
        self.original = original
        self.roles = recipe.roles.assign(original.column_names)
        self.released = recipe.roles.released(original.column_names)
        for number, step in enumerate(recipe.steps, start=1):
            _check_columns(step, number, self.roles, self.released)
        if not self.released:
            raise BadInput("no column would be released; give some column another role")
        for column in self.released:
            _refuse_strange(original[column].type, column)
        # Numbers of the input with the way back to their type, and what the steps made of them.
        self.inputs: dict[str, Numbers] = {}
        self.values: dict[str, np.ndarray] = {}
        self.precision: dict[str, str] = {}
        self.replaced: dict[str, pa.ChunkedArray] = {}
        self.suppressed = np.zeros(original.num_rows, dtype=bool)
        self.left_out = np.zeros(original.num_rows, dtype=bool)
        self.starred: set[str] = set()  # columns in which suppressed records have stars
        self.plan: Plan = {"steps": []}
        self.log: dict[str, Any] = {}
        self._begin(recipe)

    def _begin(self, recipe: Recipe) -> None:
        key = secrets.token_bytes(32)
        started = time.perf_counter()
        original = self.original
        self.log = {
            "release": secrets.token_hex(6),
            "discreet": discreet.__version__,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in _PACKAGES},
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "hash_key": key.hex(),
            "input": {
                "rows": original.num_rows,
                "columns": original.column_names,
                "hmac": content_hmac(original, key),
            },
            "roles": self.roles,
            "dropped": [name for name in self.roles if name not in self.released],
            "nulls": {
                "policy": "nulls stay in place; they are not imputed, dropped or matched",
                "cells": {c: original[c].null_count for c in self.released},
            },
            "seed": {"drawn": recipe.seed is None, "predictable": recipe.has_predictable_seed},
            "steps": [],
            "changed_cells": dict.fromkeys(self.released, 0),
            "warnings": [],
            "seconds": {"hash": round(time.perf_counter() - started, 4)},
        }
        if recipe.has_predictable_seed and any(step.build().is_random for step in recipe.steps):
            self.log["warnings"].append(
                f"seed = {recipe.seed} can be found by trying, and then undoes the random steps"
            )
        secret = {"seed": secret_seed(), "order_seed": secret_seed()}
        drawn = {name: seed for name, seed in secret.items() if getattr(recipe, name) is None}
        self.recipe = recipe.model_copy(update=drawn)

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
        before = {column: self._given(column, method, where) for column in step.columns}
        if method.pools:
            self._refuse_units(step.columns, where)
        target = self._target() if method.supervised else None
        started = time.perf_counter()
        # What overflows is found in the result, and refused there.
        overflow = np.errstate(over="ignore", invalid="ignore")
        with overflow, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                outcome = method.run(
                    before,
                    lambda column: Draws(self.seed, number, column),
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
        policy = step.parameters().get("null_policy")
        if policy is not None:
            said = f"in {where}, {NULL_POLICIES[policy]}; elsewhere "
            self.log["nulls"]["policy"] = said + self.log["nulls"]["policy"]
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

    def _given(self, column: str, method: Method, where: str) -> np.ndarray | pa.ChunkedArray:
        """Give a column as the method needs it: float64, or as Arrow has it."""
        current = self.replaced.get(column, self.original[column])
        if method.needs == "any" or (method.needs == "mixed" and not _is_numeric(current)):
            return self.current(column)
        if column not in self.inputs:
            self.inputs[column] = numbers(current, column)
            self.values[column] = self.inputs[column].values
        if self.inputs[column].unit is not None and not method.takes_dates:
            raise BadInput(
                f"{where} takes plain numbers, but column '{column}' "
                f"holds {self.inputs[column].type}"
            )
        return self.values[column]

    def _refuse_units(self, columns: list[str], where: str) -> None:
        """Refuse to put together days, seconds and plain numbers."""
        units = {column: self.inputs[column].unit or "plain numbers" for column in columns}
        first, *others = columns
        for column in others:
            if units[column] != units[first]:
                raise BadInput(
                    f"{where} puts its columns together, but '{first}' holds {units[first]} and "
                    f"'{column}' {units[column]}; treat them in steps of their own"
                )

    def current(self, column: str) -> pa.ChunkedArray:
        """Give a column as the steps so far have left it."""
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
        plans = {}
        for column, plan in outcome.plans.items():
            source = self.inputs.get(column)
            timed = source is not None and source.unit is not None
            unit = {"unit": source.unit, "unit_ns": source.unit_ns} if source and timed else {}
            plans[column] = unit | plan | {"precision": step.precision}
        entry: dict[str, Any] = {"step": number, "method": step.method, "columns": plans}
        if outcome.joint:
            entry["joint"] = outcome.joint
        again = {c for later in self.recipe.steps[number:] for c in _looked_at(later)}
        if outcome.joint and again:
            # Long sums may differ in the last digit, so that a check must go on from what was.
            entry["results"] = {
                c: v for c, v in outcome.columns.items() if c in again and isinstance(v, np.ndarray)
            }
        if outcome.disclosed is not None and outcome.disclosed.any():
            entry["disclosed"] = np.flatnonzero(outcome.disclosed)
            self.log["warnings"].append(
                f"step {number} ({step.method}): {len(entry['disclosed']):,} records are released "
                "as they are, which allow_disclosure allows"
            )
        self.plan["steps"].append(entry)

    def _target(self) -> np.ndarray:
        """Give the class of each row as 0, 1, ..., in the order of the classes."""
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
        """Give the protected table and the names of its columns that were treated."""
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
        self._refuse_suppression()
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
        self.plan["suppressed"] = {
            "rows": np.flatnonzero(self.suppressed),
            "left_out": np.flatnonzero(self.left_out),
            "blanked": blanked,
        }
        self.log["suppressed"] = {
            "records": int(self.suppressed.sum()),
            "left_out": int(self.left_out.sum()),
            "blanked_cells": {name: len(rows) for name, rows in blanked.items()},
        }
        return {name: blank(columns[name], rows) for name, rows in gone.items()}

    def _refuse_suppression(self) -> None:
        """Refuse where the promise of another step would not outlive it."""
        if self.left_out.all():
            raise BadInput("all records would be suppressed; weaken what the steps must keep")
        others = [
            f"step {number} ({step.method})"
            for number, step in enumerate(self.recipe.steps, start=1)
            if step.promise and step.build().promise in ("privacy-models", "wildcard-k")
        ]
        if len(others) > 1:
            raise BadInput(
                f"{int(self.suppressed.sum()):,} records are suppressed, which the classes of "
                f"{' and '.join(others)} then lack; put the columns into one step, or allow no "
                "suppression"
            )


def _refuse_strange(kind: pa.DataType, column: str) -> None:
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


def _looked_at(step: Step) -> tuple[str, ...]:
    """Name the columns that a step treats or reads."""
    return (*step.columns, *step.build().reads)


def _is_numeric(column: pa.ChunkedArray) -> bool:
    return kind_of(column.type) == "numeric"


def _check_columns(step: Step, number: int, roles: dict[str, str], released: list[str]) -> None:
    for column in _looked_at(step):
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
    if "min_count" not in step.parameters() or "min_count" in step.model_fields_set:
        return
    for column, values in after.items():
        _, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        smallest = int(counts.min())
        if smallest < FEWEST_PER_POINT:
            raise BadInput(
                f"step {number} ({step.method}): a point of column '{column}' stands for "
                f"{smallest} record{'s' * (smallest > 1)}; set min_count = {FEWEST_PER_POINT} or "
                "more to merge such parts, or min_count = 1 to release them knowingly"
            )
