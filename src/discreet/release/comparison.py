"""A release compared with its original: every cell, the plan applied again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.registry import find_method
from discreet.release.cells import blank, equal_cells, plain
from discreet.release.evidence import Evidence, content_hmac, left_out
from discreet.release.findings import Finding, finding
from discreet.release.privacy import same_spread
from discreet.release.recipe import Recipe
from discreet.release.replay import Numeric, replay
from discreet.table import float_values, tuple_counts

NEEDS_ORIGINAL = "needs the internal folder and the original table"
APPLIED = "every treated cell equals the plan applied, nulls in place"
UNTOUCHED = "every other cell equals the original"


def against_original(
    table: pa.Table,
    path: Path | None,
    recipe: Recipe,
    evidence: Evidence | None,
    original: pa.Table | None,
) -> list[Finding]:
    """Verify that each cell is what the plan makes of the original, or the original itself."""
    same_input = "the original is the one that was protected"
    if evidence is None or original is None:
        names = (same_input, APPLIED, UNTOUCHED)
        return [Finding(name, "not verifiable", NEEDS_ORIGINAL) for name in names]
    same = evidence.original is original or (
        content_hmac(original, evidence.key) == evidence.log["input"]["hmac"]
    )
    findings = [finding(same_input, None if same else "its keyed hash differs", "hash equal")]
    in_order = np.arange(original.num_rows)
    rows = in_order if evidence.rows is None else evidence.rows
    cells = _cells(table, recipe, evidence, original, rows)
    if path is None and evidence.rows is not None and any(f.status == "broken" for f in cells):
        # A table in memory may never have been shuffled.
        unshuffled = _cells(table, recipe, evidence, original, in_order)
        cells = cells if any(f.status == "broken" for f in unshuffled) else unshuffled
    return findings + cells


def _cells(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> list[Finding]:
    missing = [c for c in table.column_names if c not in original.column_names]
    problem = None
    if missing:
        problem = f"the original has no column '{missing[0]}'"
    elif len(rows) != table.num_rows:
        problem = f"there are {len(rows):,} original rows, but {table.num_rows:,} in the table"
    elif not np.array_equal(np.sort(rows), _rows_there(evidence, original, len(rows))):
        problem = "the row map does not name each row of the original once"
    if problem:
        return [Finding(name, "broken", problem) for name in (APPLIED, UNTOUCHED)]
    findings = [
        *_applied(table, recipe, evidence, original, rows),
        _untouched(table, recipe, evidence, original, rows),
    ]
    household = recipe.roles.household
    if household is not None and household in table.column_names:
        findings.append(_households(table, household, evidence, original, rows))
    return findings


def _rows_there(evidence: Evidence, original: pa.Table, n: int) -> np.ndarray:
    """Give the rows that a table of n rows should hold: a table in memory has them all."""
    there = np.arange(original.num_rows)
    return there if n == len(there) else np.delete(there, left_out(evidence.plan))


def _blanked(evidence: Evidence, name: str, n: int) -> np.ndarray:
    """Mask the cells of a column that suppression has emptied."""
    mask = np.zeros(n, dtype=bool)
    mask[left_out(evidence.plan)] = True
    cells = evidence.plan.get("suppressed", {}).get("blanked", {})
    mask[np.asarray(cells.get(name, ()), dtype=np.int64)] = True
    return mask


def _applied(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> list[Finding]:
    try:
        applied, columns = replay(evidence.plan, evidence.recipe.seed or 0, original)
        problem = _other_cells(table, evidence, original, rows, applied)
        findings = [finding(APPLIED, problem, f"{len(applied) * len(rows):,} cells")]
        for step, plan in zip(recipe.steps, evidence.plan["steps"], strict=True):
            if step.promise and "privacy" in step.parameters():
                findings += same_spread(step, plan, columns.arrow)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return [Finding(APPLIED, "broken", f"the plan cannot be applied: {error!r}")]
    return findings


def _other_cells(
    table: pa.Table,
    evidence: Evidence,
    original: pa.Table,
    rows: np.ndarray,
    applied: dict[str, Any],
) -> str | None:
    """Say which cell is not what the plan gives, if one is not."""
    for name, plan in final_plans(evidence):
        if name not in table.column_names:
            continue
        if name not in applied:
            return f"the plan gives no column '{name}'"
        gone = _blanked(evidence, name, original.num_rows)
        if isinstance(applied[name], Numeric):
            problem = _other_numbers(table[name], name, plan, applied[name], gone, rows)
            problem = problem or _other_nulls(table, name, evidence.recipe, original, gone, rows)
        else:
            problem = _other_labels(table[name], name, blank(applied[name], gone), rows)
        if problem:
            return problem
    return None


def _other_numbers(
    column: pa.ChunkedArray,
    name: str,
    plan: dict[str, Any],
    applied: Numeric,
    gone: np.ndarray,
    rows: np.ndarray,
) -> str | None:
    found = float_values(column, name, plan.get("unit_ns") or 10**9)
    wanted = applied.where(rows, gone)
    same = wanted.holds(found)
    if same.all():
        return None
    row = int(np.argmin(same))
    return (
        f"column '{name}', row {row + 1}: {found[row]:.17g}, the plan gives "
        f"{wanted.middle[row]:.17g}; {int((~same).sum()):,} cells differ"
    )


def _other_nulls(
    table: pa.Table,
    name: str,
    recipe: Recipe,
    original: pa.Table,
    gone: np.ndarray,
    rows: np.ndarray,
) -> str | None:
    """Compare the nulls of a column with the original's, whatever the plan says."""
    methods = [find_method(step.method) for step in recipe.steps if name in step.columns]
    if any(method.blanks or method.needs != "numeric" for method in methods):
        return None
    wanted = (original[name].is_null(nan_is_null=True).to_numpy() | gone)[rows]
    other = wanted != table[name].is_null(nan_is_null=True).to_numpy()
    return f"column '{name}', row {int(np.argmax(other)) + 1}: a null" if other.any() else None


