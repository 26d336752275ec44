"""Rows in pieces that hold whole stretches of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from discreet.engines.frame import Numbered


def whole_stretches(pieces: Iterable[Numbered], stretch: int) -> Iterator[Numbered]:
    """Cut pieces, whose numbers ascend, where number // stretch changes, and only there.

    Examples
    --------
    >>> pieces = [(pa.table({"x": rows}), rows) for rows in (np.arange(4), np.arange(4, 7))]
    >>> [rows.tolist() for _, rows in whole_stretches(pieces, 3)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    held: list[Numbered] = []
    for table, rows in pieces:
        here = rows // stretch
        cuts = [0, *(np.flatnonzero(np.diff(here)) + 1), len(rows)] if len(rows) else []
        for start, stop in pairwise(cuts):
            if held and held[0][1][0] // stretch != here[start]:
                yield _together(held)
                held = []
            held.append((table.slice(start, stop - start), rows[start:stop]))
    if held:
        yield _together(held)


def _together(held: list[Numbered]) -> Numbered:
    tables, rows = zip(*held, strict=True)
    return pa.concat_tables(tables), np.concatenate(rows)
