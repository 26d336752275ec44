"""The project key: draws of single cells that are the same in every release of a project."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from discreet.draws import derived
from discreet.errors import BadInput
from discreet.private import write_private
from discreet.recipe.recipe import NEW_KEY, Recipe

# Beside the recipe in `internal/`, which names it.
PROJECT_FILE = "project.key"
_KEY_BYTES = 32
_KEY = re.compile(rf"[0-9a-f]{{{2 * _KEY_BYTES}}}")


def with_project_key(recipe: Recipe) -> Recipe:
    """Put the key itself into a recipe that names its file, or asks for a new one."""
    given = recipe.project_key
    if given is None:
        return recipe
    _refuse_unknown_rows(recipe)
    key = secrets.token_hex(_KEY_BYTES) if given == NEW_KEY else _key_of(given)
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
    return given if _KEY.fullmatch(given) else _read(Path(given))


def _read(path: Path) -> str:
    try:
        key = path.read_text("ascii").strip().lower()
    except OSError as error:
        raise BadInput(f"the project key {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        key = ""
    if not _KEY.fullmatch(key):
        raise BadInput(
            f"{path} is not a project key, which is {2 * _KEY_BYTES} hexadecimal digits; take "
            f'{PROJECT_FILE} of another release, or set project_key = "{NEW_KEY}" to draw one'
        )
    return key


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
