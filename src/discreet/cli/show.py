"""What the commands print for people."""

from __future__ import annotations

import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as as_text
from rich.markup import render
from rich.table import Column, Table

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
# What would steer a terminal: names of columns and of methods come from files.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Words up to this length stay on one line, and so all figures and names of measures.
LONGEST_WORD = 48


def visible(text: str) -> str:
    r"""Write control characters out, line ends and tabs excepted.

    Examples
    --------
    >>> visible("a" + chr(27) + "[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def escape(text: str) -> str:
    """Return text as it is for a console that reads markup, and control characters written out."""
    return as_text(visible(text))


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

        def finish() -> None:
            for task in running:
                shown.update(task, total=1, completed=1)

        def tell(what: str) -> None:
            finish()
            running[:] = [shown.add_task(escape(what), total=None)]

        yield tell
        # Else the last stage would stand there as if it were still under way.
        finish()


def release(release: Release, assessment: Assessment, written: Path, verbose: bool = False) -> None:
    """Print what to decide by, in 25 lines at most; with `verbose` all that is known."""
    from discreet.check.folders import find_release
    from discreet.report.decision import decision
    from discreet.report.words import plan_words

    told = release.log.get("plan")
    decide_by(decision(release.facts(assessment=assessment)), verbose, bool(told))
    if verbose:
        _everything(release, assessment)
    if told:
        out.print(f"[bold]Plan:[/bold] {escape(plan_words(told))}", soft_wrap=True)
    *most, last = [str(written), *(path.name for path in tables(release, written)[1:])]
    shared = f"{', '.join(most)} and {last}" if most else last
    policy = None if release.check is None else release.check.policy
    missed = policy is not None and policy.status == "missed"
    share = "[bold red]Do not share yet:[/]" if missed else "[bold]Share:[/bold]"
    out.print(f"{share} {escape(shared)}", soft_wrap=True)
    internal = find_release(written)[1]
    held = release.log.get("holdout")
    with_ = "" if held is None else f" (with {held['records']:,} records set aside as a holdout)"
    out.print(f"[bold]Keep, never share:[/bold] {escape(str(internal))}{with_}", soft_wrap=True)
    out.print(f"[bold]Report:[/bold] {escape(str(internal / 'report.html'))}", soft_wrap=True)


def tables(release: Any, written: Path) -> list[Path]:
    """List the tables of a release that was written: one a format, and second ones."""
    from discreet.table.two_tables import second_of

    formats = release.log["output"].get("formats", ())
    found = [written.with_name(f"table.{one}") for one in formats] or [written]
    return found + ([second_of(one) for one in found] if release.recipe.apart else [])


def decide_by(found: dict[str, Any], verbose: bool = False, more: int = 0) -> None:
    """Print the decision page, with room for some lines more, and with `verbose` all of it."""
    from discreet.report.decision import CLOSING, MOST_LINES, decision_lines

    colour = {True: "bold green", False: "bold red", None: "bold"}[found["verdict"]["passed"]]
    for line in decision_lines(found, out.width, None if verbose else MOST_LINES - CLOSING - more):
        name, text = line[:10], line[10:]
        if name.strip() == "Verdict":
            first, colon, rest = text.partition(":")
            text = f"[{colour}]{first}[/]{colon}{escape(rest)}"
        else:
            text = escape(text)
        out.print(f"[bold]{name}[/bold]{text}", soft_wrap=True)


def _everything(release: Release, assessment: Assessment) -> None:
    """Print what was done, what was verified, and all figures."""
    from discreet.check.findings import counted
    from discreet.report.measures import guide_line
    from discreet.report.words import aside_words

    log = release.log
    rows, columns = log["input"]["rows"], len(log["changed_cells"])
    said = f"{counted(rows, 'row')}, {counted(columns, 'column')} released"
    out.print(f"[bold]Protected[/bold] {said}.", end=" ")
    dropped = ", ".join(log["dropped"]) or "none"
    out.print(f"Dropped: {escape(dropped)}.")
    if aside := aside_words(log):
        out.print(f"  {aside} before any step")
    if release.recipe.counted is not None:
        units = f"{release.recipe.counted_as}, by '{release.recipe.counted}'"
        out.print(f"  k counts {escape(units)}, not rows")
    for step in log["steps"]:
        cells = ", ".join(f"{c} {n:,}" for c, n in step["changed_cells"].items())
        out.print(
            f"  step {step['step']} {step['method']} ({step['effect']}): "
            f"cells changed: {escape(cells)}; {step['seconds']:.2f} s"
        )
        for line in _figures(step, release.recipe.counted_as):
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


def _figures(step: dict[str, Any], counts: str) -> Iterator[str]:
    """Say what a step found out, in a few lines."""
    from discreet.check.findings import counted

    if step.get("recoded"):
        yield f"recoded: {', '.join(f'{c} to level {n}' for c, n in step['recoded'].items())}"
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
        yield counted(step["classes"], "class", "classes")
    if "found_for_certain" in step:
        from discreet.report.blanks import blank_facts

        for what, said in blank_facts(step, counts):
            yield f"{what}: {said}"
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
    table = _table("promise", "status", "evidence", title=f"Check: {report.summary}")
    for finding in report.findings:
        status = f"[{_COLOURS[finding.status]}]{finding.status}[/]"
        table.add_row(escape(finding.promise), status, escape(finding.detail))
    _print(table)
    for note in report.notes:
        out.print(f"Note: {escape(note)}.")


def assessment(result: Assessment) -> None:
    """Print an assessment, and what was left out."""
    assessment_table(result)
    for name, why in result.left_out.items():
        asked = why.replace(f"measures=['{name}']", f"--measure {name}")
        out.print(f"Left out: {escape(name)}: {escape(asked)}.")


def assessment_table(result: Assessment) -> None:
    """Print the figures of an assessment."""
    table = _table("measure", "before", "after", "how to read it", title="Risk and utility")
    for row in result.rows():
        table.add_row(*(escape(cell) for cell in row))
    _print(table)
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
    table = _table("method", "does", "parameters", "effect", "promise", show_lines=True)
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


def _table(*names: str, **options: Any) -> Table:
    """Make a table whose long words go on in the next line and are not cut."""
    return Table(*(Column(name, overflow="fold") for name in names), **options)


def _print(table: Table) -> None:
    """Print a table, wider than the terminal if need be.

    Part of a figure reads as another figure, so that none is cut or goes on in the next line.
    """
    for column in table.columns:
        if column.min_width is not None:
            continue
        words = [word for cell in column.cells for word in render(str(cell)).plain.split()]
        column.min_width = min(max(map(len, words), default=0), LONGEST_WORD)
    out.print(table, crop=False)


def comparison(found: Comparison) -> None:
    """Print compared releases side by side, as many of them at a time as there is room for."""
    rows = list(found.rows())
    width = max(len(cell) for _, figures in rows for cell in (*figures, "not dominated"))
    names = max(26, *(len(name) for name, _ in rows))
    # A column takes three more characters than its text.
    fit = max(1, (out.width - names - 4) // (width + 3))
    for first in range(0, len(found.releases), fit):
        _print(_compared(found, slice(first, first + fit), names, width))
    for note in found.notes:
        out.print(f"Note: {escape(note)}.")


def _compared(found: Comparison, some: slice, names: int, width: int) -> Table:
    """Make a table of some of the releases."""
    from discreet.assessment.comparison import LEARNED
    from discreet.report.compare import VERDICTS, axis_names, done

    marks = VERDICTS | {False: f"[green]{VERDICTS[False]}[/green]"}
    releases = found.releases[some]
    table = Table(title="Releases compared")
    table.add_column("", min_width=names)
    for one in releases:
        table.add_column(escape(one.name), justify="right", overflow="fold", min_width=width)
    table.add_row("steps", *(escape("\n".join(done(one.steps))) for one in releases))
    table.add_row("records", *(f"{one.rows:,}" for one in releases))
    table.add_row("suppressed", *(f"{one.suppressed:,}" for one in releases))
    measures = {"risk": found.risk, "attribute": LEARNED, "loss": found.loss}
    for axis, name in axis_names(found.risk, found.two_sided).items():
        figures = [getattr(one, axis) for one in releases]
        table.add_row(
            f"[bold]{name}[/bold]: {escape(measures[axis])}",
            *("-" if value is None else f"{value:.4g}" for value in figures),
        )
    table.add_row("", *(marks[one.dominated] for one in releases), end_section=True)
    for name, figures in found.rows():
        table.add_row(escape(name), *map(escape, figures[some]))
    return table


def print_json(content: Any) -> None:
    """Print plain data as JSON."""
    print(json.dumps(content, indent=1, ensure_ascii=False))


def print_written(file: Path) -> None:
    """Say which file was written."""
    out.print(f"Written: {file}", markup=False, soft_wrap=True)
