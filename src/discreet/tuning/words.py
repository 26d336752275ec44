"""What a person would say of a level of a hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.table.words import parts_of


def level_words(spec: Mapping[str, Any], level: int, groups: int, name: str) -> str:
    """Say what a level of a hierarchy makes of a column's values.

    Examples
    --------
    >>> level_words({"kind": "intervals", "widths": [5, 10]}, 2, 8, "age")
    'in 10-year groups'
    >>> level_words({"kind": "dates", "levels": ["month", "year"]}, 1, 24, "born")
    'by month'
    >>> level_words({"kind": "table", "rows": []}, 1, 4, "region")
    'in 4 broader groups'
    """
    kind = spec["kind"]
    if kind == "intervals" and spec.get("widths"):
        width = f"{spec['widths'][level - 1]:g}"
        unit = "-year groups" if "age" in parts_of(name) else " wide intervals"
        return f"in {width}{unit}"
    if kind == "dates":
        return f"by {spec['levels'][level - 1]}"
    if kind == "prefix" and spec.get("stars"):
        hidden = spec["stars"][level - 1]
        side = {"right": "last", "left": "first"}[spec.get("side", "right")]
        return (
            f"without the {side} {hidden} characters"
            if hidden > 1
            else (f"without the {side} character")
        )
    return f"in {groups} broader groups"
