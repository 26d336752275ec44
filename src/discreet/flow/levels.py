"""Columns that say the same in all rows of a household or a person: treated once for each.

Noise that is drawn for every member of a household is averaged away, and five members are five
records of one income. A step on such columns is decided on one row of each household (or person),
and all its rows get what that one gets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.flow.refusals import looked_at
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step
from discreet.table.classes import constant_within, encode

# Rows that are looked at first: most columns that differ within a household differ in these.
_FEW = 20_000


@dataclass(frozen=True)
class Part:
    """Columns of a step that are treated together, once for each value of a column, or by row.

    What is not treated `once` is only drawn so.
    """

    columns: tuple[str, ...]
    level: str | None = None
    once: bool = True


def find_levels(frame: Frame, recipe: Recipe) -> dict[str, str]:
    """Return the columns that are the same in all rows of a household or person.

    They come with the column of these. Only those count that steps look at which treat them once.
    What gets noise and is the same in a household but for nulls is not a person's: drawn for every
    member, the noise would be averaged away. `find_shared` finds it.
    """
    roles = recipe.roles
    found: dict[str, str] = {}
    treated = []
    for step in recipe.steps:
        if any(_once(recipe, step.build(), column) for column in step.columns):
            target = roles.target if step.build().supervised else None
            treated += [*looked_at(step), *filter(None, [target])]
    looked = treated or roles.household_level
    for level in filter(None, (roles.household, roles.unit) if looked else ()):
        is_constant = _is_constant(frame, level)
        if is_constant is None:
            continue
        home = roles.household if level == roles.unit else None
        wider = _but_for_nulls(frame, recipe, home, found)
        for column in dict.fromkeys(treated):
            if column not in found and column not in wider and is_constant(column):
                found[column] = level
        for column in roles.household_level if level == roles.household else ():
            if column not in found and not is_constant(column):
                raise BadInput(
                    f"household_level lists '{column}', which differs between members of a "
                    f"household in '{level}'"
                )
    return found


def find_links(frame: Frame, recipe: Recipe, released: Sequence[str]) -> list[str]:
    """Name the released columns that show which rows belong to one household or person.

    These are its number or pseudonym, and what is the same in all its rows: an income that no other
    household has says as much as a number.
    """
    found: list[str] = []
    for group in recipe.linking:
        if group in released:
            found.append(group)
            is_constant = _is_constant(frame, group)
            if is_constant is not None:
                found += [n for n in released if n not in found and is_constant(n)]
    return found


def find_shared(frame: Frame, recipe: Recipe, levels: dict[str, str]) -> dict[str, str]:
    """Return the other columns that get noise and are the same in a household but for nulls."""
    found: dict[str, str] = {}
    for level in (recipe.roles.household, recipe.roles.unit):
        for column in _but_for_nulls(frame, recipe, level, levels | found):
            assert level is not None
            found[column] = level
    return found


def _but_for_nulls(
    frame: Frame, recipe: Recipe, level: str | None, known: Collection[str]
) -> list[str]:
    """Name the other columns that get noise, hold nulls and are else the same in a household."""
    noisy = dict.fromkeys(c for s in recipe.steps if _adds_noise(s.build()) for c in s.columns)
    if level is None or not noisy.keys() - set(known) or frame.nulls(level):
        return []
    lacking = [c for c in noisy if c not in known and frame.nulls(c)]
    if not lacking or _how_many(frame, level) == frame.num_rows:
        return []
    return [c for c in lacking if frame.counts([level], of=c)[1].max() <= 1]


def drawn_by(recipe: Recipe, method: Method) -> str | None:
    """Name the column that a method's draws go by, where they do not go by row."""
    if method.draws_by == "person":
        # By household where there is one: a date of all its members must not move with each.
        return recipe.roles.household or recipe.roles.unit
    return recipe.counted if method.draws_by == "counted" else None


def _once(recipe: Recipe, method: Method, column: str) -> bool:
    """Tell whether a method's result depends on how often the rows of a household come."""
    if method.alike or method.draws_by != "row":
        return False
    listed = column in recipe.roles.household_level
    return recipe.counted is not None or _adds_noise(method) or listed


def _adds_noise(method: Method) -> bool:
    """Tell whether drawing for every row would tell more than drawing once."""
    return method.is_random and method.effect == "perturbs"


def _is_constant(frame: Frame, level: str) -> Callable[[str], bool] | None:
    """Return what tells whether a column is the same in all rows of a household or person.

    None where that says nothing: each has one row, or some rows are nobody's.
    """
    if frame.nulls(level):
        return None
    if isinstance(frame, MemoryFrame):
        groups, size = encode(frame.table[level], level)
        return partial(_same, frame.table, groups, size) if size < len(groups) else None
    size = _how_many(frame, level)
    if size == frame.num_rows:
        return None
    return lambda column: _how_many(frame, level, column) == size


def _same(table: pa.Table, groups: np.ndarray, size: int, column: str) -> bool:
    parts = (table[column].slice(0, _FEW), table[column])
    return all(constant_within(groups[: len(p)], size, encode(p, column)[0]) for p in parts)


def _how_many(frame: Frame, *columns: str) -> int:
    """Count distinct tuples."""
    return int(frame.sizes(columns)[1].sum())


def parts_of(
    recipe: Recipe,
    number: int,
    step: Step,
    levels: Mapping[str, str],
    shared: Mapping[str, str],
    others: Sequence[str],
) -> list[Part]:
    """Split a step into the columns that are treated once for each household, person or row.

    `shared` are columns that are the same but for nulls, `others` what the method looks at besides.
    """
    method = step.build()
    if method.draws_by != "row":
        return [Part(tuple(step.columns), drawn_by(recipe, method), once=False)]
    known = {c: levels[c] for c in step.columns if c in levels and _once(recipe, method, c)}
    drawn = [c for c in step.columns if c in shared and _adds_noise(method)]
    if drawn and (not method.by_column or method.bound_to_memory or others):
        raise BadInput(
            f"step {number} ({step.method}) treats '{drawn[0]}', which is the same in all rows of "
            f"a '{shared[drawn[0]]}' but for nulls; fill these, or add noise to it by itself"
        )
    if not known and not drawn:
        return [Part(tuple(step.columns))]
    if method.by_column and not others:
        grouped: dict[tuple[str | None, bool], list[str]] = {}
        for column in step.columns:
            how = (shared[column], False) if column in drawn else (known.get(column), True)
            grouped.setdefault(how, []).append(column)
        return [Part(tuple(columns), *how) for how, columns in grouped.items()]
    at = {known.get(column) for column in step.columns} | {levels.get(name) for name in others}
    if len(at) == 1:
        return [Part(tuple(step.columns), at.pop())]
    if _adds_noise(method):
        column, level = next(iter(known.items()))
        raise BadInput(
            f"step {number} ({step.method}) treats '{column}', which is the same in all rows of a "
            f"'{level}', together with columns that are not; put it into a step of its own"
        )
    return [Part(tuple(step.columns))]
