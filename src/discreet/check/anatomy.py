"""Anatomy's promise: groups of l different confidential values, which keep nulls apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import StepPlan, places
from discreet.check.findings import NEEDS_INTERNAL, Finding, finding
from discreet.check.shown import Shown, all_null
from discreet.engines.memory import MemoryFrame
from discreet.recipe.recipe import Step


def anatomy(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    """Verify what the groups of a release in two tables hold."""
    given = step.parameters()
    least, by, frame = given["l"], given["group"], shown.frame
    hidden = [name for name in given["confidential"] if name in shown.column_names]
    quasi = [name for name in step.columns if name in shown.column_names and name not in hidden]
    said = [_diverse(least, name) for name in hidden]
    said += [f"nulls of {', '.join(quasi)} are kept apart"] * (given["null_policy"] == "segregate")
    if shown.groups is None or not isinstance(frame, MemoryFrame):
        missing = f"column '{by}' is missing"
        return [Finding(one, "broken", missing) for one in [*said, _planned(by)]]
    table, numbers = frame.table, shown.groups
    # Records that are left out are rows of nulls, and in no group.
    there = ~(all_null(table) & numbers.is_null().to_numpy())
    if numbers.filter(pa.array(there)).null_count:
        lost = f"records of no group are there, with no number in '{by}'"
        return [Finding(one, "broken", lost) for one in [*said, _planned(by)]]
    of_row = numbers.fill_null(0).to_numpy()
    table, (names, groups) = table.filter(pa.array(there)), _numbered(of_row[there])
    codes = {name: _codes(table[name]) for name in hidden}
    findings = [
        _diverse_in(_diverse(least, name), codes[name], groups, names, least) for name in hidden
    ]
    if given["null_policy"] == "segregate":
        nulls = np.array([table[name].is_null().to_numpy() for name in quasi])
        problem = _mixed(given, nulls, groups, names)
        findings.append(finding(said[-1], problem, f"{len(names):,} groups"))
    return [*findings, _as_planned(by, of_row, frame.rows, shown, plan)]


def _diverse(least: int, name: str) -> str:
    return f"l = {least}: no value of '{name}' is in more than 1 of {least} records of a group"


def _planned(by: str) -> str:
    return f"the groups in '{by}' are the plan's"


def _numbered(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups' numbers, and of each record the place of its group among them."""
    names, place = np.unique(groups, return_inverse=True)
    return names, place


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers for the values of a column; -1 where null."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    return encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy()


def _diverse_in(
    said: str,
    codes: np.ndarray,
    groups: np.ndarray,
    names: np.ndarray,
    least: int,
) -> Finding:
    """Verify that each group has l values at least, and none of them in too many records."""
    present = codes >= 0
    values = np.bincount(groups[present], minlength=len(names))
    pairs, counts = np.unique(
        groups[present] * (codes.max(initial=0) + 1) + codes[present], return_counts=True
    )
    of_pair = pairs // (codes.max(initial=0) + 1)
    distinct = np.bincount(of_pair, minlength=len(names))
    most = np.zeros(len(names), np.int64)
    np.maximum.at(most, of_pair, counts)
    problem = None
    if (distinct < least).any():
        at = int(np.argmin(distinct))
        problem = f"group {names[at]} has {distinct[at]} different values"
    elif (most * least > values).any():
        at = int(np.argmax(most * least > values))
        problem = f"in group {names[at]}, {most[at]} of {values[at]} records have the same value"
    fewest = distinct.min() if len(names) else 0
    return finding(said, problem, f"{len(names):,} groups, {fewest:,} values in each at least")


def _mixed(
    given: dict[str, Any], nulls: np.ndarray, groups: np.ndarray, names: np.ndarray
) -> str | None:
    """Say which group has records with nulls in different columns, if none may.

    Where they may be appended because they cannot form groups among themselves, that is judged by
    their own values, which the release has given to others: the replay of the plan does it.
    """
    pattern = np.unique(nulls, axis=1, return_inverse=True)[1].ravel()
    first = np.zeros(len(names), np.int64)
    first[groups] = pattern
    mixed = first[groups] != pattern
    if given["small_group"] == "append" or not mixed.any():
        return None
    return f"group {names[groups[mixed].min()]} has records with nulls in different columns"


def _as_planned(
    by: str, groups: np.ndarray, rows: np.ndarray, shown: Shown, plan: StepPlan | None
) -> Finding:
    """Compare the released groups with those of the plan."""
    if plan is None or not shown.mapped:
        return Finding(_planned(by), "not verifiable", NEEDS_INTERNAL)
    planned = np.asarray(plan["joint"]["groups"], np.int64)
    at = places(shown.excluded, rows)
    if len(at) and (at.min() < 0 or at.max() >= len(planned)):
        return Finding(_planned(by), "broken", f"the plan has groups of {len(planned):,} records")
    differ = planned[at] != groups
    count = len(np.unique(planned[planned > 0]))
    if differ.any():
        row = int(np.argmax(differ))
        said = f"row {row + 1} is in group {groups[row]}, the plan has {planned[at][row]}"
        return Finding(_planned(by), "broken", said)
    return Finding(_planned(by), "verified", f"{count:,} groups")
