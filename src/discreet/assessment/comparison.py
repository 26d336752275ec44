"""Compare releases of one table: both sides of risk, and loss, and which are not dominated.

Risk has two sides: that a record is found (identity), and that one who has found it learns its
confidential values (attribute). A release that protects the one is not beaten by one that protects
the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet.assessment.assessment import Assessment, show
from discreet.assessment.catalogue import axes
from discreet.assessment.learned import values_learned
from discreet.assessment.opened import Opened, opened
from discreet.check.folders import find_release
from discreet.check.holdout import groups_of
from discreet.errors import BadInput
from discreet.measure import Figure
from discreet.private import write_private
from discreet.recipe.recipe import Recipe
from discreet.report.compare import VERDICTS, axis_names
from discreet.utility import information_loss

LINKAGE, LEARNED, INFORMATION = "linkage", "values_learned", "information_loss"
# What releases by any methods can be ranked by, beside the figures of the measures taken.
_ANY_METHOD = {
    "risk": {LINKAGE: Figure(
        "share of records found", unit="%",
        reading="share of records that the best of the intruders measured finds",
    )},
    "loss": {INFORMATION: Figure(
        "share of information lost", unit="%",
        reading="share of what the columns told that the release no longer tells",
    )},
}  # fmt: skip
# The other side of risk, where the roles name a confidential column.
_ATTRIBUTE = Figure(
    "share of confidential values learned", unit="%",
    reading="share of the confidential values that one who has found a record learns from it",
)  # fmt: skip
# Parameters of a step that say nothing of how strongly it protects.
_NOT_SHOWN = {"method", "columns", "promise", "precision"}


@dataclass(frozen=True)
class Compared:
    """One release of a comparison: its identity risk, attribute risk and loss; None if not taken.

    A step has its method, its columns, and the parameters that one of the releases sets other than
    by default; of a file, its name. A release is dominated where another is at least as good in
    all three, or in both where no column is confidential, and better in one.
    """

    name: str
    steps: list[dict[str, Any]]
    rows: int  # records in the released file
    suppressed: int  # records, in the file as stars or not at all
    assessment: Assessment
    risk: float | None  # of identity
    risk_by: str | None  # the measure that it is of
    loss: float | None
    columns: dict[str, float] = field(default_factory=dict)
    dominated: bool | None = None
    release: str = ""  # the number that its log and its report have
    sampled: int | None = None  # records that attribute risk and loss are of; None: all
    attribute: float | None = None  # None where no column is confidential
    learned: dict[str, float] = field(default_factory=dict)  # by confidential column

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain data, without the figures of its pictures."""
        assessment = self.assessment.to_dict() | {"figures": None}
        return vars(self) | {"assessment": assessment}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Several releases of one table.

    Attributes
    ----------
    releases : list of Compared
        In the order given.
    risk, loss : str
        The measures that releases are ranked by, with `values_learned`, the attribute risk.
    notes : list of str
        What to know before trusting the comparison.
    """

    releases: list[Compared]
    risk: str
    loss: str
    notes: list[str] = field(default_factory=list)

    @property
    def front(self) -> list[str]:
        """The releases that no other dominates, by name."""
        return [one.name for one in self.releases if one.dominated is False]

    @property
    def two_sided(self) -> bool:
        """Whether there are confidential columns, and so an attribute risk."""
        return any(one.attribute is not None for one in self.releases)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "risk": {"measure": self.risk, **asdict(axis_of(self.risk, "risk"))},
            "attribute": {"measure": LEARNED, **asdict(_ATTRIBUTE)} if self.two_sided else None,
            "loss": {"measure": self.loss, **asdict(axis_of(self.loss, "loss"))},
            "front": self.front,
            "notes": self.notes,
            "releases": [one.to_dict() for one in self.releases],
        }

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | Path) -> Path:
        """Write the comparison as one HTML file, to be kept and not shared."""
        from discreet.report.compare import comparison_page

        path = Path(path)
        write_private(path, comparison_page(self.to_dict()))
        return path

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Return what to print: a measure, and its figure after for each release."""
        tables = [
            {row["name"]: show(row["after"]) for row in one.assessment.shown() if not row["column"]}
            for one in self.releases
        ]
        for name in dict.fromkeys(name for table in tables for name in table):
            yield name, [table.get(name, "-") for table in tables]

    def _repr_html_(self) -> str:
        """Show notebooks which releases are not dominated, and the map of risk and loss."""
        from discreet.report.notebook import comparison_html

        return comparison_html(self.to_dict())

    def __repr__(self) -> str:
        front = ", ".join(self.front) or "not known"
        return f"<Comparison of {len(self.releases)} releases, not dominated: {front}>"

    def __str__(self) -> str:
        axes = axis_names(self.risk, self.two_sided)
        lines = [f"release: {', '.join(axes.values())}"]
        for one in self.releases:
            values = [getattr(one, axis) for axis in axes]
            figures = ", ".join("-" if v is None else f"{v:.4f}" for v in values)
            lines.append(f"{one.name}: {figures} ({VERDICTS[one.dominated]})")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def compare(
    original: Any,
    releases: Mapping[str, Any] | Sequence[Any],
    *,
    risk: str = LINKAGE,
    loss: str = INFORMATION,
    measures: Sequence[str] | None = None,
    engine: str = "auto",
    memory: str | None = None,
    **dialect: str | None,
) -> Comparison:
    """Measure several releases of a table alike, and find those that no other dominates.

    One dominates another if it is at least as good in identity risk, attribute risk and loss, and
    better in one of them.

    Parameters
    ----------
    original : pandas, polars or pyarrow table, or path
    releases : sequence, or dict of names
        Release folders, released files with their internal folder beside them, or what `protect`
        gave. Nothing is written into them.
    risk, loss : str
        What to rank by, beside the attribute risk: `"linkage"`, the share of records found by the
        best of the intruders that were measured, and `"information_loss"`, which all methods can
        be compared by; or a measure of `assess` by its name, with the figure's after a dot
        (`"individual_risk.mean"`). Where more is better, as of `"class_sizes.smallest"`, the
        larger figure ranks first.
    measures : sequence of str, optional
        Measures of `assess` to take, and no others.
    engine : {"auto", "memory", "duckdb"}
        Where to measure all of them: on DuckDB where an engine made one, or the original does not
        fit in memory. Attribute risk and information loss are there those of a sample.
    memory : str, optional
        DuckDB's limit, such as "4GB".
    **dialect
        How to read the original: separator, decimal, quote, encoding, sheet.

    Returns
    -------
    Comparison

    Notes
    -----
    Attribute risk is the share of the confidential values that one who has found a record learns
    from it, as a mean over the columns: of a number, that the released one is within 0.05 standard
    deviations; of a label, that it is the commonest among the records released with the same one;
    and in both cases what `informed_values` guesses, if that is more.

    All are measured by the roles of the first, and by what it counts: a release whose recipe calls
    fewer columns quasi, or counts records, would look safer than it is.

    Examples
    --------
    >>> from discreet import protect
    >>> from discreet.datasets import make_households
    >>> people = make_households(500, seed=1).select(["age", "income"])
    >>> roles = {"quasi": ["age"], "confidential": ["income"]}
    >>> def rounded(k):
    ...     step = {"method": "oma", "columns": ["age", "income"], "k": k}
    ...     return protect(people, {"roles": roles, "steps": [step]})
    >>> found = compare(people, {"k = 3": rounded(3), "k = 30": rounded(30)})
    >>> found.front
    ['k = 3', 'k = 30']
    """
    ranked_by = axis_of(risk, "risk"), axis_of(loss, "loss")
    given = _named(releases)
    files = opened(original, list(given.values()), engine=engine, memory=memory, dialect=dialect)
    with files as found:
        sources = dict(zip(given, found, strict=True))
        roles = found[0].recipe.roles
        columns = [
            column
            for column in found[0].before.schema.names
            if any(column in one.after.schema.names for one in found)
            and column not in roles.renamed
        ]
        shown = _set_by_any(found)
        compared = [
            _measured(name, source, found[0].recipe, columns, shown, risk, loss, measures)
            for name, source in sources.items()
        ]
    notes = _notes(sources, compared, {"risk": risk, "loss": loss})
    return Comparison(_ranked(compared, *ranked_by), risk, loss, notes)


