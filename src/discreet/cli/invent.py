"""An invented table in a file, to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options, show
from discreet.errors import BadInput, nearest

_KINDS = ("people", "survey", "visits", "businesses")


def invent(
    kind: Annotated[
        str,
        typer.Argument(
            help="people (in households), survey (with weights of strata and household incomes), "
            "visits (several a patient), businesses.",
            autocompletion=lambda incomplete: [one for one in _KINDS if one.startswith(incomplete)],
        ),
    ],
    file: Annotated[Path, typer.Argument(help="File to write: CSV, Parquet, SPSS ...")],
    size: Annotated[
        int, typer.Option(help="Number of people, patients or companies.", min=1)
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed, other rows.", min=0)] = 1,
    null_rate: Annotated[
        float, typer.Option(help="Share of missing cells, of people and survey.")
    ] = 0.0,
    force: options.ForceFile = False,
) -> None:
    """Write an invented table to a file, to try things on."""
    from discreet import datasets
    from discreet.table import write_table

    if kind not in _KINDS:
        raise BadInput(f"nothing is invented for '{kind}'; {nearest(kind, _KINDS)}")
    if file.exists() and not force:
        raise BadInput(f"{file} exists; choose another name, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise BadInput(f"cannot write to {file}: there is no folder {file.parent}")
    if null_rate and kind in ("visits", "businesses"):
        raise BadInput(f"{kind} have no missing cells; leave out --null-rate")
    if kind == "visits":
        table = datasets.make_episodes(size, seed)
    elif kind == "businesses":
        table = datasets.make_businesses(size, seed)
    else:
        table = datasets.make_households(size, seed, null_rate, survey=kind == "survey")
    write_table(table, file)
    rows = f"{table.num_rows:,} row{'s' if table.num_rows > 1 else ''}"
    show.out.print(f"{file}: {rows}, {table.num_columns} columns", markup=False, soft_wrap=True)
