"""What a recipe allows and a release shows that keeps every promise and protects little.

None of it is a promise, so nothing of it is broken; each is said in a sentence, with the remedy.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.faint import Said, faint_steps
from discreet.check.findings import Finding
from discreet.check.shown import OF_CLASSES, Shown
from discreet.check.suppression import demanded, exposed, found_for_certain
from discreet.recipe.recipe import Recipe, Step
from discreet.table import words
from discreet.table.classes import classes_of, encode_columns
from discreet.table.identifiers import FEWEST, Marks, can_identify, marks_of

# Columns that nobody named, from which on they are many.
_MANY = 10
# The share of one value from which on a class is nearly of that value alone.
_NEARLY_ONE = 0.95
# The share of records with a value of their own from which on a column differs in every record.
_NEARLY_ALL = 0.99


def weaknesses(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> list[Finding]:
    """Return what is weak: what is wrong, and a sentence of how, and of what to do about it."""
    found = [*_roles(shown, recipe), *_of_their_own(shown, recipe)]
    found += faint_steps(shown, recipe, evidence)
    found += _readings(shown, recipe, evidence)
    if not recipe.private:
        # What a class has in common is then known of it whether a person is in it or not.
        found += [*_classes(shown, recipe), *_nearly_one_valued(shown, recipe)]
    return [Finding(wrong, "weak", said) for wrong, said in found]


def _roles(shown: Shown, recipe: Recipe) -> Said:
    roles = recipe.roles
    as_they_are = [name for name in shown.column_names if name not in recipe.treated]
    if not recipe.steps:
        yield "no step treats anything", "all columns are released as they are; add steps"
    elif roles.quasi and set(roles.quasi) <= set(roles.untouched):
        are = "is" if len(roles.quasi) == 1 else "are"
        yield "no quasi column is treated", f"{', '.join(roles.quasi)} {are} untouched"
    unnamed = [name for name in as_they_are if name not in roles.named()]
    if len(unnamed) >= _MANY:
        yield (
            "columns that nobody named are released",
            f"{len(unnamed)} by rest = \"insensitive\", such as '{unnamed[0]}'; name them, or drop "
            "them",
        )
    settled = {*roles.renamed, *roles.not_identifiers}
    if not roles.identifiers:
        for name in as_they_are:
            if name not in settled and _names_people(words.parts_of(name)):
                yield (
                    f"'{name}' is called like an identifier",
                    "no column is listed as one; list it under identifiers, or under "
                    "not_identifiers if it is none",
                )
    several = roles.household or roles.unit
    if recipe.counts == "rows" and several is not None and recipe.steps:
        yield "k counts rows, not people", f"one '{several}' may have k of them; leave counts out"


def _names_people(called: list[str]) -> bool:
    listed = words.NAMES | words.CONTACTS
    return any(part in listed for part in called) or words.numbers_persons(called)


# Columns that tell records apart


def _of_their_own(shown: Shown, recipe: Recipe) -> Said:
    """Find untreated text and whole numbers that differ in nearly every record."""
    roles, schema = recipe.roles, shown.frame.schema
    settled = {*recipe.treated, *roles.renamed}
    names = [c for c in schema.names if c not in settled and can_identify(schema.field(c).type)]
    if not names:
        return
    # Some rows tell of most columns that their values repeat, so that few are counted in full.
    looks = shown.frame.fold(partial(_look, tuple(names)), _joined, names)
    for name, look in looks.items():
        varied = look.present >= FEWEST and look.distinct >= _NEARLY_ALL * look.looked_at
        if not varied or not (look.text or look.whole):
            continue
        # A single null is alone, but no value.
        alone = shown.unique([name]) - (shown.num_rows - look.present == 1)
        if alone >= _NEARLY_ALL * look.present:
            every = "every" if alone == look.present else "nearly every"
            known = "not_identifiers lists it, and it tells them apart all the same; "
            yield (
                f"'{name}' differs in {every} record and is released as it is",
                known * (name in roles.not_identifiers)
                + "treat it, drop it or give it the role identifiers",
            )


def _look(names: tuple[str, ...], piece: pa.Table, rows: np.ndarray) -> dict[str, Marks]:
    return {name: marks_of(piece[name]) for name in names}


def _joined(one: dict[str, Marks], other: dict[str, Marks]) -> dict[str, Marks]:
    return {name: marks.joined(other[name]) for name, marks in one.items()}


# Blanks


def _readings(shown: Shown, recipe: Recipe, evidence: Evidence | None) -> Said:
    """Count the people who are found for certain where not all keys together are shared."""
    plans = [] if evidence is None else evidence.plan["steps"]
    for number, step in enumerate(recipe.steps):
        reading = step.parameters().get("null_policy")
        missing = set(step.columns) - set(shown.column_names)
        if step.method != "local-suppression" or missing or _shares_all(step):
            continue
        plan = plans[number] if number < len(plans) else None
        where = f"step {number + 1} ({step.method})"
        found = found_for_certain(shown, step, plan)
        prevented = 'null_policy = "value" prevents that'
        if reading == "value":
            prevented = "k = 2 over all keys together prevents that"
        if found:
            yield (
                f"{where} lets people be found for certain",
                f"the keys of {found:,} fit one released record alone; {prevented}",
            )
        elif found is None and (few := exposed(shown, step, plan)):
            yield (
                f"{where} may let people be found for certain",
                f'null_policy = "{reading}" counts others for {few:,} {shown.noun} that share what '
                f"they show, blanks included, with too few; {prevented}",
            )


def _shares_all(step: Step) -> bool:
    """Return whether each record shares all its keys, blanks included, with another."""
    given = step.parameters()
    together = tuple(step.columns) in demanded(step.columns, given) or given["risk"] == "suda"
    return given["null_policy"] == "value" and (together or bool(given["privacy"]))


# Classes


def _classes(shown: Shown, recipe: Recipe) -> Said:
    """Find records that are alone, and classes that share a confidential value.

    Only by columns that nothing perturbs: what an intruder knows to be as it was.
    """
    moved = {c for step in recipe.steps if step.build().effect == "perturbs" for c in step.columns}
    sure = [name for name in shown.column_names if name not in moved]
    quasi = [name for name in recipe.roles.quasi if name in sure]
    told = [name for name in recipe.roles.confidential if name in sure]
    if quasi:
        yield from _alone(shown, recipe, quasi, told)
        yield from _one_valued(shown, recipe, quasi, told)


def _alone(shown: Shown, recipe: Recipe, quasi: list[str], told: list[str]) -> Said:
    """Count the records that are unique on the quasi columns, where they show something more."""
    known, untouched = set(quasi), [name for name in quasi if name in recipe.roles.untouched]
    judged = [step for step in recipe.steps if step.build().promise in OF_CLASSES]
    whole = [step for step in judged if known <= set(step.columns)]
    in_parts = len([step for step in judged if known & set(step.columns)]) > 1 and not whole
    # There a null equals any value, and so no record with one is alone.
    if any(step.promise and step.parameters()["null_policy"] in ("match", "own") for step in whole):
        return
    alone = shown.unique(quasi) if told or untouched or in_parts else 0
    if alone:
        remedy = "k-anonymity over all of them prevents that"
        if in_parts:
            remedy = "put them into one step"
        elif untouched:
            remedy = f"{', '.join(untouched)} should be treated, in one step with the others"
            if len(untouched) == len(quasi):
                remedy = "treat them, in one step"
        together = " together" * (len(quasi) > 1)
        yield (
            f"records are unique on {', '.join(quasi)}{together}",
            f"{alone:,} of {shown.num_rows:,}, which whoever knows them can find; {remedy}",
        )


def _one_valued(shown: Shown, recipe: Recipe, quasi: list[str], told: list[str]) -> Said:
    """Count the classes of several records that all have the same confidential value."""
    diverse = {
        model.column
        for step in recipe.steps
        if step.promise and set(quasi) <= set(step.columns)
        for model in step.parameters().get("privacy") or ()
        if model.model == "l-diversity" and model.l >= 2
    }
    told = [name for name in told if name not in diverse and name not in recipe.apart]
    found = shown.frame.one_valued(quasi, told) if told else []
    for name, (classes, records) in zip(told, found, strict=True):
        if classes:
            many = classes > 1
            yield (
                f"classes of {', '.join(quasi)} give '{name}' away",
                f"{classes:,} class{'es' * many} ({records:,} record{'s' * (records > 1)}) "
                f"hold{'s' * (not many)} one value{' each' * many}, so whoever finds the class "
                "knows it; l-diversity prevents that",
            )


def _nearly_one_valued(shown: Shown, recipe: Recipe) -> Said:
    """Count the classes that hold l distinct values, nearly all of them the same."""
    for step in recipe.steps:
        for model in step.parameters().get("privacy") or () if step.promise else ():
            if model.model != "l-diversity" or model.kind != "distinct":
                continue
            columns = [*step.columns, model.column]
            if not set(columns) <= set(shown.column_names):
                continue
            table, records = shown.records.over(columns)
            ids, n = classes_of(*encode_columns(table, step.columns))
            sizes, largest = np.bincount(ids, records, n), np.zeros(n)
            np.maximum.at(largest, ids, records)
            near = largest > _NEARLY_ONE * sizes
            if near.any():
                yield (
                    f"classes of {', '.join(step.columns)} nearly give '{model.column}' away",
                    f"in {int(near.sum()):,} of {n:,} ({int(sizes[near].sum()):,} records) one "
                    f"value has more than {_NEARLY_ONE:.0%}; l-diversity with kind = "
                    '"entropy" prevents that',
                )
