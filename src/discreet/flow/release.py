"""A release: the protected table, what was decided, and what was done."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.assessment.assessing import assess
from discreet.assessment.assessment import Assessment
from discreet.check.check import CheckReport, check_release
from discreet.check.evidence import (
    Evidence,
    Plan,
    file_hmac,
    folder_hmacs,
    left_out,
    save_plan,
    suppressed_rows,
)
from discreet.check.folders import is_file_target
from discreet.draws import Draws
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.codebook import codebook
from discreet.flow.output import written_whole
from discreet.flow.publication import internal_facts, public_facts
from discreet.recipe.recipe import Recipe
from discreet.report import external_report, internal_report, summary_html
from discreet.table import write_table
from discreet.table.files import format_of
from discreet.table.labels import carried, public_field, take_rows
from discreet.table.signatures import FORMATS

README = """\
This folder is internal. Never share it.

It holds what proves the release and what would undo it: the seed, the plan, the map from released
to original rows, hashes of the input with their key. Share `public/` only.

recipe.toml      the recipe with its seeds; a rerun with it gives the same table, byte for byte
plan.json        what each step decided
log.json         versions, keyed hashes, timings, warnings, cells changed
rows.parquet     the original row (from 0) of each released row
schema.arrow     the types of the released columns
check.json       what the independent check found
assessment.json  risk and utility before and after, and the figures of the pictures
report.html      all of this for the review board; `discreet report` makes it again
"""


@dataclass
class Release:
    """What `protect` gives back.

    Attributes
    ----------
    table : pandas, polars or pyarrow table
        The protected table, of the kind, order and index of the input.
    plan : dict
        What each step decided.
    log : dict
        What was done: versions, keyed hash of the input, timings, warnings, cells changed.
    recipe : Recipe
        The recipe with its seed: run again, it gives the same table.
    check : CheckReport
        What the independent check verified.
    """

    table: Any
    plan: Plan
    log: dict[str, Any]
    recipe: Recipe
    check: CheckReport
    protected: pa.Table = field(repr=False)
    original: pa.Table = field(repr=False)
    source: Path | None = field(default=None, repr=False)

    @property
    def left_out(self) -> np.ndarray:
        """The suppressed records that are blank in the table and left out of the file, by row."""
        return left_out(self.plan)

    def assess(self) -> Assessment:
        """Measure risk and utility, before and after."""
        rows = np.delete(np.arange(len(self.protected)), self.left_out)
        return assess(
            self.original,
            self.protected.take(pa.array(rows)) if len(self.left_out) else self.protected,
            self.recipe.roles,
            recipe=self.recipe,
            rows=rows if len(self.left_out) else None,
            suppressed=suppressed_rows(self.plan),
        )

    def save(
        self,
        folder: str | Path,
        *,
        format: str | None = None,
        force: bool = False,
        assessment: Assessment | None = None,
    ) -> Path:
        """Write the release: `public/` to share, `internal/` to keep.

        Parameters
        ----------
        folder : str or Path
            Where to; with a table's suffix (`release.csv`) the table is written there, and
            `release.internal/` beside it.
        format : str, optional
            Of the table: csv, csv.gz, csv.zst, parquet, feather, xlsx, sav, dta or xpt; CSV where
            neither this nor a suffix says otherwise.
        force : bool
            Replace a release that is there.
        assessment : Assessment, optional
            Taken as it is; measured where not given.

        Returns
        -------
        Path
            Of the released table.

        Notes
        -----
        Rows are written in random order; `internal/rows.parquet` maps them back. The folder
        appears whole or not at all, after the written file was read again and checked.
        """
        target = Path(folder)
        name = released_name(target, format)
        with written_whole(target, force, self.source) as part:
            public, internal = part / "public", part / "internal"
            public.mkdir()
            internal.mkdir(mode=0o700)
            assert self.recipe.order_seed is not None  # `protect` drew one.
            rows = Draws(self.recipe.order_seed, "row order").permutation(len(self.protected))
            rows = rows[~np.isin(rows, self.left_out)]
            released = carried(take_rows(self.protected, rows), format_of(Path(name)))
            write_table(released, public / name)
            if not is_file_target(target):
                self._save_public(public, released)
            assessment = assessment or self.assess()
            self._save_internal(internal, rows, released.schema, assessment)
            key = bytes.fromhex(self.log["hash_key"])
            output = {"format": format_of(Path(name)), "rows": len(released)}
            log = self.log | {"output": output, "files": folder_hmacs(part, key)}
            report = internal / "report.html"
            report.write_text(internal_report(self._facts(log, assessment)), "utf-8")
            # The report tells the hashes of all files but its own.
            log["files"]["internal/report.html"] = file_hmac(report, key)
            write_json(internal / "log.json", log)
            evidence = replace(Evidence.load(internal), original=self.original)
            found = check_release(public / name, self.recipe, evidence, self.original)
            if not found.verified:
                raise BrokenPromise(f"the written release does not pass its check:\n{found}")
        return target if is_file_target(target) else target / "public" / name

    def _save_public(self, folder: Path, released: pa.Table) -> None:
        (folder / "codebook.md").write_text(codebook(self.recipe, released), "utf-8")
        report = external_report(public_facts(self.recipe, self.log, released))
        (folder / "report.html").write_text(report, "utf-8")

    def _facts(
        self, log: dict[str, Any] | None = None, assessment: Assessment | None = None
    ) -> dict[str, Any]:
        """Return what a report tells, with the log as it is written, and the assessment if made."""
        return internal_facts(
            self.recipe,
            self.plan,
            log or self.log,
            self.check.to_dict(),
            None if assessment is None else assessment.to_dict(),
        )

    def _save_internal(
        self, folder: Path, rows: np.ndarray, schema: pa.Schema, assessment: Assessment
    ) -> None:
        (folder / "README.txt").write_text(README, encoding="utf-8")
        self.recipe.dump(folder / "recipe.toml")
        save_plan(self.plan, folder)
        row_map = pa.table({"original_row": rows})
        parquet.write_table(row_map, folder / "rows.parquet", compression="zstd")
        types = pa.schema([public_field(field) for field in schema])
        (folder / "schema.arrow").write_bytes(types.serialize().to_pybytes())
        write_json(folder / "check.json", self.check.to_dict())
        write_json(folder / "assessment.json", assessment.to_dict())

    def _repr_html_(self) -> str:
        """Show notebooks what was done."""
        return summary_html(self._facts())

    def __repr__(self) -> str:
        rows, columns = self.protected.shape
        return f"<Release of {rows:,} rows and {columns} columns, {self.check.summary}>"


def released_name(target: Path, format: str | None) -> str:
    """Name the released table's file: as the target says, or `table` in the format's suffix."""
    if is_file_target(target):
        own = format_of(target, write=True)
        if format is not None and format != own:
            raise BadInput(f"{target} is a {own} file, but the format is {format}")
        return target.name
    format = format or "csv"
    if format not in FORMATS.values():
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise BadInput(f"there is no format '{format}'; known: {known}")
    return f"table.{format}"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write plain data as a JSON file."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
