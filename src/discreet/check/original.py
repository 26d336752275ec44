"""A release compared with its original: every cell, the plan applied again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import Evidence, lists_rows, pieces_hmac, source_hmac
from discreet.check.findings import Finding, Shown, finding
from discreet.check.privacy import same_spread
from discreet.check.replay import beyond_pieces, verify_step
from discreet.check.rows import (
    UNREADABLE,
    Comparing,
    Differing,
    Seen,
    comparing_of,
    final_plans,
    rarest_allowed,
)
from discreet.engines.frame import POSITION
from discreet.recipe.recipe import Recipe
from discreet.table import float_values

NEEDS_ORIGINAL = "needs the internal folder and the original table"
SAME_INPUT = "the original is the one that was protected"
APPLIED = "every treated cell equals the plan applied, nulls in place"
UNTOUCHED = "every other cell equals the original"
NOT_ONCE = "the row map does not name each row of the original once"


def against_original(
    table: pa.Table,
    path: Path | None,
    recipe: Recipe,
    evidence: Evidence | None,
    original: pa.Table | None,
    source: Path | None = None,
) -> list[Finding]:
    """Verify that each cell is what the plan makes of the original, or the original itself."""
    if evidence is None or original is None:
        return no_original()

    def columns() -> Iterable[Iterable[pa.Table]]:
        return ([original.select([name])] for name in original.column_names)

    findings = [same_hash(evidence, original, source, columns)]
    in_order = np.arange(original.num_rows)
    rows = in_order if evidence.rows is None else evidence.rows
    cells = _cells(table, recipe, evidence, original, rows)
    if path is None and evidence.rows is not None and any(f.status == "broken" for f in cells):
        # A table in memory may never have been shuffled.
        unshuffled = _cells(table, recipe, evidence, original, in_order)
        cells = cells if any(f.status == "broken" for f in unshuffled) else unshuffled
    return findings + cells


# A table's columns one after the other, each as pieces of its rows.
Streams = Callable[[], Iterable[Iterable[pa.Table]]]


def same_hash(
    evidence: Evidence, original: Any, source: Path | None, columns: Streams | None
) -> Finding:
    """Verify the hash of the original: of its content, or of its file.

    Parameters
    ----------
    evidence : Evidence
    original : pyarrow.Table or Frame
    source : Path or None
        The original's file.
    columns : callable or None
        Gives the columns one after the other; None where they cannot be had so.
    """
    known, same = evidence.log["input"], None
    if evidence.original is original:
        same = True
    elif known.get("hmac") is not None and columns is not None:
        same = pieces_hmac(columns(), evidence.key) == known["hmac"]
    elif known.get("file_hmac") is not None and source is not None:
        same = source_hmac(source, evidence.key) == known["file_hmac"]
    if same is None:
        return Finding(SAME_INPUT, "not verifiable", "needs the file that was protected")
    return finding(SAME_INPUT, None if same else "its keyed hash differs", "hash equal")


def no_original() -> list[Finding]:
    """Say what cannot be verified without the original."""
    names = (SAME_INPUT, APPLIED, UNTOUCHED)
    return [Finding(name, "not verifiable", NEEDS_ORIGINAL) for name in names]


def _cells(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> list[Finding]:
    problem = cannot_compare(table.column_names, original.column_names, len(rows), len(table))
    if not problem and not is_map(rows, len(original)):
        problem = NOT_ONCE
    if problem:
        return [Finding(name, "broken", problem) for name in (APPLIED, UNTOUCHED)]
    comparing = comparing_of(
        evidence,
        recipe,
        released=tuple(table.column_names),
        complete=table.num_rows == original.num_rows,
        position=POSITION,
    )
    there = np.zeros(len(original), dtype=bool)
    there[rows] = True
    after = table.append_column(POSITION, pa.array(np.arange(len(table))))
    after = after if (np.diff(rows) > 0).all() else after.take(pa.array(np.argsort(rows)))
    seen = comparing.seen(original, np.arange(original.num_rows), there, after)
    return concluded(comparing, seen, Shown(table), len(rows))


def is_map(rows: np.ndarray, n: int) -> bool:
    """Tell whether rows are some of 0..n-1, none of them twice."""
    if rows.dtype.kind != "i" or (len(rows) and (rows.min() < 0 or rows.max() >= n)):
        return False
    return bool(np.bincount(rows, minlength=1).max() < 2)


def cannot_compare(
    released: Sequence[str], original: Sequence[str], mapped: int, rows: int
) -> str | None:
    """Say why a release cannot be compared with an original, if it cannot.

    Parameters
    ----------
    released, original : sequence of str
        Names of the columns.
    mapped, rows : int
        Rows that the row map names, and rows of the release.
    """
    missing = [name for name in released if name not in original]
    if missing:
        return f"the original has no column '{missing[0]}'"
    if mapped != rows:
        return f"there are {mapped:,} original rows, but {rows:,} in the table"
    return None


def concluded(comparing: Comparing, seen: Seen, shown: Shown, released: int) -> list[Finding]:
    """Make findings of what was seen of all rows.

    Parameters
    ----------
    comparing : Comparing
    seen : Seen
        Of all pieces.
    shown : Shown
    released : int
        Rows of the release.
    """
    if seen.misplaced:
        return [Finding(name, "broken", NOT_ONCE) for name in (APPLIED, UNTOUCHED)]
    findings = [*_applied(comparing, seen, shown, released), _untouched(comparing, seen, released)]
    return findings + _households(comparing, seen)


def _applied(comparing: Comparing, seen: Seen, shown: Shown, released: int) -> list[Finding]:
    if seen.problem is not None:
        return [Finding(APPLIED, "broken", seen.problem[1])]
    try:
        if comparing.sources is not None:
            # In memory this was done as the steps went by.
            for step in comparing.plan["steps"]:
                if not seen.unknown & set(step["columns"]):
                    verify_step(step, seen.tally)
        problem = _other_suppression(comparing, seen) or _other_cells(comparing, seen, shown)
        findings = [finding(APPLIED, problem, f"{seen.applied * released:,} cells")]
        for step, plan in zip(comparing.recipe.steps, comparing.plan["steps"], strict=True):
            if step.promise and "privacy" in step.parameters():
                findings += same_spread(plan, seen.spreads)
    except UNREADABLE as error:
        return [Finding(APPLIED, "broken", f"the plan cannot be applied: {error!r}")]
    if seen.unknown and problem is None:
        steps = [step for step in comparing.plan["steps"] if seen.unknown & set(step["columns"])]
        needs = next(filter(None, map(beyond_pieces, steps)))
        columns = ", ".join(sorted(seen.unknown))
        findings[0] = Finding(APPLIED, "not verifiable", f"{columns}: needs {needs}")
    return findings


def _other_suppression(comparing: Comparing, seen: Seen) -> str | None:
    """Compare how many records are suppressed with the plan, where it gives numbers only."""
    if lists_rows(comparing.plan):
        return None
    planned = comparing.plan["suppressed"]
    for key, found in (("records", seen.suppressed), ("left_out", seen.left_out)):
        if planned[key] != found:
            does = "suppresses" if key == "records" else "leaves out"
            return f"the plan {does} {planned[key]:,} records, but its classes {found:,}"
    return None


def _other_cells(comparing: Comparing, seen: Seen, shown: Shown) -> str | None:
    """Say which cell is not what the plan gives, if one is not."""
    rarest = {} if lists_rows(comparing.plan) else rarest_allowed(comparing)
    for name, plan in final_plans(comparing.plan):
        if name in seen.strange:
            return seen.strange[name]
        found = seen.cells.get(name)
        if name in seen.emptied:
            empty = _not_rare(seen, name, rarest[name], shown, plan.get("unit_ns") or 10**9)
            found = empty if found is None else found if empty is None else found.joined(empty)
        if found is not None:
            return (
                f"column '{name}', row {found.row + 1}: {found.said}; {found.cells:,} cells differ"
            )
        if name in seen.nulls:
            return f"column '{name}', row {seen.nulls[name].row + 1}: {seen.nulls[name].said}"
    return None


def _not_rare(seen: Seen, name: str, k: int, shown: Shown, unit_ns: int) -> Differing | None:
    """Find the empty cells that too few others do not account for.

    A value that fewer than k records still have when others are suppressed is emptied in all of
    them, and no other value is.
    """
    values, _, _ = shown.values(name)
    there = set(float_values(values, name, unit_ns).tolist())
    found = None
    for value, (cells, first) in seen.emptied[name].items():
        if value in there or cells >= k or not seen.lost[name]:
            one = Differing(first, f"nan, the plan gives {value:.17g}", cells)
            found = one if found is None else found.joined(one)
    return found


def _untouched(comparing: Comparing, seen: Seen, released: int) -> Finding:
    others = comparing.others
    for name in others:
        if name in seen.strange:
            return Finding(UNTOUCHED, "broken", seen.strange[name])
        if name in seen.others:
            detail = f"column '{name}', row {seen.others[name].row + 1} differs"
            return Finding(UNTOUCHED, "broken", detail)
    return Finding(
        UNTOUCHED, "verified", f"{len(others)} columns, {len(others) * released:,} cells"
    )


def _households(comparing: Comparing, seen: Seen) -> list[Finding]:
    """Verify that old and new household ids are one to one."""
    if seen.households is None:
        return []
    pairs, _ = seen.households.result()
    one_to_one = all(len(pc.unique(pairs[side])) == pairs.num_rows for side in ("old", "new"))
    nulls = pc.all(pc.equal(pc.is_null(pairs["old"]), pc.is_null(pairs["new"]))).as_py()
    problem = None if one_to_one and nulls is not False else "some household was split or joined"
    said = f"household numbers in '{comparing.recipe.roles.household}' are one to one"
    return [finding(said, problem, f"{pairs.num_rows:,}")]
