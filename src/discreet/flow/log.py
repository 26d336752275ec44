"""The log of a run: how it begins, whatever the engine."""

from __future__ import annotations

import platform
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from discreet import __version__
from discreet.check.evidence import Log
from discreet.draws import secret_seed
from discreet.recipe.recipe import Recipe, Step
from discreet.recipe.seeds import used_for
from discreet.version import commit

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow", "pydantic", "duckdb")


def begin_log(recipe: Recipe, roles: Mapping[str, str], released: list[str]) -> Log:
    """Begin a log."""
    log: Log = {
        "release": secrets.token_hex(6),
        "discreet": __version__,
        "python": platform.python_version(),
        "packages": dict(_versions()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "input": {},
        "roles": dict(roles),
        "dropped": [name for name in roles if name not in released],
        "nulls": {
            "policy": "nulls stay in place; they are not imputed, dropped or matched",
            "cells": {},
        },
        "seed": {"drawn": recipe.seed is None, "predictable": recipe.has_predictable_seed},
        "steps": [],
        "changed_cells": dict.fromkeys(released, 0),
        "warnings": [],
        "seconds": {},
    }
    made = commit()
    if made is not None:
        log["commit"] = made
    if recipe.has_predictable_seed and any(step.build().is_random for step in recipe.steps):
        log["warnings"].append(
            f"seed = {recipe.seed} can be found by trying, and then undoes the random steps"
        )
    return log


@cache
def _versions() -> Mapping[str, str]:
    """Return the versions of the packages, which take longer to find than a small run does."""
    return {name: version(name) for name in _PACKAGES}


@contextmanager
def timed(log: Log, stage: str) -> Iterator[None]:
    """Put the seconds that a stage takes into a log."""
    started = time.perf_counter()
    yield
    log["seconds"][stage] = round(time.perf_counter() - started, 4)


def with_seeds(recipe: Recipe) -> Recipe:
    """Draw the seeds that a recipe does not give."""
    secret = {"seed": secret_seed(), "order_seed": secret_seed()}
    drawn: dict[str, Any] = {n: seed for n, seed in secret.items() if getattr(recipe, n) is None}
    # A new seed was drawn for nothing else.
    return recipe.model_copy(update=drawn | ({"seed_for": None} if "seed" in drawn else {}))


def tell_reuse(log: Log, recipe: Recipe) -> Recipe:
    """Say where the seeds were drawn for something else, and note what they are now used for."""
    used = used_for(recipe, log["input"]["hmac"])
    before = None if log["seed"]["drawn"] else recipe.seed_for
    what = {"input": "another table", "recipe": "other roles or parameters"}
    now: Mapping[Any, str] = used.seed_for or {}
    other = [what[part] for part in now if before and before.get(part) != now[part]]
    if other:
        # Another release of the same table may be about, and both together tell more.
        log["seed"]["same_table"] = other == [what["recipe"]]
        log["warnings"].append(
            f"the recipe's seed was drawn for {' and '.join(other)}, so all draws, the order of "
            "the rows and the household numbers are new ones"
        )
    return used


def tell_null_policy(log: Log, number: int, step: Step) -> None:
    """Say what a step does with nulls, where it has a policy."""
    of_nulls = step.build().nulls_in_words
    if of_nulls:
        # After what earlier steps do, and before what all others do.
        earlier, _, others = log["nulls"]["policy"].rpartition("elsewhere ")
        said = f"in step {number} ({step.method}), {of_nulls}"
        log["nulls"]["policy"] = f"{earlier}{said}; elsewhere {others}"
