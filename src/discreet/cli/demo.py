"""The demonstration: an invented table, a ready-made recipe, the whole flow."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from discreet.check import check_release
from discreet.check.folders import is_release
from discreet.cli import show
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.flow import protect
from discreet.table import write_table

_OURS = {"households.csv", "recipe.toml", "release"}


def run_demo(out: Console, folder: Path, rows: int, force: bool) -> None:
    """Make, protect, check, assess and report a table of households, all under one folder."""
    _clear(folder, force)
    folder.mkdir(parents=True, exist_ok=True)
    table, recipe, target = folder / "households.csv", folder / "recipe.toml", folder / "release"
    out.print(
        f"[bold]1. A table to share.[/bold] {rows:,} invented people in households, "
        f"2 % of the cells missing: {table}"
    )
    write_table(make_households(rows, seed=2024, null_rate=0.02), table)
    recipe.write_text(files("discreet.cli").joinpath("demo.toml").read_text("utf-8"), "utf-8")
    out.print(
        f"[bold]2. A recipe.[/bold] {recipe} says what each column is and what to do: ages above "
        "85 become 85, and incomes and assets are replaced by the mean of at least ten."
    )
    with show.progress("protecting"):
        release = protect(table, recipe, "memory")
        assessment = release.assess()
        written = release.save(target, assessment=assessment)
    out.print("[bold]3. What came out.[/bold]")
    show.release(out, release, assessment, written)
    out.print("[bold]4. The check again, from the files.[/bold]", end=" ")
    report = check_release(written, target / "internal" / "recipe.toml", target / "internal", table)
    out.print(f"discreet check {target} --original {table}: {report.summary}.")
    out.print("[bold]5. The reports.[/bold] For users of the data, and for the review board:")
    for page in (target / "public" / "report.html", target / "internal" / "report.html"):
        out.print(str(page), markup=False, soft_wrap=True)


def _clear(folder: Path, force: bool) -> None:
    """Remove an earlier demonstration, and nothing else."""
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
