"""The columns of a table that a recipe needs."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.release.recipe import Recipe


def needed_columns(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """Name the columns that are released or used."""
    roles = recipe.roles
    used = {roles.weight, roles.target, roles.row_key}
    return [*roles.released(names), *(name for name in names if name in used)]
