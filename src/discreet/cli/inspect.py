"""Print the first look at a table, and write what it proposes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from discreet.cli import options, show
from discreet.cli.proposed import searched, tried
from discreet.cli.recipe import check_target
from discreet.cli.show import escape
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.inspection import Inspection
    from discreet.inspection.proposal import Proposal

_COLOURS = {"identifiers": "red", "quasi": "yellow", "confidential": "magenta"}


@options.reads_files
def inspect(
    file: options.TableFile,
    write_recipe: Annotated[
        Path | None,
        typer.Option(help="Write a recipe to this file, with the reason for each role."),
    ] = None,
    interactive: Annotated[bool, typer.Option(help="Ask about doubtful columns.")] = False,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(help="Show the hierarchy proposed for a column; can be repeated."),
    ] = None,
    write_hierarchies: Annotated[
        Path | None,
        typer.Option(help="Write the proposed hierarchies to this folder, as CSV files to edit."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Search so long for the recipe's steps; 0: do not try any.", min=0),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(help="Search among so many recipes; a rerun gives the same.", min=1),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing recipe.")] = False,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Take a first look at a table: column kinds, likely identifiers, risky keys, a recipe."""
    from discreet.inspection import inspect as look_at
    from discreet.inspection.proposal import proposed_hierarchy

    if write_recipe is not None:
        check_target(write_recipe, file, force)
    if interactive and write_recipe is None:
        raise BadInput("--interactive asks for roles, so it needs --write-recipe")
    with show.progress(f"looking at {file.name}"):
        seen = look_at(file, **dialect)
    trees = {
        name: proposed_hierarchy(seen, name).show(seen.column(name), name)
        for name in hierarchy or ()
    }
    if not as_json:
        if trees:
            _trees(trees)
        else:
            _print(seen)
    written: dict[str, Any] = {}
    if write_recipe is not None or write_hierarchies is not None:
        proposal = _proposal(seen, write_hierarchies, write_recipe, interactive)
        if write_recipe is not None and (seconds or evaluations):
            minutes = seconds / 60 if seconds and evaluations is None else None
            proposal, written = searched(proposal, file, dialect, minutes, evaluations)
            _say(written.pop("said"), as_json)
        elif write_recipe is not None and seconds is None:
            with show.progress("trying ways to treat the keys"):
                proposal, written = tried(proposal, seen)
            _say(written.pop("said"), as_json)
        written |= _write(seen, proposal, write_recipe, write_hierarchies, trees, as_json)
    if as_json:
        show.print_json(seen.to_dict() | {"hierarchies": trees} | written)


def _proposal(
    seen: Inspection, folder: Path | None, recipe: Path | None, interactive: bool
) -> Proposal:
    from discreet.inspection.proposal import propose

    try:
        answers = _ask(seen) if interactive else {}
    except typer.Abort:
        raise BadInput("some questions were not answered; nothing was written") from None
    return propose(seen, answers, _seen_from(folder, recipe))


def _write(
    seen: Inspection,
    proposal: Proposal,
    recipe: Path | None,
    folder: Path | None,
    shown: Iterable[str],
    quiet: bool,
) -> dict[str, str]:
    """Write the recipe, and the hierarchies of it and of the columns shown; return where."""
    from discreet.inspection.proposal import proposed_hierarchy, write_hierarchies

    written = {}
    if folder is not None:
        more = {name: proposed_hierarchy(seen, name) for name in shown}
        write_hierarchies(seen, more | proposal.hierarchies, folder)
        written["hierarchies_folder"] = str(folder)
        _say(
            f"Hierarchies to edit: {folder}. They hold the table's values: do not share them.",
            quiet,
        )
    if recipe is not None:
        try:
            recipe.write_text(proposal.text, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"cannot write to {recipe}: {error.strerror}") from None
        written["recipe"] = str(recipe)
        _say(f"Recipe to review and run: {recipe}", quiet)
    return written


def _seen_from(folder: Path | None, recipe: Path | None) -> str | None:
    if folder is None or recipe is None:
        return None
    return Path(os.path.relpath(folder.absolute(), recipe.absolute().parent)).as_posix()


def _say(text: str, quiet: bool = False) -> None:
    if not quiet:
        show.out.print(escape(text), soft_wrap=True)


def _ask(seen: Inspection) -> dict[str, str]:
    """Ask about doubtful columns one by one, on standard error."""
    from discreet.inspection.proposal import ANSWERS

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


def _print(seen: Inspection) -> None:
    from discreet.inspection.proposal import why_no_recipe
    from discreet.report.inspected import HEAD, key_rows, look_row

    content = seen.to_dict()
    rows = [look_row(look, seen.rows) for look in content["columns"]]
    keys = key_rows(content["keys"]["riskiest"])
    title = f"{seen.rows:,} records, {len(rows)} columns"
    if show.out.is_terminal:
        # A long name goes on in the next line: cut, two columns may look like one.
        table = Table(*(Column(head, overflow="fold") for head in HEAD), title=title)
        for row in rows:
            role = row[6].rstrip("?")
            cells = [escape(cell) for cell in row]
            cells[6] = f"[{_COLOURS.get(role, 'default')}]{cells[6]}[/]"
            table.add_row(*cells)
        show.out.print(table)
        riskiest = Table(Column("key", overflow="fold"), "singles out", title="Riskiest keys")
        for key in keys:
            riskiest.add_row(*(escape(cell) for cell in key))
        show.out.print(riskiest)
    else:
        print(title)
        _plain([HEAD, *rows])
        print("\nRiskiest keys")
        _plain([("key", "singles out"), *keys])
    _say(f"Note: {seen.keys.note}. All roles are guesses; those with ? are doubtful.")
    problem = why_no_recipe(seen)
    if problem:
        _say(f"Note: {problem}.")


def _plain(rows: list[tuple[str, ...]]) -> None:
    """Print columns side by side, at full width."""
    clean = [
        tuple(show.visible(cell).replace("\n", " ").replace("\t", " ") for cell in row)
        for row in rows
    ]
    widths = [max(len(cell) for cell in column) for column in zip(*clean, strict=True)]
    for row in clean:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _trees(trees: dict[str, str]) -> None:
    for name, tree in trees.items():
        show.out.print(f"[bold]{escape(name)}[/bold]")
        show.out.print(escape(tree), soft_wrap=True)
