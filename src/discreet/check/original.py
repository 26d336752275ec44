"""A release compared with its original: every cell, the plan applied again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import UNREADABLE, Evidence, Plan
from discreet.check.findings import Finding, counted, finding
from discreet.check.levels import links
from discreet.check.ordered import with_computed
from discreet.check.privacy import same_spread
from discreet.check.replay import beyond_pieces, is_unknown, prepared, verify_step
from discreet.check.rows import (
    Comparing,
    Differing,
    Seen,
    Together,
    comparing_of,
    final_plans,
    rarest_allowed,
    suppresses,
)
from discreet.check.shown import Shown
from discreet.engines import Frame
from discreet.engines.frame import POSITION
from discreet.recipe.recipe import Recipe
from discreet.table import Numbers, float_values, kind_of
from discreet.table.cells import plain
from discreet.table.columns import finer, sources_of
from discreet.table.summary import Tuples

APPLIED = "every treated cell equals the plan applied, nulls in place"
UNTOUCHED = "every other cell equals the original"
PSEUDONYMS = "pseudonyms in '{}' are one to one, and no value is its own"
NOT_ONCE = "the row map does not name each row of the original once"


def against_original(
    shown: Shown, recipe: Recipe, evidence: Evidence, original: Frame
) -> tuple[list[Finding], np.ndarray | None, Shown]:
    """Verify that each cell is what the plan makes of the original, or the original itself.

    Also returns the rows that are left out, where the release has them as rows of nulls; None
    where records cannot be found in the original. And what is shown, with what it was before.
    """
    released = shown.frame
    everyone = original.num_rows + len(evidence.excluded)
    pairs = shown.mapped and _is_map(released, everyone)
    problem = _cannot_compare(shown, evidence, original) or (None if pairs else NOT_ONCE)
    if problem is not None:
        broken = [Finding(name, "broken", problem) for name in (APPLIED, UNTOUCHED)]
        return broken, np.empty(0, np.int64) if pairs else None, shown
    comparing, seen = _compared(released, recipe, evidence, original)
    shown = replace(shown, before=seen.before, weighed=seen.weighed, moved=seen.moved)
    return _concluded(comparing, seen, shown), seen.hidden, shown


def _cannot_compare(shown: Shown, evidence: Evidence, original: Frame) -> str | None:
    """Say why a release cannot be compared with an original, if it cannot."""
    missing = [name for name in shown.column_names if name not in original.schema.names]
    if missing:
        return f"the original has no column '{missing[0]}'"
    rows = shown.frame.num_rows
    mapped = evidence.mapped if evidence.row_map is not None else original.num_rows
    if mapped != rows and not shown.complete:
        return f"there are {mapped:,} original rows, but {rows:,} in the table"
    return None


def _is_map(released: Frame, n: int) -> bool:
    """Tell whether the numbers of the rows are some of 0..n-1, none of them twice."""
    ends = released.fold(_numbers, _in_turn, [])
    return ends is None or (ends[0] >= 0 and ends[1] < n)


# The first and the last number of rows that ascend; an impossible first one where they do not.
_Numbers = tuple[int, int] | None


def _numbers(piece: pa.Table, rows: np.ndarray) -> _Numbers:
    if not len(rows):
        return None
    return int(rows[0]) if (np.diff(rows) > 0).all() else -1, int(rows[-1])


def _in_turn(one: _Numbers, other: _Numbers) -> _Numbers:
    if one is None or other is None:
        return one or other
    return (one[0] if one[1] < other[0] else -1), other[1]


# Rows


def _compared(
    released: Frame, recipe: Recipe, evidence: Evidence, original: Frame
) -> tuple[Comparing, Seen]:
    """Compare all rows at once, or some at a time: then what sorts all values comes first."""
    # With a row's place in the file, where that is known, to say where something is wrong.
    placed = getattr(released, "placed", released)
    comparing = comparing_of(
        evidence,
        recipe,
        released=tuple(released.schema.names),
        complete=released.num_rows == original.num_rows,
        position=POSITION if POSITION in placed.schema.names else None,
    )
    if evidence.plan.get("suppressed"):
        comparing = replace(comparing, links=links(recipe, original, released.schema.names))
    read = {name for step in recipe.steps for name in step.build().reads}
    levels = {
        level
        for step in evidence.plan["steps"]
        for level in (step.get("levels", {}) | step.get("drawn", {})).values()
    }
    used = {*released.schema.names, *recipe.treated, *read, *levels, comparing.key}
    used |= {recipe.roles.household, recipe.counted}
    taken = [name for name in original.schema.names if name in used]
    before, problem = original, None
    if not original.whole:
        comparing = replace(comparing, sources={})
        try:
            sources = _sources(evidence.plan, original)
            comparing = replace(comparing, sources=sources, plan=prepared(evidence.plan))
            given = comparing.plan, comparing.seed, sources, taken, comparing.key
            before = with_computed(original, *given)
        except UNREADABLE as error:
            problem = 0, f"the plan cannot be applied: {error!r}"
    taken = taken if before is original else before.schema.names
    seen = before.fold_pairs(placed, comparing.seen, Seen.joined, taken)
    if before is not original:
        before.remove()
    return comparing, replace(seen, problem=problem or seen.problem)


def _sources(plan: Plan, original: Frame) -> dict[str, Numbers]:
    """Find decimals and units of the columns that the plan treats as numbers."""
    names = []
    for name in original.schema.names:
        kinds = {step["columns"][name]["kind"] for step in plan["steps"] if name in step["columns"]}
        numeric = kind_of(original.schema.field(name).type) == "numeric"
        if numeric and kinds - {"generalize", "local-suppression", "pram", "shift"}:
            names.append(name)
    return original.fold(partial(sources_of, tuple(names)), finer, names) if names else {}


# Findings


def _concluded(comparing: Comparing, seen: Seen, shown: Shown) -> list[Finding]:
    """Make findings of what was seen of all rows."""
    needs = None if comparing.sources is None else _suppression_needs(comparing.plan)
    if needs is not None:
        return [Finding(name, "not verifiable", needs) for name in (APPLIED, UNTOUCHED)]
    if seen.misplaced:
        return [Finding(name, "broken", NOT_ONCE) for name in (APPLIED, UNTOUCHED)]
    released = shown.frame.num_rows
    findings = [*_applied(comparing, seen, shown), _untouched(comparing, seen, released)]
    return findings + [_renamed(comparing, name, pairs) for name, pairs in seen.renamed.items()]


def _suppression_needs(plan: Plan) -> str | None:
    """Say what it takes to know the suppressed records, where pieces of rows do not tell them."""
    unknown: set[str] = set()
    try:
        for step in plan["steps"]:
            computed = step.get("joint", {}).get("kind") == "porop"
            if is_unknown(step, unknown) and not (computed and not unknown & set(step["columns"])):
                unknown |= set(step["columns"])
                if suppresses(step):
                    return f"{', '.join(step['columns'])}: needs all records in memory"
    except UNREADABLE:
        return None  # Whoever applies it says what is wrong with it.
    return None


def _applied(comparing: Comparing, seen: Seen, shown: Shown) -> list[Finding]:
    if seen.problem is not None:
        return [Finding(APPLIED, "broken", seen.problem[1])]
    try:
        for step in comparing.plan["steps"]:
            if not seen.unknown & set(step["columns"]):
                verify_step(step, seen.tally)
        problem = (
            _other_suppression(comparing, seen)
            or _other_cells(comparing, seen, shown)
            or _other_blanks(comparing, seen)
        )
        cells = f"{seen.applied * shown.frame.num_rows:,} cells"
        findings = [finding(APPLIED, problem, cells)]
        for asked, plan in zip(comparing.recipe.steps, comparing.plan["steps"], strict=True):
            if asked.promise and asked.parameters().get("privacy"):
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
    """Compare how many records are suppressed with what the plan's classes give."""
    planned = comparing.plan.get("suppressed", {})
    for key, found in (("records", seen.suppressed), ("left_out", seen.left_out)):
        number = planned.get(key, 0) - len(comparing.plan.get("excluded", ()))
        if number != found:
            does = "suppresses" if key == "records" else "leaves out"
            return f"the plan {does} {number:,} records, but its classes {found:,}"
    return None


