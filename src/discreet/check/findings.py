"""What a check found of each promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from discreet.check.verdicts import PolicyReport

Status = Literal["verified", "broken", "not verifiable", "weak"]
NEEDS_INTERNAL = "needs the internal folder of the release"
NEEDS_ORIGINAL = "needs the internal folder and the original table"
ONLY_ORIGINAL = "needs the original table; give --original"  # where the internal folder is there


@dataclass(frozen=True)
class Finding:
    """One promise, and what became of it; or what is weak, though no promise is about it."""

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
    policy : PolicyReport or None
        What became of the rules of a policy, where one is given.
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    policy: PolicyReport | None = None

    @property
    def ok(self) -> bool:
        """True where no promise is broken."""
        return not self.having("broken")

    @property
    def verified(self) -> bool:
        """True where every promise is verified: what `protect` demands; weak ones are none."""
        return all(finding.status in ("verified", "weak") for finding in self.findings)

    def having(self, status: Status) -> list[Finding]:
        """Return the findings with one status."""
        return [finding for finding in self.findings if finding.status == status]

    @property
    def summary(self) -> str:
        """Count the findings, in a few words."""
        statuses: tuple[Status, ...] = ("verified", "broken", "not verifiable", "weak")
        return ", ".join(f"{len(self.having(s))} {s}" for s in statuses if self.having(s))

    @property
    def failures(self) -> str:
        """Say what is not verified, a line each, and how many promises are."""
        lines = [
            f"  {f.status}: {f.promise} ({f.detail})"
            for f in (*self.having("broken"), *self.having("not verifiable"))
        ]
        return "\n".join([*lines, f"  verified: {counted(len(self.having('verified')), 'other')}"])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        found: dict[str, Any] = {"ok": self.ok, "summary": self.summary, **asdict(self)}
        if self.policy is None:
            del found["policy"]
        else:
            found["policy"] |= {"status": self.policy.status, "summary": self.policy.summary}
        return found

    def __str__(self) -> str:
        lines = [f"{f.status:>14}: {f.promise} ({f.detail})" for f in self.findings]
        return "\n".join(
            [*lines, *self.notes, *([] if self.policy is None else [str(self.policy)])]
        )


def counted(number: int, what: str, many: str = "") -> str:
    """Write a number with what it counts; `many` is its plural where that is not with an s."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def finding(promise: str, problem: str | None, good: str) -> Finding:
    """Say that a promise is broken where there is a problem, else that it is verified."""
    return Finding(promise, "broken", problem) if problem else Finding(promise, "verified", good)
