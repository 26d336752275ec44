"""The decision page: whether the target is met, what became of the columns, and what to do next.

Made from the facts of the internal report alone: at the top of the page and in the terminal.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.report.became import columns_of, gone_share, grouped, most_gone
from discreet.report.measures import asked, guided, label, measured, met, told
from discreet.report.page import counted, figure, named, share, shortened, unbroken
from discreet.report.policy import in_short, remedies, rules_of

Facts = Mapping[str, Any]
# Lines of the terminal, with those on where the files are.
MOST_LINES, CLOSING = 25, 3
_MARGIN = 10
# Lines of a sentence; of the verdict, one more.
_MOST_EACH = 3
# What is shown of each part, from the most to the least, until it fits.
_ITEMS = ((9, 2, 3), (9, 2, 2), (9, 1, 1))
_ROOM = [
    {"columns": columns, "short": short, "riskiest": riskiest, "warnings": warnings, "lines": lines}
    for short, lines, items in (
        (False, 3, _ITEMS),
        (False, 2, _ITEMS),
        (True, 2, _ITEMS),
        # What became of a column is the last that is not told.
        (True, 1, (*_ITEMS, (7, 1, 1), (5, 1, 1))),
    )
    for columns, riskiest, warnings in items
]
MOST_RISKY = 10
_ALL = {"columns": 10_000, "short": False, "riskiest": MOST_RISKY, "warnings": 10_000, "lines": 100}
_RISKS = {"prosecutor, largest": "largest risk", "marketer, average": "average risk"}
_MODELS = {
    r"k-anonymity \(k = (\S+)\)": "{0}-anonymity",
    r"l-diversity \(l = ([^,)]+), column = (.*?)(?:, kind = distinct)?"
    r"(?:, counted in = \w+)?\)": "{0}-diversity of {1}",
    r"profitability \(.*attack = True\b.*\)": "no class that costs more than it is worth",
    r"profitability \(.*attack = False\b.*\)": "classes so large that no attack pays",
    r"t-closeness \(t = ([^,)]+), column = ([^,)]*).*\)": "{0}-closeness of {1}",
    r"(k = \d+ records per class), as epsilon .*": "{0}",
    r"largest-risk \(risk = ([^,)]+)\)": "a risk of at most {0:%} for each record",
    r"average-risk \(average = ([^,)]+)\)": "an average risk of at most {0:%}",
    r"average-risk \(average = ([^,)]+), highest = ([^,)]+)\)": (
        "an average risk of at most {0:%}, none above {1:%},"
    ),
    r"average-risk \(average = ([^,)]+), highest = ([^,)]+), records = ([^,)]+)\)": (
        "an average risk of at most {0:%}, {2:%} of records above {1:%},"
    ),
    r"sample-uniqueness \(share = ([^,)]+)\)": "at most {0:%} of the records unique",
    r"population-uniqueness \(share = ([^,)]+),.*\)": (
        "at most {0:%} of the population unique, by estimate,"
    ),
    r"k-map \(k = ([^,)]+), population = .*\)": "{0} or more in the population per class",
    r"delta-disclosure \(delta = ([^,)]+), column = ([^,)]*).*\)": (
        "less than {0} bits learnt of {1} per class"
    ),
    r"delta-presence \(minimum = ([^,)]+), maximum = ([^,)]+), .*\)": (
        "{0:%} to {1:%} of the population per class in the table"
    ),
}
_PROMISE = re.compile(
    r"(wildcard )?[\w-]+(anonymity|diversity|closeness|likeness)\b.* over |"
    r"[\w-]+(map|disclosure|presence|risk|uniqueness)\b.* over |profitability \(.* over |"
    r"k = .*? per |k = .*? over |a risk of .* over "
)

_RISK_MODEL = re.compile(r"(k-map|delta-presence|sample-uniqueness) \(")


def decision(facts: Facts) -> dict[str, Any]:
    """Gather what a board decides by.

    Parameters
    ----------
    facts : dict
        As `internal_report` takes them; whatever is missing is not told.

    Returns
    -------
    dict
        `verdict` (`passed`, `stated`, `flagged`, `said`, `targets`), `columns`, `drivers`,
        `riskiest`, `cost`, `asked` (what the missed rules of a policy ask for), `next`,
        `next_not_tried` and `warnings`, as plain data.

    Examples
    --------
    >>> decision({"check": {"findings": []}})["verdict"]["said"]
    'Not judged: no target is stated, and nothing was measured.'
    """
    figures = (facts.get("assessment") or {}).get("figures") or {}
    log = facts.get("log") or {}
    columns = columns_of(facts)
    return {
        "verdict": _verdict(facts),
        "columns": columns,
        "drivers": [one for one in figures.get("drivers") or () if one.get("after") is not None],
        "riskiest": list(figures.get("riskiest") or ())[:MOST_RISKY],
        "cost": list(_cost(facts, columns))[:3],
        "asked": remedies(rules_of(facts)),
        "next": log.get("next"),
        "next_not_tried": log.get("next_not_tried"),
        "warnings": _warnings(facts),
    }


# The verdict


def _verdict(facts: Facts) -> dict[str, Any]:
    promised = list(_promised(facts.get("check") or {"findings": []}))
    rules = rules_of(facts)
    rows, failed = guided(facts.get("assessment") or {})
    if rules:
        # The check has decided those, and says by how much.
        rows, failed = ([r for r in some if not _by_policy(r)] for some in (rows, failed))
    sources = [row["guide"].get("by", "guide value") for row in rows]
    measured_ = [
        {"what": _plain(row), "source": by, "met": bool(met(row)), "said": _reached(row)}
        for row, by in zip(rows, sources, strict=True)
    ]
    # What the recipe or its policy asks of all quasi columns decides; this report's own guide
    # values do where nobody stated a target.
    private = [s for s in (facts.get("log") or {}).get("steps", ()) if "ledger" in s]
    stated = bool(rules or private) or any(by != "guide value" for by in sources)
    stated = stated or _states_risk(facts)
    missed = [one for one in (*promised, *rules) if one["met"] is False]
    beyond = [row for row in failed if not stated or row["guide"].get("by") != "guide value"]
    beside = [row for row in failed if row not in beyond]
    passed = None if not promised and not rows and not rules else not (missed or beyond)
    title = facts["check"]["policy"]["title"] if rules else ""
    # What decides nothing is no target that could be missed.
    judged = len(rows) - stated * sources.count("guide value")
    targets = len(promised) + len(rules) + judged
    said = _said(passed, promised, missed, rows, beyond, targets, title)
    said += in_short(title, rules) if passed else ""
    return {
        "passed": passed,
        "stated": stated,
        "flagged": bool(beside) or any(one["met"] is None for one in rules),
        "said": said + "".join(map(_budget, private)) + _beside(beside),
        "targets": promised + rules + measured_,
    }


def _states_risk(facts: Facts) -> bool:
    """Say whether the recipe bounds who is found by the quasi columns, if not by a k of records."""
    quasi = {*((facts.get("recipe") or {}).get("roles") or {}).get("quasi", ())}
    return any(
        _RISK_MODEL.match(one["promise"])
        and quasi <= {*one["promise"].partition(") over ")[2].split(", ")}
        for one in (facts.get("check") or {"findings": []})["findings"]
    )


def _budget(step: Facts) -> str:
    """Say in short what a budget of differential privacy means.

    Examples
    --------
    >>> _budget({"ledger": {"epsilon": 1.0}})
    " With epsilon = 1, a person's record makes nothing more than 2.72 times as likely."
    >>> _budget({"ledger": {"epsilon": 1.0, "delta": 1e-6}})[-58:]
    'more than 2.72 times as likely, but for a chance of 1e-06.'
    """
    epsilon, delta = step["ledger"]["epsilon"], step["ledger"].get("delta")
    times = f"{math.exp(epsilon):,.3g}"
    said = f" With epsilon = {epsilon:g}, a person's record makes nothing more than {times} "
    return said + "times as likely" + (f", but for a chance of {delta:g}." if delta else ".")


def _by_policy(row: Facts) -> bool:
    return bool(row["guide"].get("by") == "policy")


def _promised(check: Facts) -> Iterator[dict[str, Any]]:
    """Return what the recipe promises of people, as the check found it."""
    seen = set()
    for finding in check["findings"]:
        promise = finding["promise"].removesuffix(", within each group by nulls")
        if finding["status"] == "weak" or promise in seen or not _PROMISE.match(promise):
            continue
        seen.add(promise)
        met_ = {"verified": True, "broken": False}.get(finding["status"])
        yield {
            "what": _what(promise),
            "source": "recipe",
            "met": met_,
            "said": finding["detail"],
        }


def _what(promise: str) -> str:
    """Name a target: 5-anonymity, 3-diversity of disease.

    Examples
    --------
    >>> _what("l-diversity (l = 3, column = disease, kind = distinct) over age, sex")
    '3-diversity of disease'
    >>> _what("sample-uniqueness (share = 0.01) over age, sex")
    'at most 1 % of the records unique'
    >>> _what("k = 3 over age, job (null_policy = value: a blank is one more value)")
    'k = 3 over age and job'
    >>> _what("k = 10 per value in column 'income'")
    "k = 10 per value in column 'income'"
    """
    for pattern, words in _MODELS.items():
        if found := re.match(pattern, promise):
            return words.format(*map(_Said, found.groups()))
    if found := re.match(r"(k = .*?) over (.*?) \(null_policy", promise):
        names = found[2].split(", ")
        many = f"{len(names)} columns"  # More names would be cut.
        return f"{found[1]} over {many if len(names) > 3 else named(names, 3)}"
    return promise.partition(" over ")[0]


class _Said(str):
    """A number as the check writes it, that can be told as a percentage."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return f"{100 * float(self):.4g} %" if spec == "%" else str(self)


