"""Whether what is the same in all rows of a household or person was drawn once for each.

Noise that is drawn for every member of a household is averaged away by whoever sees them together.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        method = step.build()
        if method.is_random and method.effect == "perturbs" and not method.alike:
            levels = planned.get("levels", {}) | planned.get("drawn", {})
            drawn |= {c: levels.get(c) for c in step.columns if c not in drawn}
    if not groups or not drawn:
        return []
    said = f"what is the same in all rows of {' or '.join(groups)} is drawn once for each"
    for column, level in drawn.items():
        shared = next((name for name in groups if _same_within(original, name, column)), None)
        coarser = level is not None and level in groups[: groups.index(shared)] if shared else True
        if shared is not None and level != shared and not coarser:
            by = "row" if level is None else f"'{level}'"
            problem = f"'{column}' is the same in all rows of a '{shared}', but was drawn by {by}"
            return [finding(said, problem, "")]
    return [finding(said, None, f"{len(drawn)} columns")]


def links(recipe: Recipe, original: Frame, released: Sequence[str]) -> tuple[str, ...]:
    """Name the released columns that show which rows belong to one household or person."""
    found: list[str] = []
    for group in recipe.linking:
        if group in released:
            found.append(group)
            if not original.nulls(group):
                found += [n for n in released if _all_same(original, group, n)]
    return tuple(found)


def _all_same(original: Frame, group: str, column: str) -> bool:
    """Tell the same of a column in which a null is a value like any other."""
    groups = int(original.sizes([group])[1].sum())
    return groups < original.num_rows and groups == int(original.sizes([group, column])[1].sum())


def _same_within(original: Frame, group: str, column: str) -> bool:
    """Tell whether a column never differs within a group but for nulls; some has several rows."""
    if int(original.sizes([group])[1].sum()) == original.num_rows:
        return False
    return bool(original.counts([group], of=column)[1].max(initial=0) <= 1)
