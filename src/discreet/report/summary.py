"""What was done, how well it is protected and what it costs: a sentence each, and the key figures.

For the top of the page, for notebooks and for the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.report.became import columns_of, most_gone
from discreet.report.measures import Row, measured
from discreet.report.page import counted, named, share
from discreet.report.steps import in_one_line

Facts = Mapping[str, Any]


def key_figures(facts: Facts) -> list[Row]:
    """Return the figures that a reader looks for first."""
    return [row for row in measured(facts.get("assessment") or {}) if row["headline"]]


def sentences(facts: Facts) -> list[str]:
    """Say what was done, how well the release is protected, and what it costs."""
    found = [_done(facts), *_blanked(facts), _protected(facts), _cost(facts)]
    return [sentence for sentence in found if sentence]


def _done(facts: Facts) -> str:
    log, recipe = facts.get("log"), facts.get("recipe")
    if not log:
        return ""
    columns = len(log["input"]["columns"])
    dropped = len(log["dropped"])
    rows = log.get("output", {}).get("rows", log["input"]["rows"])
    said = f"{counted(rows, 'record')} with {columns - dropped} of {counted(columns, 'column')} "
    said += "are released" if rows != 1 else "is released"
    steps = (recipe or {}).get("steps")
    said += f", treated by {in_one_line(steps)}" if steps else ", with no step"
    gone = log.get("suppressed", {}).get("left_out", 0)
    return f"{said}; {counted(gone, 'record')} left out." if gone else f"{said}."


def _blanked(facts: Facts) -> Iterator[str]:
    """Say of each step how much it blanked, and how many people are found all the same."""
    for step in (facts.get("log") or {"steps": []})["steps"]:
        if step.get("records_touched"):
            touched, found = step["records_touched"], step["found_for_certain"]
            where = f"{counted(touched, 'record')} ({share(touched / step['records'])})"
            who = counted(found, "person", "people") if found else "nobody"
            cells = counted(step["cells"], "cell")
            yield (
                f"{cells} {'was' if step['cells'] == 1 else 'were'} blanked in {where}; "
                f"{who} {'are' if found > 1 else 'is'} found for certain."
            )


def _protected(facts: Facts) -> str:
    rows = {row["name"]: row for row in key_figures(facts)}
    parts = []
    if (unique := rows.get("class_sizes.unique")) is not None:
        quasi = facts["assessment"]["risk"]["class_sizes"]["columns"]
        n = facts["assessment"]["risk"]["class_sizes"]["after"]["records"]
        parts.append(
            f"{unique['after']:,} of {counted(n, unique['unit'].removesuffix('s'))} "
            f"({share(unique['after'] / max(1, n))}) "
            f"{'is' if unique['after'] == 1 else 'are'} unique on {named(quasi)}, "
            f"{unique['before']:,} before"
        )
    attacks = [row for row in rows.values() if row["attack"] and row["after"] is not None]
    if attacks:
        worst = max(attacks, key=lambda row: float(row["after"]))
        way = facts["assessment"]["risk"][worst["measure"]].get("agreement")
        name = worst["title"].partition(",")[0] + (f", {way} agreement" if way else "")
        found = f"the best intruder measured ({name}) finds "
        found += f"{share(worst['after'])} of the {worst.get('counts', 'records')}"
        parts.append(
            found + (f", {share(worst['before'])} before" if worst["before"] is not None else "")
        )
    elif (near := rows.get("interval_disclosure")) is not None:
        parts.append(
            f"{share(near['after'])} of the changed columns' cells stay near their original"
        )
    check = facts.get("check")
    if check:
        promises = [f["status"] for f in check["findings"] if f["status"] != "weak"]
        kept = promises.count("verified")
        said = f"{kept} of {counted(len(promises), 'promise')} checked were verified"
        weak = len(check["findings"]) - len(promises)
        also = f", and {counted(weak, 'point')} {'is' if weak == 1 else 'are'} weak"
        parts.append(said + also * (weak > 0))
    return f"{_capital('; '.join(parts))}." if parts else ""


def _cost(facts: Facts) -> str:
    parts = []
    log = facts.get("log")
    if log:
        # New numbers of households and pseudonyms are no loss.
        names, roles = ("household", "pseudonyms"), log["roles"]
        changed = {c: n for c, n in log["changed_cells"].items() if roles[c] not in names}
        cells, total = sum(changed.values()), len(changed) * log["input"]["rows"]
        parts.append(f"{share(cells / max(1, total))} of the released columns' cells differ")
        if gone := most_gone(columns_of(facts)):
            (first, most), *others = gone
            said = [f"{first} is * or blank for {share(most)} of the records"]
            said += [f"{name} for {share(part)}" for name, part in others[:2]]
            more = [f"{len(others) - 2} more columns for most"] if len(others) > 2 else []
            parts.append(", ".join([*said, *more]))
    rows = {row["name"]: row for row in key_figures(facts) if row["after"] is not None}
    # Where cells were only blanked, no number moves.
    if (lost := rows.get("il1s")) is not None and lost["after"]:
        which = named(list(facts["assessment"]["utility"]["il1s"]["columns"]), 3)
        parts.append(
            f"the changed numbers ({which}) move by {lost['after'] * 2**0.5:.2g} standard "
            "deviations on average"
        )
    if (r := rows.get("mean_absolute_correlation")) is not None:
        parts.append(f"correlations average {r['before']:.2f} before and {r['after']:.2f} after")
    elif (moved := rows.get("contingency_loss")) is not None:
        parts.append(f"two-way tables are off by {share(moved['after'])} of the records")
    return f"{_capital('; '.join(parts))}." if parts else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def title_of(facts: Facts) -> str:
    """Name what a report is about."""
    log = facts.get("log") or {}
    source = log.get("input", {}).get("source")
    named = f"of {source}" if source else log.get("release", "")
    return f"Release {named}".strip() if log else "Assessment"