def _named(releases: Any) -> dict[str, Any]:
    """Name each release."""
    if isinstance(releases, str | Path) or hasattr(releases, "released"):
        raise BadInput("give at least two releases, as a list or a dict of names")
    if isinstance(releases, Mapping):
        named = {str(name): one for name, one in releases.items()}
    else:
        given = list(releases)
        named = {}
        for number, one in enumerate(given, start=1):
            name = f"release {number}" if hasattr(one, "released") else str(one).rstrip("/\\")
            if name in named:
                raise BadInput(f"{name} is given twice")
            named[name] = one
        short = [Path(name).name for name in named]
        if len(set(short)) == len(short):
            named = dict(zip(short, named.values(), strict=True))
    if len(named) < 2:
        raise BadInput("there is one release; a comparison needs at least two")
    for one in named.values():
        if not hasattr(one, "released") and not (internal := find_release(one)[1]).is_dir():
            raise BadInput(
                f"{internal} is not there; a comparison needs it, because it maps released rows "
                "to original ones"
            )
    return named


def _measured(
    name: str,
    source: Opened,
    like: Recipe,
    columns: list[str],
    shown: set[tuple[str, str]],
    risk: str,
    loss: str,
    measures: Sequence[str] | None,
) -> Compared:
    assessment = source.assess(like, measures)
    at_risk, by = _risk(assessment, risk)
    before, after = source.beside(columns)
    known = source.recipe.hierarchies
    lost = information_loss(before, after, columns, hierarchies=known, detail=True)
    secret = [name for name in like.roles.confidential if name in columns]
    learned = _learned(assessment, values_learned(before, after, secret))
    return Compared(
        name=name,
        steps=[
            {
                name: _without_folders(value)
                for name, value in step.model_dump(exclude_none=True).items()
                if (step.method, name) in shown
            }
            | {"method": step.method, "columns": step.columns}
            for step in source.recipe.without_seeds().steps
        ],
        rows=source.after.num_rows,
        suppressed=source.suppressed,
        assessment=assessment,
        risk=at_risk,
        risk_by=by,
        loss=lost.value if loss == INFORMATION else _figure(assessment, loss),
        columns=lost.columns,
        release=source.release,
        sampled=len(before) if len(before) < source.before.num_rows else None,
        attribute=sum(learned.values()) / len(learned) if learned else None,
        learned=learned,
    )


