"""The JSON schema of a hierarchy in a recipe, for editors that complete and check."""

from __future__ import annotations

from typing import Any

from discreet.generalization._dates import PERIODS

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _kind(kind: str, needed: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **properties},
        "required": ["kind", *needed],
        "additionalProperties": False,
    }


_WHOLE = _list({"type": "integer", "minimum": 1})
JSON_SCHEMA: dict[str, Any] = {
    "title": "Hierarchy",
    "description": "What the values of a column become at each level.",
    "anyOf": [
        {"type": "string", "description": "The path of a CSV file."},
        _kind("csv", ["path"], path=_TEXT, sep=_TEXT),
        _kind("table", ["rows"], rows=_list(_list({"type": ["string", "number", "boolean"]}))),
        _kind("groups", ["tree"], tree={"type": "object"}),
        _kind(
            "intervals",
            [],
            widths=_list({"type": "number", "exclusiveMinimum": 0}, minItems=1),
            cuts=_list(_list(_NUMBER, minItems=1), minItems=1),
            origin=_NUMBER,
            lower=_NUMBER,
            upper=_NUMBER,
            whole={"type": "boolean"},
        ),
        _kind("prefix", [], stars=_WHOLE, side={"enum": ["right", "left"]}, keep=_WHOLE),
        _kind("dates", [], levels=_list({"enum": list(PERIODS)}, minItems=1), format=_TEXT),
        _kind("order", ["sizes"], sizes=_list({"type": "integer", "minimum": 2}), values=_list({})),
        _kind("flat", []),
        _kind("auto", []),
    ],
}
