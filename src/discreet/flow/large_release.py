"""A release on an engine: what was decided and treated there, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.assessment.assessment import Assessment, assess_frames
from discreet.check.check import CheckReport
from discreet.check.evidence import (
    Evidence,
    Plan,
    file_hmac,
    folder_hmacs,
    save_plan,
    source_hmac,
)
from discreet.check.folders import is_file_target
from discreet.check.frames import check_frames
from discreet.engines import Engine, Frame
from discreet.engines.frame import OfPiece, plain_type
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.applying import LEFT_OUT, ORDER, SUPPRESSED
from discreet.flow.codebook import codebook
from discreet.flow.deciding import Decided, Tell, applied
from discreet.flow.log import timed
from discreet.flow.output import written_whole
from discreet.flow.publication import internal_facts, public_facts
from discreet.flow.release import README, released_name, write_json
from discreet.flow.run import refuse_suppression
from discreet.flow.told import Told, first_rows
from discreet.recipe.recipe import Recipe
from discreet.report import external_report, internal_report
from discreet.table.cells import blank, differing, plain
from discreet.table.files import format_of

ROWS = "rows.parquet"
FORMATS = ("csv", "csv.gz", "csv.zst", "parquet")


@dataclass
class LargeRelease:
    """What `protect` gives back on an engine: the table stays where it is.

    Attributes
    ----------
    plan, log : dict
    recipe : Recipe
    check : CheckReport or None
        What the independent check verified; None until the release is saved.
    """

    plan: Plan
    log: dict[str, Any]
    recipe: Recipe
    engine: Engine = field(repr=False)
    original: Frame = field(repr=False)
    treated: Frame = field(repr=False)
    rare: dict[str, pa.Array] = field(repr=False)
    schema: pa.Schema = field(repr=False)
    source: Path | None = field(default=None, repr=False)
    tell: Tell = field(default=print, repr=False)
    check: CheckReport | None = None

    @property
    def table(self) -> Any:
        """The protected table as the engine has tables: a DuckDB relation or a Spark DataFrame.

        Records that are left out of the written file are rows of nulls in it.
        """
        finished = applied(self.treated, self.treated.schema.names, self._finish)
        return finished.native()

    @property
    def _finish(self) -> OfPiece[pa.Table]:
        return partial(finish, self.schema, self.rare)

    def save(
        self,
        folder: str | Path,
        *,
        format: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write the release: `public/` to share, `internal/` to keep.

        Parameters
        ----------
        folder : str or Path
            Where to; with a table's suffix (`release.parquet`) the table is written there, and
            `release.internal/` beside it.
        format : str, optional
            Of the table: csv, csv.gz, csv.zst or parquet, which is taken where nothing is said.
        force : bool
            Replace a release that is there.

        Returns
        -------
        Path
            Of the released table.
        """
        target = Path(folder)
        name = large_name(target, format, self.engine.name)
        with written_whole(target, force, self.source) as part:
            self.write(part, name, is_file_target(target))
        return target if is_file_target(target) else target / "public" / name

    def write(self, part: Path, name: str, alone: bool) -> Assessment:
        """Write `public/` and `internal/` into a folder, and check what was written.

        Parameters
        ----------
        part : Path
        name : str
            Of the table.
        alone : bool
            Nothing but the table is public.
        """
        public, internal = part / "public", part / "internal"
        public.mkdir()
        internal.mkdir(mode=0o700)
        self.tell("writing the rows in random order")
        with timed(self.log, "write"):
            rows = self.engine.write(
                self.treated, ORDER, LEFT_OUT, self._finish, public / name, internal / ROWS
            )
        self.tell("reading back what was written")
        with timed(self.log, "read back"):
            released = self.engine.released(public / name, internal / ROWS, self.schema)
        if not alone:
            self.tell("describing it")
            with timed(self.log, "describe"):
                told: Any = Told.of(released, self.schema)
                (public / "codebook.md").write_text(codebook(self.recipe, told), "utf-8")
                facts = public_facts(
                    self.recipe, self.log, told, first_rows(public / name, self.schema)
                )
                (public / "report.html").write_text(external_report(facts), "utf-8")
        self.tell("assessing")
        records = self.plan.get("suppressed", {}).get("records", 0)
        with timed(self.log, "assess"):
            assessment = assess_frames(self.original, released, self.recipe, suppressed=records)
        self._save_internal(internal, assessment)
        self.log["output"] = {"format": format_of(Path(name)), "rows": rows}
        self.log["usage"] = self.engine.usage()
        key = bytes.fromhex(self.log["hash_key"])
        log = self.log | {"files": folder_hmacs(part, key)}
        write_json(internal / "log.json", log)
        self.tell("checking what was written")
        with timed(self.log, "check"):
            evidence = replace(Evidence.load(internal), original=self.original)
            self.check = check_frames(released, self.recipe, evidence, self.original, public / name)
        if not self.check.verified:
            raise BrokenPromise(f"the written release does not pass its check:\n{self.check}")
        write_json(internal / "check.json", self.check.to_dict())
        log["files"]["internal/check.json"] = file_hmac(internal / "check.json", key)
        report = internal / "report.html"
        told = internal_facts(
            self.recipe, self.plan, log, self.check.to_dict(), assessment.to_dict()
        )
        report.write_text(internal_report(told), "utf-8")
        # The report tells the hashes of all files but its own.
        log["files"]["internal/report.html"] = file_hmac(report, key)
        write_json(internal / "log.json", log)
        return assessment

    def _save_internal(self, folder: Path, assessment: Assessment) -> None:
        (folder / "README.txt").write_text(README, encoding="utf-8")
        self.recipe.dump(folder / "recipe.toml")
        save_plan(self.plan, folder)
        (folder / "schema.arrow").write_bytes(self.schema.serialize().to_pybytes())
        write_json(folder / "assessment.json", assessment.to_dict())

    def close(self) -> None:
        """Let go of the engine and of what it holds in temporary files."""
        self.engine.close()

    def __repr__(self) -> str:
        found = "not checked yet" if self.check is None else self.check.summary
        rows, columns = self.treated.num_rows, len(self.schema)
        return f"<Release of {rows:,} rows and {columns} columns on {self.engine.name}, {found}>"


