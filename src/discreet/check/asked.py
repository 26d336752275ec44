"""Whether a plan decided what its recipe asked for: strengths, kinds and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from discreet.recipe.recipe import Step

# What a plan should say, and what it says: name, recipe's value, plan's value.
Pairs = Iterator[tuple[str, Any, Any]]


def not_as_asked(step: Step, plan: Mapping[str, Any]) -> str | None:
    """Say where a step's plan differs from the recipe's parameters, if it does."""
    if step.method not in ASKED:
        return None
    given = step.parameters()
    for name in step.columns:
        mine = {
            key: value.get(name) if isinstance(value, Mapping) else value
            for key, value in given.items()
        }
        for what, asked, decided in ASKED[step.method](mine, plan, name):
            if not np.array_equal(asked, decided):
                return f"the plan's {what} in column '{name}' is {decided}, the recipe's {asked}"
    return None


def _noise(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    column = plan["columns"][name]
    yield "kind", given["kind"], column["noise"]
    yield "scale", given["scale"], column["scale"]


def _clip(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    for side in ("lower", "upper"):
        bound = given[side]
        endless = bound is None or np.isinf(bound)
        yield side, None if endless else float(bound), plan["columns"][name][side]


def _porop(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    joint = plan["joint"]
    yield "k", given["k"], joint["k"]
    yield "second_k", given["second_k"] or given["k"], joint["second_k"]
    degree = given.get("degree", 1)
    yield "degree", np.broadcast_to(degree, len(joint["degrees"])), joint["degrees"]
    yield "noise", given["noise"], joint["noise"]
    yield "noise_scale", given["noise_scale"], joint["noise_scale"]
    column = plan["columns"][name]
    yield "noise_floor above 0", given["noise_floor"] > 0, column["noise_floor"] > 0
    yield "keep_range", given["keep_range"], "lower" in column


def _ipso(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    yield "variant", given["variant"], plan["joint"]["variant"]
    yield "confidential", list(given["confidential"]), list(plan["joint"]["confidential"])


def _pram(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    column = plan["columns"][name]
    categories = [_key(category) for category in column["categories"]]
    m = len(categories)
    matrix = np.asarray(column["matrix"], dtype=np.float64).reshape(m, m)
    if given["matrix"] is not None and not given["invariant"]:
        asked = [[given["matrix"].get(i, {}).get(j, 0.0) for j in categories] for i in categories]
        yield "matrix", True, bool(np.allclose(asked, matrix, atol=1e-9))
    elif given["matrix"] is None:
        stays = np.diag(matrix)
        least = given["retention"] if m > 1 else 1.0
        # An invariant matrix also sends values to themselves by chance.
        same = stays >= least - 1e-9 if given["invariant"] else np.abs(stays - least) < 1e-9
        yield "retention kept", True, bool(same.all())
        if least < 1:
            yield "retention below 1", True, bool((stays < 1 - 1e-12).any())


def _generalize(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    yield "null_policy", given["null_policy"], plan["joint"]["null_policy"]
    for group in plan["joint"]["groups"]:
        if group["treatment"] == "search":
            within = group["suppressed"] <= given["suppression_limit"] * group["rows"] + 1e-9
            yield "suppression within its limit", True, within
        for one in group["rounds"]:
            level = one["levels"][name]
            asked = given["levels"]
            low, high = asked if isinstance(asked, list) else (asked, asked)
            within = asked is None or low <= level <= high
            yield f"level {level} among those allowed", True, within


def _mondrian(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    yield "null_policy", given["null_policy"], plan["joint"]["null_policy"]


def _microaggregation(given: dict[str, Any], plan: Mapping[str, Any], name: str) -> Pairs:
    yield "k", given["k"], plan["joint"]["k"]
    yield "algorithm", given["algorithm"], plan["joint"]["algorithm"]
    yield "strata", given["strata"], plan["joint"].get("strata")


def _key(category: Any) -> str:
    """Name a category as a recipe's keys do, which are text: true, 3, north."""
    whole = isinstance(category, float) and category.is_integer()
    text = str(int(category) if whole else category)
    return text.lower() if isinstance(category, bool | np.bool_) else text


ASKED: dict[str, Callable[[dict[str, Any], Mapping[str, Any], str], Pairs]] = {
    "generalize": _generalize,
    "ipso": _ipso,
    "lirop": _porop,
    "microaggregation": _microaggregation,
    "mondrian": _mondrian,
    "noise": _noise,
    "porop": _porop,
    "pram": _pram,
    "top-bottom": _clip,
}
