"""Run the papers' experiments and print the results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from discreet.errors import BadInput
from discreet.reproduce import PAPERS, reproduce
from discreet.reproduce import run as running
from discreet.reproduce.page import Block, Heading, Text, blocks, markdown, page, print_blocks
from discreet.reproduce.results import Reproduction

_TITLE = "The papers, reproduced"
_INTRODUCTION = (
    "The experiments of the papers that Discreet's methods come from, run with its own methods and "
    "measures: each figure of the paper, ours, and the difference (measured minus paper); after "
    "\u00b1 the standard deviation over draws, if anything is random. The paper's figures are "
    "shipped with the package; one that it does not print is \u201cnot given\u201d."
)


def run_reproduce(
    out: Console,
    paper: str,
    table: str | None,
    seeds: int | None,
    as_json: bool,
    html_file: Path | None,
    markdown_file: Path | None,
) -> None:
    """Run one paper or all of them, and print or write the results."""
    names: tuple[str, ...] = PAPERS if paper == "all" else (paper,)
    if paper != "all" and paper not in PAPERS:
        raise BadInput(f"there is no paper '{paper}'; choose from {', '.join(PAPERS)}, all")
    for file in (html_file, markdown_file):
        if file is not None and not file.absolute().parent.is_dir():
            raise BadInput(f"{file}: the folder {file.parent} does not exist")
    if paper == "all" and table is not None:
        names = tuple(name for name in PAPERS if table in running.titles(name))
        if not names:
            raise BadInput(f"no paper has a table '{table}'")
    results = []
    for name in names:
        with _progress(name) as tell:
            results.append(reproduce(name, table, seeds, tell, _processes()))
    if as_json:
        print(json.dumps({r.name: r.to_dict() for r in results}, indent=1, ensure_ascii=False))
    elif html_file is None and markdown_file is None:
        print_blocks(out, blocks(results))
    else:
        _print_summary(out, results)
    command = " ".join(["discreet reproduce", paper, *(["--table", table] if table else [])])
    command += f" --seeds {seeds}" if seeds else ""
    head: list[Block]
    if html_file is not None:
        head = [Heading(1, _TITLE), Text(_INTRODUCTION), Text(f"Made by: {command} --html FILE")]
        html_file.write_text(page(_TITLE, [*head, *blocks(results, summary_first=True)]), "utf-8")
    if markdown_file is not None:
        made = f"This page is written by `{command} --markdown {markdown_file.name}`, not by hand."
        head = [Heading(1, _TITLE), Text(_INTRODUCTION), Text(made)]
        pictures = markdown_file.with_suffix("")
        content = [*head, *blocks(results, summary_first=True)]
        markdown_file.write_text(markdown(content, pictures, pictures.name), "utf-8")


def _print_summary(out: Console, results: list[Reproduction]) -> None:
    """Print the findings; the tables are in a file."""
    for result in results:
        bare = Reproduction(result.name, result.paper, result.titles, type(result.figures)())
        bare.findings, bare.missing = result.findings, result.missing
        print_blocks(out, blocks([bare]))


def _processes() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, 8))


@contextmanager
def _progress(name: str) -> Iterator[running.Progress | None]:
    """Show a progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.fields[paper]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, paper=name)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what
        )
