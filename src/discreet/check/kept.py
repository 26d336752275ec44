"""What the internal folder keeps of a release, compared with the release itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.check.asked import not_as_asked
from discreet.check.evidence import UNREADABLE, Evidence
from discreet.check.findings import NEEDS_INTERNAL, Finding, finding
from discreet.check.manifest import (
    ANOTHER_KEY,
    AUTHENTIC,
    Manifest,
    differing,
    printable,
    under,
)
from discreet.check.rows import final_plans
from discreet.check.shown import Shown
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table import float_values

SAME_FILE = "the released file is the one that was written"
SAME_PROOF = "plan, recipe, row map and whatever else is kept are those that were written"


def as_kept(
    shown: Shown, path: Path | None, recipe: Recipe, evidence: Evidence | None
) -> list[Finding]:
    """Verify that files, numbers of rows and values are as they were kept."""
    figures = "released values and their counts are the plan's"
    if evidence is None:
        names = (AUTHENTIC, SAME_FILE, SAME_PROOF, figures)
        return [Finding(name, "not verifiable", NEEDS_INTERNAL) for name in names]
    findings = []
    if evidence.folder is not None:
        findings = _same_files(path, recipe, evidence)
        # In memory, those left out are rows of nulls.
        rows = evidence.log["input" if shown.complete else "output"]["rows"]
        rows -= len(evidence.excluded) if shown.complete else 0
        there = shown.frame.num_rows
        problem = None if there == rows else f"{there:,}, but {rows:,} written"
        findings.append(finding("no row was added or lost", problem, f"{rows:,} rows"))
    plans = final_plans(evidence.plan)
    try:
        # What is treated once a household is counted so, and not by records.
        once = {name for step in evidence.plan["steps"] for name in step.get("levels", {})}
        other = (bool(shown.suppression) or name in once for name, _ in plans)
        counts = (_differing_count(shown, *one, o) for one, o in zip(plans, other, strict=True))
        problem = not_of_recipe(recipe, evidence) or next(filter(None, counts), None)
    except UNREADABLE as error:
        problem = f"the plan cannot be read: {error!r}"
    findings.append(finding(figures, problem, f"{len(plans)} columns"))
    return findings


def not_of_recipe(recipe: Recipe, evidence: Evidence) -> str | None:
    """Compare the plan's steps, columns and parameters with the recipe's."""
    wanted = [(step.method, set(step.columns)) for step in recipe.steps]
    found = [(step["method"], set(step["columns"])) for step in evidence.plan["steps"]]
    if found != wanted:
        return "the plan's steps are not the recipe's"
    pairs = zip(recipe.steps, evidence.plan["steps"], strict=True)
    return next(filter(None, (not_as_asked(step, plan) for step, plan in pairs)), None)


def refuse_changed(release: str | Path, table: Path | None, evidence: Evidence) -> str | None:
    """Refuse a release whose files are not those that were written; say if that cannot be told."""
    findings = _same_files(table, evidence.recipe, evidence)
    for one in findings:
        if one.status == "broken":
            raise BadInput(
                f"{release} was changed after it was written: {one.detail}; run discreet check"
            )
    if findings[0].status == "verified":
        return None
    return (
        f"{release} was sealed with another key than yours, so nobody can tell whether its files "
        "are those that were written"
    )


def _same_files(path: Path | None, recipe: Recipe, evidence: Evidence) -> list[Finding]:
    """Compare the files of both halves with the manifest, and that with its code."""
    assert evidence.folder is not None
    try:
        manifest = Manifest.read(evidence.folder)
    except ValueError as error:
        names = (SAME_FILE, SAME_PROOF)
        needs = [Finding(one, "not verifiable", "needs the manifest") for one in names]
        return [Finding(AUTHENTIC, "broken", str(error)), *needs]
    authentic = manifest.authentic(evidence.log["release"])
    files = [
        _same_file(path, evidence.folder, manifest),
        _same_proof(recipe, evidence, manifest),
    ]
    if authentic.status == "not verifiable":
        files = [_by_anybody(one) if one.status == "verified" else one for one in files]
    return [authentic, *files]


def _by_anybody(found: Finding) -> Finding:
    """Say that files are as a list has them, which anybody could have made."""
    said = f"{ANOTHER_KEY}: {found.detail} match, but anybody could have made the list"
    return replace(found, status="not verifiable", detail=said)


def _same_file(path: Path | None, internal: Path, manifest: Manifest) -> Finding:
    if path is None:
        return Finding(SAME_FILE, "not verifiable", "needs the file, not a table in memory")
    # A released file that is not in a release's folder is the only one that is public.
    public = internal.absolute().parent / "public"
    alone = path.parent.absolute() != public and path.parent.resolve() != public.resolve()
    if not alone and public.is_symlink():
        return finding(SAME_FILE, "public is a link or the like", "")
    named, place = (f"public/{printable(path.name)}", path) if alone else ("public", path.parent)
    wanted = manifest.wanted(named)
    problem = differing("public", wanted, dict(under(named, place)), path.name)
    return finding(SAME_FILE, problem, _files(len(wanted)))


def _same_proof(recipe: Recipe, evidence: Evidence, manifest: Manifest) -> Finding:
    assert evidence.folder is not None
    problem = manifest.edited(evidence.folder)
    if recipe.without_seeds() != evidence.recipe.without_seeds():
        problem = "the recipe that it is checked by is another"
    return finding(SAME_PROOF, problem, _files(len(manifest.wanted("internal"))))


def _files(number: int) -> str:
    return f"{number} file{'s' * (number != 1)} with their hashes"


def _differing_count(shown: Shown, name: str, plan: dict[str, Any], other: bool) -> str | None:
    """Compare a column's values and, unless it counts others, their counts with the plan."""
    if name not in shown.column_names:
        return f"column '{name}' is missing"
    # Of records that are left out, some may have been blanked before.
    blanked = plan["blanked"] if plan["kind"] == "local-suppression" and not other else 0
    if blanked and shown.records.values(name)[2] < blanked:
        return f"column '{name}' has fewer nulls than the {blanked:,} blanks of the plan"
    if plan["kind"] not in ("cuts", "multiples"):
        return None
    values, records, _ = shown.records.values(name)
    values = float_values(values, name, plan.get("unit_ns") or 10**9)
    found, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights=records).astype(np.int64)
    foreign = found[~np.isin(found, plan["points"])]
    if len(foreign):
        return f"column '{name}' holds {foreign[0]:.17g}, which is no point of the plan"
    if plan["encoding"] != "group" or other:
        return None
    points, position = np.unique(plan["points"], return_inverse=True)
    wanted = np.bincount(position, weights=plan["counts"]).astype(np.int64)
    points, wanted = points[wanted > 0], wanted[wanted > 0]  # Given ones may be nobody's.
    if not np.array_equal(points, found) or not np.array_equal(wanted, counts):
        return f"column '{name}' does not hold each point as often as the plan says"
    return None
