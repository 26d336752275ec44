"""Assess a release: what was done, measured before and after."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.assessment.assessment import Assessment, assess_frames
from discreet.assessment.opened import check_lengths, opened
from discreet.check.folders import find_release
from discreet.engines.memory import Memory, MemoryFrame
from discreet.errors import BadInput
from discreet.parameters import whole
from discreet.recipe.given import Given, as_roles
from discreet.recipe.recipe import Recipe
from discreet.table import normalise, to_arrow


def assess(
    original: Any,
    protected: Any,
    roles: Given | None = None,
    *,
    recipe: Given | None = None,
    rows: np.ndarray | None = None,
    suppressed: np.ndarray | None = None,
    measures: Sequence[str] | None = None,
    population: int | None = None,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
) -> Assessment:
    """Measure risk and utility of a protected table against its original.

    Parameters
    ----------
    original, protected : pandas, polars or pyarrow table, or path
        A path of the protected one may be a release folder: its internal folder then says which
        rows belong together, and what was done if there is no recipe.
    roles : Roles, Recipe, dict or path of a TOML file
        A recipe, in any of these forms, also says what was done. By default, those of the internal
        folder of a release that is given by its path.
    recipe : Recipe, dict or path, optional
        What was done, if roles are given alone: its null markers are read as nulls, and risk by
        frequencies is left out where a step perturbed a quasi column.
    rows : ndarray of int, optional
        For each protected row the position of its original; in order where not given.
    suppressed : ndarray of int, optional
        The original's rows that were suppressed, whether they are in the protected table or not.
    measures : sequence of str, optional
        The measures to take, by name, and no others. Where not given, those that fit the columns
        and what was done to them.
    population : int, optional
        The people of whom the table is a sample, for `population_uniqueness`; the recipe's where
        not given.
    engine : {"auto", "memory", "duckdb"}
        Where to work on files: DuckDB takes those that do not fit in memory.
    memory : str, optional
        DuckDB's limit, such as "4GB".
    dialect : mapping, optional
        How the original is written, if it is a CSV: separator, decimal, quote, encoding.

    Returns
    -------
    Assessment

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"age": [31, 32, 45, 46], "pay": [10.0, 12.0, 30.0, 34.0]})
    >>> protected = pa.table({"age": [31, 31, 45, 45], "pay": [11.0, 11.0, 32.0, 32.0]})
    >>> roles = {"quasi": ["age"], "confidential": ["pay"]}
    >>> sizes = assess(original, protected, roles).risk["class_sizes"]
    >>> sizes["before"]["unique"], sizes["after"]["unique"]
    (4, 0)
    >>> print(assess(original, protected, roles, measures=["class_sizes"]))
    measure               before  after
    class_sizes.smallest       1      2
    class_sizes.unique         4      0
    class_sizes.under_3        4      4
    class_sizes.under_5        4      4
    class_sizes.classes        4      2
    """
    roles, own = as_roles(_known(protected) if roles is None else roles)
    recipe = own if recipe is None else _done(recipe)
    if isinstance(protected, str | Path):
        files = opened(
            original,
            [protected],
            recipe=recipe,
            roles=roles,
            engine=engine,
            memory=memory,
            dialect=dialect,
        )
        with files as [found]:
            if found.note:
                warnings.warn(found.note, stacklevel=2)
            if population is not None:
                found = replace(found, recipe=_sampled(found.recipe, population))
            return found.assess(measures=measures)
    rules = Recipe.model_construct(roles=roles) if recipe is None else recipe
    rules = rules.model_copy(update={"roles": roles})
    if population is not None:
        rules = _sampled(rules, population)
    before = Memory().read(original, list, rules.null_markers, rules.numeric, dialect)
    table = normalise(to_arrow(protected), ())
    check_lengths(before.num_rows if rows is None else len(rows), len(table))
    gone = 0 if suppressed is None else len(suppressed)
    after = MemoryFrame(table, rows)
    return assess_frames(before, after, rules, suppressed=gone, measures=measures)


def _sampled(recipe: Recipe, population: int) -> Recipe:
    """Say of how many people a table is a sample."""
    whole(1).check("population", population)
    return recipe.model_copy(update={"population": population})


def _known(protected: Any) -> Path:
    """Find the recipe of a release that was written."""
    if not isinstance(protected, str | Path):
        raise BadInput("say what each column is: give roles or a recipe")
    _, internal = find_release(protected)
    if not internal.is_dir():
        raise BadInput(f"{internal} does not exist; give roles or a recipe")
    return internal / "recipe.toml"


def _done(given: Given) -> Recipe:
    """Return the recipe of what was done; by roles alone, nothing is known to have been."""
    roles, recipe = as_roles(given)
    return Recipe.model_construct(roles=roles) if recipe is None else recipe
