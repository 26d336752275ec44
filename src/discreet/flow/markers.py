"""Null markers that may be values as well."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table import float_values, kind_of

Range = tuple[float, float]
# Hierarchies that list their values; the others have a place for any text.
_LISTS = ("csv", "table", "groups")


def doubtful(ranges: Mapping[str, Range | None], recipe: Recipe) -> list[str]:
    """Say which null markers of the recipe could be values of columns with nulls.

    A marker could be a value where the column's hierarchy lists it, or where it is a number within
    the range of the column's others.
    """
    found = []
    for name, ends in ranges.items():
        for marker in recipe.null_markers:
            why = _in_hierarchy(marker, name, recipe) or _in_range(marker, ends)
            if why:
                found.append(f"the null marker '{marker}' may be a value in '{name}': {why}")
    return found


def plain_range(column: pa.ChunkedArray, name: str) -> Range | None:
    """Return the smallest and the largest of a column's numbers; None where it holds none."""
    if kind_of(column.type) != "numeric" or pa.types.is_temporal(column.type):
        return None
    values = float_values(column, name)
    values = values[~np.isnan(values)]
    return (float(values.min()), float(values.max())) if len(values) else None


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


def _in_range(marker: str, ends: Range | None) -> str | None:
    try:
        number = float(marker)
    except ValueError:
        return None
    if ends is None or not ends[0] <= number <= ends[1]:
        return None
    return f"its numbers go from {ends[0]:g} to {ends[1]:g}"
