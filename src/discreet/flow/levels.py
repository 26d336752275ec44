"""Columns that say the same in all rows of a household or a person: treated once for each.

Noise that is drawn for every member of a household is averaged away, and five members are five
records of one income. A step on such columns is decided on one row of each household (or person),
and all its rows get what that one gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.flow.refusals import looked_at
from discreet.method import Method
from discreet.recipe.recipe import Recipe, Step
from discreet.table.classes import encode

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
    """
    roles, found = recipe.roles, {}
    treated = []
    for step in recipe.steps:
        if any(_once(recipe, step.build(), column) for column in step.columns):
            target = roles.target if step.build().supervised else None
            treated += [*looked_at(step), *filter(None, [target])]
    for level in filter(None, (roles.household, roles.unit)):
        if not _groups_rows(frame, level):
            continue
        for column in dict.fromkeys(treated):
            if column not in found and _is_constant(frame, level, column):
                found[column] = level
        for column in roles.household_level if level == roles.household else ():
            if column not in found and not _is_constant(frame, level, column):
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
            others = released if _groups_rows(frame, group) else []
            found += [n for n in others if n not in found and _is_constant(frame, group, n)]
    return found


def _once(recipe: Recipe, method: Method, column: str) -> bool:
    """Tell whether a method's result depends on how often the rows of a household come."""
    if method.alike or method.draws_by_unit:
        return False
    listed = column in recipe.roles.household_level
    return recipe.counted is not None or _adds_noise(method) or listed


def _adds_noise(method: Method) -> bool:
    """Tell whether drawing for every row would tell more than drawing once."""
    return method.is_random and method.effect == "perturbs"


def _groups_rows(frame: Frame, level: str) -> bool:
    """Tell whether a column is without nulls, and the same in several rows."""
    if isinstance(frame, MemoryFrame):
        column = frame.table[level]
        return not column.null_count and encode(column, level)[1] < len(column)
    _, repeats = frame.sizes([level])
    nulls = frame.fold(_Nulls(level), int.__add__, [level])
    return not nulls and int(repeats.sum()) < frame.num_rows


@dataclass(frozen=True)
class _Nulls:
    column: str

    def __call__(self, piece: pa.Table, rows: np.ndarray) -> int:
        return piece[self.column].null_count


def _is_constant(frame: Frame, level: str, column: str) -> bool:
    if isinstance(frame, MemoryFrame):
        few = frame.table.slice(0, _FEW)
        return all(_same(table, level, column) for table in (few, frame.table))
    pairs, single = (frame.sizes(names)[1].sum() for names in ([level, column], [level]))
    return bool(pairs == single)


def _same(table: pa.Table, level: str, column: str) -> bool:
    groups, cells = encode(table[level], level)[0], encode(table[column], column)[0]
    return bool((cells[first_rows(groups)[groups]] == cells).all())


def first_rows(codes: np.ndarray) -> np.ndarray:
    """Return the first row of each code 0, 1, ..., all of which occur.

    Examples
    --------
    >>> first_rows(np.array([0, 0, 1, 0, 2]))
    array([0, 2, 4])
    """
    first = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def parts_of(
    recipe: Recipe, number: int, step: Step, levels: Mapping[str, str], others: Sequence[str]
) -> list[Part]:
    """Split a step into the columns that are treated once for each household, person or row.

    `others` are columns that the method looks at besides.
    """
    method, roles = step.build(), recipe.roles
    if method.draws_by_unit:
        return [Part(tuple(step.columns), roles.unit or roles.household, once=False)]
    known = {c: levels[c] for c in step.columns if c in levels and _once(recipe, method, c)}
    if not known:
        return [Part(tuple(step.columns))]
    if method.by_column and not others:
        grouped: dict[str | None, list[str]] = {}
        for column in step.columns:
            grouped.setdefault(known.get(column), []).append(column)
        return [Part(tuple(columns), level) for level, columns in grouped.items()]
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
