"""Protect a table on an engine: count, decide, apply, write, check."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from discreet.assessment.assessment import Assessment
from discreet.check.folders import is_file_target
from discreet.engines import Engine, Frame
from discreet.flow.deciding import Tell, decide, refuse
from discreet.flow.large_release import LargeRelease, large_name, treat
from discreet.flow.output import written_whole
from discreet.recipe.reading import needed_columns
from discreet.recipe.recipe import Recipe


def protect_large(
    table: Any,
    recipe: Recipe,
    engine: str,
    *,
    memory: str | None = None,
    master: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
    folder: Path | None = None,
    tell: Tell = lambda what: None,
) -> LargeRelease:
    """Decide on a table and treat its rows, on an engine.

    Parameters
    ----------
    table : path, or a table of the engine's
    recipe : Recipe
    engine : {"duckdb", "spark"}
    memory : str, optional
        The engine's limit, such as "4GB".
    master : str, optional
        Of Spark, where it is not running yet.
    dialect : mapping, optional
        How a CSV is written.
    folder : Path, optional
        For temporary files; one of the system's where not given.
    tell : callable
        Is told what is under way.
    """
    refuse(recipe, engine)
    work = folder or Path(tempfile.mkdtemp(prefix="discreet-"))
    if folder is None:
        # Of a release that nobody closes.
        atexit.register(shutil.rmtree, work, ignore_errors=True)
    try:
        worker, original = _open(table, recipe, engine, memory, master, dialect, work, tell)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    try:
        decided = decide(original, recipe, engine, tell)
        source = Path(table) if isinstance(table, str | Path) else None
        return treat(decided, worker, original, source, tell)
    except BaseException:
        worker.close()
        raise


def protect_to(
    table: Path,
    recipe: Recipe,
    engine: str,
    out: Path,
    *,
    format: str | None = None,
    force: bool = False,
    **options: Any,
) -> tuple[LargeRelease, Assessment, Path]:
    """Protect a file and write the release; a run that is killed leaves nothing that matters.

    Temporary files are in the folder that becomes the release, or is removed by the next run.
    """
    name = large_name(out, format, engine)
    with written_whole(out, force, table) as part:
        work = part / "work"
        work.mkdir()
        release = protect_large(table, recipe, engine, folder=work, **options)
        try:
            assessment = release.write(part, name, is_file_target(out))
        finally:
            release.close()
        # Rows of the original must not be published with the rest; what fails here is told.
        if work.exists():
            shutil.rmtree(work)
    return release, assessment, out if is_file_target(out) else out / "public" / name


def _open(
    table: Any,
    recipe: Recipe,
    engine: str,
    memory: str | None,
    master: str | None,
    dialect: Mapping[str, str | None] | None,
    work: Path,
    tell: Tell,
) -> tuple[Engine, Frame]:
    tell("opening the table")
    if engine == "duckdb":
        from discreet.engines.duckdb import Session
        from discreet.engines.sources import duckdb_frame

        session = Session(work, memory)
        try:
            needed = partial(needed_columns, recipe)
            frame = duckdb_frame(
                session, table, needed, recipe.null_markers, recipe.numeric, dialect
            )
        except BaseException:
            session.close()
            raise
        return session, frame
    from discreet.engines.spark import Session as SparkSession
    from discreet.engines.spark import spark_frame

    path = isinstance(table, str | Path)
    spark = SparkSession(work, memory, master, None if path else table)
    try:
        return spark, spark_frame(spark, table, recipe.null_markers)
    except BaseException:
        spark.close()
        raise
