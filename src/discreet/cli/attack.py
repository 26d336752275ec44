"""Attack a release, or two of one table together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from discreet.cli import options, show
from discreet.cli.show import escape
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.assessment.attacked import Attacked


@options.reads_files
def attack(
    original: options.Original,
    releases: Annotated[
        list[Path], typer.Argument(help="Release folder or released file; or two of one table.")
    ],
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="People like those of the original who are not in the release (those whom protect "
            "set aside, if it did)."
        ),
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="Columns that an intruder knows, such as age,sex,town.")
    ] = None,
    secret: Annotated[
        str | None, typer.Option(help="Column to infer (every confidential one by default).")
    ] = None,
    queries: Annotated[int, typer.Option(help="Attempts of each attack.")] = 2000,
    engine: options.Measuring = "auto",
    memory: options.Memory = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Attack a release: what it adds to a guess, and to what it tells of people not in it."""
    from discreet.assessment.attacked import attack as attacked
    from discreet.assessment.attacked import compared

    names = [name.strip() for name in (known or "").split(",") if name.strip()] or None
    if len(releases) > 2:
        raise BadInput("give one release to attack, or two of one table to put together")
    if len(releases) == 2:
        if holdout is not None:
            raise BadInput("two releases are put together without a holdout; leave --holdout out")
        with show.progress("putting the releases together"):
            pair = compared(
                original, *releases, known=names, secret=secret, engine=engine, memory=memory,
                dialect=dialect,
            )  # fmt: skip
        if as_json:
            show.print_json({"differencing": pair.to_dict()})
        else:
            show.out.print(pair.said, markup=False, soft_wrap=True)
        return
    with show.stages() as tell:
        found = attacked(
            original, releases[0], holdout=holdout, known=names, secret=secret, queries=queries,
            engine=engine, memory=memory, dialect=dialect, progress=tell,
        )  # fmt: skip
    if as_json:
        show.print_json(found.to_dict())
    else:
        _print(found)


def _print(found: Attacked) -> None:
    """Print the attacks as a table, and a sentence each."""
    from discreet.report.attacked import attack_sentences, attack_table

    content = found.to_dict()
    laid = attack_table(content)
    table = Table(*laid.head, title="Attacks")
    for row in laid.rows:
        table.add_row(*map(escape, row))
    show.out.print(table, crop=False)
    for said in attack_sentences(content):
        show.out.print(said, markup=False, soft_wrap=True)
    for name, why in found.left_out.items():
        show.out.print(f"Left out: {name}: {why}.", markup=False, soft_wrap=True)
    for note in found.notes:
        show.out.print(f"Note: {note}.", markup=False, soft_wrap=True)
