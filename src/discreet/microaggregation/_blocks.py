"""The algorithms on the parts of a table, cut into blocks where they are large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.kernels.microaggregation import cbfs, mdav, vmdav
from discreet.microaggregation._space import Space, count_units, units_of
from discreet.threads import over_ranges

# Past this many records exact neighbours take long: some 0.5 s for 100,000 records of 5 columns,
# five times as long for 13, and growing faster than n.
_EXACT = {6: 250_000, 10: 100_000}
_EXACT_OF_MANY_COLUMNS = 25_000
# Records on which blocks are compared with none.
SAMPLE = 20_000

Algorithm = Callable[[Space, np.ndarray], tuple[np.ndarray, int]]


def algorithm(name: str, k: int, gamma: float) -> Algorithm:
    """Return the function that groups some rows: their groups from 0, and how many."""

    def run(space: Space, rows: np.ndarray) -> tuple[np.ndarray, int]:
        labels, units = np.empty(len(rows), dtype=np.int64), units_of(space.units, rows)
        if units is None:
            units = labels[:0]
        if name == "vmdav":
            return labels, vmdav(*space.of(rows), k, float(gamma), labels, units)
        return labels, (mdav if name == "mdav" else cbfs)(*space.of(rows), k, labels, units)

    return run


def exact_up_to(space: Space) -> int:
    """Return how many records are grouped without blocks, unless a user says otherwise."""
    columns = space.points.shape[1]
    return next((n for most, n in _EXACT.items() if columns <= most), _EXACT_OF_MANY_COLUMNS)


def group(
    space: Space, parts: list[np.ndarray], run: Algorithm, k: int, block_size: int
) -> tuple[np.ndarray, int]:
    """Group the rows of each part; -1 for rows of none. Also give the number of blocks, if any."""
    blocks = [
        block for rows in parts for block in cut(space.points, rows, k, block_size, space.units)
    ]
    # The largest first, so that no thread is left alone with one at the end.
    order = sorted(range(len(blocks)), key=lambda b: -len(blocks[b]))
    found = over_ranges(
        lambda start, stop: [run(space, blocks[b]) for b in order[start:stop]],
        len(blocks),
        chunk=1 + len(blocks) // 256,
    )
    results = dict(zip(order, (result for some in found for result in some), strict=True))
    labels, groups = np.full(len(space.points), -1, dtype=np.int64), 0
    for b, rows in enumerate(blocks):
        own, count = results[b]
        labels[rows] = own + groups
        groups += count
    return labels, len(blocks) if len(blocks) > len(parts) else 0


def cut(
    points: np.ndarray, rows: np.ndarray, k: int, block_size: int, units: np.ndarray | None = None
) -> list[np.ndarray]:
    """Cut rows into blocks of at most `block_size`, as far as multiples of k allow.

    Each cut is across the column that spreads most, at a multiple of k records. Blocks keep the
    order of the rows. Where k counts units, there is no cut that leaves fewer on one side.
    """
    count = -(-len(rows) // max(block_size, 2 * k))
    if count < 2:
        return [rows]
    spread = points[rows].var(axis=0)
    values = points[rows, np.argmax(spread)]
    left = len(rows) * (count // 2) // count // k * k
    # Of the values at the cut, the lowest rows go to the left.
    at = np.partition(values, left)[left]
    first = values < at
    first[np.flatnonzero(values == at)[: left - int(first.sum())]] = True
    halves = (rows[first], rows[~first])
    if min(count_units(units, half) for half in halves) < k:
        return [rows]
    return [block for half in halves for block in cut(points, half, k, block_size, units)]
