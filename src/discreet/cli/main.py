"""The commands. Imports of the library are inside them, so that `--help` answers at once."""

from __future__ import annotations

import gc
import inspect
import json
import signal
import sys
import typing
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from discreet.cli import show
from discreet.errors import BadInput, BrokenPromise

app = typer.Typer(
    help="Statistical disclosure control: from a table to one you can share, with the proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
RecipeFile = Annotated[Path, typer.Option("--recipe", help="TOML file with roles and steps.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing release.")]
Json = Annotated[bool, typer.Option("--json", help="Print figures as JSON.")]
Memory = Annotated[str | None, typer.Option(help="Memory limit of the engine, such as 4GB.")]
Measuring = Annotated[
    str, typer.Option(help="memory or duckdb; auto: memory if it fits, else duckdb.")
]
# How a file is written: options of every command that reads one, given to it as `dialect`.
DIALECT = {
    "separator": "CSV separator (detected by default).",
    "decimal": "CSV decimal mark (detected by default).",
    "quote": "CSV quote character (detected by default).",
    "encoding": "CSV encoding (detected by default).",
    "sheet": "Excel sheet (the first by default).",
}

out = Console(highlight=False)


def main() -> None:
    """Run a command: exit 0 when done, 1 for a failed promise or check, 2 for bad input."""
    warnings.showwarning = _warn
    # Loading packages makes objects by the hundred thousand, and next to none that can go.
    gc.set_threshold(50_000)
    # Temporary files hold rows of people; whoever is asked to stop removes them first.
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: sys.exit(128 + number))
    if hasattr(signal, "SIGPIPE"):
        # A reader that stops listening, such as `head`, is not a failed check.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        app()
    except BrokenPromise as error:
        sys.exit(_fail(str(error), 1))
    except (BadInput, OSError) as error:
        sys.exit(_fail(str(error), 2))


