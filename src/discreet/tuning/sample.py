"""A sample of a table's records, to search with: whole units, spread over the strata."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines import Frame
from discreet.errors import BadInput
from discreet.recipe.roles import Roles
from discreet.table.classes import encode
from discreet.table.columns import float_values, kind_of
from discreet.table.keys import group_numbers

# Where rows are not in memory, so many times the sample is fetched, and the sample taken from it.
_FETCHED = 5
# Columns that strata are made of: numbers in quarters, and labels that are not too many.
_BINS, _MOST_LABELS, _MOST_COLUMNS = 4, 20, 6
# Rows, and for each the number of its unit.
_Drawn = tuple[pa.Table, np.ndarray]


def stratified_sample(frame: Frame, roles: Roles, rows: int = 20_000, seed: int = 0) -> pa.Table:
    """Return about so many rows of a table, in its order; all of a smaller one.

    Parameters
    ----------
    frame : Frame
        In memory, on DuckDB or on Spark.
    roles : Roles
        Rows of a household, or else of a unit, are all in the sample or none is. Strata are
        combinations of the quasi and confidential columns, of numbers in quarters.
    rows : int
        How many, about.
    seed : int
        The same seed gives the same sample.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> from discreet.engines.choice import open_engine
    >>> table = pa.table({"sex": ["f", "m", "m", "m"] * 100, "id": range(400)})
    >>> with open_engine("memory") as engine:
    ...     sample = stratified_sample(engine.read(table, list), Roles(quasi=["sex"]), rows=40)
    >>> sample["sex"].to_pylist().count("f"), len(sample)
    (10, 40)
    """
    names = frame.schema.names
    by = next((one for one in (roles.household, roles.unit) if one in names), None)
    part = 1.0 if frame.whole else min(1.0, _FETCHED * rows / max(1, frame.num_rows))
    if frame.num_rows <= rows:
        part = 1.0
    drawn = partial(_drawn, seed, by, frame.positioned, part)
    table, numbers = frame.fold(drawn, _stacked, names)
    if not frame.positioned:
        # The engine's order is another one each time.
        order = np.lexsort([_of_cells(table), numbers])
        table, numbers = table.take(pa.array(order)), numbers[order]
        if by is None:
            # Rows that are alike are still several.
            numbers = mixed(np.arange(len(table), dtype=np.uint64), seed)
    if len(table) <= rows:
        return table
    # Each unit is where its first row is.
    units, first, unit_of = np.unique(numbers, return_index=True, return_inverse=True)
    wanted = max(1, round(rows * len(units) / len(table)))
    heads = table.take(pa.array(first))
    keys = [units, *_strata(heads, roles)[::-1]]
    order = np.lexsort(keys)
    # Every m-th unit in the order of the strata, from a place that the seed decides.
    start = np.random.default_rng(seed).random()
    places = ((np.arange(wanted) + start) * len(units) / wanted).astype(np.int64)
    taken = np.zeros(len(units), dtype=bool)
    taken[order[places]] = True
    return table.filter(pa.array(taken[unit_of]))


def _drawn(
    seed: int,
    by: str | None,
    positioned: bool,
    part: float,
    piece: pa.Table,
    rows: np.ndarray,
) -> _Drawn:
    """Draw units by a hash of theirs; where rows have no number of their own, of what they hold."""
    alone = rows.astype(np.uint64) if positioned else _of_cells(piece)
    numbers = mixed(alone, seed)
    if by is not None:
        there = pc.is_valid(piece[by]).to_numpy(zero_copy_only=False)
        numbers[there] = mixed(group_numbers(piece[by].filter(pa.array(there))), seed + 1)
    if part >= 1:
        return piece, numbers
    taken = numbers / 2.0**64 < part
    return piece.filter(pa.array(taken)), numbers[taken]


def _of_cells(piece: pa.Table) -> np.ndarray:
    found = np.zeros(len(piece), np.uint64)
    for place, name in enumerate(piece.column_names):
        column = pc.fill_null(piece[name].cast(pa.string()), "\0")
        found = mixed(found ^ group_numbers(column), place)
    return found


def mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return numbers that look like chance, the same for the same ones."""
    with np.errstate(over="ignore"):
        # SplitMix64.
        z = numbers + np.uint64(0x9E3779B97F4A7C15) * np.uint64((2 * seed + 1) % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: np.ndarray = z ^ (z >> np.uint64(31))
    return found


def _stacked(one: _Drawn, other: _Drawn) -> _Drawn:
    return pa.concat_tables([one[0], other[0]]), np.append(one[1], other[1])


def _strata(heads: pa.Table, roles: Roles) -> list[np.ndarray]:
    """Return codes of the columns that strata are made of, those of the fewest values first."""
    found = []
    for name in (*roles.quasi, *roles.confidential):
        if name in heads.column_names and (codes := _codes(heads[name], name)) is not None:
            found.append(codes)
    found.sort(key=lambda codes: len(np.unique(codes)))
    return found[:_MOST_COLUMNS]


def _codes(column: pa.ChunkedArray, name: str) -> np.ndarray | None:
    """Return a column's labels as numbers, its numbers by quarters; None where they are many."""
    try:
        codes, size = encode(column, name)
        if size <= _MOST_LABELS:
            return codes
        if kind_of(column.type) != "numeric":
            return None
        values = float_values(column, name)
    except BadInput:
        return None
    cuts = np.nanquantile(values, np.arange(1, _BINS) / _BINS)
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
