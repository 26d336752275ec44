"""A release: the protected table where its rows are, what was decided, and what was done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.assessment import Assessment
from discreet.assessment.assessment import assess_frames
from discreet.assessment.opened import by_original, suppressed_records
from discreet.check import CheckReport
from discreet.check.evidence import Evidence, Log, Plan, save_plan
from discreet.check.folders import is_file_target
from discreet.check.formats import same_in_all
from discreet.check.frames import check_frames
from discreet.check.manifest import Entry, Seal, entries
from discreet.check.two_tables import read_released
from discreet.engines import Engine, Frame
from discreet.engines.choice import home_of
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.applying import LEFT_OUT, ORDER
from discreet.flow.codebook import codebook
from discreet.flow.deciding import applied
from discreet.flow.finishing import Finish, seen
from discreet.flow.holdout import save_holdout
from discreet.flow.log import timed
from discreet.flow.neighbours import next_steps
from discreet.flow.output import written_whole
from discreet.flow.pseudonyms import kept_recipe, save_key
from discreet.flow.publication import blanked_cells, internal_facts, public_facts
from discreet.flow.told import Told, first_rows
from discreet.flow.two_tables import (
    only,
    refuse_alone,
    two_tables,
    with_groups,
    write_second,
)
from discreet.private import make_private_folder, write_private
from discreet.progress import Teller, Wanted
from discreet.recipe.project import save_project_key
from discreet.recipe.recipe import Recipe
from discreet.report import external_report, internal_report
from discreet.report.decision import decision_lines
from discreet.report.notebook import release_html, safe_decision
from discreet.table import formulas, like, to_arrow
from discreet.table.bare import bare
from discreet.table.cells import plain
from discreet.table.files import format_of
from discreet.table.labels import CODED, carried, is_text, labels_of, public_field, with_labels
from discreet.table.signatures import FORMATS
from discreet.table.two_tables import second_of

ROWS = "rows.parquet"
# What engines write; in memory, all that `write_table` does.
_WRITES = ("csv", "csv.gz", "csv.zst", "parquet")
README = """\
This folder is internal. Never share it.

It holds what proves the release and what would undo it: the seed, the plan, the map from released
to original rows. Share `public/` only.

recipe.toml      the recipe with its seeds; a rerun with it, in the same format (--format,
                 --csv-safe), gives the same table, byte for byte
pseudonyms.key   the key of the pseudonyms, if there are any; name it as pseudonym_key in another
                 recipe to give the same value the same pseudonym there
project.key      the key of the project, if there is one; name it as project_key in another recipe
                 to give the same cell the same noise there
plan.json        what each step decided
log.json         versions, keyed hash of the input, timings, warnings, cells changed
rows.parquet     the original row (from 0) of each released row, counted without the rows that were
                 set aside
holdout.parquet  those who were set aside before any step, if some were: the control group of
                 `discreet attack`
