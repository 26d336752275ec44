"""What the internal folder keeps of a release, compared with the release itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.check.asked import not_as_asked
from discreet.check.evidence import UNREADABLE, Evidence, file_hmac
from discreet.check.findings import NEEDS_INTERNAL, Finding, finding
from discreet.check.rows import final_plans
from discreet.check.shown import Shown
from discreet.recipe.recipe import Recipe
from discreet.table import float_values


def as_kept(
    shown: Shown, path: Path | None, recipe: Recipe, evidence: Evidence | None
) -> list[Finding]:
    """Verify that hashes of released files, numbers of rows and values are as they were kept."""
    same_file = "the released file is the one that was written"
    same_proof = "plan, recipe, row map and what else is kept are those that were written"
    figures = "released values and their counts are the plan's"
    if evidence is None:
        names = (same_file, same_proof, figures)
        return [Finding(name, "not verifiable", NEEDS_INTERNAL) for name in names]
    findings = []
    if evidence.folder is not None:
        findings = [
            _same_file(same_file, path, evidence),
            _same_proof(same_proof, recipe, evidence),
        ]
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
        problem = _other_steps(recipe, evidence) or next(filter(None, counts), None)
    except UNREADABLE as error:
        problem = f"the plan cannot be read: {error!r}"
    findings.append(finding(figures, problem, f"{len(plans)} columns"))
    return findings


def _other_steps(recipe: Recipe, evidence: Evidence) -> str | None:
    """Compare the plan's steps, columns and parameters with the recipe's."""
    wanted = [(step.method, set(step.columns)) for step in recipe.steps]
    found = [(step["method"], set(step["columns"])) for step in evidence.plan["steps"]]
    if found != wanted:
        return "the plan's steps are not the recipe's"
    pairs = zip(recipe.steps, evidence.plan["steps"], strict=True)
    return next(filter(None, (not_as_asked(step, plan) for step, plan in pairs)), None)


def _same_file(promise: str, path: Path | None, evidence: Evidence) -> Finding:
    if path is None:
        return Finding(promise, "not verifiable", "needs the file, not a table in memory")
    assert evidence.folder is not None
    files = evidence.log["files"]
    inside = path.parent == evidence.folder.parent / "public"
    there = _hashed(path.parent if inside else path, path.parent, evidence)
    other = dict(set(there.items()) ^ {item for item in files.items() if item[0][:7] == "public/"})
    problem = None
    if not path.exists() or any(_in(name, path) for name in other):
        problem = "its keyed hash differs"
    elif inside and other:
        problem = f"{min(other)} is not as it was written"
    return finding(promise, problem, "keyed hash equal")


def _hashed(path: Path, public: Path, evidence: Evidence) -> dict[str, str]:
    """Hash a file, or the files of a folder, under the names that they were written by."""
    found = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return {
        f"public/{one.relative_to(public).as_posix()}": file_hmac(one, evidence.key)
        for one in found
    }


def _in(name: str, path: Path) -> bool:
    """Tell whether a written name is the table's, or of a file in the table's folder."""
    return name == f"public/{path.name}" or name.startswith(f"public/{path.name}/")


def _same_proof(promise: str, recipe: Recipe, evidence: Evidence) -> Finding:
    assert evidence.folder is not None
    problem = None
    if recipe.without_seeds() != evidence.recipe.without_seeds():
        problem = "the recipe that it is checked by is another"
    for name, known in evidence.log["files"].items():
        if name.startswith("internal/"):
            path = evidence.folder / name.removeprefix("internal/")
            if not path.is_file() or file_hmac(path, evidence.key) != known:
                problem = f"the keyed hash of {path.name} differs"
    return finding(promise, problem, "keyed hashes equal")


def _differing_count(shown: Shown, name: str, plan: dict[str, Any], other: bool) -> str | None:
    """Compare a column's values and, unless it counts others, their counts with the plan."""
    if name not in shown.column_names:
        return f"column '{name}' is missing"
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
    if not np.array_equal(points, found) or not np.array_equal(wanted, counts):
        return f"column '{name}' does not hold each point as often as the plan says"
    return None
