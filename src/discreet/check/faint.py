"""Steps that bound nothing, or change next to nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from discreet.check.evidence import Evidence
from discreet.check.shown import OF_CLASSES, Shown
from discreet.recipe.recipe import Recipe, Step

# What perturbs next to nothing: the method's parameter, and when it is too faint.
_FAINT: dict[str, tuple[str, Callable[[float], bool]]] = {
    "noise": ("scale", lambda scale: scale <= 0.01),
    "rank-swap": ("p", lambda p: p < 0.2),
    "pram": ("retention", lambda retention: retention >= _STAYS),
    "date-shift": ("days", lambda days: days < 7),
    "porop": ("noise_scale", lambda scale: scale == 0),
    "lirop": ("noise_scale", lambda scale: scale == 0),
}
# The probability that a value stays from which on nearly all do.
_STAYS = 0.95
# Bounds of privacy models that nearly every class keeps, and that all keep.
_LOOSE = {
    "t-closeness": ("t", 0.9),
    "alpha-k-anonymity": ("alpha", 0.99),
    "l-diversity": ("c", 1000),
}
# What is at most so many times as likely with a record as without it is some protection.
_LARGE_EPSILON = 5
# Bounds of the risk of all records that leave many of them alone.
_LOOSE_OVER_ALL = {
    "average-risk": ("average", 0.5),
    "sample-uniqueness": ("share", 0.2),
    "population-uniqueness": ("share", 0.1),
}
# The share of a column's cells below which a bound concerns next to none.
_FEW = 0.01
# Promises of so many records each; a step that keeps one may have nothing to change.
_OF_RECORDS = (
    "k-per-value",
    "k-per-combination",
    "k-per-tuple",
    "anatomy",
    "safepub",
    *OF_CLASSES,
)

Said = Iterator[tuple[str, str]]


def faint_steps(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> Said:
    """Find steps that do less than they seem to: what is wrong, and how."""
    for number, step in enumerate(recipe.steps, start=1):
        where = f"step {number} ({step.method})"
        later = {name for other in recipe.steps[number:] for name in other.columns}
        promise = step.build().promise
        if promise and not step.promise and not set(step.columns) <= later:
            yield f"{where} promises nothing", "promise = false: nothing is verified of its result"
        given = step.parameters()
        if given.get("suppression_limit") == 1:
            yield f"{where} may suppress all records", "suppression_limit = 1"
        yield from _faint(where, step, given)
        yield from _given_back(where, step, given)
        for model in given.get("privacy") or ():
            yield from _model(shown, where, model)
        if given.get("together") and step.method == "shuffle":
            yield from _together(shown, recipe, where, step)
        if step.method == "anatomy":
            known = [name for name in step.columns if name not in given["confidential"]]
            yield (
                f"{where} releases {', '.join(known)} as {'they are' if known[1:] else 'it is'}",
                "who is in the table can be seen, and only what the confidential columns say is "
                "protected; generalize and mondrian hide both",
            )
        yield from _private(shown, where, given)
        if promise is None:
            yield from _rare(shown, where, step, given)
    yield from _unchanged(recipe, evidence)


def _faint(where: str, step: Step, given: Mapping[str, Any]) -> Said:
    name, too_faint = _FAINT.get(step.method, ("", bool))
    if not name or (name == "noise_scale" and given.get("noise") == "none"):
        return
    wrong, value = f"{where} perturbs next to nothing", given.get(name)
    matrices = given.get("matrix") or {}
    for column, matrix in matrices.items():
        least = min((row.get(label, 0.0) for label, row in matrix.items()), default=0.0)
        if least >= _STAYS:
            yield wrong, f"each value of '{column}' stays with a probability of {least:g} or more"
            return
    for column in step.columns:
        one = value.get(column) if isinstance(value, Mapping) else value
        if one is not None and column not in matrices and too_faint(one):
            yield wrong, f"{name} = {one:g} leaves nearly every value what it was"
            return


def _private(shown: Shown, where: str, given: Mapping[str, Any]) -> Said:
    """Find budgets of differential privacy that promise next to nothing."""
    epsilon, delta = given.get("epsilon"), given.get("delta")
    epsilon = sum(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon
    if epsilon is not None and epsilon > _LARGE_EPSILON:
        yield (
            f"{where} promises next to nothing",
            f"with epsilon = {epsilon:g}, a person's record may make what comes of a release "
            f"{math.exp(epsilon):,.0f} times as likely; spend less",
        )
    if delta is not None and delta * shown.num_rows > 1:
        yield (
            f"{where} promises little to some records",
            f"with delta = {delta:g}, one of the {shown.num_rows:,} records could be shown as it "
            "is; take a delta well below 1 in so many",
        )


def _given_back(where: str, step: Step, given: Mapping[str, Any]) -> Said:
    """Find curves with so many coefficients that they return the values they replace."""
    degree = given.get("degree", 1)
    if step.method not in ("porop", "lirop") or given["noise_floor"] > 0:
        return
    # What is chosen has few coefficients, unless a chunk is too small for any curve.
    most = 1 if isinstance(degree, str) else max(np.atleast_1d(degree).tolist())
    lower = "lower degree" if most > 1 else "raise k"
    k = given["second_k"] or given["k"]
    more = "" if given["noise"] == "none" else ", or set noise_floor"
    if most == k - 1:
        yield (
            f"{where} gives values back",
            f"a curve of degree {most} goes through all {k} values of a chunk; {lower}{more}",
        )
    elif 2 * (most + 1) > k:
        yield (
            f"{where} gives values nearly back",
            f"a curve of degree {most} has {most + 1} coefficients for the {k} values of a chunk; "
            f"{lower}{more}",
        )


def _model(shown: Shown, where: str, model: Any) -> Said:
    """Find privacy models that every class keeps, or nearly every, whatever is in it."""
    wrong = f"{where}: {model.model} bounds next to nothing"
    bound, loose = _LOOSE.get(model.model, ("", math.inf))
    given = getattr(model, bound, None)
    if given is not None and given >= loose:
        every = "every" if given == 1 else "nearly every"
        more = f" with {model.l:g} values of '{model.column}'" if bound == "c" else ""
        yield wrong, f"{bound} = {given:g} is kept by {every} class{more}"
    bound, loose = _LOOSE_OVER_ALL.get(model.model, ("", math.inf))
    if (given := getattr(model, bound, 0.0)) >= loose:
        yield wrong, f"{bound} = {given:g} leaves many records alone in their class"
    if model.model == "delta-presence" and model.minimum == 0 and model.maximum == 1:
        yield wrong, "every share of the population is between minimum = 0 and maximum = 1"
    if model.model != "beta-likeness" or model.column not in shown.column_names:
        return
    _, counts, _ = shown.records.values(model.column)
    rarest = counts.min() / counts.sum() if len(counts) else 1.0
    most = -math.log(rarest) if model.enhanced else 1 / rarest - 1
    if model.beta >= most:
        held = "is kept by every class"
        held = "adds nothing to what enhanced = true asks for" if model.enhanced else held
        yield (
            wrong,
            f"beta = {model.beta:g} {held}: the rarest value of '{model.column}' allows a gain of "
            f"{most:.4g} at most",
        )


def _together(shown: Shown, recipe: Recipe, where: str, step: Step) -> Said:
    """Find columns that are shuffled in one order, and so keep whole records."""
    others = {name for other in recipe.steps if other is not step for name in other.columns}
    kept = [name for name in step.columns if name not in others]
    quasi = [name for name in recipe.roles.quasi if name in shown.column_names]
    if set(shown.column_names) - recipe.roles.renamed <= set(kept):
        yield (
            f"{where} only puts the rows in another order",
            "together = true over all released columns keeps every record; set together = false",
        )
    elif quasi and len(kept) > 1 and set(quasi) <= set(kept):
        more = [f"'{name}'" for name in kept if name not in quasi]
        found = f"looks a record up, and {', '.join(more)} with it" if more else "finds the person"
        yield (
            f"{where} keeps all quasi columns together",
            f"whoever knows {', '.join(quasi)} {found}; set together = false",
        )


def _rare(shown: Shown, where: str, step: Step, given: Mapping[str, Any]) -> Said:
    """Count the values of a rounding without a promise that one record alone holds."""
    if not {"k", "min_count", "min_attraction"} & set(given) or "encoding" not in given:
        return
    for name in step.columns:
        if name in shown.column_names:
            _, counts, _ = shown.records.values(name)
            alone = int((counts == 1).sum())
            if alone:
                yield (
                    f"{where} leaves values of '{name}' that one record holds alone",
                    f"{alone:,} of {len(counts):,}; min_count, or min_attraction, with "
                    'encoding = "group" would merge them',
                )


def _unchanged(recipe: Recipe, evidence: Evidence | None) -> Said:
    """Find steps that promise no number of records, and changed nothing, or next to nothing."""
    if evidence is None:
        return
    rows = evidence.log["input"]["rows"]
    columns = [name for step in recipe.steps for name in step.columns]
    entries = evidence.log["steps"]
    for number, (step, entry) in enumerate(zip(recipe.steps, entries, strict=False), start=1):
        changed = {c: entry.get("changed_cells", {}).get(c, rows) for c in step.columns}
        where = f"step {number} ({step.method})"
        same = [name for name, cells in changed.items() if cells == 0]
        if same and step.build().promise not in _OF_RECORDS:
            listed = ", ".join(f"'{name}'" for name in same)
            yield f"{where} changed no cell of {listed}", "take other parameters, or another method"
        for name, cells in changed.items() if step.method == "top-bottom" else ():
            if 0 < cells < _FEW * rows and columns.count(name) == 1:
                yield (
                    f"{where} changed next to nothing of '{name}'",
                    f"{cells:,} of {rows:,} cells, and no other step treats it",
                )
