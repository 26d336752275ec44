"""Records that a release leaves out before any step: whether they must be, and are, gone."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding, finding
from discreet.check.levels import links
from discreet.check.shown import OF_CLASSES, all_null
from discreet.engines import Frame
from discreet.engines.frame import remaining
from discreet.recipe.recipe import Recipe, Step

SAID = "suppressed records that the steps do without are left out"
# Promises for which rare values are emptied.
_EMPTYING = ("k-per-value", "k-per-tuple")


def without_excluded(
    released: Frame, original: Frame | None, recipe: Recipe, evidence: Evidence
) -> tuple[Frame, Frame | None, list[Finding]]:
    """Take the excluded rows out of a release and of its original: promises are over the others.

    A table in memory has them as rows of nulls.
    """
    gone, rows = evidence.excluded, evidence.log["input"]["rows"]
    known = [name for name in released.schema.names if name not in recipe.added]
    there, telling = released.fold(partial(_shown, gone), _both, released.schema.names)
    problem = None
    if gone.min() < 0 or gone.max() >= rows:
        problem = f"the plan leaves out a row beyond the {rows:,} of the input"
    elif telling:
        problem = f"{telling:,} of them are there"
    elif not _needed(recipe, original, known):
        problem = f"{len(gone):,} are, which no promise of the recipe can need"
    elif original is not None:
        problem = _split(original, recipe, gone)
    if there:
        released = released.flat_map(partial(remaining, gone), released.schema)
    if original is not None:
        original = original.flat_map(partial(remaining, gone), original.schema)
    found = [finding(SAID, problem, f"{len(gone):,} records"), *_many(recipe, len(gone), rows)]
    return released, original, found


def _many(recipe: Recipe, gone: int, rows: int) -> list[Finding]:
    """Say that more records are left out than any step may suppress, where they are."""
    limits = [step.parameters().get("suppression_limit") for step in recipe.steps]
    most = max((limit for limit in limits if limit is not None), default=1.0)
    if gone <= most * rows:
        return []
    said = (
        f"{gone / rows:.1%} of the records are left out, beyond suppression_limit = {most:g}, "
        "which counts the records that a step itself must suppress"
    )
    return [Finding("few records are left out", "weak", said)]


def _needed(recipe: Recipe, original: Frame | None, released: list[str]) -> bool:
    """Tell whether suppressed records can be in the way of a promise, unless they are left out."""
    suppressing = [step for step in recipe.steps if _suppresses(step)]
    if not suppressing:
        return False
    if recipe.household_suppression == "whole" and recipe.roles.household is not None:
        return True
    if original is None and set(recipe.linking) & set(released):
        return True  # Only the original tells which columns say whom a record belongs to.
    hidden = set(recipe.roles.quasi)
    hidden |= set() if original is None else set(links(recipe, original, released))
    promised = [(step, step.build()) for step in recipe.steps if step.promise]
    lacking = {n for step, one in promised if one.promise in _EMPTYING for n in step.columns}
    return any(
        method.promise == "k-per-combination"
        or (method.promise == "anatomy" and any(other is not step for other in suppressing))
        or (method.promise in OF_CLASSES and any(other is not step for other in suppressing))
        or (method.promise in OF_CLASSES and bool((hidden | lacking) & set(method.judges)))
        or (method.promise == "k-per-tuple" and _in_part(step, hidden, suppressing))
        for step, method in promised
    )


def _in_part(step: Step, hidden: set[str], suppressing: list[Step]) -> bool:
    """Tell whether suppressed records may show some columns of a step and hide others."""
    if len(suppressing) > 1:
        return bool(hidden & set(step.columns))  # Not all of them need have stars.
    return len({name in hidden - set(suppressing[0].columns) for name in step.columns}) > 1


def _suppresses(step: Step) -> bool:
    """Tell whether a step may suppress records: beyond its limit those with nulls."""
    given = step.parameters()
    if step.method == "local-suppression":
        return given["record_cost"] is not None
    if step.method == "anatomy":
        return step.build().suppresses
    if not given.get("privacy"):
        return False
    return (
        given["null_policy"] in ("suppress", "segregate") or given.get("suppression_limit", 0) > 0
    )


def _shown(gone: np.ndarray, piece: pa.Table, rows: np.ndarray) -> tuple[int, int]:
    """Count the excluded rows that there are, and those of them that hold a value."""
    some = np.isin(rows, gone)
    return int(some.sum()), int((some & ~all_null(piece)).sum())


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _split(original: Frame, recipe: Recipe, gone: np.ndarray) -> str | None:
    """Say that households are left out in part, where they must be as a whole."""
    household = recipe.roles.household
    if household is None or recipe.household_suppression != "whole":
        return None
    mine, others = original.fold(partial(_households, household, gone), _union, [household])
    return "a household is left out in part" if mine & others else None


def _households(
    name: str, gone: np.ndarray, piece: pa.Table, rows: np.ndarray
) -> tuple[set[object], set[object]]:
    """Return the households of excluded rows, and of others."""
    some = np.isin(rows, gone)
    parts = (piece[name].filter(pa.array(mask)).unique().drop_null() for mask in (some, ~some))
    mine, others = (set(part.to_pylist()) for part in parts)
    return mine, others


def _union(
    one: tuple[set[object], set[object]], other: tuple[set[object], set[object]]
) -> tuple[set[object], set[object]]:
    return one[0] | other[0], one[1] | other[1]
