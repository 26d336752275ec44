"""What a recipe's seeds are used for: one input and one recipe, and for nothing else.

A rerun of the recipe that a release keeps, on the same input, has the same draws. Whoever changes
the table or the recipe and keeps the seeds gets draws that have nothing to do with the former
ones: two releases with the same draws would give the original back.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from discreet.draws import Seed, derived
from discreet.recipe.project import project_seed
from discreet.recipe.recipe import Recipe

# The key of pseudonyms counts: whoever has two keys' pseudonyms in one order could match them.
_SECRETS = ("seed", "order_seed", "seed_for")


def draw_seeds(recipe: Recipe, given: str) -> tuple[Seed, int]:
    """Return what all draws go by, and the order of rows, for an input of some keyed hash.

    With a project key, the draws of single cells go by that: they are the same in each release.
    """
    if recipe.seed is None or recipe.order_seed is None or recipe.seed_for is None:
        raise ValueError("the recipe has no seeds yet")
    asked = recipe.seed_for["recipe"]
    seed = Seed.of(derived(recipe.seed, given, asked), project_seed(recipe))
    return seed, derived(recipe.order_seed, given, asked)


def used_for(recipe: Recipe, given: str) -> Recipe:
    """Note in a recipe what its seeds are now used for."""
    asked, before = _asked(recipe), recipe.seed_for or {}
    if before.get("kept") == asked:
        # As a release has kept it, which may be with what the clock decided.
        asked = before["recipe"]
    return recipe.model_copy(update={"seed_for": {"input": given[:32], "recipe": asked}})


def as_kept(recipe: Recipe) -> Recipe:
    """Note in a recipe how it is kept, with what chance and the clock have decided."""
    assert recipe.seed_for is not None
    return recipe.model_copy(update={"seed_for": {**recipe.seed_for, "kept": _asked(recipe)}})


def _asked(recipe: Recipe) -> str:
    """Return a keyed hash of all that is asked for: whatever is left as it is by default is not."""
    # What is measured, or held against, changes nothing of what is drawn.
    bare = recipe.model_copy(update=dict.fromkeys((*_SECRETS, "indicators", "policy")))
    content = _with_files(bare.model_dump(mode="json", exclude_defaults=True))
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return f"{derived(recipe.seed or 0, 'recipe', text):032x}"


def _with_files(content: Any) -> Any:
    """Put what the files of hierarchies and populations hold in place of where they are."""
    if isinstance(content, dict):
        content = {key: _with_files(value) for key, value in content.items()}
        if content.get("kind") == "csv" and isinstance(content.get("path"), str):
            content["path"] = _held(content["path"])
        if isinstance(content.get("population"), str):
            content["population"] = _held(content["population"])
        named = content.get("hierarchies")
        for column, path in named.items() if isinstance(named, dict) else ():
            if isinstance(path, str):
                named[column] = _held(path)
    return [_with_files(item) for item in content] if isinstance(content, list) else content


def _held(path: str) -> str:
    try:
        with Path(path).open("rb") as file:  # which may be larger than memory
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return path  # Whoever needs it says that it cannot be read.
