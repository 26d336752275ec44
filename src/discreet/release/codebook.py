"""The codebook of a released file: what its users may know of each column."""

from __future__ import annotations

import pyarrow as pa

from discreet.release.recipe import Recipe
from discreet.table import kind_of


def codebook(recipe: Recipe, released: pa.Table) -> str:
    """Describe each released column in words, without parameters or figures of the plan."""
    treated: dict[str, list[str]] = {}
    for step in recipe.steps:
        for column in step.columns:
            treated.setdefault(column, []).append(step.build().in_words)
    if recipe.roles.household is not None:
        treated[recipe.roles.household] = ["replaced by random numbers, one a household"]
    lines = [
        "# Codebook",
        "",
        f"{released.num_rows:,} rows in random order, {released.num_columns} columns. "
        "An empty cell is a missing value.",
        "",
        "| column | kind | type | what was done to it |",
        "|---|---|---|---|",
    ]
    for field in released.schema:
        name = field.name.replace("|", "\\|").replace("\n", " ")
        done = "; ".join(treated.get(field.name, ["nothing"]))
        lines.append(f"| {name} | {kind_of(field.type)} | {field.type} | {done} |")
    return "\n".join(lines) + "\n"
