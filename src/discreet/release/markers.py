"""Null markers that may be values as well."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.release.recipe import Recipe
from discreet.table import float_values, kind_of

# Hierarchies that list their values; the others have a place for any text.
_LISTS = ("csv", "table", "groups")


def doubtful_markers(table: pa.Table, recipe: Recipe) -> list[str]:
    """Say which null markers of the recipe could be values of a column that has nulls.

    A marker could be a value where the column's hierarchy lists it, or where it is a number within
    the range of the column's others.
    """
    found = []
    for name in table.column_names:
        for marker in recipe.null_markers if table[name].null_count else ():
            why = _in_hierarchy(marker, name, recipe) or _in_range(marker, table[name], name)
            if why:
                found.append(f"the null marker '{marker}' may be a value in '{name}': {why}")
    return found


def _in_hierarchy(marker: str, name: str, recipe: Recipe) -> str | None:
    for step in recipe.steps:
        hierarchy = (step.parameters().get("hierarchies") or {}).get(name)
        if hierarchy is None or hierarchy.spec.get("kind") not in _LISTS:
            continue
        try:
            hierarchy.labels(pa.array([marker]), name)
        except BadInput:
            continue
        return "its hierarchy lists it"
    return None


def _in_range(marker: str, column: pa.ChunkedArray, name: str) -> str | None:
    if kind_of(column.type) != "numeric" or pa.types.is_temporal(column.type):
        return None
    try:
        number = float(marker)
    except ValueError:
        return None
    values = float_values(column, name)
    values = values[~np.isnan(values)]
    if not len(values) or not values.min() <= number <= values.max():
        return None
    return f"its numbers go from {values.min():g} to {values.max():g}"
