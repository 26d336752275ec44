"""Files of a release, checked on an engine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from discreet.check.evidence import Evidence
from discreet.check.findings import CheckReport
from discreet.engines.choice import free_memory, memory_needed
from discreet.errors import BadInput, nearest
from discreet.recipe.reading import needed_columns
from discreet.recipe.recipe import Recipe
from discreet.table.files import format_of

CHECKING = ("auto", "memory", "duckdb")


def engine_for(engine: str, table: Path, internal: Path | None, original: Path | None) -> str:
    """Settle the engine that checks a release: the one of its log, or by the tables' sizes.

    Parameters
    ----------
    engine : {"auto", "memory", "duckdb"}
    table : Path
        The released table.
    internal : Path or None
        The internal folder.
    original : Path or None
        The table that it was made from.
    """
    if engine not in CHECKING:
        raise BadInput(f"a check has no engine '{engine}'; {nearest(engine, CHECKING)}")
    files = [path for path in (table, original) if path is not None]
    if engine != "auto":
        return engine
    if internal is not None and _made_on(internal) in ("duckdb", "spark"):
        return "duckdb"
    known = all(path.is_dir() or format_of(path).startswith(("csv", "parquet")) for path in files)
    fits = sum(memory_needed(path) for path in files) <= free_memory()
    return "memory" if fits or not known else "duckdb"


def _made_on(internal: Path) -> str | None:
    try:
        log = json.loads((internal / "log.json").read_text(encoding="utf-8"))
        return str(log.get("engine", "memory"))
    except (OSError, ValueError, AttributeError):
        return None  # Whoever reads it says what is wrong with it.


def check_files(
    table: Path,
    recipe: Recipe,
    internal: Path | None,
    original: Path | None,
    *,
    memory: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
    tell: Callable[[str], None] = lambda what: None,
) -> CheckReport:
    """Verify what the files of a release promise, on DuckDB.

    Parameters
    ----------
    table : Path
        The released file, or folder of Parquet files.
    recipe : Recipe
    internal : Path or None
        The internal folder.
    original : Path or None
        The file that it was made from.
    memory : str, optional
        DuckDB's limit, such as "4GB".
    dialect : mapping, optional
        How the original is written, where it is a CSV.
    tell : callable
        Is told what is under way.
    """
    from discreet.check.frames import check_frames
    from discreet.engines.duckdb import Session
    from discreet.engines.released import released_frame
    from discreet.engines.sources import duckdb_frame

    evidence = None if internal is None else Evidence.load(internal)
    with (
        tempfile.TemporaryDirectory(prefix="discreet-") as folder,
        Session(Path(folder), memory) as session,
    ):
        tell("reading the release")
        if evidence is None or evidence.schema is None:
            released = duckdb_frame(session, table, list, (), recipe.numeric)
        else:
            released = released_frame(session, table, evidence.row_map, evidence.schema)
        before = None
        if original is not None:
            tell("opening the original")
            # A hash of the content is one of all columns in their types.
            by_content = evidence is not None and "hmac" in evidence.log["input"]
            before = duckdb_frame(
                session,
                original,
                list if by_content else partial(needed_columns, recipe),
                recipe.null_markers,
                recipe.numeric,
                dialect,
            )
        tell("checking")
        return check_frames(released, recipe, evidence, before, table, original)
