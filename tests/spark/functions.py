"""Functions of tests that workers import, some of which fail once."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.draws import Draws

TREATED = pa.schema(
    {
        "key": pa.int64(),
        "label": pa.dictionary(pa.int32(), pa.string()),
        "out": pa.bool_(),
        "order": pa.uint64(),
    }
)


def treated(piece: pa.Table, rows: np.ndarray) -> pa.Table:
    words = Draws(11, "row order").words(rows)
    label = pa.array([f"town {row % 7}" if row % 5 else None for row in rows.tolist()])
    return pa.table({"key": piece["key"], "label": label, "out": rows % 4 == 2, "order": words})


def nobody(piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return treated(piece, rows).set_column(2, "out", pa.array(np.ones(len(rows), dtype=bool)))


def released(piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return piece.select(["key", "label"])


def fail_once(flag: Path) -> None:
    """Raise the first time that some task gets here; only one creates the flag."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return
    raise RuntimeError("this task was unlucky")


def treated_at_second_try(flag: Path, piece: pa.Table, rows: np.ndarray) -> pa.Table:
    fail_once(flag)
    return treated(piece, rows)


def listed_at_second_try(flag: Path, piece: pa.Table, rows: np.ndarray) -> list:
    fail_once(flag)
    return rows.tolist()


def released_at_second_try(flag: Path, piece: pa.Table, rows: np.ndarray) -> Any:
    """Fail when half of a file is there already: its schema lets it begin, and no cells follow."""
    found = released(piece, rows)
    try:
        fail_once(flag)
    except RuntimeError:
        return SimpleNamespace(schema=found.schema)
    return found


def always_fails(piece: pa.Table, rows: np.ndarray) -> list:
    raise ZeroDivisionError("no way")
