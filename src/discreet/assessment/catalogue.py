"""The measures that there are, and what is shown of those that were taken.

A measure is found because its family's `MEASURES` lists it; nothing else is to be registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from discreet import risk, utility
from discreet.measure import Entry, Figure, Measure, in_units

FAMILIES = {"risk": risk, "utility": utility}


def measures(*families: str) -> dict[str, Measure]:
    """Return the measures of some families by name, in order; of all where none is named.

    Examples
    --------
    >>> list(measures("risk"))[:2]
    ['class_sizes', 'found_for_certain']
    """
    chosen = families or FAMILIES
    return {m.name: m for family in chosen for m in FAMILIES[family].MEASURES}


def axes(family: str) -> dict[str, Figure]:
    """Return the figures of a family that releases can be ranked by, with how to read them.

    Examples
    --------
    >>> axes("risk")["class_sizes.smallest"].better
    'more'
    """
    return {
        _name(measure.name, figure): replace(figure, reading=figure.reading or measure.reading)
        for measure in measures(family).values()
        for figure in measure.figures
        if figure.better and not figure.each
    }


def shown(family: str, taken: Mapping[str, Entry]) -> Iterator[dict[str, Any]]:
    """Return the figures of measures that were taken as plain data, before and after.

    Each has `name`, the measure's with the figure's key after a dot; `column`, or None where it is
    of the whole table; and what its declaration says.

    Examples
    --------
    >>> [row] = shown("utility", {"sse_ratio": {"value": 12.5}})
    >>> row["title"], row["unit"], row["before"], row["after"]
    ('squares lost', 'percent', 0.0, 12.5)
    """
    for name, entry in taken.items():
        measure = measures(family)[name]
        means = entry.get("means", measure.reading)
        whole = [figure for figure in measure.figures if not figure.each]
        each = [figure for figure in measure.figures if figure.each]
        places = [(figure, None, entry) for figure in whole]
        for column in entry["columns"] if each else ():
            places += [(figure, column, entry["columns"][column]) for figure in each]
        for figure, column, own in places:
            sides = _sides(figure, own)
            if sides is not None:
                read = replace(figure, reading=figure.reading or means * (column is None))
                if (counts := entry.get("counts")) is not None:
                    unit, reading = (in_units(said, counts) for said in (read.unit, read.reading))
                    read = replace(read, unit=unit, reading=reading)
                if "sample" in entry and figure.reading:
                    said = ": an upper estimate" * ("interval" in entry)
                    read = replace(read, reading=f"{read.reading}, in a sample{said}")
                known = {"counts": entry.get("counts", "records"), "sampled": "sample" in entry}
                known["intruder"] = measure.intruder
                yield told(family, name, read, *sides, column) | known


def told(
    family: str, measure: str, figure: Figure, before: Any, after: Any, column: str | None = None
) -> dict[str, Any]:
    """Return a figure, before and after, as plain data."""
    name = _name(measure, figure)
    if column is not None:
        name = f"{figure.key or measure} of {column}"
        figure = replace(figure, title=f"{figure.title} of {column}")
    known = {"family": family, "measure": measure, "name": name, "column": column}
    return known | asdict(figure) | {"before": before, "after": after}


def _name(measure: str, figure: Figure) -> str:
    return f"{measure}.{figure.key}" if figure.key else measure


def _sides(figure: Figure, own: Any) -> tuple[Any, Any] | None:
    """Find a figure before and after in the entry of a measure, or of one of its columns."""
    if not isinstance(own, Mapping):
        return figure.untouched, own
    after = own.get("after", own.get("value"))
    if isinstance(after, Mapping):
        before = own.get("before", {}).get(figure.key)
        return (before, after[figure.key]) if figure.key in after else None
    if not figure.key:
        return own.get("before", figure.untouched), after
    if figure.key not in own:
        return None
    found = own[figure.key]
    # A pair of both sides, or a figure of the release alone.
    return (found[0], found[1]) if isinstance(found, list) else (figure.untouched, found)
