"""Released columns that are direct identifiers stop a run; people with several rows are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np
import pyarrow as pa

from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table import kind_of, words
from discreet.table.identifiers import FEWEST, Marks, can_identify, marks_of, why_identifier

_Looks = dict[str, Marks]
# Some numbers come twice by mistake: more than that are several rows of a person.
_SEVERAL = 0.9


def refuse_identifiers(frame: Frame, recipe: Recipe, released: list[str]) -> None:
    """Refuse to release a column as it is that names one person each."""
    roles = recipe.roles
    settled = {*_treated(frame, recipe), *roles.renamed, *roles.not_identifiers}
    shown = [name for name in released if name not in settled]
    shown = [name for name in shown if can_identify(frame.schema.field(name).type)]
    if not shown:
        return
    unit = roles.unit if roles.unit in frame.schema.names else None
    taken = [*shown, *([unit] if unit is not None else [])]
    looks = frame.fold(partial(_look, tuple(taken)), _joined, taken)
    count = cache(partial(_count, frame))
    for name in shown:
        own = partial(_count_values, count, name, looks[name].present < frame.num_rows)
        why = why_identifier(name, looks[name], own) or _follows(unit, name, looks, count)
        if why is not None:
            raise BadInput(
                f"column '{name}' would be released, but looks like an identifier: {why}; list it "
                "under identifiers or pseudonyms, or under not_identifiers if it is none"
            )


def uncounted(frame: Frame, recipe: Recipe) -> list[str]:
    """Warn where k counts rows and a column says that people have several."""
    if recipe.counts is not None or recipe.counted is not None or not recipe.steps:
        return []
    found = []
    for name in frame.schema.names:
        if words.numbers_persons(words.parts_of(name)) and name not in recipe.treated:
            values = _count(frame, name)
            if FEWEST <= values <= _SEVERAL * frame.num_rows:
                found.append(
                    f"weak: k counts rows, and '{name}' has {frame.num_rows / values:.1f} of them "
                    "for each value: give it the role unit if it numbers people, or set counts = "
                    '"rows" if each row is a person'
                )
    return found


def _treated(frame: Frame, recipe: Recipe) -> set[str]:
    """Name the columns that are not shown as they are: swapped text is still somebody's."""
    coarsened = {
        column
        for step in recipe.steps
        if step.build().effect == "coarsens"
        for column in step.columns
    }
    kinds = {name: kind_of(frame.schema.field(name).type) for name in recipe.treated}
    return coarsened | {name for name, kind in kinds.items() if kind == "numeric"}


def _look(names: tuple[str, ...], piece: pa.Table, rows: np.ndarray) -> _Looks:
    return {name: marks_of(piece[name]) for name in names}


def _joined(one: _Looks, other: _Looks) -> _Looks:
    return {name: marks.joined(other[name]) for name, marks in one.items()}


def _count(frame: Frame, *columns: str) -> int:
    return int(frame.sizes(columns)[1].sum())


def _count_values(count: Callable[..., int], name: str, nulls: bool) -> int:
    return count(name) - nulls


def _follows(
    unit: str | None, name: str, looks: Mapping[str, Marks], count: Callable[..., int]
) -> str | None:
    """Say that each unit has its own value in all its rows, if that is so."""
    if unit is None or not looks[name].whole or looks[name].present < FEWEST:
        return None
    amount = not looks[name].text and set(words.parts_of(name)) & words.CONFIDENTIAL
    if amount or looks[name].distinct < 0.8 * looks[unit].distinct:
        return None
    units = count(unit)
    if units < FEWEST or count(name) < 0.9 * units or count(unit, name) > units:
        return None
    return f"it has a value of its own for each '{unit}'"
