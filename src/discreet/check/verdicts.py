"""What became of the rules of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["kept", "missed", "open"]
STATUSES: tuple[Status, ...] = ("kept", "missed", "open")
SPARE = "another reading is kept"


@dataclass(frozen=True)
class Verdict:
    """One rule, and whether a release keeps it.

    Attributes
    ----------
    rule, says, source, date
        The kind of rule, what it asks for, and where and when that was written.
    status : {"kept", "missed", "open"}
        Open: it cannot be decided from what is there.
    found : str
        The figure, in words.
    records : int or None
        The records that miss it; None where it is not about records.
    remedy : str
        What to do where it is missed, or what is needed to decide it where it is open.
    either : str or None
        Rules with the same word are readings of one.
    excused : tuple of str
        Columns for which the rule is kept only because the recipe's `not_identifiers` lists them.
    """

    rule: str
    says: str
    source: str
    date: str
    status: Status
    found: str
    records: int | None = None
    remedy: str = ""
    either: str | None = None
    excused: tuple[str, ...] = ()


@dataclass(frozen=True)
class PolicyReport:
    """What became of each rule of a policy.

    Attributes
    ----------
    policy, title, source, date, url
        Whose rules they are.
    verdicts : tuple of Verdict
    gone : tuple of str
        What the recipe names for its policy and cannot be read.
    """

    policy: str
    title: str
    source: str
    date: str
    url: str | None
    verdicts: tuple[Verdict, ...]
    gone: tuple[str, ...] = ()

    def having(self, status: Status) -> list[Verdict]:
        """Return the verdicts with one status; not of readings that another makes up for."""
        spare = self.spare
        return [one for one in self.verdicts if one.status == status and one not in spare]

    @property
    def spare(self) -> list[Verdict]:
        """The readings that are not kept, and need not be: another of the same rule is."""
        kept = {one.either for one in self.verdicts if one.status == "kept"} - {None}
        return [one for one in self.verdicts if one.status != "kept" and one.either in kept]

    @property
    def status(self) -> Status:
        """Missed where a rule is, else open where one is, else kept."""
        return next((one for one in ("missed", "open") if self.having(one)), "kept")

    @property
    def summary(self) -> str:
        """Count the verdicts, in a few words."""
        found = [f"{len(self.having(s))} {s}" for s in STATUSES if self.having(s)]
        if excused := sum(bool(one.excused) for one in self.having("kept")):
            found[0] += f" ({excused} on the recipe's word)"
        if many := len(self.spare):
            found.append(f"{many} other reading{'s' * (many > 1)} not kept")
        return ", ".join(found)

    def __str__(self) -> str:
        lines = [f"{self.title} ({self.source}, {self.date}): {self.summary}"]
        for one in self.verdicts:
            remedy = f"; {SPARE}" if one in self.spare else f"; {one.remedy}" if one.remedy else ""
            lines.append(f"{one.status:>14}: {one.says} ({one.found}{remedy})")
        return "\n".join(lines)
