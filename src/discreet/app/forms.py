"""Forms for steps, made from the signatures and docstrings of the methods.

Whatever a method takes is a field: a new method, or parameter, appears by itself.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from discreet import docstrings
from discreet.docstrings import documented
from discreet.errors import BadInput

# Parameters that another page is for.
ELSEWHERE = {"hierarchies": "hierarchies"}
_FLAG, _CHOICE, _NUMBER, _TEXT, _TOML, _MODELS, _LINK = (
    "flag", "choice", "number", "text", "toml", "models", "link",
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Attributes
    ----------
    name : str
    kind : str
        `flag`, `choice`, `number`, `text`, `toml` (any value as TOML), `models` (a list of privacy
        models), or `link` (another page is for it).
    choices : tuple of str
    default : Any
    needed : bool
    help : str
        What its docstring says.
    """

    name: str
    kind: str
    choices: tuple[str, ...]
    default: Any
    needed: bool
    help: str

    def shown(self, value: Any) -> str:
        """Write a value for the field; nothing where there is none.

        Text is quoted where a field would lose some of it, such as a blank at its start.
        """
        if value is None:
            return ""
        plain = isinstance(value, str) and value.isprintable() and value == value.strip() != ""
        return value if plain and self.kind != _TOML and value[0] != '"' else toml(value)

    def read(self, text: str) -> Any:
        """Read what was typed, or say what is wrong with it."""
        text = text.strip()
        if self.kind == _FLAG:
            return text == "true"
        if self.kind == _CHOICE or (self.kind == _TEXT and text[:1] != '"'):
            return text
        try:
            return tomllib.loads(f"x = {text}")["x"]
        except (ValueError, RecursionError):  # Also too long a number, or too deep a list.
            pass
        if self.kind == _NUMBER or text[:1] in "[{":
            wanted = "number" if self.kind == _NUMBER else "value"
            raise BadInput(f"{self.name}: '{text}' is not a {wanted}")
        return text


@cache
def method_fields(name: str) -> tuple[Field, ...]:
    """Return the fields of a method's steps.

    Examples
    --------
    >>> [(one.name, one.kind, one.default) for one in method_fields("oma")][:2]
    [('k', 'toml', None), ('objective', 'choice', 'l2')]
    """
    from discreet.registry import find_method, parameters

    method = find_method(name)
    said = documented(method)
    return tuple(
        _field(parameter, kind, default, said.get(parameter, ""))
        for parameter, kind, default in parameters(method)
    )


@cache
def model_fields(name: str) -> tuple[Field, ...]:
    """Return the fields of a privacy model.

    Examples
    --------
    >>> [one.name for one in model_fields("k-anonymity")]
    ['k']
    """
    from discreet.generalization.models import MODELS
    from discreet.parameters import types_of

    if name not in MODELS:
        raise BadInput(f"there is no privacy model '{name}'")
    model = MODELS[name]
    kinds, said = types_of(model), documented(model)
    defaults = inspect.signature(model).parameters
    return tuple(
        _field(one.name, kinds[one.name], defaults[one.name].default, said.get(one.name, ""))
        for one in fields(model)
        if one.init
    )


def in_short(name: str) -> str:
    """Say in one sentence what a method does."""
    from discreet.registry import find_method

    return docstrings.in_short(find_method(name))


def read_step(method: str, given: Mapping[str, Sequence[str]], before: Mapping[str, Any]) -> Any:
    """Make a step of what a form holds; what has no field there stays as it was `before`."""
    chosen = given.get("columns", [])
    # The order stays: some methods decide by it.
    kept = [name for name in before.get("columns", []) if name in chosen]
    step: dict[str, Any] = {"method": method, "columns": list(dict.fromkeys([*kept, *chosen]))}
    for one in method_fields(method):
        if one.kind == _LINK:
            found = before.get(one.name) or {}
            if left := {name: tree for name, tree in found.items() if name in chosen}:
                step[one.name] = left
        elif one.kind == _MODELS:
            if models := list(_models(one.name, given)):
                step[one.name] = models
        else:
            step |= _read(one, given.get(one.name, [""])[-1])
    for name in ("promise", "precision"):
        if name in before:
            step[name] = before[name]
    return step


def _models(name: str, given: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Read the privacy models of a form: fields such as `privacy.0.k`."""
    numbers = {key.split(".")[1] for key in given if key.startswith(f"{name}.")}
    for number in sorted(numbers, key=lambda number: whole(name, number)):
        chosen = given.get(f"{name}.{number}.model", [""])[-1]
        if not chosen:
            continue
        model: dict[str, Any] = {"model": chosen}
        for one in model_fields(chosen):
            model |= _read(one, given.get(f"{name}.{number}.{one.name}", [""])[-1])
        yield model


def whole(name: str, text: str) -> int:
    """Read a whole number of a form.

    Examples
    --------
    >>> whole("number", "2")
    2
    """
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{name}: a whole number is needed") from None


def _read(field: Field, text: str) -> dict[str, Any]:
    """Return what a field says, and nothing where it is left as it holds anyhow.

    A default that is spelt out stays: `min_count = 1` allows what nothing does that is not said.
    """
    if not text.strip() and field.kind != _FLAG:
        return {}
    value = field.read(text)
    return {} if value == field.default and field.kind == _FLAG else {field.name: value}


def _field(name: str, kind: Any, default: Any, said: str) -> Field:
    needed = default is inspect.Parameter.empty
    default = None if needed else default
    if name in ELSEWHERE:
        return Field(name, _LINK, (), default, False, said)
    shape, choices = _shape(kind)
    return Field(name, shape, choices, default, needed, said)


def _shape(kind: Any) -> tuple[str, tuple[str, ...]]:
    """Return what kind of field suits a type."""
    parts = [one for one in _alternatives(kind) if one is not type(None)]
    if parts == [bool]:
        return _FLAG, ()
    if parts and all(typing.get_origin(one) is Literal for one in parts):
        return _CHOICE, tuple(str(x) for one in parts for x in typing.get_args(one))
    if parts and all(one in (int, float) for one in parts):
        return _NUMBER, ()
    if parts == [str]:
        return _TEXT, ()
    from discreet.generalization.models import PrivacyModel

    if any(typing.get_args(one)[:1] == (PrivacyModel,) for one in parts):
        return _MODELS, ()
    return _TOML, ()


def _alternatives(kind: Any) -> list[Any]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [inner for one in typing.get_args(kind) for inner in _alternatives(one)]
    return [kind]


def toml(value: Any) -> str:
    """Write a value as TOML in one line.

    Examples
    --------
    >>> toml({"age": [1, 2], "post code": True})
    '{ age = [1, 2], "post code" = true }'
    """
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(str(key))} = {toml(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(one) for one in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """Write text as JSON has it, and TOML too, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
