"""The check of a release on an engine: the same findings, from counts and pieces of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.frame import POSITION
from discreet.release.check import (
    as_kept,
    keeps_promises,
    keeps_roles,
    notes,
    within_groups,
)
from discreet.release.compared import UNREADABLE, Comparing, Seen, comparing_of
from discreet.release.comparison import (
    APPLIED,
    NOT_ONCE,
    UNTOUCHED,
    cannot_compare,
    concluded,
    no_original,
    same_hash,
)
from discreet.release.evidence import Evidence, Plan
from discreet.release.findings import CheckReport, Finding, Shown
from discreet.release.privacy import Nulls, disclosed, judged_columns, pattern_bits, pattern_codes
from discreet.release.recipe import Recipe, Step
from discreet.release.replay import Piece, beyond_pieces, prepared, replay
from discreet.release.scale.counting import finer, sources_of
from discreet.release.scale.ordered import with_computed
from discreet.release.scale.shown import ShownFrame
from discreet.table import Numbers, kind_of
from discreet.table.summary import Tuples

# The column of patterns of nulls, among a step's own.
_PATTERN = "\0pattern"


def check_frames(
    released: Frame,
    recipe: Recipe,
    evidence: Evidence | None,
    original: Frame | None,
    path: Path | None = None,
    source: Path | None = None,
) -> CheckReport:
    """Verify what a release promises, on tables larger than memory.

    Parameters
    ----------
    released : Frame
        With evidence, by the rows of the original, as `Engine.released` gives it.
    recipe : Recipe
    evidence : Evidence or None
        What the internal folder holds.
    original : Frame or None
        The table that it was made from, its null markers nulls.
    path : Path, optional
        Of the released file, or folder of files.
    source : Path, optional
        Of the original file, or folder of files.

    Returns
    -------
    CheckReport
        The findings of `check_release`.
    """
    shown = ShownFrame.of(released, suppressed_inside=evidence is None)
    findings = [*keeps_roles(shown.table, recipe), *keeps_promises(shown, recipe, evidence)]
    findings += as_kept(shown, released.num_rows, path, recipe, evidence)
    find = None
    if evidence is None or original is None:
        findings += no_original()
    else:
        findings.append(same_input(evidence, original, source))
        mapped = released.num_rows if evidence.row_map is None else evidence.mapped
        pairs = mapped == released.num_rows and _is_map(released, original.num_rows)
        problem = cannot_compare(
            released.schema.names, original.schema.names, mapped, released.num_rows
        )
        if problem is None and pairs:
            findings += _cells(shown, recipe, evidence, original)
        else:
            broken = problem or NOT_ONCE
            findings += [Finding(name, "broken", broken) for name in (APPLIED, UNTOUCHED)]
        find = partial(_nulls, shown, original) if pairs else None
    findings += within_groups(recipe, evidence, find)
    return CheckReport(tuple(findings), tuple(notes(shown, recipe)))


# The original


def same_input(evidence: Evidence, original: Frame, source: Path | None) -> Finding:
    """Find out whether a table is the one that was protected, by its keyed hash."""
    columns = partial(_streams, original) if isinstance(original, Streamed) else None
    return same_hash(evidence, original, source, columns)


@runtime_checkable
class Streamed(Protocol):
    """A frame whose pieces come here, one after the other in the order of rows."""

    schema: pa.Schema

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Give some columns a piece at a time, with the rows' numbers."""


def _streams(original: Streamed) -> Iterator[Iterator[pa.Table]]:
    return ((piece for piece, _ in original.pieces([c])) for c in original.schema.names)


def _is_map(released: Frame, n: int) -> bool:
    """Tell whether the numbers of the rows are some of 0..n-1, none of them twice."""
    numbers = released.fold(_numbers, _in_turn, [])
    return numbers.ascend and numbers.first >= 0 and numbers.last < n


@dataclass(frozen=True)
class _Numbers:
    """Row numbers of a piece."""

    first: int
    last: int
    ascend: bool


def _numbers(piece: pa.Table, rows: np.ndarray) -> _Numbers:
    return _Numbers(int(rows[0]), int(rows[-1]), bool((np.diff(rows) > 0).all()))


def _in_turn(one: _Numbers, other: _Numbers) -> _Numbers:
    ascend = one.ascend and other.ascend and one.last < other.first
    return _Numbers(min(one.first, other.first), max(one.last, other.last), ascend)


# Cells


def _cells(shown: ShownFrame, recipe: Recipe, evidence: Evidence, original: Frame) -> list[Finding]:
    released, before, problem = shown.source, original, None
    # With a row's place in the file, where that is known, to say where something is wrong.
    placed = getattr(released, "placed", released)
    plan, sources = evidence.plan, {}
    try:
        sources = _sources(plan, original)
        plan = prepared(plan)
    except UNREADABLE as error:
        problem = 0, f"the plan cannot be applied: {error!r}"
    comparing = comparing_of(
        replace(evidence, plan=plan),
        recipe,
        released=tuple(released.schema.names),
        complete=released.num_rows == original.num_rows,
        sources=sources,
        position=POSITION if POSITION in placed.schema.names else None,
    )
    read = {name for step in recipe.steps for name in step.build().reads}
    used = {*released.schema.names, *recipe.treated, *read, comparing.key}
    needed = [name for name in original.schema.names if name in used]
    if problem is None:
        try:
            before, needed = _computed(comparing, original, needed)
        except UNREADABLE as error:
            problem = 0, f"the plan cannot be applied: {error!r}"
    seen = before.fold_pairs(placed, comparing.seen, Seen.joined, needed)
    if before is not original:
        before.remove()
    seen = replace(seen, problem=problem or seen.problem)
    return concluded(comparing, seen, shown, released.num_rows)


