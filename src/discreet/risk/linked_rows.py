"""Linked rows: how many units stand out by several of their rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.measure import NOBODY, Entry, Facts, Figure, Measure
from discreet.table.classes import check_columns, classes_of, encode, encode_columns
from discreet.table.linked import Itemsets
from discreet.table.native import to_arrow


@dataclass(frozen=True)
class LinkedRows:
    """Units that stand out, for an intruder who knows `known` of a unit's rows (None: all).

    `unique` and `under_5` are the shares of units with rows that no other unit, or fewer than four
    others have all of.
    """

    units: int
    known: int | None
    unique: float
    under_5: float


@overload
def linked_rows(
    table: Any, unit: str, columns: Sequence[str], m: int | None = ..., *, detail: Literal[True]
) -> LinkedRows: ...
@overload
def linked_rows(
    table: Any, unit: str, columns: Sequence[str], m: int | None = ..., *, detail: bool = ...
) -> float: ...
def linked_rows(
    table: Any,
    unit: str,
    columns: Sequence[str],
    m: int | None = None,
    *,
    detail: bool = False,
) -> Any:
    """Share of units that an intruder finds who knows some of their rows.

    A unit is found if it is the only one to have some m of its distinct tuples in the columns; or,
    if all may be known, if no other has the same set of them. Rows of nothing but `*` or nulls
    tell nothing.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
    unit : str
        The column that says which rows belong together.
    columns : sequence of str
        What the intruder knows of a row, usually the quasi columns.
    m : int, optional
        How many rows of a unit the intruder knows at most; by default all of them.
    detail : bool
        Return `LinkedRows`, which has the share of units under 5 as well.

    Examples
    --------
    Two patients were in the north and in the south, and another one in both as well as in the
    east. Who knows a stay in the east knows who it was.

    >>> table = pa.table({
    ...     "patient": [1, 1, 2, 2, 3, 3, 3],
    ...     "ward": ["north", "south", "north", "south", "north", "south", "east"],
    ... })
    >>> linked_rows(table, "patient", ["ward"], m=2, detail=True)
    LinkedRows(units=3, known=2, unique=0.333..., under_5=1.0)
    """
    if m is not None and (isinstance(m, bool) or not isinstance(m, int) or m < 1):
        raise BadInput(f"m must be a whole number of 1 or more, not {m!r}")
    table = to_arrow(table)
    check_columns(table, [unit, *columns])
    units, size = encode(table[unit], unit)
    if (units < 0).any():
        raise BadInput(f"'{unit}', which says what rows belong together, holds nulls")
    items, _ = classes_of(*encode_columns(table, columns))
    items[_says_nothing(table, columns)] = -1
    sets = Itemsets.of(items, units)
    unique, under_5 = (_standing_out(sets, k, m) / max(size, 1) for k in (2, 5))
    return LinkedRows(size, m, unique, under_5) if detail else unique


def _says_nothing(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Mask the rows that have nothing but stars, or nothing but nulls, in some columns."""
    stars, nulls = np.full(table.num_rows, True), np.full(table.num_rows, True)
    for name in columns:
        column = table[name]
        nulls &= column.is_null(nan_is_null=True).to_numpy()
        if not pa.types.is_string(column.type) and not pa.types.is_dictionary(column.type):
            stars[:] = False
        elif stars.any():
            text = column.cast(pa.string())
            stars &= pc.fill_null(pc.equal(text, "*"), False).to_numpy()
    return stars | nulls


def _standing_out(sets: Itemsets, k: int, m: int | None) -> int:
    """Count the units with m rows, or a set of rows, that fewer than k units have."""
    if m is not None:
        return len(np.unique(sets.failed(k, m).holders))
    return int(sets.units_of_sets[sets.units_of_sets < k].sum())


def _take(t: Facts) -> Entry:
    unit, m = t.recipe.linked, t.recipe.known_rows
    assert unit is not None
    rows = t.rows()
    before, after = (
        linked_rows(side.append_column(unit, rows.before[unit]), unit, t.quasi, m, detail=True)
        for side in (rows.before.select(t.quasi), rows.after.select(t.quasi))
    )
    return {
        "columns": t.quasi,
        "unit": unit,
        "known": m,
        "before": asdict(before),
        "after": asdict(after),
    }


LINKED_ROWS = Measure(
    "linked_rows",
    "units that some of their rows together tell apart, where rows can be seen to belong together",
    _take,
    [
        Figure("units that stand out", "unique", "%", guide=NOBODY, headline=True,
               reading="share of units with rows that no other unit has all of"),
        Figure("units under 5", "under_5", "%", guide=NOBODY,
               reading="share of units with rows that fewer than five units have all of"),
    ],
    needs=["quasi columns", "linked rows"],
    by_frequency=True,
    intruder="matching several rows of one unit; beside the original table",
)  # fmt: skip