def _plain(row: Facts) -> str:
    """Name a figure for a board: those within classes by what they say, not by their letter."""
    return f"{row['column']}: {row['reading']}" if row["measure"] == "diversity" else label(row)


def _worded(row: Facts) -> str:
    """Say a figure that is beyond its guide value.

    Examples
    --------
    >>> row = {"measure": "diversity", "name": "alpha of ill", "column": "ill", "better": "less",
    ...        "unit": "%", "after": 1.0, "guide": {"value": 1.0, "excluded": True}}
    >>> _worded(row)
    'ill: in some class all have the same value (guide: below 100 %)'
    """
    if row["name"].startswith("alpha of "):
        many = "all" if row["after"] == 1 else told(row, row["after"])
        return f"{row['column']}: in some class {many} have the same value ({asked(row)})"
    return f"{_plain(row)} {_reached(row)}"


def _reached(row: Facts) -> str:
    return f"{told(row, row['after'])} ({asked(row)})"


def _said(
    passed: bool | None,
    promised: Sequence[Facts],
    missed: Sequence[Facts],
    rows: Sequence[Facts],
    beyond: Sequence[Facts],
    targets: int,
    policy: str,
) -> str:
    if passed is None:
        return "Not judged: no target is stated, and nothing was measured."
    if passed:
        names = _together([one["what"] for one in promised if one["met"]])
        if not names and policy:
            return "PASS."
        if not names:
            return f"PASS: all {counted(len(rows), 'guide value')} are met; the recipe states none."
        held = f"PASS: {named(names, 3)} {'holds' if len(names) == 1 else 'hold'}"
        largest = next((r for r in rows if r["name"] == "attackers.prosecutor"), None)
        reached = f"; largest risk of a record {told(largest, largest['after'])}" if largest else ""
        return f"{held}, as the recipe asks{reached}."
    found = [f"{one['what']} ({one['said']})" for one in missed]
    found += [_worded(row) for row in beyond]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    many = (
        f"{len(found)} of {counted(targets, 'target')} {'is' if len(found) == 1 else 'are'} missed"
    )
    many += f" (policy: {policy})" * bool(policy)
    return f"FAIL: {many}: {'; '.join(found[:3])}{more}."


