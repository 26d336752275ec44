"""Releases in two tables: read as one, with the number of each record's group."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from discreet.engines import Engine, Frame
from discreet.engines.memory import MemoryFrame, placed
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table.two_tables import joined, second_of


def read_released(
    session: Engine, table: Path, rows: Path | None, schema: pa.Schema, recipe: Recipe
) -> Frame:
    """Read a release that was written; of two tables, joined by groups."""
    first = session.released(table, rows, schema)
    if not recipe.apart:
        return first
    return read_joined(first, table, recipe, lambda path: session.released(path, None, schema))


def read_joined(
    first: Frame, table: Path, recipe: Recipe, read: Callable[[Path], Frame]
) -> MemoryFrame:
    """Put the second table beside the first, in the order of the recipe's columns if all of it."""
    path = second_of(table)
    if not path.is_file():
        raise BadInput(f"{path} is not there: the second table of a release in two tables")
    second = read(path)
    if not isinstance(first, MemoryFrame) or not isinstance(second, MemoryFrame):
        raise BadInput("a release in two tables is joined in memory; use --engine memory")
    (by,) = recipe.added
    found = joined(first.table, second.table, by)
    return placed(found, first.rows)


def parted(frame: Frame, recipe: Recipe) -> tuple[Frame, pa.ChunkedArray | None]:
    """Return a release without the column of groups, and that column; None if there is none."""
    names = [name for name in recipe.added if name in frame.schema.names]
    if not names or not isinstance(frame, MemoryFrame):
        return frame, None
    shown = MemoryFrame(frame.table.drop_columns(names), frame.rows, frame.positioned)
    if hasattr(frame, "placed"):
        whole = frame.placed
        shown.placed = MemoryFrame(whole.table.drop_columns(names), whole.rows, whole.positioned)
    return shown, frame.table[names[0]]