def _other_labels(
    column: pa.ChunkedArray, name: str, applied: pa.ChunkedArray, rows: np.ndarray
) -> str | None:
    wanted = plain(applied).take(pa.array(rows))
    try:
        found = plain(column).cast(wanted.type)
    except pa.ArrowException:
        return f"column '{name}' is {column.type}, not {wanted.type}"
    same = equal_cells(wanted, found)
    if pc.all(same).as_py():
        return None
    row = pc.index(same, False).as_py()
    differ = len(same) - pc.sum(same).as_py()
    return (
        f"column '{name}', row {row + 1}: {found[row].as_py()}, the plan gives "
        f"{wanted[row].as_py()}; {differ:,} cells differ"
    )


def _untouched(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> Finding:
    treated = {name for name, _ in final_plans(evidence)} | {recipe.roles.household}
    others = [name for name in table.column_names if name not in treated]
    for name in others:
        gone = _blanked(evidence, name, original.num_rows)
        before, after = plain(blank(original[name], gone)).take(pa.array(rows)), table[name]
        try:
            after = after.cast(before.type)
        except pa.ArrowException:
            return Finding(
                UNTOUCHED, "broken", f"column '{name}' is {after.type}, not {before.type}"
            )
        differing = pc.invert(equal_cells(before, after))
        if pc.any(differing).as_py():
            row = pc.index(differing, True).as_py()
            return Finding(UNTOUCHED, "broken", f"column '{name}', row {row + 1} differs")
    return Finding(
        UNTOUCHED, "verified", f"{len(others)} columns, {len(others) * len(rows):,} cells"
    )


def _households(
    table: pa.Table, name: str, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> Finding:
    """Verify that old and new household ids are one to one."""
    there = ~_blanked(evidence, name, original.num_rows)[rows]
    old = plain(original[name]).take(pa.array(rows)).filter(pa.array(there))
    new = table[name].filter(pa.array(there))
    pairs, _ = tuple_counts(pa.table({"old": old, "new": new}), ["old", "new"])
    one_to_one = all(len(pc.unique(pairs[side])) == pairs.num_rows for side in ("old", "new"))
    nulls = pc.all(pc.equal(pc.is_null(old), pc.is_null(new))).as_py()
    problem = None if one_to_one and nulls else "some household was split or joined"
    return finding(f"household numbers in '{name}' are one to one", problem, f"{pairs.num_rows:,}")


def final_plans(evidence: Evidence) -> list[tuple[str, dict[str, Any]]]:
    """Give the last plan of each treated column."""
    plans: dict[str, dict[str, Any]] = {}
    for step in evidence.plan["steps"]:
        plans.update(step["columns"])
    return list(plans.items())