def _together(names: Sequence[str]) -> list[str]:
    """Tell the same promise of several columns once.

    Examples
    --------
    >>> _together(["5-anonymity", "k = 5 per value in column 'a'", "k = 5 per value in column 'b'"])
    ['5-anonymity', 'k = 5 per value in 2 columns']
    """
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found.setdefault(name.partition(" in column '")[0], []).append(name)
    return [
        own[0] if len(own) == 1 else f"{what} in {len(own)} columns" for what, own in found.items()
    ]


def _beside(rows: Sequence[Facts]) -> str:
    """Say what is beyond a guide value though the recipe's own target is met."""
    alike: dict[str, list[str]] = {}  # What is said of several columns is said once.
    for row in rows:
        column, said = row["column"], _worded(row)
        own = column is not None and said.startswith(f"{column}: ")
        alike.setdefault(said.removeprefix(f"{column}: ") if own else said, []).append(
            shortened(column) if own else ""
        )
    found = [f"{named(who, 3)}: {said}" if all(who) else said for said, who in alike.items()]
    if not found:
        return ""
    more = f" and {len(found) - 2} more" if len(found) > 2 else ""
    return f" But look at {'; '.join(found[:2])}{more}."


# The cost


def _cost(facts: Facts, columns: Sequence[Facts]) -> Iterator[dict[str, str]]:
    """Say what it cost, the most telling figures first."""
    log = facts.get("log")
    if log:
        yield {"what": "gone", "said": _gone(log, columns)}
    rows = {
        row["name"]: row
        for row in measured(facts.get("assessment") or {}, "utility")
        if row["after"] is not None
    }
    if (lost := rows.get("information_loss")) is not None:
        said = f"{share(lost['after'])} of the information is lost"
        by_column = facts["assessment"]["utility"]["information_loss"].get("columns", {})
        most = sorted(by_column.items(), key=lambda one: -one[1])[:3]
        if most and most[0][1]:
            said += f" ({', '.join(f'{shortened(c)} {share(v)}' for c, v in most if v)})"
        yield {"what": "information", "said": said + _proven(log)}
    # Columns of which cells are only blank move nothing.
    moved = (facts.get("assessment") or {}).get("utility", {}).get("il1s", {}).get("columns", {})
    if moved := {name: part for name, part in moved.items() if part}:
        moves = f"{sum(moved.values()) / len(moved) * 2**0.5:.2g} standard deviations"
        said = f"changed numbers ({named(list(moved), 2)}) move by {moves} on average"
        yield {"what": "numbers", "said": said}
    if (tables := rows.get("contingency_loss")) is not None:
        said = f"two-way tables are off by {share(tables['after'])} of the records"
        yield {"what": "tables", "said": said}
    if (r := rows.get("mean_absolute_correlation")) is not None:
        said = f"correlations average {r['before']:.2f} before and {r['after']:.2f} after"
        yield {"what": "correlations", "said": said}
    if log:
        cells = sum(log["changed_cells"].values())
        total = max(1, len(log["changed_cells"]) * log["input"]["rows"])
        yield {"what": "cells", "said": f"{share(cells / total)} of the released cells differ"}


