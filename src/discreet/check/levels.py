"""Whether what is the same in all rows of a household or person was drawn once for each.

Noise that is drawn for every member of a household is averaged away by whoever sees them together.
"""

from __future__ import annotations

from discreet.check.evidence import Plan
from discreet.check.findings import Finding, finding
from discreet.engines import Frame
from discreet.recipe.recipe import Recipe


def drawn_once(recipe: Recipe, plan: Plan, original: Frame) -> list[Finding]:
    """Compare the columns that a random step treats with how the plan says that it drew."""
    roles = recipe.roles
    groups = [name for name in (roles.household, roles.unit) if name is not None]
    # Rows without a household are nobody's members.
    groups = [name for name in groups if not original.nulls(name)]
    drawn: dict[str, str | None] = {}
    for step, planned in zip(recipe.steps, plan["steps"], strict=True):
        if step.build().is_random and not step.build().alike:
            levels = planned.get("levels", {})
            drawn |= {c: levels.get(c) for c in step.columns if c not in drawn}
    if not groups or not drawn:
        return []
    said = f"what is the same in all rows of {' or '.join(groups)} is drawn once for each"
    for column, level in drawn.items():
        shared = next((name for name in groups if _same_within(original, name, column)), None)
        if shared is not None and level is None:
            problem = f"'{column}' is the same in all rows of a '{shared}', but was drawn by row"
            return [finding(said, problem, "")]
    return [finding(said, None, f"{len(drawn)} columns")]


def _same_within(original: Frame, group: str, column: str) -> bool:
    """Tell whether a column never differs within a group, and some group has several rows."""
    groups = int(original.sizes([group])[1].sum())
    return groups < original.num_rows and groups == int(original.sizes([group, column])[1].sum())
