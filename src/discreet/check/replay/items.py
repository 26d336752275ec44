"""Plans of sets of items, applied again: each item becomes what its label is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from discreet.check.evidence import StepPlan
from discreet.check.items import split
from discreet.draws import Draws


def items(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the released columns; what a set has left comes in the order of its text."""
    new = {}
    for name, plan in step["columns"].items():
        separator = plan["separator"]
        becomes = dict(zip(plan["items"], plan["labels"], strict=True))
        cells = []
        for cell in columns.arrow(name).to_pylist():
            labels = sorted({becomes[item] for item in split(cell, separator)} - {None})
            cells.append(separator.join(labels) if labels else None)
        new[name] = pa.chunked_array([pa.array(cells, pa.string())])
    return new
