"""Start the app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import complete, options
from discreet.errors import BadInput


def app(
    file: Annotated[
        Path | None, typer.Argument(help="CSV, Parquet, Excel, SPSS, Stata, SAS ...")
    ] = None,
    workspace: Annotated[
        Path, typer.Option(help="Folder of the recipe, its history and the runs.")
    ] = Path("discreet-workspace"),
    folder: Annotated[
        list[Path] | None,
        typer.Option(help="A folder that files may be opened from; can be repeated."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="memory or duckdb; auto: memory if the table fits, else duckdb.",
            autocompletion=complete.measuring,
        ),
    ] = "auto",
    memory: options.Memory = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0: any that is free.", min=0, max=65535)
    ] = 0,
    host: Annotated[str, typer.Option(hidden=True)] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open it in the browser.")] = True,
) -> None:
    """Open the app: from a file to a release by looking and clicking, on this machine alone."""
    if host != "127.0.0.1":
        raise BadInput(
            "the app is for this machine alone: it listens on 127.0.0.1 and nowhere else"
        )
    try:
        from discreet.app.server import serve
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the app needs {error.name}; install it with: pip install 'discreet[app]'"
        ) from None
    if file is not None and not file.exists():
        raise BadInput(f"{file} does not exist")
    if engine not in ("auto", "memory", "duckdb"):
        raise BadInput(f"the app works in memory or on DuckDB; --engine cannot be '{engine}'")
    if memory is not None:
        from discreet.engines.choice import megabytes

        megabytes(memory)  # What is no size is said before the page is there.
    serve(file, workspace, port, browser, folder or (), engine, memory)
