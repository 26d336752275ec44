"""Text in an order that somebody lists."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.table.columns import kind_of


def places_in(order: Sequence[str], column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the place of each value in a list that has them all; nulls stay null.

    Examples
    --------
    >>> pain = pa.chunked_array([["mild", None, "none"]])
    >>> places_in(["none", "mild", "severe"], pain, "pain").to_pylist()
    [1, None, 0]
    """
    kind = kind_of(column.type)
    if kind not in ("text", "categorical", "ordered"):
        raise BadInput(f"order lists text, but column '{name}' is {kind}; leave order out")
    if len(set(order)) < len(order):
        raise BadInput(f"the order of '{name}' lists a value twice; list each once")
    text = column.cast(pa.string())
    places = pc.index_in(text, value_set=pa.array(order, pa.string()))
    strange = pc.unique(text.filter(pc.and_(places.is_null(), text.is_valid()))).to_pylist()
    if strange:
        more = f" and {len(strange) - 1:,} more of its values" if len(strange) > 1 else ""
        raise BadInput(
            f"the order of '{name}' does not list {min(strange)!r}{more}; list all of them, from "
            "one end to the other"
        )
    return places.cast(pa.int64())
