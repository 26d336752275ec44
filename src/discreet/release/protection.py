"""Protect a table by a recipe: the steps in order, then the check."""

from __future__ import annotations

import platform
import secrets
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import discreet
from discreet.draws import Draws, secret_seed
from discreet.errors import BadInput, BrokenPromise, nearest
from discreet.release.check import check_release
from discreet.release.evidence import Evidence, Plan, content_hmac
from discreet.release.recipe import Recipe, Step, as_recipe
from discreet.release.release import Release
from discreet.table import Numbers, kind_of, like, normalise, numbers, read_table, to_arrow

# With two records at a point, each could work out the other's value.
FEWEST_PER_POINT = 3
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "pydantic")


def protect(table: Any, recipe: Recipe | Mapping[str, Any] | str | Path) -> Release:
    """Protect a table by a recipe, and verify what the recipe promises.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
        About people or companies, one row each.
    recipe : Recipe, dict or path of a TOML file
        Roles of the columns, and the steps.

    Returns
    -------
    Release
        With the protected table in `table`; `save` writes it to disk.

    Raises
    ------
    BadInput
        Where the table or the recipe cannot be used.
    BrokenPromise
        Where the independent check finds that a promise does not hold.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(1000, seed=1).select(["name", "income"])
    >>> release = protect(people, {
    ...     "roles": {"identifiers": ["name"], "confidential": ["income"]},
    ...     "steps": [{"method": "oma", "columns": ["income"], "k": 5}],
    ... })
    >>> release.table.column_names
    ['income']
    >>> release.check.ok
    True
    """
    recipe = as_recipe(recipe)
    if isinstance(table, str | Path):
        return protect_read(read_original(table, recipe), recipe, Path(table))
    return protect_read(table, recipe)


def protect_read(table: Any, recipe: Recipe, source: Path | None = None) -> Release:
    """Protect a table that was read already; `source` is the file that it came from."""
    arrow = to_arrow(table)
    if arrow.num_rows == 0:
        raise BadInput("the table has no rows")
    original = normalise(arrow, recipe.null_markers)
    run = _Run(original, recipe)
    run.log["input"]["source"] = None if source is None else source.name
    for number, step in enumerate(recipe.steps, start=1):
        run.do(number, step)
    run.replace_households()
    protected, changed = run.result()
    evidence = Evidence(run.plan, run.log, run.recipe, original=original)
    started = time.perf_counter()
    report = check_release(protected, run.recipe, evidence, original)
    run.log["seconds"]["check"] = round(time.perf_counter() - started, 4)
    if not report.verified:
        raise BrokenPromise(f"the release does not pass its check:\n{report}")
    # Null markers became nulls, so columns that no step treats may have changed too.
    changed |= {c for c in arrow.column_names if original[c].null_count != arrow[c].null_count}
    result = like(table, protected, changed)
    return Release(result, run.plan, run.log, run.recipe, report, protected, original, source)


def read_original(path: str | Path, recipe: Recipe, **dialect: str | None) -> pa.Table:
    """Read a table as a recipe means it: its null markers, its numeric columns."""
    return read_table(path, null_markers=recipe.null_markers, numeric=recipe.treated, **dialect)


class _Run:
    """One run: the state of the columns as the steps go by, and the log."""

    def __init__(self, original: pa.Table, recipe: Recipe) -> None:
        self.original = original
        self.roles = recipe.roles.assign(original.column_names)
        self.released = recipe.roles.released(original.column_names)
        for number, step in enumerate(recipe.steps, start=1):
            _check_columns(step, number, self.roles, self.released)
        for column in self.released:
            _refuse_strange(original[column].type, column)
        # Numbers of the input with the way back to their type, and what the steps made of them.
        self.inputs: dict[str, Numbers] = {}
        self.values: dict[str, np.ndarray] = {}
        self.precision: dict[str, str] = {}
        self.replaced: dict[str, pa.Array] = {}
        self.plan: Plan = {"steps": []}
        self.log: dict[str, Any] = {}
        self._begin(recipe)

    def _begin(self, recipe: Recipe) -> None:
        key = secrets.token_bytes(32)
        started = time.perf_counter()
        original = self.original
        self.log = {
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
    def seed(self) -> int:
        assert self.recipe.seed is not None  # One was drawn where none was given.
        return self.recipe.seed

    def do(self, number: int, step: Step) -> None:
        """Run one step on its columns."""
        method = step.build()
        for column in step.columns:
            if column not in self.inputs:
                self.inputs[column] = numbers(self.original[column], column)
                self.values[column] = self.inputs[column].values
            if self.inputs[column].unit is not None and not method.takes_dates:
                raise BadInput(
                    f"step {number} ({step.method}) takes plain numbers, but column '{column}' "
                    f"holds {self.inputs[column].type}"
                )
        before = {column: self.values[column] for column in step.columns}
        target = self._target() if method.supervised else None
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            outcome = method.run(
                before,
                lambda column: Draws(self.seed, number, column),
                lambda column, values: self.inputs[column].round(values, step.precision),
                target,
            )
        after, plans = outcome.columns, outcome.plans
        _refuse_rare_points(step, number, after)
        seconds = time.perf_counter() - started
        self.values.update(after)
        self.precision.update(dict.fromkeys(step.columns, step.precision))
        for column, plan in plans.items():
            source = self.inputs[column]
            unit = {"unit": source.unit, "unit_ns": source.unit_ns} if source.unit else {}
            plans[column] = unit | plan
            plans[column]["precision"] = step.precision
        self.plan["steps"].append({"step": number, "method": step.method, "columns": plans})
        self.log["warnings"] += [f"step {number} ({step.method}): {w.message}" for w in caught]
        self.log["steps"].append(
            {
                "step": number,
                "method": step.method,
                "effect": method.effect,
                "seconds": round(seconds, 4),
                "changed_cells": {c: _differing(before[c], after[c]) for c in step.columns},
            }
        )

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
        self.replaced[column] = pa.array(ids).take(position)
        self.plan["households"] = {"column": column, "ids": len(distinct)}
        self.log["changed_cells"][column] = len(present) - present.null_count

    def result(self) -> tuple[pa.Table, set[str]]:
        """Give the protected table and the names of its columns that were treated."""
        columns = {}
        for name in self.released:
            if name in self.replaced:
                columns[name] = self.replaced[name]
            elif name in self.values:
                source = self.inputs[name]
                try:
                    columns[name] = source.restore(self.values[name], self.precision[name])
                except BadInput as error:
                    raise BadInput(f"column '{name}': {error}") from None
                self.log["changed_cells"][name] = _differing(source.values, self.values[name])
            else:
                columns[name] = self.original[name]
        return pa.table(columns), set(self.values) | set(self.replaced)


def _refuse_strange(kind: pa.DataType, column: str) -> None:
    if kind_of(kind) == "other" and not pa.types.is_time(kind):
        raise BadInput(
            f"column '{column}' holds {kind}, which cannot be released; drop it, or turn it into "
            "text or numbers"
        )


def _check_columns(step: Step, number: int, roles: dict[str, str], released: list[str]) -> None:
    for column in step.columns:
        where = f"step {number} ({step.method})"
        if column not in roles:
            raise BadInput(f"{where}: the table has no column '{column}'; {nearest(column, roles)}")
        if column not in released:
            raise BadInput(f"{where} treats '{column}', which is not released ({roles[column]})")


def _refuse_rare_points(step: Step, number: int, after: dict[str, np.ndarray]) -> None:
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


def _differing(before: np.ndarray, after: np.ndarray) -> int:
    return int(((before != after) & ~(np.isnan(before) & np.isnan(after))).sum())
