"""The external report: what a user of the data needs, and nothing that helps an intruder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.report import pictures
from discreet.report.models import meaning_of
from discreet.report.page import MOST_DRAWN, Table, counted, figure, named, render, share
from discreet.report.pictures import Picture
from discreet.report.steps import COUNTED

Facts = Mapping[str, Any]
NOTHING = "No record was suppressed and no cell was blanked."
UNTOLD = (
    "How many records the original has, how many of them are not here, and what they hold is not "
    "told: the release is differentially private, and such figures would go beyond its budget."
)


def external_report(facts: Facts) -> str:
    """Write the external report as one HTML page, from facts that hold no secrets.

    `discreet.flow.publication.public_facts` gathers them.
    """
    drawn = list(_distributions(facts["columns"]))
    return render(
        "external.html",
        title=f"Protected data, {counted(facts['rows'], 'record')}",
        facts=facts,
        sentences=_sentences(facts),
        columns=_columns(facts),
        steps=[_step(step, facts["counts"]) for step in facts["steps"]],
        caveats=_caveats(facts),
        suppressed=_suppressed(facts),
        null_rates=_null_rates(facts["null_rates"]),
        distributions=drawn,
        undrawn=max(0, len(facts["columns"]) - MOST_DRAWN),
    )


def _sentences(facts: Facts) -> list[str]:
    columns, rows = facts["columns"], facts["rows"]
    untouched = [c["name"] for c in columns if c["done"] == "nothing"]
    done = len(columns) - len(untouched)
    size = f"{counted(rows, 'record')} in random order and {counted(len(columns), 'column')}"
    first = f"The file has {size}"
    first += f", of which {done} {'was' if done == 1 else 'were'} treated to protect the people or "
    first += "companies in it"
    changed = [c["name"] for c in columns if c["changed"] not in (0, "none")]
    second = (
        f"Values differ from the original in {named(changed)}"
        if changed
        else ("No value differs from the original")
    )
    found = {s["strength"] for s in facts["steps"]}
    strengths = [said for said in ("low", "medium", "high") if said in found]
    second += f"; the strength of perturbation is {named(strengths)}" if strengths else ""
    third = "Read the caveats below before you analyse the treated columns"
    said = [f"{sentence}." for sentence in (first, second, third)]
    return [said[0], *filter(None, [facts.get("held_back")]), *said[1:]]


def _columns(facts: Facts) -> Table:
    rows = [
        (
            *((c["name"], c["label"]) if _labelled(facts) else (c["name"],)),
            c["kind"],
            c["values"],
            c["done"],
            share(c["changed"]) if isinstance(c["changed"], float) else c["changed"],
            share(c["nulls"] / max(1, facts["rows"])),
        )
        for c in facts["columns"]
    ]
    names = ("column", "label") if _labelled(facts) else ("column",)
    head = (*names, "kind", "values", "what was done", "cells changed", "cells empty")
    reading = (
        "Cells changed are a share of the original's cells, given as none, some (under half) or "
        "most where values were changed at random. Cells empty are a share of the released ones."
    )
    return Table(head, rows, 2, reading)


def _labelled(facts: Facts) -> bool:
    return any(column["label"] for column in facts["columns"])


def _step(step: Facts, counts: str) -> list[tuple[str, str]]:
    said = [("columns", ", ".join(step["columns"])), ("what was done", step["in_words"])]
    if step["strength"]:
        said.append(("strength", f"{step['strength']} (of low, medium, high)"))
    told = [(name, figure(value)) for name, value in step["parameters"].items()]
    if counts != "records" and any(name in COUNTED for name, _ in told):
        told.append(("which counts", counts))
    if meant := meaning_of(step["parameters"].get("privacy")):
        told.append(("which means", meant))
    return [*said, *told]


def _caveats(facts: Facts) -> list[tuple[str, str]]:
    found: dict[str, list[str]] = {}
    for step in facts["steps"]:
        found.setdefault(step["caveat"], []).extend(step["columns"])
    told = [(named(list(dict.fromkeys(columns))), said) for said, columns in found.items()]
    if facts["household"]:
        said = "household numbers are random: they show who lives together, and nothing else"
        told.append((facts["household"], said))
    if facts.get("pseudonyms"):
        said = "pseudonyms show which rows hold the same value, and nothing else"
        told.append((named(facts["pseudonyms"]), said))
    return told


def _suppressed(facts: Facts) -> str:
    if facts["private"]:
        return UNTOLD if any(s["suppresses"] for s in facts["steps"]) else "No record was left out."
    said, hidden = _blanked(facts), facts.get("hidden")
    if not hidden:
        return said
    small = f"{counted(sum(hidden.values()), 'count')} in {named(list(hidden))} left blank, because"
    small += " small ones are not told."
    return f"No record was suppressed. {small}" if said == NOTHING else f"{said} {small}"


def _blanked(facts: Facts) -> str:
    found, cells = facts["suppressed"], facts["blanked"]
    touched = facts["blanked_records"]
    several = "up to " * (len(touched) > 1)
    where = f"in {several}{counted(sum(touched), 'record')} ({named(list(cells))})"
    local = f"{counted(sum(cells.values()), 'cell')} {where} were blanked, because what they told "
    local += "would have given somebody away."
    if not found:
        return f"No record was left out. {local}" if cells else NOTHING
    records, gone, blanked = found["records"], found["left_out"], found["blanked_cells"]
    fates = [f"{gone:,} left out of the file"] if gone else []
    if gone < records:
        coded = (s["columns"] for s in facts["steps"] if s["suppresses"])
        stars = [name for columns in coded for name in columns if name not in blanked]
        fate = f"* in {named(stars)}" if stars else "empty quasi columns"
        fates.append(f"{records - gone:,} with {fate}")
    said = f"{counted(records, 'record')} suppressed: {', '.join(fates)}."
    if blanked:
        cells_of = counted(sum(blanked.values()), "cell")
        said += f" In all, {cells_of} blanked in {named(list(blanked))}."
    return f"{said} {local}" if cells else said


def _null_rates(found: Facts | None) -> str:
    """Say how much of what could be recognized is gone, and whether that is more than before."""
    if found is None:
        return ""
    gone = found["suppressed"]
    said = (
        f"{counted(gone, 'record')} {'was' if gone == 1 else 'were'} suppressed (SRC). Of the "
        f"cells by which people might be recognized, {share(found['value'])} are empty or * (NVIr),"
        f" in {share(found['records'])} of the records (NVRr)."
    )
    if found["contaminated"] is None:
        return said
    if found["contaminated"]:
        return (
            f"{said} They are no fewer than were empty in the original: the release counts as "
            "contaminated, as every release does that fills in no missing value."
        )
    return f"{said} They are fewer than were empty in the original."


def _distributions(columns: list[Facts]) -> Iterator[tuple[str, Picture | None]]:
    for column in columns[:MOST_DRAWN]:
        own, name = column["figures"], column["name"]
        if own is None:
            continue
        if own.get("released"):
            yield name, pictures.released_histogram(name, own["released"])
        elif own.get("released_categories"):
            yield name, pictures.released_categories(name, own["released_categories"])
        else:
            yield name, None
