"""The facts behind a release's two reports: all for the internal one, few for the external one.

What the users of a release may know comes from the released table, from the recipe's roles and
methods, and from counts of cells and records. How strongly a step perturbs is told as low, medium
or high only, since its exact size would help to undo it, unless `publish_noise` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from discreet.assessment.figures import is_null, released_figures
from discreet.flow.codebook import describe
from discreet.recipe.recipe import Recipe, Step

# Parameters of steps that coarsen: they say what a released value stands for.
_OPEN = ("k", "n_points", "base", "min_attraction", "min_count", "lower", "upper", "privacy")
# Parameters of steps that perturb, which `publish_noise` publishes.
_NOISE = (
    "kind", "scale", "p", "retention", "matrix", "invariant", "together", "variant", "confidential",
    "k", "degree", "noise", "noise_scale", "second_k", "noise_floor", "keep_range", "n_points",
    "base", "encoding",
)  # fmt: skip
Strength = Callable[[Mapping[str, Any]], float]


def _noise(given: Mapping[str, Any]) -> float:
    return _largest(given["scale"]) / 0.1


def _swapping(given: Mapping[str, Any]) -> float:
    return _largest(given["p"]) / 2.0


def _pram(given: Mapping[str, Any]) -> float:
    if given["matrix"] is not None:
        stay = [row.get(name, 0.0) for name, row in given["matrix"].items()]
        return (1 - min(stay, default=1.0)) / 0.1
    retention = given["retention"]
    kept = min(retention.values()) if isinstance(retention, Mapping) else retention
    return (1 - kept) / 0.1


def _curves(given: Mapping[str, Any]) -> float:
    return 1.0 if given["noise"] == "none" else given["noise_scale"] / 0.5


def _largest(value: float | Mapping[str, float]) -> float:
    return max(value.values()) if isinstance(value, Mapping) else value


# Each gives 1 at the upper end of low and 5 at that of medium.
_STRENGTHS: dict[str, Strength] = {
    "noise": _noise,
    "rank-swap": _swapping,
    "pram": _pram,
    "porop": _curves,
    "lirop": _curves,
}


def strength(step: Step) -> str | None:
    """Say how strongly a step perturbs: low, medium or high; None where it does not."""
    if not _perturbs(step):
        return None
    if step.method in ("shuffle", "ipso"):
        return "high"
    if step.method not in _STRENGTHS:
        return "medium"
    found = _STRENGTHS[step.method](step.parameters())
    return "low" if found <= 1 + 1e-9 else "medium" if found <= 5 + 1e-9 else "high"


def public_facts(
    recipe: Recipe, log: Mapping[str, Any], released: pa.Table, sample: pa.Table | None = None
) -> dict[str, Any]:
    """Gather what the external report tells.

    Parameters
    ----------
    recipe : Recipe
        Its seeds, and the parameters of its random steps, are not looked at, beyond what
        `strength` says.
    log : mapping
        Of it: the release's number and day, the counts of changed cells and suppressed records, and
        the null policy.
    released : pyarrow.Table
        As it is written.
    sample : pyarrow.Table, optional
        Some of its rows, where it is larger than memory. It then stands for a table that gives of
        a column its distinct values or its ends, and in `null_counts` the number of its nulls.
    """
    # Numbers of households are names: there is nothing to see in them.
    data = [name for name in released.column_names if name != recipe.roles.household]
    figures = released_figures((released if sample is None else sample).select(data))
    if sample is not None and len(sample) < released.num_rows:
        figures["sampled"] = {"rows": len(sample), "of": released.num_rows}
    nulls = getattr(released, "null_counts", None)
    nulls = nulls or {c: int(is_null(released[c]).sum()) for c in data}
    perturbed = {c for step in recipe.steps if _perturbs(step) for c in step.columns}
    hidden = set() if recipe.publish_noise else perturbed
    rows = log["input"]["rows"]
    columns = []
    for entry in describe(recipe, released):
        name = entry["name"]
        changed = _changed(log["changed_cells"].get(name, 0), rows, name in hidden)
        own = {"changed": changed, "nulls": nulls.get(name, 0)}
        columns.append(entry | own | {"figures": figures["columns"].get(name)})
    return {
        "release": log.get("release"),
        "day": log["started"][:10],
        "discreet": log["discreet"],
        "rows": released.num_rows,
        "sampled": figures["sampled"],
        "columns": columns,
        "steps": [_step(step, recipe.publish_noise) for step in recipe.steps],
        "household": recipe.roles.household,
        "nulls": log["nulls"]["policy"],
        "suppressed": log.get("suppressed"),
    }


def _perturbs(step: Step) -> bool:
    return step.build().effect == "perturbs"


def _step(step: Step, publish_noise: bool) -> dict[str, Any]:
    told = _OPEN if not _perturbs(step) else _NOISE if publish_noise else ()
    given = step.model_dump(exclude_none=True)
    return {
        "method": step.method,
        "columns": list(step.columns),
        "in_words": step.build().in_words,
        "effect": step.build().effect,
        "strength": strength(step),
        # What is done, not how strongly: users must know which of their figures it distorts.
        "encoding": given.get("encoding"),
        "parameters": {name: value for name, value in given.items() if name in told},
    }


def _changed(cells: int, rows: int, hidden: bool) -> float | str:
    """Tell the share of changed cells; of random steps roughly, since it tells their size."""
    part = cells / max(1, rows)
    if not hidden:
        return float(f"{part:.2g}")
    return "none" if part == 0 else "some" if part < 0.5 else "most"


def internal_facts(
    recipe: Recipe,
    plan: Mapping[str, Any],
    log: Mapping[str, Any],
    check: Mapping[str, Any],
    assessment: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Gather what the internal report, and its summary, tell."""
    return {
        "recipe": recipe.model_dump(exclude_none=True),
        "recipe_text": recipe.dump(),
        "plan": plan,
        "log": log,
        "check": check,
        "assessment": assessment,
    }
