"""The risk of a table as it is, without a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options, show
from discreet.cli.show import escape
from discreet.errors import BadInput


@options.reads_files
def risk(
    file: options.TableFile,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="TOML file with roles; its steps are not run.")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="Columns that an intruder may know, such as age,sex,town.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column of the person or company that a row belongs to.")
    ] = None,
    household: Annotated[str | None, typer.Option(help="Column of households.")] = None,
    confidential: Annotated[
        str | None, typer.Option(help="Confidential columns, such as income,disease.")
    ] = None,
    population: options.People = None,
    records: Annotated[
        bool, typer.Option("--records", help="Show the ten records most at risk.")
    ] = False,
    engine: options.Measuring = "auto",
    memory: options.Memory = None,
    as_json: options.Json = False,
    **dialect: str | None,
) -> None:
    """Measure the risk of a table as it is, without a release."""
    from discreet.check.findings import counted
    from discreet.inspection import risk_of
    from discreet.recipe import Recipe

    own = {
        "quasi": _names(keys), "confidential": _names(confidential), "weight": weight,
        "unit": unit, "household": household,
    }  # fmt: skip
    given = {name: value for name, value in own.items() if value}
    if recipe is None and keys is None:
        raise BadInput("name what an intruder may know, with --keys age,sex,town or --recipe R")
    if recipe is not None and given:
        raise BadInput("--recipe says what each column is; leave out --keys and the other columns")
    with show.progress("measuring"):
        found = risk_of(
            file,
            given if recipe is None else Recipe.load(recipe),
            population=population,
            engine=engine,
            memory=memory,
            dialect=dialect,
        )
    if as_json:
        show.print_json(found.to_dict())
        return
    head = f"[bold]Risk of {escape(file.name)} as it is[/bold], {counted(found.rows, 'record')} by"
    show.out.print(f"{head} {escape(', '.join(found.columns))}", soft_wrap=True)
    lines = found.lines(records)
    width = max(len(name) for name, _ in lines)
    for name, said in lines:
        show.out.print(f"  {name:<{width}}  {said}", markup=False, soft_wrap=True)
    for name, why in found.left_out.items():
        show.out.print(f"Not measured: {escape(name)}: {escape(why)}.", soft_wrap=True)


def _names(listed: str | None) -> list[str]:
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
