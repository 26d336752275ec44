"""Assess a release, or compare several and write the comparison to a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import complete, options, show
from discreet.errors import BadInput


@options.reads_files
def assess(
    original: Annotated[
        Path, typer.Argument(help="The original table; or the release alone, to find it.")
    ],
    protected: Annotated[
        Path | None, typer.Argument(help="Release folder, or released file.")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="The recipe, if there is no internal folder.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Take only this measure; can be repeated.", autocompletion=complete.measures
        ),
    ] = None,
    population: options.People = None,
    engine: options.Measuring = "auto",
    memory: options.Memory = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Measure risk and utility before and after."""
    from discreet.assessment import assess as measured
    from discreet.assessment.opened import original_of
    from discreet.check.folders import find_release
    from discreet.recipe import Recipe

    if protected is None:
        original, protected = original_of(original), original
    _, internal = find_release(protected)
    if recipe is None and not internal.is_dir():
        raise BadInput(f"{internal} does not exist; give the recipe with --recipe")
    rules = Recipe.load(internal / "recipe.toml" if recipe is None else recipe)
    with show.progress("assessing"):
        found = measured(
            original,
            protected,
            rules.roles,
            recipe=rules,
            measures=measure or None,
            population=population,
            engine=engine,
            memory=memory,
            dialect=dialect,
        )
    if not internal.is_dir():
        print(
            f"discreet: {internal} is not there, so rows are taken to be in the original's order",
            file=sys.stderr,
        )
    if as_json:
        show.print_json(found.to_dict())
    else:
        show.assessment(found)


@options.reads_files
def compare(
    original: options.Original,
    releases: Annotated[list[Path], typer.Argument(help="Release folders, or released files.")],
    file: Annotated[
        Path | None, typer.Option("--out", help="Write the comparison to this .html or .json file.")
    ] = None,
    risk: Annotated[
        str,
        typer.Option(
            help="Risk to rank by: linkage, or a figure like individual_risk.mean.",
            autocompletion=complete.risks,
        ),
    ] = "linkage",
    loss: Annotated[
        str,
        typer.Option(
            help="Loss to rank by: information_loss, or a figure like il1s.",
            autocompletion=complete.losses,
        ),
    ] = "information_loss",
    force: options.ForceFile = False,
    engine: options.Measuring = "auto",
    memory: options.Memory = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Compare releases of one table, and mark those that no other one beats."""
    from discreet.assessment import compare as compared
    from discreet.private import write_private

    if file is not None:
        _check(file, force, original, releases)
    with show.progress(f"measuring {len(releases)} releases"):
        found = compared(
            original, releases, risk=risk, loss=loss, engine=engine, memory=memory, **dialect
        )
    if file is not None and file.suffix == ".json":
        write_private(file, found.to_json() + "\n")
    elif file is not None:
        found.to_html(file)
    if as_json:
        show.print_json(found.to_dict())
        return
    show.comparison(found)
    if file is not None:
        show.print_written(file)


def _check(file: Path, force: bool, original: Path, releases: list[Path]) -> None:
    """Refuse a file that cannot or must not be written, before any work is done."""
    if file.suffix not in (".html", ".json"):
        raise BadInput(f"{file} must end with .html or .json")
    if file.exists() and not force:
        raise BadInput(f"{file} exists; choose another place, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise BadInput(f"{file}: the folder {file.parent} does not exist")
    place, table, *folders = map(os.path.realpath, (file, original, *releases))
    if place == table:
        raise BadInput(f"{file} would replace the input {original}; choose another place")
    for release, folder in zip(releases, folders, strict=True):
        if Path(folder) in Path(place).parents:
            raise BadInput(f"{file} is inside the release {release}; choose another place")
