"""Releases beside the table that they were made from, whatever engine made them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.assessment.assessment import Assessment, assess_frames
from discreet.assessment.facts import DRAWN
from discreet.assessment.samples import beside
from discreet.check.evidence import Evidence, Plan
from discreet.check.folders import find_release
from discreet.check.frames import same_input
from discreet.check.holdout import HOLDOUT, rows_in_all, without_holdout
from discreet.check.kept import refuse_changed
from discreet.check.two_tables import read_joined, read_released
from discreet.engines import Engine, Frame
from discreet.engines.choice import choose, open_engine
from discreet.engines.memory import starred
from discreet.errors import BadInput
from discreet.recipe.recipe import Recipe, needed_columns
from discreet.recipe.roles import Roles

Dialect = Mapping[str, str | None]
# From a recipe and how a CSV was read to the original as that recipe means it.
Read = Callable[[Recipe, Evidence | None], Frame]


@dataclass(frozen=True)
class Opened:
    """A release and its original; the rows of the release have their numbers in the original."""

    before: Frame
    after: Frame
    recipe: Recipe
    suppressed: int = 0  # records, in the file as stars or not at all
    release: str = ""  # its number, as the log has it
    holdout: Any = None  # who was set aside, a table or its file, where somebody was
    note: str | None = None  # that nobody can tell whether its files are those that were written

    def assess(
        self, like: Recipe | None = None, measures: Sequence[str] | None = None
    ) -> Assessment:
        """Measure risk and utility, by the roles of another recipe and what it counts if given."""
        like = like or self.recipe
        recipe = self.recipe.model_copy(
            update={name: getattr(like, name) for name in ("roles", "counts", "indicators")}
        )
        found = assess_frames(
            self.before, self.after, recipe, suppressed=self.suppressed, measures=measures
        )
        return by_original(found, self.holdout)

    def beside(self, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
        """Return the rows of both, or a sample; see `samples.beside`."""
        return beside(self.before, self.after, columns, DRAWN)


@contextmanager
def opened(
    original: Any,
    releases: Sequence[Any],
    *,
    recipe: Recipe | None = None,
    roles: Roles | None = None,
    engine: str = "auto",
    memory: str | None = None,
    dialect: Dialect | None = None,
) -> Iterator[list[Opened]]:
    """Open releases of one table, which must be the one that they were made from.

    They are release folders, released files, or what `protect` gave; a file without its internal
    folder has its rows in the original's order. What was done, and how a CSV was read, is as the
    internal folder has it where not given; roles are in place of the recipe's. One whose files
    were changed after it was written is refused. By default on
    DuckDB where an engine made one of them, or the original does not fit in memory.
    """
    found = [one if hasattr(one, "released") else _Found.of(one) for one in releases]
    with open_engine(_engine(engine, original, found, memory), memory=memory) as working:
        read = _reader(working, original, dialect or {})
        yield [
            _written(working, original, one, recipe, roles, read)
            if isinstance(one, _Found)
            else _made(one, read)
            for one in found
        ]


class OtherTable(BadInput):
    """A release was made from another table than the one given."""


class _Found(NamedTuple):
    """A release that was written: as it was given, its table, and its internal folder."""

    release: str | Path
    table: Path
    evidence: Evidence | None
    note: str | None

    @classmethod
    def of(cls, release: str | Path) -> _Found:
        table, internal = find_release(release)
        if not internal.is_dir():
            return cls(release, table, None, None)
        evidence = Evidence.load(internal)
        return cls(release, table, evidence, refuse_changed(release, table, evidence))


def _engine(engine: str, original: Any, found: Sequence[Any], memory: str | None) -> str:
    """Settle the engine: a release that one has made is measured on one."""
    chosen = choose(engine, original, memory)
    if chosen == "spark":
        raise BadInput("assess runs in memory or on duckdb; use --engine duckdb")
    written = [one for one in found if isinstance(one, _Found)]
    if len(written) < len(found):
        return "memory"
    logs = [one.evidence.log for one in written if one.evidence is not None]
    by_engine = any(log.get("engine", "memory") != "memory" for log in logs)
    return "duckdb" if engine == "auto" and by_engine else chosen


def _reader(working: Engine, original: Any, dialect: Dialect) -> Read:
    """Return what reads the original, once for all recipes that mean the same by it."""
    kept: dict[Any, Frame] = {}

    def read(recipe: Recipe, evidence: Evidence | None) -> Frame:
        known = {} if evidence is None else evidence.log["input"]
        how = {name: value for name, value in dialect.items() if value is not None}
        how = known.get("dialect", {}) | how
        # The keyed hash is of what the release was made from, whatever roles it is now measured by.
        wanted = [recipe] if evidence is None else [recipe, evidence.recipe]
        roles = [one.roles.model_dump_json() for one in wanted]
        key = (*recipe.null_markers, None, *recipe.numeric, None, *how.items(), *roles)
        if key not in kept:
            markers, numeric = recipe.null_markers, recipe.numeric
            kept[key] = working.read(original, partial(_needed, wanted), markers, numeric, how)
        return kept[key]

    return read


def _needed(recipes: Sequence[Recipe], names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for one in recipes for name in needed_columns(one, names)))


def _written(
    working: Engine,
    original: Any,
    found: _Found,
    recipe: Recipe | None,
    roles: Roles | None,
    read: Read,
) -> Opened:
    """Open a release that was written."""
    release, table, evidence, note = found
    known = None if evidence is None else evidence.recipe
    rules = recipe or known or Recipe.model_construct(roles=roles)
    # A sample is the same as when it was made.
    seed = rules.order_seed or (known and known.order_seed)
    rules = rules.model_copy(update={"roles": roles or rules.roles, "order_seed": seed})
    before = read(rules, evidence)
    held = None
    if evidence is not None and "holdout" in evidence.log and evidence.folder is not None:
        before = without_holdout(before, evidence.recipe, evidence.log)
        held = evidence.folder / HOLDOUT
    if evidence is None:
        after = starred(working.read(table, list, (), rules.numeric))
        if rules.apart:
            after = read_joined(after, table, rules, lambda path: working.read(path, list))
        check_lengths(before.num_rows, after.num_rows)
        return Opened(before, after, rules)
    if same_input(evidence, before).status == "broken":
        named = original if isinstance(original, str | Path) else "the original"
        raise OtherTable(f"{named} is not the table that {release} was made from")
    assert evidence.schema is not None  # What was written has these two.
    assert evidence.row_map is not None
    after = read_released(working, table, evidence.row_map, evidence.schema, evidence.recipe)
    if evidence.mapped != after.num_rows:
        raise BadInput(f"{evidence.row_map} does not have the rows of {table}")
    gone = suppressed_records(evidence.plan)
    return Opened(before, after, rules, gone, evidence.log["release"], held, note)


def _made(release: Any, read: Read) -> Opened:
    """Open a release that is in memory."""
    if not release.original.whole:
        raise BadInput(f"a release on {release.engine.name} is compared once it is saved")
    before = without_holdout(read(release.recipe, None), release.recipe, release.log)
    if not before.native().equals(release.original.table):
        raise OtherTable("a release was made from another table than the original given")
    gone = suppressed_records(release.plan)
    number = release.log["release"]
    return Opened(before, release.released, release.recipe, gone, number, release.holdout)


def by_original(found: Assessment, holdout: Any) -> Assessment:
    """Name the riskiest records by their rows in the original with its holdout, if there is one."""
    if holdout is not None and found.figures is not None:
        for one in found.figures.get("riskiest") or ():
            one["row"] = int(rows_in_all(holdout, np.array([one["row"] - 1]))[0]) + 1
    return found


def original_of(release: str | Path) -> Path:
    """Find the table that a release was made from, by the name in its log: here, or beside it.

    Whether it is that table still, is found out when it is opened.
    """
    release = Path(release)
    _, internal = find_release(release)
    by_hand = f"give it first: discreet assess ORIGINAL {release}"
    if not internal.is_dir():
        raise BadInput(f"{internal} is not there, and only it says what was protected; {by_hand}")
    name = Evidence.load(internal).log["input"].get("source")
    if name is None:
        raise BadInput(f"{release} was made from a table in memory; {by_hand}")
    for folder in (Path(), release.parent, internal.parent, internal.parent.parent):
        if (folder / name).exists():
            return folder / name
    raise BadInput(
        f"{release} was made from {name}, which is neither here nor beside the release; {by_hand}"
    )


def suppressed_records(plan: Plan) -> int:
    """Return how many records a plan suppresses."""
    return int(plan.get("suppressed", {}).get("records", 0))


def check_lengths(before: int, after: int) -> None:
    """Refuse tables of which no row map says which rows belong together."""
    if before != after:
        raise BadInput(
            f"the original has {before:,} rows, the protected table {after:,}; "
            "give the release folder, whose row map says which belong together"
        )
