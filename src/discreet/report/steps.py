"""What each step was asked for, what it decided, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.report import pictures
from discreet.report.became import levels_of
from discreet.report.blanks import READINGS, blank_facts, blank_tables
from discreet.report.models import meaning_of
from discreet.report.page import Table, counted, figure, named, share
from discreet.report.pictures import Picture

Plan = Mapping[str, Any]
# Longer lists are in plan.json, and drawn here.
LONGEST_TABLE = 25
_OWN = ("method", "columns", "promise", "precision", "hierarchies")
# Parameters of a generalization without privacy models, where nothing is searched for.
_OF_RECODING = ("levels", "quality")
# Parameters that are, or hold, a number of records or of what else a recipe counts.
COUNTED = ("k", "min_count", "min_attraction", "privacy", "combinations", "subsets")


@dataclass
class StepPart:
    """One step as a page shows it: facts in words, tables and charts."""

    number: int
    method: str
    effect: str
    columns: list[str]
    asked: list[tuple[str, str]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    tables: list[tuple[str, Table]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    counts: str = "records"
    hierarchies: Mapping[str, Any] = field(default_factory=dict)  # as the recipe has them


def step_parts(
    recipe: Mapping[str, Any],
    plan: Plan,
    log: Mapping[str, Any],
    drawn: Mapping[str, Any],
    counts: str = "records",
) -> list[StepPart]:
    """Describe all steps; `drawn` has the figures of the columns, for charts."""
    return [
        _step(asked, decided, done, drawn, counts)
        for asked, decided, done in zip(recipe["steps"], plan["steps"], log["steps"], strict=True)
    ]


def _step(asked: Plan, decided: Plan, done: Plan, drawn: Plan, counts: str) -> StepPart:
    part = StepPart(decided["step"], decided["method"], done["effect"], list(decided["columns"]))
    given = {key: value for key, value in asked.items() if key not in _OWN and value is not None}
    if "recoded" in done:
        given = {key: given[key] for key in _OF_RECODING if key in given}
    part.asked = [(key, figure(value)) for key, value in given.items()]
    if meant := meaning_of(given.get("privacy")):
        part.asked.append(("which means", meant))
    part.counts = counts
    part.hierarchies = asked.get("hierarchies") or {}
    if counts != "records" and not given.keys().isdisjoint(COUNTED):
        part.asked.append(("which counts", counts))
    for column, spec in (asked.get("hierarchies") or {}).items():
        part.asked.append((f"hierarchy of {column}", _hierarchy(spec)))
    if asked.get("promise") is False:
        part.asked.append(("promise", "none is made"))
    cells = done["changed_cells"].items()
    part.facts = [("cells changed", ", ".join(f"{c} {n:,}" for c, n in cells))]
    part.facts.append(("time", f"{done['seconds']:.2f} s"))
    joint = decided.get("joint", {})
    if joint.get("kind") in _JOINT:
        _JOINT[joint["kind"]](part, joint, done)
    for column, own in decided["columns"].items():
        told = _COLUMN.get(own["kind"])
        if told is not None:
            told(part, column, own, drawn.get(column, {}))
    for trace, what in _traces(done):
        part.pictures.append(pictures.refinement(trace, what))
    return part


def _hierarchy(spec: Any) -> str:
    if not isinstance(spec, Mapping):
        return figure(spec)
    given = {key: value for key, value in spec.items() if key != "kind" and value is not None}
    return ", ".join(part for part in (spec.get("kind", ""), figure(given)) if part)


# Local recoding may search hundreds of times; the first searches have most of the records.
MOST_TRACES = 4


# What is over sooner had no time that anybody could have given it more of.
SHORTEST = 1.0


def _traces(done: Plan) -> Iterator[tuple[Plan, str]]:
    """Return how a step's searches improved over time, if that was kept and took any."""
    found = [(done.get("trace"), "loss in %")]
    found += [(search.get("trace"), "loss") for search in done.get("searches", ())]
    long = [(trace, what) for trace, what in found if trace and trace["seconds"][-1] >= SHORTEST]
    yield from long[:MOST_TRACES]


# Plans of one column, by their kind


