"""Records that a release leaves out before any step: whether they are gone, and with whom."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding, finding
from discreet.check.shown import all_null
from discreet.engines import Frame
from discreet.engines.frame import remaining
from discreet.recipe.recipe import Recipe

SAID = "suppressed records that the steps do without are left out"


def without_excluded(
    released: Frame, original: Frame | None, recipe: Recipe, evidence: Evidence
) -> tuple[Frame, Frame | None, list[Finding]]:
    """Take the excluded rows out of a release and of its original: promises are over the others.

    A table in memory has them as rows of nulls.
    """
    gone, rows = evidence.excluded, evidence.log["input"]["rows"]
    there, telling = released.fold(partial(_shown, gone), _both, released.schema.names)
    problem = None
    if gone.min() < 0 or gone.max() >= rows:
        problem = f"the plan leaves out a row beyond the {rows:,} of the input"
    elif telling:
        problem = f"{telling:,} of them are there"
    elif original is not None:
        problem = _in_part(original, recipe, gone)
    if there:
        released = released.flat_map(partial(remaining, gone), released.schema)
    if original is not None:
        original = original.flat_map(partial(remaining, gone), original.schema)
    return released, original, [finding(SAID, problem, f"{len(gone):,} records")]


def _shown(gone: np.ndarray, piece: pa.Table, rows: np.ndarray) -> tuple[int, int]:
    """Count the excluded rows that there are, and those of them that hold a value."""
    some = np.isin(rows, gone)
    return int(some.sum()), int((some & ~all_null(piece)).sum())


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _in_part(original: Frame, recipe: Recipe, gone: np.ndarray) -> str | None:
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
