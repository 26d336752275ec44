"""The check: whether a release keeps what its recipe promises.

A method's class says which promise it makes; whether that holds is found out here, by code that
shares nothing with the methods: it reads the recipe, counts in the released table, and, given the
evidence, applies the plan by itself to the original and compares cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.asked import not_as_asked
from discreet.check.evidence import Evidence, file_hmac, left_out
from discreet.check.findings import NEEDS_INTERNAL, CheckReport, Finding, Shown, finding
from discreet.check.original import NEEDS_ORIGINAL, against_original, is_map
from discreet.check.privacy import Nulls, models_within_groups
from discreet.check.promises import PROMISES
from discreet.check.rows import UNREADABLE, final_plans
from discreet.recipe.recipe import Recipe, Step, as_recipe
from discreet.recipe.roles import USES
from discreet.table import float_values, normalise, read_table, to_arrow
from discreet.table.files import delimiter_of


def check_release(
    protected: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    internal: Evidence | str | Path | None = None,
    original: Any = None,
    source: str | Path | None = None,
) -> CheckReport:
    """Verify what a release promises, as far as the evidence goes.

    Parameters
    ----------
    protected : table, or path of the released file
        A table may be in the original's order, as `Release.table` is, or in the written file's.
    recipe : Recipe, dict or path
    internal : path of the internal folder, optional
        Adds: the file's hash, the plan's figures.
    original : table or path, optional
        Adds, together with `internal`: every cell equals the plan applied.
    source : path, optional
        The file that the original was read from, where that is a table: a release that was made
        on an engine has the file's hash.

    Returns
    -------
    CheckReport

    Examples
    --------
    >>> import pyarrow as pa
    >>> recipe = {"roles": {"identifiers": ["name"], "confidential": ["income"]},
    ...           "steps": [{"method": "oma", "columns": ["income"], "k": 3}]}
    >>> print(check_release(pa.table({"income": [10, 10, 10, 50, 50]}), recipe))
          verified: no identifier is released (none of name)
          verified: every released column has a role (1 of 1)
            broken: k = 3 per value in column 'income' (2 records hold 50)
    not verifiable: ...
    """
    recipe = as_recipe(recipe)
    evidence = internal if isinstance(internal, Evidence | None) else Evidence.load(internal)
    path = Path(protected) if isinstance(protected, str | Path) else None
    schema = evidence.schema if evidence else None
    if path is None:
        table = normalise(to_arrow(protected), [])
    elif evidence is None:
        table = read_table(path, numeric=recipe.numeric)
    else:
        # A released file is read as `write_table` writes it, and never guessed at.
        table = read_table(
            path, schema=schema, separator=delimiter_of(path), quote='"', encoding="utf-8"
        )
    shown = _shown(table, path, evidence)
    findings = [*keeps_roles(table, recipe), *keeps_promises(shown, recipe, evidence)]
    findings += as_kept(shown, table.num_rows, path, recipe, evidence)
    if isinstance(original, str | Path):
        source = original
    if evidence is None or original is not evidence.original:
        original = _read_original(original, recipe)
    file = None if source is None else Path(source)
    findings += against_original(table, path, recipe, evidence, original, file)
    findings += within_groups(recipe, evidence, _nulls(shown, original))
    return CheckReport(tuple(findings), tuple(notes(shown, recipe)))


def _shown(table: pa.Table, path: Path | None, evidence: Evidence | None) -> Shown:
    """Leave out suppressed records, which a table in memory keeps as rows of nulls."""
    if evidence is None:
        empty = _empty(table)
        return Shown(table.filter(pa.array(~empty)) if empty.any() else table)
    gone, n = left_out(evidence.plan), evidence.log["input"]["rows"]
    if path is not None or table.num_rows != n:
        rows = evidence.rows
        return Shown(table, rows if rows is not None and len(rows) == table.num_rows else None)
    # A row of values where there should be nulls is shown, and counted.
    rows = np.delete(np.arange(n), gone[_empty(table)[gone]])
    if len(gone):
        return Shown(table.take(pa.array(rows)), rows)
    # Nobody knows whether a table in memory is in the order of the file that was saved.
    return Shown(table, rows if evidence.rows is None else None)


def _empty(table: pa.Table) -> np.ndarray:
    """Mask the rows that are null in every column."""
    empty = np.full(table.num_rows, True)
    for column in table.columns:
        empty &= column.is_null(nan_is_null=True).to_numpy()
    return empty


def _read_original(original: Any, recipe: Recipe) -> pa.Table | None:
    if original is None:
        return None
    if isinstance(original, str | Path):
        return read_table(original, null_markers=recipe.null_markers, numeric=recipe.numeric)
    return normalise(to_arrow(original), recipe.null_markers)


# From the table and the recipe alone


def keeps_roles(table: pa.Table, recipe: Recipe) -> list[Finding]:
    """Verify that what is released has the roles for it."""
    named = recipe.roles.named()
    hidden = [c for c, r in named.items() if r in ("identifiers", "unit", *USES)]
    left = [column for column in hidden if column in table.column_names]
    shown = [column for column in named if column not in hidden]
    lost = [column for column in shown if column not in table.column_names]
    strange = [column for column in table.column_names if column not in named]
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
        finding(
            "every released column has a role",
            problem,
            f"{table.num_columns} of {table.num_columns}",
        ),
    ]


def keeps_promises(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> list[Finding]:
    """Verify what each step promises."""
    findings = []
    steps = evidence.plan["steps"] if evidence else []
    for number, step in enumerate(recipe.steps):
        promise = step.build().promise
        if promise is not None and step.promise:
            plan = steps[number] if number < len(steps) else None
            findings += _readable(PROMISES[promise], step, shown, step, plan)
    return findings


def _readable(verify: Callable[..., list[Finding]], step: Step, *given: Any) -> list[Finding]:
    """Verify something; a plan that cannot be read proves nothing."""
    try:
        return verify(*given)
    except UNREADABLE as error:
        return [Finding(f"promises of {step.method}", "broken", f"cannot be read: {error!r}")]


# Of a step and its plan, what is null in the original.
FindNulls = Callable[[Step, Mapping[str, Any]], Nulls]


def _nulls(shown: Shown, original: pa.Table | None) -> FindNulls | None:
    """Return what finds nulls in the original; None where records cannot be found there."""
    if original is None or shown.rows is None or not is_map(shown.rows, len(original)):
        return None

    def find(step: Step, plan: Mapping[str, Any]) -> Nulls:
        return Nulls.of(shown, step, plan, original)

    return find


def within_groups(
    recipe: Recipe, evidence: Evidence | None, find: FindNulls | None
) -> list[Finding]:
    """Verify privacy models where records with and without nulls were treated apart."""
    findings = []
    for number, step in enumerate(recipe.steps):
        policy = step.parameters().get("null_policy")
        if policy != "segregate" or not step.promise:
            continue
        if evidence is None or find is None:
            said = f"the privacy models of step {number + 1} within each group by nulls"
            findings.append(Finding(said, "not verifiable", NEEDS_ORIGINAL))
        elif number < len(evidence.plan["steps"]):
            findings += _readable(_models_within, step, find, step, evidence.plan["steps"][number])
    return findings


def _models_within(find: FindNulls, step: Step, plan: Mapping[str, Any]) -> list[Finding]:
    return models_within_groups(step, plan, find(step, plan))


def notes(shown: Shown, recipe: Recipe) -> list[str]:
    """Say how many records are still unique: k per value in a column is not k-anonymity."""
    quasi = [column for column in recipe.roles.quasi if column in shown.column_names]
    if not quasi:
        return []
    return [
        f"{shown.unique(quasi):,} of {shown.num_rows:,} records are still unique on the quasi "
        f"columns together ({', '.join(quasi)})"
    ]


# With the internal folder


def as_kept(
    shown: Shown, written: int, path: Path | None, recipe: Recipe, evidence: Evidence | None
) -> list[Finding]:
    """Verify that hashes, numbers of rows and values are those that were kept.

    Parameters
    ----------
    shown : Shown
    written : int
        Rows of the released table.
    path : Path or None
        Of the released file, or folder of files.
    recipe : Recipe
    evidence : Evidence or None
    """
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
        rows = evidence.log["output"]["rows"]
        if path is None and len(left_out(evidence.plan)):
            rows = evidence.log["input"]["rows"]  # in memory, suppressed ones are rows of nulls
        problem = None if written == rows else f"{written:,}, but {rows:,} written"
        findings.append(finding("no row was added or lost", problem, f"{rows:,} rows"))
    plans = final_plans(evidence.plan)
    fewer = "suppressed" in evidence.plan
    try:
        problem = _other_steps(recipe, evidence) or next(
            filter(None, (_differing_count(shown, c, p, fewer) for c, p in plans)), None
        )
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


def _differing_count(shown: Shown, name: str, plan: dict[str, Any], fewer: bool) -> str | None:
    """Compare a column's values and, unless records were suppressed, their counts with the plan."""
    if name not in shown.column_names:
        return f"column '{name}' is missing"
    if plan["kind"] not in ("cuts", "multiples"):
        return None
    values, records, _ = shown.values(name)
    values = float_values(values, name, plan.get("unit_ns") or 10**9)
    found, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, weights=records).astype(np.int64)
    foreign = found[~np.isin(found, plan["points"])]
    if len(foreign):
        return f"column '{name}' holds {foreign[0]:.17g}, which is no point of the plan"
    if plan["encoding"] != "group" or fewer:
        return None
    points, position = np.unique(plan["points"], return_inverse=True)
    wanted = np.bincount(position, weights=plan["counts"]).astype(np.int64)
    if not np.array_equal(points, found) or not np.array_equal(wanted, counts):
        return f"column '{name}' does not hold each point as often as the plan says"
    return None
