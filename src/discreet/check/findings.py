"""What a check found of each promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.table import float_values, tuple_counts
from discreet.table.cells import plain

Status = Literal["verified", "broken", "not verifiable"]
NEEDS_INTERNAL = "needs the internal folder of the release"


@dataclass(frozen=True)
class Finding:
    """One promise, and what became of it."""

    promise: str
    status: Status
    detail: str


@dataclass(frozen=True)
class CheckReport:
    """What the check found of each promise.

    Attributes
    ----------
    findings : tuple of Finding
    notes : tuple of str
        What is no promise, but should be known.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True where no promise is broken."""
        return not self.having("broken")

    @property
    def verified(self) -> bool:
        """True where every promise is verified: what `protect` demands."""
        return all(finding.status == "verified" for finding in self.findings)

    def having(self, status: Status) -> list[Finding]:
        """Return the findings with one status."""
        return [finding for finding in self.findings if finding.status == status]

    @property
    def summary(self) -> str:
        """Count the findings, in a few words."""
        statuses: tuple[Status, ...] = ("verified", "broken", "not verifiable")
        return ", ".join(f"{len(self.having(s))} {s}" for s in statuses if self.having(s))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {"ok": self.ok, "summary": self.summary} | asdict(self)

    def __str__(self) -> str:
        lines = [f"{f.status:>14}: {f.promise} ({f.detail})" for f in self.findings]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class Shown:
    """What a release shows of its records.

    Attributes
    ----------
    table : pyarrow.Table
        Without suppressed records, which a table in memory keeps as rows of nulls.
    rows : ndarray of int64 or None
        The row of the original that each came from, where that is known.
    counts : ndarray of int64 or None
        Records that each row of the table stands for; one each where None.
    """

    table: pa.Table
    rows: np.ndarray | None = None
    counts: np.ndarray | None = None

    # What it would take to know where each record came from.
    needs: ClassVar[str] = NEEDS_INTERNAL

    @property
    def column_names(self) -> list[str]:
        """The released columns."""
        return self.table.column_names

    @property
    def num_rows(self) -> int:
        """The number of records."""
        return self.table.num_rows if self.counts is None else int(self.counts.sum())

    def without(self, rows: Any) -> Shown:
        """Leave out some rows of the original, where it is known which they are."""
        if self.rows is None or not len(rows):
            return self
        (kept,) = np.nonzero(~np.isin(self.rows, rows))
        return Shown(self.table.take(pa.array(kept)), self.rows[kept])

    def over(self, columns: Sequence[str]) -> Shown:
        """Return what is shown in some columns: rows with these, or distinct tuples of them."""
        return self

    def values(self, name: str) -> tuple[pa.ChunkedArray, np.ndarray, int]:
        """Return the distinct values of a column, their counts, and the number of nulls."""
        column = plain(self.table[name])
        counted = pc.value_counts(column.drop_null())
        values = pa.chunked_array([counted.field("values")])
        return values, counted.field("counts").to_numpy(), column.null_count

    def ends(self, name: str) -> tuple[float, float] | None:
        """Return a column's smallest and largest number; None where it holds nulls alone."""
        values = float_values(self.table[name], name)
        if np.isnan(values).all():
            return None
        return float(np.nanmin(values)), float(np.nanmax(values))

    def unique(self, columns: list[str]) -> int:
        """Count the records that no other shares some columns with."""
        _, counts = tuple_counts(self.table, columns)
        return int((counts == 1).sum())


def finding(promise: str, problem: str | None, good: str) -> Finding:
    """Say that a promise is broken where there is a problem, else that it is verified."""
    return Finding(promise, "broken", problem) if problem else Finding(promise, "verified", good)
