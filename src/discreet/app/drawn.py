"""Rows that are drawn from Parquet files too large to be counted in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from discreet.engines.duckdb import DuckDBFrame

# What rows are drawn by: the same ones are drawn each time.
_SEED = 27


def draw(
    path: Path, columns: Sequence[str], whole: str | None, rows: int, memory: str | None = None
) -> tuple[pa.Table, np.ndarray]:
    """Draw about so many rows at random, each with the same chance, and return their numbers too.

    Rows that have the same value of the column `whole` are all drawn, or none is.
    """
    with _opened(path, (), memory) as frame:
        by = frame.row if whole is None else f"c{columns.index(whole)}"
        found = frame.session.table(
            f"SELECT * FROM ({frame.sql(columns)}) WHERE {_is_drawn(by, rows, frame)} "
            f"ORDER BY {frame.row}"
        )
    numbers = found[frame.row].to_numpy()
    return found.drop_columns([frame.row]).rename_columns(list(columns)), numbers


def sizes_among_all(
    path: Path,
    keys: Sequence[str],
    unit: str | None,
    rows: int,
    null_markers: Sequence[str] = (),
    memory: str | None = None,
) -> np.ndarray:
    """Return how many of all rows have the keys of each row that `draw` draws.

    Where there is a column of units, of each unit that is drawn: how many units are in the smallest
    of the classes that its rows are in.
    """
    with _opened(path, null_markers, memory) as frame:
        columns = [*keys, *([] if unit is None else [unit])]
        # 64 bits tell classes apart as well as the keys do, and are compared quicker.
        classes = f"hash({', '.join(f'c{i}' for i in range(len(keys)))})"
        by = frame.row if unit is None else f"c{len(keys)}"
        every = f"SELECT {classes} AS class, {by} AS unit FROM ({frame.sql(columns)})"
        found = frame.session.table(
            f"WITH drawn AS MATERIALIZED "
            f"(SELECT * FROM ({every}) WHERE {_is_drawn('unit', rows, frame)}), "
            f"wanted AS (SELECT DISTINCT class FROM drawn), "
            f"sizes AS (SELECT class, count({'*' if unit is None else 'DISTINCT unit'}) AS size "
            f"FROM ({every}) SEMI JOIN wanted USING (class) GROUP BY class) "
            f"SELECT min(size) AS size FROM drawn JOIN sizes USING (class) GROUP BY unit"
        )
    sizes: np.ndarray = found["size"].to_numpy()
    return sizes


def _is_drawn(by: str, rows: int, frame: DuckDBFrame) -> str:
    below = min(2**64 - 1, rows * 2**64 // max(1, frame.num_rows))
    return f"hash({by}, {_SEED}) <= {below}::UBIGINT"


@contextmanager
def _opened(path: Path, null_markers: Sequence[str], memory: str | None) -> Iterator[DuckDBFrame]:
    from discreet.engines.choice import open_engine
    from discreet.engines.duckdb import DuckDBFrame

    with open_engine("duckdb", memory=memory) as engine:
        frame = engine.read(path, list, null_markers)
        assert isinstance(frame, DuckDBFrame)
        yield frame
