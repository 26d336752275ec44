"""Assess a release: risk and utility, before and after."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.assessment.facts import Facts
from discreet.assessment.figures import figures_of
from discreet.assessment.measuring import (
    BY_FREQUENCY,
    ON_REQUEST,
    RISK,
    UTILITY,
    score_of,
)
from discreet.assessment.rows import LeftOut
from discreet.engines import Frame
from discreet.errors import BadInput, nearest
from discreet.recipe.recipe import Recipe
from discreet.recipe.roles import Roles
from discreet.report import internal_report, summary_html


@dataclass(frozen=True)
class Assessment:
    """Risk and utility of a release, before and after.

    Attributes
    ----------
    risk, utility : dict
        Measures by name; each says in `means` how to read it.
    score : float or None
        One figure for both, in percent, where it can be given.
    left_out : dict of str to str
        Measures that were not taken, and why.
    figures : dict or None
        What a report's pictures show: counts in bins and the like. None where measures were asked
        for by name.
    """

    risk: dict[str, Any]
    utility: dict[str, Any]
    score: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Any] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain data."""
        return {
            "risk": self.risk,
            "utility": self.utility,
            "score": self.score,
            "left_out": self.left_out,
            "figures": self.figures,
        }

    def to_json(self) -> str:
        """Return the assessment as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the assessment as an HTML page with pictures; write it to a path if given."""
        page = internal_report({"assessment": self.to_dict()})
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _repr_html_(self) -> str:
        """Show notebooks the key figures."""
        return summary_html({"assessment": self.to_dict()})

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Return what to print: measure, before, after, how to read it."""
        for name, entry in (self.risk | self.utility).items():
            untouched = {"interval_disclosure": 1.0}.get(name, 0.0)
            yield from _rows(name, entry, untouched)
        if self.score is not None:
            yield "score", "", _show(self.score), "risk and loss in one, in percent"

    def notes(self) -> list[str]:
        """Return what the measures warned of."""
        entries = (self.risk | self.utility).values()
        return list(dict.fromkeys(note for entry in entries for note in entry.get("notes", ())))

    def __str__(self) -> str:
        lines = [("measure", "before", "after"), *(row[:3] for row in self.rows())]
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        text = [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines
        ]
        text += [f"note: {note}" for note in self.notes()]
        text += [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join(text)


def assess_frames(
    before: Frame,
    after: Frame,
    recipe: Recipe,
    *,
    suppressed: int = 0,
    measures: Sequence[str] | None = None,
) -> Assessment:
    """Measure risk and utility of a protected table against its original, where their rows are.

    Parameters
    ----------
    before, after : Frame
        The rows of the second have their numbers in the first. It may lack rows, those that were
        left out, and columns.
    recipe : Recipe
        What was done.
    suppressed : int
        Records that were suppressed, whether they are there after or not.
    measures : sequence of str, optional
        The measures to take, by name, and no others; those that fit where not given.

    Returns
    -------
    Assessment
        Of all records, if they are in memory. Otherwise classes, moments, losses and interval
        disclosure are: in two passes over the rows and a count each of the quasi columns and of
        the columns that changed. Records are linked within a sample of 5,000, drawn by
        `order_seed`: its entries have `sample`, `of` and Wilson's 95 % `interval` of the share
        after. Distributions for pictures are of a sample of 100,000. What needs all rows at once
        is left out.
    """
    measures = [measures] if isinstance(measures, str) else measures
    for name in measures or ():
        if name not in RISK | UTILITY:
            raise BadInput(f"there is no measure '{name}'; {nearest(name, RISK | UTILITY)}")
    _check_columns(before.schema.names, after.schema.names, recipe.roles)
    return _taken(Facts(before, after, recipe, suppressed), measures)


def _check_columns(before: Sequence[str], after: Sequence[str], roles: Roles) -> None:
    """Refuse roles of columns that the original lacks, and tables that share none."""
    for column in roles.named():
        if column not in before:
            raise BadInput(f"the original has no column '{column}'; {nearest(column, before)}")
    if not set(before) & set(after):
        raise BadInput("the two tables share no column")


def _taken(tables: Facts, measures: Sequence[str] | None) -> Assessment:
    """Take some measures, or those that fit, and say why others were left out."""
    left_out: dict[str, str] = {}
    with warnings.catch_warnings(record=True) as recoded:
        warnings.simplefilter("always")
        # What is wrong with the rows themselves is no matter of one measure.
        _ = tables.seen
    found: list[dict[str, Any]] = []
    for family in (RISK, UTILITY):
        taken = {}
        for name, measure in family.items():
            if measures is not None and name not in measures:
                continue
            try:
                if measures is None:
                    _refuse(name, tables)
                taken[name] = _take(measure, tables)
            except (LeftOut, BadInput) as error:
                left_out[name] = str(error)
            except ArithmeticError as error:
                left_out[name] = f"values are too large or too small to compute with ({error})"
        found.append(taken)
    if recoded:
        left_out["measures of numbers"] = "; ".join(str(w.message) for w in recoded)
    for column in tables.roles.quasi:
        if column not in tables.quasi:
            left_out[f"quasi column '{column}'"] = "it is not in the protected table"
    score = figures = None
    if measures is None:
        # The measures were taken before, so their warnings are told already.
        with warnings.catch_warnings(action="ignore"):
            figures = figures_of(tables)
            try:
                score = score_of(tables, *found)
            except (LeftOut, BadInput) as error:
                left_out["score"] = str(error)
    return Assessment(found[0], found[1], score, left_out, figures)


def _refuse(name: str, tables: Facts) -> None:
    """Leave out what is not to be taken unless it is asked for by name."""
    guilty = [column for column in tables.quasi if column in tables.perturbed]
    by_name = f"ask for it by name: measures=['{name}']"
    if name in BY_FREQUENCY and guilty:
        raise LeftOut(
            f"{tables.perturbed[guilty[0]]} perturbs the quasi column '{guilty[0]}', so that "
            "classes of equal values mean nothing; use distance_linkage and interval_disclosure, "
            f"or {by_name}"
        )
    if name == "diversity" and tables.quasi and tables.frequencies[1].sample.min(initial=2) < 2:
        raise LeftOut(
            "records are alone in their class, where l is 1 whatever they hold; see class_sizes, "
            f"or {by_name}"
        )
    columns = tables.quasi or tables.changed_numeric
    n = tables.to_link.num_rows if "linkage" in name else 0
    if (name == "distance_linkage" and tables.to_link.too_many_to_link(columns)) or (
        name == "probabilistic_linkage" and n > 20_000
    ):
        raise LeftOut(f"it takes long on {n:,} records; {by_name}")
    if name in ON_REQUEST:
        raise LeftOut(f"{ON_REQUEST[name]}; {by_name}")


def _take(measure: Callable[[Facts], dict[str, Any]], tables: Facts) -> dict[str, Any]:
    """Take a measure; its warnings, and figures that are not finite, become notes."""
    endless: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entry = _finite(measure(tables), "", endless)
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    notes += [f"{where} is not a finite number" for where in endless]
    if notes:
        entry["notes"] = list(dict.fromkeys(notes))
    return entry


def _finite(value: Any, where: str, endless: list[str]) -> Any:
    """Replace what JSON cannot hold, NaN and infinity, by None, and list where."""
    if isinstance(value, dict):
        return {k: _finite(part, f"{where} {k}".strip(), endless) for k, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part, where, endless) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        endless.append(where)
        return None
    return value


_HIDDEN = {"records", "average_risk", "columns"}
_READ = {
    "classes": "distinct tuples of the quasi columns",
    "smallest": "records in the smallest class: the k of k-anonymity",
    "unique": "records that no other shares all quasi columns with",
    "under_3": "records that share these with at most one other",
    "under_5": "records that share these with at most three others",
    "mean": "chance that a record's person is found in the population",
    "expected": "people found, if all are looked for",
    "largest": "chance of the record most at risk",
    "household": "chance that some member of the household is found, mean",
    "prosecutor": "largest chance to pick a person's record, known to be in the file",
    "marketer": "share of records picked right",
    "journalist": "largest chance to pick a person's record, from the population",
    "largest_dis": "largest chance that a match to a special unique is right",
    "scored": "records that a few values single out",
    "l": "fewest distinct values in a class",
    "t": "farthest that a class's values are from the table's",
    "alpha": "largest share of one value in a class",
}


def _rows(name: str, entry: Any, untouched: float) -> Iterator[tuple[str, str, str, str]]:
    means = entry["means"]
    if name in ("diversity", "columns"):
        for column, figures in entry["columns"].items():
            for key, before, after in _pairs(figures):
                # What did not change is in the dict, not in the way.
                if before != after:
                    reading = _READ.get(key, "") if name == "diversity" else ""
                    yield f"{key} of {column}", _show(before), _show(after), reading
        return
    before, after = entry.get("before"), entry.get("after")
    if isinstance(after, dict):
        for key in after:
            if key not in _HIDDEN:
                yield f"{name}: {key}", _show(before[key]), _show(after[key]), _READ[key]
        return
    if "after" in entry:
        yield name, _show(before), _show(after), means
        return
    yield name, _show(untouched), _show(entry["value"]), means
    if name in ("interval_disclosure", "il1s"):
        for column, value in entry["columns"].items():
            yield f"  {column}", _show(untouched), _show(value), ""


def _pairs(figures: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Return a column's figures before and after, whichever way round they are kept."""
    if "after" in figures:
        for key, after in figures["after"].items():
            yield key, figures.get("before", {}).get(key), after
        return
    for key, pair in figures.items():
        if isinstance(pair, list):
            yield key, *pair


def _show(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
