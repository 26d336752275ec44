"""Releases in several formats: whether all files have the same cells in the same order."""

from __future__ import annotations

from collections import Counter
from functools import partial
from operator import add
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import Evidence
from discreet.check.findings import Finding, counted, finding
from discreet.check.two_tables import read_released
from discreet.engines import Engine, Frame
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe
from discreet.table.cells import equal_cells, plain
from discreet.table.signatures import FORMATS

SAME = "the files of all formats have the same cells in the same order"


def same_in_all(
    session: Engine, path: Path, released: Frame, recipe: Recipe, evidence: Evidence
) -> list[Finding]:
    """Compare a released file with those of other formats beside it; nothing if it is the only one.

    The released frame is what was read from the path.
    """
    formats = [f for f in evidence.log["output"].get("formats", ()) if f in FORMATS.values()]
    if len(formats) < 2:
        return []
    if evidence.folder is None or path.resolve().parent != _public(evidence.folder):
        return [Finding(SAME, "not verifiable", "needs the files of the other formats beside it")]
    others = [path.with_name(f"table.{one}") for one in formats]
    others = [other for other in others if other.name != path.name]
    if session.name == "duckdb" and (strange := _beyond_duckdb(formats)):
        said = f"{strange} needs the engine memory: check it with --engine memory"
        return [Finding(SAME, "not verifiable", said)]
    problems = (_problem(session, path, other, released, recipe, evidence) for other in others)
    return [finding(SAME, next(filter(None, problems), None), ", ".join(formats))]


def _public(internal: Path) -> Path:
    return internal.resolve().parent / "public"


def _beyond_duckdb(formats: list[str]) -> str | None:
    """Name a format that DuckDB does not read."""
    return next((one for one in formats if not one.startswith(("csv", "parquet"))), None)


def _problem(
    session: Engine, path: Path, other: Path, released: Frame, recipe: Recipe, evidence: Evidence
) -> str | None:
    """Say where another file differs, if it does."""
    assert evidence.schema is not None  # What was written has one.
    if not other.exists():
        return f"{other.name} is not there"
    try:
        found = read_released(session, other, evidence.row_map, evidence.schema, recipe)
    except BadInput as error:
        return str(error)
    if found.num_rows != released.num_rows:
        rows = f"{found.num_rows:,} rows, {path.name} {released.num_rows:,}"
        return f"{other.name} has {rows}"
    names = released.schema.names
    if sorted(found.schema.names) != sorted(names):
        return f"{other.name} has other columns than {path.name}"
    differ = released.fold_pairs(found, partial(_differing, names), add, names, names)
    for name, cells in differ.items():
        many = f"{counted(cells, 'cell')} differ{'s' * (cells == 1)}"
        return f"{other.name}: column '{name}': {many} from {path.name}"
    return None


def _differing(
    names: list[str], before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> Counter[str]:
    """Count the cells that differ, by column."""
    found: Counter[str] = Counter()
    for name in names:
        was, now = (plain(table[name]) for table in (before.filter(pa.array(there)), after))
        missing = int((~there).sum())
        try:
            same = pc.sum(equal_cells(was, now.cast(was.type))).as_py() or 0
        except pa.ArrowException:
            same = 0
        found[name] = missing + len(now) - same
    return +found
