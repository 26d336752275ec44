"""The demonstration: an invented table, a ready-made recipe, the whole flow."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options, show
from discreet.errors import BadInput

_OURS = {"households.csv", "recipe.toml", "release"}


def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("discreet-demo"),
    rows: Annotated[int, typer.Option(help="Number of people to invent.", min=100)] = 10_000,
    force: options.Force = False,
) -> None:
    """Invent a table of people, protect it, check it and measure it."""
    from discreet.check import check_release
    from discreet.datasets import make_households
    from discreet.flow.protection import protect_to
    from discreet.flow.reports import saved_facts
    from discreet.recipe import Recipe
    from discreet.report.decision import decision
    from discreet.report.measures import guided
    from discreet.table import write_table

    _clear(folder, force)
    folder.mkdir(parents=True, exist_ok=True)
    table, recipe, target = folder / "households.csv", folder / "recipe.toml", folder / "release"
    show.out.print(
        f"[bold]1. A table to share.[/bold] {rows:,} invented people in households, "
        f"2 % of the cells missing: {table}"
    )
    write_table(make_households(rows, seed=2024, null_rate=0.02), table)
    recipe.write_text(files("discreet.cli").joinpath("demo.toml").read_text("utf-8"), "utf-8")
    show.out.print(
        f"[bold]2. A recipe.[/bold] {recipe} says what each column is and what is done: region, "
        "age, sex and education are made coarser until everybody shares them with at least 14 "
        "others, among whom there are three diseases or more; incomes and assets become means of "
        "at least ten people."
    )
    with show.stages() as tell:
        *_, written = protect_to(table, Recipe.load(recipe), target, tell=tell)
    internal = target / "internal"
    facts = saved_facts(target)
    show.out.print("[bold]3. What came out.[/bold]")
    show.decide_by(decision(facts))
    judged, failed = guided(facts["assessment"])
    report = check_release(written, internal / "recipe.toml", internal, table)
    show.out.print(
        f"[bold]4. The proof.[/bold] {len(judged) - len(failed)} of {len(judged)} guide "
        "values are met, and an independent check of the written files against the original says: "
        f"{report.summary}."
    )
    show.out.print("[bold]5. Where to look.[/bold]")
    for page, said in (
        (written, "the table to share"),
        (target / "public" / "report.html", "for its users"),
        (internal / "report.html", "for the review board; internal/ is never shared"),
    ):
        show.out.print(f"  {page}: {said}", markup=False, soft_wrap=True)


def _clear(folder: Path, force: bool) -> None:
    """Remove an earlier demonstration, and nothing else."""
    from discreet.check.folders import is_release

    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; choose another place")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not force:
        raise BadInput(f"{folder} exists; choose another place, or replace it with --force")
    strange = {path.name for path in folder.iterdir()} - _OURS
    release = folder / "release"
    if strange or (release.exists() and not is_release(release)):
        raise BadInput(f"{folder} holds other files too, so --force does not replace it")
    shutil.rmtree(folder)
