"""The next step: recipes that differ in one thing from the one that was run, tried on its table.

Which are tried follows from the recipe, its plan and its figures, and never from the clock. Each
runs as `protect` runs it, on all rows of a small table and else on a sample, and searches briefly
where the search for the best levels was long; the recipe itself is then run again beside them.
Those that are told have passed the check; none is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.assessment.targets import targets_of
from discreet.check.evidence import Evidence
from discreet.check.frames import check_frames
from discreet.engines import Frame
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.applying import LEFT_OUT
from discreet.flow.deciding import Decided, applied
from discreet.flow.finishing import Finish, count_changes
from discreet.flow.treating import treat
from discreet.measure import AVERAGE
from discreet.recipe.recipe import Recipe, Step
from discreet.risk import informed_linkage
from discreet.risk.frequency import frequencies
from discreet.risk.informed import QUERIES
from discreet.table.classes import encode
from discreet.utility.information import information_loss

# Rows that are all tried, where deciding goes by counts and where it goes by rows or in rounds; of
# larger tables, a sample of so many.
ALL_ROWS, SAMPLE, FEW_ROWS = 50_000, 10_000, 5_000
MOST_TRIED, MOST_TOLD = 8, 3
# Nodes that the search for the best levels has evaluated, up to which others are searched for as
# long. After more, and in rounds of local recoding where the recipe does not say, so many: all of
# them may take a minute, for a few percent less loss.
MOST_NODES, FEW_NODES = 20_000, 100
# What is no gain: two figures that are shown alike.
LEAST = 0.001
SIZES = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
_BY_ROWS = ("microaggregation", "mondrian", "local-suppression")
_LARGEST, _AVERAGE = "prosecutor, largest", "marketer, average"
_LINKAGE = "linkage by an informed intruder"


class Change(NamedTuple):
    """What is changed, in words, and what is set instead: in a step, from 1, or above all, at 0."""

    words: str
    step: int
    set: dict[str, Any]


@dataclass(frozen=True)
class Aim:
    """The risk that recipes are compared by: its name, what it should be, and by which columns."""

    measure: str
    target: float
    columns: list[str]


class Tried(NamedTuple):
    """What a recipe gives: risk, average risk where classes are counted, and loss by column."""

    risk: float
    average: float | None
    loss: float
    columns: dict[str, float]


Run = tuple[Decided, Frame, Finish]


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A recipe that was tried: what was changed, what it gives, and the run."""

    change: Change
    gives: Tried
    run: Run


