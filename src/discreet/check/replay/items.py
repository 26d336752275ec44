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
        cells: list[Any] = []
        for cell in columns.arrow(name).to_pylist():
            labels = sorted({becomes[item] for item in split(cell, separator)} - {None})
            if cell is None or (separator is not None and not labels):
                cells.append(None)
            else:
                cells.append(labels if separator is None else separator.join(labels))
        kind = pa.string() if separator is not None else pa.list_(pa.string())
        new[name] = pa.chunked_array([pa.array(cells, kind)])
    return new
