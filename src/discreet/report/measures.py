"""The figures of an assessment as rows: title, unit, before, after, guide value, how to read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet.clock import clock_unit, length_unit, written
from discreet.report.page import Table, figure, share

Entry = Mapping[str, Any]
Row = Mapping[str, Any]  # A figure, as `Assessment.shown` gives it.
_MOST_GROUPS = 10  # of an indicator
HEAD = ("measure", "how to read it", "guide value", "kept", "before", "after")
# What these find of each column is in tables of their own.
_BY_COLUMN = ("il1s", "interval_disclosure", "informed_values", "columns", "indicators")


def measured(assessment: Entry, *families: str) -> list[Row]:
    """Return the figures of `"risk"`, of `"utility"` or of both, in order."""
    return [
        row
        for row in assessment.get("shown", ())
        if row["family"] in (families or ("risk", "utility"))
        and (row["column"] is None or row["measure"] not in _BY_COLUMN)
    ]


def met(row: Row) -> bool | None:
    """Tell whether the guide value is kept; None where there is none."""
    if row["guide"] is None or row["after"] is None:
        return None
    over = row["after"] - row["guide"]["value"]
    if over == 0 and row["guide"].get("excluded"):
        return False
    # A chance of one in five is one of 1/5, however that was computed.
    if math.isclose(row["after"], row["guide"]["value"], rel_tol=1e-9):
        return True
    return bool(over >= 0 if row["better"] == "more" else over <= 0)


def guided(assessment: Entry) -> tuple[list[Row], list[Row]]:
    """Return the figures that have a guide value, and those of them that are beyond it."""
    rows = [row for row in measured(assessment) if met(row) is not None]
    # What a reader looks for first comes first.
    failed = sorted((row for row in rows if not met(row)), key=lambda row: not row["headline"])
    return rows, failed


def guide_line(assessment: Entry) -> str:
    """Say how many guide values are not met, and name three of them at most."""
    rows, failed = guided(assessment)
    if not failed:
        return f"all {len(rows)} guide values are met" if rows else ""
    said = []
    for row in failed[:3]:
        said.append(f"{label(row)} {told(row, row['after'])} ({asked(row)})")
    more = [f"and {len(failed) - 3} more"] if len(failed) > 3 else []
    are = "is" if len(failed) == 1 else "are"
    return f"{len(failed)} of {len(rows)} guide values {are} not met: {', '.join(said + more)}"


def asked(row: Row) -> str:
    """Say what a guide value asks for, and who does: `recipe: at most 20 %`."""
    guide = row["guide"]
    most = "at least" if row["better"] == "more" else "at most"
    most = "below" if guide.get("excluded") else most
    by = guide.get("by", "guide value").removesuffix(" value")
    return f"{by}: {most} {told(row, guide['value'])}"


def label(row: Row) -> str:
    """Return the title with its unit; shares have theirs beside the figure."""
    plain = row["unit"] in ("", "%", "percent")
    return str(row["title"]) if plain else f"{row['title']} ({row['unit']})"


def told(row: Row, value: Any) -> str:
    """Write a figure; a share, and what is in percent already, with the sign.

    Examples
    --------
    >>> told({"unit": "%"}, 0.5), told({"unit": "percent"}, 0.5), told({"unit": "people"}, 0.5)
    ('50 %', '0.5 %', '0.5')
    """
    if row["unit"] == "percent":
        return share(None if value is None else value / 100)
    return share(value) if row["unit"] == "%" else figure(value)


def cells(row: Row) -> tuple[str, ...]:
    """Return what a table shows: title, reading, guide value, whether it is met, figures."""
    # What is found in a sample, where a record has fewer beside it, may be above the guide value
    # and that of the whole table not.
    above = "above it in a sample" if row.get("sampled") else "not met"
    verdict = {None: "", True: "met", False: above}[met(row)]
    sign = "≥" if row["better"] == "more" else "≤"
    sign = "<" if row["guide"] and row["guide"].get("excluded") else sign
    guide = "" if row["guide"] is None else f"{sign} {told(row, row['guide']['value'])}"
    sides = (told(row, row["before"]), told(row, row["after"]))
    return (label(row), row["reading"], guide, verdict, *sides)


def risk_table(assessment: Entry) -> Table | None:
    """Lay out the risk, before and after, beside the guide values."""
    rows = measured(assessment, "risk")
    sources = dict.fromkeys(row["guide"]["source"] for row in rows if row["guide"])
    own = (
        "Guide values are the recipe's where it states a target, and else this report's, for a "
        "first look; the board sets its own."
    )
    reading = " ".join([own, *sources])
    head = (*HEAD[:2], "the attack, and what its figure is held against", *HEAD[2:])
    said = [(*cells(row)[:2], row["intruder"], *cells(row)[2:]) for row in rows]
    return Table(head, said, 2, reading) if rows else None


def informed_table(assessment: Entry) -> Table | None:
    """Lay out what one who knows the method makes of each column's single values."""
    found = assessment["risk"].get("informed_values", {}).get("columns", {})
    keys = ("without", "guessed", "certain", "members")
    rows = [
        (name, own["method"], own["knows"], *(share(own[key]) for key in keys))
        for name, own in found.items()
    ]
    told = ("guessed without the release", "guessed with it", "for certain")
    head = ("column", "method", "the intruder knows", *told, "known to fellow members")
    reading = (
        "An intruder who knows the method and its parameters, but not the seed, guesses single "
        "values; a number is guessed right if it is within 5 % of a standard deviation. Fellow "
        "members know the values of the k - 1 others of a group whose mean is released, or those "
        "of all other records."
    )
    return Table(head, rows, 4, reading) if rows else None


