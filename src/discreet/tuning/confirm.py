"""Points on fresh seeds: the whole flow and its check, with every measure.

A search that looks at many points on the same seeds takes the lucky ones. So what it shows comes
from seeds that nothing was chosen by.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.assessment.assessment import assess_frames
from discreet.assessment.opened import suppressed_records
from discreet.check import CheckReport
from discreet.draws import derived
from discreet.engines.choice import choose, open_engine
from discreet.engines.frame import Frame, in_rows
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput, BrokenPromise
from discreet.flow.protection import prepare
from discreet.flow.refusals import refuse_engine
from discreet.flow.release import Release
from discreet.recipe.recipe import Recipe
from discreet.tuning.bounds import SCORES
from discreet.tuning.figures import Figures
from discreet.tuning.front import Front
from discreet.tuning.measured import measured, of_check
from discreet.tuning.outcome import NOTHING, outcome, outcome_words
from discreet.tuning.pareto import non_dominated, on_map
from discreet.tuning.points import SAFE, Axis, Point
from discreet.tuning.sample import mixed
from discreet.tuning.space import Choice, Option

if TYPE_CHECKING:
    from discreet.tuning.task import Task

SEEDS = 5
REFUSED, BROKEN = "refused by the flow", "did not pass the check"
# Points that a front shows, and those of a quick one.
MOST, FEW = 12, 4
# Neighbours that are tried in place of a point that does not hold up, itself among them.
_TRIES = 3
# Fronts that are gone through where most points do not hold up: those behind the first.
_LAYERS = 3
# It draws between blanks that cost the same: releases hardly differ, and one takes long.
_TIES = "local-suppression"
# Rows that measures are taken by where the table is not in memory.
_ROWS = 20_000
Judged = dict[Choice, Figures]
# Figures and losses of columns, by run.
Taken = list[tuple[dict[str, float], dict[str, float]]]
Came = dict[int, dict[str, str]]


class NotConfirmed(Exception):
    """A point does not hold up: the flow refuses it, its check fails, or a standard is broken."""

    def __init__(self, why: str, detail: str, promise: str = "") -> None:
        super().__init__(detail)
        self.why, self.promise = why, promise


@dataclass(frozen=True)
class Run:
    """A release of some seed that passed its check."""

    before: pa.Table
    after: pa.Table
    figures: dict[str, float]
    # Suppressed records and null rates of the quasi columns, where there are any.
    nulls: dict[str, float]
    # All rows are there; of a part, other runs may have another one.
    whole: bool
    # How long the flow and its check took.
    seconds: float


@dataclass
class _Held:
    """The points that held up, how many did not by reason, and what was last said of those.

    `broken` counts the promises that points broke, and `said` has what was last said of each.
    """

    points: list[Point]
    dropped: Counter[str]
    why: str
    broken: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)

    def leave_out(self, error: NotConfirmed) -> None:
        """Take note of a point that does not hold up."""
        self.dropped[error.why] += 1
        self.why = str(error)
        if error.promise:
            self.broken[error.promise] += 1
            self.said[error.promise] = str(error)

    @property
    def in_the_way(self) -> str:
        """What most of those that broke a promise have in common, if they are many."""
        if not self.broken or 2 * self.broken.total() < len(self.points):
            return ""
        [(promise, _)] = self.broken.most_common(1)
        number = f"{self.broken.total()} recipe{'s' * (self.broken.total() > 1)}"
        return f"{number} did not pass the check; it asks that {self.said[promise]}."


def confirm(
    task: Task, choices: Sequence[Choice], seeds: int = SEEDS, seed: int = 0
) -> tuple[list[Point], Counter[str]]:
    """Measure points on fresh seeds, each with the whole flow and its check.

    Parameters
    ----------
    task : Task
    choices : sequence of Choice
    seeds : int
        How many; a recipe in which nothing is drawn is run once, and one with local suppression
        alone twice.
    seed : int
        Of the search. Its fresh seeds are others than those it chooses by.

    Returns
    -------
    list of Point
        Those that hold up, in the order of the choices.
    Counter
        How many do not, by reason.
    """
    points, dropped = [], Counter[str]()
    for choice in choices:
        try:
            points.append(confirm_one(task, choice, seeds, seed))
        except NotConfirmed as error:
            dropped[error.why] += 1
    return points, dropped


def confirm_one(
    task: Task, choice: Choice, seeds: int = SEEDS, seed: int = 0, *, slow: bool = True
) -> Point:
    """Measure one point on fresh seeds, or raise `NotConfirmed`; slow measures if asked for."""
    try:
        recipe = Recipe.from_dict(task.space.recipe(choice))
    except BadInput as error:
        raise NotConfirmed(REFUSED, str(error)) from None
    runs, taken = run_on_fresh_seeds(task, recipe, seeds, seed, slow=slow)
    return _point(task, choice, recipe, taken, _came(task, choice, runs[0]))


def run_on_fresh_seeds(
    task: Task,
    recipe: Recipe,
    seeds: int = SEEDS,
    seed: int = 0,
    *,
    slow: bool = True,
    more: bool = True,
) -> tuple[list[Run], Taken]:
    """Run a recipe with its check and measure it, or raise `NotConfirmed`.

    Without `more`, risk and loss are all that is measured, and what standards are about.
    """
    try:
        drawn = {c for step in recipe.steps if step.build().is_random for c in step.columns}
        fresh = [derived(seed, "fresh", str(run)) for run in range(_seeds(recipe, seeds))]
        runs = [_run(task, recipe, one) for one in fresh]
        taken = _taken(task, recipe, runs, drawn, slow, more)
    except BadInput as error:
        raise NotConfirmed(REFUSED, str(error)) from None
    figures = means([found for found, _ in taken])
    for name, most in task.standards.items():
        if figures.get(name, 0.0) > most:
            raise NotConfirmed("broke a standard", f"{name} is {figures[name]:.3g}")
    return runs, taken


def _taken(
    task: Task,
    recipe: Recipe,
    runs: Sequence[Run],
    drawn: Collection[str],
    slow: bool,
    more: bool,
) -> Taken:
    """Take the measures of each run; the intruder learns from the others."""
    taken = []
    for run in runs:
        others = [one.after for one in runs if one is not run and one.whole]
        # Slow measures hardly scatter: those of one run do.
        once = slow and run is runs[0]
        found, columns = measured(
            task, run.before, run.after, others, drawn, recipe.hierarchies, slow=once, more=more
        )
        taken.append((found | run.figures, columns))
    return taken


def _seeds(recipe: Recipe, most: int) -> int:
    """Return how many seeds tell: one where nothing is drawn, two where only ties are."""
    drawn = {step.method for step in recipe.steps if step.build().is_random}
    return most if drawn - {_TIES} else min(most, len(drawn) + 1)


def _run(task: Task, recipe: Recipe, seed: int) -> Run:
    """Protect and check the table with some seed."""
    # A holdout is for the release: what is compared with all rows is made from all of them.
    own = {"seed": seed, "allow_predictable_seed": True, "holdout": None}
    seeded = recipe.model_copy(update=own)
    table = task.table if task.full is None else task.full
    started = time.perf_counter()
    release = prepare(table, seeded, choose("auto", table))
    try:
        try:
            release.verify()
        except BrokenPromise as error:
            raise _broken(release.check, error) from None
        seconds = time.perf_counter() - started
        assert release.check is not None
        left_out = len(release.left_out) / max(1, release.original.num_rows)
        figures = of_check(release.check) | {"suppressed": left_out}
        names = [n for n in release.finished.schema.names if n in release.original.schema.names]
        before, after = _pair(release.original, release.finished, names)
        nulls = _nulls(release)
    finally:
        release.close()
    whole = isinstance(release.original, MemoryFrame)
    return Run(before, after, figures, nulls, whole, seconds)


def _nulls(release: Release) -> dict[str, float]:
    """Return SRC, NVIr and NVRr of a release."""
    records = suppressed_records(release.plan)
    frames = release.original, release.released, release.recipe
    taken = assess_frames(*frames, suppressed=records, measures=["null_rates"]).utility
    found: dict[str, float] = {"SRC": records}
    if "null_rates" in taken:
        found |= {"NVIr": taken["null_rates"]["after"], "NVRr": taken["null_rates"]["records"]}
    return found


def _broken(check: CheckReport | None, error: BrokenPromise) -> NotConfirmed:
    """Say which promise is broken first."""
    broken = check.having("broken") if check is not None else []
    if not broken:
        return NotConfirmed(BROKEN, str(error))
    first = broken[0]
    return NotConfirmed(BROKEN, f"{first.promise}, but {first.detail}", first.promise)


def _pair(original: Frame, finished: Frame, released: list[str]) -> tuple[pa.Table, pa.Table]:
    """Return the rows of both tables side by side; some of them where they are not in memory."""
    if isinstance(original, MemoryFrame) and isinstance(finished, MemoryFrame):
        return original.table, finished.table.select(released)
    part = min(1.0, _ROWS / max(1, original.num_rows))
    choose_rows: Callable[..., Any] = partial(_chosen, part)
    return original.fold_pairs(finished, choose_rows, _stacked, None, released)


def _chosen(
    part: float, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table
) -> tuple[pa.Table, pa.Table]:
    taken = pa.array(mixed(rows.astype(np.uint64), 0) / 2.0**64 < part)
    whole = pa.table(in_rows(after, there), names=after.column_names)
    return before.filter(taken), whole.filter(taken)


def _stacked(
    one: tuple[pa.Table, pa.Table], other: tuple[pa.Table, pa.Table]
) -> tuple[pa.Table, pa.Table]:
    before, after = zip(one, other, strict=True)
    return pa.concat_tables(before), pa.concat_tables(after)


def _came(task: Task, choice: Choice, run: Run) -> Came:
    """Say what a run made of the columns that are treated together, by the number of the part."""
    found = {}
    for number, part in enumerate(task.space.parts):
        option = task.space.option(choice, number)
        if part.joint and len(option.steps) == 1:
            found[number] = outcome(option.steps[0], part.columns, run.before, run.after)
    return {number: one for number, one in found.items() if one}


def _point(task: Task, choice: Choice, recipe: Recipe, taken: Taken, came: Came) -> Point:
    figures = means([found for found, _ in taken])
    spread: dict[str, tuple[float, float]] = {
        key: (min(found[key] for found, _ in taken), max(found[key] for found, _ in taken))
        for key in ("risk", "loss", "score")
        if key in figures
    }
    risk, loss = figures.pop("risk"), figures.pop("loss")
    parts, left_out = _parts(task, choice, came)
    words = {number: outcome_words(one) for number, one in came.items()}
    return Point(
        "",
        recipe,
        risk,
        loss,
        task.space.words(choice, words),
        figures,
        means([columns for _, columns in taken]),
        spread,
        parts,
        left_out,
    )


def means(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the runs that have it."""
    keys = dict.fromkeys(key for one in found for key in one)
    return {key: float(np.mean([one[key] for one in found if key in one])) for key in keys}