def _other_cells(comparing: Comparing, seen: Seen, shown: Shown) -> str | None:
    """Say which cell is not what the plan gives, if one is not."""
    rarest = rarest_allowed(comparing) if seen.emptied else {}
    plans = final_plans(comparing.plan)
    units = {name: plan.get("unit_ns") or 10**9 for name, plan in plans}
    differing = dict(seen.cells)
    for names in seen.emptied:
        for name, empty in _not_rare(seen, names, rarest[names][0], shown, units).items():
            differing[name] = empty.joined(differing[name]) if name in differing else empty
    for name, _ in plans:
        if name in seen.strange:
            return seen.strange[name]
        if name in differing:
            found = differing[name]
            differ = f"{counted(found.cells, 'cell')} differ{'s' * (found.cells == 1)}"
            return f"column '{name}', row {found.row + 1}: {found.said}; {differ}"
        if name in seen.nulls:
            return f"column '{name}', row {seen.nulls[name].row + 1}: {seen.nulls[name].said}"
    return None


def _not_rare(
    seen: Seen, names: Together, k: int, shown: Shown, units: dict[str, int]
) -> dict[str, Differing]:
    """Find the empty cells that too few others do not account for, by column.

    Values that fewer than k records, or units, still share when others are suppressed are emptied
    in all of them, and no others are.
    """
    tuples, _ = shown.over(names)
    still = set(zip(*(_plainly(tuples, name, units[name]) for name in names), strict=True))
    found: dict[str, Differing] = {}
    for values, cells in seen.emptied[names].items():
        if values not in still and cells.counted < k and seen.lost[names]:
            continue
        for name, value in zip(names, values, strict=True):
            if value is None:
                continue
            number = isinstance(value, float)
            gives = f"{value:.17g}" if number else value
            said = f"{'nan' if number else None}, the plan gives {gives}"
            one = Differing(cells.first, said, cells.number)
            found[name] = found[name].joined(one) if name in found else one
    return found