schema.arrow     the types of the released columns
check.json       what the independent check found
assessment.json  risk and utility before and after, and the figures of the pictures
report.html      all of this for the review board; `discreet report` makes it again
manifest.json    size, hash and mode of every file, with a code by the key of whoever made it
manifest.sig     the signature of the manifest, if it is signed
"""


@dataclass
class Release:
    """What `protect` returns; the table stays where its engine has it.

    Attributes
    ----------
    plan : dict
        What each step decided.
    log : dict
        What was done: versions, keyed hash of the input, timings, warnings, cells changed.
    recipe : Recipe
        The recipe with its seed: run again, it gives the same table.
    check : CheckReport or None
        What the independent check verified; None where it has not been done yet.
    holdout : pyarrow.Table or None
        Those who were set aside before any step, where the recipe asks for it: the columns that are
        released or used, and in `original_row` their rows in the input.
    """

    plan: Plan
    log: Log
    recipe: Recipe
    engine: Engine = field(repr=False)
    original: Frame = field(repr=False)
    treated: Frame = field(repr=False)
    finish: Finish = field(repr=False)
    given: Any = field(default=None, repr=False)
    source: Path | None = field(default=None, repr=False)
    tell: Callable[[str], None] = field(default=lambda what: None, repr=False)
    check: CheckReport | None = None
    keep_index: bool = field(default=False, repr=False)
    holdout: pa.Table | None = field(default=None, repr=False)
    progress: Wanted = field(default=False, repr=False)
    # What was measured last, so that what shows the release need not measure.
    assessed: Assessment | None = field(default=None, init=False, repr=False)

    @property
    def table(self) -> Any:
        """The protected table, of the kind and order of the input.

        A table of the engine's own, a DuckDB relation or a Spark DataFrame, where rows are not in
        memory. Records that are left out of the written file are rows of nulls in it. Neither an
        index, unless `protect` was told to keep it, nor unused categories nor metadata are in it.
        """
        if self.check is None:
            self.verify()
        return self._native

    @cached_property
    def _native(self) -> Any:
        if not isinstance(self.finished, MemoryFrame):
            return self.finished.native()
        assert isinstance(self.original, MemoryFrame)
        added = self.recipe.added
        before, shown = self.original.table, self.finished.table.drop_columns(added)
        given = before if self.given is None else self.given
        changed = set(shown.column_names) if "suppressed" in self.plan else seen(self.recipe)
        # Null markers became nulls, so columns that no step treats may have changed too.
        arrow = to_arrow(given)
        changed |= {c for c in arrow.column_names if before[c].null_count != arrow[c].null_count}
        made = bare(like(given, shown, changed), self.keep_index)
        for name in added:
            made = with_groups(made, self.finished.table[name], name)
        return made

    @property
    def tables(self) -> dict[str, Any]:
        """The tables as they are written: `table`, and what a step puts into a second one.

        With anatomy that is `confidential`: the numbers of groups and the confidential columns, in
        drawn order. `table` has all other columns, the groups' numbers among them. Otherwise there
        is `table` alone.
        """
        table = self.table
        if not self.recipe.apart:
            return {"table": table}
        assert isinstance(self.treated, MemoryFrame)
        return two_tables(table, self.recipe, self.treated)

    @cached_property
    def finished(self) -> Frame:
        """The protected table as a frame, by the rows of the original."""
        return applied(self.treated, self.treated.schema.names, self.finish)

    @property
    def released(self) -> Frame:
        """The same without the records that are left out of the written file."""
        if not self.plan.get("suppressed", {}).get("left_out"):
            return self.finished
        return self.treated.flat_map(self.finish.kept, self.finish.schema)

    @property
    def left_out(self) -> np.ndarray:
        """The rows of the original that are blank in the table and left out of the file."""
        return self.treated.fold(_left_out, np.append, [LEFT_OUT])

    def verify(self) -> None:
        """Check the table against what its recipe promises, or raise `BrokenPromise`."""
        self.tell("checking")
        evidence = Evidence(self.plan, self.log, self.recipe, original=self.original)
        with timed(self.log, "check"):
            self.check = self._checked(self.finished, evidence)
        if not self.check.verified:
            raise BrokenPromise(f"the release does not pass its check:\n{self.check.failures}")
        self._warn_of_weak(self.check)

    def _checked(
        self, released: Frame, evidence: Evidence, path: Path | None = None
    ) -> CheckReport:
        """Check a table; what is wrong with the recipe's policy is refused."""
        own = self.recipe.against
        return check_frames(released, self.recipe, evidence, self.original, path, own)

    def _warn_of_weak(self, check: CheckReport) -> None:
        """Put into the log what the check finds weak."""
        found = [f"weak: {one.promise}: {one.detail}" for one in check.having("weak")]
        self.log["warnings"] += [said for said in found if said not in self.log["warnings"]]

    def assess(self) -> Assessment:
        """Measure risk and utility, before and after."""
        return self._assess(self.released)

    def _assess(self, released: Frame) -> Assessment:
        records = suppressed_records(self.plan)
        found = assess_frames(self.original, released, self.recipe, suppressed=records)
        self.assessed = by_original(found, self.holdout)
        return self.assessed

    def save(
        self,
        folder: str | Path,
        *,
        format: str | Sequence[str] | None = None,
        force: bool = False,
        assessment: Assessment | None = None,
        csv_safe: bool = False,
        sign: str | Path | None = None,
    ) -> Path:
        """Write the release: `public/` to share, `internal/` to keep.

        Parameters
        ----------
        folder : str or Path
            Where to; with a table's suffix (`release.csv`) the table is written there, and
            `release.internal/` beside it.
        format : str or list of str, optional
            Of the table: csv, csv.gz, csv.zst, parquet, feather, xlsx, sav, dta or xpt. By default
            that of the suffix; in a folder Parquet for what came as Parquet, or from an engine's
            own table, and CSV for all else. Several (`["csv", "sav"]`, or `"csv,sav"`) go into one
            folder, with the same rows in the same order.
        force : bool
            Replace a release that is there.
        assessment : Assessment, optional
            Taken as it is; measured where not given.
        csv_safe : bool
            Put a single quote before text that a spreadsheet would take for a formula, and before
            such names of columns, of a CSV. The log and the codebook say so, and the check knows.
        sign : str or Path, optional
            An Ed25519 private key (PEM) to sign a release folder with, so that others can verify
            its files without a secret.

        Returns
        -------
        Path
            Of the released table; of several formats, the first.

        Notes
        -----
        Rows are written in random order; `internal/rows.parquet` maps them back. The folder
        appears whole or not at all, after the written file was read again and checked.
        """
        target = Path(folder)
        refuse_alone(self.recipe, target)
        given = self.source if self.source is not None else self.given
        names = released_names(target, format, self.engine.name, given, csv_safe)
        seal = seal_for(target, sign)
        with Teller(self.progress) as self.tell, written_whole(target, force, self.source) as part:
            self.write(part, names, is_file_target(target), seal, assessment, csv_safe)
        return target if is_file_target(target) else target / "public" / names[0]

    def write(
        self,
        part: Path,
        names: Sequence[str],
        alone: bool,
        seal: Seal,
        assessment: Assessment | None = None,
        csv_safe: bool = False,
    ) -> Assessment:
        """Write `public/` and `internal/` into a folder, and check what was written.

        The table gets the names, one for each format; `alone`, nothing but it is public.
        """
        public, internal, log = part / "public", part / "internal", self.log
        name, formats = names[0], [format_of(Path(one)) for one in names]
        public.mkdir()
        make_private_folder(internal)
        self.tell("writing the rows in random order")
        with timed(log, "write"):
            rows = self._write_rows(public / name, internal / ROWS, csv_safe)
            for other in names[1:]:
                self._write_again(public / other, part / "rows again", csv_safe)
        schema = shared_schema(self.finish.schema, formats)
        schema = formulas.csv_safe(schema) if csv_safe else schema
        self.tell("reading back what was written")
        with timed(log, "read back"):
            released = read_released(
                self.engine, public / name, internal / ROWS, schema, self.recipe
            )
            if any(one.startswith("csv") for one in formats) and not csv_safe:
                warn_of_formulas(log, released)
        if not alone:
            self.tell("describing it")
            with timed(log, "describe"):
                self._describe(public, name, released, schema)
        if assessment is None:
            self.tell("assessing")
            with timed(log, "assess"):
                assessment = self._assess(released)
        self.assessed = assessment
        self._try_neighbours(assessment)
        self._save_internal(internal, schema, assessment)
        log["output"] = {"format": formats[0], "rows": rows, "csv_safe": csv_safe}
        log["output"] |= {"formats": formats} if len(formats) > 1 else {}
        log |= {"usage": used} if (used := self.engine.usage()) else {}
        write_json(internal / "log.json", log)
        files = seal.put(part, log["release"])
        self.check = self._check_written(public / name, internal, released)
        write_json(internal / "check.json", self.check.to_dict())
        write_json(internal / "log.json", log)
        del files["internal/log.json"]
        files = entries(part, files)
        page = internal_report(self.facts(files, assessment))
        write_private(internal / "report.html", page)
        seal.put(part, log["release"], files)
        return assessment

    def _write_rows(self, table: Path, rows: Path, csv_safe: bool) -> int:
        """Write the rows in drawn order; what goes into a second table by groups."""
        finish: Callable[..., pa.Table] = self.finish
        csv_safe &= format_of(table).startswith("csv")
        apart, added = self.recipe.apart, self.recipe.added
        if apart:
            finish = partial(
                only, self.finish, [n for n in self.finish.schema.names if n not in apart]
            )
            second = partial(only, self.finish, [*added, *apart])
            second = partial(_guarded, second) if csv_safe else second
            assert isinstance(self.treated, MemoryFrame)
            write_second(self.treated, added[0], second, second_of(table))
        finish = partial(_guarded, finish) if csv_safe else finish
        return self.engine.write(self.treated, ORDER, LEFT_OUT, finish, table, rows)

    def _try_neighbours(self, assessment: Assessment) -> None:
        """Put into the log what could be changed next."""
        self.tell("trying what could be changed")
        with timed(self.log, "next"):
            drivers = (assessment.figures or {}).get("drivers")
            found = next_steps(
                self.recipe, self.plan, self.original, self.treated, self.finish, drivers
            )
        self.log.update(found)  # type: ignore[typeddict-item]

    def _check_written(self, table: Path, internal: Path, released: Frame) -> CheckReport:
        """Check the files against the evidence beside them, or raise `BrokenPromise`."""
        self.tell("checking what was written")
        with timed(self.log, "check"):
            evidence = replace(Evidence.load(internal), original=self.original)
            same = same_in_all(self.engine, table, released, self.recipe, evidence)
            found = self._checked(released, evidence, table)
            found = replace(found, findings=(*found.findings, *same))
        if not found.verified:
            raise BrokenPromise(f"the written release does not pass its check:\n{found.failures}")
        self._warn_of_weak(found)
        return found

    def _write_again(self, table: Path, rows: Path, csv_safe: bool) -> None:
        """Write the same rows in another format; their map is written already."""
        self._write_rows(table, rows, csv_safe)
        if rows.is_dir():
            shutil.rmtree(rows)
        else:
            rows.unlink()

    def _describe(self, public: Path, name: str, released: Frame, schema: pa.Schema) -> None:
        """Write what the users of the file are told: codebook and external report."""
        told: Any
        if isinstance(released, MemoryFrame):
            told, sample = _typed(released.table, schema), None
        else:
            told, sample = Told.of(released, schema), first_rows(public / name, schema)
        guarded = formulas.is_csv_safe(schema)
        blanked = {} if self.recipe.private else blanked_cells(self.log)
        text = codebook(self.recipe, told, guarded, blanked)
        (public / "codebook.md").write_text(text, "utf-8")
        facts = public_facts(self.recipe, self.log, told, sample)
        (public / "report.html").write_text(external_report(facts), "utf-8")

    def _save_internal(self, folder: Path, schema: pa.Schema, assessment: Assessment) -> None:
        write_private(folder / "README.txt", README)
        kept_recipe(self.recipe).dump(folder / "recipe.toml")
        save_key(self.recipe, folder)
        save_project_key(self.recipe, folder)
        save_holdout(self.holdout, folder)
        save_plan(self.plan, folder)
        write_private(folder / "schema.arrow", schema.serialize().to_pybytes())
        write_json(folder / "assessment.json", assessment.to_dict())

    def facts(
        self, files: Mapping[str, Entry] | None = None, assessment: Assessment | None = None
    ) -> dict[str, Any]:
        """Return what a report tells, with the files that were written and the assessment."""
        assert self.check is not None
        measured = None if assessment is None else assessment.to_dict()
        found = self.check.to_dict()
        return internal_facts(self.recipe, self.plan, self.log, found, measured, files)

    def close(self) -> None:
        """Let go of the engine and of what it holds in temporary files."""
        self.engine.close()

    def _repr_html_(self) -> str:
        """Show notebooks what to decide by; no record, and no original value."""
        return repr(self) if self.check is None else release_html(self._shown())

    def __str__(self) -> str:
        """Tell what to decide by, as the terminal does, but for the riskiest records."""
        if self.check is None:
            return repr(self)
        return "\n".join(decision_lines(safe_decision(self._shown())))

    def _shown(self) -> dict[str, Any]:
        return self.facts(assessment=self.assessed)

    def __repr__(self) -> str:
        found = "not checked yet" if self.check is None else self.check.summary
        rows, columns = self.treated.num_rows, len(self.finish.schema)
        where = "" if self.treated.whole else f" on {self.engine.name}"
        return f"<Release of {rows:,} rows and {columns} columns{where}, {found}>"