def _gone(log: Facts, columns: Sequence[Facts]) -> str:
    treated = [one for one in columns if one["column"] in log["changed_cells"]]
    part = sum(map(gone_share, treated)) / max(1, len(treated))
    said = f"{share(part)} of the released cells became * or blank"
    if worst := most_gone(treated):
        said += f" ({', '.join(f'{name} {share(one)}' for name, one in worst[:3])})"
    records = (log.get("suppressed") or {}).get("records", 0)
    if records:
        said += f"; {counted(records, 'record')} of {log['input']['rows']:,} suppressed"
        gone = log["suppressed"]["left_out"]
        said += " and left out" if gone == records else f", {gone:,} of them left out" * (gone > 0)
    return said


def _proven(log: Facts | None) -> str:
    """Say that no other levels lose less, where that was proven of all there are."""
    found = [step.get("searches") for step in (log or {"steps": []})["steps"] if "quality" in step]
    # Of local recoding each round is the best, and not all of them together.
    best = found and all(
        searches and all(s["gap"] == 0 and s["round"] == 1 and "drawn" not in s for s in searches)
        for searches in found
    )
    return "; the levels are the proven optimum of their search" if best else ""


def _warnings(facts: Facts) -> list[str]:
    """Return warnings, what is weak first."""
    log, check = facts.get("log") or {}, facts.get("check") or {}
    found = list(dict.fromkeys(log.get("warnings", ())))
    known = " ".join(found)
    for one in check.get("findings", ()):
        if one["status"] == "weak" and one["detail"] not in known:
            found.append(f"weak: {one['promise']}: {one['detail']}")
    quasi = ", ".join(((facts.get("recipe") or {}).get("roles") or {}).get("quasi", ()))
    if quasi.count(",") > 1:
        found = [text.replace(quasi, "the quasi columns") for text in found]
    # What is weak about the release comes first, then about a step of the recipe.
    return sorted(found, key=lambda text: 2 * (not text.startswith("weak:")) + (" step " in text))


