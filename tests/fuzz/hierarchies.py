"""Random hierarchies that fit a column, as a recipe has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc


def hierarchy_for(draw: Any, name: str) -> dict[str, Any]:
    """Return a hierarchy for a column of the table that is drawn for."""
    kind, column = draw.made.kinds[name], draw.made.table[name]
    if draw.chance(0.2):
        return {"kind": draw.one("auto", "flat")}
    if kind == "number":
        return _for_numbers(draw, column)
    if kind == "date":
        levels = ["day", "month", "quarter", "year", "decade"]
        chosen = sorted(draw.some(levels, 1, 3), key=levels.index)
        return {"kind": "dates", "levels": chosen}
    if kind == "code":
        return draw.one({"kind": "prefix"}, {"kind": "prefix", "stars": [1, 3]})
    values = sorted(map(str, pc.unique(column.drop_null()).to_pylist()))
    if kind == "category" and len(values) > 2:
        half = len(values) // 2
        tree = {"warm": values[:half], "cold": {"dark": values[half:-1], "light": values[-1:]}}
        return draw.one({"kind": "groups", "tree": tree}, {"kind": "order", "sizes": [2, 4]})
    return {"kind": "flat"}


def _for_numbers(draw: Any, column: Any) -> dict[str, Any]:
    values = column.drop_null().cast("float64").to_numpy()
    span = float(values.max() - values.min()) or 1.0
    width = 10.0 ** np.floor(np.log10(span / 5))
    widths = [
        int(width) * times if width >= 1 else float(width * times)
        for times in (1, 2, 10)[: draw.one(1, 2, 3)]
    ]
    made: dict[str, Any] = {"kind": "intervals", "widths": widths}
    if draw.chance(0.2):
        made["upper"] = float(np.floor(values.mean() / width) * width)
    if draw.chance(0.2):
        cuts = sorted({float(np.round(q, 3)) for q in np.quantile(values, [0.25, 0.5, 0.75])})
        made = {"kind": "intervals", "cuts": [cuts]}
    return made
