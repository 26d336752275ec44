"""A recipe, or roles alone, in any of the forms in which they are given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe, content_of
from discreet.recipe.roles import Roles

# Whatever takes a recipe or roles takes all of these.
Given: TypeAlias = Recipe | Roles | Mapping[str, Any] | str | Path


def content_given(given: Given) -> dict[str, Any]:
    """Return what is given with the structure of a recipe's TOML file; nothing is validated.

    Examples
    --------
    >>> content_given({"quasi": ["age"]})
    {'roles': {'quasi': ['age']}}
    """
    if isinstance(given, Recipe):
        return given.model_dump(exclude_unset=True)
    if isinstance(given, str | Path):
        return content_of(given)
    if _is_roles(given):
        return {"roles": given}
    if isinstance(given, Mapping):
        return dict(given)
    kind = type(given).__name__
    raise BadInput(f"a recipe must be a Recipe, Roles, a dict or a path, not {kind}")


def as_recipe(given: Given) -> Recipe:
    """Return a recipe; one of roles alone has no steps.

    Examples
    --------
    >>> as_recipe(Roles(confidential=["pay"])).steps
    []
    """
    if isinstance(given, Recipe):
        return given
    if isinstance(given, str | Path):
        return Recipe.load(given)
    return Recipe.from_dict(content_given(given))


def as_roles(given: Given) -> tuple[Roles, Recipe | None]:
    """Return roles, and the recipe that they are from, if it is given; roles alone are not one."""
    if isinstance(given, Roles):
        return given, None
    if isinstance(given, Mapping) and not _is_recipe(given):
        return Roles.from_dict(given), None
    if not isinstance(given, Recipe | Mapping | str | Path):
        kind = type(given).__name__
        raise BadInput(f"roles must be Roles, a Recipe, a dict or a path, not {kind}")
    recipe = as_recipe(given)
    return recipe.roles, recipe


def _is_recipe(given: Mapping[str, Any]) -> bool:
    return not given.keys().isdisjoint(Recipe.model_fields)


def _is_roles(given: Any) -> bool:
    """Tell whether something holds roles alone: it names some, and nothing that a recipe has."""
    if not isinstance(given, Mapping):
        return isinstance(given, Roles)
    return not _is_recipe(given) and not given.keys().isdisjoint(Roles.model_fields)
