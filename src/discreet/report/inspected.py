"""A first look at a table, column by column, for terminal and notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = ("column", "kind", "distinct", "nulls", "unique", "range", "probably", "why")


def look_row(look: Mapping[str, Any], rows: int, values: bool = True) -> tuple[str, ...]:
    """Lay out a column, as `ColumnLook.to_dict` has it; without its values there is no range."""
    guess = look["guess"]
    notes = [guess["reason"]]
    if look["dates"]:
        notes.append(f"dates as text, {look['dates']}")
    if look["missing"] and values:
        listed = ", ".join(f"'{v}' ({why})" for v, why in list(look["missing"].items())[:3])
        notes.append(f"missing? {listed}")
    span = "" if look["smallest"] is None else f"{look['smallest']} to {look['largest']}"
    return (
        look["name"],
        look["kind"],
        f"{look['distinct']:,}",
        f"{look['nulls'] / rows:.1%}",
        f"{look['unique']:.1%}",
        *([span] if values else []),
        f"{guess['role']}{'' if guess['sure'] else '?'}",
        "; ".join(notes),
    )


def key_rows(keys: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Lay out keys with the share of the records that each singles out."""
    return [
        (" x ".join(key["columns"]), f"{key['singled_out']:.1%}{' (estimated)' * key['estimated']}")
        for key in keys
    ]