def _learned(assessment: Assessment, shares: dict[str, float]) -> dict[str, float]:
    """Return what is learned of each column by whoever learns more: also one knowing the method."""
    guesses = assessment.risk.get("informed_values", {}).get("columns", {})
    return {
        name: max(share, guesses.get(name, {}).get("guessed", 0.0))
        for name, share in shares.items()
    }


def _without_folders(value: Any) -> Any:
    """Return what a step sets, with the names of its files alone: where they are tells nothing."""
    if isinstance(value, Mapping):
        named = {key: _without_folders(own) for key, own in value.items()}
        if value.get("kind") == "csv" and isinstance(value.get("path"), str | Path):
            named["path"] = Path(value["path"]).name
        return named
    if isinstance(value, list | tuple):
        return [_without_folders(own) for own in value]
    return value


def _set_by_any(sources: Iterable[Opened]) -> set[tuple[str, str]]:
    """Find the parameters, by method, that a release sets: a default is told beside them."""
    return {
        (step.method, name)
        for source in sources
        for step in source.recipe.steps
        for name in step.model_dump(exclude_none=True, exclude_defaults=True, exclude=_NOT_SHOWN)
    }


def axis_of(name: str, kind: str) -> Figure:
    """Return the figure that a `"risk"` or `"loss"` is; refuse what is none.

    Examples
    --------
    >>> axis_of("class_sizes.smallest", "risk").better
    'more'
    """
    any_method = _ANY_METHOD[kind]
    # Those of any method come first, and their own words stand.
    known = any_method | axes({"risk": "risk", "loss": "utility"}[kind]) | any_method
    if name not in known:
        raise BadInput(f"'{name}' is no {kind} to rank by; choose from {', '.join(known)}")
    return known[name]


