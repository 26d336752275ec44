"""The project key: draws of single cells that are the same in every release of a project."""

from __future__ import annotations

from pathlib import Path

from discreet.draws import derived
from discreet.errors import BadInput
from discreet.private import write_private
from discreet.recipe.key_files import key_of, new_key
from discreet.recipe.recipe import NEW_KEY, Recipe

# Beside the recipe in `internal/`, which names it.
PROJECT_FILE = "project.key"


def with_project_key(recipe: Recipe) -> Recipe:
    """Put the key itself into a recipe that names its file, or asks for a new one."""
    given = recipe.project_key
    if given is None:
        return recipe
    _refuse_unknown_rows(recipe)
    key = new_key() if given == NEW_KEY else _key_of(given)
    return recipe.model_copy(update={"project_key": key})


def project_seed(recipe: Recipe) -> int | None:
    """Return what the draws of cells go by; None without a project key."""
    if recipe.project_key is None:
        return None
    return derived(int(_key_of(recipe.project_key), 16), "project")


def save_project_key(recipe: Recipe, folder: Path) -> None:
    """Write the key of a recipe's project to a file that nobody else can read."""
    if recipe.project_key is not None:
        write_private(folder / PROJECT_FILE, f"{recipe.project_key}\n")


def _key_of(given: str) -> str:
    otherwise = (
        f'take {PROJECT_FILE} of another release, or set project_key = "{NEW_KEY}" to draw one'
    )
    return key_of(given, "project", otherwise)


def _refuse_unknown_rows(recipe: Recipe) -> None:
    """Refuse a key where nothing tells which row of another table is the same."""
    roles = recipe.roles
    for number, step in enumerate(recipe.steps, start=1):
        method = step.build()
        if not method.steady or roles.row_key is not None:
            continue
        if method.draws_by == "person" and (roles.household or roles.unit):
            continue
        raise BadInput(
            f"step {number} ({step.method}) draws by row, and project_key needs to know which row "
            "of another table is the same; give a column with a value of its own in each row the "
            "role row_key"
        )
