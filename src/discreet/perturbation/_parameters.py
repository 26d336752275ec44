"""Checks of parameters that are numbers, given once for all columns or column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

from discreet.errors import BadInput, nearest


def check_numbers(name: str, parameter: Any, good: Callable[[float], bool], wanted: str) -> None:
    """Refuse a parameter, or a column's, that is no number or not a good one.

    Examples
    --------
    >>> check_numbers("p", {"age": 0}, lambda p: 0 < p <= 100, "a percentage above 0")
    Traceback (most recent call last):
    discreet.errors.BadInput: p must be a percentage above 0, not 0
    """
    for value in parameter.values() if isinstance(parameter, Mapping) else [parameter]:
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not good(float(value)):
            raise BadInput(f"{name} must be {wanted}, not {value!r}")


def check_named(name: str, parameter: Any, columns: Iterable[str]) -> None:
    """Refuse a parameter that is given for a column that there is not."""
    columns = list(columns)
    for column in parameter if isinstance(parameter, Mapping) else ():
        if column not in columns:
            raise BadInput(
                f"{name} is given for column {column!r}, but there is none of that name; "
                + nearest(column, columns)
            )
