"""What the figures of an assessment are held against, where the recipe states it.

A recipe that asks for k = 5 accepts a chance of one in five, and a class of five: its own figures
are the guide values then, and the built-in ones are for recipes that state none. What the recipe's
policy asks for comes before both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.assessment.catalogue import measures
from discreet.errors import BadInput
from discreet.measure import AVERAGE, LARGEST, Guide
from discreet.recipe.policies import KRule, LRule, RiskRule
from discreet.recipe.recipe import Recipe, Step

# What is found of whole households is nothing that k says.
_BEYOND_K = ("household",)
# The figures that a rule on risk is about. Among people in the population there are more of each
# kind than among records, so that what a rule asks of the records holds of those figures, too.
_RISKS = {
    "largest-risk": {
        "records": ("attackers.prosecutor", "attackers.journalist", "individual_risk.largest"),
        "population": ("attackers.journalist", "individual_risk.largest"),
    },
    "average-risk": {
        "records": ("attackers.marketer", "individual_risk.mean"),
        "population": ("individual_risk.mean",),
    },
}


def targets_of(recipe: Recipe) -> dict[str, Guide | None]:
    """Return the guide values of figures by name that a recipe sets; None where it accepts all.

    Examples
    --------
    >>> model = {"model": "k-anonymity", "k": 4}
    >>> step = {"method": "mondrian", "columns": ["age"], "privacy": [model]}
    >>> found = targets_of(Recipe.from_dict({"roles": {"quasi": ["age"]}, "steps": [step]}))
    >>> found["attackers.prosecutor"].value, found["class_sizes.smallest"].value
    (0.25, 4)
    >>> found["class_sizes.under_5"] is None
    True
    """
    found: dict[str, Guide | None] = {}
    k = max((k for step in recipe.steps if (k := _class_size(step, recipe))), default=1)
    if k > 1:
        counts = recipe.counted_as
        found["class_sizes.smallest"] = Guide(k, f"The recipe asks for k = {k}.", "recipe")
        for least, key in ((2, "unique"), (3, "under_3"), (5, "under_5")):
            said = f"With k = {k}, a class has {k} {counts} or more."
            found[f"class_sizes.{key}"] = Guide(0, said, "recipe") if least <= k else None
        share = Guide(1 / k, f"With k = {k}, nobody is found with a chance above 1/{k}.", "recipe")
        found |= dict.fromkeys(_chances(), share)
    for step in recipe.steps:
        for model in _models(step):
            if model.model == "l-diversity" and model.kind == "distinct":
                said = f"The recipe asks for l = {model.l} in '{model.column}'."
                found[f"l of {model.column}"] = Guide(model.l, said, "recipe")
            if model.model == "average-risk" and {*recipe.roles.quasi} <= {*step.columns}:
                said = f"The recipe asks for an average risk of {model.average:g}."
                found["attackers.marketer"] = Guide(model.average, said, "recipe")
            if model.model == "population-uniqueness" and {*recipe.roles.quasi} <= {*step.columns}:
                said = f"The recipe asks for a share of {model.share:g} unique in the population."
                name = f"population_uniqueness.{model.estimator}"
                found[name] = Guide(model.share, said, "recipe")
            if model.model == "alpha-k-anonymity":
                said = f"The recipe asks for alpha = {model.alpha:g} in '{model.column}'."
                found[f"alpha of {model.column}"] = Guide(model.alpha, said, "recipe")
    return found | _of_policy(recipe)


def _of_policy(recipe: Recipe) -> dict[str, Guide | None]:
    """Return the guide values of the recipe's policy; its other rules only the check decides."""
    try:
        policy = None if recipe.against is None else recipe.against.load()
    except BadInput:
        policy = None  # The check says that it is gone.
    found: dict[str, Guide | None] = {}
    for rule in () if policy is None else policy.rules:
        plain = getattr(rule, "columns", None) is None and getattr(rule, "group", None) is None
        if not plain or rule.either:
            continue
        if getattr(rule, "nulls", "value") != "value":
            continue
        said = f"{policy.title if policy else ''}: {rule.says} ({rule.source})"
        if isinstance(rule, KRule):
            found["class_sizes.smallest"] = Guide(rule.least, said, "policy")
        elif isinstance(rule, LRule):
            for column in recipe.roles.confidential:
                found[f"l of {column}"] = Guide(rule.least, said, "policy")
        elif isinstance(rule, RiskRule):
            bound = Guide(rule.most, said, "policy")
            found |= dict.fromkeys(_RISKS[rule.rule][rule.counted], bound)
    return found


def _chances() -> Iterator[str]:
    """Name the figures that are a chance to find somebody."""
    for measure in measures("risk").values():
        for figure in measure.figures:
            if figure.guide in (LARGEST, AVERAGE) and figure.key not in _BEYOND_K:
                yield f"{measure.name}.{figure.key}" if figure.key else measure.name


def _models(step: Step) -> list[Any]:
    """Return the privacy models that a step promises; blanks are chosen for some as well."""
    method = step.build()
    judged = method.promise in ("privacy-models", "local-suppression")
    return method.models if step.promise and judged else []


def _class_size(step: Step, recipe: Recipe) -> int | None:
    """Return the k that a step promises of classes by all quasi columns, a null being a value."""
    # Columns that are not released nobody can look for.
    if not step.promise or not {*recipe.roles.quasi} <= {*step.columns}:
        return None
    method = step.build()
    # The k of a k-map is of the population.
    sizes = [m.k for m in _models(step) if hasattr(m, "k") and m.model != "k-map"]
    alone = not (getattr(method, "combinations", None) or getattr(method, "subsets", None))
    if method.promise == "k-per-tuple" or (
        method.promise == "local-suppression" and method.null_policy == "value" and alone
    ):
        k = getattr(method, "k", None)
        sizes += [k] if isinstance(k, int) else []
    return max(sizes, default=None)