def _computed(comparing: Comparing, original: Frame, needed: list[str]) -> tuple[Frame, list[str]]:
    """Add to the original what steps give that look at all values in their order."""
    frame, unknown = original, set[str]()
    for place, step in enumerate(comparing.plan["steps"]):
        names = set(step["columns"])
        if step.get("joint", {}).get("kind") != "porop" or names & unknown:
            unknown |= names if beyond_pieces(step) or names & unknown else set()
            continue
        earlier = comparing.plan | {"steps": comparing.plan["steps"][:place]}
        treated = {name for one in earlier["steps"] for name in one["columns"]}
        before = partial(_before, replace(comparing, plan=earlier), tuple(step["columns"]))
        made = with_computed(
            frame,
            step,
            comparing.seed,
            needed,
            comparing.key,
            before if treated & names else None,
        )
        needed = made.schema.names
        if frame is not original:
            frame.remove()
        frame = made
    return frame, needed


def _before(
    comparing: Comparing, names: tuple[str, ...], piece: pa.Table, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Give columns as the steps of a plan leave them."""
    known = Piece(rows, comparing.sources or {})
    _, columns = replay(comparing.plan, comparing.seed, piece, comparing.key, known)
    return {name: columns[name] for name in names}


def _sources(plan: Plan, original: Frame) -> dict[str, Numbers]:
    """Find decimals and units of the columns that the plan treats as numbers."""
    names = []
    for name in original.schema.names:
        kinds = {step["columns"][name]["kind"] for step in plan["steps"] if name in step["columns"]}
        numeric = kind_of(original.schema.field(name).type) == "numeric"
        if numeric and kinds - {"generalize", "pram"}:
            names.append(name)
    return original.fold(partial(sources_of, tuple(names)), finer, names) if names else {}


# Groups by nulls


def _nulls(shown: ShownFrame, original: Frame, step: Step, plan: Mapping[str, Any]) -> Nulls:
    """Count what is shown of the records with each pattern of nulls in the original."""
    raw = tuple(disclosed(step, plan).tolist())
    columns = judged_columns(step, shown.column_names)
    names = tuple(step.columns)
    patterns, records = original.fold(partial(_null_patterns, names), Tuples.joined, names).result()
    if len(records) == 1:
        # Without a second pattern there is nothing to tell apart.
        bits = pattern_bits(patterns[_PATTERN].to_numpy(), len(names))
        seen = shown.without(raw).over(columns)
        alike = np.zeros(len(seen.table), np.int64)
        return Nulls(bits, records, np.array([len(raw)]), seen, alike)
    function = partial(_patterns, names, tuple(columns), raw)
    found = original.fold_pairs(shown.source, function, _Patterns.joined, names, columns)
    codes = patterns[_PATTERN].to_numpy()
    place = {code: i for i, code in enumerate(codes.tolist())}
    hidden = np.zeros(len(codes), np.int64)
    for code, count in zip(*_listed(found.disclosed), strict=True):
        hidden[place[code]] = count
    table, counts = found.shown.result()
    of_row = [place[code] for code in table[_PATTERN].to_pylist()]
    return Nulls(
        pattern_bits(codes, len(step.columns)),
        records,
        hidden,
        Shown(table.drop_columns([_PATTERN]), counts=counts),
        np.array(of_row, dtype=np.int64),
    )


def _listed(found: Tuples) -> tuple[list[int], list[int]]:
    patterns, counts = found.result()
    return patterns[_PATTERN].to_pylist(), counts.tolist()


@dataclass(frozen=True)
class _Patterns:
    """Patterns of nulls in the original: of disclosed records, and of those that are shown."""

    disclosed: Tuples
    shown: Tuples

    def joined(self, other: _Patterns) -> _Patterns:
        """Put those of two pieces together."""
        return _Patterns(
            self.disclosed.joined(other.disclosed),
            self.shown.joined(other.shown),
        )


def _codes(names: tuple[str, ...], before: pa.Table) -> np.ndarray:
    nulls = [before[name].is_null(nan_is_null=True).to_numpy() for name in names]
    return pattern_codes(np.array(nulls))


def _null_patterns(names: tuple[str, ...], before: pa.Table, rows: np.ndarray) -> Tuples:
    return Tuples.of(pa.table({_PATTERN: _codes(names, before)}))


def _patterns(
    names: tuple[str, ...],
    columns: tuple[str, ...],
    raw: tuple[int, ...],
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> _Patterns:
    codes, hidden = _codes(names, before), np.isin(rows, raw)
    kept = after.select(columns).append_column(_PATTERN, pa.array(codes[there]))
    return _Patterns(
        Tuples.of(pa.table({_PATTERN: codes[hidden]})),
        Tuples.of(kept.filter(pa.array(~hidden[there])) if raw else kept),
    )
