"""Options that several commands have."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import complete

TableFile = Annotated[Path, typer.Argument(help="CSV, Parquet, Excel, SPSS, Stata, SAS ...")]
Original = Annotated[Path, typer.Argument(help="The original table.")]
ReleasePath = Annotated[Path, typer.Argument(help="Release folder, or released file.")]
RecipeFile = Annotated[Path, typer.Option("--recipe", help="TOML file with roles and steps.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing release.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print figures as JSON.")]
Memory = Annotated[str | None, typer.Option(help="Memory limit of the engine, such as 4GB.")]
People = Annotated[
    int | None, typer.Option("--population", min=1, help="People of whom the table is a sample.")
]
Measuring = Annotated[
    str,
    typer.Option(
        help="memory or duckdb; auto: memory if it fits, else duckdb.",
        autocompletion=complete.measuring,
    ),
]
# How a file is written: options of every command that reads one, given to it as `**dialect`.
DIALECT = {
    "separator": "CSV separator (detected by default).",
    "decimal": "CSV decimal mark (detected by default).",
    "quote": "CSV quote character, or none (detected by default).",
    "encoding": "CSV encoding (detected by default).",
    "sheet": "Excel sheet (the first by default).",
}


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of a dialect in the place of a command's `**dialect`."""
    hints = typing.get_type_hints(command, include_extras=True)
    *own, _ = inspect.signature(command).parameters.values()
    whole = [p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY) for p in own]
    for name, said in DIALECT.items():
        option = Annotated[str | None, typer.Option(help=said)]
        kind = inspect.Parameter.KEYWORD_ONLY
        whole.append(inspect.Parameter(name, kind, default=None, annotation=option))
    command.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in whole}
    return command