def _fail(message: str, code: int) -> int:
    print(f"discreet: {message}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"discreet: warning: {message}", file=sys.stderr)


def _reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a dialect to a command, which takes them as one dict."""

    @wraps(command)
    def run(**given: Any) -> None:
        dialect = {name: given.pop(name) for name in DIALECT}
        command(**given, dialect=dialect)

    own = [p for p in inspect.signature(command).parameters.values() if p.name != "dialect"]
    hints = typing.get_type_hints(command, include_extras=True)
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, typer.Option(help=said)],
        )
        for name, said in DIALECT.items()
    ]
    whole = [p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY) for p in own] + options
    run.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in whole}
    return run


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False))


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from discreet import __version__

        print(__version__)
        raise typer.Exit


@app.command("inspect")
@_reads_files
def inspect_file(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet, Excel, SPSS, Stata, SAS ...")],
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
    force: Annotated[bool, typer.Option("--force", help="Replace an existing recipe.")] = False,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Take a first look at a table: column kinds, likely identifiers, risky keys, a recipe."""
    from discreet.cli.inspect import run_inspect

    content = run_inspect(
        out,
        file,
        recipe=write_recipe,
        interactive=interactive,
        shown=hierarchy or [],
        folder=write_hierarchies,
        force=force,
        quiet=as_json,
        dialect=dialect,
    )
    if as_json:
        _print_json(content)


@app.command()
@_reads_files
def protect(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet, Excel, SPSS, Stata, SAS ...")],
    recipe: RecipeFile,
    out_path: Annotated[
        Path, typer.Option("--out", help="Folder to write, or a file such as shared.csv.")
    ],
    format: Annotated[
        str | None,
        typer.Option(help="csv, parquet, xlsx, sav, dta, ... (parquet for Parquet, else csv)."),
    ] = None,
    force: Force = False,
    engine: Annotated[
        str, typer.Option(help="memory, duckdb or spark; auto: memory if it fits, else duckdb.")
    ] = "auto",
    memory: Memory = None,
    master: Annotated[str | None, typer.Option(help="Spark master, such as local[4].")] = None,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Protect a table by a recipe: writes public/ to share and internal/ to keep."""
    from discreet.flow.protection import protect_to
    from discreet.recipe import Recipe

    with show.stages() as tell:
        found = protect_to(
            file,
            Recipe.load(recipe),
            out_path,
            engine,
            format=format,
            force=force,
            memory=memory,
            master=master,
            dialect=dialect,
            tell=tell,
        )
    _print_release(*found, as_json)


def _print_release(release: Any, assessment: Any, written: Path, as_json: bool) -> None:
    if as_json:
        _print_json(
            {
                "table": str(written),
                "log": release.log | {"hash_key": "kept in internal/"},
                "check": release.check.to_dict(),
                "assessment": assessment.to_dict(),
            }
        )
    else:
        show.release(out, release, assessment, written)


@app.command()
@_reads_files
def check(
    release: Annotated[Path, typer.Argument(help="Release folder, or released file.")],
    original: Annotated[Path | None, typer.Option(help="The table it was made from.")] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="The recipe, if there is no internal folder.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="memory or duckdb; auto: memory if the tables fit.")
    ] = "auto",
    memory: Memory = None,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Verify what a release promises; exits with 1 if a promise is broken."""
    from discreet.check import check_release
    from discreet.check.folders import find_release
    from discreet.recipe import Recipe

    table, internal = find_release(release)
    known = internal.is_dir()
    if recipe is None and not known:
        raise BadInput(f"{internal} does not exist; give the recipe with --recipe")
    rules = Recipe.load(recipe if recipe is not None else internal / "recipe.toml")
    with show.stages() as tell:
        report = check_release(
            table,
            rules,
            internal if known else None,
            original,
            engine=engine,
            memory=memory,
            dialect=dialect,
            tell=tell,
        )
    if as_json:
        _print_json(report.to_dict())
    else:
        show.check(out, report)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
@_reads_files
def assess(
    original: Annotated[Path, typer.Argument(help="The original table.")],
    protected: Annotated[Path, typer.Argument(help="Release folder, or released file.")],
    recipe: RecipeFile,
    measure: Annotated[
        list[str] | None, typer.Option(help="Take only this measure; can be repeated.")
    ] = None,
    engine: Measuring = "auto",
    memory: Memory = None,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Measure risk and utility before and after."""
    from discreet.cli.compare import run_assess

    result = run_assess(original, protected, recipe, measure or None, engine, memory, dialect)
    if as_json:
        _print_json(result.to_dict())
    else:
        show.assessment(out, result)


@app.command()
@_reads_files
def compare(
    original: Annotated[Path, typer.Argument(help="The original table.")],
    releases: Annotated[list[Path], typer.Argument(help="Release folders, or released files.")],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write the comparison to this .html or .json file.")
    ] = None,
    risk: Annotated[
        str, typer.Option(help="Risk to rank by: linkage, or a figure like individual_risk.mean.")
    ] = "linkage",
    loss: Annotated[
        str, typer.Option(help="Loss to rank by: information_loss, or a figure like il1s.")
    ] = "information_loss",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    engine: Measuring = "auto",
    memory: Memory = None,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Compare releases of one table, and mark those that no other one beats."""
    from discreet.cli.compare import run_compare

    found = run_compare(original, releases, out_file, force, risk, loss, engine, memory, dialect)
    if as_json:
        _print_json(found.to_dict())
    else:
        show.comparison(out, found)
        if out_file is not None:
            out.print(f"Written: {out_file}", markup=False, soft_wrap=True)


@app.command()
@_reads_files
def report(
    release: Annotated[Path, typer.Argument(help="Release folder, or released file.")],
    original: Annotated[
        Path | None, typer.Option(help="The table it was made from, to measure again.")
    ] = None,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", help="HTML file to write; without it, a summary is printed."),
    ] = None,
    external: Annotated[
        bool, typer.Option("--external", help="The report for users of the data.")
    ] = False,
    compared: Annotated[
        Path | None, typer.Option(help="JSON from `discreet compare`, to show the alternatives.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    engine: Measuring = "auto",
    memory: Memory = None,
    as_json: Json = False,
    *,
    dialect: dict[str, str | None],
) -> None:
    """Write the report for the review board, or with --external for users of the data."""
    from discreet.cli.report import run_report

    run_report(
        out,
        release,
        original,
        out_file,
        external=external,
        compared=compared,
        force=force,
        as_json=as_json,
        engine=engine,
        memory=memory,
        dialect=dialect,
    )


@app.command()
def methods(as_json: Json = False) -> None:
    """List the methods with their parameters, effects and promises."""
    from discreet.registry import methods as registered

    rows = [show.describe(method) for method in registered().values()]
    if as_json:
        _print_json(rows)
    else:
        show.methods(out, rows)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("discreet-demo"),
    rows: Annotated[int, typer.Option(help="Number of people to invent.", min=100)] = 10_000,
    force: Force = False,
) -> None:
    """Invent a table of people, protect it, check it and measure it."""
    from discreet.cli.demo import run_demo

    run_demo(out, folder, rows, force)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="rounding, porop, deficient or all.")],
    table: Annotated[
        str | None, typer.Option(help="Only this table, as the paper numbers it.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of random draws (each paper has its own default).", min=1),
    ] = None,
    as_json: Json = False,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write tables and plots to this file.")
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option("--markdown", help="The same as Markdown, with plots in a folder beside it."),
    ] = None,
) -> None:
    """Rerun a paper's experiments: its figures beside ours, what agrees, what does not and why."""
    from discreet.cli.reproduce import run_reproduce

    run_reproduce(out, paper, table, seeds, as_json, html_file, markdown_file)
