"""Releases in two tables: how they are written, and what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from discreet.check.folders import is_file_target
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.flow.applying import LEFT_OUT, ORDER
from discreet.recipe.recipe import Recipe
from discreet.table.files import format_of, write_table
from discreet.table.labels import carried, take_rows
from discreet.table.two_tables import SECOND


def refuse_alone(recipe: Recipe, target: Path) -> None:
    """Refuse to write two tables into one file."""
    if recipe.apart and is_file_target(target):
        raise BadInput(
            f"anatomy releases two tables, which do not go into one file; give a folder instead of "
            f"{target}"
        )


def only(
    finish: Callable[..., pa.Table], names: Sequence[str], piece: pa.Table, rows: np.ndarray
) -> pa.Table:
    """Finish some columns."""
    return finish(piece, rows).select(list(names))


def in_groups(treated: MemoryFrame, by: str) -> np.ndarray:
    """Return the rows of the second table: by group, and there in the drawn order of all rows.

    Values were put in random order within groups before, so that which comes first tells nothing.
    """
    kept = np.flatnonzero(~treated.table[LEFT_OUT].to_numpy())
    groups = treated.table[by].to_numpy()[kept]
    return kept[np.lexsort((treated.table[ORDER].to_numpy()[kept], groups))]


def write_second(
    treated: MemoryFrame, by: str, finish: Callable[..., pa.Table], path: Path
) -> None:
    """Write the second table."""
    made = take_rows(finish(treated.table, treated.rows), in_groups(treated, by))
    write_table(carried(made, format_of(path)), path)


def with_groups(table: Any, groups: pa.ChunkedArray, by: str) -> Any:
    """Put the groups' numbers beside the columns of a pandas, polars or pyarrow table."""
    if isinstance(table, pa.Table):
        return table.append_column(by, groups)
    frame = nw.from_native(table, eager_only=True)
    if frame.implementation.is_pandas():
        import pandas as pd

        # Whole numbers, with nulls too.
        numbers = pd.array(groups.to_pylist(), dtype="Int64")
        return table.assign(**{by: numbers if groups.null_count else groups.to_numpy()})
    numbers = nw.DataFrame.from_arrow(pa.table({by: groups}), backend=frame.implementation)
    return frame.with_columns(numbers[by]).to_native()


def two_tables(table: Any, recipe: Recipe, treated: MemoryFrame) -> dict[str, Any]:
    """Split a table into the first, in its own order, and the second."""
    (by,) = recipe.added
    names = [by, *recipe.apart]
    order = in_groups(treated, by)
    if isinstance(table, pa.Table):
        second = table.select(names).take(pa.array(order))
        return {"table": table.drop_columns(recipe.apart), SECOND: second}
    frame = nw.from_native(table, eager_only=True)
    rows = nw.maybe_reset_index(frame.select(names)[order])
    return {"table": frame.drop(recipe.apart).to_native(), SECOND: rows.to_native()}