def _parts(task: Task, choice: Choice, came: Came) -> tuple[dict[str, str], tuple[str, ...]]:
    """Say what becomes of each column, and which are left out or have nothing left."""
    space = task.space
    said: dict[str, list[Option]] = {}
    for number, part in enumerate(space.parts):
        option = space.option(choice, number)
        for name in space.treated(choice, number) if option.steps or not part.joint else ():
            own = said.setdefault(name, [])
            if option.alone or not any(one.steps for one in own):
                own.clear()
            own.append(option)
    words = {name: ", then ".join(one.words for one in own) for name, own in said.items()}
    alone = [one for number, one in came.items() if space.option(choice, number).alone]
    # A share is something that a column gets, not what it is.
    told = {name: how for one in alone for name, how in one.items()}
    words |= {name: f"with {how}" if how[0].isdigit() else how for name, how in told.items()}
    gone = [name for name, how in words.items() if how == NOTHING]
    return words, (*space.dropped(choice), *gone)


# The front


def axes_of(task: Task) -> tuple[Axis, Axis]:
    """Return what risk and loss are, with the bounds."""
    risk = None if task.risk is None else task.risk.value
    loss = None if task.loss is None else task.loss.value
    if task.measure in SCORES:
        return Axis("disclosure risk (DR)", risk, top=100.0), Axis("loss (IL)", loss, top=100.0)
    intruder = Axis("informed_linkage", risk, "share", 1.0)
    if task.measure is None:
        return intruder, Axis("information_loss", loss, "share", 1.0)
    measure = task.measure
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", "loss")
    return intruder, Axis(name, loss)


