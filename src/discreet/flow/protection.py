"""Protect a table by a recipe: the steps in order, then the check."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from discreet.check.evidence import Evidence
from discreet.check.frames import check_frames
from discreet.engines.choice import choose
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.log import timed
from discreet.flow.markers import doubtful_markers
from discreet.flow.release import Release
from discreet.flow.run import Run
from discreet.recipe.reading import read_original
from discreet.recipe.recipe import Recipe, as_recipe
from discreet.table import like, normalise, to_arrow
from discreet.table.labels import released_labels

if TYPE_CHECKING:
    from discreet.flow.large_release import LargeRelease


@overload
def protect(
    table: Any, recipe: Recipe | Mapping[str, Any] | str | Path, engine: Literal["memory"]
) -> Release: ...
@overload
def protect(
    table: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    engine: str = ...,
    *,
    memory: str | None = ...,
    master: str | None = ...,
) -> Release | LargeRelease: ...
def protect(
    table: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    engine: str = "auto",
    *,
    memory: str | None = None,
    master: str | None = None,
) -> Release | LargeRelease:
    """Protect a table by a recipe, and verify what the recipe promises.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or path
        About people or companies, one row each. With an engine also a DuckDB relation or a Spark
        DataFrame.
    recipe : Recipe, dict or path of a TOML file
        Roles of the columns, and the steps.
    engine : {"auto", "memory", "duckdb", "spark"}
        Where the work is done. `"auto"`: in memory where the file fits in a third of what is free,
        and else on DuckDB; where the table itself is, if it is a relation or a Spark DataFrame.
    memory : str, optional
        DuckDB's or Spark's limit, such as "4GB".
    master : str, optional
        Of Spark; on this machine where not given. A session that runs already is used as it is.

    Returns
    -------
    Release or LargeRelease
        With the protected table in `table`; `save` writes it to disk. On an engine the check comes
        with `save`, of what was written.

    Raises
    ------
    BadInput
        Where the table or the recipe cannot be used.
    BrokenPromise
        Where the independent check finds that a promise does not hold.

    Examples
    --------
    >>> from discreet.datasets import make_households
    >>> people = make_households(1000, seed=1).select(["name", "income"])
    >>> release = protect(people, {
    ...     "roles": {"identifiers": ["name"], "confidential": ["income"]},
    ...     "steps": [{"method": "oma", "columns": ["income"], "k": 5}],
    ... })
    >>> release.table.column_names
    ['income']
    >>> release.check.ok
    True
    """
    recipe = as_recipe(recipe)
    engine = choose(engine, table)
    if engine != "memory":
        from discreet.flow.large import protect_large

        return protect_large(table, recipe, engine, memory=memory, master=master)
    if isinstance(table, str | Path):
        return protect_read(read_original(table, recipe), recipe, Path(table))
    return protect_read(table, recipe)


def protect_read(table: Any, recipe: Recipe, source: Path | None = None) -> Release:
    """Protect a table that was read already; `source` is the file that it came from."""
    arrow = to_arrow(table)
    if arrow.num_rows == 0:
        raise BadInput("the table has no rows")
    original = normalise(arrow, recipe.null_markers)
    run = Run(original, recipe)
    run.log["input"]["source"] = None if source is None else source.name
    run.log["warnings"] += doubtful_markers(original, recipe)
    for number, step in enumerate(recipe.steps, start=1):
        run.do(number, step)
    run.replace_households()
    protected, changed = run.result()
    protected = released_labels(original, protected, run.seen, np.flatnonzero(run.left_out))
    frame = MemoryFrame(original)
    evidence = Evidence(run.plan, run.log, run.recipe, original=frame)
    with timed(run.log, "check"):
        report = check_frames(MemoryFrame(protected), run.recipe, evidence, frame)
    if not report.verified:
        raise BrokenPromise(f"the release does not pass its check:\n{report}")
    # Null markers became nulls, so columns that no step treats may have changed too.
    changed |= {c for c in arrow.column_names if original[c].null_count != arrow[c].null_count}
    result = like(table, protected, changed)
    gone = np.flatnonzero(run.suppressed), np.flatnonzero(run.left_out)
    return Release(
        result, run.plan, run.log, run.recipe, report, protected, original, source, *gone
    )
