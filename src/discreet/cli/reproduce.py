"""Run the papers' experiments and print the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from discreet.cli import complete, options, show
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.reproduce.page import Block
    from discreet.reproduce.run import Progress as Tell

_TITLE = "The papers, reproduced"
_INTRODUCTION = (
    "The experiments of the papers that Discreet's methods come from, run with its own methods and "
    "measures: each figure of the paper, ours, and the difference (measured minus paper); after "
    "\u00b1 the standard deviation over draws, if anything is random. The paper's figures are "
    "shipped with the package; one that it does not print is \u201cnot given\u201d."
)


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(help="rounding, porop, deficient or all.", autocompletion=complete.papers),
    ],
    table: Annotated[
        str | None, typer.Option(help="Only this table, as the paper numbers it.")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Number of random draws (each paper has its own default).", min=1),
    ] = None,
    as_json: options.Json = False,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write tables and plots to this file.")
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option("--markdown", help="The same as Markdown, with plots in a folder beside it."),
    ] = None,
) -> None:
    """Rerun a paper's experiments: its figures beside ours, what agrees, what does not and why."""
    from discreet.reproduce import PAPERS, run
    from discreet.reproduce.page import Heading, Text, blocks, markdown, page, print_blocks
    from discreet.reproduce.results import Figures

    names: tuple[str, ...] = PAPERS if paper == "all" else (paper,)
    if paper != "all" and paper not in PAPERS:
        raise BadInput(f"there is no paper '{paper}'; choose from {', '.join(PAPERS)}, all")
    for file in (html_file, markdown_file):
        if file is not None and not file.absolute().parent.is_dir():
            raise BadInput(f"{file}: the folder {file.parent} does not exist")
    if paper == "all" and table is not None:
        names = tuple(name for name in PAPERS if table in run.titles(name))
        if not names:
            raise BadInput(f"no paper has a table '{table}'")
    results = []
    for name in names:
        with _progress(name) as tell:
            results.append(run.reproduce(name, table, seeds, tell, _processes()))
    if as_json:
        show.print_json({r.name: r.to_dict() for r in results})
    elif html_file is None and markdown_file is None:
        print_blocks(show.out, blocks(results))
    else:
        # The tables are in a file, so only what was found is printed.
        print_blocks(show.out, blocks(replace(r, figures=Figures()) for r in results))
    command = " ".join(["discreet reproduce", paper, *(["--table", table] if table else [])])
    command += f" --seeds {seeds}" if seeds else ""
    head: list[Block] = [Heading(1, _TITLE), Text(_INTRODUCTION)]
    if html_file is not None:
        made = Text(f"Made by: {command} --html FILE")
        content = [*head, made, *blocks(results, summary_first=True)]
        html_file.write_text(page(_TITLE, content), "utf-8")
    if markdown_file is not None:
        made = Text(
            f"This page is written by `{command} --markdown {markdown_file.name}`, not by hand."
        )
        content = [*head, made, *blocks(results, summary_first=True)]
        pictures = markdown_file.with_suffix("")
        markdown_file.write_text(markdown(content, pictures, pictures.name), "utf-8")


def _processes() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, 8))


@contextmanager
def _progress(name: str) -> Iterator[Tell | None]:
    """Show a progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.fields[paper]}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.description}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, paper=name)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what
        )
