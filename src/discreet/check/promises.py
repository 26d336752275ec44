"""What a method's `promise` means: verified on the released table, by nothing but counting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.anatomy import anatomy
from discreet.check.counts import rounded_counts
from discreet.check.differential import private_centres, safepub
from discreet.check.evidence import StepPlan, places
from discreet.check.findings import NEEDS_INTERNAL, Finding, finding
from discreet.check.items import k_per_combination
from discreet.check.privacy import privacy_models
from discreet.check.shown import Shown, all_null
from discreet.check.suppression import local_suppression
from discreet.check.wildcard import wildcard_k
from discreet.recipe.recipe import Step
from discreet.table import float_values

# What is shown, the step, and the step's plan where there is evidence.
Promise = Callable[[Shown, Step, StepPlan | None], list[Finding]]


def _k_per_value(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    return [
        _k_per_value_of(shown, step, name, plan["columns"].get(name) if plan else None)
        for name in step.columns
        if name in shown.column_names
    ]


def _k_per_value_of(shown: Shown, step: Step, name: str, plan: Mapping[str, Any] | None) -> Finding:
    k = step.least_records(name, plan)
    if isinstance(k, str):
        rule = f"k{shown.of_what} per value in column '{name}', k by the rule {k}"
        return Finding(rule, "not verifiable", NEEDS_INTERNAL)
    values, counts, nulls = shown.values(name)
    rare = None
    if len(counts) and counts.min() < k:
        # Of several the smallest, whatever order they were counted in.
        value = min(values.filter(pa.array(counts == counts.min())).to_pylist())
        rare = f"{counts.min()} {shown.noun} hold {value}"
    smallest = counts.min() if len(counts) else 0
    good = f"{len(counts):,} values, the rarest in {smallest:,} {shown.noun}"
    if 0 < nulls < k:
        what = "nulls" if shown.noun == "records" else f"{shown.noun} with nulls"
        good += f"; but only {nulls} {what}, which show as well"
    return finding(f"k = {k}{shown.of_what} per value in column '{name}'", rare, good)


def _k_per_tuple(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    columns = [name for name in step.columns if name in shown.column_names]
    k = step.least_records(step.columns[0])
    said = f"k = {k}{shown.of_what} per tuple of {', '.join(columns)}"
    tuples, counts = shown.over(columns)
    empty = all_null(tuples)
    nulls = int(counts[empty].sum())
    beside = ""
    if 0 < nulls < k and shown.suppression is not False:
        # Tuples that lost records to suppression are emptied, however few they are.
        tuples, counts = tuples.filter(pa.array(~empty)), counts[~empty]
        beside = f"; but only {nulls} {shown.noun} of nulls, which show as well"
    rarest = counts.min(initial=shown.num_rows)
    good = f"{len(counts):,} tuples, the rarest in {rarest:,} {shown.noun}"
    if len(counts) and counts.min() < k:
        values = tuples.slice(int(counts.argmin()), 1).to_pylist()[0]
        held = ", ".join(f"{name} = {value}" for name, value in values.items())
        return [Finding(said, "broken", f"{counts.min()} {shown.noun} hold {held}")]
    if beside and shown.suppression is None:
        return [Finding(said, "not verifiable", NEEDS_INTERNAL)]
    return [Finding(said, "verified", good + beside)]


def _within_bounds(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    return [
        _within_bounds_of(shown, step, name) for name in step.columns if name in shown.column_names
    ]


def _within_bounds_of(shown: Shown, step: Step, name: str) -> Finding:
    bounds = {}
    for side in ("lower", "upper"):
        bound = step.parameters()[side]
        bounds[side] = bound.get(name) if isinstance(bound, Mapping) else bound
    lower, upper = bounds["lower"], bounds["upper"]
    said = " and ".join(f"{side} {bound:g}" for side, bound in bounds.items() if bound is not None)
    problem = None
    ends = shown.ends(name)
    if ends is not None:
        smallest, largest = ends
        if lower is not None and smallest < lower:
            problem = f"{smallest:g} is below"
        if upper is not None and largest > upper:
            problem = f"{largest:g} is above"
    return finding(f"column '{name}' stays within {said}", problem, "smallest and largest do")


def _rank_window(shown: Shown, step: Step, plan: StepPlan | None) -> list[Finding]:
    findings = []
    needs = NEEDS_INTERNAL if plan is None else shown.needs
    for name in step.columns:
        p = step.parameters()["p"]
        p = p[name] if isinstance(p, Mapping) else p
        said = f"no value of column '{name}' moved farther than {p:g} % of the ranks"
        if plan is None or needs is not None:
            findings.append(Finding(said, "not verifiable", needs or ""))
            continue
        sources = np.asarray(plan["columns"][name]["rows"])
        values, rows = shown.frame.fold(partial(_column, name), _never, [name])
        rows = places(shown.excluded, rows)
        first = plan["columns"][name].get("first")
        if first is not None:
            # Of each household the first row, as the plan numbers them.
            there = np.isin(rows, first)
            values, rows = values[there], np.searchsorted(first, rows[there])
        farthest, n = _farthest(values, rows, sources)
        allowed = int(p * (n + len(sources) - len(rows)) / 100)
        if first is not None or shown.suppression:
            # Records that are suppressed had ranks too: those that remain are no farther apart.
            # Whoever applies the plan to the original finds out whether this is p %.
            allowed = plan["columns"][name]["window"]
        problem = f"a value moved by {farthest:,} ranks of {n:,}" if farthest > allowed else None
        findings.append(finding(said, problem, f"{farthest:,} of {n:,} ranks at most"))
    return findings


def _column(name: str, piece: pa.Table, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return float_values(piece[name], name), rows


def _never(one: Any, other: Any) -> Any:
    raise AssertionError("all rows are one piece")


def _farthest(values: np.ndarray, rows: np.ndarray, sources: np.ndarray) -> tuple[int, int]:
    """Return the largest move in ranks, and the number of values.

    What a record holds now is what its source held, so that the swap can be undone; where records
    were suppressed, among those that are left.
    """
    before = np.full(len(sources), np.nan)
    before[sources[rows]] = values
    known = np.flatnonzero(~np.isnan(before))
    rank = np.full(len(sources), -1)
    rank[known[np.argsort(before[known], kind="stable")]] = np.arange(len(known))
    moves = np.abs(rank[sources[rows]] - rank[rows])[(rank[rows] >= 0) & ~np.isnan(values)]
    return int(moves.max(initial=0)), len(known)


PROMISES: dict[str, Promise] = {
    "anatomy": anatomy,
    "k-per-value": _k_per_value,
    "k-per-combination": k_per_combination,
    "k-per-tuple": _k_per_tuple,
    "private-centres": private_centres,
    "rank-window": _rank_window,
    "rounded-counts": rounded_counts,
    "safepub": safepub,
    "within-bounds": _within_bounds,
    "privacy-models": privacy_models,
    "wildcard-k": wildcard_k,
    "local-suppression": local_suppression,
}
