"""The measures of an assessment as rows: name, unit, before, after, guide value, how to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.report.page import Table, figure, share

Entry = Mapping[str, Any]
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

    def told(self, value: Any) -> str:
        """Write a figure in its unit."""
        return share(value) if self.unit == "%" else figure(value)

    def cells(self) -> tuple[str, ...]:
        """Give what a table shows."""
        verdict = {None: "", True: "met", False: "not met"}[self.met]
        guide = "" if self.guide is None else f"at most {self.told(self.guide)}"
        return (
            self.name,
            self.reading,
            guide,
            verdict,
            "" if self.unit == "%" else self.unit,
            self.told(self.before),
            self.told(self.after),
        )


# Key in the entry: name, unit, guide value, how to read it. Shares are shown in percent.
_CLASSES = {
    "smallest": ("smallest class", "records", None, "the k of k-anonymity that the table reaches"),
    "unique": ("records in classes under 2", "records", 0, "nobody else shares their quasi values"),
    "under_3": ("records in classes under 3", "records", 0, "at most one other shares them"),
    "under_5": ("records in classes under 5", "records", 0, "at most three others share them"),
    "average_risk": ("one over the class size, average", "%", AVERAGE, "chance to pick the right"),
    "classes": ("classes", "classes", None, "distinct tuples of the quasi columns"),
}
_INDIVIDUAL = {
    "largest": ("individual risk, largest", "%", LARGEST, "of the record most at risk"),
    "mean": ("individual risk, average", "%", AVERAGE, "chance to be found in the population"),
    "expected": ("individual risk, expected finds", "people", None, "if all are looked for"),
    "household": ("household risk, average", "%", AVERAGE, "that some member is found"),
}
_ATTACKERS = {
    "prosecutor": ("prosecutor, largest", "%", LARGEST, "the person is known to be in the file"),
    "journalist": ("journalist, largest", "%", LARGEST, "the person is from the population"),
    "marketer": ("marketer, average", "%", AVERAGE, "share of records picked right"),
}
_SUDA = {
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
    "il_metrics": ("information loss by moments", "in %", None, 0.0),
    "il1s": ("information loss IL1s", "", None, 0.0),
    "sse_ratio": ("squares lost", "in %", None, 0.0),
    "mean_absolute_correlation": ("mean absolute correlation", "", None, None),
    "entropy": ("entropy of changed columns", "bits", None, None),
    "contingency_loss": ("two-way tables moved", "%", None, 0.0),
    "null_rates": ("nulls in quasi columns", "%", None, None),
    "eigen": ("change of eigenvalues", "", None, 0.0),
    "correlation_distance": ("correlation distance", "", None, 0.0),
    "propensity_mse": ("propensity score error", "", None, 0.0),
}


def measured(assessment: Entry, family: str) -> list[Measured]:
    """Give the figures of `"risk"` or `"utility"`, in order."""
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
        before = entry["before"] if "before" in entry else untouched
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


HEAD = ("measure", "how to read it", "guide value", "", "unit", "before", "after")


def risk_table(assessment: Entry) -> Table | None:
    """Lay out the risk, before and after, beside the guide values."""
    rows = [row.cells() for row in measured(assessment, "risk")]
    return Table(HEAD, rows, 2, GUIDES_SAID) if rows else None


def utility_table(assessment: Entry) -> Table | None:
    """Lay out the utility of the table as a whole, before and after."""
    found = [row.cells() for row in measured(assessment, "utility")]
    if assessment.get("score") is not None:
        reading = "risk and loss in one: the lower, the better the trade"
        found.append(("score", reading, "", "", "in %", "", figure(assessment["score"])))
    rows = [(name, reading, *rest) for name, reading, _, _, *rest in found]
    head = (*HEAD[:2], *HEAD[4:])
    said = "A loss is 0 where nothing was changed. Each measure is defined in docs/measures.md."
    return Table(head, rows, 2, said) if rows else None


def column_table(assessment: Entry, changed: Mapping[str, int] | None, n: int | None) -> Table:
    """Lay out what became of each column: cells changed, moments, losses."""
    utility, risk = assessment["utility"], assessment["risk"]
    moments = utility.get("columns", {}).get("columns", {})
    lost = utility.get("il1s", {}).get("columns", {})
    near = risk.get("interval_disclosure", {}).get("columns", {})
    bits = utility.get("entropy", {}).get("columns", {})
    drawn = (assessment.get("figures") or {}).get("columns", {})
    names = dict.fromkeys([*(changed or {}), *drawn, *moments, *lost, *near, *bits])
    rows = []
    for name in names:
        own = moments.get(name, {})
        cells = "–" if changed is None or name not in changed else f"{changed[name]:,}"
        part = share(changed[name] / n) if changed and n and name in changed else "–"
        pairs = (own.get("mean"), own.get("sd"), bits.get(name))
        rows.append(
            (
                name,
                cells,
                part,
                *(figure(side) for pair in pairs for side in (pair or (None, None))),
                figure(lost.get(name)),
                share(near.get(name)),
            )
        )
    head = (
        "column",
        "cells changed",
        "of all",
        "mean before",
        "after",
        "sd before",
        "after",
        "bits before",
        "after",
        "IL1s",
        "cells near",
    )
    reading = (
        "Mean and standard deviation (sd) are in the column's own unit; bits are the entropy of a "
        "value; IL1s is the mean change of a cell in units of 1.41 sd (0: none); cells near are "
        "those within 5 % of an sd of their original."
    )
    return Table(head, rows, len(head) - 1, reading)
