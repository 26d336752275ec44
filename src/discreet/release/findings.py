"""What a check found of each promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

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
        """Give the findings with one status."""
        return [finding for finding in self.findings if finding.status == status]

    @property
    def summary(self) -> str:
        """Count the findings, in a few words."""
        statuses: tuple[Status, ...] = ("verified", "broken", "not verifiable")
        return ", ".join(f"{len(self.having(s))} {s}" for s in statuses if self.having(s))

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
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
    """

    table: pa.Table
    rows: np.ndarray | None = None

    def without(self, rows: Any) -> Shown:
        """Leave out some rows of the original, where it is known which they are."""
        if self.rows is None or not len(rows):
            return self
        (kept,) = np.nonzero(~np.isin(self.rows, rows))
        return Shown(self.table.take(pa.array(kept)), self.rows[kept])


def finding(promise: str, problem: str | None, good: str) -> Finding:
    """Say that a promise is broken where there is a problem, else that it is verified."""
    return Finding(promise, "broken", problem) if problem else Finding(promise, "verified", good)
