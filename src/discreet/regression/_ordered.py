"""PoROP on pieces: sums of stretches of sorted values, and what becomes of rows and cells.

A cell is a row's number times the number of columns, plus the column's: the order in which
columns side by side are read row by row. All functions here can be sent to where the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.kernels.gram import curves, misses, project
from discreet.outcome import AsFloat, Key, Rounder
from discreet.plan import ColumnPlan, JointPlan
from discreet.table.moments import Moments, joined, moments_of
from discreet.threads import over_ranges
from discreet.unchanged import SAME

# Where the sums of a stretch go, and the sums.
Sums = tuple[int, np.ndarray]
# From the sorted values of a stretch and its first place.
OfStretch = Callable[[np.ndarray, int], Sums]
# Calls a function on each stretch; results in order.
Over = Callable[[OfStretch], list[Sums]]
# Chunks and their lowest values, chunks and their highest.
Extremes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# Rows that are put together from their cells at a time, at least.
_ROWS = 1 << 12


# Fitting: in memory too


def ends_of(degrees: np.ndarray, chunks: int) -> np.ndarray:
    """Tell where the coefficients of each chunk end."""
    return np.cumsum(np.broadcast_to(degrees + 1, chunks))


def sum_of_products(n: int, k: int, ends: np.ndarray, values: np.ndarray, start: int) -> Sums:
    """Sum polynomials times values, for the chunks that are fitted on any of a stretch."""
    first, stop = fitted(n, k, start, len(values))
    begin = int(ends[first - 1]) if first else 0
    totals = np.zeros(ends[stop - 1] - begin)
    project(values, start, n, k, ends, first, stop, totals)
    return begin, totals


def sum_of_squares(
    n: int, k: int, ends: np.ndarray, coefficients: np.ndarray, values: np.ndarray, start: int
) -> Sums:
    """Sum the squares of what the fits miss in a stretch."""
    first, stop = fitted(n, k, start, len(values))
    squares = np.zeros(stop - first)
    misses(values, start, n, k, ends, first, stop, coefficients, squares)
    return first, squares


def summed(parts: list[Sums], size: int) -> np.ndarray:
    """Add the sums of stretches, in their order: so the last bit does not depend on who summed."""
    totals = np.zeros(size)
    for start, sums in parts:
        totals[start : start + len(sums)] += sums
    return totals


def fitted(n: int, k: int, start: int, m: int) -> tuple[int, int]:
    """Name the first of the chunks that are fitted on any of m values, and the first behind."""
    # The last chunk is fitted on the last k values, even those that are another's.
    return start // k, -(-n // k) if start + m > n - k else (start + m - 1) // k + 1


def in_memory(values: np.ndarray, stretch: int) -> Over:
    """Go through sorted values, several stretches at a time."""

    def over(work: OfStretch) -> list[Sums]:
        return over_ranges(lambda i, j: work(values[i:j], i), len(values), stretch)

    return over


def on_engine(order: Frame) -> Over:
    """Go through the shares of a table in the second order."""
    return lambda work: order.fold(partial(_of_shares, work), _together, ["share"])


# Columns in their own units, and brought to [0, 1] where that is asked for


def scaled(plan: ColumnPlan, values: np.ndarray) -> np.ndarray:
    """Bring a column to [0, 1] by its ends, if its plan has them; equal values become 0."""
    if "width" not in plan:
        return values
    width = plan["width"]
    return (values - plan["low"]) / width if width > 0 else values - plan["low"]


def unscaled(plan: ColumnPlan, values: np.ndarray) -> np.ndarray:
    """Bring a column back into its own units."""
    return plan["low"] + plan["width"] * values if "width" in plan else values


def floors_of(plans: dict[str, ColumnPlan]) -> np.ndarray:
    """Return the least noise of each column, in the units in which all are pooled."""
    return np.array([plan["noise_floor"] / (plan.get("width") or 1.0) for plan in plans.values()])


def scaled_float(
    as_float: AsFloat, plans: dict[str, ColumnPlan], name: str, cells: pa.ChunkedArray
) -> np.ndarray:
    """Read a column as numbers, scaled."""
    return scaled(plans[name], as_float(name, cells))


# The whole way, on an engine


def describe(frame: Frame, columns: Sequence[str], as_float: AsFloat) -> dict[str, Moments]:
    """Take the moments of each column by itself."""
    work = partial(_moments, as_float, list(columns))
    found = frame.fold(work, _join_moments, list(columns))
    for name, column in zip(columns, found, strict=True):
        if not column.n[0]:
            raise BadInput(f"column '{name}' holds only nulls")
    return dict(zip(columns, found, strict=True))


def second_order(
    frame: Frame,
    columns: Sequence[str],
    as_float: AsFloat,
    key: Key | None,
    n: int,
    k: int,
    stretch: int,
) -> tuple[Frame, np.ndarray, np.ndarray]:
    """Sort all cells, bring each chunk to [0, 1], sort again.

    Returns
    -------
    order : Frame
        By place in the second order: share, key if there is one, cell, place in the first order.
    lows, widths : ndarray of float64
        Of the first order's chunks.
    """
    keys = [] if key is None else [pa.field("key", pa.uint64())]
    schema = pa.schema([pa.field("value", pa.float64()), *keys])
    read = [*columns, *([] if key is None else [key[0]])]
    cells = frame.flat_map(partial(_cells_of, as_float, list(columns), key), schema, read)
    # Rows without a fixed place would have cells of the same value in another order another time.
    by = ["value"] if key is None or frame.positioned else ["value", "key"]
    by_value = cells.ranked(by, was="cell", stretch=stretch)
    cells.remove()
    ends = by_value.fold(partial(_extremes, n, k), _together, ["value"])
    lows, widths = _lows_and_widths(ends)
    schema = pa.schema([pa.field("share", pa.float64()), *keys, pa.field("cell", pa.int64())])
    shares = by_value.map(partial(_shares, k, lows, widths), schema)
    order = shares.ranked(["share"], was="place", stretch=stretch)
    by_value.remove()
    shares.remove()
    return order, lows, widths


def released_rows(order: Frame, release: Releasing, columns: Sequence[str], stretch: int) -> Frame:
    """Release the cells, and put them back into rows; rows without any are left out."""
    cells = order.flat_map(release, pa.schema({"value": pa.float64()}))
    order.remove()
    by_cell = cells.arranged(len(columns) * max(_ROWS, stretch // len(columns)))
    cells.remove()
    schema = pa.schema([pa.field(name, pa.float64()) for name in columns])
    rows = by_cell.flat_map(partial(_rows_of, list(columns)), schema)
    by_cell.remove()
    return rows


def count_unchanged(frame: Frame, new: Frame, found: dict[str, Moments], as_float: AsFloat) -> int:
    """Count the values that moved by next to nothing."""
    most = {name: float(SAME * (column.high[0] - column.low[0])) for name, column in found.items()}
    return frame.fold_pairs(new, partial(_same, as_float, most), add, list(found), list(found))


# From rows to cells and back


def _cells_of(
    as_float: AsFloat,
    columns: Sequence[str],
    key: Key | None,
    piece: pa.Table,
    rows: np.ndarray,
) -> tuple[pa.Table, np.ndarray]:
    """Return the cells of some rows that hold a value."""
    # Adding 0.0 turns -0.0 into 0.0, whose order among equal values is another otherwise.
    values = np.column_stack([as_float(name, piece[name]) for name in columns]).ravel() + 0.0
    cells = np.add.outer(rows * len(columns), np.arange(len(columns))).ravel()
    there = ~np.isnan(values)
    found = {"value": values[there]}
    if key is not None:
        name, numbers = key
        found["key"] = np.repeat(numbers(piece[name]), len(columns))[there]
    return pa.table(found), cells[there]


def _rows_of(
    columns: Sequence[str], piece: pa.Table, cells: np.ndarray
) -> tuple[pa.Table, np.ndarray]:
    """Return the rows of some cells, which are all that these rows have."""
    row, column = np.divmod(cells, len(columns))
    rows, place = np.unique(row, return_inverse=True)
    made = np.full((len(columns), len(rows)), np.nan)
    made[column, place] = piece["value"].to_numpy()
    arrays = [pa.array(values, from_pandas=True) for values in made]
    return pa.table(arrays, names=list(columns)), rows


def _moments(
    as_float: AsFloat, columns: Sequence[str], piece: pa.Table, rows: np.ndarray
) -> list[Moments]:
    """Take the moments of each column by itself."""
    # What overflows is found in the ends, and refused there.
    with np.errstate(over="ignore", invalid="ignore"):
        return [moments_of([as_float(name, piece[name])]) for name in columns]


def _join_moments(some: list[Moments], others: list[Moments]) -> list[Moments]:
    """Put the moments of two pieces together."""
    with np.errstate(over="ignore", invalid="ignore"):
        return [joined(pair) for pair in zip(some, others, strict=True)]


def _same(
    as_float: AsFloat,
    most: dict[str, float],
    piece: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    new: pa.Table,
) -> int:
    """Count the cells that moved by no more than `most` of their column."""
    same = 0
    for name in most:
        moved = np.abs(new[name].to_numpy() - as_float(name, piece[name])[there])
        same += int((moved <= most[name]).sum())
    return same


# The first order


def _extremes(n: int, k: int, piece: pa.Table, places: np.ndarray) -> list[Extremes]:
    """Pick the ends of chunks from sorted values."""
    first = places % k == 0
    last = (places % k == k - 1) | (places == n - 1)
    values = piece["value"].to_numpy()
    return [(places[first] // k, values[first], places[last] // k, values[last])]


def _lows_and_widths(found: list[Extremes]) -> tuple[np.ndarray, np.ndarray]:
    """Put the ends of chunks in their order."""
    chunks, lows, of_highs, highs = (np.concatenate(part) for part in zip(*found, strict=True))
    lows, highs = lows[np.argsort(chunks)], highs[np.argsort(of_highs)]
    return lows, highs - lows


def _shares(
    k: int, lows: np.ndarray, widths: np.ndarray, piece: pa.Table, places: np.ndarray
) -> pa.Table:
    """Bring sorted values to [0, 1] by the ends of their chunks; equal ones become 0."""
    chunk = places // k
    width = widths[chunk]
    shares = np.zeros(len(places))
    np.divide(piece["value"].to_numpy() - lows[chunk], width, out=shares, where=width > 0)
    return piece.set_column(0, "share", pa.array(shares))


# The second order


def _of_shares(work: OfStretch, piece: pa.Table, places: np.ndarray) -> list[Sums]:
    """Call a function on a stretch of the second order."""
    # A copy, because compiled code has another version for arrays that cannot be written to.
    return [work(piece["share"].to_numpy().copy(), int(places[0]))]


def _together(some: list[Any], others: list[Any]) -> list[Any]:
    """Put lists together."""
    some.extend(others)
    return some


@dataclass(frozen=True)
class Releasing:
    """What it takes to release cells of the second order."""

    n: int  # cells in all
    joint: JointPlan
    plans: dict[str, ColumnPlan]
    lows: np.ndarray  # of the first order's chunks
    widths: np.ndarray
    draws: list[Draws]  # of each column; empty without noise
    rounded: Rounder

    def __call__(self, piece: pa.Table, places: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Release a stretch; the formula is that of `kernels.gram.release_chunks`."""
        joint, k = self.joint, self.joint["second_k"]
        ends = ends_of(joint["degrees"], len(joint["deviations"]))
        fit = np.empty(len(places))
        curves(int(places[0]), self.n, k, ends, joint["coefficients"], fit)
        cells = piece["cell"].to_numpy()
        row, column = np.divmod(cells, len(self.plans))
        if "key" in piece.column_names:
            row = piece["key"].to_numpy()
        sd = joint["deviations"][places // k]
        if joint["noise"] == "perturbative":
            sd = np.abs(piece["share"].to_numpy() - fit)
        chunk = piece["place"].to_numpy() // joint["k"]
        floors = floors_of(self.plans)[column]
        sd = np.maximum(joint["noise_scale"] * sd * self.widths[chunk], floors)
        normal = np.zeros(len(cells))
        for i, draws in enumerate(self.draws):
            normal[column == i] = draws.normal(row[column == i])
        new = self.lows[chunk] + (self.widths[chunk] * fit + sd * normal)
        for i, (name, plan) in enumerate(self.plans.items()):
            new[column == i] = self._finished(name, plan, new[column == i])
        return pa.table({"value": new}), cells

    def _finished(self, name: str, plan: ColumnPlan, values: np.ndarray) -> np.ndarray:
        values = unscaled(plan, values)
        if "lower" in plan:
            np.clip(values, plan["lower"], plan["upper"], out=values)
        return self.rounded(name, values + 0.0)  # -0.0 is 0.0