def confirmed_front(
    task: Task,
    judged: Judged,
    *,
    evaluations: int = 0,
    seconds: Callable[[], float] = lambda: 0.0,
    seed: int = 0,
    seeds: int = SEEDS,
    tell: Callable[[str], None] = lambda what: None,
    quick: bool = False,
) -> Front:
    """Confirm the best of the points that were judged, and make a front of them.

    Parameters
    ----------
    task : Task
    judged : dict
        The figures of every choice that was judged in full.
    evaluations : int
        Choices that were judged at all.
    seconds : callable
        Tells how long it took, with confirming.
    seed, seeds : int
        As in `confirm`.
    tell : callable
        Told what is under way. Ctrl-C ends with the points that are confirmed.
    quick : bool
        Confirm a few points only, and leave out measures that take long.
    """
    risk, loss = axes_of(task)
    held = _confirmed(task, judged, seeds, seed, tell, quick)
    found = held.points
    if not found:
        raise BadInput(f"no recipe holds up on fresh seeds: {held.why}")
    score = task.measure in SCORES
    points = [found[place] for place in non_dominated([Figures(p.risk, p.loss) for p in found])]
    named = [replace(point, name=f"{number:02d}") for number, point in enumerate(points, start=1)]
    return Front(
        named,
        risk,
        loss,
        rows=rows_of(task),
        searched_rows=task.table.num_rows,
        measured_rows=_measured_rows(task),
        evaluations=evaluations,
        seconds=seconds(),
        seed=seed,
        searched=[(one.risk, one.loss) for one in judged.values() if not one.broken],
        dropped=held.dropped,
        in_the_way=held.in_the_way,
        score=score,
        known=task.known,
        found=_what_is_found(task),
    )


