"""Tables read as a recipe says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from discreet.recipe.recipe import Recipe
from discreet.table import read_table


def needed_columns(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """Name the columns that are released or used."""
    roles = recipe.roles
    used = {roles.weight, roles.target, roles.row_key}
    return [*roles.released(names), *(name for name in names if name in used)]


def read_original(path: str | Path, recipe: Recipe, **dialect: str | None) -> pa.Table:
    """Read a table as a recipe says: with its null markers and numeric columns."""
    return read_table(path, null_markers=recipe.null_markers, numeric=recipe.numeric, **dialect)
