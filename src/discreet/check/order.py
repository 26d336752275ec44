"""The order of the written rows: that of their draws, which nobody can tell without the seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding, finding
from discreet.draws import Draws
from discreet.table.files import parquet_files

ORDERED = "the rows are in the random order of the seed"


def row_order(evidence: Evidence | None) -> list[Finding]:
    """Verify that the row map lists the original's rows by their draws.

    In the order of the original, or of any of its columns, a file would tell who is who.
    """
    if evidence is None or evidence.row_map is None:
        return []
    draws = Draws(evidence.order_seed, "row order")
    last, place = np.uint64(0), 0
    for rows in _pieces(evidence):
        words = draws.words(rows)
        early = words < np.concatenate(([last], words[:-1]))
        if early.any():
            row = place + int(np.argmax(early)) + 1
            return [finding(ORDERED, f"row {row} comes after one that it should come before", "")]
        last, place = words[-1], place + len(rows)
    return [finding(ORDERED, None, f"{place:,} rows")]


def _pieces(evidence: Evidence) -> Iterator[np.ndarray]:
    path = evidence.row_map
    assert path is not None
    for file in [path] if path.is_file() else parquet_files(path):
        for batch in parquet.ParquetFile(file).iter_batches(1 << 20, columns=["original_row"]):
            if len(batch):
                rows = batch["original_row"].cast(pa.int64(), safe=False)
                yield rows.fill_null(-1).to_numpy()
