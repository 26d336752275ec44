"""The check: whether a release keeps what its recipe promises, wherever its rows are.

A method's class says which promise it makes; whether that holds is found out here, by code that
shares nothing with the methods: it reads the recipe, counts in the released table, and, given the
evidence, applies the plan by itself to the original and compares cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import UNREADABLE, Evidence
from discreet.check.excluded import without_excluded
from discreet.check.findings import NEEDS_ORIGINAL, ONLY_ORIGINAL, CheckReport, Finding, finding
from discreet.check.kept import as_kept
from discreet.check.leaks import NOTHING, leaks
from discreet.check.levels import drawn_once
from discreet.check.linked import linked_rows
from discreet.check.nulls import models_within_groups
from discreet.check.order import row_order
from discreet.check.original import APPLIED, PSEUDONYMS, UNTOUCHED, against_original
from discreet.check.policy import against_policy
from discreet.check.promises import PROMISES
from discreet.check.shown import Shown
from discreet.check.two_tables import parted
from discreet.check.weak import weaknesses
from discreet.engines import Frame
from discreet.recipe.policies import Against
from discreet.recipe.recipe import Recipe, Step, needed_columns
from discreet.recipe.roles import USES
from discreet.table.fingerprint import Fingerprint

SAME_INPUT = "the original is the one that was protected"


def check_frames(
    released: Frame,
    recipe: Recipe,
    evidence: Evidence | None,
    original: Frame | None,
    path: Path | None = None,
    against: Against | None = None,
) -> CheckReport:
    """Verify what a release promises, as far as the evidence goes.

    With evidence, the release has the rows' numbers of the original: as `Engine.released` gives
    it, or all of them, those that are left out as rows of nulls. In the original, null markers are
    nulls. `path` is the release's file, or folder of files. The release is also held against a
    policy, by default the recipe's.
    """
    everyone = original
    excluded: list[Finding] = []
    if evidence is not None and len(evidence.excluded):
        released, original, excluded = without_excluded(released, original, recipe, evidence)
    released, groups = parted(released, recipe)
    shown, left_out = Shown.of(released, recipe, evidence, path), None
    shown = replace(shown, groups=groups)
    narrowed: list[str] = []
    if evidence is None or original is None:
        names = [SAME_INPUT, APPLIED, UNTOUCHED, *map(PSEUDONYMS.format, recipe.roles.pseudonyms)]
        names += [NOTHING] * bool(recipe.treated)
        cells = [Finding(name, "not verifiable", NEEDS_ORIGINAL) for name in names]
    else:
        cells, left_out, shown = against_original(shown, recipe, evidence, original)
        assert everyone is not None
        cells = [same_input(evidence, everyone), *cells]
        cells += _drawn_once(recipe, evidence, original)
        if left_out is not None:
            found, narrowed = leaks(released, original, recipe, left_out)
            cells += found
    shown = shown.counting(recipe, original, left_out)
    findings = [*_roles(shown.column_names, recipe), *_promises(shown, recipe, evidence)]
    findings += [*excluded, *as_kept(shown, path, recipe, evidence), *cells]
    findings += _within_groups(shown, recipe, evidence, original, left_out)
    findings += [*linked_rows(shown, recipe), *row_order(evidence)]
    findings += weaknesses(shown, recipe, evidence)
    policy = against_policy(shown, recipe, against, findings, evidence, original)
    shown.remove()
    if evidence is not None:
        findings = [
            replace(one, detail=ONLY_ORIGINAL) if one.detail == NEEDS_ORIGINAL else one
            for one in findings
        ]
    return CheckReport(tuple(findings), (*_notes(shown, recipe), *narrowed), policy)


def _roles(names: list[str], recipe: Recipe) -> list[Finding]:
    """Verify that what is released has the roles for it."""
    named = recipe.roles.named()
    unreleased = ["identifiers", "unit", *USES]
    unreleased += [] if recipe.roles.release_household else ["household"]
    hidden = [column for column, role in named.items() if role in unreleased]
    left = [column for column in hidden if column in names]
    shown = [column for column in named if column not in hidden]
    lost = [column for column in shown if column not in names]
    strange = [column for column in names if column not in named]
    problem = None
    if lost:
        problem = f"column '{lost[0]}' is missing"
    elif strange and recipe.roles.rest != "insensitive":
        problem = f"column '{strange[0]}' has none"
    return [
        finding(
            "no identifier is released",
            f"column '{left[0]}' is there" if left else None,
            f"none of {', '.join(hidden)}" if hidden else "the recipe names none",
        ),
        finding("every released column has a role", problem, f"{len(names)} of {len(names)}"),
    ]


def _promises(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> list[Finding]:
    """Verify what each step promises."""
    findings = []
    steps = evidence.plan["steps"] if evidence else []
    for number, step in enumerate(recipe.steps):
        promise = step.build().promise
        if promise is None or not step.promise:
            continue
        if promise not in PROMISES:
            unknown = f"the check does not know what '{promise}' means"
            findings.append(Finding(f"promises of {step.method}", "broken", unknown))
            continue
        plan = steps[number] if number < len(steps) else None
        found = _readable(PROMISES[promise], step, shown, step, plan)
        if not shown.exact:
            most = _readable(PROMISES[promise], step, replace(shown, at_most=True), step, plan)
            found = [_between(*both) for both in zip(found, most, strict=True)]
        findings += found
    return findings


def _between(least: Finding, most: Finding) -> Finding:
    """Conclude from the least and the most units that there can be."""
    if least.status != "broken":
        return least
    if most.status == "broken":
        return most
    return Finding(least.promise, "not verifiable", NEEDS_ORIGINAL)


def _readable(verify: Callable[..., list[Finding]], step: Step, *given: Any) -> list[Finding]:
    """Verify something; a plan that cannot be read proves nothing."""
    try:
        return verify(*given)
    except UNREADABLE as error:
        return [Finding(f"promises of {step.method}", "broken", f"cannot be read: {error!r}")]


def _drawn_once(recipe: Recipe, evidence: Evidence, original: Frame) -> list[Finding]:
    try:
        return drawn_once(recipe, evidence.plan, original)
    except UNREADABLE:
        return []  # Whoever applies the plan says what is wrong with it.


def _within_groups(
    shown: Shown,
    recipe: Recipe,
    evidence: Evidence | None,
    original: Frame | None,
    left_out: np.ndarray | None,
) -> list[Finding]:
    """Verify privacy models where records with and without nulls were treated apart."""
    findings = []
    for number, step in enumerate(recipe.steps):
        given = step.parameters()
        apart = given.get("null_policy") == "segregate" and given.get("privacy")
        if not apart or not step.promise:
            continue
        if evidence is None or left_out is None:
            said = f"the privacy models of step {number + 1} within each group by nulls"
            findings.append(Finding(said, "not verifiable", NEEDS_ORIGINAL))
        elif number < len(evidence.plan["steps"]):
            plan, rows = evidence.plan["steps"][number], tuple(left_out.tolist())
            findings += _readable(models_within_groups, step, shown, original, rows, step, plan)
    return findings


def _notes(shown: Shown, recipe: Recipe) -> list[str]:
    """Say how many records are still unique: k per value in a column is not k-anonymity."""
    notes = []
    quasi = [column for column in recipe.roles.quasi if column in shown.column_names]
    if quasi:
        notes.append(
            f"{shown.unique(quasi):,} of {shown.num_rows:,} records are still unique on the quasi "
            f"columns together ({', '.join(quasi)})"
        )
    units = shown.units
    if units is not None and units.original is None and units.column in shown.column_names:
        notes.append(
            f"{units.word} are counted by what the release says in '{units.column}'; "
            f"{units.unknown:,} records without it count as none"
        )
    return notes


# The original


def same_input(evidence: Evidence, original: Frame) -> Finding:
    """Find out whether a table is the one that was protected, by the keyed hash of its rows."""
    known = evidence.log["input"]["hmac"]
    same = evidence.original is original or _hash(evidence, original) == known
    return finding(SAME_INPUT, None if same else "its keyed hash differs", "hash equal")


def _hash(evidence: Evidence, original: Frame) -> str:
    seed, placed = evidence.recipe.seed or 0, evidence.log["input"]["placed"]
    columns = needed_columns(evidence.recipe, original.schema.names)
    return original.fold(partial(_hashed, seed, placed), add, columns).hexdigest(seed)


def _hashed(seed: int, placed: bool, piece: pa.Table, rows: np.ndarray) -> Fingerprint:
    return Fingerprint.of(seed, piece, rows if placed else None)