def _measured_rows(task: Task) -> int:
    """Return how many records the figures of points are of, or about as many; see `_pair`."""
    rows = rows_of(task)
    table = task.table if task.full is None else task.full
    return rows if choose("auto", table) == "memory" else min(rows, _ROWS)


def _what_is_found(task: Task) -> str:
    """Name what an intruder finds: records, or all rows of somebody."""
    if task.unit is None:
        return "records"
    return "households" if task.unit == task.space.base["roles"].get("household") else "units"


def rows_of(task: Task) -> int:
    """Count the rows of what is released in the end."""
    full = task.table if task.full is None else task.full
    if isinstance(full, pa.Table):
        return full.num_rows
    with open_engine(choose("auto", full), table=full) as engine:
        return engine.read(full, lambda names: names[:1]).num_rows


def _confirmed(
    task: Task,
    judged: Judged,
    seeds: int,
    seed: int,
    tell: Callable[[str], None],
    quick: bool,
) -> _Held:
    """Confirm points of the front; where most do not hold up, of the front without those."""
    left = {one: figures for one, figures in judged.items() if _may_run(task, one)}
    held = _Held([], Counter(), "each that was tried leaves all columns out; search longer")
    try:
        for _ in range(_LAYERS):
            front = [list(left)[place] for place in non_dominated(list(left.values()))]
            if front and left[front[0]].broken:
                held.why = held.why if held.dropped else _why_broken(task, front[0], seed)
                break
            found = {one: left[one] for one in front}
            tried = _confirm_along(task, found, seeds, seed, held, tell, quick)
            left = {one: figures for one, figures in left.items() if one not in tried}
            if len(held.points) >= held.dropped.total():
                break
    except KeyboardInterrupt:
        if not held.points:
            raise
    return held


