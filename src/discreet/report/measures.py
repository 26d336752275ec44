"""The measures of an assessment as rows: name, unit, before, after, guide value, how to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.clock import clock_unit, length_unit, written
from discreet.report.page import Table, figure, share

Entry = Mapping[str, Any]
Named = dict[str, tuple[str, str, float | None, str]]
# What a review usually asks for. 0.09 is the European Medicines Agency's (policy 0070) and Health
# Canada's; the others are ours: nobody alone, one in twenty, every second cell.
LARGEST, AVERAGE, INTERVALS = 0.09, 0.05, 0.5
GUIDES_SAID = (
    "Guide values are this report's, for a first look; the board sets its own. 9 % for the largest "
    "risk of a record is what the European Medicines Agency (policy 0070) and Health Canada ask "
    "for; 5 % on average and for linkage is one in twenty, 50 % of cells every second one, and a "
    "class under 2, 3 or 5 should have no records."
)


@dataclass(frozen=True)
class Measured:
    """One figure, before and after.

    Attributes
    ----------
    name, unit, reading : str
    before, after : number or None
    guide : float or None
        The figure after should not be above it.
    """

    name: str
    unit: str
    before: Any
    after: Any
    guide: float | None
    reading: str

    @property
    def met(self) -> bool | None:
        """Whether the guide value is kept; None where there is none."""
        if self.guide is None or self.after is None:
            return None
        return bool(self.after <= self.guide)

    @property
    def title(self) -> str:
        """The name with its unit; shares have theirs beside the figure."""
        return self.name if self.unit in ("", "%", "percent") else f"{self.name} ({self.unit})"

    def told(self, value: Any) -> str:
        """Write a figure; a share, and what is in percent already, with the sign."""
        if self.unit == "percent":
            return share(None if value is None else value / 100)
        return share(value) if self.unit == "%" else figure(value)

    def cells(self) -> tuple[str, ...]:
        """Return what a table shows: name, reading, guide value, whether it is met, figures."""
        verdict = {None: "", True: "met", False: "not met"}[self.met]
        guide = "" if self.guide is None else f"≤ {self.told(self.guide)}"
        sides = (self.told(self.before), self.told(self.after))
        return (self.title, self.reading, guide, verdict, *sides)


# Key in the entry: name, unit, guide value, how to read it. Shares are shown in percent.
_CLASSES: Named = {
    "smallest": ("smallest class", "records", None, "the k of k-anonymity that the table reaches"),
    "unique": ("in classes under 2", "records", 0, "nobody else shares their quasi values"),
    "under_3": ("in classes under 3", "records", 0, "at most one other shares them"),
    "under_5": ("in classes under 5", "records", 0, "at most three others share them"),
    "classes": ("classes", "tuples", None, "distinct tuples of the quasi columns"),
}
_INDIVIDUAL: Named = {
    "largest": ("individual risk, largest", "%", LARGEST, "of the record most at risk"),
    "mean": ("individual risk, average", "%", AVERAGE, "chance to be found in the population"),
    "expected": ("individual risk, expected finds", "people", None, "if all are looked for"),
    "household": ("household risk, average", "%", AVERAGE, "that some member is found"),
}
_ATTACKERS: Named = {
    "prosecutor": ("prosecutor, largest", "%", LARGEST, "the person is known to be in the file"),
    "journalist": ("journalist, largest", "%", LARGEST, "the person is from the population"),
    "marketer": ("marketer, average", "%", AVERAGE, "share of records picked right"),
}
_SUDA: Named = {
    "largest_dis": ("SUDA, largest DIS", "%", LARGEST, "that a match to a special unique is right"),
    "scored": ("SUDA, records scored", "records", None, "a few values single them out"),
}
_BY_KEY = {
    "class_sizes": _CLASSES,
    "individual_risk": _INDIVIDUAL,
    "attackers": _ATTACKERS,
    "suda2": _SUDA,
}
# Measures of one figure: name, unit, guide value, of the original itself.
_SINGLE: dict[str, tuple[str, str, float | None, Any]] = {
    "distance_linkage": ("linkage by distance", "%", AVERAGE, None),
    "probabilistic_linkage": ("linkage by probability", "%", AVERAGE, None),
    "interval_disclosure": ("interval disclosure", "%", INTERVALS, 1.0),
    "il_metrics": ("information loss by moments", "percent", None, 0.0),
    "il1s": ("information loss IL1s", "1.41 sd", None, 0.0),
    "sse_ratio": ("squares lost", "percent", None, 0.0),
    "mean_absolute_correlation": ("mean absolute correlation", "0 to 1", None, None),
    "entropy": ("entropy of changed columns", "bits", None, None),
    "contingency_loss": ("two-way tables moved", "%", None, 0.0),
    "null_rates": ("nulls in quasi columns", "%", None, None),
    "eigen": ("change of eigenvalues", "", None, 0.0),
    "correlation_distance": ("correlation distance", "", None, 0.0),
    "propensity_mse": ("propensity score error", "", None, 0.0),
}


def measured(assessment: Entry, family: str) -> list[Measured]:
    """Return the figures of `"risk"` or `"utility"`, in order."""
    return [row for name, entry in assessment[family].items() for row in _rows(name, entry)]


def _rows(name: str, entry: Entry) -> Iterator[Measured]:
    if name == "columns":
        return
    if name == "diversity":
        yield from _diversity(entry)
    elif name in _BY_KEY:
        for key, (said, unit, guide, reading) in _BY_KEY[name].items():
            if key in entry["after"]:
                before = entry["before"].get(key)
                yield Measured(said, unit, before, entry["after"][key], guide, reading)
    else:
        said, unit, guide, untouched = _SINGLE.get(name, (name.replace("_", " "), "", None, None))
        after = entry["after"] if "after" in entry else entry.get("value")
        before = entry.get("before", untouched)
        if not isinstance(after, Mapping):
            yield Measured(said, unit, before, after, guide, entry["means"])
    if "paper" in entry:
        reading = "the same by an intruder who knows half of the columns"
        yield Measured(f"{said}, weaker", unit, None, entry["paper"], guide, reading)


def _diversity(entry: Entry) -> Iterator[Measured]:
    said = {
        "l": ("fewest distinct values in a class", "values"),
        "t": ("farthest that a class is from the table", ""),
        "alpha": ("largest share of one value in a class", "%"),
    }
    for column, sides in entry["columns"].items():
        for key, (reading, unit) in said.items():
            if key in sides["after"]:
                before = sides.get("before", {}).get(key)
                name = f"{key} of {column}"
                yield Measured(name, unit, before, sides["after"][key], None, reading)


HEAD = ("measure", "how to read it", "guide value", "kept", "before", "after")


def risk_table(assessment: Entry) -> Table | None:
    """Lay out the risk, before and after, beside the guide values."""
    rows = [row.cells() for row in measured(assessment, "risk")]
    return Table(HEAD, rows, 2, GUIDES_SAID) if rows else None


def scored(assessment: Entry) -> list[Measured]:
    """Return the score, where there is one."""
    score = assessment.get("score")
    reading = "risk and loss in one: the lower, the better the trade"
    return [] if score is None else [Measured("score", "percent", None, score, None, reading)]


def utility_table(assessment: Entry) -> Table | None:
    """Lay out the utility of the table as a whole, before and after."""
    found = [*measured(assessment, "utility"), *scored(assessment)]
    rows = [(row.title, row.reading, *row.cells()[-2:]) for row in found]
    said = "A loss is 0 where nothing was changed. Each measure is defined in docs/measures.md."
    return Table((*HEAD[:2], *HEAD[-2:]), rows, 2, said) if rows else None


def column_table(assessment: Entry, changed: Mapping[str, int] | None, n: int | None) -> Table:
    """Lay out what each column lost: cells changed, information, nearness to the original."""
    utility, risk = assessment["utility"], assessment["risk"]
    lost = utility.get("il1s", {}).get("columns", {})
    near = risk.get("interval_disclosure", {}).get("columns", {})
    bits = utility.get("entropy", {}).get("columns", {})
    drawn = (assessment.get("figures") or {}).get("columns", {})
    rows = []
    for name in dict.fromkeys([*(changed or {}), *drawn, *lost, *near, *bits]):
        cells = None if changed is None else changed.get(name)
        part = None if cells is None or not n else cells / n
        sides = (figure(side) for side in bits.get(name, (None, None)))
        own = (figure(cells), share(part), figure(lost.get(name)), share(near.get(name)))
        rows.append((name, *own, *sides))
    head = ("column", "cells changed", "of all", "IL1s", "cells near", "bits before", "bits after")
    reading = (
        "IL1s is the mean change of a cell in units of 1.41 standard deviations (0: none); cells "
        "near are those within 5 % of a standard deviation of their original; bits are the entropy "
        "of a value. A dash stands for a figure that was not taken, mostly of unchanged columns."
    )
    return Table(head, rows, len(head) - 1, reading)


def moment_table(assessment: Entry) -> Table | None:
    """Lay out mean and standard deviation of the numeric columns, before and after."""
    drawn = (assessment.get("figures") or {}).get("columns", {})
    rows = []
    for name, own in assessment["utility"].get("columns", {}).get("columns", {}).items():
        dates = drawn.get(name, {}).get("kind") == "date"
        spread = max((sd for sd in own["sd"] if sd is not None), default=0.0)
        means = (_date(side, spread) if dates else figure(side) for side in own["mean"])
        spreads = (_length(side) if dates else figure(side) for side in own["sd"])
        rows.append((name, *means, *spreads))
    head = ("column", "mean before", "mean after", "sd before", "sd after")
    reading = "Mean and standard deviation (sd) of the values that are there, in the column's unit."
    return Table(head, rows, 4, reading) if rows else None


def _date(seconds: float | None, spread: float) -> str:
    if seconds is None:
        return "–"
    # Ten standard deviations are about what a column spans.
    return written([seconds], clock_unit([seconds], span=10 * spread))[0].replace("T", " ")


def _length(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    name, length = length_unit(seconds)
    return f"{figure(seconds / length)} {name}"
