"""The report command: a page, or its summary in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.cli import show
from discreet.errors import BadInput
from discreet.flow.reports import saved_facts, saved_report
from discreet.report import key_figures, sentences
from discreet.report.measures import cells, label

# A terminal this wide has room for how to read a figure.
WIDE = 110


def run_report(
    out: Console,
    release: Path,
    original: Path | None,
    target: Path | None,
    *,
    external: bool,
    compared: Path | None,
    force: bool,
    as_json: bool,
    engine: str,
    memory: str | None,
    dialect: dict[str, str | None],
) -> None:
    """Write a report of a release, or print its summary."""
    if external and (original is not None or compared is not None):
        raise BadInput(
            "an external report covers the released table only; leave out --original and --compared"
        )
    if target is None:
        if external:
            raise BadInput("give the file to write the external report to, with --out")
        facts = saved_facts(release, original, engine, memory, **dialect)
        if as_json:
            print(json.dumps(_plain(facts), indent=1, ensure_ascii=False))
        else:
            print_summary(out, facts)
        return
    _check_target(target, external, force)
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
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write to {target}: {error.strerror}") from None
    if as_json:
        print(json.dumps({"report": str(target)}))
    else:
        out.print(f"Written: {target}", markup=False, soft_wrap=True)


def _check_target(target: Path, external: bool, force: bool) -> None:
    if target.exists() and not force:
        raise BadInput(f"{target} exists; choose another place, or replace it with --force")
    folder = target.absolute().parent
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


def print_summary(out: Console, facts: dict[str, Any]) -> None:
    """Print what the first page of the report says."""
    for sentence in sentences(facts):
        out.print(escape(sentence))
    table = Table("key figure", title="Risk and utility")
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    table.add_column("guide value")
    table.add_column("kept")
    wide = out.width >= WIDE
    if wide:
        table.add_column("how to read it")
    for name, reading, guide, met, before, after in map(cells, key_figures(facts)):
        verdict = f"[bold red]{met}[/]" if met == "not met" else met
        table.add_row(escape(name), before, after, guide, verdict, *[escape(reading)][:wide])
    out.print(table)
    check = facts["check"]
    out.print(f"Check: {escape(check['summary'])}.")
    for warning in (*facts["log"]["warnings"], *check["notes"]):
        out.print(f"[yellow]Note:[/yellow] {escape(warning)}.")
    out.print("Full report with charts: discreet report RELEASE --out report.html", markup=False)