def _why_broken(task: Task, choice: Choice, seed: int) -> str:
    """Say why not even the best point can be released."""
    try:
        confirm_one(task, choice, 1, seed)
    except NotConfirmed as error:
        return str(error)
    return "every recipe breaks a minimum standard"


def _confirm_along(
    task: Task,
    front: Judged,
    seeds: int,
    seed: int,
    held: _Held,
    tell: Callable[[str], None],
    quick: bool,
) -> set[Choice]:
    """Confirm points along a front; where one does not hold up, one of its neighbours."""
    choices, tried = list(front), set[Choice]()
    wanted = _chosen_places(task, list(front.values()), FEW if quick else MOST)
    for number, place in enumerate(wanted, start=1):
        near = sorted(range(len(choices)), key=lambda other: (abs(other - place), other))
        free = [choices[other] for other in near[: 4 * _TRIES] if choices[other] not in tried]
        for choice in free[:_TRIES]:
            tell(f"confirming on fresh seeds: {number} of {len(wanted)}")
            tried.add(choice)
            try:
                held.points.append(confirm_one(task, choice, seeds, seed, slow=not quick))
                break
            except NotConfirmed as error:
                held.leave_out(error)
    return tried


def _may_run(task: Task, choice: Choice) -> bool:
    """Tell whether a choice releases anything, by steps that can be run where the table is."""
    if set(task.counted) <= {*task.space.dropped(choice)}:
        return False
    engine = "memory" if task.full is None else choose("auto", task.full)
    if engine == "memory":
        return True
    try:
        refuse_engine(Recipe.from_dict(task.space.recipe(choice)), engine)
    except BadInput:
        return False
    return True


def _chosen_places(task: Task, figures: Sequence[Figures], most: int) -> list[int]:
    """Choose points of a front to confirm: those that may be recommended first, then others."""
    by_score = task.measure in SCORES
    if by_score:
        first = sorted(range(len(figures)), key=lambda i: figures[i].risk + figures[i].loss)[:3]
    else:
        # On fresh seeds a point may be just beyond the bound; the next safer ones are at hand.
        bound = SAFE if task.risk is None else task.risk.value
        within = [i for i, one in enumerate(figures) if one.risk <= bound]
        first = within[::-1][:3]
        if task.loss is not None:
            first += [i for i, one in enumerate(figures) if one.loss <= task.loss.value][:2]
    first = list(dict.fromkeys(first))
    return first + _spread(task, figures, first, most - len(first))


def _spread(task: Task, figures: Sequence[Figures], taken: list[int], most: int) -> list[int]:
    """Add the point that is farthest from those taken, again and again; the ends first."""
    scale = 100.0 if task.measure in SCORES else 1.0
    top = 1.0 if task.measure is None else max((one.loss for one in figures), default=1.0) or 1.0
    spots = np.array(
        [on_map(Figures(f.risk / scale, f.loss / top), task.table.num_rows) for f in figures]
    ).reshape(-1, 2)
    chosen: list[int] = []
    ends = [place for place in (len(figures) - 1, 0) if place not in taken]
    while len(chosen) < most and len(taken) + len(chosen) < len(figures):
        held = taken + chosen
        if ends and len(chosen) < 2:
            place = ends.pop(0)
            chosen += [place] if place not in held else []
            continue
        away = np.abs(spots[:, None] - spots[None, held]).sum(axis=2).min(axis=1)
        away[held] = -1.0
        chosen.append(int(away.argmax()))
    return chosen
