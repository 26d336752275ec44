"""What the commands print for people."""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from discreet.assessment import Assessment, Comparison
    from discreet.check import CheckReport
    from discreet.flow import Release
    from discreet.method import Method

_COLOURS = {
    "verified": "green",
    "broken": "bold red",
    "not verifiable": "yellow",
    "weak": "magenta",
}

out = Console(highlight=False)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show that work is in progress, on a terminal only."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield
        return
    with console.status(f"{escape(what)} ..."):
        yield


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show each stage of the work with its time so far, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        running: list[TaskID] = []

        def tell(what: str) -> None:
            for task in running:
                shown.update(task, total=1, completed=1)
            running[:] = [shown.add_task(escape(what), total=None)]

        yield tell


def release(release: Release, assessment: Assessment, written: Path) -> None:
    """Print what was done, what was verified, and the first figures."""
    from discreet.check.folders import find_release
    from discreet.report.measures import guide_line

    log = release.log
    rows, columns = log["input"]["rows"], len(log["changed_cells"])
    out.print(f"[bold]Protected[/bold] {rows:,} rows, {columns} columns released.", end=" ")
    dropped = ", ".join(log["dropped"]) or "none"
    out.print(f"Dropped: {escape(dropped)}.")
    if release.recipe.counted is not None:
        counted = f"{release.recipe.counted_as}, by '{release.recipe.counted}'"
        out.print(f"  k counts {escape(counted)}, not rows")
    for step in log["steps"]:
        cells = ", ".join(f"{c} {n:,}" for c, n in step["changed_cells"].items())
        out.print(
            f"  step {step['step']} {step['method']} ({step['effect']}): "
            f"cells changed: {escape(cells)}; {step['seconds']:.2f} s"
        )
        for line in _figures(step):
            out.print(f"    {escape(line)}")
    if "suppressed" in log:
        out.print(f"  suppressed: {escape(_suppressed(log['suppressed']))}")
    out.print(f"  nulls: {log['nulls']['policy']}")
    for warning in log["warnings"]:
        out.print(f"  [yellow]warning:[/yellow] {escape(warning)}")
    if "usage" in log:
        used = ", ".join(f"{what.replace('_', ' ')} {n:,}" for what, n in log["usage"].items())
        out.print(f"  {log['engine']}: {used}")
    assert release.check is not None
    check(release.check)
    assessment_table(assessment)
    if said := guide_line(assessment.to_dict()):
        out.print(escape(f"{said[0].upper()}{said[1:]}."))
    out.print(f"[bold]Share:[/bold] {escape(str(written))}", soft_wrap=True)
    internal = find_release(written)[1]
    out.print(f"[bold]Keep, never share:[/bold] {escape(str(internal))}", soft_wrap=True)
    out.print(f"[bold]Report:[/bold] {escape(str(internal / 'report.html'))}", soft_wrap=True)


def _figures(step: dict[str, Any]) -> Iterator[str]:
    """Say what a step found out, in a few lines."""
    if "quality" in step:
        yield f"{step['quality']['model']} {step['quality']['value']:.6g}"
    for search in step.get("searches", ()):
        gap = "the optimum" if search["gap"] == 0 else f"within {search['gap']:.1%} of the optimum"
        if "drawn" in search:
            gap = f"drawn at {search['drawn']:.6g}, where the best is {search['optimum']:.6g}"
        of = "" if search["group"] == "all" else f" {search['group']}"
        yield (
            f"{search['rows']:,} records{of}, round {search['round']}: {gap}, "
            f"{search['evaluations']:,} of {search['nodes']:,} nodes evaluated"
        )
    if "classes" in step:
        yield f"{step['classes']:,} classes"
    if isinstance(step.get("loss"), dict):
        for name, loss in step["loss"].items():
            rows = step["loss_counting_rows"][name]
            if f"{loss:.4g}" == f"{rows:.4g}":
                continue
            yield f"{name}: loss {100 * loss:.4g} %, {100 * rows:.4g} % if k counted rows"
    elif "loss" in step:
        moves = f", {step['moves']:,} moves" if step.get("moves") else ""
        blocks = f", in {step['blocks']:,} blocks" if step.get("blocks") else ""
        yield f"loss {step['loss']:.4g} %, {step['groups']:,} groups{moves}{blocks}"


