"""Set people aside before any step: the control group of attacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from discreet.check.holdout import HOLDOUT, PLACE, draw, groups_of, held_rows, without_rows
from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.private import private_file
from discreet.recipe.recipe import Recipe, needed_columns

# With fewer, an attack on those who are set aside tells nothing.
FEWEST = 10


@dataclass(frozen=True)
class Aside:
    """A table without those who are set aside."""

    frame: Frame
    holdout: pa.Table | None = None  # who they are, in the columns that are released or used
    told: Mapping[str, Any] | None = None  # what the log says of them
    rows: np.ndarray | None = None  # their numbers, in order

    def given(self, table: Any) -> Any:
        """Return a user's own table without them."""
        if self.rows is None or not isinstance(self.frame, MemoryFrame):
            return table
        frame = nw.from_native(table, eager_only=True)
        return frame[np.setdiff1d(np.arange(len(frame)), self.rows)].to_native()


def set_aside(original: Frame, recipe: Recipe) -> Aside:
    """Set aside the share of a table that the recipe asks for, if it does; it has its seed."""
    if recipe.holdout is None:
        return Aside(original)
    # Columns that are not there, or have no role, are refused as without a holdout.
    recipe.roles.assign(original.schema.names)
    _refuse(original, recipe)
    roles = recipe.roles
    what = "households" if roles.household else "units" if roles.unit else "records"
    drawn = draw(original, recipe)
    if drawn.groups < FEWEST:
        raise BadInput(
            f"holdout = {recipe.holdout:g} would set aside {drawn.groups} of {drawn.of:,} {what}, "
            f"and an attack needs {FEWEST} or more to compare with; {_remedy(drawn.of)}"
        )
    gone = held_rows(original, recipe, drawn.up_to)
    names = needed_columns(recipe, original.schema.names)
    held = original.fold(partial(_chosen, gone), _stacked, names)
    held = held.replace_schema_metadata(None).cast(
        pa.schema([field.remove_metadata() for field in held.schema])
    )
    if original.positioned and PLACE not in names:
        held = held.add_column(0, PLACE, pa.array(gone, pa.int64()))
    told = {
        "share": recipe.holdout,
        "records": len(gone),
        "of": original.num_rows,
        "groups": drawn.groups,
        "of_groups": drawn.of,
        "what": what,
        "up_to": drawn.up_to,
    }
    return Aside(without_rows(original, gone), held, told, gone)


def save_holdout(holdout: pa.Table | None, folder: Path) -> None:
    """Write those who were set aside, if some were, for their owner alone."""
    if holdout is not None:
        with private_file(folder / HOLDOUT) as file:
            parquet.write_table(holdout, file, compression="zstd")


def _remedy(groups: int) -> str:
    if groups < 2 * FEWEST:
        return "leave the holdout out"
    least = -(-1000 * FEWEST // groups) / 1000
    return f"give {min(least, 0.5):g} or more, or leave the holdout out"


def _refuse(original: Frame, recipe: Recipe) -> None:
    """Refuse tables of which nothing says again which rows were set aside, or who belongs to whom.

    A row without a group, or of a table without groups, is known by its key or its place.
    """
    groups = [name for _, name in groups_of(recipe)]
    unplaced = not original.positioned and recipe.roles.row_key is None
    if unplaced and (not groups or original.nulls(groups[-1])):
        which = f"rows where '{groups[-1]}' is null" if groups else "the rows of this table"
        raise BadInput(
            f"a holdout is drawn by row, but {which} have no fixed place; give a column with a "
            "value of its own in each row the role row_key"
        )
    if len(groups) < 2:
        return
    household, unit = groups
    pairs = original.counts([unit, household])[0]
    if len(pairs) - pairs[unit].null_count > len(pc.unique(pairs[unit]).drop_null()):
        raise BadInput(
            f"a holdout has whole households and whole units, but some '{unit}' is in several "
            f"'{household}'; leave the holdout out, or one of the two roles"
        )


def _chosen(gone: np.ndarray, piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return piece.filter(pa.array(np.isin(rows, gone)))


def _stacked(one: pa.Table, other: pa.Table) -> pa.Table:
    return pa.concat_tables([one, other])
