"""The report command: a page, or its summary in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli import options, show
from discreet.cli.show import escape
from discreet.errors import BadInput

# A terminal this wide has room for how to read a figure.
WIDE = 110


@options.reads_files
def report(
    release: options.ReleasePath,
    original: Annotated[
        Path | None, typer.Option(help="The table it was made from, to measure again.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--out", help="HTML file to write; without it, a summary is printed."),
    ] = None,
    external: Annotated[
        bool, typer.Option("--external", help="The report for users of the data.")
    ] = False,
    compared: Annotated[
        Path | None, typer.Option(help="JSON from `discreet compare`, to show the alternatives.")
    ] = None,
    force: options.ForceFile = False,
    engine: options.Measuring = "auto",
    memory: options.Memory = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Write the report for the review board, or with --external for users of the data."""
    from discreet.flow.reports import saved_facts, saved_report
    from discreet.private import write_private

    if external and (original is not None or compared is not None):
        raise BadInput(
            "an external report covers the released table only; leave out --original and --compared"
        )
    if file is None:
        if external:
            raise BadInput("give the file to write the external report to, with --out")
        facts = saved_facts(release, original, engine, memory, **dialect)
        if as_json:
            show.print_json(_plain(facts))
        else:
            _print_summary(facts)
        return
    _check(file, external, force)
    comparison = _comparison(compared) if compared is not None else None
    with show.progress("writing the report"):
        page = saved_report(
            release,
            original=original,
            engine=engine,
            memory=memory,
            external=external,
            comparison=comparison,
            **dialect,
        )
    try:
        if external:
            file.write_text(page, encoding="utf-8")
        else:
            write_private(file, page)
    except OSError as error:
        raise BadInput(f"cannot write to {file}: {error.strerror}") from None
    if as_json:
        print(json.dumps({"report": str(file)}))
    else:
        show.print_written(file)


def _check(file: Path, external: bool, force: bool) -> None:
    if file.exists() and not force:
        raise BadInput(f"{file} exists; choose another place, or replace it with --force")
    folder = file.absolute().parent
    if not external and folder.name == "public" and (folder.parent / "internal").is_dir():
        raise BadInput(f"{folder} is shared; write the internal report elsewhere")


def _comparison(path: Path) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _ = found["front"], found["notes"], [one["release"] for one in found["releases"]]
        _ = [found[axis]["better"] for axis in ("risk", "loss")]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(
            f"{path} is not a comparison; make one with `discreet compare ... --out {path}`"
        ) from None
    return found


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the summary as plain data."""
    from discreet.report import key_figures, sentences
    from discreet.report.measures import label

    rows = [
        {
            "measure": label(row),
            "before": row["before"],
            "after": row["after"],
            "guide": row["guide"] and row["guide"]["value"],
        }
        for row in key_figures(facts)
    ]
    check = {part: facts["check"][part] for part in ("ok", "summary")}
    return {"summary": sentences(facts), "key_figures": rows, "check": check}


def _print_summary(facts: dict[str, Any]) -> None:
    """Print what the first page of the report says."""
    from discreet.report import key_figures, sentences
    from discreet.report.measures import cells

    for sentence in sentences(facts):
        show.out.print(escape(sentence))
    table = Table("key figure", title="Risk and utility")
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    table.add_column("guide value")
    table.add_column("kept")
    wide = show.out.width >= WIDE
    if wide:
        table.add_column("how to read it")
    for name, reading, guide, met, before, after in map(cells, key_figures(facts)):
        verdict = f"[bold red]{met}[/]" if met == "not met" else met
        table.add_row(escape(name), before, after, guide, verdict, *[escape(reading)][:wide])
    show.out.print(table)
    check = facts["check"]
    show.out.print(f"Check: {escape(check['summary'])}.")
    for warning in (*facts["log"]["warnings"], *check["notes"]):
        show.out.print(f"[yellow]Note:[/yellow] {escape(warning)}.")
    show.out.print(
        "Full report with charts: discreet report RELEASE --out report.html", markup=False
    )
