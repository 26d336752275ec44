"""Rules that the values of parameters keep: declared by a class, and said in one sentence.

A class declares in `constraints` what its parameters must be. A `Literal` or `bool` in the
signature of `__init__` is a rule by itself.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from numbers import Real
from typing import Any, Literal

import numpy as np

from discreet.errors import BadInput, nearest


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What the value of a parameter must be.

    Examples
    --------
    >>> whole(1, by_column=True).check("k", {"age": 0})
    Traceback (most recent call last):
    discreet.errors.BadInput: k must be a whole number of at least 1, not 0
    """

    wanted: str  # in words, behind "must be"
    good: Callable[[Any], bool]
    called: str = "{name}"  # how the message calls what is wrong, from `{name}` and `{column}`
    hint: str = ""  # the end of the message
    optional: bool = False  # None is good too
    by_column: bool = False  # a mapping may give each column its own value
    only_by_column: bool = False  # a mapping must
    or_list: str = ""  # a list is good too; this is what to give instead of an empty one
    bounds: Mapping[str, float] = field(default_factory=dict)  # of a number, as in a JSON schema

    def check(self, name: str, value: Any) -> None:
        """Raise `BadInput` where a parameter's value does not keep the rule."""
        if self.optional and value is None:
            return
        several: Iterable[tuple[Any, Any]] = [("", value)]
        if isinstance(value, Mapping) and (self.by_column or self.only_by_column):
            several = value.items()
        elif self.only_by_column:
            raise BadInput(f"{name} must give a number for each column by name, not {value!r}")
        elif self.or_list and isinstance(value, list | tuple):
            several = [("", one) for one in value]
            if not several:
                raise BadInput(f"{name} is an empty list; give {self.or_list}")
        for column, one in several:
            if not self.good(one):
                called = self.called.format(name=name, column=column)
                raise BadInput(f"{called} must be {self.wanted}, not {one!r}{self.hint}")


Constraints = dict[str, Rule]


def whole(least: int = 1, **more: Any) -> Rule:
    """Return the rule of a whole number; `more` are further attributes of the rule."""
    return Rule(
        wanted=f"a whole number of at least {least}",
        good=lambda x: is_whole(x, least),
        bounds={"minimum": least},
        **more,
    )


def number(
    *,
    least: float | None = None,
    above: float | None = None,
    most: float = math.inf,
    below: float = math.inf,
    **more: Any,
) -> Rule:
    """Return the rule of a finite number between bounds, said in other words where `wanted` is.

    Examples
    --------
    >>> number(above=0, most=1).wanted
    'a number above 0 and at most 1'
    """
    said = "a number"
    said += f" of at least {least:g}" if least is not None else ""
    said += f" above {above:g}" if above is not None else ""
    said += f" and at most {most:g}" if most < math.inf else ""
    said += f" and below {below:g}" if below < math.inf else ""
    low = -math.inf if least is None else least
    over = -math.inf if above is None else above

    def good(value: Any) -> bool:
        x = as_float(value)
        return math.isfinite(x) and low <= x <= most and over < x < below

    named = {
        "minimum": least,
        "exclusiveMinimum": above,
        "maximum": most,
        "exclusiveMaximum": below,
    }
    bounds = {key: end for key, end in named.items() if end is not None and end < math.inf}
    return Rule(**{"wanted": said, "good": good, "bounds": bounds, **more})


def one_of(choices: Any, **more: Any) -> Rule:
    """Return the rule of a value among a Literal's."""
    known = typing.get_args(choices)
    said = f"one of {', '.join(map(repr, known))}"
    return Rule(**{"wanted": said, "good": lambda x: x in known, **more})


FLAG = Rule(wanted="True or False", good=lambda x: isinstance(x, bool | np.bool_))


def is_whole(value: Any, least: int) -> bool:
    """Return whether a value is a whole number of at least so much; True and False are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and int(value) >= least


def as_float(value: Any) -> float:
    """Return a number as a float, and NaN, which is in no range, for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def types_of(owner: Any) -> dict[str, Any]:
    """Return the types of the parameters of a class: of its fields where it is a dataclass.

    The fields that it has from a base may be of types that only the base's module knows.
    """
    source = owner if is_dataclass(owner) else owner.__init__
    return typing.get_type_hints(source, include_extras=True)


@cache
def rules_of(owner: type) -> dict[str, Rule]:
    """Return the rules of the parameters of a class, in their order.

    What a class declares goes before what its bases do, and that before the signature's types.
    """
    declared: dict[str, Rule] = {}
    for base in reversed(owner.__mro__):
        declared |= vars(base).get("constraints", {})
    types = types_of(owner)
    found = {}
    for name in inspect.signature(owner).parameters:
        if name in declared:
            found[name] = declared[name]
        elif types.get(name) is bool:
            found[name] = FLAG
        elif typing.get_origin(types.get(name)) is Literal:
            found[name] = one_of(types[name])
    return found


def check_declared(owner: object) -> None:
    """Raise `BadInput` where a parameter of an object does not keep its rule."""
    for name, rule, value in _given(owner):
        rule.check(name, value)


def check_named(owner: object, columns: Iterable[str]) -> None:
    """Refuse parameters that are given for a column that there is not."""
    columns = list(columns)
    for name, rule, value in _given(owner):
        for column in value if rule.by_column and isinstance(value, Mapping) else ():
            if column not in columns:
                raise BadInput(
                    f"{name} is given for column {column!r}, but there is none of that name; "
                    + nearest(column, columns)
                )


def _given(owner: object) -> Iterator[tuple[str, Rule, Any]]:
    kind: Any = type(owner)
    for name, rule in rules_of(kind).items():
        yield name, rule, getattr(owner, name)