def next_steps(
    recipe: Recipe,
    plan: Mapping[str, Any],
    original: Frame,
    treated: Frame,
    finish: Finish,
    drivers: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Try the neighbours of a recipe; return what a log says of the best, or why none was tried.

    `next` has at most three of them, the best first: where the risk is above its target, those
    that meet it by the loss they take, or else by the risk that they remove for it; where it is
    not, those that lose less within the target, and one that is safer.
    """
    try:
        if not isinstance(original, MemoryFrame) or not isinstance(treated, MemoryFrame):
            raise BadInput("other recipes are tried on tables in memory only")
        aim = _aim(recipe, finish.schema.names)
        with warnings.catch_warnings(action="ignore"):
            return _tried(recipe, plan, aim, original, finish(treated.table, treated.rows),
                          treated.table[LEFT_OUT].to_numpy(), drivers)  # fmt: skip
    except (BadInput, BrokenPromise) as error:
        return {"next_not_tried": str(error)}


def _tried(
    recipe: Recipe,
    plan: Mapping[str, Any],
    aim: Aim,
    original: MemoryFrame,
    released: pa.Table,
    gone: np.ndarray,
    drivers: Sequence[Mapping[str, Any]] | None,
) -> dict[str, Any]:
    shorter, sample = _shorter(recipe, plan), _sample(recipe, aim, original)
    frame, how = original, {}
    if sample is not None:
        frame, how = sample, {"sample": sample.num_rows}
    if shorter is not recipe:
        recipe, how = shorter, how | {"short": True}
    if how:
        now = _of_run(treat(frame, recipe, "memory", _quietly), aim, frame)
    else:
        now = _measured(recipe, aim, original.table, released, gone)
    order = [one["column"] for one in drivers or ()]
    changes = list(_changes(recipe, plan, aim, now, order))[:MOST_TRIED]
    if not changes:
        raise BadInput("no step that the risk depends on has a setting to try")
    found = []
    for change in changes:
        with suppress(BadInput, BrokenPromise):
            run = treat(frame, changed(recipe, change.step, change.set), "memory", _quietly)
            found.append(Neighbour(change, _of_run(run, aim, frame), run))
    best = _holding(aim, now, found, frame)
    told = [_told(one, aim, now) | how for one in best]
    tried = {"tried": len(changes), "failed": len(changes) - len(found)}
    return {"next": told, "next_tried": tried}


def _holding(aim: Aim, now: Tried, found: list[Neighbour], frame: MemoryFrame) -> list[Neighbour]:
    """Choose the best that pass the check; those that do not are taken out of what was found."""
    passed: list[Neighbour] = []
    while True:
        best = _best(aim, now, found)
        broken = [one for one in best if one not in passed and not _passes(one.run, frame)]
        if not broken:
            return best
        passed += [one for one in best if one not in broken]
        found[:] = [one for one in found if one not in broken]


def _passes(run: Run, frame: MemoryFrame) -> bool:
    """Tell whether what a recipe gives passes the check, as `protect` demands it."""
    decided, treated, finish = run
    count_changes(decided, frame, treated, finish)
    finished = applied(treated, treated.schema.names, finish)
    evidence = Evidence(decided.plan, decided.log, decided.recipe, original=frame)
    recipe = decided.recipe.model_copy(update={"policy": None})
    return check_frames(finished, recipe, evidence, frame).verified


def changed(recipe: Recipe, step: int, new: Mapping[str, Any]) -> Recipe:
    """Return a recipe with some parameters of a step, from 1, or of its own, at 0, set anew.

    Examples
    --------
    >>> step = {"method": "oma", "columns": ["pay"], "k": 3}
    >>> recipe = Recipe.from_dict({"roles": {"confidential": ["pay"]}, "steps": [step]})
    >>> changed(recipe, 1, {"k": 5}).steps[0].k
    5
    """
    content = recipe.model_dump(exclude_none=True)
    if step == 0:
        content |= new
    steps = [dict(one) for one in content["steps"]]
    if step > 0:
        steps[step - 1] |= new
    for one in steps:
        # As many as one search had, since there may be more searches now.
        if isinstance(one.get("evaluations"), list):
            one["evaluations"] = max(one["evaluations"], default=1)
    return Recipe.from_dict(content | {"steps": steps})


def _shorter(recipe: Recipe, plan: Mapping[str, Any]) -> Recipe:
    """Return the recipe itself, or with short searches where its own took long."""
    for one in plan["steps"]:
        joint = one.get("joint") or {}
        groups = joint["groups"] if joint.get("kind") == "generalize" else ()
        rounds = [round_ for group in groups for round_ in group["rounds"]]
        nodes = sum(r["certificate"].get("evaluations", 0) for r in rounds if "certificate" in r)
        if nodes > MOST_NODES:
            budget = {"evaluations": FEW_NODES, "time_limit": None}
            recipe = changed(recipe, one["step"], budget)
    return recipe


def _told(one: Neighbour, aim: Aim, now: Tried) -> dict[str, Any]:
    change, then = one.change, one.gives
    told: dict[str, Any] = {
        "change": change.words,
        "recipe": {"step": change.step, "set": change.set},
        "risk": [round(now.risk, 4), round(then.risk, 4)],
        "loss": [round(now.loss, 4), round(then.loss, 4)],
        "measure": aim.measure,
    }
    if now.average is not None and then.average is not None and aim.measure != _AVERAGE:
        told["average"] = [round(now.average, 4), round(then.average, 4)]
    return told


def _best(aim: Aim, now: Tried, found: list[Neighbour]) -> list[Neighbour]:
    """Choose at most three, the best first; none that is no better."""
    target = aim.target + 1e-9
    safer = [one for one in found if one.gives.risk < now.risk - LEAST / 10]
    safer.sort(key=lambda one: -(now.risk - one.gives.risk) / max(one.gives.loss - now.loss, LEAST))
    if now.risk > target:
        meeting = [one for one in safer if one.gives.risk <= target]
        meeting.sort(key=lambda one: one.gives.loss)
        return [*meeting, *(one for one in safer if one not in meeting)][:MOST_TOLD]
    within = [one for one in found if one.gives.risk <= target]
    richer = [one for one in within if one.gives.loss < now.loss - LEAST]
    richer.sort(key=lambda one: (one.gives.loss, one.gives.risk))
    chosen = richer[: MOST_TOLD - 1]
    return [*chosen, *[one for one in safer if one not in chosen][:1]]


def _quietly(what: str) -> None:
    """Tell nobody what is under way."""


# What is compared


def _aim(recipe: Recipe, released: Sequence[str]) -> Aim:
    """Choose the risk that a recipe is about; refuse one that there is none for."""
    if recipe.apart:
        raise BadInput("a release in two tables is not compared by one figure")
    quasi = [name for name in recipe.roles.quasi if name in released]
    columns = quasi or [name for name in recipe.treated if name in released]
    if not columns:
        raise BadInput("no step treats a released column")
    perturbed = {c for s in recipe.steps if s.build().effect == "perturbs" for c in s.columns}
    if not quasi or perturbed & {*quasi}:
        return Aim(_LINKAGE, AVERAGE.value, columns)
    target = targets_of(recipe).get("attackers.prosecutor")
    if target is None:
        return Aim(_AVERAGE, AVERAGE.value, columns)
    return Aim(_LARGEST, target.value, columns)


def _of_run(run: Run, aim: Aim, frame: MemoryFrame) -> Tried:
    """Measure what a recipe gives."""
    decided, treated, finish = run
    assert isinstance(treated, MemoryFrame)
    gone = treated.table[LEFT_OUT].to_numpy()
    return _measured(decided.recipe, aim, frame.table, finish(treated.table, treated.rows), gone)


def _measured(
    recipe: Recipe, aim: Aim, before: pa.Table, after: pa.Table, gone: np.ndarray
) -> Tried:
    data = [c for c in before.column_names if c in after.column_names]
    data = [c for c in data if c not in recipe.roles.renamed]
    sides = before.select(data), after.select(data)
    lost = information_loss(*sides, data, hierarchies=recipe.hierarchies, detail=True)
    if gone.any():
        before, after = (side.filter(pa.array(~gone)) for side in (before, after))
    if aim.measure == _LINKAGE:
        drawing = [step for step in recipe.steps if step.build().draws_by_row]
        drawn = [c for step in drawing for c in step.columns if c in aim.columns]
        sides = before.select(aim.columns), after.select(aim.columns)
        risk = informed_linkage(*sides, drawn=drawn, queries=QUERIES)
        return Tried(risk, None, lost.value, lost.columns)
    units = None if recipe.counted is None else before[recipe.counted]
    found = frequencies(after, aim.columns, units=units)
    average = found.mean(1 / found.sample)
    largest = float((1 / found.sample).max(initial=0.0))
    risk = largest if aim.measure == _LARGEST else average
    return Tried(risk, average, lost.value, lost.columns)


def _sample(recipe: Recipe, aim: Aim, original: MemoryFrame) -> MemoryFrame | None:
    """Return some rows of a large table, whole households or people; None where all are tried."""
    costly = aim.measure in (_LINKAGE, _AVERAGE) or any(
        step.method in _BY_ROWS or getattr(step, "local", False) for step in recipe.steps
    )
    n, most = original.num_rows, FEW_ROWS if costly else SAMPLE
    if n <= (FEW_ROWS if costly else ALL_ROWS):
        return None
    together = recipe.roles.household or recipe.roles.unit
    draw = np.random.default_rng(n)
    if together is None:
        rows = np.sort(draw.choice(n, most, replace=False))
    else:
        codes, size = encode(original.table[together], together)
        order = draw.permutation(size)
        counts = np.bincount(codes[codes >= 0], minlength=size)
        some = order[: max(1, int((np.cumsum(counts[order]) <= most).sum()))]
        rows = np.flatnonzero(np.isin(codes, some))
    return MemoryFrame(original.table.take(pa.array(rows)), positioned=original.positioned)


# What is tried


def _changes(
    recipe: Recipe, plan: Mapping[str, Any], aim: Aim, now: Tried, drivers: Sequence[str]
) -> Iterator[Change]:
    """Yield what could be changed in the steps that the risk depends on."""
    if aim.measure == _AVERAGE:
        yield _together(recipe, aim.columns)
    steps = [
        (number, step)
        for number, step in enumerate(recipe.steps, start=1)
        if {*step.columns} & {*aim.columns}
    ]
    decided = {one["step"]: one for one in plan["steps"]}
    for number, step in steps:
        of = f" in step {number}" if len(steps) > 1 else ""
        for change in _of_step(number, step, decided[number], now, drivers):
            yield change._replace(words=change.words + of)


def _together(recipe: Recipe, keys: Sequence[str]) -> Change:
    """Treat the keys in one step, where nothing yet hides a record among others by all of them."""
    content = recipe.model_dump(exclude_none=True)
    others = [
        step | {"columns": [c for c in step["columns"] if c not in keys]}
        for step in content["steps"]
    ]
    step = {
        "method": "generalize",
        "columns": list(keys),
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "aggregate": "sum",
        "local": True,
        "evaluations": FEW_NODES,
        "hierarchies": {name: {"kind": "auto"} for name in keys},
    }
    steps = [step, *(one for one in others if one["columns"])]
    untouched = [c for c in recipe.roles.untouched if c not in keys]
    new = {"steps": steps, "roles": content["roles"] | {"untouched": untouched}}
    return Change(f"generalize {', '.join(keys)} together until 5 share them", 0, new)


def _of_step(
    number: int, step: Step, plan: Mapping[str, Any], now: Tried, drivers: Sequence[str]
) -> Iterator[Change]:
    given = step.model_dump(exclude_none=True)
    yield from _larger(number, given)
    if step.method == "generalize":
        joint = plan.get("joint") or {}
        yield from _levels(number, given, joint, now, drivers)
    if step.method == "noise" and isinstance(scale := given.get("scale"), float | int):
        for new in (2 * scale, scale / 2):
            yield Change(f"noise of scale {new:g} instead of {scale:g}", number, {"scale": new})
    if step.method == "rank-swap" and isinstance(p := given.get("p"), float | int):
        for share in (min(100, 2 * p), p / 2):
            new = int(share) if share == int(share) else share
            if new != p:
                yield Change(f"swaps within {new:g} % instead of {p:g} %", number, {"p": new})
    if step.method == "pram" and isinstance(keep := given.get("retention"), float | int):
        for new in (max(0.0, 2 * keep - 1), (1 + keep) / 2):
            words = f"a retention of {new:g} instead of {keep:g}"
            yield Change(words, number, {"retention": round(new, 6)})


def _larger(number: int, given: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the next larger k, of the step or of its first privacy model that has one."""
    k = given.get("k")
    if isinstance(k, int):
        larger = _next_size(k)
        yield Change(f"k = {larger} instead of {k}", number, {"k": larger})
    models = list(given.get("privacy") or ())
    for place, model in enumerate(models):
        if "k" in model:
            larger = _next_size(model["k"])
            models[place] = {**model, "k": larger}
            yield Change(f"k = {larger} instead of {model['k']}", number, {"privacy": models})
            return


def _next_size(k: int) -> int:
    return next((size for size in SIZES if size > k), 2 * k)


def _levels(
    number: int,
    given: Mapping[str, Any],
    joint: Mapping[str, Any],
    now: Tried,
    drivers: Sequence[str],
) -> Iterator[Change]:
    """Yield levels next to those that were chosen, and other ways to choose them."""
    rounds = [one for group in joint.get("groups", ()) for one in group["rounds"]]
    if not rounds:
        return
    # Those that most records have.
    levels = max(rounds, key=lambda one: one["rows"])["levels"]
    top = {c: len(one["labels"]) - 1 for c, one in joint["hierarchies"].items()}
    held = given.get("levels") or {}
    recoded = not given.get("privacy")

    def at(column: str, level: Any) -> dict[str, Any]:
        return {"levels": {**held, column: level}}

    free = [c for c in given["columns"] if c in levels and (recoded or c not in held)]
    # Those that still tell most first, by what they contribute to the risk where that is known.
    telling = sorted(free, key=lambda c: (drivers.index(c) if c in drivers else len(drivers),
                                          now.columns.get(c, 1.0)))  # fmt: skip
    finest = sorted(free, key=lambda c: -now.columns.get(c, 0.0))
    more = [c for c in telling if levels[c] + 1 < top[c]]
    finer = [c for c in finest if levels[c] > 0]
    if recoded:
        for c in more[:4]:
            yield Change(f"generalize {c} one level more", number, at(c, levels[c] + 1))
        for c in finer[:4]:
            yield Change(f"keep {c} one level finer", number, at(c, levels[c] - 1))
        return
    poor = [c for c in finest if levels[c] < top[c]]
    if given.get("local"):
        for c in poor[:1]:
            yield Change(f"leave {c} out (all *)", number, at(c, top[c]))
        return
    bound = {} if given.get("evaluations") else {"evaluations": FEW_NODES}
    yield Change("recode locally (local = true)", number, {"local": True} | bound)
    for c in poor[:2]:
        yield Change(f"leave {c} out (all *)", number, at(c, top[c]))
    for c in finer[:1]:
        yield Change(f"keep {c} one level finer", number, at(c, [0, levels[c] - 1]))
    for c in more[:1]:
        yield Change(f"generalize {c} one level more", number, at(c, [levels[c] + 1, top[c]]))
    limit = given["suppression_limit"]
    if 0 < limit <= 0.25:
        words = f"suppress up to {200 * limit:g} % of the records instead of {100 * limit:g} %"
        yield Change(words, number, {"suppression_limit": 2 * limit})
