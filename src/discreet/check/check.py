"""A release checked: its tables are read, where they are or in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from discreet.check.evidence import Evidence
from discreet.check.findings import CheckReport, Finding
from discreet.check.formats import same_in_all
from discreet.check.frames import check_frames
from discreet.check.holdout import same_holdout, without_holdout
from discreet.check.manifest import AUTHENTIC
from discreet.check.signatures import signatures
from discreet.check.two_tables import read_joined, read_released
from discreet.engines import Engine, Frame
from discreet.engines.choice import free_memory, memory_needed, open_engine
from discreet.engines.memory import placed, starred
from discreet.errors import BadInput, nearest
from discreet.recipe.given import Given, as_recipe
from discreet.recipe.policies import Against
from discreet.recipe.recipe import Recipe, needed_columns
from discreet.table import normalise, to_arrow
from discreet.table.files import format_of
from discreet.table.two_tables import Misfit

FITS = "the two tables have the same groups"
CHECKING = ("auto", "memory", "duckdb")


def check_release(
    protected: Any,
    recipe: Given,
    internal: Evidence | str | Path | None = None,
    original: Any = None,
    *,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Mapping[str, str | None] | None = None,
    public_key: str | Path | None = None,
    policy: Against | str | Path | None = None,
    tell: Callable[[str], None] = lambda what: None,
) -> CheckReport:
    """Verify what a release promises, as far as the evidence goes.

    Parameters
    ----------
    protected : table, Frame, or path of the released file or folder of files
        A table may be in the original's order, as `Release.table` is, or in the written file's.
    recipe : Recipe, Roles, dict or path
    internal : path of the internal folder, optional
        Adds: the files' hashes and the manifest's code, the plan's figures.
    original : table, Frame or path, optional
        Adds, together with `internal`: every cell equals the plan applied. Those whom `protect`
        has set aside are left out of it.
    engine : {"auto", "memory", "duckdb"}
        Where files are checked. `"auto"`: on DuckDB where the release was made on an engine or the
        files do not fit in memory, and else in memory.
    memory : str, optional
        DuckDB's limit, such as "4GB".
    dialect : mapping, optional
        How the original is written, where it is a CSV: separator, decimal, quote, encoding; the
        sheet of a workbook.
    public_key : path, optional
        An Ed25519 public key (PEM): adds that the files are those that its owner signed.
    policy : Against, shipped name or path, optional
        Adds what becomes of the rules of a policy; by default that of the recipe, if it has one.
    tell : callable
        Is told what is under way.

    Returns
    -------
    CheckReport

    Examples
    --------
    >>> import pyarrow as pa
    >>> recipe = {"roles": {"identifiers": ["name"], "confidential": ["income"]},
    ...           "steps": [{"method": "oma", "columns": ["income"], "k": 3}]}
    >>> print(check_release(pa.table({"income": [10, 10, 10, 50, 50]}), recipe))
          verified: no identifier is released (none of name)
          verified: every released column has a role (1 of 1)
            broken: k = 3 per value in column 'income' (2 records hold 50)
    not verifiable: ...
    """
    recipe = as_recipe(recipe)
    against = Against(name=str(policy)) if isinstance(policy, str | Path) else policy
    evidence = internal if isinstance(internal, Evidence | None) else Evidence.load(internal)
    path = Path(protected) if isinstance(protected, str | Path) else None
    name = engine_for(engine, (protected, original), evidence)
    with open_engine(name, memory=memory) as session:
        tell("reading the release")
        try:
            released = list(_released(session, protected, recipe, evidence))
        except Misfit as error:
            return CheckReport((Finding(FITS, "broken", str(error)),))
        everyone = original
        if not isinstance(original, Frame | None):
            tell("opening the original")
            needed = partial(needed_columns, recipe)
            everyone = session.read(original, needed, recipe.null_markers, recipe.numeric, dialect)
        before = everyone
        if evidence is not None and everyone is not None:
            before = without_holdout(everyone, evidence.recipe, evidence.log)
        tell("checking")
        formats = same_holdout(evidence, everyone)
        if path is not None and evidence is not None and evidence.schema is not None:
            formats += same_in_all(session, path, released[0], recipe, evidence)
        reports = (check_frames(one, recipe, evidence, before, path, against) for one in released)
        first = next(reports)
        found = first if first.ok else next((other for other in reports if other.ok), first)
    authentic = AUTHENTIC in {one.promise for one in found.having("verified")}
    folder = None if evidence is None else evidence.folder
    signed = signatures(path, folder, public_key, authentic)
    return replace(found, findings=(*found.findings, *formats, *signed))


def engine_for(engine: str, tables: Sequence[Any], evidence: Evidence | None) -> str:
    """Settle the engine that checks a release: the one of its log, or by the tables' sizes.

    The tables are the release and its original, None where there is none.
    """
    if engine not in CHECKING:
        raise BadInput(f"a check has no engine '{engine}'; {nearest(engine, CHECKING)}")
    frames = [isinstance(one, Frame) and not one.whole for one in tables if one is not None]
    if any(frames) and not all(frames):
        raise BadInput("the tables are in different places; give both as frames of one engine")
    if not isinstance(tables[0], str | Path) or isinstance(tables[1], Frame):
        if engine == "duckdb":
            raise BadInput("a table is checked where it is; give its file to check it on duckdb")
        return "memory"
    if engine != "auto":
        return engine
    if evidence is not None and evidence.log.get("engine") in ("duckdb", "spark"):
        return "duckdb"
    files = [Path(one) for one in tables if isinstance(one, str | Path)]
    known = all(path.is_dir() or format_of(path).startswith(("csv", "parquet")) for path in files)
    fits = sum(memory_needed(path) for path in files) <= free_memory()
    return "memory" if fits or not known else "duckdb"


def _released(
    session: Engine, protected: Any, recipe: Recipe, evidence: Evidence | None
) -> Iterator[Frame]:
    """Return a release by the rows of its original; in two ways where its order is not known."""
    if isinstance(protected, Frame):
        yield protected
    elif isinstance(protected, str | Path):
        if evidence is None or evidence.schema is None:
            found = starred(session.read(protected, list, (), recipe.numeric))
            if recipe.apart:
                read = partial(session.read, needed=list)
                found = read_joined(found, Path(protected), recipe, read)
            yield found
        else:
            kept = evidence.row_map, evidence.schema
            yield read_released(session, Path(protected), *kept, recipe)
    else:
        table = normalise(to_arrow(protected), [])
        rows = None if evidence is None else evidence.rows
        if evidence is not None and rows is not None and len(rows) == len(table):
            # In the order of the file, or never shuffled.
            yield placed(table, rows)
            if len(table) != evidence.log["input"]["rows"]:
                return
        yield placed(table, None)
