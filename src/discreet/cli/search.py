"""Search the best releases of a table."""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, show
from discreet.cli.fronts import LINES, told
from discreet.cli.fronts import progress as told_progress
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.tuning.front import Front

RecipeFile = Annotated[
    Path, typer.Option("--recipe", help="TOML file with roles, and the steps that are given.")
]
Risk = Annotated[str | None, typer.Option(help="Largest risk, such as 'linkage <= 0.05'.")]
Loss = Annotated[
    str | None,
    typer.Option(help="Loss to go by, such as score, or its largest: 'information_loss <= 0.3'."),
]
Known = Annotated[
    str | None,
    typer.Option(
        help="What the intruder knows: quasi, all, or columns such as age,region; by default "
        "the quasi columns and confidential numbers."
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option("--out", help="Folder to write; by default FILE.front, beside the table."),
]
Seed = Annotated[int, typer.Option(help="Another one makes other draws.", min=0)]
# Fewer recipes than this are hardly a search.
_FEW = 50
_Force = Annotated[bool, typer.Option("--force", help="Replace an existing front.")]


@options.reads_files
def search(
    file: options.TableFile,
    recipe: RecipeFile,
    risk: Risk = None,
    loss: Loss = None,
    keep: Annotated[
        str | None, typer.Option(help="Columns to release in full detail, such as age,region.")
    ] = None,
    known: Known = None,
    minutes: Annotated[
        float | None, typer.Option(help="How long to search; 5 by default.", min=0)
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(help="How many recipes to try instead; a rerun gives the same.", min=1),
    ] = None,
    seed: Seed = 0,
    out: _Out = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a search that was stopped.")
    ] = False,
    force: _Force = False,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Search for the recipes whose releases of a table have the least risk and loss."""
    from discreet.tuning.search import MINUTES
    from discreet.tuning.search import search as find

    if minutes is not None and evaluations is not None:
        raise BadInput("give --minutes or --evaluations, not both")
    if resume and force:
        raise BadInput("--resume goes on with what is there, and --force replaces it; choose one")
    folder = folder_for(file, out, resume or force)
    if evaluations is None and minutes is None:
        minutes = MINUTES
    with told_progress(minutes, evaluations) as progress:
        front = find(
            file,
            recipe,
            risk=risk,
            loss=loss,
            keep=_names(keep),
            known=who(known),
            minutes=minutes,
            evaluations=evaluations,
            seed=seed,
            out=folder,
            resume=resume,
            force=force,
            progress=progress,
            dialect=dialect,
        )
    _print(front, file, folder, dialect, as_json, longer=front.evaluations < _FEW)


def _names(listed: str | None) -> list[str]:
    """Split a list of columns at commas; a name with a comma is in quotes."""
    if listed is None:
        return []
    return [name.strip() for name in next(csv.reader([listed], skipinitialspace=True), [])]


def who(known: str | None) -> str | list[str] | None:
    """Return what the intruder knows: a word, or a list of columns."""
    return known if known in (None, "all", "quasi") else _names(known)


def folder_for(
    file: Path, out: Path | None, may_exist: bool, kind: str = "front", go_on: bool = True
) -> Path:
    """Choose where the front or sweep goes, and refuse what is there before any work is done."""
    name = file.name.split(".")[0] or file.name
    folder = out if out is not None else file.parent / f"{name}.{kind}"
    if folder.is_file():
        raise BadInput(f"{folder} is a file; choose a folder with --out")
    if not folder.absolute().parent.is_dir():
        raise BadInput(f"{folder}: the folder {folder.parent} does not exist")
    if folder.exists() and os.path.realpath(folder) == os.path.realpath(file):
        raise BadInput(f"{folder} is the table; choose another place with --out")
    if folder.exists() and not may_exist:
        resume = "go on with --resume, " * go_on
        raise BadInput(
            f"{folder} exists; choose another place with --out, {resume}or replace it with --force"
        )
    return folder


def _print(
    front: Front,
    file: Path,
    folder: Path,
    dialect: Mapping[str, str | None],
    as_json: bool,
    longer: bool = False,
) -> None:
    content = front.to_dict()
    next_command = _next(content, file, folder, dialect)
    if as_json:
        show.print_json(content | {"folder": str(folder), "next": next_command})
        return
    # Only a search keeps what it has tried.
    how_on = " (--resume goes on)" if (folder / "journal.jsonl").exists() else ""
    say(_summary(content, file, how_on))
    if longer:
        say("So few are only a start; --resume with more --minutes goes on from here.")
    for line in told(content, min(show.out.width, 100), LINES - longer):
        say(line)
    say("")
    say(f"All recipes: {folder / 'index.html'}, with files in {folder / 'recipes'}")
    say(f"Never share {folder}: it tells about the original. To protect the table, run")
    say(f"  {next_command}")


def _summary(content: Mapping[str, Any], file: Path, how_on: str) -> str:
    stopped = f"Stopped by Ctrl-C{how_on}: " if content["stopped"] else ""
    rows = content["rows"]
    searched = content["searched_rows"]
    sample = "" if searched == rows else f", searched on {searched:,} of them"
    if content.get("measured_rows", rows) < rows:
        sample += f" and measured on about {content['measured_rows']:,}"
    count = len(content["points"])
    return (
        f"{stopped}{content['evaluations']:,} recipes for {file.name} ({rows:,} records{sample}) "
        f"tried in {content['seconds']:.0f} s; {count} to choose from."
    )


def _next(
    content: Mapping[str, Any], file: Path, folder: Path, dialect: Mapping[str, str | None]
) -> str:
    """Return the command that makes the recommended release."""
    recipe = next(p["recipe"] for p in content["points"] if p["name"] == content["best"])
    release = folder.parent / f"{folder.name.removesuffix('.front')}.release"
    return command_of(file, folder / recipe, release, dialect)


def command_of(file: Path, recipe: Path, release: Path, dialect: Mapping[str, str | None]) -> str:
    """Return the command that makes a release by a recipe."""
    words = ["discreet", "protect", str(file), "--recipe", str(recipe)]
    for name, value in dialect.items():
        words += [] if value is None else [f"--{name}", value]
    return shlex.join([*words, "--out", str(release)])


def say(text: str) -> None:
    """Print a line as it is."""
    show.out.print(text, markup=False, soft_wrap=True)
