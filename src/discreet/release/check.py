"""The check: whether a release keeps what its recipe promises.

A method's class says which promise it makes; whether that holds is found out here, by code that
shares nothing with the methods: it reads the recipe, counts in the released table, and, given the
evidence, applies the plan by itself to the original and compares cell by cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.release.evidence import Evidence, content_hmac, file_hmac
from discreet.release.recipe import Recipe, Step, as_recipe
from discreet.release.replay import replay
from discreet.table import float_values, normalise, read_table, to_arrow, tuple_counts

Status = Literal["verified", "broken", "not verifiable"]
NEEDS_INTERNAL = "needs the internal folder of the release"
NEEDS_ORIGINAL = "needs the internal folder and the original table"
APPLIED = "every treated cell equals the plan applied, nulls in place"
UNTOUCHED = "every other cell equals the original"


@dataclass(frozen=True)
class Finding:
    """One promise, and what became of it."""

    promise: str
    status: Status
    detail: str


@dataclass(frozen=True)
class CheckReport:
    """What the check found of each promise.

    Attributes
    ----------
    findings : tuple of Finding
    notes : tuple of str
        What is no promise, but should be known.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True where no promise is broken."""
        return not self.having("broken")

    @property
    def verified(self) -> bool:
        """True where every promise is verified: what `protect` demands."""
        return all(finding.status == "verified" for finding in self.findings)

    def having(self, status: Status) -> list[Finding]:
        """Give the findings with one status."""
        return [finding for finding in self.findings if finding.status == status]

    @property
    def summary(self) -> str:
        """Count the findings, in a few words."""
        statuses: tuple[Status, ...] = ("verified", "broken", "not verifiable")
        return ", ".join(f"{len(self.having(s))} {s}" for s in statuses if self.having(s))

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {"ok": self.ok, "summary": self.summary} | asdict(self)

    def __str__(self) -> str:
        lines = [f"{f.status:>14}: {f.promise} ({f.detail})" for f in self.findings]
        return "\n".join([*lines, *self.notes])


def check_release(
    protected: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    internal: Evidence | str | Path | None = None,
    original: Any = None,
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
        table = read_table(path, numeric=recipe.treated)
    else:
        # A released file is read as `write_table` writes it, and never guessed at.
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        table = read_table(path, schema=schema, separator=separator, quote='"', encoding="utf-8")
    findings = [*_roles(table, recipe), *_promises(table, recipe, evidence)]
    findings += _evidence(table, path, recipe, evidence)
    if evidence is None or original is not evidence.original:
        original = _read_original(original, recipe)
    findings += _against_original(table, path, recipe, evidence, original)
    return CheckReport(tuple(findings), tuple(_notes(table, recipe)))


def _finding(promise: str, problem: str | None, good: str) -> Finding:
    return Finding(promise, "broken", problem) if problem else Finding(promise, "verified", good)


def _read_original(original: Any, recipe: Recipe) -> pa.Table | None:
    if original is None:
        return None
    if isinstance(original, str | Path):
        return read_table(original, null_markers=recipe.null_markers, numeric=recipe.treated)
    return normalise(to_arrow(original), recipe.null_markers)


# From the table and the recipe alone


def _roles(table: pa.Table, recipe: Recipe) -> list[Finding]:
    named = recipe.roles.named()
    hidden = [c for c, r in named.items() if r in ("identifiers", "unit", "weight", "target")]
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
        _finding(
            "no identifier is released",
            f"column '{left[0]}' is there" if left else None,
            f"none of {', '.join(hidden)}" if hidden else "the recipe names none",
        ),
        _finding(
            "every released column has a role",
            problem,
            f"{table.num_columns} of {table.num_columns}",
        ),
    ]


def _promises(table: pa.Table, recipe: Recipe, evidence: Evidence | None) -> list[Finding]:
    findings = []
    for number, step in enumerate(recipe.steps):
        promise = step.build().promise
        if promise is None or not step.promise:
            continue
        for column in step.columns:
            if column in table.column_names:
                plan = _plan_of(evidence, number, column)
                findings.append(PROMISES[promise](table[column], step, column, plan))
    return findings


def _plan_of(evidence: Evidence | None, step: int, column: str) -> dict[str, Any] | None:
    steps = evidence.plan["steps"] if evidence else []
    return steps[step]["columns"].get(column) if step < len(steps) else None


def _k_per_value(
    column: pa.ChunkedArray, step: Step, name: str, plan: dict[str, Any] | None
) -> Finding:
    # Methods call the least number of records per value by one of these names.
    given = step.parameters()
    k = next(given[key] for key in ("k", "min_count", "min_attraction") if key in given)
    k = k[name] if isinstance(k, Mapping) else k
    if isinstance(k, str):
        rule = f"k per value in column '{name}', k by the rule {k}"
        if plan is None:
            return Finding(rule, "not verifiable", NEEDS_INTERNAL)
        k = plan["k"]
    counted = pc.value_counts(column.drop_null())
    counts = counted.field("counts").to_numpy()
    rare = None
    if len(counts) and counts.min() < k:
        value = counted.field("values")[int(counts.argmin())].as_py()
        rare = f"{counts.min()} records hold {value}"
    smallest = counts.min() if len(counts) else 0
    good = f"{len(counts):,} values, the rarest in {smallest:,} records"
    if 0 < column.null_count < k:
        good += f"; but only {column.null_count} nulls, which show as well"
    return _finding(f"k = {k} per value in column '{name}'", rare, good)


def _within_bounds(
    column: pa.ChunkedArray, step: Step, name: str, plan: dict[str, Any] | None
) -> Finding:
    bounds = {}
    for side in ("lower", "upper"):
        bound = step.parameters()[side]
        bounds[side] = bound.get(name) if isinstance(bound, Mapping) else bound
    lower, upper = bounds["lower"], bounds["upper"]
    said = " and ".join(f"{side} {bound:g}" for side, bound in bounds.items() if bound is not None)
    problem = None
    values = float_values(column, name)
    if not np.isnan(values).all():
        smallest, largest = np.nanmin(values), np.nanmax(values)
        if lower is not None and smallest < lower:
            problem = f"{smallest:g} is below"
        if upper is not None and largest > upper:
            problem = f"{largest:g} is above"
    return _finding(f"column '{name}' stays within {said}", problem, "smallest and largest do")


# What a method's `promise` means, by its name.
PROMISES = {"k-per-value": _k_per_value, "within-bounds": _within_bounds}


def _notes(table: pa.Table, recipe: Recipe) -> list[str]:
    """Say how many records are still unique: k per value in a column is not k-anonymity."""
    quasi = [column for column in recipe.roles.quasi if column in table.column_names]
    if not quasi:
        return []
    _, counts = tuple_counts(table, quasi)
    unique = int((counts == 1).sum())
    return [
        f"{unique:,} of {table.num_rows:,} records are still unique on the quasi columns together "
        f"({', '.join(quasi)})"
    ]


# With the internal folder


def _evidence(
    table: pa.Table, path: Path | None, recipe: Recipe, evidence: Evidence | None
) -> list[Finding]:
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
        problem = None if table.num_rows == rows else f"{table.num_rows:,}, but {rows:,} written"
        findings.append(_finding("no row was added or lost", problem, f"{rows:,} rows"))
    plans = _final_plans(evidence)
    try:
        problem = _other_steps(recipe, evidence) or next(
            filter(None, (_differing_count(table, c, p) for c, p in plans)), None
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        problem = f"the plan cannot be read: {error!r}"
    findings.append(_finding(figures, problem, f"{len(plans)} columns"))
    return findings


def _other_steps(recipe: Recipe, evidence: Evidence) -> str | None:
    """Compare the plan's steps and columns with the recipe's."""
    wanted = [(step.method, set(step.columns)) for step in recipe.steps]
    found = [(step["method"], set(step["columns"])) for step in evidence.plan["steps"]]
    return None if found == wanted else "the plan's steps are not the recipe's"


def _same_file(promise: str, path: Path | None, evidence: Evidence) -> Finding:
    if path is None:
        return Finding(promise, "not verifiable", "needs the file, not a table in memory")
    assert evidence.folder is not None
    files = evidence.log["files"]
    problem = None
    if file_hmac(path, evidence.key) != files.get(f"public/{path.name}"):
        problem = "its keyed hash differs"
    elif path.parent == evidence.folder.parent / "public":
        there = {f"public/{p.name}": file_hmac(p, evidence.key) for p in path.parent.iterdir()}
        written = {name: known for name, known in files.items() if name.startswith("public/")}
        other = dict(set(there.items()) ^ set(written.items()))
        problem = f"{min(other)} is not as it was written" if other else None
    return _finding(promise, problem, "keyed hash equal")


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
    return _finding(promise, problem, "keyed hashes equal")


def _final_plans(evidence: Evidence) -> list[tuple[str, dict[str, Any]]]:
    """Give the last plan of each treated column."""
    plans: dict[str, dict[str, Any]] = {}
    for step in evidence.plan["steps"]:
        plans.update(step["columns"])
    return list(plans.items())


def _differing_count(table: pa.Table, name: str, plan: dict[str, Any]) -> str | None:
    """Compare the values of a column and their counts with the plan's."""
    if name not in table.column_names:
        return f"column '{name}' is missing"
    values = float_values(table[name], name, plan.get("unit_ns") or 10**9)
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if plan["kind"] not in ("cuts", "multiples"):
        return None
    foreign = found[~np.isin(found, plan["points"])]
    if len(foreign):
        return f"column '{name}' holds {foreign[0]:.17g}, which is no point of the plan"
    if plan["encoding"] != "group":
        return None
    points, position = np.unique(plan["points"], return_inverse=True)
    wanted = np.bincount(position, weights=plan["counts"]).astype(np.int64)
    if not np.array_equal(points, found) or not np.array_equal(wanted, counts):
        return f"column '{name}' does not hold each point as often as the plan says"
    return None


