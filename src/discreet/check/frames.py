"""The check of a release on an engine: the same findings, from counts and pieces of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.check.check import (
    as_kept,
    keeps_promises,
    keeps_roles,
    notes,
    within_groups,
)
from discreet.check.evidence import Evidence, Plan
from discreet.check.findings import CheckReport, Finding, Shown
from discreet.check.ordered import with_computed
from discreet.check.original import (
    APPLIED,
    NOT_ONCE,
    UNTOUCHED,
    cannot_compare,
    concluded,
    no_original,
    same_hash,
)
from discreet.check.privacy import Nulls, disclosed, judged_columns, pattern_bits, pattern_codes
from discreet.check.replay import prepared
from discreet.check.rows import UNREADABLE, Seen, comparing_of
from discreet.check.shown import ShownFrame
from discreet.engines import Frame
from discreet.engines.frame import POSITION, in_rows, plain_type
from discreet.recipe.recipe import Recipe, Step
from discreet.table import Numbers, kind_of
from discreet.table.cells import plain
from discreet.table.columns import finer, sources_of
from discreet.table.summary import Tuples

# The column of patterns of nulls, among a step's own.
_PATTERN = "\0pattern"
# Tells which of them are judged.
_SHOWN = "\0shown"


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
        """Return some columns a piece at a time, with the rows' numbers."""


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
            before = with_computed(original, plan, comparing.seed, sources, needed, comparing.key)
        except UNREADABLE as error:
            problem = 0, f"the plan cannot be applied: {error!r}"
    taken = needed if before is original else before.schema.names
    seen = before.fold_pairs(placed, comparing.seen, Seen.joined, taken)
    if before is not original:
        before.remove()
    seen = replace(seen, problem=problem or seen.problem)
    return concluded(comparing, seen, shown, released.num_rows)


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
    table, counts = _by_pattern(shown, original, names, tuple(columns), raw)
    codes = patterns[_PATTERN].to_numpy()
    place = {code: i for i, code in enumerate(codes.tolist())}
    hidden = np.zeros(len(codes), np.int64)
    for row, count in zip(*_disclosed(original, names, raw), strict=True):
        hidden[place[row]] = count
    of_row = [place[code] for code in table[_PATTERN].to_pylist()]
    return Nulls(
        pattern_bits(codes, len(step.columns)),
        records,
        hidden,
        Shown(table.drop_columns([_PATTERN]), counts=counts),
        np.array(of_row, dtype=np.int64),
    )


def _by_pattern(
    shown: ShownFrame,
    original: Frame,
    names: tuple[str, ...],
    columns: tuple[str, ...],
    raw: tuple[int, ...],
) -> tuple[pa.Table, np.ndarray]:
    """Count the tuples that are shown by the pattern of nulls that their records had."""
    kinds = [plain_type(shown.source.schema.field(name).type) for name in columns]
    schema = pa.schema([*zip(columns, kinds, strict=True), (_PATTERN, pa.int64())])
    schema = schema.append(pa.field(_SHOWN, pa.bool_()))
    function = partial(_with_pattern, names, raw, schema)
    # Counted where the rows are: tuples may be millions, and in every piece others.
    made = original.map_pairs(shown.source, function, schema, names, columns)
    tuples, counts = made.counts([*columns, _PATTERN, _SHOWN])
    made.remove()
    kept = tuples[_SHOWN].to_numpy()
    return tuples.filter(pa.array(kept)).drop_columns([_SHOWN]), counts[kept]


def _with_pattern(
    names: tuple[str, ...],
    raw: tuple[int, ...],
    schema: pa.Schema,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> pa.Table:
    """Return what is shown of each record, its pattern of nulls, and whether it is to be judged."""
    columns = [plain(column) for column in in_rows(after, there)]
    judged = there & ~np.isin(rows, raw) if raw else there
    return pa.table([*columns, pa.array(_codes(names, before)), pa.array(judged)], schema=schema)


def _disclosed(
    original: Frame, names: tuple[str, ...], raw: tuple[int, ...]
) -> tuple[list[int], list[int]]:
    """Count the records that are released as they are, by their pattern of nulls."""
    if not raw:
        return [], []
    found = original.fold(partial(_raw_patterns, names, raw), Tuples.joined, names)
    patterns, counts = found.result()
    return patterns[_PATTERN].to_pylist(), counts.tolist()


def _raw_patterns(
    names: tuple[str, ...], raw: tuple[int, ...], before: pa.Table, rows: np.ndarray
) -> Tuples:
    hidden = np.isin(rows, raw)
    return Tuples.of(pa.table({_PATTERN: _codes(names, before)[hidden]}))


def _codes(names: tuple[str, ...], before: pa.Table) -> np.ndarray:
    nulls = [before[name].is_null(nan_is_null=True).to_numpy() for name in names]
    return pattern_codes(np.array(nulls))


def _null_patterns(names: tuple[str, ...], before: pa.Table, rows: np.ndarray) -> Tuples:
    return Tuples.of(pa.table({_PATTERN: _codes(names, before)}))
