"""A search recipe: an ordinary recipe with what a search is to look for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import BadInput, nearest
from discreet.generalization import Hierarchy
from discreet.generalization.models import read_models
from discreet.recipe.given import Given, content_given
from discreet.recipe.recipe import Recipe
from discreet.recipe.roles import Roles
from discreet.tuning.given import given_parts
from discreet.tuning.space import Part

# What may be said under [search].
_SEARCH = ("privacy", "keep", "known", "standards", "risk", "loss")
# The recipes that are found are for other runs, which draw their own.
_SECRETS = ("seed", "order_seed", "seed_for", "allow_predictable_seed")


@dataclass(frozen=True)
class Asked:
    """What a search recipe says.

    Attributes
    ----------
    content : dict
        The recipe without roles, steps and seeds.
    roles : Roles
    given : list of Part
        What the steps of the recipe are.
    hierarchies : dict of str to Hierarchy
    search : dict
        What is under `search`, where no argument overrides it.
    """

    content: dict[str, Any]
    roles: Roles
    given: list[Part]
    hierarchies: dict[str, Hierarchy]
    search: dict[str, Any]

    @property
    def treated(self) -> list[str]:
        """The columns that given steps treat."""
        return [column for part in self.given for column in part.columns]

    def recipe(self, steps: list[dict[str, Any]]) -> Recipe:
        """Return the recipe with some steps; quasi columns without one are released as they are."""
        roles = self.roles.model_dump(exclude_defaults=True)
        treated = {column for step in steps for column in step["columns"]}
        left = [c for c in self.roles.quasi if c not in treated or c in self.roles.untouched]
        return Recipe.from_dict(
            {**self.content, "roles": roles | {"untouched": left}, "steps": steps}
        )

    def names(self, key: str) -> list[str]:
        """Return a list of columns under `search`."""
        value = self.search.get(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(n, str) for n in value):
            raise BadInput(f"{key} must be a list of columns, not {value!r}")
        return list(value)

    @property
    def privacy(self) -> list[dict[str, Any]]:
        """The models that every point must promise, as in a recipe."""
        given = self.search.get("privacy") or []
        return [plain_model(model) for model in (read_models(given) if given else [])]


def read_asked(recipe: Given, arguments: Mapping[str, Any]) -> Asked:
    """Read a search recipe; arguments that are not None override what it says under `search`.

    Examples
    --------
    >>> asked = read_asked({"roles": {"quasi": ["age"]}, "search": {"keep": ["age"]}}, {})
    >>> asked.names("keep")
    ['age']
    """
    content = content_without_secrets(recipe)
    search = _table(content, "search")
    for key in search:
        if key not in _SEARCH:
            raise BadInput(f"search: unknown key '{key}'; {nearest(key, _SEARCH)}")
    search |= {key: value for key, value in arguments.items() if value is not None}
    hierarchies = {
        column: Hierarchy.from_spec(spec) for column, spec in _table(content, "hierarchies").items()
    }
    given = given_parts(content.pop("steps", []))
    if "roles" not in content:
        raise BadInput("the recipe: 'roles' is missing; say what each column is")
    roles = content.pop("roles")
    roles = roles if isinstance(roles, Roles) else Roles.from_dict(roles)
    asked = Asked(content, roles, given, hierarchies, search)
    _validate(asked)
    return asked


def content_without_secrets(recipe: Given) -> dict[str, Any]:
    """Return what a recipe says, without the seeds of another run."""
    return {key: value for key, value in content_given(recipe).items() if key not in _SECRETS}


def _table(content: dict[str, Any], key: str) -> dict[str, Any]:
    value = content.pop(key, {})
    if not isinstance(value, Mapping):
        raise BadInput(f"{key} must be a table, not {value!r}")
    return dict(value)


def _validate(asked: Asked) -> None:
    """Refuse what a recipe with any of the choices would be refused for."""
    asked.recipe([])
    for part in asked.given:
        for option in part.options:
            asked.recipe([{"columns": list(part.columns), **step} for step in option.steps])


def plain_model(model: Any) -> dict[str, Any]:
    """Return a privacy model as a recipe has it."""
    values = {key: value for key, value in asdict(model).items() if value is not None}
    if getattr(model, "hierarchy", None) is not None:
        values["hierarchy"] = model.hierarchy.spec
    return values
