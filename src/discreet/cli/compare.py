"""Assess a release, or compare several and write the comparison to a file."""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.assessment import Assessment, Comparison, assess, compare
from discreet.check.folders import find_release
from discreet.cli import show
from discreet.errors import BadInput
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


def run_compare(
    original: Path,
    releases: list[Path],
    file: Path | None,
    force: bool,
    risk: str,
    loss: str,
    engine: str,
    memory: str | None,
    dialect: dict[str, str | None],
) -> Comparison:
    """Compare releases, and write a page or JSON if a file is given."""
    if file is not None:
        _check(file, force, original, releases)
    with show.progress(f"measuring {len(releases)} releases"):
        found = compare(
            original, releases, risk=risk, loss=loss, engine=engine, memory=memory, **dialect
        )
    if file is not None and file.suffix == ".json":
        file.write_text(found.to_json() + "\n", encoding="utf-8")
    elif file is not None:
        found.to_html(file)
    return found


def _check(file: Path, force: bool, original: Path, releases: list[Path]) -> None:
    """Refuse a file that cannot or must not be written, before any work is done."""
    if file.suffix not in (".html", ".json"):
        raise BadInput(f"{file} must end with .html or .json")
    if file.exists() and not force:
        raise BadInput(f"{file} exists; choose another place, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise BadInput(f"{file}: the folder {file.parent} does not exist")
    if file.resolve() == original.resolve():
        raise BadInput(f"{file} would replace the input {original}; choose another place")
    for release in releases:
        if release.resolve() in file.resolve().parents:
            raise BadInput(f"{file} is inside the release {release}; choose another place")
