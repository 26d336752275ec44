"""Assess files, in memory or on an engine."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.assessment import Assessment, assess
from discreet.check.folders import find_release
from discreet.cli import show
from discreet.recipe import Recipe


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
    _, internal = find_release(protected)
    if not internal.is_dir():
        print(
            f"discreet: {internal} is not there, so rows are taken to be in the original's order",
            file=sys.stderr,
        )
    with show.progress("assessing"):
        return assess(
            original,
            protected,
            rules.roles,
            recipe=rules,
            measures=measures,
            engine=engine,
            memory=memory,
            dialect=dialect,
        )
