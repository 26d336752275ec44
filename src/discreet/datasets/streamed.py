"""Any number of invented households, written as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from discreet.datasets.households import make_households
from discreet.errors import BadInput, nearest
from discreet.threads import spread

# Rows made at once.
_BLOCK = 500_000


def write_households(
    path: str | Path,
    n: int,
    seed: int = 0,
    null_rate: float = 0.0,
    columns: Sequence[str] | None = None,
) -> None:
    """Write a survey of any number of people who live in households to a Parquet file.

    Parameters
    ----------
    path : str or Path
    n : int
        Number of rows.
    seed : int, default=0
    null_rate : float, default=0.0
        As in `make_households`; this writes one such table after another. Household ids are
        numbered within each of them.
    columns : sequence of str, optional
        The columns to write; all by default.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "people.parquet")
    >>> write_households(path, 1000, columns=["age", "income"])
    >>> parquet.read_table(path).shape
    (1000, 2)
    """
    if n < 1:
        raise BadInput(f"n is {n}, but a table needs at least 1 row: give a positive number.")
    known = make_households(1).column_names
    names = list(columns) if columns is not None else known
    for name in names:
        if name not in known:
            raise BadInput(f"there is no column '{name}'; {nearest(name, known)}")

    def make(block: int) -> pa.Table:
        rows = min(_BLOCK, n - block * _BLOCK)
        # Far apart, so that no other seed of a user's gives the same block.
        return make_households(rows, seed + (block << 32), null_rate).select(names)

    writer = None
    for table in spread(make, ((block,) for block in range(-(-n // _BLOCK)))):
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