def _suppressed(counts: dict[str, Any]) -> str:
    said = f"{counts['records']:,} record{'s' * (counts['records'] != 1)}"
    if counts["left_out"]:
        said += f", {counts['left_out']:,} of them left out of the file"
    cells = ", ".join(f"{name} {n:,}" for name, n in counts["blanked_cells"].items())
    return f"{said}; cells blanked: {cells}" if cells else said


def check(report: CheckReport) -> None:
    """Print the findings of a check."""
    table = Table("promise", "status", "evidence", title=f"Check: {report.summary}")
    for finding in report.findings:
        status = f"[{_COLOURS[finding.status]}]{finding.status}[/]"
        table.add_row(escape(finding.promise), status, escape(finding.detail))
    out.print(table)
    for note in report.notes:
        out.print(f"Note: {escape(note)}.")


def assessment(result: Assessment) -> None:
    """Print an assessment, and what was left out."""
    assessment_table(result)
    for name, why in result.left_out.items():
        out.print(f"Left out: {escape(name)}: {escape(why)}.")


def assessment_table(result: Assessment) -> None:
    """Print the figures of an assessment."""
    table = Table("measure", "before", "after", "how to read it", title="Risk and utility")
    for row in result.rows():
        table.add_row(*(escape(cell) for cell in row))
    out.print(table)
    for note in result.notes():
        out.print(f"Note: {escape(note)}.")


def describe(method: type[Method]) -> dict[str, Any]:
    """Return a method's name, parameters, effect and promise as plain data."""
    from discreet.registry import parameters

    given, required = {}, []
    for name, _, default in parameters(method):
        if default is inspect.Parameter.empty:
            required.append(name)
        else:
            given[name] = default
    # Effect and promise depend on parameters; those shown are of the defaults.
    example = method(**dict.fromkeys(required))
    return {
        "method": method.recipe_name,
        "class": f"{method.__module__.rsplit('.', 1)[0]}.{method.__name__}",
        "needs": method.needs,
        "does": method.in_words,
        "required": required,
        "optional": given,
        "types": {name: _type_text(kind) for name, kind, _ in parameters(method)},
        "effect": example.effect,
        "promise": example.promise,
        "random": example.is_random,
    }


def _type_text(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " | ".join(repr(choice) for choice in typing.get_args(kind))
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def methods(rows: list[dict[str, Any]]) -> None:
    """Print the methods."""
    table = Table("method", "does", "parameters", "effect", "promise", show_lines=True)
    for row in rows:
        parameters = [f"{name} (required)" for name in row["required"]]
        parameters += [f"{name} = {default!r}" for name, default in row["optional"].items()]
        promise = row["promise"] or "none"
        table.add_row(
            f"{row['method']}\n{row['class']}",
            row["does"],
            escape("\n".join(parameters)),
            row["effect"],
            promise,
        )
    out.print(table)


def comparison(found: Comparison) -> None:
    """Print compared releases side by side."""
    from discreet.report.compare import VERDICTS, done

    marks = VERDICTS | {False: f"[green]{VERDICTS[False]}[/green]"}
    table = Table(title="Releases compared")
    table.add_column("", min_width=26)
    for one in found.releases:
        table.add_column(escape(one.name), justify="right")
    table.add_row("steps", *(escape("\n".join(done(one.steps))) for one in found.releases))
    table.add_row("records", *(f"{one.rows:,}" for one in found.releases))
    table.add_row("suppressed", *(f"{one.suppressed:,}" for one in found.releases))
    for axis in ("risk", "loss"):
        figures = [getattr(one, axis) for one in found.releases]
        table.add_row(
            f"[bold]{axis}[/bold]: {escape(getattr(found, axis))}",
            *("-" if value is None else f"{value:.4g}" for value in figures),
        )
    table.add_row("", *(marks[one.dominated] for one in found.releases), end_section=True)
    for name, figures in found.rows():
        table.add_row(escape(name), *map(escape, figures))
    out.print(table)
    for note in found.notes:
        out.print(f"Note: {escape(note)}.")


def print_json(content: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def print_written(file: Path) -> None:
    """Say which file was written."""
    out.print(f"Written: {file}", markup=False, soft_wrap=True)
