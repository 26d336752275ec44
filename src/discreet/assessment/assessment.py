"""Assess a release: risk and utility, before and after."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.assessment import catalogue
from discreet.assessment.facts import Facts
from discreet.assessment.figures import figures_of
from discreet.assessment.targets import targets_of
from discreet.check.two_tables import parted
from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, nearest
from discreet.measure import NEEDS, Entry, Figure, Guide, LeftOut, Measure, in_units
from discreet.private import write_private
from discreet.recipe.recipe import Recipe
from discreet.recipe.roles import Roles
from discreet.report import internal_report
from discreet.report.measures import guide_line
from discreet.report.notebook import assessment_html
from discreet.risk import distance_linkage
from discreet.table.classes import encode
from discreet.utility.scores import normalized_score_of

SCORE = Figure(
    "score", "", "percent", reading="risk and loss in one: the lower, the better the trade"
)


@dataclass(frozen=True, repr=False)
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
    targets : dict of str to Guide or None
        Guide values that the recipe sets in the place of the built-in ones, by figure.
    """

    risk: dict[str, Any]
    utility: dict[str, Any]
    score: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Any] | None = field(default=None, repr=False)
    targets: dict[str, Guide | None] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain data."""
        return {
            "risk": self.risk,
            "utility": self.utility,
            "score": self.score,
            "left_out": self.left_out,
            "shown": self.shown(),
            "figures": self.figures,
        }

    def to_json(self) -> str:
        """Return the assessment as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the assessment as an HTML page with pictures; write it to a path if given."""
        page = internal_report({"assessment": self.to_dict()})
        if path is not None:
            write_private(path, page)
        return page

    def _repr_html_(self) -> str:
        """Show notebooks whether guide values are met, and the key figures."""
        return assessment_html(self.to_dict(), self.notes())

    def shown(self) -> list[dict[str, Any]]:
        """Return each figure as plain data: its title, how to read it, before and after."""
        found = [*catalogue.shown("risk", self.risk), *catalogue.shown("utility", self.utility)]
        if self.score is not None:
            found.append(catalogue.told("utility", "score", SCORE, None, self.score))
        for row in found:
            if row["name"] in self.targets:
                target = self.targets[row["name"]]
                row["guide"] = None if target is None else asdict(target)
        return found

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Return what to print: measure, before, after, how to read it."""
        for row in self.shown():
            # A column that did not change is in the dict, not in the way.
            if row["column"] is None or row["before"] != row["after"]:
                yield row["name"], show(row["before"]), show(row["after"]), row["reading"]

    def notes(self) -> list[str]:
        """Return what the measures warned of."""
        entries = (self.risk | self.utility).values()
        return list(dict.fromkeys(note for entry in entries for note in entry.get("notes", ())))

    def __repr__(self) -> str:
        said = guide_line(self.to_dict()) or "no guide value fits"
        return f"<Assessment by {len(self.risk) + len(self.utility)} measures, {said}>"

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

    The frames are as `Facts` takes them; the second may lack rows, those that were left out, and
    columns. Measures are those that fit where not given.

    All records count, if they are in memory. Otherwise classes, moments, losses and interval
    disclosure are of all: in two passes over the rows and a count each of the quasi columns and of
    the columns that changed. Records are linked within a sample of 5,000, drawn by `order_seed`:
    its entries have `sample`, `of` and Wilson's 95 % `interval` of the share after. Distributions
    for pictures are of a sample of 100,000. What needs all rows at once is left out.
    """
    asked = [measures] if isinstance(measures, str) else measures
    for name in asked or ():
        if name not in catalogue.measures():
            raise BadInput(f"there is no measure '{name}'; {nearest(name, catalogue.measures())}")
    _check_columns(before.schema.names, after.schema.names, recipe.roles)
    after, groups = parted(after, recipe)
    facts = Facts(before, after, recipe, suppressed)
    if groups is not None and isinstance(after, MemoryFrame):
        # In the order of the original, in which measures have the rows.
        order = np.argsort(after.rows, kind="stable")
        facts.groups = encode(groups.take(pa.array(order)), "the groups")[0]
    return taken(facts, asked)


def _check_columns(before: Sequence[str], after: Sequence[str], roles: Roles) -> None:
    """Refuse roles of columns that the original lacks, and tables that share none."""
    for column in roles.named():
        if column not in before:
            raise BadInput(f"the original has no column '{column}'; {nearest(column, before)}")
    if not set(before) & set(after):
        raise BadInput("the two tables share no column")


def taken(tables: Facts, asked: Sequence[str] | None) -> Assessment:
    """Take some measures, or those that fit, and say why others were left out."""
    left_out: dict[str, str] = {}
    with warnings.catch_warnings(record=True) as recoded:
        warnings.simplefilter("always")
        # What is wrong with the rows themselves is no matter of one measure.
        _ = tables.seen
    found: dict[str, dict[str, Entry]] = {family: {} for family in catalogue.FAMILIES}
    for family, taken in found.items():
        for name, measure in catalogue.measures(family).items():
            if asked is not None and name not in asked:
                continue
            try:
                if asked is None:
                    _refuse(measure, tables)
                taken[name] = _take(measure, tables)
            except (LeftOut, BadInput) as error:
                left_out[name] = str(error)
            except ArithmeticError as error:
                left_out[name] = f"values are too large or too small to compute with ({error})"
    # What libraries warn their users of is no word on this table.
    told = [str(w.message) for w in recoded if issubclass(w.category, UserWarning)]
    if told:
        left_out["measures of numbers"] = "; ".join(told)
    for column in tables.roles.quasi:
        if column not in tables.quasi:
            left_out[f"quasi column '{column}'"] = "it is not in the protected table"
    score = figures = None
    if asked is None:
        # The measures were taken before, so their warnings are told already.
        with warnings.catch_warnings(action="ignore"):
            figures = figures_of(tables)
            try:
                score = _score(tables, found["risk"] | found["utility"])
            except (LeftOut, BadInput) as error:
                left_out["score"] = str(error)
    targets = targets_of(tables.recipe)
    return Assessment(found["risk"], found["utility"], score, left_out, figures, targets)


def _score(t: Facts, taken: dict[str, Entry]) -> float:
    """Return the normalised score from figures that were taken, and linkage by what changed."""
    for name in ("il_metrics", "il1s", "interval_disclosure"):
        if name not in taken or taken[name]["value"] is None:
            raise LeftOut(f"needs {name}, which was left out")
    if t.to_link.too_many_to_link(t.changed_numeric):
        raise LeftOut("needs distance_linkage, which takes long on so many records")
    return normalized_score_of(
        il=taken["il_metrics"]["value"],
        mean_il1s=taken["il1s"]["value"],
        idr=100 * taken["interval_disclosure"]["value"],
        dld=100 * distance_linkage(*t.to_link.changed(), known="all"),
    )


def _refuse(measure: Measure, tables: Facts) -> None:
    """Leave out what is not to be taken unless it is asked for by name."""
    guilty = [column for column in tables.quasi if column in tables.perturbed]
    by_name = f"ask for it by name: measures=['{measure.name}']"
    if measure.by_frequency and guilty:
        for need in measure.needs:
            if need != "all rows":  # That is the engine's matter, and this is the table's.
                NEEDS[need](tables)
        raise LeftOut(
            f"{tables.perturbed[guilty[0]]} perturbs the quasi column '{guilty[0]}', so that "
            "classes of equal values mean nothing; use informed_linkage and informed_values, or "
            f"{by_name}"
        )
    why = measure.on_request
    why = why if isinstance(why, str) else why(tables)
    if why:
        raise LeftOut(f"{why}; {by_name}")


def _take(measure: Measure, tables: Facts) -> Entry:
    """Take a measure; its warnings, and figures that are not finite, become notes."""
    for need in measure.needs:
        NEEDS[need](tables)
    endless: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _finite(measure.take(tables), "", endless)
    means = measure.reading
    if "counts" in found:
        means = in_units(means, found["counts"])
    entry: Entry = {"means": means, **found}
    if "sample" in entry:
        entry["means"] += _sampled(entry)
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    notes += [f"{where} is not a finite number" for where in endless]
    if notes:
        entry["notes"] = list(dict.fromkeys(notes))
    return entry


def _sampled(entry: Entry) -> str:
    """Say of which sample a figure is; where records were looked for, that it is no lower."""
    of = f"a sample of {entry['sample']:,} of {entry['of']:,}"
    if "interval" not in entry:
        return f", estimated on {of} records"
    return (
        f" (an upper estimate), looked for among {of}: there an intruder finds at least as many "
        "as in the whole, having fewer to confuse a record with"
    )


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


def show(value: Any) -> str:
    """Write a figure for the terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