# In words, for page and terminal


def driver_words(drivers: Sequence[Facts], most: int = 4) -> str:
    """Say which columns drive the risk.

    Examples
    --------
    >>> driver_words([{"column": "job", "before": 0.41, "after": 0.38},
    ...               {"column": "age", "before": 0.2, "after": 0.3}])
    'job 38 % (41 % before), age 30 % (20 % before)'
    """
    return ", ".join(
        f"{shortened(one['column'])} {share(one['after'])}"
        + (f" ({share(one['before'])} before)" if one.get("before") is not None else "")
        for one in drivers[:most]
    )


def record_words(record: Facts) -> str:
    """Say why a record is at risk: its values, and the smallest set of them that tells.

    Examples
    --------
    >>> record_words({"row": 7, "risk": 1.0, "class": 1, "values": {"age": "61", "sex": "f"},
    ...               "unique_on": ["age"], "rarest": ["age"], "among": 1})
    'unique on age (61)'
    >>> record_words({"row": 7, "risk": 0.2, "class": 5, "values": {"age": "60-79"},
    ...               "unique_on": None, "rarest": ["age"], "among": 5})
    'only 5 share age (60-79)'
    """
    values = record.get("values") or {}
    if record.get("unique_on"):
        return f"unique on {_with_values(record['unique_on'], values)}"
    if record.get("rarest"):
        # Of rows of the same unit, the number of rows would be another.
        those = f"{record['among']:,} {record.get('counted', '')}".rstrip()
        return f"only {those} share {_with_values(record['rarest'], values)}"
    return ", ".join(f"{shortened(c)} {figure(v)}" for c, v in values.items())


def _with_values(names: Sequence[str], values: Facts) -> str:
    said = []
    for name in names:
        value = "blank" if values.get(name) is None else shortened(str(values[name]))
        said.append(shortened(name) + (f" ({value})" if name in values else ""))
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def next_words(found: Mapping[str, Any]) -> list[str]:
    """Say what to do next: what a policy asks for, then what was tried."""
    asked = list(found.get("asked", ()))
    if found.get("next") is None:
        why = found.get("next_not_tried")
        return [*asked, f"not tried: {why}"] if why else asked
    if not found["next"]:
        return asked or ["no single change that was tried is better"]
    return asked + [_change(one) for one in found["next"]]


