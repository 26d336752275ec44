"""Units that are found by all of their rows, where a release shows which rows belong together.

Rows that tell little each may together tell all: four noisy incomes of a person are a fingerprint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from discreet.kernels.found_units import own_unit_is_best
from discreet.risk._found import Sheet, Told
from discreet.risk._tells import Cells
from discreet.risk.informed import chance_in, columns_of
from discreet.table.classes import encode
from discreet.threads import over_ranges

# Pairs of rows that are compared at most where nothing can be given up early, and the fewest rows
# that are looked for.
_PAIRS, _FEWEST = 4_000_000, 300


class Units:
    """The units of a table, and some of them to look for.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The unit of each row.
    known_rows : int, optional
        How many rows of a unit the intruder knows; all by default.

    Attributes
    ----------
    rows : ndarray
        The rows of the units that are looked for, one after the other.
    asked : int
        How many of these units there are.
    """

    def __init__(self, column: pa.ChunkedArray, known_rows: int | None = None) -> None:
        codes, _ = encode(column, "unit")
        # A null belongs to nobody else.
        codes = np.where(codes < 0, codes.max(initial=0) + 1 + np.arange(len(codes)), codes)
        _, codes = np.unique(codes, return_inverse=True)
        self.some = known_rows is not None
        self.members = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes)
        self.starts = np.append(0, np.cumsum(sizes))
        self.count = len(sizes)
        draw = np.random.default_rng(0)
        order = draw.permutation(self.count)
        known = [self._known(unit, known_rows, draw) for unit in order]
        ends = np.cumsum([len(rows) for rows in known])
        most = max(_FEWEST, _PAIRS // max(1, len(codes)))
        self.asked = max(1, int(np.searchsorted(ends, most, side="right")))
        self.own = order[: self.asked]
        self.rows = np.concatenate(known[: self.asked])
        self.begins = np.append(0, ends[: self.asked])

    def _known(self, unit: int, most: int | None, draw: np.random.Generator) -> np.ndarray:
        rows = self.members[self.starts[unit] : self.starts[unit + 1]]
        return rows if most is None or len(rows) <= most else draw.permutation(rows)[:most]

    def hits(self, sheet: Sheet, told: Sequence[Told], most: int | None = None) -> np.ndarray:
        """Return the chance with which the first so many units are found, by a sheet of rows."""
        n = self.asked if most is None else min(most, self.asked)
        hits, written = np.zeros(n), sheet.written(told)
        given = self.begins, self.own, self.starts, self.members
        over_ranges(lambda a, b: own_unit_is_best(*written, given, self.some, a, b, hits), n, 64)
        return hits


def linked_units(
    before: pa.Table,
    after: pa.Table,
    units: Units,
    known: Sequence[str],
    drawn: Collection[str],
    reruns: Sequence[pa.Table],
) -> np.ndarray:
    """Return the chance with which units are found; see `informed_linkage`."""
    columns = columns_of(before, after, list(reruns), known) if known else {}
    chance = chance_in(columns, drawn, bool(reruns))
    n = before.num_rows
    run, row = np.divmod(np.random.default_rng(1).permutation(n * max(1, len(reruns))), n)
    cells = Cells(run + bool(reruns), row)
    sheet = Sheet(units.rows)
    told = [one.drawn(cells) if name in chance else one.settled() for name, one in columns.items()]
    return units.hits(sheet, [sheet.add(one) for one in told])
