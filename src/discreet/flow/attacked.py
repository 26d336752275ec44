"""Figures of the attacks on methods themselves, where plan and table give them at little cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.check.evidence import Log, Plan, StepPlan
from discreet.engines import Frame
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step
from discreet.risk.interval import WIDTH

# More distinct tuples, and records where these are looked at one by one, are left out.
_MOST_TUPLES, _MOST_RECORDS = 300_000, 200_000
# Releases that are averaged over for the figure.
_RELEASES = 4
_NORMAL = ("additive", "correlated")


def measure_attacks(log: Log, plan: Plan, recipe: Recipe, original: Frame) -> None:
    """Add `figures` to the attacks that the log lists, each with the step that it is of."""
    entries = {one["attack"]: one for one in log.get("attacks", ())}
    done: set[str] = set()
    for number, (step, decided) in enumerate(zip(recipe.steps, plan["steps"], strict=True), 1):
        method = step.build()
        found: dict[str, Mapping[str, Any]] = {}
        if method.minimal:
            found = _of_minimal(step, method, decided, plan, recipe, original, done)
        elif step.method == "noise":
            found = {"averaging over releases": _of_noise(step, recipe)}
        for name, figure in found.items():
            if name in entries and figure:
                entries[name].setdefault("figures", []).append({"step": number, **figure})
        done |= set(step.columns)


def _of_minimal(
    step: Step,
    method: Method,
    decided: StepPlan,
    plan: Plan,
    recipe: Recipe,
    original: Frame,
    done: set[str],
) -> dict[str, Mapping[str, Any]]:
    """Measure downcoding and minimality of a generalization, or say why not."""
    joint = decided.get("joint", {})
    why = _not_measured(step, method, decided, joint, done)
    if why is None:
        tuples, counts = original.counts_without(step.columns, _excluded(plan))
        if len(counts) > _MOST_TUPLES:
            why = f"the table has {len(counts):,} distinct tuples, which are too many to compare"
    if why is not None:
        said = {"said": f"Not measured: {why}."}
        return {"downcoding": said, "minimality": said}
    from discreet.attacks.downcoding import downcoding

    models = list(getattr(method, "models", ()))
    plainly = recipe.counted is None and joint["null_policy"] != "match"
    k = models[0].k if plainly and len(models) == 1 and models[0].model == "k-anonymity" else None
    lowest = _lowest(step.parameters().get("levels"))
    trees = step.parameters().get("hierarchies") or ()
    found = downcoding(tuples, joint, k=k, lowest=lowest, counts=counts, trees=list(trees))
    told: dict[str, Mapping[str, Any]] = {"downcoding": found.to_dict()}
    told["minimality"] = _of_values(step, method, joint, plainly, plan, original, lowest)
    return told


def _of_values(
    step: Step,
    method: Method,
    joint: Mapping[str, Any],
    plainly: bool,
    plan: Plan,
    original: Frame,
    lowest: Mapping[str, int],
) -> Mapping[str, Any]:
    """Measure what the levels tell of confidential values."""
    if not method.judges:
        return {"said": "The models are of class sizes, which tell nothing of confidential values."}
    if joint["kind"] == "mondrian":
        return {"said": "Not measured of mondrian."}
    if "leaves" in joint:
        return {"said": "Not measured of profitability."}
    if step.parameters().get("local") or not plainly:
        why = "of local recoding" if plainly else "where units are counted or nulls match anything"
        return {"said": f"Not measured {why}."}
    if original.num_rows > _MOST_RECORDS:
        return {"said": f"Not measured of more than {_MOST_RECORDS:,} records."}
    from discreet.attacks.minimality import minimality

    columns = list(dict.fromkeys([*step.columns, *method.judges]))
    tuples, counts = original.counts_without(columns, _excluded(plan))
    models = list(getattr(method, "models", ()))
    return minimality(tuples, joint, models, lowest=lowest, counts=counts).to_dict()


def _not_measured(
    step: Step, method: Method, decided: StepPlan, joint: Mapping[str, Any], done: set[str]
) -> str | None:
    """Say why nothing can be measured of a step from the table as it was; None where it can."""
    known = joint.get("kind") == "generalize" or (
        joint.get("kind") == "mondrian"
        and "tuples" in joint
        and joint["null_policy"] in ("segregate", "value", "suppress")
    )
    if not known:
        return f"of {step.method} with these parameters no figure is known"
    if done & {*step.columns, *method.reads}:
        return "a step before has changed the columns"
    if decided.get("levels"):
        return "the columns are treated once for each household or person"
    return None


def _lowest(levels: Any) -> dict[str, int]:
    """Return the lowest level that each column may have, by what the recipe says of levels."""
    given = levels or {}
    return {name: x if isinstance(x, int) else int(x[0]) for name, x in given.items()}


def _excluded(plan: Plan) -> np.ndarray:
    return np.asarray(plan.get("excluded", ()), dtype=np.int64)


def _of_noise(step: Step, recipe: Recipe) -> Mapping[str, Any]:
    """Tell what several releases of the same noise would give, by the normal distribution."""
    given = step.parameters()
    if given["kind"] not in _NORMAL or given.get("match_ranks"):
        return {}
    scales: Sequence[float] = (
        list(given["scale"].values()) if isinstance(given["scale"], Mapping) else [given["scale"]]
    )
    least = min(scales)
    one, several = (_within(least, n) for n in (1, _RELEASES))
    said = (
        f"With a scale of {least:g}, one release is within {WIDTH:g} standard deviations of "
        f"{one:.0%} of the values, and the mean of {_RELEASES} releases with new draws of "
        f"{several:.0%}."
    )
    if getattr(recipe, "project_key", None) is not None:
        said += " Releases with this project_key and these parameters have the same draws."
    return {"one": one, "several": several, "releases": _RELEASES, "said": said}


def _within(scale: float, releases: int) -> float:
    """Return the share of normal noise, averaged over releases, within the width.

    Examples
    --------
    >>> round(_within(0.1, 1), 3), round(_within(0.1, 4), 3)
    (0.383, 0.683)
    """
    return math.erf(WIDTH * math.sqrt(releases) / scale / math.sqrt(2))
