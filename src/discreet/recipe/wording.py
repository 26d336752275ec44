"""What pydantic finds wrong with a recipe, in a sentence each."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError

from discreet.errors import nearest

# Where something is in a recipe: keys of tables and places in lists.
Where = tuple[str | int, ...]


class Misfit(ValueError):
    """Something that does not fit the rest of a recipe, with the path of what to look at."""

    def __init__(self, said: str, *path: str | int) -> None:
        super().__init__(said)
        self.path: Where = path


# What pydantic asks for, in the words of a recipe.
_PLAIN = {
    "a valid list": "a list in [ ]",
    "a valid dictionary": "a table in { }",
    "a valid string": "text in quotes",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
}
# What usually is wrong where TOML is refused with such words.
_USUALLY = {
    "Invalid value": 'text goes in straight quotes, "like this"; true and false in lower case',
    "Illegal character '\\n'": "a closing quote is missing",
    "Cannot overwrite a value": "the key is there twice",
    "Cannot declare": "a heading in [ ] may be there once, one in [[ ]] often",
}


def not_toml(said: str) -> str:
    """Say why a text is not TOML, and what usually is wrong then."""
    usually = [hint for words, hint in _USUALLY.items() if said.startswith(words)]
    return "; ".join([said, *usually])


def wanted(problem: Any) -> str:
    """Say what a value should have been."""
    asked = problem["msg"].removeprefix("Input should be ")
    return next((asked.replace(*pair) for pair in _PLAIN.items() if pair[0] in asked), asked)


def say(error: ValidationError, model: type[BaseModel]) -> str:
    """Describe the first problem in one sentence; the model's fields are the known keys."""
    return told(error, model)[0][1]


def told(error: ValidationError, model: type[BaseModel]) -> list[tuple[Where, str]]:
    """Describe each problem in one sentence, after the path of where it is.

    Unknown keys come first, because one is often the misspelt name of another that is missing.
    """
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for problem in error.errors():
        kind, loc = problem["type"], problem["loc"]
        own = kind in ("extra_forbidden", "value_error", "missing")
        # A union complains once for each of its members, whose names end the path.
        groups.setdefault((kind, *loc) if own else ("", *_shown(loc, model)), []).append(problem)
    groups = dict(sorted(groups.items(), key=lambda group: group[0][0] != "extra_forbidden"))
    exact = [_names(key[1:], model) for key in groups if key[0]]
    found: list[tuple[Where, str]] = []
    for key, problems in groups.items():
        if key[0] == "" and any(names[: len(key) - 1] == [*key[1:]] for names in exact):
            continue
        if key[0] == "missing" and any(f"did you mean '{key[-1]}'" in one for _, one in found):
            continue
        found.append((_path(problems[0]), _sentence(problems, model)))
    return found


def _names(loc: Iterable[str | int], model: type[BaseModel]) -> list[str]:
    """Return the keys of a path, without the places in lists and the names of a union's members."""
    names = [part for part in loc if isinstance(part, str)]
    known = model.model_fields.get(names[0]) if names else None
    members = [getattr(one, "__name__", "") for one in typing.get_args(known and known.annotation)]
    return [name for place, name in enumerate(names) if place != 1 or name not in members]


def _shown(loc: Iterable[str | int], model: type[BaseModel]) -> list[str]:
    """Return the keys that a message names: two where the first holds a model of its own."""
    names = _names(loc, model)
    return names[:2] if _model_of(model, names[0]) else names[:1]


def _path(problem: Any) -> Where:
    raised = problem.get("ctx", {}).get("error")
    inner = raised.path if isinstance(raised, Misfit) else ()
    return (*problem["loc"], *inner)


def _sentence(problems: list[Any], model: type[BaseModel]) -> str:
    first = problems[0]
    path = _names(first["loc"], model)
    if first["type"] == "value_error":
        # Below a key such as a column's name, say whose value it is.
        said = str(first["ctx"]["error"])
        return ": ".join([*(name for name in path[1:2] if not said.startswith(name)), said])
    inner = model
    for part in path[:-1]:
        inner = _member_of(inner, part) or inner
    if first["type"] == "extra_forbidden":
        for field in model.model_fields if len(path) == 1 else ():
            below = _model_of(model, field)
            if below is not None and path[0] in below.model_fields:
                return f"'{path[0]}' belongs under [{field}]"
        return f"unknown key '{'.'.join(path)}'; {nearest(path[-1], inner.model_fields)}"
    if first["type"] == "missing":
        return f"'{'.'.join(path)}' is missing"
    kinds = dict.fromkeys(wanted(problem) for problem in problems)
    keys = ".".join(_shown(first["loc"], model))
    return f"'{keys}' should be {' or '.join(kinds)}, not {first['input']!r}"


def _model_of(model: type[BaseModel], field: str) -> type[BaseModel] | None:
    """Return the model that a field holds, if it holds nothing else."""
    known = model.model_fields.get(field)
    return _as_model(known.annotation) if known else None


def _member_of(model: type[BaseModel], field: str) -> type[BaseModel] | None:
    """Return the model that a field may hold."""
    known = model.model_fields.get(field)
    kinds = (known.annotation, *typing.get_args(known.annotation)) if known else ()
    return next((found for kind in kinds if (found := _as_model(kind))), None)


def _as_model(kind: Any) -> type[BaseModel] | None:
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
