"""The JSON schema of a recipe, with what the docstrings say of each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from discreet.docstrings import documented, in_short
from discreet.parameters import rules_of
from discreet.registry import methods

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def described(model: type[BaseModel], step: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a recipe's model; `step` is the base of the models of its steps."""
    made = model.model_json_schema(schema_generator=_generator(step))
    return {"$schema": DIALECT, **made, "title": "A recipe of discreet"}


def _generator(step: type[BaseModel]) -> type[GenerateJsonSchema]:
    class Described(GenerateJsonSchema):
        """Describes each key by the docstring of what it is a key of."""

        def model_schema(self, schema: Any) -> JsonSchemaValue:
            made, owner = super().model_schema(schema), schema["cls"]
            if not issubclass(owner, step):
                return _told(made, in_short(owner), documented(owner), {})
            method = methods()[made["properties"]["method"]["const"]]
            said = documented(step) | documented(method) | {"method": in_short(method)}
            kind: Any = method
            return _told(made, in_short(method), said, rules_of(kind))

        def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
            made, owner = super().dataclass_schema(schema), schema["cls"]
            said = documented(owner) | {"model": in_short(owner)}
            # To Python it is given by the class, and so has a default; a recipe has to name it.
            made["required"] = ["model", *made.get("required", ())]
            return _told(made, in_short(owner), said, rules_of(owner))

    return Described


def _told(
    made: JsonSchemaValue, short: str, said: Mapping[str, str], rules: Mapping[str, Any]
) -> JsonSchemaValue:
    made["description"] = short
    made["additionalProperties"] = False  # which not every version of pydantic says
    for name, one in made.get("properties", {}).items():
        one.pop("title", None)
        _without_null(one)
        if name in rules:
            _bound(one, rules[name].bounds)
        if name in said:
            one["description"] = said[name]
    return made


def _without_null(one: dict[str, Any]) -> None:
    """TOML has no null: a key is left out instead."""
    if one.get("default", ...) is None:
        del one["default"]
    kinds = [kind for kind in one.get("anyOf", ()) if kind != {"type": "null"}]
    if kinds and len(kinds) == 1:
        del one["anyOf"]
        one.update(kinds[0])
    elif kinds:
        one["anyOf"] = kinds


def _bound(one: dict[str, Any], bounds: Mapping[str, float]) -> None:
    """Add the bounds of numbers, wherever a value may be one: also by column, and in a list."""
    if one.get("type") in ("integer", "number"):
        one.update(bounds)
    inside = [*one.get("anyOf", ()), one.get("items"), one.get("additionalProperties")]
    for kind in inside:
        if isinstance(kind, dict):
            _bound(kind, bounds)
