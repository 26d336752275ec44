"""Persons with several records: which column tells them apart, and what goes with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.inspection.encoded import Encoded
from discreet.inspection.guesses import Guess
from discreet.table import words
from discreet.table.classes import constant_within
from discreet.table.identifiers import can_identify, is_whole

# Numbers may tell persons apart if they are many, with few gaps and a few records each, and if
# this many other columns are the same in all records of each.
_FEWEST_PERSONS, _GAPS, _FEWEST_ROWS, _MOST_ROWS = 100, 5, 1.5, 50
_CONSTANT = 2


def settle_units(encoded: Mapping[str, Encoded], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Keep one unit, and make identifiers of the columns that have a value of their own for each.

    A column that no name gives away is a doubtful unit if its numbers look like those of persons
    and some other columns are the same in all records of each.
    """
    found = dict(guesses)
    units = [name for name, guess in guesses.items() if guess.role == "unit"]
    if not units and all(guess.role != "household" for guess in guesses.values()):
        units = [name for name in encoded if _numbers_persons(name, encoded, guesses)][:1]
        said = "other columns are the same in all records of each of its numbers"
        found |= {name: Guess("unit", said, sure=False) for name in units}
    if not units:
        return found
    unit = min(units, key=lambda name: (not found[name].sure, -len(encoded[name].values)))
    for name in units:
        if name != unit:
            found[name] = replace(found[name], role="identifiers")
    for name, guess in found.items():
        if _doubted(guess) and _of_each(encoded[unit], encoded[name]):
            found[name] = Guess("identifiers", f"it has a value of its own for each '{unit}'")
    return found


def _doubted(guess: Guess) -> bool:
    """Tell whether nothing but the values speaks for a role that is released."""
    return guess.role in ("quasi", "confidential") and not guess.sure


def _numbers_persons(
    name: str, encoded: Mapping[str, Encoded], guesses: Mapping[str, Guess]
) -> bool:
    column = encoded[name]
    if not _doubted(guesses[name]) or column.nulls or not _whole_number(column):
        return False
    values = column.values.to_numpy(zero_copy_only=False)
    if len(values) < _FEWEST_PERSONS or values.max() - values.min() > _GAPS * len(values):
        return False
    if not _FEWEST_ROWS <= column.counts.mean() <= _MOST_ROWS:
        return False
    others = (other for other in encoded.values() if 1 < len(other.values) < len(values))
    return sum(is_constant_within(column, other) for other in others) >= _CONSTANT


def _of_each(unit: Encoded, column: Encoded) -> bool:
    """Tell whether each unit has a value of its own, which is not an amount."""
    if column.name == unit.name or not can_identify(column.values.type):
        return False
    if column.kind == "numeric" and not _whole_number(column):
        return False
    amount = set(words.parts_of(column.name)) & words.CONFIDENTIAL
    many = len(column.values) >= 0.9 * len(unit.values)
    return not amount and many and is_constant_within(unit, column)


def _whole_number(column: Encoded) -> bool:
    return column.kind == "numeric" and is_whole(column.values)


def is_constant_within(unit: Encoded, column: Encoded) -> bool:
    """Tell whether all records of each unit hold the same.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from discreet.inspection.encoded import encode_column
    >>> unit, sex, day = (
    ...     encode_column(name, pa.chunked_array([values]))
    ...     for name, values in {"unit": [1, 1, 2], "sex": [0, 0, 1], "day": [3, 4, 5]}.items()
    ... )
    >>> is_constant_within(unit, sex), is_constant_within(unit, day)
    (True, False)
    """
    # One more group, the last, for records without a unit: their code is -1.
    return constant_within(unit.codes, len(unit.values) + 1, column.codes)
