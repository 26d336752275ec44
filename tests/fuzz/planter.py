"""A release that is to be made wrong, and what there is to choose from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

SUPPRESSING = ("generalize", "mondrian")
Table = pd.DataFrame


class Planter:
    """A release that is to be made wrong."""

    def __init__(
        self, rng: np.random.Generator, original: Table, recipe: dict[str, Any], released: Table
    ) -> None:
        self.rng, self.original, self.recipe, self.released = rng, original, recipe, released
        self.roles, self.steps = recipe["roles"], recipe["steps"]
        treated = [name for step in self.steps for name in step["columns"]]
        self.once = [name for name in treated if treated.count(name) == 1]
        renamed = {self.roles.get("household"), *self.roles.get("pseudonyms", ())}
        known = [c for c in released.columns if c in original.columns]
        self.untouched = [c for c in known if c not in treated and c not in renamed]
        self.suppresses = any(step["method"] in SUPPRESSING for step in self.steps)
        self.suppresses |= any("record_cost" in step for step in self.steps)
        self.suppresses |= any(step["method"] == "anatomy" for step in self.steps)

    def copy(self) -> Table:
        return self.released.copy()

    def pick(self, options: Any) -> Any:
        options = list(options)
        return options[int(self.rng.integers(len(options)))] if options else None

    def shown(self, name: str) -> list[int]:
        """The rows that show a value in a column."""
        return [i for i, cell in enumerate(self.released[name]) if cell is not None]

    def step(self, *methods: str) -> tuple[dict[str, Any], str] | None:
        """A step that keeps its promise, and a column that no other step treats.

        What groups records over several columns has another name than what groups values.
        """
        found = [
            (step, name)
            for step in self.steps
            if "joint " * step.get("joint", False) + step["method"] in methods
            and step.get("promise", True)
            for name in step["columns"]
            if name in self.once and self.shown(name)
        ]
        return self.pick(found)

    def with_cell(self, name: str, row: int, cell: Any) -> Table:
        table = self.copy()
        table.at[row, name] = cell
        return table
