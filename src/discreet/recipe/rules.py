"""The rules that join several keys of a recipe: each that is broken, with where and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BadInput, nearest
from discreet.parameters import rules_of
from discreet.recipe.wording import Where
from discreet.utility.formulas import read_formula

if TYPE_CHECKING:
    from discreet.recipe.recipe import Recipe, Step

# How the message about a quasi column that is released as it is begins.
UNTREATED = "no step treats the quasi column"
Broken = Iterator[tuple[Where, str]]


def broken_step(step: Step) -> Broken:
    """Tell which rules a step breaks by itself; its fields have the right types."""
    if not step.columns:
        yield ("columns",), "columns is empty; name the columns to treat"
    for position, column in enumerate(step.columns):
        if column in step.columns[:position]:
            yield ("columns", position), f"column '{column}' is listed twice"
    given, foreign = step.parameters(), False
    for name, value in given.items():
        for column in value if isinstance(value, Mapping) else ():
            if isinstance(column, str) and column not in step.columns:
                foreign = True
                yield (
                    (name, column),
                    f"{name} names '{column}', which is not among the step's columns; "
                    + nearest(column, step.columns),
                )
    method = step.build()
    kind: Any = type(method)
    kept = True
    for name, rule in rules_of(kind).items():
        try:
            rule.check(name, getattr(method, name))
        except BadInput as error:
            kept = False
            yield (name,), str(error)
    if not kept:
        return
    try:
        method.check_params()
        if not foreign:
            method.check_treated(step.columns)
    except BadInput as error:
        yield (), str(error)
    yield from _meaningless(given)


def _meaningless(given: Mapping[str, Any]) -> Broken:
    """Refuse numbers of records, and of values, that everything keeps."""
    models = given.get("privacy") or ()
    k = given.get("k")
    sizes: list[tuple[Where, Any]] = [(("k",), k)]
    sizes += [(("k", name), one) for name, one in (k.items() if isinstance(k, Mapping) else ())]
    # By what it costs and gains, even a record that stands alone may be worth an attack on it.
    bounds = [(at, model) for at, model in enumerate(models) if not hasattr(model, "benefit")]
    sizes += [(("privacy", at, "k"), getattr(model, "k", None)) for at, model in bounds]
    named = enumerate(given.get("combinations") or ())
    sizes += [(("combinations", at, "k"), one.get("k")) for at, one in named]
    subsets = given.get("subsets")
    sizes += [(("subsets",), k) for k in (subsets.values() if isinstance(subsets, Mapping) else ())]
    for path, size in sizes:
        if isinstance(size, int) and size < 2:
            yield path, "k = 1 lets every record stand alone; set k = 2 or more"
    for position, model in enumerate(models):
        # Recursive diversity with l = 1 bounds the share of the most frequent value by c.
        bounded = getattr(model, "c", None) is not None and model.c <= 1
        if getattr(model, "l", 2) <= 1 and not bounded:
            yield (
                ("privacy", position, "l"),
                f"l = {model.l:g} asks for one value of '{model.column}' in each class, which "
                "all have; set l = 2 or more",
            )


def no_frames(step: Step) -> list[tuple[Where, str]]:
    """Refuse a population that is a frame: a recipe is written to a file."""
    for position, one in enumerate(step.parameters().get("privacy") or ()):
        source = getattr(getattr(one, "population", None), "source", None)
        if source is not None and not isinstance(source, Path):
            said = (
                "a recipe names the file of its population; write the frame to one, such as "
                "register.parquet"
            )
            return [(("privacy", position), said)]
    return []


def broken_rules(recipe: Recipe) -> Broken:
    """Tell which rules the steps and roles of a recipe break together."""
    named = recipe.roles.named()
    if recipe.counts not in (None, "rows") and recipe.counted is None:
        wanted = str(recipe.counts).removesuffix("s")
        yield (
            ("counts",),
            f'counts = "{recipe.counts}" needs their column: the role {wanted}',
        )
    if recipe.known_rows is not None and recipe.linked is None:
        yield (
            ("known_rows",),
            "known_rows is for rows that can be seen to belong together: list the unit under "
            "pseudonyms, or release a household",
        )
    if recipe.linked is not None:
        yield from _beside_links(recipe, recipe.linked)
    yield from _of_steps(recipe, named)
    for position, text in enumerate(recipe.indicators or ()):
        for said in _of_indicator(recipe, text, named):
            yield ("indicators", position), said
    if len(recipe.added) > 1:
        yield ("steps",), "there is one second table: put all of it into one step anatomy"
    for position, column in enumerate(recipe.roles.quasi):
        if column not in recipe.treated and column not in recipe.roles.untouched:
            yield (
                ("roles", "quasi", position),
                f"{UNTREATED} '{column}'; add a step, or list it under "
                "untouched to release it as it is",
            )


def _of_steps(recipe: Recipe, named: Mapping[str, str]) -> Broken:
    roles = recipe.roles
    held: dict[str, int] = {}
    for number, step in enumerate(recipe.steps, start=1):
        where = f"step {number} ({step.method})"
        at = ("steps", number - 1)
        method = step.build()
        promises = bool(method.promise and step.promise)
        for position, column in enumerate(step.columns):
            here = (*at, "columns", position)
            role = named.get(column)
            if role in ("identifiers", "pseudonyms", "unit", "household"):
                yield here, f"{where} treats '{column}', whose role is {role}"
            if column in held:
                before = f"step {held[column]}"
                # Where both promise something, the other would be altered.
                moved = "" if promises else f"put it before {before}, "
                yield (
                    here,
                    f"{where} would alter '{column}' after {before} "
                    f"({recipe.steps[held[column] - 1].method}) promised something about it; "
                    f"{moved}set promise = false in {before}, or leave the column out",
                )
            if column in roles.untouched:
                yield here, f"{where} treats '{column}', which is listed as untouched"
        if method.supervised and roles.target is None:
            yield at, f"{where} needs classes: give their column the role target"
        if method.supervised and roles.target in step.columns:
            yield (*at, "columns"), f"{where} treats '{roles.target}', the target it aims at"
        if promises:
            held.update(dict.fromkeys((*step.columns, *method.reads), number))
        # Whoever knows the draws of a differentially private step has no epsilon against them.
        accepted = recipe.allow_predictable_seed and not method.private
        if method.is_random and recipe.has_predictable_seed and not accepted:
            otherwise = "" if method.private else ", or set allow_predictable_seed = true"
            yield (
                ("seed",),
                f"seed = {recipe.seed} can be found by trying, which undoes {where}; leave "
                f"seed out (a secret one is drawn and kept with the release){otherwise}",
            )


def _beside_links(recipe: Recipe, linked: str) -> Broken:
    """Refuse promises that would not hold of what the rows of a unit show together."""
    judged = []
    for number, step in enumerate(recipe.steps, start=1):
        promise = step.build().promise if step.promise else None
        where = f"step {number} ({step.method})"
        at = ("steps", number - 1)
        if step.method == "local-suppression":
            yield (
                at,
                f"{where} does not protect what rows that are linked by '{linked}' show "
                "together; use generalize with global recoding",
            )
        alone = [column for column in step.columns if column in recipe.roles.quasi]
        if promise in ("k-per-value", "k-per-tuple") and alone:
            yield (
                (*at, "columns"),
                f"{where} treats the quasi column '{alone[0]}' row by row, but rows are linked "
                f"by '{linked}'; put it into a step generalize, or set promise = false",
            )
        if promise == "wildcard-k":
            yield (
                (*at, "null_policy"),
                f"{where}: null_policy = 'match' does not keep what rows that are linked by "
                f"'{linked}' show together; use 'value'",
            )
        judged += [where] * (promise == "privacy-models")
    if len(judged) > 1:
        yield (
            ("steps",),
            f"rows are linked by '{linked}', which {' and '.join(judged)} would each look at "
            "alone; put their columns into one step",
        )
    if judged and recipe.counted not in (None, linked):
        yield (
            ("counts",),
            f"rows are linked by '{linked}', but k counts the values of '{recipe.counted}'; set "
            "counts so that both are the same",
        )
    home = recipe.roles.household if recipe.roles.release_household else None
    if judged and home not in (None, linked):
        yield (
            ("roles", "household"),
            f"rows are linked by '{linked}', and '{home}' would link more of them; set "
            "release_household = false",
        )


def _of_indicator(recipe: Recipe, text: str, named: Mapping[str, str]) -> Iterator[str]:
    """Refuse an indicator that cannot be read, or of a column that is not released."""
    try:
        formula = read_formula(text)
    except BadInput as error:
        yield f"indicators: {error}"
        return
    for column in formula.columns:
        role = named.get(column)
        kept = ("quasi", "confidential", "insensitive", "weight")
        if role is None and recipe.roles.rest in (None, "drop"):
            so = " and is dropped by rest = 'drop'" if recipe.roles.rest == "drop" else ""
            yield (
                f"indicators: '{text}' names '{column}', which has no role{so}; "
                + nearest(column, [name for name, own in named.items() if own in kept])
            )
        if role is not None and role not in kept:
            fate = "is replaced" if role in ("pseudonyms", "household") else "is dropped"
            yield f"indicators: '{text}' names '{column}', which {fate} ({role})"