# With the original too


def _against_original(
    table: pa.Table,
    path: Path | None,
    recipe: Recipe,
    evidence: Evidence | None,
    original: pa.Table | None,
) -> list[Finding]:
    same_input = "the original is the one that was protected"
    if evidence is None or original is None:
        names = (same_input, APPLIED, UNTOUCHED)
        return [Finding(name, "not verifiable", NEEDS_ORIGINAL) for name in names]
    same = evidence.original is original or (
        content_hmac(original, evidence.key) == evidence.log["input"]["hmac"]
    )
    findings = [_finding(same_input, None if same else "its keyed hash differs", "hash equal")]
    in_order = np.arange(original.num_rows)
    rows = in_order if evidence.rows is None else evidence.rows
    cells = _cells(table, recipe, evidence, original, rows)
    if path is None and evidence.rows is not None and any(f.status == "broken" for f in cells):
        # A table in memory may never have been shuffled.
        unshuffled = _cells(table, recipe, evidence, original, in_order)
        cells = cells if any(f.status == "broken" for f in unshuffled) else unshuffled
    return findings + cells


def _cells(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> list[Finding]:
    missing = [c for c in table.column_names if c not in original.column_names]
    problem = None
    if missing:
        problem = f"the original has no column '{missing[0]}'"
    elif len(rows) != table.num_rows:
        problem = f"there are {len(rows):,} original rows, but {table.num_rows:,} in the table"
    elif not np.array_equal(np.sort(rows), np.arange(original.num_rows)):
        problem = "the row map does not name each row of the original once"
    if problem:
        return [Finding(name, "broken", problem) for name in (APPLIED, UNTOUCHED)]
    findings = [
        _applied(table, evidence, original, rows),
        _untouched(table, recipe, evidence, original, rows),
    ]
    household = recipe.roles.household
    if household is not None and household in table.column_names:
        findings.append(_households(table, household, original, rows))
    return findings


def _applied(table: pa.Table, evidence: Evidence, original: pa.Table, rows: np.ndarray) -> Finding:
    treated = [(n, plan) for n, plan in _final_plans(evidence) if n in table.column_names]
    cells = 0
    try:
        applied = replay(evidence.plan, evidence.recipe.seed or 0, original)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return Finding(APPLIED, "broken", f"the plan cannot be applied: {error!r}")
    for name, plan in treated:
        expected = applied[name][rows]
        found = float_values(table[name], name, plan.get("unit_ns") or 10**9)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        if not same.all():
            row = int(np.argmin(same))
            return Finding(
                APPLIED,
                "broken",
                f"column '{name}', row {row + 1}: {found[row]:.17g}, the plan gives "
                f"{expected[row]:.17g}; {int((~same).sum()):,} cells differ",
            )
        cells += len(found)
    return Finding(APPLIED, "verified", f"{cells:,} cells")


def _untouched(
    table: pa.Table, recipe: Recipe, evidence: Evidence, original: pa.Table, rows: np.ndarray
) -> Finding:
    treated = {name for name, _ in _final_plans(evidence)} | {recipe.roles.household}
    others = [name for name in table.column_names if name not in treated]
    wanted = original.select(others).take(pa.array(rows))
    for name in others:
        before, after = wanted[name], table[name]
        if pa.types.is_dictionary(before.type):
            before = before.cast(before.type.value_type)
        try:
            after = after.cast(before.type)
        except pa.ArrowException:
            return Finding(
                UNTOUCHED, "broken", f"column '{name}' is {after.type}, not {before.type}"
            )
        differing = pc.invert(pc.fill_null(_equal_cells(before, after), False))
        if pc.any(differing).as_py():
            row = pc.index(differing, True).as_py()
            return Finding(UNTOUCHED, "broken", f"column '{name}', row {row + 1} differs")
    return Finding(
        UNTOUCHED, "verified", f"{len(others)} columns, {len(others) * len(rows):,} cells"
    )


def _equal_cells(before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Compare cell by cell; two nulls are equal, and NaN is a null."""
    if pa.types.is_floating(before.type):
        before, after = (pc.if_else(pc.is_nan(c), None, c) for c in (before, after))
    if pa.types.is_nested(before.type):
        return pa.chunked_array(
            [[a == b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True)]]
        )
    both_null = pc.and_(pc.is_null(before), pc.is_null(after))
    return pc.or_kleene(both_null, pc.equal(before, after))


def _households(table: pa.Table, name: str, original: pa.Table, rows: np.ndarray) -> Finding:
    """Verify that old and new household ids are one to one."""
    old = original[name].take(pa.array(rows))
    if pa.types.is_dictionary(old.type):
        old = old.cast(old.type.value_type)
    pairs, _ = tuple_counts(pa.table({"old": old, "new": table[name]}), ["old", "new"])
    one_to_one = all(len(pc.unique(pairs[side])) == pairs.num_rows for side in ("old", "new"))
    nulls = pc.all(pc.equal(pc.is_null(old), pc.is_null(table[name]))).as_py()
    problem = None if one_to_one and nulls else "some household was split or joined"
    return _finding(f"household numbers in '{name}' are one to one", problem, f"{pairs.num_rows:,}")
