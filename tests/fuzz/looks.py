"""A release beside its original: what the recipe says of columns and rows."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.cells import nulls, numbers, tolerance, without_markers

Step = dict[str, Any]
SUPPRESSING, BLANKING = ("generalize", "mondrian"), "local-suppression"
GROUPING = "anatomy"
K_PER_VALUE = ("oma", "mdav", "vmdav", "kmeans", "equal-width", "equal-frequency", "resampling")
K_PER_VALUE += ("mdlp", "chimerge", "base", "given-cuts")

# The first and the last count that a rule of `round-counts` hides.
SMALL_COUNTS = {"census-drb": (0, 14), "acro": (0, 9), "uk-llc": (0, 9), "cms": (1, 10)}


def groups_records(step: Step) -> bool:
    """Tell whether a step groups records over several columns, and not each column's values."""
    return step["method"] == "microaggregation" or bool(step.get("joint"))


def least_in_group(step: Step) -> int:
    """How many must be in a group of records."""
    return int(step.get("k") or step.get("min_count", 1))


class Look:
    """An original, a recipe as a plain dict, and what was released; nothing else is known."""

    def __init__(
        self,
        original: pd.DataFrame,
        recipe: dict[str, Any],
        released: pd.DataFrame,
        kinds: dict[str, str] | None = None,
        left_out: int | None = None,
    ) -> None:
        self.before = without_markers(original, recipe.get("null_markers", []))
        self.after, self.recipe, self.kinds = released, recipe, kinds or {}
        self.left_out = left_out
        self.roles, self.steps = recipe["roles"], recipe["steps"]

    # Columns

    @cached_property
    def expected(self) -> list[str]:
        """The columns that are to be released, in order."""
        roles = self.roles
        shown = {
            c for role in ("quasi", "confidential", "insensitive") for c in roles.get(role, ())
        }
        shown |= set(roles.get("pseudonyms", ()))
        if roles.get("household") and roles.get("release_household", True):
            shown.add(roles["household"])
        hidden = {*roles.get("identifiers", ()), roles.get("household"), roles.get("unit")}
        hidden |= {roles.get(role) for role in ("weight", "target", "row_key")}
        rest = roles.get("rest") == "insensitive"
        added = [step.get("group", "group") for step in self.steps if step["method"] == GROUPING]
        released = [c for c in self.before.columns if c in shown or (rest and c not in hidden)]
        return released + added

    def treating(self, name: str) -> list[Step]:
        """The steps that treat a column, in order."""
        return [step for step in self.steps if name in step["columns"]]

    def is_last(self, step: Step, name: str) -> bool:
        """Tell whether the released column is what this step made."""
        return self.treating(name)[-1] is step

    def is_moved(self, name: str) -> bool:
        """Tell whether a step gave a column's cells, nulls too, to other rows."""
        return any(name in step.get("confidential", ()) for step in self.treating(name))

    def is_blanked(self, step: Step, name: str) -> bool:
        """Tell whether an earlier step may have turned a column's values into nulls."""
        steps = self.treating(name)
        before = steps[: next(place for place, one in enumerate(steps) if one is step)]
        blanking = (BLANKING, "round-counts")
        return any(groups_records(one) or one["method"] in blanking for one in before)

    def given(self, step: Step, name: str) -> np.ndarray | None:
        """Return the numbers that a step was given, if they can be known."""
        values = numbers(self.before[name])
        for earlier in self.treating(name):
            if earlier is step:
                return values
            if earlier["method"] != "top-bottom":
                return None
            values = np.clip(
                values, parameter(earlier, "lower", name), parameter(earlier, "upper", name)
            )
        return None

    def tolerance(self, step: Step, name: str) -> float:
        """How far rounding may move what a step makes of a column."""
        precision = step.get("precision", "input")
        once = len(self.treating(name)) == 1
        near = tolerance(self.before[name], precision, self.kinds.get(name, ""))
        return near if once else 2 * near

    def level(self, names: list[str]) -> str | None:
        """The role, household or unit, within which all of some columns are the same."""
        for role in ("household", "unit"):
            by = self.roles.get(role)
            if by is not None and all(self.constant(name, by) for name in names):
                return role
        return None

    def constant(self, name: str, by: str) -> bool:
        """Tell whether a column is the same in all rows of each household or unit."""
        pairs = set(zip(self.before[by].map(repr), self.before[name].map(repr), strict=True))
        return len(pairs) == self.before[by].map(repr).nunique()

    # Rows

    @cached_property
    def gone(self) -> np.ndarray:
        """The rows that are left out: blank in every column."""
        if not self.suppressing:
            return np.zeros(len(self.after), bool)
        blank = np.all([nulls(self.after[name]) for name in self.after.columns], axis=0)
        if self.left_out is None or blank.sum() <= self.left_out:
            return blank
        # Others may show nothing: those that had little to show, where blanks are few above all,
        # and any that were blanked; of these no two of a household, who are counted as one.
        rare = {c for step in self.steps for c in (*step.get("fixed", ()), *step.get("limit", ()))}
        lacked = np.sum([nulls(self.before[name]) for name in self.after.columns], axis=0)
        scarce = sum((nulls(self.before[name]).astype(int) for name in rare), np.zeros(len(blank)))
        by = self.roles.get("unit") or self.roles.get("household")
        first = ~self.before[by].duplicated().to_numpy() if by else np.ones(len(blank), bool)
        rows = np.lexsort([first, lacked, scarce])
        return np.isin(np.arange(len(blank)), rows[blank[rows]][: self.left_out])

    @cached_property
    def suppressing(self) -> list[Step]:
        """The steps that may suppress records."""
        return [
            step
            for step in self.steps
            if step["method"] in (*SUPPRESSING, GROUPING) or step.get("record_cost") is not None
        ]

    @cached_property
    def starred(self) -> np.ndarray:
        """The rows that are stars in all the columns of a step: suppressed, or coarse as can be."""
        found = np.zeros(len(self.after), bool)
        for step in self.suppressing:
            if step["method"] not in SUPPRESSING:
                continue
            found |= np.all([self.after[name] == "*" for name in step["columns"]], axis=0)
        return found

    @property
    def may_exclude(self) -> bool:
        """True if a promise may need that suppressed records are left out before any step."""
        methods = [step["method"] for step in self.steps]
        shared = self.recipe.get("household_suppression") == "whole"
        models = [model for step in self.suppressing for model in step.get("privacy", ())]
        reads = any("column" in model for model in models)
        links = any(self.roles.get(role) for role in ("household", "unit"))
        hidden = (
            len(self.steps) > 1
            or links
            or any(model.get("column") in self.roles.get("quasi", ()) for model in models)
        )
        others = [s for s in self.steps if groups_records(s) or s["method"] == "generalize-items"]
        judged = [method for method in methods if method in (*SUPPRESSING, BLANKING, GROUPING)]
        several = len(judged) > 1 or bool(others)
        return bool(self.suppressing) and (shared or several or (reads and hidden))

    @property
    def lost(self) -> bool:
        """True if some record is, or may be, suppressed."""
        return bool(self.gone.any() or self.starred.any())

    @cached_property
    def counted(self) -> str | None:
        """The column of what k counts; None for rows."""
        roles, counts = self.roles, self.recipe.get("counts")
        if counts == "rows":
            return None
        if counts == "units":
            return roles.get("unit")
        return roles.get("household") or (None if counts else roles.get("unit"))

    @cached_property
    def units(self) -> list[Hashable]:
        """What each row counts for."""
        if self.counted is None:
            return list(range(len(self.before)))
        return [repr(cell) for cell in self.before[self.counted]]

    def tuples(self, names: list[str]) -> list[tuple[Any, ...]]:
        """Return what each row shows in some columns."""
        return list(zip(*(self.after[name].tolist() for name in names), strict=True))

    def count(self, rows: Any) -> int:
        """Count what k counts among some rows."""
        return len({self.units[row] for row in rows})

    def firsts(self, step: Step) -> list[np.ndarray]:
        """Rows that a step may have been decided on: all, or one for each household or unit."""
        every = [np.arange(len(self.before))]
        for role in ("household", "unit"):
            if self.roles.get(role) is not None:
                cells = self.before[self.roles[role]].map(repr)
                every.append(np.flatnonzero(~cells.duplicated().to_numpy()))
        return every


def parameter(step: Step, key: str, name: str) -> Any:
    """Return a parameter of a step for a column."""
    value = step.get(key)
    return value.get(name) if isinstance(value, dict) else value
