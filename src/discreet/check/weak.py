"""What a recipe allows and a release shows that keeps every promise and protects little.

None of it is a promise, so nothing of it is broken; each is said in a sentence, with the remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding
from discreet.check.shown import Shown
from discreet.recipe.recipe import Recipe, Step
from discreet.table import words

# Columns that nobody named, from which on they are many.
_MANY = 10
# What perturbs next to nothing: the method's parameter, and when it is too faint.
_FAINT: dict[str, tuple[str, Callable[[float], bool]]] = {
    "noise": ("scale", lambda scale: scale < 0.01),
    "rank-swap": ("p", lambda p: p < 0.2),
    "pram": ("retention", lambda retention: retention > 0.99),
    "porop": ("noise_scale", lambda scale: scale == 0),
    "lirop": ("noise_scale", lambda scale: scale == 0),
}
# Promises of so many records each; a step that keeps one may have nothing to change.
_OF_RECORDS = ("k-per-value", "k-per-combination", "k-per-tuple", "privacy-models", "wildcard-k")

Said = Iterator[tuple[str, str]]


def weaknesses(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> list[Finding]:
    """Return what is weak: what it should be, and a sentence of what it is instead."""
    found = [*_roles(shown, recipe), *_steps(shown, recipe)]
    found += _unchanged(recipe, evidence)
    found += _one_valued(shown, recipe)
    return [Finding(wanted, "weak", said) for wanted, said in found]


def _roles(shown: Shown, recipe: Recipe) -> Said:
    roles = recipe.roles
    as_they_are = [name for name in shown.column_names if name not in recipe.treated]
    if not recipe.steps:
        yield "columns are treated", "the recipe has no steps, so that all are released as they are"
    elif roles.quasi and set(roles.quasi) <= set(roles.untouched):
        listed = ", ".join(roles.quasi)
        yield "quasi columns are treated", f"all of them ({listed}) are listed as untouched"
    unnamed = [name for name in as_they_are if name not in roles.named()]
    if len(unnamed) >= _MANY:
        yield (
            "released columns are named",
            f'{len(unnamed)} are released as they are by rest = "insensitive", such as '
            f"'{unnamed[0]}'; name them, or drop them",
        )
    settled = {*roles.renamed, *roles.not_identifiers}
    if not roles.identifiers:
        for name in as_they_are:
            if name not in settled and _names_people(words.parts_of(name)):
                yield (
                    "identifiers are named",
                    f"no column is, and '{name}' is called like one; list it under identifiers, or "
                    "under not_identifiers if it is none",
                )
    several = roles.household or roles.unit
    if recipe.counts == "rows" and several is not None and recipe.steps:
        yield (
            "k counts people",
            f"it counts rows, of which one '{several}' may have k; leave counts out",
        )


def _names_people(called: list[str]) -> bool:
    listed = words.NAMES | words.CONTACTS
    return any(part in listed for part in called) or words.numbers_persons(called)


# Steps


def _steps(shown: Shown, recipe: Recipe) -> Said:
    for number, step in enumerate(recipe.steps, start=1):
        where = f"step {number} ({step.method})"
        later = {name for other in recipe.steps[number:] for name in other.columns}
        promise = step.build().promise
        if promise and not step.promise and not set(step.columns) <= later:
            yield f"{where} keeps a promise", "promise = false: nothing is verified of its result"
        given = step.parameters()
        if given.get("suppression_limit") == 1:
            yield (
                f"{where} keeps most records",
                "suppression_limit = 1 lets it suppress all of them",
            )
        yield from _faint(where, step, given)
        for model in given.get("privacy") or ():
            yield from _model(shown, where, model)
        if promise is None:
            yield from _rare(shown, where, step, given)


def _faint(where: str, step: Step, given: Mapping[str, Any]) -> Said:
    name, too_faint = _FAINT.get(step.method, ("", bool))
    value = given.get(name)
    if name == "retention" and given.get("matrix") is not None:
        return
    if name == "noise_scale" and given.get("noise") == "none":
        return
    values = value.values() if isinstance(value, Mapping) else [value]
    for one in values if name else ():
        if one is not None and too_faint(one):
            yield f"{where} perturbs", f"{name} = {one:g} leaves nearly every value what it was"
            return


def _model(shown: Shown, where: str, model: Any) -> Said:
    """Find privacy models that every class keeps, whatever is in it."""
    bound = {"t-closeness": "t", "alpha-k-anonymity": "alpha"}.get(model.model)
    if bound is not None and getattr(model, bound) >= 1:
        yield f"{where} keeps {model.model}", f"{bound} = 1 is kept by every class"
    if model.model != "beta-likeness" or model.enhanced or model.column not in shown.column_names:
        return
    _, counts, _ = shown.records.values(model.column)
    most = counts.sum() / counts.min() - 1 if len(counts) else 0.0
    if model.beta >= most:
        yield (
            f"{where} keeps beta-likeness",
            f"beta = {model.beta:g} is kept by every class: the rarest value of '{model.column}' "
            f"allows a gain of {most:.4g} at most",
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
                    f"{where}: values of '{name}' are shared",
                    f"{alone:,} of {len(counts):,} stand for one record each; min_count, or "
                    'min_attraction, with encoding = "group" would merge them',
                )


def _unchanged(recipe: Recipe, evidence: Evidence | None) -> Said:
    """Find steps that promise no number of records, and changed nothing."""
    entries = evidence.log["steps"] if evidence is not None else []
    for number, (step, entry) in enumerate(zip(recipe.steps, entries, strict=False), start=1):
        changed = entry.get("changed_cells", {})
        same = [name for name in step.columns if changed.get(name) == 0]
        if same and step.build().promise not in _OF_RECORDS:
            listed = ", ".join(f"'{name}'" for name in same)
            yield f"step {number} ({step.method}) changes values", f"no cell of {listed} changed"


# Classes


def _one_valued(shown: Shown, recipe: Recipe) -> Said:
    """Count the classes in which all records have the same confidential value.

    Only columns that nothing perturbs: what an intruder knows to be as it was.
    """
    moved = {c for step in recipe.steps if step.build().effect == "perturbs" for c in step.columns}
    sure = [name for name in shown.column_names if name not in moved]
    quasi = [name for name in recipe.roles.quasi if name in sure]
    diverse = {
        model.column
        for step in recipe.steps
        if step.promise and set(quasi) <= set(step.columns)
        for model in step.parameters().get("privacy") or ()
        if model.model == "l-diversity" and model.l >= 2
    }
    told = [name for name in recipe.roles.confidential if name in sure and name not in diverse]
    if not quasi or not told:
        return
    for name, (classes, records) in zip(told, shown.frame.one_valued(quasi, told), strict=True):
        if classes:
            yield (
                f"classes differ in '{name}'",
                f"{classes:,} class{'es' * (classes > 1)} of {', '.join(quasi)}, with {records:,} "
                f"record{'s' * (records > 1)}, hold{'s' * (classes == 1)} one value alone, which "
                "whoever finds a person's class then knows; l-diversity would keep them from it",
            )