def _cuts(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    points, counts = np.asarray(plan["points"]), np.asarray(plan["counts"])
    ends = _range(_value(plan, points.min()), _value(plan, points.max()), "from ", "at ")
    held = counts[counts > 0]  # Points that are given may be nobody's.
    rarest = f"the rarest stands for {counted(int(held.min()), 'record')}"
    said = f"{counted(len(held), 'point')} {ends}; {rarest}, on average {held.mean():.1f}"
    part.facts.append((f"rounding set of {column}", said))
    if len(points) <= LONGEST_TABLE:
        cuts = [_value(plan, cut) for cut in np.asarray(plan["cuts"])]
        # A spike is released as it is.
        spikes = [_value(plan, spike) for spike in np.asarray(plan.get("spikes", ()))]
        lower, upper = ["", *cuts, *spikes], [*cuts, "", *spikes]
        rows = [
            (low, high, _value(plan, point), f"{int(count):,}")
            for low, high, point, count in zip(lower, upper, points, counts, strict=True)
        ]
        head = ("from", "to below", "released as", "records")
        part.tables.append((f"Rounding set of {column}", Table(head, rows, 4)))
    if drawn.get("histogram"):
        part.pictures.append(pictures.rounding_sets(column, plan, drawn["histogram"]))


def _multiples(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    counts = np.asarray(plan["counts"])
    used = f"{counted(len(counts), 'multiple')} of {_value(plan, plan['base'], length=True)}"
    said = f"{used} in use, the rarest by {counted(int(counts.min()), 'record')}"
    part.facts.append((f"multiples in {column}", said))


def _clip(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    bounds = [
        f"{counted(int(plan[where]), 'value')} {where} {_value(plan, plan[side])}"
        for side, where in (("lower", "below"), ("upper", "above"))
        if plan[side] is not None
    ]
    part.facts.append((f"bounds of {column}", "; ".join(bounds)))


def _counts(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    said = f"{counted(int(plan['hidden']), 'count')} left blank"
    part.facts.append((f"rounding of {column}", f"by the rule {plan['rule']}; {said}"))


def _noise(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    if plan["noise"] == "multiplicative":
        said = f"each value times 1 + noise of standard deviation {figure(float(plan['scale']))}"
    elif "logarithmic" in plan["noise"]:
        said = f"logarithms plus noise of standard deviation {figure(float(plan['scale']))}"
    else:
        said = f"standard deviation {figure(float(plan['scale'] * plan['sd']))}, which is "
        said += f"{share(plan['scale'])} of the column's"
    if plan.get("match_ranks"):
        said += ", and then the column's own values in the order that this gives"
    part.facts.append((f"noise in {column}", said))


def _pram(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    names = [figure(category) for category in plan["categories"]]
    matrix = np.asarray(plan["matrix"], dtype=np.float64).reshape(len(names), -1)
    stay = np.diag(matrix)
    part.facts.append(
        (
            f"transitions of {column}",
            f"{counted(len(names), 'category', 'categories')}, which stay with a chance of "
            f"{_range(share(stay.min()), share(stay.max()))}",
        )
    )
    if len(names) <= 12:
        rows = [(name, *(share(p) for p in row)) for name, row in zip(names, matrix, strict=True)]
        reading = "Chance that a value (row) is released as another (column)."
        table = Table(("from", *names), rows, len(names), reading)
        part.tables.append((f"Transition matrix of {column}", table))


def _sources(part: StepPart, column: str, plan: Plan, drawn: Plan) -> None:
    if "window" in plan:
        window = f"{counted(int(plan['window']), 'rank')} at most ({figure(float(plan['p']))} %)"
        part.facts.append((f"swapping in {column}", f"values moved by {window}"))
    elif "jump" in plan:
        ranks = f"any number of ranks, {round(plan['jump']):,} on average"
        said = f"values moved by {ranks} ({figure(float(plan['p']))} %)"
        part.facts.append((f"swapping in {column}", said))


_Told = Callable[[StepPart, str, Plan, Plan], None]
_COLUMN: dict[str, _Told] = {
    "clip": _clip,
    "counts": _counts,
    "cuts": _cuts,
    "multiples": _multiples,
    "noise": _noise,
    "pram": _pram,
    "sources": _sources,
}


def _range(low: str, high: str, several: str = "", one: str = "") -> str:
    """Write a range, or a single value if its ends are the same."""
    return f"{one}{low}" if low == high else f"{several}{low} to {high}"


def _value(plan: Plan, value: Any, length: bool = False) -> str:
    """Write a value of a plan; dates and durations count units of so many nanoseconds."""
    if plan.get("unit_ns") is None:
        return f"{float(value):,.10g}"
    if length or "since" not in plan["unit"]:
        return f"{float(value):,.10g} {plan['unit'].split(' since')[0]}"
    seconds = np.rint(float(value) * plan["unit_ns"] / 1e9)
    moment = str(np.datetime64(int(seconds), "s"))
    return moment.removesuffix("T00:00:00").replace("T", " ")


# Plans of several columns together, by their kind


def _microaggregation(part: StepPart, plan: Plan, done: Plan) -> None:
    moves = f" after {counted(int(plan['moves']), 'move')} of refinement" if plan["moves"] else ""
    said = f"{counted(int(done['groups']), 'group')} of at least {plan['k']} {part.counts}"
    part.facts.append(("groups", f"{said}, by {plan['algorithm']}"))
    part.facts.append(("loss", f"{done['loss']:.4g} % of the squares{moves}"))
    if done.get("blanked_records"):
        part.facts.append(("blanked", counted(int(done["blanked_records"]), "record")))


def _porop(part: StepPart, plan: Plan, done: Plan) -> None:
    chunks = len(plan["deviations"])
    degrees = sorted({int(degree) for degree in np.asarray(plan["degrees"])})
    fits = f"{counted(chunks, 'chunk')} of {plan['second_k']} values or so"
    part.facts.append(("polynomials", f"{fits}, of degree {figure(degrees)}"))
    if "risks" in plan:
        part.facts.append(("degrees chosen", _chosen(plan)))
    missed = float(np.mean(plan["deviations"]))
    noise = plan["noise"] if plan["noise"] == "none" else f"{plan['noise']} times "
    noise += "" if plan["noise"] == "none" else figure(float(plan["noise_scale"]))
    part.facts.append(("noise", f"{noise}; the fits miss {figure(missed)} of a chunk's width"))
    part.facts.append(("values that came out unchanged", share(done.get("unchanged"))))
    part.pictures.append(pictures.polynomials(part.columns, plan))


def _chosen(plan: Plan) -> str:
    """Say how often each degree was chosen, and what it came to."""
    degrees = np.asarray(plan["degrees"])
    taken = np.arange(len(degrees)), degrees - 1
    loss, risk = (
        float(np.reshape(plan[name], (len(degrees), -1))[taken].mean())
        for name in ("losses", "risks")
    )
    often = (
        f"{degree} for {counted(int(count), 'chunk')}"
        for degree, count in zip(*np.unique(degrees, return_counts=True), strict=True)
    )
    return f"{', '.join(often)}; mean loss {figure(loss)} and risk {figure(risk)}"


def _ipso(part: StepPart, plan: Plan, done: Plan) -> None:
    said = f"variant {plan['variant']}, from {named(list(plan['confidential']))}"
    part.facts.append(("regression", said))
    part.facts.append(("values that came out unchanged", share(done.get("unchanged"))))


def _generalize(part: StepPart, plan: Plan, done: Plan) -> None:
    asked = {"hierarchies": part.hierarchies}
    depth = {name: len(one["labels"]) - 1 for name, one in plan["hierarchies"].items()}
    if "recoded" in done:
        told = []
        for name, level in done["recoded"].items():
            [(_, words, _)] = levels_of(asked, plan, done, name)
            told.append(f"{name} to level {level} of {depth[name]}: {words}")
        part.facts.append(("recoded", "; ".join(told)))
        _quality(part, done)
        return
    rows = [
        (name, group["group"], words, f"{level} of {depth[name]}", f"{records:,}",
         share(records / max(1, group["rows"])))
        for name in depth
        for group in plan["groups"]
        for level, words, records in levels_of(asked, {**plan, "groups": [group]}, done, name)
    ]  # fmt: skip
    head = ("column", "group", "released as", "level", "records", "of the group")
    reading = "Level 0 is the value itself, the highest is *, which suppressed records have too."
    part.tables.append(("Levels", Table(head, rows, 3, reading)))
    sizes = [np.concatenate([[], *(one["sizes"] for one in g["rounds"])]) for g in plan["groups"]]
    groups = [
        (group["group"], f"{group['rows']:,}", f"{len(group['rounds']):,}",
         f"{group['suppressed']:,}", f"{len(own):,}", f"{int(own.min()):,}" if len(own) else "–")
        for group, own in zip(plan["groups"], sizes, strict=True)
    ]  # fmt: skip
    head = ("group", "records", "rounds", "suppressed", "classes", "smallest")
    part.tables.append(("Groups by nulls", Table(head, groups, 5)))
    _quality(part, done)
    for search in done.get("searches", ()):
        gap = search["gap"]
        proven = f"within {share(gap)} of the optimum" if gap else "proven optimal"
        work = f"{search['evaluations']:,} of {search['nodes']:,} combinations of levels looked at"
        bound = f"found {figure(search['optimum'])}, nothing is below {figure(search['bound'])}"
        of = f"certificate ({search['group']}, round {search['round']})"
        part.facts.append((of, f"{proven}: {bound}; {work}"))
        if "drawn" in search:
            said = f"levels were drawn that cost {figure(search['drawn'])}, and the best "
            said += f"{figure(search['optimum'])}"
            part.facts.append(
                (f"paid for the draw ({search['group']}, round {search['round']})", said)
            )
    _suppressed(part, done)


def _quality(part: StepPart, done: Plan) -> None:
    if "quality" in done:
        quality = done["quality"]
        part.facts.append((f"quality ({quality['model']})", figure(quality["value"])))


def _mondrian(part: StepPart, plan: Plan, done: Plan) -> None:
    sizes = np.asarray(plan["sizes"])
    said = counted(len(sizes), "class", "classes")
    if len(sizes):
        said += f" of {_range(f'{int(sizes.min()):,}', f'{int(sizes.max()):,}')} records"
    part.facts.append(("classes", said))
    _suppressed(part, done)


def _anatomy(part: StepPart, plan: Plan, done: Plan) -> None:
    groups = np.asarray(plan["groups"])
    sizes = np.bincount(groups[groups > 0])[1:]
    said = counted(len(sizes), "group")
    if len(sizes):
        said += f" of {_range(f'{int(sizes.min()):,}', f'{int(sizes.max()):,}')} records"
    values = f"each with {plan['l']} or more values of {named(list(plan['confidential']))}"
    part.facts.append(("groups", f"{said}, {values}"))
    _suppressed(part, done)


def _local_suppression(part: StepPart, plan: Plan, done: Plan) -> None:
    demands = [f"{one['k']} for {named(one['columns'])}" for one in plan["demands"][:3]]
    more = len(plan["demands"]) - len(demands)
    said = "; ".join(demands) + (f"; and for {more:,} combinations more" if more else "")
    if demands:
        part.facts.append(("demanded k", said))
    part.facts.append(("reading", READINGS[plan["null_policy"]]))
    part.facts += blank_facts(done, part.counts)
    part.tables += blank_tables(plan, done)


def _private(part: StepPart, plan: Plan, done: Plan) -> None:
    parts = [f"{_PARTS.get(name, name)} {figure(x)}" for name, x in done["ledger"].items() if x]
    part.facts += [("budget spent", ", ".join(parts)), ("what that means", done["meaning"])]


def _safepub(part: StepPart, plan: Plan, done: Plan) -> None:
    _private(part, plan, done)
    part.facts.append(("least class", counted(int(plan["k"]), "record")))
    sampled = f"{counted(done['sampled'], 'record')}, each with a probability of {done['beta']:.4g}"
    part.facts.append(("sampled", sampled))
    depth = {name: len(one["maps"]) - 1 for name, one in plan["hierarchies"].items()}
    levels = [f"{name} {level} of {depth[name]}" for name, level in plan["levels"].items()]
    part.facts.append(("levels", ", ".join(levels)))
    if "levels_scored" in done:
        scored = counted(done["levels_scored"], "combination")
        part.facts.append(("levels were drawn", f"by the exponential mechanism, of {scored}"))
    sizes = np.asarray(plan["sizes"])
    if len(sizes):
        said = f"{counted(len(sizes), 'class', 'classes')} of {sizes.min():,} to {sizes.max():,}"
        part.facts.append(("released", f"{said} records"))
    part.facts.append(("not released", counted(int(done.get("suppressed", 0)), "record")))


# What is said of the parts of a ledger, where it is not their name.
_PARTS = {
    "epsilon_anon": "of which on classes",
    "epsilon_search": "on levels",
}


def _suppressed(part: StepPart, done: Plan) -> None:
    part.facts.append(("suppressed", counted(int(done.get("suppressed", 0)), "record")))


_JOINT: dict[str, Callable[[StepPart, Plan, Plan], None]] = {
    "anatomy": _anatomy,
    "generalize": _generalize,
    "ipso": _ipso,
    "local-suppression": _local_suppression,
    "microaggregation": _microaggregation,
    "mondrian": _mondrian,
    "porop": _porop,
    "private-centres": _private,
    "safepub": _safepub,
}


def in_one_line(steps: Sequence[Mapping[str, Any]]) -> str:
    """Say which methods treat which columns: `oma (income), noise (assets)`.

    Examples
    --------
    >>> in_one_line([{"method": "oma", "columns": ["income", "assets"]}])
    'oma (income and assets)'
    """
    return ", ".join(f"{step['method']} ({named(step['columns'], 3)})" for step in steps)
