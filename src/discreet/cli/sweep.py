"""Try every combination of some values of a recipe's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import complete, options, show
from discreet.cli.fronts import axes
from discreet.cli.fronts import progress as told_progress
from discreet.cli.search import (
    Known,
    Loss,
    RecipeFile,
    Risk,
    Seed,
    command_of,
    folder_for,
    say,
    who,
)
from discreet.errors import BadInput

# Rows that are printed; of more, the best and those that no other beats.
_MOST_ROWS = 100
# Reasons that are printed of combinations without a release.
_MOST_REASONS = 8


@options.reads_files
def sweep(
    file: options.TableFile,
    recipe: RecipeFile,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="A parameter and its values: k=2..20, k=2..20..2, quality=loss,nue; where several "
            "steps have it 2.k=3,5 or generalize.k=3,5. Can be repeated.",
            autocompletion=complete.parameters,
        ),
    ] = None,
    best: Annotated[
        str | None,
        typer.Option(
            help="Tell the best by SRC, NVIr, NVRr, loss, risk or seconds.",
            autocompletion=complete.best,
        ),
    ] = None,
    risk: Risk = None,
    loss: Loss = None,
    known: Known = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write; by default FILE.sweep, beside the table."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing sweep.")] = False,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Try every combination of some values of a recipe's parameters, such as k=2..20."""
    from discreet.tuning.sweep import sweep as try_all
    from discreet.tuning.vary import read_option

    varied: dict[str, str] = {}
    for option in vary or ():
        name, values = read_option(option)
        if name in varied:
            raise BadInput(f"--vary {name} is given twice; name all its values at once")
        varied[name] = values
    folder = folder_for(file, out, force, "sweep", go_on=False)
    with told_progress(None, None) as progress:
        found = try_all(
            file,
            recipe,
            varied,
            best=best,
            risk=risk,
            loss=loss,
            known=who(known),
            seed=seed,
            out=folder,
            force=force,
            progress=progress,
            dialect=dialect,
        )
    content = found.to_dict()
    next_command = _next(content, file, folder, dialect)
    if as_json:
        show.print_json(content | {"folder": str(folder), "next": next_command})
        return
    for line in told(content, file.name):
        say(line)
    say("")
    say(f"Pictures: {folder / 'index.html'}; the table: {folder / 'rows.csv'}; recipes beside it")
    say(f"Never share {folder}: it tells about the original.")
    if next_command:
        say("To protect the table by the best recipe, run")
        say(f"  {next_command}")


def told(content: Mapping[str, Any], name: str) -> Iterator[str]:
    """Tell a sweep, as `Sweep.to_dict` has it, line by line."""
    from discreet.report.sweep import sentences

    first, *rest = sentences(content, name)
    yield first
    yield from axes(content)
    yield ""
    yield from _table(content)
    yield from _reasons(content)
    yield ""
    yield from rest


def _table(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table; of many rows, those that matter most."""
    from discreet.report.sweep import row_table

    table = row_table(content)
    shown = [*table.rows]
    if len(shown) > _MOST_ROWS:
        named = {*content["best"]["rows"], *content["front"]}
        shown = [row for row in shown if row[0] in named]
    lines = [table.head, *shown]
    text, given = len(table.head) - table.numeric, 1 + len(content["parameters"])
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.head))]
    # What is said of rows comes last, where narrow terminals wrap; that all passed is said above.
    said = range(given + all(row["check"] == "passed" for row in content["rows"]), text)
    order = [*range(given), *range(text, len(table.head)), *said]
    for line in lines:
        yield "  ".join(
            line[place].ljust(widths[place]) if place < text else line[place].rjust(widths[place])
            for place in order
        ).rstrip()
    if len(shown) < len(table.rows):
        yield f"... of {len(table.rows):,} rows, the best and those that no other beats"


def _reasons(content: Mapping[str, Any]) -> Iterator[str]:
    """Say why combinations gave no release."""
    reasons: dict[str, list[str]] = {}
    for row in content["rows"]:
        if row["why"]:
            reasons.setdefault(row["why"], []).append(row["name"])
    if reasons:
        yield ""
        yield "Without a release:"
    for why, names in list(reasons.items())[:_MOST_REASONS]:
        yield f"  {', '.join(names)}: {why}"
    if len(reasons) > _MOST_REASONS:
        yield f"  and {len(reasons) - _MOST_REASONS:,} more reasons, in the table"


def _next(
    content: Mapping[str, Any], file: Path, folder: Path, dialect: Mapping[str, str | None]
) -> str:
    """Return the command that makes the best release; empty where none was asked for, or is."""
    if not content["best"]["rows"]:
        return ""
    recipes = {row["name"]: row["recipe"] for row in content["rows"]}
    release = folder.parent / f"{folder.name.removesuffix('.sweep')}.release"
    return command_of(file, folder / recipes[content["best"]["rows"][0]], release, dialect)
