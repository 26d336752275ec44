"""One place that maps the names in recipes to classes.

A method is found because its family's `__init__` imports it; nothing else is to be registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from discreet.errors import BadInput, nearest
from discreet.method import Method
from discreet.parameters import types_of

FAMILIES = (
    "rounding",
    "microaggregation",
    "perturbation",
    "regression",
    "generalization",
    "suppression",
)


@cache
def methods() -> dict[str, type[Method]]:
    """Return every method by its recipe name, family by family.

    Examples
    --------
    >>> methods()["oma"].__name__
    'OMA'
    """
    found: dict[str, type[Method]] = {}
    for family in FAMILIES:
        for member in vars(import_module(f"discreet.{family}")).values():
            if inspect.isclass(member) and issubclass(member, Method):
                found[member.recipe_name] = member
    return found


def find_method(name: str) -> type[Method]:
    """Return the class of a recipe name, or say which name is near."""
    if name not in methods():
        raise BadInput(f"there is no method '{name}'; {nearest(name, methods())}")
    return methods()[name]


def parameters(method: type[Method]) -> Iterator[tuple[str, Any, Any]]:
    """Return name, type and default of the parameters that a recipe may set.

    The default of a parameter that must be given is `inspect.Parameter.empty`. Those that
    `Method.estimator_only` names are left out.
    """
    types = types_of(method)
    for name, parameter in inspect.signature(method).parameters.items():
        if name not in method.estimator_only:
            yield name, types[name], parameter.default