def _left_out(piece: pa.Table, rows: np.ndarray) -> np.ndarray:
    return rows[piece[LEFT_OUT].to_numpy()]


def _guarded(finish: Callable[..., pa.Table], piece: pa.Table, rows: np.ndarray) -> pa.Table:
    return formulas.guarded(finish(piece, rows))


def warn_of_formulas(log: Log, released: Frame) -> None:
    """Say in a log how much of a CSV a spreadsheet would take for formulas."""
    names = [field.name for field in released.schema if is_text(field.type)]
    cells = released.fold(_formulas, add, names) if names else 0
    headers = formulas.formula_cells([pa.chunked_array([released.schema.names])])
    for count, one, many in (
        (cells, "text cell begins", "text cells begin"),
        (headers, "name of a column begins", "names of columns begin"),
    ):
        said = f"{count:,} {one if count == 1 else many} with =, +, -, @, a tab or a carriage "
        said += "return, which spreadsheets take for formulas; --csv-safe, or csv_safe = True, has "
        said += "them read as text"
        log["warnings"] += [said] * (count > 0 and said not in log["warnings"])


def _formulas(piece: pa.Table, rows: np.ndarray) -> int:
    return formulas.formula_cells(piece.columns)


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return what was read back in the types that it had; Arrow casts no numbers to categories."""
    columns = [
        plain(table[one.name]).dictionary_encode()
        if pa.types.is_dictionary(one.type)
        else table[one.name]
        for one in schema
    ]
    return pa.table(columns, schema.names).cast(schema)


def shared_schema(schema: pa.Schema, formats: Sequence[str]) -> pa.Schema:
    """Return the released columns as formats carry them: types, and labels to share.

    Labels are those of the first; numbers that stand for text, those of any.
    """
    fields = []
    for own, full in zip(carried(schema.empty_table(), formats[0]).schema, schema, strict=True):
        codes = labels_of(full).codes if set(formats) & set(CODED) else {}
        fields.append(with_labels(own, replace(labels_of(own), codes=codes)) if codes else own)
    return pa.schema([public_field(one) for one in fields])


def released_names(
    target: Path,
    format: str | Sequence[str] | None,
    engine: str,
    given: Any,
    csv_safe: bool = False,
) -> list[str]:
    """Name the files of the released table, one a format, or refuse what an engine does not write.

    As the target says, or `table` with the formats' suffixes: the same whatever the engine.
    """
    formats = format.split(",") if isinstance(format, str) else format
    formats = None if formats is None else list(dict.fromkeys(one.strip() for one in formats))
    if is_file_target(target):
        own = format_of(target, write=True)
        if formats is not None and len(formats) > 1:
            raise BadInput(f"several formats go into a folder; give one instead of {target}")
        if formats is not None and formats != [own]:
            raise BadInput(f"{target} is a {own} file, but the format is {''.join(formats)}")
        if engine == "spark" and own == "parquet":
            raise BadInput(f"the engine spark writes folders; give one instead of {target}")
        names, formats = [target.name], [own]
    else:
        formats = [_default_format(given)] if formats is None else formats
        for one in formats or [""]:
            if one not in FORMATS.values():
                all_known = ", ".join(dict.fromkeys(FORMATS.values()))
                raise BadInput(f"there is no format '{one}'; known: {all_known}")
        names = [f"table.{one}" for one in formats]
    if csv_safe and not any(one.startswith("csv") for one in formats):
        raise BadInput(
            f"csv_safe is for CSV, where spreadsheets see formulas, not for {', '.join(formats)}"
        )
    for one in formats if engine != "memory" else ():
        if one not in _WRITES:
            raise BadInput(
                f"the engine {engine} writes {', '.join(_WRITES)}, not {one}; use --engine memory "
                "for it"
            )
    return names


def seal_for(target: Path, sign: str | Path | None) -> Seal:
    """Get the keys for a release, or refuse what cannot be sealed, before any work is done."""
    if sign is not None and is_file_target(target):
        raise BadInput(f"a release that is signed is a folder; give one instead of {target}")
    return Seal.of(sign)


def _default_format(given: Any) -> str:
    """Choose by what came in, never by where it was worked on."""
    if isinstance(given, str | Path):
        path = Path(given)
        return "parquet" if path.is_dir() or format_of(path) == "parquet" else "csv"
    return "csv" if home_of(given) is None else "parquet"


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as a JSON file that only its owner can read."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_private(path, text + "\n")