def large_name(target: Path, format: str | None, engine: str) -> str:
    """Name the released table's file, or refuse a format that an engine does not write."""
    if not is_file_target(target):
        format = format or "parquet"
    name = released_name(target, format)
    if engine == "spark" and is_file_target(target):
        raise BadInput(f"the engine spark writes folders; give one instead of {target}")
    known = FORMATS if engine == "duckdb" else ("parquet",)
    if format_of(Path(name)) not in known:
        raise BadInput(
            f"the engine {engine} writes {', '.join(known)}, not {format_of(Path(name))}; use "
            "--engine memory for it"
        )
    return name


def finish(
    schema: pa.Schema, rare: Mapping[str, pa.Array], piece: pa.Table, rows: np.ndarray
) -> pa.Table:
    """Return a piece of the released table: rare cells blanked, columns in their public types."""
    columns = {name: piece[name] for name in schema.names}
    for name, values in rare.items():
        found = pc.is_in(plain(columns[name]), value_set=values)
        columns[name] = blank(columns[name], pc.fill_null(found, False).to_numpy())
    return pa.table(columns).cast(schema)


def treat(
    decided: Decided, engine: Engine, original: Frame, source: Path | None, tell: Tell
) -> LargeRelease:
    """Apply what was decided to all rows, and see what becomes of rare values."""
    log, recipe = decided.log, decided.recipe
    tell("treating the rows")
    with timed(log, "apply"):
        treated = _treated(decided)
    tell("looking for rare values")
    with timed(log, "rare"):
        rare = _without_rare(decided, original, treated)
        schema = _public(decided, original, treated)
    tell("counting the cells that changed")
    taken = [name for name in decided.released if name in decided.applying.touched]
    function = partial(_changes, partial(finish, schema, rare), tuple(taken))
    with timed(log, "compare"):
        changed = original.fold_pairs(treated, function, _sum, taken)
    log["changed_cells"] |= changed
    for entry, step in zip(log["steps"], recipe.steps, strict=True):
        entry["changed_cells"] = {c: changed[c] for c in step.columns}
    key = bytes.fromhex(log["hash_key"])
    with timed(log, "hash"):
        hmac = None if source is None else source_hmac(source, key)
    log["input"] = {
        "rows": original.num_rows,
        "columns": original.schema.names,
        "file_hmac": hmac,
        "source": None if source is None else source.name,
    }
    return LargeRelease(
        decided.plan, log, recipe, engine, original, treated, rare, schema, source, tell
    )


