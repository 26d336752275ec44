"""What a notebook shows of results: what to decide by, in the words of the pages and the terminal.

An output stays in the notebook's file, which is easily shared. So records, and values of the
original, are not shown, and every output says that it is internal. No script, nothing that is
loaded, headings that do not end up in the notebook's table of contents, and colours that go by
the notebook's own theme.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.report import compare, front, sweep
from discreet.report.became import grouped
from discreet.report.decision import decision, driver_words, next_words
from discreet.report.measures import cells, guide_line, guided
from discreet.report.page import Table, counted, named, render
from discreet.report.pictures import Picture
from discreet.report.summary import key_figures, sentences, title_of

Facts = Mapping[str, Any]
# Lines of a list and rows of a table that are shown; more are counted.
MOST_COLUMNS, MOST_LINES, MOST_ROWS = 24, 4, 24
_SEED = re.compile(r"\bseed = \d+")
_ENDS = re.compile(r"\bits numbers go from \S+ to \S+")  # as a doubtful null marker is told
KEEP = "Internal: clear this output before the notebook is shared."
NO_RECORDS = "The riskiest records are in the report that save() writes, and not shown here."


@dataclass(frozen=True)
class Part:
    """A part of an output: lines, and a table or a picture."""

    name: str
    lines: Sequence[str] = ()
    table: Table | None = None
    image: str = ""  # a data URI, so that ids of several pictures do not meet
    alt: str = ""


def _shown(title: str, said: str, parts: Sequence[Part], tone: str = "open", note: str = "") -> str:
    """Lay out an output; the tone is passed, flagged, failed or open."""
    told = [one for one in parts if one.lines or one.table or one.image]
    notes = f"{KEEP} {note}".rstrip()
    return render("notebook.html", title=title, said=said, tone=tone, parts=told, note=notes)


def _few(lines: Sequence[str], most: int = MOST_LINES) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], f"{more:,} more"] if more > 1 else list(lines)


def _first(table: Table, wanted: Sequence[str] = ()) -> Table:
    """Return the first rows of a table, or of a long one those that are wanted."""
    if len(table.rows) <= MOST_ROWS:
        return table
    shown = [row for row in table.rows if row[0] in wanted][:MOST_ROWS] or table.rows[:MOST_ROWS]
    more = f"{len(shown):,} of {len(table.rows):,} rows are shown. "
    return replace(table, rows=shown, reading=more + table.reading)


def _drawn(name: str, picture: Picture) -> Part:
    data = base64.b64encode(picture.svg.encode()).decode()
    alt = f"{picture.title}. {picture.alt}"
    return Part(name, image=f"data:image/svg+xml;base64,{data}", alt=alt)


def safe_decision(facts: Facts) -> dict[str, Any]:
    """Return what a board decides by, without records, and without a seed, which undoes draws."""
    found = decision(facts)
    warnings = [_SEED.sub("the seed", one) for one in found["warnings"]]
    warnings = [_ENDS.sub("it is among its numbers", one) for one in warnings]
    return found | {"riskiest": [], "warnings": warnings}


def release_html(facts: Facts) -> str:
    """Show a release by the facts of its internal report."""
    found = safe_decision(facts)
    verdict = found["verdict"]
    tone = {True: "passed", False: "failed", None: "open"}[verdict["passed"]]
    became = grouped(found["columns"], MOST_COLUMNS)
    tried = "next" in (facts.get("log") or {}) or found["next_not_tried"]
    steps = next_words(found) if tried or found["asked"] else []
    parts = [
        Part("Columns", table=Table(("columns", "became"), became) if became else None),
        Part("Risk from", [driver_words(found["drivers"])] if found["drivers"] else []),
        Part("Cost", [one["said"] for one in found["cost"]]),
        Part("Next", _few(steps) or ["release.save(folder) also tries changes of the recipe"]),
        Part("Warnings", _few(found["warnings"])),
    ]
    title = f"{title_of(facts)}: {sentences(facts)[0]}" if facts.get("log") else title_of(facts)
    tone = "flagged" if tone == "passed" and verdict["flagged"] else tone
    return _shown(title, verdict["said"], parts, tone, NO_RECORDS)


def assessment_html(assessment: Facts, notes: Sequence[str] = ()) -> str:
    """Show an assessment: whether guide values are met, and the figures looked for first."""
    facts = {"assessment": assessment}
    found, (rows, failed) = decision(facts), guided(assessment)
    head = ("key figure", "guide value", "kept", "before", "after")
    key = [
        (name, guide, met, before, after)
        for name, _, guide, met, before, after in map(cells, key_figures(facts))
    ]
    lost = [one["said"] for one in found["cost"] if one["what"] == "information"]
    said = guide_line(assessment) or "no guide value fits what was measured"
    parts = [
        Part("Key figures", table=Table(head, key, 2) if key else None),
        Part("Risk from", [driver_words(found["drivers"])] if found["drivers"] else []),
        Part("In words", [*sentences(facts), *lost]),
        Part("Notes", _few(notes)),
        Part("Left out", [named(list(assessment["left_out"]))] if assessment["left_out"] else []),
    ]
    tone = ("failed" if failed else "passed") if rows else "open"
    return _shown("Assessment", f"{said[:1].upper()}{said[1:]}.", parts, tone)


def comparison_html(comparison: Facts) -> str:
    """Show compared releases: which are not dominated, and the map of risk and loss."""
    first, *rest = compare.sentences(comparison)
    said, *others = rest or [first]
    laid = compare.parts_of(comparison)
    title = f"Releases compared: {first}" if rest else "Releases compared"
    pictures = [_drawn("Map", one) for one in laid["maps"]]
    parts = [
        Part("In words", others),
        Part("Releases", table=_first(laid["releases"], comparison["front"])),
        *pictures,
        Part("Notes", _few(comparison["notes"])),
    ]
    return _shown(title, said, parts)


def front_html(found: Facts) -> str:
    """Show the front of a search: which recipe to take, why, and the map."""
    cards = front.cards(found)
    best, *others = cards
    kinds = f", {best.kinds}" * bool(best.kinds)
    said = f"{front.title(found)}{kinds}. {best.risk.sentence} {best.loss.sentence}"
    missed = front.missed(found)
    other = [
        f"{one.name}, {one.kinds}: {one.risk.sentence} {one.loss.sentence}" if one.kinds
        else f"{one.name}: {one.risk.sentence} {one.loss.sentence}" for one in others
    ]  # fmt: skip
    parts = [
        Part("Why", list(best.reasons)),
        Part("What is done", _few([*best.words, *best.folded], 12)),
        Part("Or take", other),
        Part("Next", ["discreet.protect(table, front.best.recipe)"]),
        _drawn("Map", front.drawn(found)),
        Part("Further", _few(found["further"], 2)),
    ]
    title = f"Search: {counted(found['evaluations'], 'recipe')} tried on {found['rows']:,} records"
    title += f", {len(found['points']):,} to choose from"
    tone = "failed" if missed else "passed"
    return _shown(title, said, parts, tone)


def sweep_html(found: Facts, columns: Sequence[str] = ()) -> str:
    """Show a sweep: the best combination, the table, and the first picture.

    Of why there is no release, what is quoted is only shown if it is the name of a column.
    """
    tried, *said = sweep.sentences(found)
    best = sweep.best_sentence(found) or (said[-1] if said else "No combination gives a release.")
    wanted = [*found["best"]["rows"], *found["front"]]
    failed = [row for row in found["rows"] if row["why"]]
    refused = [f"{row['name']}: {_without_values(row['why'], columns)}" for row in failed]
    parts = [
        Part("In words", [one for one in said if one != best]),
        Part("Combinations", table=_first(sweep.row_table(found), wanted)),
        *(_drawn("Picture", one) for one in sweep.drawn(found)[:1]),
        Part("No release", _few(refused)),
    ]
    tone = "passed" if found["best"]["rows"] else "open"
    return _shown(f"Sweep: {tried}", best, parts, tone)


def _without_values(said: str, columns: Sequence[str]) -> str:
    """Take what is quoted out of a sentence, but for names of columns: it may be a value.

    Examples
    --------
    >>> _without_values("column 'job': 1 value has no place: 'O'Brien'; add it", ["job"])
    "column 'job': 1 value has no place: ...; add it"
    """
    names = "|".join(re.escape(f"'{name}'") for name in columns) or "(?!)"
    parts = re.split(f"({names})", said)
    # A quote may be within the value: all up to the last one goes.
    parts[::2] = [re.sub(r"'(.*'|.*)", "...", part, flags=re.DOTALL) for part in parts[::2]]
    return "".join(parts)


def attacked_html(found: Facts) -> str:
    """Show what came of attacks."""
    from discreet.report.attacked import attack_sentences, attack_table, worst_sentence

    gains = any(one["interval"][0] > 0 for one in found["attacks"])
    parts = [
        Part("Attacks", table=attack_table(found) if found["attacks"] else None),
        Part("In words", attack_sentences(found)),
        Part("Left out", [f"{name}: {why}" for name, why in found["left_out"].items()]),
        Part("Notes", found["notes"]),
    ]
    tone = ("flagged" if gains else "passed") if found["attacks"] else "open"
    return _shown("Attacks", worst_sentence(found), parts, tone)


def inspection_html(seen: Facts) -> str:
    """Show a first look at a table: probable roles and riskiest keys, without values."""
    from discreet.report.inspected import HEAD, key_rows, look_row

    rows = [look_row(look, seen["rows"], values=False) for look in seen["columns"]]
    head = tuple(name for name in HEAD if name != "range")
    keys = key_rows(seen["keys"]["riskiest"])
    said = "No combination of columns was tried."
    if keys:
        said = f"{keys[0][0]} single out {keys[0][1]} of the records."
    parts = [
        Part("Columns", table=_first(Table(head, rows, reading="All roles are guesses; those with "
                                           "? are doubtful."))),
        Part("Riskiest keys", table=Table(("key", "singles out"), keys, 1) if keys else None),
    ]  # fmt: skip
    title = f"First look: {counted(seen['rows'], 'record')}, {counted(len(rows), 'column')}"
    return _shown(title, said, parts)


def risk_html(rows: int, columns: Sequence[str], lines: Sequence[tuple[str, str]]) -> str:
    """Show the risk of a table as it is, by the lines that the terminal prints."""
    (name, said), *rest = lines
    parts: list[Part] = []
    for what, line in rest:
        if what or not parts:
            parts.append(Part(what, [line]))
        else:
            parts[-1] = replace(parts[-1], lines=[*parts[-1].lines, line])
    title = f"Risk of {counted(rows, 'record')} as they are, by {named(list(columns))}"
    return _shown(title, f"{said} {name}", parts)
