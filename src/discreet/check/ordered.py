"""Steps that sort all values, applied again on an engine: the sorts are its own.

What becomes of a cell is derived by `check.replay`, which shares nothing with the methods. A
cell's number is its row's times the number of columns, plus that of its column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Plan, StepPlan
from discreet.check.replay import Piece, computed, is_unknown, replay
from discreet.check.replay.regression import pooled, porop_cells
from discreet.draws import Draws
from discreet.engines import Frame
from discreet.engines.frame import joined
from discreet.table import Numbers
from discreet.table.keys import row_numbers

# Cells that are looked at together, and rows that are put together from them, at least.
_STRETCH, _ROWS = 1 << 18, 1 << 12
# Some rows and their numbers -> the step's columns as they were before it; can be pickled.
Before = Callable[[pa.Table, np.ndarray], dict[str, np.ndarray]]
# The first and the last place of chunks: which chunk it is, and the value there.
_Ends = list[tuple[np.ndarray, np.ndarray]]


def with_computed(
    original: Frame,
    plan: Plan,
    seed: int,
    sources: Mapping[str, Numbers],
    columns: Sequence[str],
    key: str | None = None,
) -> Frame:
    """Add to a table what those steps of a plan that sort all values make of its cells.

    The result has the columns that are named, all that the steps use, and two float64 columns more
    for each that is treated, as `replay.computed` names them: the number before it is rounded, and
    how far off another arithmetic may be. It is the original itself where the plan has no such
    step. Draws, and equal values where the plan says so, go by the column `key`.
    """
    frame, unknown = original, set[str]()
    for place, step in enumerate(plan["steps"]):
        if step.get("joint", {}).get("kind", "") != "porop" or unknown & set(step["columns"]):
            unknown |= set(step["columns"]) if is_unknown(step, unknown) else set()
            continue
        columns = frame.schema.names if frame is not original else list(columns)
        names, so_far = list(step["columns"]), plan | {"steps": plan["steps"][:place]}
        before = partial(_before, so_far, seed, sources, names, key)
        found = _by_row(_by_cell(frame, step, seed, columns, key, before), names)
        added = [pa.field(c, pa.float64()) for name in names for c in computed(step["step"], name)]
        schema = pa.schema([*(frame.schema.field(name) for name in columns), *added])
        made = frame.map_pairs(found, partial(joined, schema), schema, columns)
        found.remove()
        if frame is not original:
            frame.remove()
        frame = made
    return frame


def _by_cell(
    frame: Frame,
    step: StepPlan,
    seed: int,
    columns: Sequence[str],
    key: str | None,
    before: Before,
) -> Frame:
    """Return what becomes of each cell, and how far off it may be."""
    keys = [] if key is None else [pa.field("key", pa.uint64())]
    schema = pa.schema([pa.field("value", pa.float64()), *keys])
    cells = frame.flat_map(partial(_cells, step["columns"], key, before), schema, columns)
    by = ["value", "key"] if keys and step["joint"].get("ties") == "key" else ["value"]
    first = cells.ranked(by, was="cell", stretch=_STRETCH)
    cells.remove()
    n, k = first.num_rows, step["joint"]["k"]
    _refuse_plan(step["joint"], n)
    lows, highs = first.fold(partial(_ends, n, k), _both, ["value"])
    low, high = _in_order(lows), _in_order(highs)
    schema = pa.schema([pa.field("share", pa.float64()), *keys, pa.field("cell", pa.int64())])
    shares = first.map(partial(_shares, k, low, high), schema)
    second = shares.ranked(["share"], was="place", stretch=_STRETCH)
    first.remove()
    shares.remove()
    schema = pa.schema([("value", pa.float64()), ("slack", pa.float64())])
    made = second.flat_map(partial(_released, step, seed, n, low, high), schema)
    second.remove()
    return made


def _by_row(cells: Frame, names: Sequence[str]) -> Frame:
    """Put cells side by side: of each column its value and its slack."""
    width = len(names)
    arranged = cells.arranged(width * max(_ROWS, _STRETCH // width))
    cells.remove()
    schema = pa.schema([(f"{what} {i}", pa.float64()) for i in range(width) for what in ("v", "s")])
    made = arranged.flat_map(partial(_rows, schema), schema)
    arranged.remove()
    return made


def _refuse_plan(joint: dict[str, Any], n: int) -> None:
    """Refuse a plan for more or fewer cells than there are."""
    chunks = -(-n // joint["second_k"])
    coefficients = int((np.broadcast_to(joint["degrees"], chunks) + 1).sum())
    for what, wanted in (("deviations", chunks), ("coefficients", coefficients)):
        if len(joint[what]) != wanted:
            raise ValueError(f"{len(joint[what])} {what}, not {wanted}")


# What goes to the rows


def _before(
    plan: Plan,
    seed: int,
    sources: Mapping[str, Numbers],
    names: list[str],
    key: str | None,
    piece: pa.Table,
    rows: np.ndarray,
) -> dict[str, np.ndarray]:
    """Apply the steps before to some rows."""
    _, columns = replay(plan, seed, piece, key, Piece(rows, sources))
    return {name: columns[name] for name in names}


def _cells(
    plans: dict[str, Any], key: str | None, before: Before, piece: pa.Table, rows: np.ndarray
) -> tuple[pa.Table, np.ndarray]:
    columns = before(piece, rows)
    values, cells, keys = [], [], []
    for i, (name, own) in enumerate(plans.items()):
        (there,) = np.nonzero(~np.isnan(columns[name]))
        values.append(pooled(own, columns[name][there]) + 0.0)
        cells.append(rows[there] * len(plans) + i)
        if key is not None:
            keys.append(row_numbers(piece[key], key)[there])
    found = {"value": np.concatenate(values)}
    found |= {"key": np.concatenate(keys)} if keys else {}
    return pa.table(found), np.concatenate(cells)


def _ends(n: int, k: int, piece: pa.Table, places: np.ndarray) -> tuple[_Ends, _Ends]:
    chunk, position = np.divmod(places, k)
    lowest, highest = position == 0, (position == k - 1) | (places == n - 1)
    values = piece["value"].to_numpy()
    return [(chunk[lowest], values[lowest])], [(chunk[highest], values[highest])]


def _both(one: tuple[_Ends, _Ends], other: tuple[_Ends, _Ends]) -> tuple[_Ends, _Ends]:
    for some, others in zip(one, other, strict=True):
        some.extend(others)
    return one


def _in_order(ends: _Ends) -> np.ndarray:
    chunks, values = (np.concatenate(part) for part in zip(*ends, strict=True))
    found = np.full(len(chunks), np.nan)
    found[chunks] = values
    return found


def _shares(
    k: int, low: np.ndarray, high: np.ndarray, piece: pa.Table, places: np.ndarray
) -> pa.Table:
    chunk = places // k
    width = high[chunk] - low[chunk]
    # The same operations as the method's: equal values must stay equal, or their order changes.
    share = np.zeros(len(places))
    np.divide(piece["value"].to_numpy() - low[chunk], width, out=share, where=width > 0)
    return piece.set_column(0, "share", pa.array(share))


def _released(
    step: StepPlan,
    seed: int,
    n: int,
    low: np.ndarray,
    high: np.ndarray,
    piece: pa.Table,
    places: np.ndarray,
) -> tuple[pa.Table, np.ndarray]:
    cells = piece["cell"].to_numpy()
    row, column = np.divmod(cells, len(step["columns"]))
    if "key" in piece.column_names:
        row = piece["key"].to_numpy()
    chunk = piece["place"].to_numpy() // step["joint"]["k"]
    ends = low[chunk], high[chunk] - low[chunk]
    draws = partial(Draws, seed, step["step"])
    share = piece["share"].to_numpy()
    new, slack = porop_cells(step, n, places, share, *ends, row, column, draws)
    return pa.table({"value": new, "slack": slack}), cells


def _rows(schema: pa.Schema, piece: pa.Table, cells: np.ndarray) -> tuple[pa.Table, np.ndarray]:
    row, column = np.divmod(cells, len(schema) // 2)
    rows, place = np.unique(row, return_inverse=True)
    made = np.full((len(schema), len(rows)), np.nan)
    made[2 * column, place] = piece["value"].to_numpy()
    made[2 * column + 1, place] = piece["slack"].to_numpy()
    arrays = [pa.array(values, from_pandas=True) for values in made]
    return pa.table(arrays, schema=schema), rows