def _change(one: Facts) -> str:
    """Say a change and what it gains, first what it is for.

    Examples
    --------
    >>> _change({"change": "k = 10 instead of 5", "measure": "prosecutor, largest",
    ...          "risk": [0.2, 0.1], "loss": [0.3, 0.32]})
    'k = 10 instead of 5: largest risk 20 % -> 10 %, loss +0.02'
    >>> _change({"change": "recode locally", "measure": "prosecutor, largest", "risk": [0.2, 0.2],
    ...          "average": [0.05, 0.15], "loss": [0.3, 0.2]})
    'recode locally: loss -0.1, average risk 5 % -> 15 %, largest risk still 20 %'
    """
    (risk, then), (loss, after) = one["risk"], one["loss"]
    measure = _RISKS.get(one["measure"], one["measure"])
    moved = f"{measure} {share(risk)} -> {share(then)}"
    if one.get("average") and share(risk) == share(then):
        # The largest risk is a bound that both keep, and hides what changes below it.
        average = " -> ".join(map(share, one["average"]))
        moved = f"average risk {average}, {measure} still {share(then)}"
    said = [moved, f"loss {after - loss:+.2g}"]
    how = ", by short searches" if one.get("short") else ""
    how += f", in a sample of {one['sample']:,}" if one.get("sample") else ""
    return f"{one['change']}: {', '.join(said if after >= loss else said[::-1])}{how}"


# The terminal


def decision_lines(
    found: Mapping[str, Any], width: int = 100, most: int | None = MOST_LINES - CLOSING
) -> list[str]:
    r"""Lay the page out for a terminal, in at most so many lines of at most this width.

    With `most` None all that is known is told.

    Examples
    --------
    >>> print(*decision_lines(decision({"check": {"findings": []}})), sep="\n")
    Verdict   Not judged: no target is stated, and nothing was measured.
    """
    width = max(60, min(width, 120))
    if most is None:
        return _laid(found, _ALL, width)
    for room in _ROOM:
        lines = _laid(found, room, width)
        if len(lines) <= most:
            return _widened(found, room, width, most)
    return [*lines[: most - 1], f"{'':{_MARGIN}}more with --verbose"]


def _laid(found: Mapping[str, Any], room: Facts, width: int) -> list[str]:
    return [line for part in _parts(found, room) for line in _wrapped(*part, width, room)]


def _widened(found: Mapping[str, Any], room: Facts, width: int, most: int) -> list[str]:
    """Give the lines that are left to the parts that are cut, the most telling first."""
    for name in ("Next", "Cost", "Risk from", "Columns", "Riskiest", "Warnings"):
        for lines in range(room["lines"] + 1, _MOST_EACH + 1):
            wider = {**room, name: lines}
            if len(_laid(found, wider, width)) <= most:
                room = wider
    return _laid(found, room, width)


def _parts(found: Mapping[str, Any], room: Facts) -> Iterator[tuple[str, list[str]]]:
    yield "Verdict", [found["verdict"]["said"]]
    columns = grouped(found["columns"], room["columns"], room["short"])
    yield "Columns", [f"{names}: {how}" for names, how in columns]
    if found["drivers"]:
        yield "Risk from", [driver_words(found["drivers"])]
    yield "Riskiest", list(_riskiest(found["riskiest"], room["riskiest"]))
    yield "Cost", [one["said"] for one in found["cost"]]
    yield "Next", next_words(found)[:1]
    warnings = found["warnings"]
    shown = warnings[: room["warnings"]]
    more = len(warnings) - len(shown)
    yield "Warnings", [*shown, *([f"{more} more with --verbose"] if more else [])]


def _riskiest(records: Sequence[Facts], most: int) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for one in records:
        if said := record_words(one):
            risk = share(one["risk"]) + " by weight" * one.get("weighted", False)
            alike.setdefault(f"{risk}: {said}", []).append(f"{one['row']:,}")
    shown = list(alike.items())[:most]
    for said, rows in shown:
        yield f"row{'s' * (len(rows) > 1)} {named(rows, 3)}, {said}"
    more = len(records) - sum(len(rows) for _, rows in shown)
    if shown and more:
        yield f"{more} more in the report"


def _wrapped(name: str, texts: Sequence[str], width: int, room: Facts) -> Iterator[str]:
    """Write a part with its name in the margin; a long text ends in dots."""
    first = name
    for text in texts:
        lines = textwrap.wrap(
            unbroken(text),
            width - _MARGIN,
            max_lines=_MOST_EACH + 1 if name == "Verdict" else room.get(name, room["lines"]),
            placeholder=" …",
            break_on_hyphens=False,
        )
        for line in lines:
            yield f"{first:<{_MARGIN}}{line}".replace("\xa0", " ")
            first = ""