def _treated(decided: Decided) -> Frame:
    applying = replace(decided.applying, blanked=tuple(_blanked(decided)))
    return applied(
        decided.frame,
        applying.needed(decided.released),
        partial(applying.release, tuple(decided.released)),
    )


def _blanked(decided: Decided) -> list[str]:
    """Name the quasi columns in which suppressed records have no stars."""
    starred = {
        column
        for one in decided.applying.treatments
        if one.decision.figures.get("suppressed")
        for column in one.step.columns
    }
    quasi = decided.recipe.roles.quasi
    return [name for name in decided.released if name in quasi and name not in starred]


def _without_rare(decided: Decided, original: Frame, treated: Frame) -> dict[str, pa.Array]:
    """Say what is suppressed, and give the values that are blanked for it."""
    states, numbers = treated.counts([SUPPRESSED, LEFT_OUT])
    suppressed = int(numbers[states[SUPPRESSED].to_numpy()].sum())
    gone = int(numbers[states[LEFT_OUT].to_numpy()].sum())
    if not suppressed:
        return {}
    refuse_suppression(decided.recipe, suppressed, gone == original.num_rows)
    rare = {}
    blanked = dict.fromkeys(_blanked(decided), suppressed - gone)
    for column, (values, cells) in _rare(decided, treated).items():
        rare[column] = values
        blanked[column] = blanked.get(column, 0) + cells
    blanked = {name: cells for name, cells in blanked.items() if cells}
    told = {"records": suppressed, "left_out": gone}
    decided.plan["suppressed"] = told | {"blanked": blanked}
    decided.log["suppressed"] = told | {"blanked_cells": blanked}
    return rare


def _rare(decided: Decided, treated: Frame) -> dict[str, tuple[pa.Array, int]]:
    """Find the values of rounded columns that too few records are left to hold."""
    found = {}
    for entry, step in zip(decided.plan["steps"], decided.recipe.steps, strict=True):
        if not step.promise or step.build().promise != "k-per-value":
            continue
        for name in step.columns:
            # What is left out is blank already.
            tuples, counts = treated.counts([name])
            k = step.least_records(name, entry["columns"][name])
            few = (counts < k) & tuples[name].is_valid().to_numpy()
            if few.any():
                values = tuples[name].combine_chunks().filter(pa.array(few))
                found[name] = values, int(counts[few].sum())
    return found


def _public(decided: Decided, original: Frame, treated: Frame) -> pa.Schema:
    """Return the types that are released: those of the input, or wider decimals if need be."""
    fields = []
    for name in decided.released:
        kind, own = treated.schema.field(name).type, original.schema.field(name).type
        if pa.types.is_decimal(kind):
            digits = treated.fold(partial(_digits, name), max, [name])
            kind = pa.decimal128(max(own.precision, digits), own.scale)
        fields.append(pa.field(name, plain_type(kind)))
    return pa.schema(fields)


def _digits(name: str, piece: pa.Table, rows: np.ndarray) -> int:
    """Count the digits that a column of decimals needs."""
    largest = pc.max(pc.abs(piece[name])).as_py()
    return 0 if largest is None else len(str(int(largest.scaleb(piece[name].type.scale))))


def _changes(
    finish: OfPiece[pa.Table],
    names: tuple[str, ...],
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> dict[str, int]:
    shown = finish(after, rows)
    return {name: differing(before[name], shown[name]) for name in names}


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one[name] + other[name] for name in one}