def _plainly(tuples: pa.Table, name: str, unit_ns: int) -> list[Any]:
    """Return values as numbers or as text, as what should be there is noted."""
    if kind_of(tuples.schema.field(name).type) != "numeric":
        return plain(tuples[name]).cast(pa.string()).to_pylist()
    values = float_values(tuples[name], name, unit_ns)
    return pa.array(values, from_pandas=True).to_pylist()


def _other_blanks(comparing: Comparing, seen: Seen) -> str | None:
    """Compare how many cells of records that stay are emptied with what the plan says."""
    planned = comparing.plan.get("suppressed", {}).get("blanked", {})
    found = {name: seen.lost[name,] - seen.left_out for name in comparing.released}
    rarest = rarest_allowed(comparing) if seen.emptied else {}
    for names, tuples in seen.emptied.items():
        rare = [cells for cells in tuples.values() if cells.counted < rarest[names][0]]
        for name in names:
            found[name] += sum(cells.number for cells in rare)
    for name in comparing.released:
        number = planned.get(name, 0)
        if name not in seen.unknown and number != found[name]:
            return (
                f"the plan empties {number:,} cells of column '{name}' where records are "
                f"suppressed, but its classes {found[name]:,}"
            )
    return None


def _untouched(comparing: Comparing, seen: Seen, released: int) -> Finding:
    others = comparing.others
    for name in others:
        if name in seen.strange:
            return Finding(UNTOUCHED, "broken", seen.strange[name])
        if name in seen.others:
            detail = f"column '{name}', row {seen.others[name].row + 1} differs"
            return Finding(UNTOUCHED, "broken", detail)
    emptied = {name: seen.lost.get((name,), seen.left_out) - seen.left_out for name in others}
    lost = sum(emptied.values())
    # Rows of nulls stand for records that are left out, where there are any.
    cells = len(others) * (released - len(seen.hidden)) - lost
    said = f"{counted(len(others), 'column')}, {counted(cells, 'cell')}"
    but = f", but for {lost:,} emptied in suppressed records"
    return Finding(UNTOUCHED, "verified", said + but * (lost > 0))


def _renamed(comparing: Comparing, name: str, renamed: Tuples) -> Finding:
    """Verify that old and new ids of a column are one to one, and the new ones as they should."""
    pairs, _ = renamed.result()
    one_to_one = all(len(pc.unique(pairs[side])) == pairs.num_rows for side in ("old", "new"))
    nulls = pc.all(pc.equal(pc.is_null(pairs["old"]), pc.is_null(pairs["new"]))).as_py()
    good = one_to_one and nulls is not False
    if name in comparing.recipe.roles.pseudonyms:
        problem = None if good else "some value has two, or shares one"
        return finding(PSEUDONYMS.format(name), problem or _plain_ids(pairs), f"{pairs.num_rows:,}")
    problem = None if good else "some household was split or joined"
    ends, known = pc.min_max(pairs["new"]).as_py(), comparing.plan.get("households", {})
    if ends["max"] is not None and not 1 <= ends["min"] <= ends["max"] <= known.get("ids", 0):
        problem = f"{ends['max']} is none of the {known.get('ids', 0):,} new numbers"
    said = f"household numbers in '{name}' are one to one"
    return finding(said, problem, f"{pairs.num_rows:,}")


def _plain_ids(pairs: pa.Table) -> str | None:
    """Say which new value is an old one, or nothing that a key gives, if one is."""
    old, new = (plain(pairs[side]).cast(pa.string()) for side in ("old", "new"))
    if pc.any(pc.equal(old, new)).as_py():
        return "a value is its own pseudonym"
    given = pc.match_substring_regex(new, "^[0-9a-f]{32}$")
    return None if pc.all(given).as_py() is not False else "a value is no pseudonym"
