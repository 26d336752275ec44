"""Privacy models within groups of records by which values the original lacks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.privacy import disclosed, judged_columns, models, total
from discreet.check.shown import Shown
from discreet.engines import Frame
from discreet.engines.frame import in_rows, plain_type
from discreet.recipe.recipe import Step
from discreet.table.cells import plain
from discreet.table.summary import Tuples

# The column of patterns of nulls, among a step's own, and the one that tells what is judged.
_PATTERN, _SHOWN = "\0pattern", "\0shown"

_Rows = tuple[int, ...]


@dataclass(frozen=True)
class _Nulls:
    """Which of a step's columns are null in the original: patterns, and what is shown of each."""

    patterns: np.ndarray  # of bool, by column and pattern
    records: np.ndarray  # of the original, by pattern
    disclosed: np.ndarray  # those of them that are disclosed
    tuples: pa.Table  # what is shown, without the disclosed ones
    counts: np.ndarray  # of each tuple
    pattern: np.ndarray  # of each tuple


def models_within_groups(
    shown: Shown, original: Frame, left_out: _Rows, step: Step, plan: StepPlan
) -> list[Finding]:
    """Verify the models among the records with, and among those without nulls in the original.

    What is true of a class as a whole need not be so for someone who knows which values are
    missing; where the two kinds were treated apart, it must be.
    """
    nulls = _nulls(shown, original, left_out, step, plan)
    groups, mixed = _groups(nulls, step, plan)
    findings = [] if mixed is None else [Finding("groups by nulls", "broken", mixed)]
    if len(disclosed(step, plan)):
        findings.append(_only_small(groups, nulls, step))
    where = ", within each group by nulls"
    return findings + models(nulls.tuples, nulls.counts, step, plan, groups[nulls.pattern], where)


def _groups(nulls: _Nulls, step: Step, plan: StepPlan) -> tuple[np.ndarray, str | None]:
    """Return each pattern the number of its group, and what is wrong with groups that were joined.

    Records without nulls are 0 and all others 1. Where groups go by the set of columns that are
    null, they are as the plan joined the sets: those of k records must not be joined.
    """
    groups = np.asarray(nulls.patterns.any(axis=0), dtype=np.int64)
    if step.parameters().get("segregate") != "pattern":
        return groups, None
    k = _largest_k(step)
    for number, group in enumerate(plan["joint"]["groups"], start=2):
        large = 0
        for pattern in filter(len, group.get("patterns") or ()):
            wanted = np.isin(step.columns, list(pattern))
            same = (nulls.patterns == wanted[:, None]).all(axis=0)
            groups[same] = number
            large += nulls.records[same].sum() >= k
        if large > 1:
            return groups, f"{large} sets of columns that are null in {k} records share one group"
    return groups, None


def _largest_k(step: Step) -> int:
    return max([m.k for m in step.parameters()["privacy"] if hasattr(m, "k")], default=1)


def _only_small(groups: np.ndarray, nulls: _Nulls, step: Step) -> Finding:
    said, k = "only whole groups of fewer than k records are released as they are", _largest_k(step)
    sizes = total(groups, nulls.records, groups.max(initial=-1) + 1)
    raw = total(groups, nulls.disclosed, len(sizes))
    problem = None
    for group in np.flatnonzero(raw):
        if sizes[group] >= k or raw[group] < sizes[group]:
            problem = f"some of a group of {sizes[group]:,} records are"
    return finding(said, problem, f"{raw.sum():,} records")


# Counted where the rows are


def _nulls(shown: Shown, original: Frame, left_out: _Rows, step: Step, plan: StepPlan) -> _Nulls:
    """Count what is shown of the records with each pattern of nulls in the original."""
    raw = tuple(disclosed(step, plan).tolist())
    columns = tuple(judged_columns(step, shown.column_names))
    names = tuple(step.columns)
    codes, records = _patterns(original, names, None)
    bits = np.array([(codes >> place) & 1 == 1 for place in range(len(names))])
    hidden = np.zeros(len(codes), np.int64)
    if len(codes) == 1:
        # Without a second pattern there is nothing to tell apart.
        tuples, counts = shown.without(raw).over(columns)
        hidden[0] = len(raw)
        return _Nulls(bits, records, hidden, tuples, counts, np.zeros(len(counts), np.int64))
    tuples, counts = _by_pattern(shown, original, names, columns, raw + left_out)
    if raw:
        some, numbers = _patterns(original, names, raw)
        hidden[np.searchsorted(codes, some)] = numbers
    of_tuple = np.searchsorted(codes, tuples[_PATTERN].to_numpy())
    return _Nulls(bits, records, hidden, tuples.drop_columns([_PATTERN]), counts, of_tuple)


def _patterns(
    original: Frame, names: tuple[str, ...], only: _Rows | None
) -> tuple[np.ndarray, np.ndarray]:
    """Count the records of each pattern of nulls, all or some of them; patterns in order."""
    found = original.fold(partial(_of_piece, names, only), Tuples.joined, names)
    patterns, counts = found.result()
    codes = patterns[_PATTERN].to_numpy()
    order = np.argsort(codes)
    return codes[order], counts[order]


def _of_piece(
    names: tuple[str, ...], only: _Rows | None, before: pa.Table, rows: np.ndarray
) -> Tuples:
    codes = _codes(names, before)
    return Tuples.of(pa.table({_PATTERN: codes if only is None else codes[np.isin(rows, only)]}))


def _codes(names: tuple[str, ...], before: pa.Table) -> np.ndarray:
    """Return the pattern of nulls of each record as one number."""
    codes = np.zeros(before.num_rows, np.int64)
    for place, name in enumerate(names):
        null = before[name].is_null(nan_is_null=True).to_numpy()
        codes |= null.astype(np.int64) << place
    return codes


def _by_pattern(
    shown: Shown,
    original: Frame,
    names: tuple[str, ...],
    columns: tuple[str, ...],
    hidden: _Rows,
) -> tuple[pa.Table, np.ndarray]:
    """Count the tuples that are shown by the pattern of nulls that their records had."""
    kinds = [plain_type(shown.frame.schema.field(name).type) for name in columns]
    schema = pa.schema([*zip(columns, kinds, strict=True), (_PATTERN, pa.int64())])
    schema = schema.append(pa.field(_SHOWN, pa.bool_()))
    function = partial(_with_pattern, names, hidden, schema)
    # Counted where the rows are: tuples may be millions, and in every piece others.
    made = original.map_pairs(shown.frame, function, schema, names, columns)
    tuples, counts = made.counts([*columns, _PATTERN, _SHOWN])
    made.remove()
    kept = tuples[_SHOWN].to_numpy()
    return tuples.filter(pa.array(kept)).drop_columns([_SHOWN]), counts[kept]


def _with_pattern(
    names: tuple[str, ...],
    hidden: _Rows,
    schema: pa.Schema,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> pa.Table:
    """Return what is shown of each record, its pattern of nulls, and whether it is to be judged."""
    columns = [plain(column) for column in in_rows(after, there)]
    judged = there & ~np.isin(rows, hidden) if hidden else there
    return pa.table([*columns, pa.array(_codes(names, before)), pa.array(judged)], schema=schema)
