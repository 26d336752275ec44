"""Print the first look at a table, and write what it proposes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli import show
from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.inspection import Inspection, inspect
from discreet.inspection.inspection import ColumnLook
from discreet.inspection.proposal import (
    ANSWERS,
    Proposal,
    propose,
    why_no_recipe,
    write_hierarchies,
)

_HEADINGS = ("column", "kind", "distinct", "nulls", "unique", "range", "probably", "why")
_COLOURS = {"identifiers": "red", "quasi": "yellow", "confidential": "magenta"}


def run_inspect(
    out: Console,
    file: Path,
    *,
    recipe: Path | None,
    interactive: bool,
    shown: list[str],
    folder: Path | None,
    force: bool,
    quiet: bool,
    dialect: dict[str, str | None],
) -> dict[str, Any]:
    """Look at a file, print what was found, and write the recipe and hierarchies if asked to.

    Returns
    -------
    dict
        Everything as plain data, for `--json`.
    """
    if recipe is not None:
        _check_recipe(recipe, file, force)
    if interactive and recipe is None:
        raise BadInput("--interactive asks for roles, so it needs --write-recipe")
    with show.progress(f"looking at {file.name}"):
        seen = inspect(file, **dialect)
    content = seen.to_dict()
    trees = {name: Hierarchy.auto().show(seen.column(name), name) for name in shown}
    if not quiet:
        if trees:
            _trees(out, trees)
        else:
            _print(out, seen)
    content["hierarchies"] = trees
    if recipe is None and folder is None:
        return content
    try:
        answers = _ask(out, seen) if interactive else {}
    except typer.Abort:
        raise BadInput("some questions were not answered; nothing was written") from None
    proposal = propose(seen, answers, _seen_from(folder, recipe))
    if folder is not None:
        write_hierarchies(seen, _wanted(seen, proposal, shown), folder)
        content["hierarchies_folder"] = str(folder)
        _say(
            out,
            quiet,
            f"Hierarchies to edit: {folder}. They hold the table's values: do not share them.",
        )
    if recipe is not None:
        _write(recipe, proposal.text)
        content["recipe"] = str(recipe)
        _say(out, quiet, f"Recipe to review and run: {recipe}")
    return content


def _wanted(seen: Inspection, proposal: Proposal, shown: list[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies of the recipe and of the columns asked for."""
    more = {n: Hierarchy.auto().settle(seen.column(n), n) for n in shown}
    return more | proposal.hierarchies


def _seen_from(folder: Path | None, recipe: Path | None) -> str | None:
    if folder is None or recipe is None:
        return None
    return Path(os.path.relpath(folder.absolute(), recipe.absolute().parent)).as_posix()


def _check_recipe(recipe: Path, file: Path, force: bool) -> None:
    if recipe.is_dir() or not recipe.absolute().parent.is_dir():
        raise BadInput(f"cannot write a recipe to {recipe}: name a file in a folder that exists")
    if recipe.exists() and recipe.samefile(file):
        raise BadInput(f"{recipe} is the table; choose another name for the recipe")
    if recipe.exists() and not force:
        raise BadInput(f"{recipe} exists; choose another name, or replace it with --force")


def _write(recipe: Path, text: str) -> None:
    try:
        recipe.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write to {recipe}: {error.strerror}") from None


def _say(out: Console, quiet: bool, text: str) -> None:
    if not quiet:
        out.print(escape(text), soft_wrap=True)


def _ask(out: Console, seen: Inspection) -> dict[str, str]:
    """Ask about doubtful columns one by one, on standard error."""
    answers = {}
    for look in seen.columns:
        guess = look.guess
        if guess.sure:
            continue
        usual = guess.role if guess.role in ANSWERS else None
        typer.echo(f"{look.name} ({look.kind}, {look.distinct:,} values): {guess.reason}", err=True)
        answer = typer.prompt(
            f"  role of {look.name}: {', '.join(ANSWERS)}", default=usual or guess.role, err=True
        )
        while answer not in (*ANSWERS, guess.role):
            answer = typer.prompt(f"  one of {', '.join(ANSWERS)}", err=True)
        if answer in ANSWERS:
            answers[look.name] = answer
    return answers


def _row(look: ColumnLook, rows: int) -> tuple[str, ...]:
    span = "" if look.smallest is None else f"{look.smallest} to {look.largest}"
    notes = [look.guess.reason]
    if look.dates:
        notes.append(f"dates as text, {look.dates}")
    if look.missing:
        listed = ", ".join(f"'{v}' ({why})" for v, why in list(look.missing.items())[:3])
        notes.append(f"missing? {listed}")
    doubt = "" if look.guess.sure else "?"
    return (
        look.name,
        look.kind,
        f"{look.distinct:,}",
        f"{look.nulls / rows:.1%}",
        f"{look.unique:.1%}",
        span,
        f"{look.guess.role}{doubt}",
        "; ".join(notes),
    )


def _print(out: Console, seen: Inspection) -> None:
    rows = [_row(look, seen.rows) for look in seen.columns]
    keys = [
        (" x ".join(key.columns), f"{key.singled_out:.1%}{' (estimated)' * key.estimated}")
        for key in seen.keys.riskiest
    ]
    title = f"{seen.rows:,} records, {len(rows)} columns"
    if out.is_terminal:
        table = Table(*_HEADINGS, title=title)
        for row in rows:
            role = row[6].rstrip("?")
            cells = [escape(cell) for cell in row]
            cells[6] = f"[{_COLOURS.get(role, 'default')}]{cells[6]}[/]"
            table.add_row(*cells)
        out.print(table)
        riskiest = Table("key", "singles out", title="Riskiest keys")
        for key in keys:
            riskiest.add_row(*(escape(cell) for cell in key))
        out.print(riskiest)
    else:
        print(title)
        _plain([_HEADINGS, *rows])
        print("\nRiskiest keys")
        _plain([("key", "singles out"), *keys])
    _say(out, False, f"Note: {seen.keys.note}. All roles are guesses; those with ? are doubtful.")
    problem = why_no_recipe(seen)
    if problem:
        _say(out, False, f"Note: {problem}.")


def _plain(rows: list[tuple[str, ...]]) -> None:
    """Print columns side by side, at full width."""
    clean = [tuple(cell.replace("\n", " ").replace("\t", " ") for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*clean, strict=True)]
    for row in clean:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _trees(out: Console, trees: dict[str, str]) -> None:
    for name, tree in trees.items():
        out.print(f"[bold]{escape(name)}[/bold]")
        out.print(escape(tree), soft_wrap=True)
