"""What pydantic finds wrong with a recipe, in one sentence."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from discreet.errors import nearest


def say(error: ValidationError, model: type[BaseModel]) -> str:
    """Describe the first problem in one sentence; the model's fields are the known keys."""
    problems = error.errors()
    # An unknown key is often the misspelt name of one that is missing.
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    if first["type"] == "value_error":
        # Below a key such as a column's name, say whose value it is.
        inside = [str(part) for part in first["loc"][1:] if isinstance(part, str)]
        return ": ".join([*inside[:1], str(first["ctx"]["error"])])
    path = [part for part in first["loc"] if isinstance(part, str)]
    inner = model
    for part in path[:-1]:
        inner = _model_of(inner, part) or inner
    if first["type"] == "extra_forbidden":
        for field in model.model_fields if len(path) == 1 else ():
            below = _model_of(model, field)
            if below is not None and path[0] in below.model_fields:
                return f"'{path[0]}' belongs under [{field}]"
        return f"unknown key '{'.'.join(path)}'; {nearest(path[-1], inner.model_fields)}"
    if first["type"] == "missing":
        return f"'{'.'.join(path)}' is missing"
    # A union complains once for each of its members, whose names end the path.
    keys = path[:2] if _model_of(model, path[0]) else path[:1]
    same = [p for p in problems if p["loc"][:1] == first["loc"][:1] and p["type"] != "missing"]
    wanted = dict.fromkeys(p["msg"].removeprefix("Input should be ") for p in same)
    return f"'{'.'.join(keys)}' should be {' or '.join(wanted)}, not {first['input']!r}"


def _model_of(model: type[BaseModel], field: str) -> type[BaseModel] | None:
    """Return the model that a field holds, if it holds one."""
    known = model.model_fields.get(field)
    kind: Any = known.annotation if known else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None
