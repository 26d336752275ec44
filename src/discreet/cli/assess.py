"""Assess files, in memory or on an engine."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.assessment import Assessment, assess
from discreet.check.evidence import Evidence, content_hmac, lists_rows, suppressed_rows
from discreet.check.folders import find_release
from discreet.cli import show
from discreet.engines.choice import choose
from discreet.errors import BadInput
from discreet.recipe import Recipe
from discreet.recipe.reading import read_original
from discreet.table import read_table


def run_assess(
    original: Path,
    protected: Path,
    recipe: Path,
    measures: list[str] | None,
    engine: str,
    memory: str | None,
    dialect: dict[str, str | None],
) -> Assessment:
    """Measure a release against its original."""
    rules = Recipe.load(recipe)
    table, internal = find_release(protected)
    evidence = Evidence.load(internal) if internal.is_dir() else None
    if evidence is None:
        print(
            f"discreet: {internal} is not there, so rows are taken to be in the original's order",
            file=sys.stderr,
        )
    chosen = _engine(engine, original, evidence)
    with show.progress("assessing"):
        if chosen == "memory":
            return _in_memory(original, table, protected, rules, evidence, measures, dialect)
        from discreet.assessment.large import assess_files

        return assess_files(
            original, table, rules, evidence, memory=memory, dialect=dialect, measures=measures
        )


def _engine(engine: str, original: Path, evidence: Evidence | None) -> str:
    """Settle the engine: a release that one has made is measured on one."""
    chosen = choose(engine, original)
    if chosen == "spark":
        raise BadInput("assess runs in memory or on duckdb; use --engine duckdb")
    if evidence is None or ("hmac" in evidence.log["input"] and lists_rows(evidence.plan)):
        return chosen
    if engine == "memory":
        raise BadInput(
            "the release was made on an engine, which counts suppressed records and does not list "
            "them; use --engine duckdb"
        )
    return "duckdb"


def _in_memory(
    original: Path,
    table: Path,
    protected: Path,
    rules: Recipe,
    evidence: Evidence | None,
    measures: list[str] | None,
    dialect: dict[str, str | None],
) -> Assessment:
    before = read_original(original, rules, **dialect)
    if evidence is None:
        after, rows, gone = read_table(table, numeric=rules.numeric), None, None
    else:
        if content_hmac(before, evidence.key) != evidence.log["input"]["hmac"]:
            raise BadInput(f"{original} is not the table that {protected} was made from")
        after, rows = read_table(table, schema=evidence.schema), evidence.rows
        gone = suppressed_rows(evidence.plan)
    return assess(
        before,
        after,
        rules.roles,
        recipe=rules,
        rows=rows,
        suppressed=gone,
        measures=measures,
    )
