"""A sweep as a page: every combination with its figures, and pictures against one parameter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.report import pictures
from discreet.report.page import Table, counted, figure, named, render, share
from discreet.report.pictures import Picture

Facts = Mapping[str, Any]
NAMES = {
    "SRC": "suppressed records (SRC)",
    "NVIr": "share of cells that are null or * (NVIr)",
    "NVRr": "share of records with a null or * (NVRr)",
    "loss": "loss",
    "risk": "risk",
    "seconds": "seconds",
}


def written(value: Any) -> str:
    """Write a value of a parameter as a recipe has it.

    Examples
    --------
    >>> written(5), written(0.05), written("loss"), written(True), written({"age": 5})
    ('5', '0.05', 'loss', 'true', '{"age": 5}')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, default=str, ensure_ascii=False)


def sweep_page(sweep: Facts) -> str:
    """Write a sweep, as `Sweep.to_dict` returns it, as one HTML page."""
    return render(
        "sweep.html",
        title=_title(sweep),
        sentences=sentences(sweep),
        pictures=drawn(sweep),
        rows=row_table(sweep),
        failed=[
            (f"{row['name']}: {_said(row['parameters'])}", row["why"])
            for row in sweep["rows"]
            if row["why"]
        ],
    )


def drawn(sweep: Facts) -> list[Picture]:
    """Draw each figure against the first parameter; the one that the best is asked for first."""
    first, rest = sweep["parameters"][0], sweep["parameters"][1:]
    values: list[float | str] = []
    places: dict[str, int] = {}
    lines: dict[str, dict[int, Facts]] = {}
    for row in sweep["rows"]:
        given = row["parameters"]
        place = places.setdefault(written(given[first]), len(places))
        if place == len(values):
            values.append(_drawn(given[first]))
        line = _said({name: given[name] for name in rest})
        lines.setdefault(line, {})[place] = row
    column = sweep["best"]["column"]
    names = dict.fromkeys([*([column] if column else []), "loss", "risk", *sweep["columns"]])
    found = []
    for name in names:
        if not any(name in row["figures"] for row in sweep["rows"]):
            continue
        told = [
            (line, [_figure(rows.get(place), name) for place in range(len(values))])
            for line, rows in lines.items()
        ]
        marked = [
            (number, place)
            for number, rows in enumerate(lines.values())
            for place, row in rows.items()
            if name == column and row["name"] in sweep["best"]["rows"]
        ]
        found.append(pictures.sweep_lines(NAMES[name], first, values, told, marked))
    return found


def _figure(row: Facts | None, name: str) -> float | None:
    return None if row is None else row["figures"].get(name)


def _drawn(value: Any) -> float | str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number else written(value)


def _said(parameters: Facts) -> str:
    return ", ".join(f"{name} = {written(value)}" for name, value in parameters.items())


def _title(sweep: Facts) -> str:
    return f"{counted(len(sweep['rows']), 'combination')} of {named(sweep['parameters'])}"


def best_sentence(sweep: Facts) -> str:
    """Say which row is the best by the column that was asked for, and which tie with it."""
    best, rows = sweep["best"], {row["name"]: row for row in sweep["rows"]}
    if not best["column"]:
        return ""
    if not best["rows"]:
        return f"There is no best by {best['column']}: {best['why_none']}."
    first, *ties = (rows[name] for name in best["rows"])
    said = (
        f"Best by {best['column']}, {_told(sweep, first, best['column'])}: row {first['name']}, "
        f"{_said(first['parameters'])}"
    )
    if ties:
        verb = "ties" if len(ties) == 1 else "tie"
        said += f"; {named([row['name'] for row in ties], 12)} {verb} with it"
    return said + "."


def sentences(sweep: Facts, table: str = "the table") -> list[str]:
    """Say what was tried, what came of it and what is best."""
    rows = sweep["rows"]
    done = sum(row["check"] == "passed" for row in rows)
    stopped = "Stopped by Ctrl-C. " * sweep["stopped"]
    said = [
        f"{stopped}{counted(len(rows), 'combination')} for {table} ({sweep['records']:,} records), "
        f"each run with its check, in {sweep['seconds']:.1f} s: {done} gave a release"
        + (f", {len(rows) - done} did not." if done < len(rows) else ".")
    ]
    spared = sweep["lattices"]
    if spared["searches"]:
        said.append(
            f"{spared['nodes']:,} nodes were evaluated once, in {spared['seconds']:.1f} s, for "
            f"{counted(spared['searches'], 'search', 'searches')}; that time is in no row."
        )
    said += [one] if (one := best_sentence(sweep)) else []
    if sweep["front"]:
        said.append(f"No other beats in both risk and loss: {named(sweep['front'], 12)}.")
    return said


def _told(sweep: Facts, row: Facts, name: str) -> str:
    """Write a figure of a row, a share in per cent; a dash where it has none."""
    value = row["figures"].get(name)
    if value is not None and name == "seconds":
        return f"{value:.2f}"
    unit = sweep[name]["unit"] if name in ("loss", "risk") else ""
    return share(value) if unit == "share" or name in ("NVIr", "NVRr") else figure(value)


def row_table(sweep: Facts) -> Table:
    """Lay out the rows with their figures."""
    rows = []
    for row in sweep["rows"]:
        marks = ["best"] * (row["name"] in sweep["best"]["rows"]) + ["front"] * row["front"]
        rows.append(
            (
                row["name"],
                *(written(row["parameters"][name]) for name in sweep["parameters"]),
                row["check"],
                ", ".join(marks),
                *(_told(sweep, row, name) for name in sweep["columns"]),
            )
        )
    head = ("row", *sweep["parameters"], "check", "", *sweep["columns"])
    known = f" who knows {named(sweep['known'], 8)}" if sweep["known"] else ""
    reading = (
        "SRC: suppressed records. NVIr, NVRr: shares of cells that are null or *, and of records "
        "with one, in the quasi columns (null_rates). "
        f"Loss: {sweep['loss']['name'].replace('_', ' ')}. "
        f"Risk: {sweep['risk']['name'].replace('_', ' ')}, by an intruder{known}. "
        "Seconds: of one run with its check, of the first with the time to load code. Where a step "
        "draws, figures are means over fresh seeds. The documentation defines each, under Measures."
    )
    return Table(head, rows, len(sweep["columns"]), reading)
