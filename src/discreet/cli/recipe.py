"""Write a recipe to begin with, find what is wrong with one, and print what editors read."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options, show
from discreet.errors import BadInput

recipes = typer.Typer(
    help="Begin a recipe, check one, or print its JSON schema.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@recipes.command()
@options.reads_files
def new(
    file: Annotated[
        Path | None, typer.Argument(help="Table whose columns get their likely roles.")
    ] = None,
    out_path: Annotated[Path, typer.Option("--out", help="Recipe to write.")] = Path("recipe.toml"),
    force: options.ForceFile = False,
    **dialect: str | None,
) -> None:
    """Write a recipe with every choice explained in comments, and beside it what editors read."""
    from discreet.recipe.template import BLANK, SCHEMA_FILE, with_choices

    check_target(out_path, file, force)
    text = BLANK
    if file is not None:
        from discreet.inspection import inspect as look_at
        from discreet.inspection.proposal import propose

        with show.progress(f"looking at {file.name}"):
            text = propose(look_at(file, **dialect)).text
    _write(with_choices(text), out_path)
    _write(_schema(), out_path.with_name(SCHEMA_FILE))
    print(f"Recipe to edit: {out_path}")
    print(f"For editors that complete TOML: {out_path.with_name(SCHEMA_FILE)}")
    words = [str(out_path), "--table", "TABLE" if file is None else str(file)]
    print(f"Then: {shlex.join(['discreet', 'recipe', 'check', *words])}")


@recipes.command()
@options.reads_files
def check(
    recipe: Annotated[Path, typer.Argument(help="TOML file with roles and steps.")],
    table: Annotated[Path | None, typer.Option(help="Table that it is for.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print problems as JSON.")] = False,
    **dialect: str | None,
) -> None:
    """Find all that is wrong with a recipe, by line; exits with 2 if anything is."""
    from discreet.recipe import Recipe
    from discreet.recipe.problems import problems_in
    from discreet.recipe.recipe import text_of
    from discreet.table.files import columns_of

    columns = None if table is None else columns_of(table, **dialect)
    problems = problems_in(text_of(recipe), recipe.parent, columns)
    if as_json:
        show.print_json([{"line": one.line, "problem": one.said} for one in problems])
    if problems and not as_json:
        for one in problems:
            print(f"{recipe}:{one.line or 1}: {show.visible(one.said)}", file=sys.stderr)
    if problems:
        raise typer.Exit(2)
    if not as_json:
        made = Recipe.load(recipe)
        steps = ", ".join(step.method for step in made.steps) or "no steps"
        fits = "" if table is None else f", and fits the columns of {table}"
        print(f"{recipe} is right{fits}: {steps}")


@recipes.command()
def schema(
    out_path: Annotated[
        Path | None, typer.Option("--out", help="File to write (printed by default).")
    ] = None,
    force: options.ForceFile = False,
) -> None:
    """Print the JSON schema of a recipe, for editors that complete and check as one types."""
    if out_path is None:
        print(_schema(), end="")
        return
    check_target(out_path, None, force)
    _write(_schema(), out_path)
    print(f"Schema: {out_path}")


def _schema() -> str:
    from discreet.recipe import Recipe

    return f"{json.dumps(Recipe.json_schema(), indent=1, ensure_ascii=False)}\n"


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write to {path}: {error.strerror}") from None


def check_target(target: Path, table: Path | None, force: bool) -> None:
    """Refuse to write a recipe where it cannot be, or where something else is."""
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise BadInput(f"cannot write a recipe to {target}: name a file in a folder that exists")
    if table is not None and target.exists() and target.samefile(table):
        raise BadInput(f"{target} is the table; choose another name for the recipe")
    if target.exists() and not force:
        raise BadInput(f"{target} exists; choose another name, or replace it with --force")
