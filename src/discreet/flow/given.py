"""What one step of a recipe is given, to try it out without the rest of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from discreet.draws import Draws
from discreet.engines.choice import open_engine
from discreet.engines.memory import MemoryFrame
from discreet.flow.deciding import decide, refuse_rows
from discreet.flow.holdout import set_aside
from discreet.flow.log import with_seeds
from discreet.flow.refusals import refuse_columns
from discreet.outcome import Given, Linked, as_computed
from discreet.recipe.recipe import Recipe, needed_columns
from discreet.table.classes import encode


def given_to(
    table: Any, recipe: Recipe, number: int, dialect: Mapping[str, str | None] | None = None
) -> Given:
    """Return what a step that treats categories is given; the steps before it are carried out.

    Parameters
    ----------
    table : pyarrow.Table or path
        Read into memory.
    recipe : Recipe
    number : int
        Of the step, from 1 on.
    dialect : mapping, optional
        How a CSV is written.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"home": ["b", "b", "a"], "age": [31, 34, 31]})
    >>> recipe = Recipe.model_validate({
    ...     "roles": {"household": "home", "quasi": ["age"]},
    ...     "steps": [{
    ...         "method": "generalize", "columns": ["age"],
    ...         "hierarchies": {"age": {"kind": "flat"}},
    ...         "privacy": [{"model": "k-anonymity", "k": 2}],
    ...     }],
    ... })
    >>> given_to(people, recipe, 1).units.tolist()
    [0, 0, 1]
    """
    recipe = with_seeds(recipe)
    assert recipe.seed is not None
    step = recipe.steps[number - 1]
    method = step.build()
    with open_engine("memory") as engine:
        needed = partial(needed_columns, recipe)
        frame = engine.read(table, needed, recipe.null_markers, recipe.numeric, dialect)
    frame = set_aside(frame, recipe).frame
    names = frame.schema.names
    refuse_columns(frame, recipe, recipe.roles.assign(names), recipe.roles.released(names))
    refuse_rows(frame, recipe)
    if number > 1:
        before = recipe.model_copy(update={"steps": recipe.steps[: number - 1]})
        frame = decide(frame, before, "memory", lambda what: None).columns(names)
    assert isinstance(frame, MemoryFrame)
    rows = frame.table
    units, linked = recipe.counted, recipe.linked
    seen = None if linked is None else encode(rows[linked], linked)[0]
    return Given(
        {name: rows[name] for name in step.columns},
        partial(Draws, recipe.seed, number),
        as_computed,
        None,
        {name: rows[name] for name in method.reads},
        None if units is None else encode(rows[units], units)[0],
        None if seen is None else Linked(seen, recipe.known_rows).several,
    )