def utility_table(assessment: Entry) -> Table | None:
    """Lay out the utility of the table as a whole, before and after."""
    found = [cells(row) for row in measured(assessment, "utility")]
    rows = [(*row[:2], *row[-2:]) for row in found]
    said = "A loss is 0 where nothing was changed. The documentation defines each, under Measures."
    return Table((*HEAD[:2], *HEAD[-2:]), rows, 2, said) if rows else None


def column_table(assessment: Entry, changed: Mapping[str, int] | None, n: int | None) -> Table:
    """Lay out what each column lost: cells changed, information, nearness to the original."""
    taken = assessment["utility"] | assessment["risk"]
    told_of = {"IL1s": "il1s", "cells near": "interval_disclosure", "bits": "known_bits"}
    lost, near, bits = (taken.get(name, {}).get("columns", {}) for name in told_of.values())
    drawn = (assessment.get("figures") or {}).get("columns", {})
    rows = []
    for name in dict.fromkeys([*(changed or {}), *drawn, *lost, *near, *bits]):
        cells = None if changed is None else changed.get(name)
        part = None if cells is None or not n else cells / n
        sides = (figure(side) for side in bits.get(name, (None, None)))
        own = (figure(cells), share(part), figure(lost.get(name)), share(near.get(name)))
        rows.append((name, *own, *sides))
    head = ("column", "cells changed", "of all", "IL1s", "cells near", "bits before", "bits after")
    said = [
        f"{title}: {taken[name]['means']}. " for title, name in told_of.items() if name in taken
    ]
    dash = "A dash stands for a figure that was not taken, mostly of unchanged columns."
    return Table(head, rows, len(head) - 1, "".join(said) + dash)


def indicator_table(assessment: Entry) -> Table | None:
    """Lay out the recipe's own indicators, before and after; of groups those that changed most."""
    taken = assessment["utility"].get("indicators", {}).get("columns", {})
    rows, weighted = [], any("weighted" in one for one in taken.values())
    for one in taken.values():
        for group in one.get("groups", [one])[:_MOST_GROUPS]:
            own = group.get("weighted", {})
            sides = [group, own] if weighted else [group]
            told = [
                cell
                for side in sides
                for cell in (figure(side.get("before")), figure(side.get("after")))
            ]
            rows.append((one["text"], group.get("group", ""), *told, share(group["change"])))
    beside = ("weighted, before", "weighted, after") if weighted else ()
    head = ("indicator", "group", "before", "after", *beside)
    said = (
        "Computed from the original and from the release; records without a value, or of no group, "
        "are left out. Groups are those that the released labels tell apart, the ten that changed "
        "most; a label that covers several counts for each in part, and ranges of numbers are "
        "taken at their middle."
    )
    return Table((*head, "change"), rows, len(head) - 1, said) if rows else None


def moment_table(assessment: Entry) -> Table | None:
    """Lay out mean and standard deviation of the numeric columns, before and after."""
    drawn = (assessment.get("figures") or {}).get("columns", {})
    rows = []
    taken = assessment["utility"].get("columns", {}).get("columns", {})
    beside = any("weighted_mean" in own for own in taken.values())
    for name, own in taken.items():
        dates = drawn.get(name, {}).get("kind") == "date"
        spread = max((sd for sd in own["sd"] if sd is not None), default=0.0)
        means = (_date(side, spread) if dates else figure(side) for side in own["mean"])
        spreads = (_length(side) if dates else figure(side) for side in own["sd"])
        weighted = own.get("weighted_mean", (None, None)) if beside else ()
        weighted = [_date(side, spread) if dates else figure(side) for side in weighted]
        rows.append((name, *means, *weighted, *spreads))
    more = ("weighted mean before", "weighted mean after") if beside else ()
    head = ("column", "mean before", "mean after", *more, "sd before", "sd after")
    reading = "Mean and standard deviation (sd) of the values that are there, in the column's unit."
    return Table(head, rows, len(head) - 1, reading) if rows else None


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
