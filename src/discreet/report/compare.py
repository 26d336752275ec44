"""Compared releases as a page, and as the part of a report that shows the alternatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.report import pictures
from discreet.report.measures import label, measured, told
from discreet.report.page import Table, counted, figure, named, render, share

Facts = Mapping[str, Any]
LONGEST_SAID = 60
VERDICTS = {None: "not on the map", True: "dominated", False: "not dominated"}


def comparison_page(comparison: Facts) -> str:
    """Write a comparison, as `Comparison.to_dict` returns it, as one HTML page."""
    releases = comparison["releases"]
    return render(
        "compare.html",
        title=" · ".join(one["name"] for one in releases),
        sentences=sentences(comparison),
        parts_of=parts_of(comparison),
        left_out=[(one["name"], one["assessment"]["left_out"]) for one in releases],
    )


def alternatives(comparison: Facts) -> str:
    """Return the releases, their map and their measures as a part of a page.

    The comparison also has `reported`: the number of the release that the page is about.
    """
    return render("alternatives.html", sentences=sentences(comparison), **parts_of(comparison))


def parts_of(comparison: Facts) -> dict[str, Any]:
    """Lay out the map, the releases and their measures."""
    releases = comparison["releases"]
    shown = [one for one in releases if one["dominated"] is not None]
    return {
        "maps": [
            _map(comparison, shown, side) for side in _axes(comparison) if shown and side != "loss"
        ],
        "releases": _releases(comparison),
        "risk": _side_by_side(releases, "risk"),
        "utility": _side_by_side(releases, "utility"),
        "columns": _columns(releases),
        "notes": comparison["notes"],
    }


def axis_names(risk: str, two_sided: bool) -> dict[str, str]:
    """Return what releases are ranked by, in words; `risk` is the measure that was chosen.

    Examples
    --------
    >>> axis_names("linkage", True)
    {'risk': 'identity risk', 'attribute': 'attribute risk', 'loss': 'loss'}
    >>> axis_names("individual_risk.mean", False)
    {'risk': 'risk', 'loss': 'loss'}
    """
    found = two_sided and risk == "linkage"
    sides = {"attribute": "attribute risk"} if two_sided else {}
    return {"risk": "identity risk" if found else "risk", **sides, "loss": "loss"}


def _axes(comparison: Facts) -> dict[str, str]:
    """Name the axes of a comparison; one of before there were two sides of risk has one."""
    return axis_names(comparison["risk"]["measure"], bool(comparison.get("attribute")))


def _map(comparison: Facts, releases: Sequence[Facts], side: str) -> pictures.Picture:
    """Draw one side of risk against loss."""
    names = _axes(comparison)
    risk, loss = (
        f"{names[axis]}: {comparison[axis]['title']}{_unit(comparison[axis])}"
        for axis in (side, "loss")
    )
    turned = [
        name
        for name, axis in (("risk", side), ("loss", "loss"))
        if comparison[axis]["better"] == "more"
    ]
    drawn = [one | {"risk": one[side]} for one in map(dict, releases)]
    return pictures.risk_utility(drawn, risk, loss, turned)


def sentences(comparison: Facts) -> list[str]:
    """Say what was compared, and which releases are not dominated."""
    releases, front = comparison["releases"], comparison["front"]
    axes = _axes(comparison)
    by = [f"{name} ({comparison[axis]['reading']})" for axis, name in axes.items()]
    said = [
        f"{counted(len(releases), 'release')} of one table were measured alike, by "
        f"{', '.join(by[:-1])} and {by[-1]}."
    ]
    own = [one["name"] for one in releases if _reported(one, comparison)]
    if own:
        said.append(f"The release of this report is {named(own)} among them.")
    beaten = [one["name"] for one in releases if one["dominated"]]
    if front:
        verb = "is" if len(front) == 1 else "are"
        others = "the others" if len(axes) > 2 else "the other"
        said.append(
            f"{named(front)} {verb} not dominated: no release is better in one and as good in "
            f"{others}."
        )
    if beaten:
        said.append(f"Dominated, and so hard to defend: {named(beaten)}.")
    known = [one for one in releases if one["dominated"] is not None]
    if known:
        signs = {axis: -1 if comparison[axis]["better"] == "more" else 1 for axis in axes}
        best = []
        for axis, name in axes.items():
            if len(known) > 1 and len({one[axis] for one in known}) == 1:
                same = "lose the same" if axis == "loss" else f"have the same {name}"
                told_as = _told(known[0][axis], comparison[axis])
                best.append(f"{'both' if len(known) == 2 else 'all'} {same} ({told_as})")
                continue
            # Of those that are equal in it, the one that is best in the others.
            order = [axis, *(other for other in axes if other != axis)]
            one = min(known, key=lambda one: [signs[n] * one[n] for n in order])
            is_best = "loses least" if axis == "loss" else f"has the least {name}"
            told_as = _told(one[axis], comparison[axis])
            best.append(f"{named([one['name']])} {is_best} ({told_as})")
        said.append(f"{', '.join(best)}.")
    return said


def _told(value: float | None, axis: Facts) -> str:
    """Write a figure of an axis with its unit."""
    unit = "" if value is None or axis["unit"] in ("%", "percent") else axis["unit"]
    return f"{told(axis, value)} {unit}".rstrip()


def _unit(axis: Facts) -> str:
    """Return the unit for a label; a share is given in words, and drawn from 0 to 1."""
    return "" if axis["unit"] in ("", "%") else f" ({axis['unit']})"


def _reported(one: Facts, comparison: Facts) -> bool:
    return bool(one.get("release")) and one["release"] == comparison.get("reported")


def done(steps: Sequence[Facts]) -> list[str]:
    """Say what each step did, with its parameters.

    Examples
    --------
    >>> done([{"method": "oma", "columns": ["age", "pay"], "k": 5}])
    ['oma of age and pay (k = 5)']
    >>> done([{"method": "mondrian", "columns": ["age"],
    ...        "privacy": [{"k": 10, "model": "k-anonymity"}]}])
    ['mondrian of age (k-anonymity with k = 10)']
    >>> done([{"method": "generalize", "columns": ["age", "job"], "hierarchies": {
    ...        "age": {"kind": "intervals", "widths": [5, 10]},
    ...        "job": {"kind": "groups", "tree": {"office": ["clerk", "judge"]}}}}])
    ['generalize of age and job (hierarchies age: intervals widths 5/10, job: groups)']
    >>> done([{"method": "generalize", "columns": ["rooms"], "hierarchies": {
    ...        "rooms": {"kind": "intervals", "cuts": [[2, 3, 5], [3]]}}}])
    ['generalize of rooms (hierarchies rooms: intervals cuts 2/3/5, then 3)']
    """
    said = []
    for step in steps:
        asked = "; ".join(
            _asked(name, value) for name, value in step.items() if name not in ("method", "columns")
        )
        said.append(
            f"{step['method']} of {named(step['columns'], 3)}" + (f" ({asked})" * bool(asked))
        )
    return said


def _asked(name: str, value: Any) -> str:
    """Write a parameter: one value, one for each column, or privacy models."""
    if name == "privacy":
        return " and ".join(_model(one) for one in value)
    if name == "hierarchies":
        # Trees of values are in the recipe; what they hold is no parameter to compare.
        value = {
            column: {k: v for k, v in spec.items() if k not in ("tree", "rows")}
            if isinstance(spec, Mapping)
            else spec
            for column, spec in value.items()
        }
    if isinstance(value, Mapping):
        told = ", ".join(f"{column}: {_inner(own)}" for column, own in value.items())
        return f"{name} {told}"
    return f"{name} = {_inner(value)}"


def _model(model: Facts) -> str:
    rest = [f"{k} = {_inner(v)}" for k, v in model.items() if k != "model" and v is not None]
    return model["model"] + (f" with {', '.join(rest)}" * bool(rest))


def _inner(value: Any) -> str:
    """Write a value; of a compound one, such as a hierarchy, as much as a cell can hold."""
    if isinstance(value, Mapping):
        parts = {k: v for k, v in value.items() if v is not None}
        said = " ".join(_inner(v) if k == "kind" else f"{k} {_inner(v)}" for k, v in parts.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        # Levels, each with its own cuts, are lists in a list.
        levels = any(isinstance(one, list | tuple) for one in value)
        said = (", then " if levels else "/").join(_inner(one) for one in value)
    else:
        said = figure(value)
    return said if len(said) <= LONGEST_SAID else f"{said[: LONGEST_SAID - 1]}…"


def _releases(comparison: Facts) -> Table:
    titles = {
        row["name"]: row["title"]
        for one in comparison["releases"]
        for row in measured(one["assessment"], "risk")
    }
    axes = _axes(comparison)
    rows = [
        (
            one["name"] + " (this release)" * _reported(one, comparison),
            "; ".join(done(one["steps"])) or "no step",
            VERDICTS[one["dominated"]],
            titles.get(one["risk_by"], one["risk_by"] or "–"),
            f"{one['rows']:,}",
            f"{one['suppressed']:,}",
            *(_told(one[axis], comparison[axis]) for axis in axes),
        )
        for one in comparison["releases"]
    ]
    head = ("release", "what was done", "", "found by", "records", "suppressed", *axes.values())
    over = "; over the columns of all the releases, so that one not released counts as lost"
    told = [
        f"{name[:1].upper()}{name[1:]}: {comparison[axis]['reading']}"
        for axis, name in axes.items()
    ]
    reading = (
        ". ".join(told)
        + over * (comparison["loss"]["measure"] == "information_loss")
        + "."
        + "".join(
            f" Of {name}, the larger figure is the better." * (comparison[axis]["better"] == "more")
            for axis, name in axes.items()
        )
    )
    return Table(head, rows, 2 + len(axes), reading)


def _side_by_side(releases: list[Facts], family: str) -> Table | None:
    """Lay out every measure that a release has, after, beside the others'."""
    found = [{row["name"]: row for row in measured(one["assessment"], family)} for one in releases]
    rows, differs = [], False
    for name in dict.fromkeys(name for table in found for name in table):
        sides = [table.get(name) for table in found]
        first = next(row for row in sides if row is not None)
        before = {told(row, row["before"]) for row in sides if row is not None}
        differs = differs or len(before) > 1
        rows.append(
            (
                label(first),
                first["reading"],
                before.pop() if len(before) == 1 else "differs",
                *("–" if row is None else told(row, row["after"]) for row in sides),
            )
        )
    names = [one["name"] for one in releases]
    if not rows:
        return None
    reading = "Before, and after in each release; – if it was left out."
    if differs:
        reading += f" {_why_before_differs(releases)}"
    return Table(("measure", "how to read it", "before", *names), rows, 1 + len(names), reading)


def _why_before_differs(releases: Sequence[Facts]) -> str:
    """Say what makes the figures of one original differ: other records, or other columns."""
    most = max(one["rows"] for one in releases)
    short = [one["name"] for one in releases if one["rows"] < most]
    treated = {frozenset(c for step in one["steps"] for c in step["columns"]) for one in releases}
    said = []
    if short:
        verb = "leaves" if len(short) == 1 else "leave"
        said.append(
            f"Before differs since {named(short)} {verb} records out, which do not count before "
            "either."
        )
    if len(treated) > 1 or not short:
        also = "It also differs" if short else "Before differs"
        said.append(
            f"{also} if a measure looks at the columns that a release changed: then it is not the "
            "same measure."
        )
    return " ".join(said)


def _columns(releases: list[Facts]) -> Table | None:
    names = list(dict.fromkeys(name for one in releases for name in one["columns"]))
    rows = [(name, *(share(one["columns"].get(name)) for one in releases)) for name in names]
    reading = (
        "Share of a column's information about a record that its released value no longer gives "
        "(H(X|Y) / H(X)); 100 % where it is not released."
    )
    head = ("column", *(one["name"] for one in releases))
    return Table(head, rows, len(releases), reading) if rows else None
