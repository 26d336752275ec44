"""Verifies a release from the original, the recipe as a plain dict and the released table alone.

It is written from the definitions of methods and models, and shares no code with the package; the
package's own check is neither called nor read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.cells import nulls
from tests.fuzz.labels import covers, text_of
from tests.fuzz.looks import (
    BLANKING,
    GROUPING,
    K_PER_VALUE,
    SMALL_COUNTS,
    SUPPRESSING,
    Look,
    Step,
    groups_records,
    least_in_group,
    parameter,
)
from tests.fuzz.methods import METHODS, least_per_value
from tests.fuzz.models import breaks, counts, rare_combination

DRAWN = ("shuffle", "rank-swap", "noise", "porop", "lirop", "ipso", "pram")
_HEX = set("0123456789abcdef")


def verify(
    original: pd.DataFrame,
    recipe: dict[str, Any],
    released: pd.DataFrame,
    kinds: dict[str, str] | None = None,
    excluded: int = 0,
    left_out: int | None = None,
) -> list[str]:
    """Return what is wrong with a release: promises of its recipe that it does not keep.

    Parameters
    ----------
    original, released : DataFrame
        With plain cells (`cells.frame`), the same rows in the same order; a record that is left
        out is a row of nulls.
    recipe : dict
        As `discreet.protect` takes it.
    kinds : dict of str to str
        The columns that are "decimal", or numbers of "single" precision.
    excluded : int
        How many records are left out before any step, and are not in the tables.
    left_out : int
        How many others are left out. If this is not known, all rows of nulls are.
    """
    look = Look(original, recipe, released, kinds, left_out)
    if list(released.columns) != look.expected:
        return [f"columns {list(released.columns)}, not {look.expected}"]
    if len(released) != len(original):
        return [f"{len(released)} rows, not {len(original)}"]
    problems = []
    if excluded and not look.may_exclude:
        problems.append(f"{excluded} records are left out that are in nobody's way")
    problems += [*_identifiers(look), *_cells(look), *_levels(look), *_renamed(look)]
    for step in look.steps:
        if step["method"] in SUPPRESSING:
            problems += [*_labels(look, step), *_classes(look, step), *_linked(look, step)]
            problems += _beyond_limit(look, step)
        else:
            problems += METHODS[step["method"]](look, step)
    return problems


# Cells


def _identifiers(look: Look) -> Iterator[str]:
    """No value of an identifier shows anywhere."""
    for name in look.roles.get("identifiers", ()):
        known = {cell for cell in look.before[name] if isinstance(cell, str)}
        for other in look.after.columns:
            if known & set(filter(None, look.after[other].astype(str))):
                yield f"{other} shows values of {name}"


def _cells(look: Look) -> Iterator[str]:
    """Nulls are where they were, and what no step treats is as it was."""
    renamed = {*look.roles.get("pseudonyms", ()), look.roles.get("household")}
    for name in look.after.columns:
        steps = look.treating(name)
        # What is put in another order, or added, is looked at with its groups.
        moved = any(s["method"] == GROUPING and name in s["confidential"] for s in steps)
        if moved or name not in look.before:
            continue
        old, new = look.before[name], look.after[name]
        if not steps and name not in renamed:
            same = np.array([_same(a, b) for a, b in zip(old, new, strict=True)])
            if not (same | _may_be_blank(look, name, steps)).all():
                row = int(np.argmin(same | _may_be_blank(look, name, steps)))
                yield f"{name}, row {row}: {new.iat[row]!r}, not {old.iat[row]!r}"
        filled = nulls(old) & ~nulls(new)
        if steps and steps[-1]["method"] in SUPPRESSING:
            filled &= (new != "*").to_numpy()
        if filled.any():
            yield f"{name}, row {int(np.argmax(filled))}: a null was filled"
        emptied = nulls(new) & ~nulls(old) & ~_may_be_blank(look, name, steps)
        if emptied.any():
            yield f"{name}, row {int(np.argmax(emptied))}: a value is missing"
        yield from _many_blanks(look, name, steps, nulls(new) & ~nulls(old))


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and one == other)


def _may_be_blank(look: Look, name: str, steps: list[Step]) -> np.ndarray:
    """Mask the cells that may be empty: of records left out, of what leads back to suppressed
    ones, and of too rare values."""
    may = _hidden(look, name)
    for step in steps:
        if groups_records(step):
            rare, more = _rare_pattern(look, step)
            # Which patterns are rare is not known from outside where a step before made nulls.
            made = any(look.is_blanked(step, column) for column in step["columns"])
            may |= rare | (more > 0) | made
        if look.lost and step["method"] in (*K_PER_VALUE, "microaggregation"):
            may |= step.get("promise", True)
    for step in steps:
        if step["method"] == "round-counts":
            first, last = SMALL_COUNTS.get(parameter(step, "rule", name), (0, -1))
            x = look.given(step, name)
            may |= last > 0 if x is None else (x >= first) & (x <= last)
    if any(step["method"] == "generalize-items" for step in steps):
        may |= True
    if any(s["method"] == BLANKING and name not in s.get("fixed", ()) for s in steps):
        may |= True
    return may


def _hidden(look: Look, name: str) -> np.ndarray:
    """Mask the cells that a record may not show since it is suppressed."""
    links = [look.roles.get("household"), look.roles.get("unit")]
    within = any(by is not None and (name == by or look.constant(name, by)) for by in links)
    return look.gone | (look.starred & (within or name in look.roles.get("quasi", ())))


def _rare_pattern(look: Look, step: Step) -> tuple[np.ndarray, int]:
    """Mask the records too few of which lack the same values, of their stratum.

    These are blank. If that leaves fewer than k without any value, others are blanked too, of which
    the number is returned: a group whole, if it is so small that it can spare none.
    """
    k = least_in_group(step)
    strata = step.get("strata")
    # As an earlier step has left them, if there is one.
    source = look.after if look.treating(strata) else look.before
    by = [] if strata is None else [source[strata]]
    cells = np.column_stack([nulls(look.before[name]) for name in step["columns"]])
    keys, held = list(zip(map(tuple, cells), *by, strict=True)), defaultdict(list)
    for row, key in enumerate(keys):
        held[key].append(row)
    rare = np.array([look.count(held[key]) < k for key in keys], dtype=bool)
    without = look.count(*(rare | cells.all(axis=1)).nonzero())
    return rare, 2 * k - 1 if 0 < without < k else 0


def _many_blanks(look: Look, name: str, steps: list[Step], blank: np.ndarray) -> Iterator[str]:
    """Each group of k that is emptied lost a record, so that fewer than k of it are left."""
    if len(steps) != 1 or steps[0]["method"] not in (*K_PER_VALUE, "microaggregation"):
        return
    k = least_per_value(steps[0], name)
    if isinstance(parameter(steps[0], "k", name), str):
        return
    blank = blank & ~_hidden(look, name)
    most = int((look.gone | look.starred).sum()) * ((k or 1) - 1)
    if groups_records(steps[0]):
        rare, more = _rare_pattern(look, steps[0])
        blank, most = blank & ~rare, most + more
    if look.count(*blank.nonzero()) > most:
        yield f"{name}: {blank.sum()} cells are blank, beyond {most}"


def _levels(look: Look) -> Iterator[str]:
    """What all members of a household share is drawn once, so that they still share it."""
    for step in look.steps:
        role = look.level(step["columns"]) if step["method"] in DRAWN else None
        for name in step["columns"] if role is not None else ():
            members = zip(look.before[look.roles[role]], look.after[name], strict=True)
            held = {(text_of(who), cell) for who, cell in members if cell is not None}
            if len(look.treating(name)) == 1 and len({who for who, _ in held}) < len(held):
                yield f"{name}: members of one {role} have different values"


def _renamed(look: Look) -> Iterator[str]:
    """Household numbers and pseudonyms are one to one with what they stand for."""
    roles = look.roles
    for name in {*roles.get("pseudonyms", ()), roles.get("household")} & set(look.after.columns):
        pairs = {
            (text_of(old), new)
            for old, new in zip(look.before[name], look.after[name], strict=True)
            if old is not None and new is not None
        }
        if len({old for old, _ in pairs}) < len(pairs) or len({new for _, new in pairs}) < len(
            pairs
        ):
            yield f"{name}: the new names are not one to one"
        if name not in roles.get("pseudonyms", ()):
            if any(new < 1 or new > len(look.before) for _, new in pairs):
                yield f"{name}: a number that no household has"
        elif any(len(new) != 32 or set(new) - _HEX for _, new in pairs):
            yield f"{name}: a pseudonym that no key gives"


# Generalization


def _labels(look: Look, step: Step) -> Iterator[str]:
    """A label stands for the value; without local recoding equal values have one label a group."""
    groups = _groups(look, step)
    for name in filter(lambda name: look.is_last(step, name), step["columns"]):
        if len(look.treating(name)) > 1:
            continue
        spec = step.get("hierarchies", {}).get(name)
        domain = [str(x) for x in (spec or {}).get("values", ())] or _domain(look.before[name])
        labels = defaultdict(set)
        before, after = look.before[name].tolist(), look.after[name].tolist()
        for row in np.flatnonzero(~look.gone):
            old, new = before[row], after[row]
            if old is None or new is None:
                continue
            # What is left as it was in all rows has its own type, and is the value itself.
            stands = isinstance(new, str) and covers(
                new, old, spec, domain, 1e-6 if look.kinds.get(name) else 1e-9
            )
            if not stands and (isinstance(new, str) or new != old):
                yield f"{name}, row {row}: {new!r} does not stand for {old!r}"
            if not look.starred[row]:
                labels[groups[row], old].add(new)
        full_domain = step["method"] == "generalize" and not step.get("local")
        if full_domain and step.get("segregate") != "pattern":
            mixed = next((key for key, found in labels.items() if len(found) > 1), None)
            if mixed is not None:
                yield f"{name}: {mixed[1]!r} has labels of several levels"


def _domain(cells: pd.Series) -> list[str]:
    present = {cell for cell in cells if cell is not None}
    return [text_of(cell) for cell in sorted(present)]


def _groups(look: Look, step: Step) -> list[Hashable]:
    """Within what classes are counted: records with, and without nulls, where these are apart.

    Where an earlier step blanks cells, it is not known from outside which nulls the step was given.
    """
    given = any(look.is_blanked(step, name) for name in step["columns"])
    if given or step.get("null_policy", "segregate") != "segregate":
        return [False] * len(look.before)
    return np.any([nulls(look.before[name]) for name in step["columns"]], axis=0).tolist()


def _beyond_limit(look: Look, step: Step) -> Iterator[str]:
    """Of each group no more are suppressed than the limit lets, or all of it.

    Classes as coarse as can be look like suppressed ones: with local recoding some may be, and
    else only a whole group.
    """
    once = all(len(look.treating(name)) == 1 for name in step["columns"])
    if step["method"] != "generalize" or step.get("local") or look.may_exclude or not once:
        return
    nothing = np.all([nulls(look.before[name]) for name in look.after.columns], axis=0)
    suppressed = look.starred | (look.gone & ~nothing)
    groups = np.array(_groups(look, step))
    if step.get("null_policy") == "suppress":
        groups = np.any([nulls(look.before[name]) for name in step["columns"]], axis=0)
    limit = step.get("suppression_limit", 0.05)
    for group in (False, True)[: 1 if step.get("segregate") == "pattern" else 2]:
        n, found = int((groups == group).sum()), int(suppressed[groups == group].sum())
        if limit * n + 1e-9 < found < n:
            yield f"{found} of {n} are suppressed, beyond suppression_limit = {limit}"


def _classes(look: Look, step: Step) -> Iterator[str]:
    """Every class keeps every model, the class of suppressed records too."""
    names, policy = step["columns"], step.get("null_policy", "segregate")
    if not step.get("promise", True) or not all(look.is_last(step, name) for name in names):
        return
    rows = np.flatnonzero(~look.gone)
    if policy in ("suppress", "segregate") and any(map(look.is_moved, names)):
        return  # Whose nulls these are is not known from outside.
    if policy == "suppress":
        for name in names:
            if (nulls(look.before[name]) & ~look.starred & ~look.gone).any():
                yield f"{name}: a record with a null was not suppressed"
    if policy == "match":
        yield from _wildcard(look, step, rows)
        return
    groups, tuples, classes = _groups(look, step), look.tuples(names), defaultdict(list)
    for row in rows:
        classes[groups[row], tuples[row]].append(row)
    for model in step["privacy"]:
        found = [_first_break(look, model, classes, whole) for whole in _spreads(look, model)]
        if found and None not in found:
            yield f"{model['model']} over {names}: {found[0]}"


def _first_break(
    look: Look, model: dict[str, Any], classes: dict[Any, list[int]], whole: Counter[Any]
) -> str | None:
    """Say which class breaks a model, and how, if one does."""
    cells = look.after[model["column"]].tolist() if "column" in model else [None] * len(look.after)
    for key, rows in classes.items():
        problem = breaks(model, [(cells[row], look.units[row]) for row in rows], whole)
        if problem is not None:
            return f"{key[1]} is {problem}"
    return None


def _spreads(look: Look, model: dict[str, Any]) -> Iterator[Counter[Any]]:
    """Return how often each value is held by all records.

    Where several steps are decided anew on the records that remain, those are all that there are:
    a release that passes by the one or the other is right.
    """
    if "column" not in model:
        yield Counter()
        return
    name, compares = model["column"], model["model"] in ("t-closeness", "beta-likeness")
    treated = bool(look.treating(name))
    if treated and look.lost and compares:
        return
    source = (look.after if treated else look.before)[name].tolist()
    yield counts(list(zip(source, look.units, strict=True)))
    if compares and len(look.steps) > 1 and look.gone.any():
        yield counts([(source[row], look.units[row]) for row in np.flatnonzero(~look.gone)])


def _wildcard(look: Look, step: Step, rows: np.ndarray) -> Iterator[str]:
    """What each record matches is k, and keeps the models, if a null equals anything."""
    k = max(model.get("k", 1) for model in step["privacy"])
    tuples: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    cells = look.tuples(step["columns"])
    for row in rows:
        tuples[cells[row]].append(row)
    company: dict[Any, list[int]] = {}
    for one in tuples:
        same = [
            row
            for other, held in tuples.items()
            if all(None in (a, b) or a == b for a, b in zip(one, other, strict=True))
            for row in held
        ]
        if look.count(same) < k:
            yield f"{step['columns']}: {one} matches {look.count(same)}, not {k}"
        company[None, one] = same
    for model in step["privacy"]:
        found = [_first_break(look, model, company, whole) for whole in _spreads(look, model)]
        if "column" in model and found and None not in found:
            yield f"{model['model']} over what {step['columns']} match: {found[0]}"


def _linked(look: Look, step: Step) -> Iterator[str]:
    """K units share what may be known of the rows of one, where users see which belong to it."""
    roles, most = look.roles, look.recipe.get("known_rows")
    unit = roles.get("unit") if roles.get("unit") in roles.get("pseudonyms", ()) else None
    if unit is None and most is not None and roles.get("release_household", True):
        unit = roles.get("household")
    if unit is None or unit not in look.after.columns or not step.get("promise", True):
        return
    held: dict[Hashable, set[Any]] = defaultdict(set)
    cells, names = look.tuples(step["columns"]), look.after[unit].tolist()
    for row in np.flatnonzero(~look.gone & ~look.starred):
        held[("row", row) if names[row] is None else names[row]].add(cells[row])
    k = max(model.get("k", 1) for model in step["privacy"])
    rare = rare_combination(held, most, k)
    if rare is not None:
        yield f"fewer than {k} of {unit} share {rare}"