def _attacks() -> list[str]:
    """Return the figures that are shares of records found, so that the worst can be taken."""
    return [name for name, figure in axes("risk").items() if figure.attack]


def _risk(assessment: Assessment, risk: str) -> tuple[float | None, str | None]:
    if risk != LINKAGE:
        return _figure(assessment, risk), risk
    found = [(value, by) for by in _attacks() if (value := _figure(assessment, by)) is not None]
    return max(found) if found else (None, None)


def _figure(assessment: Assessment, name: str) -> float | None:
    """Return a figure after; None where it was not taken."""
    found = [row["after"] for row in assessment.shown() if row["name"] == name]
    return float(found[0]) if found and found[0] is not None else None


def _ranked(compared: list[Compared], risk: Figure, loss: Figure) -> list[Compared]:
    """Mark the releases that another dominates."""
    signs = [-1 if axis.better == "more" else 1 for axis in (risk, loss)]
    points = [
        None
        if one.risk is None or one.loss is None
        else (signs[0] * one.risk, signs[1] * one.loss, one.attribute or 0.0)
        for one in compared
    ]
    known = [point for point in points if point is not None]
    ranked = []
    for one, point in zip(compared, points, strict=True):
        dominated = None
        if point is not None:
            dominated = any(
                other != point and all(a <= b for a, b in zip(other, point, strict=True))
                for other in known
            )
        ranked.append(Compared(**(vars(one) | {"dominated": dominated})))
    return ranked


def _notes(
    sources: Mapping[str, Opened], compared: list[Compared], axes: Mapping[str, str]
) -> list[str]:
    first, *others = sources.items()
    notes = [source.note for source in sources.values() if source.note]
    for name, source in others:
        for role in ("quasi", "confidential"):
            mine, its = (
                set(getattr(first[1].recipe.roles, role)),
                getattr(source.recipe.roles, role),
            )
            if mine != set(its):
                notes.append(
                    f"{name} calls other columns {role} than {first[0]}, by whose roles all are "
                    "measured"
                )
        if _aside(first[1]) != _aside(source):
            notes.append(
                f"{name} was made from other records of the original than {first[0]}, since a "
                "holdout was set aside; each is measured by its own"
            )
        ours, theirs = (one.recipe.counted_as for one in (first[1], source))
        if ours != theirs:
            notes.append(f"{name} counts {theirs}, {first[0]} {ours}, by which all are measured")
    if (counted := first[1].recipe).counted is not None:
        notes.append(f"the sizes of classes are numbers of {counted.counted_as}")
    for one in compared:
        for axis, value in (("risk", one.risk), ("loss", one.loss)):
            if value is None:
                why = _why(one.assessment, axes[axis])
                notes.append(
                    f"{one.name} is not on the map, because it has no figure for {axis}{why}"
                )
    if (n := compared[0].sampled) is not None:
        of = first[1].before.num_rows
        both = "information_loss is that"
        if compared[0].learned:
            both = "attribute risk and information_loss are those"
        notes.append(f"{both} of a sample of {n:,} of {of:,} records")
    by = {one.risk_by for one in compared if one.risk_by}
    if len(by) > 1:
        told = "; ".join(f"{one.name}: {one.risk_by}" for one in compared)
        notes.append(f"the intruder who finds most is not the same for all: {told}")
    return notes


def _aside(source: Opened) -> tuple[Any, ...]:
    """Return what decides who was set aside."""
    recipe = source.recipe
    return () if recipe.holdout is None else (recipe.holdout, recipe.seed, groups_of(recipe))


def _why(assessment: Assessment, measure: str) -> str:
    names = [path.partition(".")[0] for path in (_attacks() if measure == LINKAGE else [measure])]
    left_out = [name for name in names if name in assessment.left_out]
    return f" ({left_out[0]}: {assessment.left_out[left_out[0]]})" if left_out else ""
