"""Privacy models within groups of records by which values they lacked before a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.findings import Finding, finding
from discreet.check.population import class_size
from discreet.check.privacy import disclosed, judged_columns, models, total
from discreet.check.shown import GROUP, UNIT, Counted, RowNumbers, Shown, beside, judged
from discreet.engines import Frame
from discreet.recipe.recipe import Step
from discreet.table.cells import plain
from discreet.table.classes import encode, in_order
from discreet.table.summary import Tuples

# By column, the rows in which steps before have made it null, or filled it.
_Moved = Mapping[str, np.ndarray]
_PATTERN, _RAW = "\0pattern", "\0raw"


@dataclass(frozen=True)
class _Nulls:
    """Which of a step's columns are null before it: patterns, and how many have each."""

    codes: np.ndarray  # patterns as numbers, in order
    patterns: np.ndarray  # of bool, by column and pattern
    records: np.ndarray  # of the original, by pattern
    disclosed: np.ndarray  # those of them that are disclosed
    # Where units are counted: by pattern, each that has it.
    holders: tuple[np.ndarray, np.ndarray] | None = None

    def counted(self, of: np.ndarray, n: int) -> np.ndarray:
        """Count the records, or units, of groups: that of each pattern is given."""
        if self.holders is None:
            return total(of, self.records, n)
        pattern, unit = self.holders
        size = unit.max(initial=0) + 1
        return np.bincount(in_order(of[pattern] * size + unit) // size, minlength=n)


def models_within_groups(
    shown: Shown, original: Frame, left_out: RowNumbers, step: Step, plan: StepPlan
) -> list[Finding]:
    """Verify the models among the records with, and among those without nulls before a step.

    What is true of a class as a whole need not be so for someone who knows which values are
    missing; where the two kinds were treated apart, it must be. Cells that earlier steps have
    blanked are missing like those of the original: nobody sees which is which.
    """
    unit = None if shown.units is None else shown.units.column
    raw = tuple(disclosed(step, plan).tolist())
    sized = raw or step.parameters().get("segregate") == "pattern"
    moved = {name: rows for (at, name), rows in shown.moved.items() if at == plan["step"]}
    nulls = _nulls(original, moved, raw, step, unit if sized else None)
    groups, mixed = _groups(nulls, step, plan, shown.noun)
    findings = [] if mixed is None else [Finding("groups by nulls", "broken", mixed)]
    if raw:
        findings.append(_only_small(groups, nulls, _largest_k(step, plan), shown.noun))
    where = ", within each group by nulls"
    if len(nulls.codes) == 1:
        # Without a second pattern there is nothing to tell apart.
        return findings + models(shown, shown.without(raw).over, step, plan, where)
    # Counted where the rows are: tuples may be millions, and in every piece others.
    columns = judged_columns(step, shown.column_names)
    group = partial(_group, tuple(step.columns), moved, nulls.codes, groups)
    made = beside(original, shown.frame, columns, raw + left_out, unit, group, step.columns)
    findings += models(shown, partial(_within, made, unit), step, plan, where)
    made.remove()
    return findings


def _within(made: Frame, unit: str | None, columns: Sequence[str]) -> Counted:
    """Count tuples within groups."""
    return judged(made, [*columns, GROUP], None if unit is None else UNIT)


def _groups(nulls: _Nulls, step: Step, plan: StepPlan, noun: str) -> tuple[np.ndarray, str | None]:
    """Return each pattern the number of its group, and what is wrong with groups that were joined.

    Records without nulls are 0 and all others 1. Where groups go by the set of columns that are
    null, they are as the plan joined the sets: those of k records must not be joined.
    """
    groups = np.asarray(nulls.patterns.any(axis=0), dtype=np.int64)
    if step.parameters().get("segregate") != "pattern":
        return groups, None
    k = _largest_k(step, plan)
    counted = nulls.counted(np.arange(len(nulls.codes)), len(nulls.codes))
    for number, group in enumerate(plan["joint"]["groups"], start=2):
        large = 0
        for pattern in filter(len, group.get("patterns") or ()):
            wanted = np.isin(step.columns, list(pattern))
            same = (nulls.patterns == wanted[:, None]).all(axis=0)
            groups[same] = number
            large += counted[same].sum() >= k
        if large > 1:
            return groups, f"{large} sets of columns that are null in {k} {noun} share one group"
    return groups, None


def _largest_k(step: Step, plan: StepPlan) -> int:
    return max([class_size(m, plan) for m in step.parameters()["privacy"]], default=1)


def _only_small(groups: np.ndarray, nulls: _Nulls, k: int, noun: str) -> Finding:
    said = f"only whole groups of fewer than k {noun} are released as they are"
    sizes = nulls.counted(groups, groups.max(initial=-1) + 1)
    whole, raw = (total(groups, rows, len(sizes)) for rows in (nulls.records, nulls.disclosed))
    problem = None
    for group in np.flatnonzero(raw):
        if sizes[group] >= k or raw[group] < whole[group]:
            problem = f"some of a group of {sizes[group]:,} {noun} are"
    return finding(said, problem, f"{raw.sum():,} records")


# Counted where the rows are


def _nulls(original: Frame, moved: _Moved, raw: RowNumbers, step: Step, unit: str | None) -> _Nulls:
    """Count the records with each pattern of nulls before a step, and note their units."""
    names = tuple(step.columns)
    taken = list(dict.fromkeys([*names, *([] if unit is None else [unit])]))
    found = original.fold(partial(_of_piece, names, moved, unit, raw), Tuples.joined, taken)
    tuples, counts = found.result()
    codes, pattern = np.unique(tuples[_PATTERN].to_numpy(), return_inverse=True)
    bits = np.array([(codes >> place) & 1 == 1 for place in range(len(names))])
    hidden = total(pattern, counts * tuples[_RAW].to_numpy(), len(codes))
    holders = None if unit is None else (pattern, encode(tuples[UNIT], unit)[0])
    return _Nulls(codes, bits, total(pattern, counts, len(codes)), hidden, holders)


def _of_piece(
    names: tuple[str, ...],
    moved: _Moved,
    unit: str | None,
    raw: RowNumbers,
    before: pa.Table,
    rows: np.ndarray,
) -> Tuples:
    found = {_PATTERN: pa.chunked_array([_codes(names, moved, before, rows)])}
    found[_RAW] = pa.chunked_array([np.isin(rows, raw) if raw else np.zeros(len(rows), bool)])
    if unit is not None:
        found[UNIT] = plain(before[unit])
    return Tuples.of(pa.table(found))


def _codes(names: tuple[str, ...], moved: _Moved, before: pa.Table, rows: np.ndarray) -> np.ndarray:
    """Return the pattern of nulls of each record as one number."""
    codes = np.zeros(before.num_rows, np.int64)
    for place, name in enumerate(names):
        null = before[name].is_null(nan_is_null=True).to_numpy()
        if name in moved:
            null = null ^ np.isin(rows, moved[name])
        codes |= null.astype(np.int64) << place
    return codes


def _group(
    names: tuple[str, ...],
    moved: _Moved,
    codes: np.ndarray,
    groups: np.ndarray,
    before: pa.Table,
    rows: np.ndarray,
) -> np.ndarray:
    return groups[np.searchsorted(codes, _codes(names, moved, before, rows))]
