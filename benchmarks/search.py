"""Hypervolume of the front that each way of searching finds in the same time, on six tables."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

from benchmarks.rows import Case, row
from discreet import datasets
from discreet.tuning.figures import Figures
from discreet.tuning.joint import joint_seeds
from discreet.tuning.judge import Judge
from discreet.tuning.loop import run
from discreet.tuning.pareto import hypervolume, on_map
from discreet.tuning.space import Choice, Space
from discreet.tuning.task import Task, read_task
from discreet.tuning.trials import Budget, Trials

# For each way and table: `DISCREET_SEARCH_SECONDS=5 make bench ARGS='--large --rows search/'`.
SECONDS = float(os.environ.get("DISCREET_SEARCH_SECONDS", "60"))
# Ours over random search, and the seconds that this holds for.
_RATIO, _ENOUGH = 1.3, 60.0


def _census() -> Task:
    table = datasets.load_census()
    return read_task(table, {"roles": {"confidential": table.column_names}})


def _eia() -> Task:
    table = datasets.load_eia()
    return read_task(table, {"roles": {"confidential": table.column_names[5:], "rest": "drop"}})


def _tarragona() -> Task:
    table = datasets.load_tarragona()
    return read_task(table, {"roles": {"confidential": table.column_names}})


def _adult() -> Task:
    table = datasets.load_adult()
    paths = datasets.adult_hierarchy_paths()
    quasi = [name for name in table.column_names if name != "salary-class"]
    recipe = {
        "roles": {"quasi": quasi, "confidential": ["salary-class"]},
        "hierarchies": {name: str(paths[name]) for name in quasi},
    }
    return read_task(table, recipe)


def _households() -> Task:
    table = datasets.make_households(4_000, seed=1).drop_columns(["name", "household_id", "weight"])
    confidential = ["income", "assets", "disease"]
    quasi = [name for name in table.column_names if name not in confidential]
    return read_task(table, {"roles": {"quasi": quasi, "confidential": confidential}})


def _visits() -> Task:
    table = datasets.make_episodes(600, seed=1)
    quasi = ["clinic_name", "sex", "birth_year", "visit_date"]
    confidential = ["diagnosis", "days", "cost"]
    return read_task(
        table, {"roles": {"quasi": quasi, "confidential": confidential, "rest": "drop"}}
    )


TABLES: dict[str, Callable[[], Task]] = {
    "Census": _census,
    "EIA": _eia,
    "Tarragona": _tarragona,
    "Adult": _adult,
    "households": _households,
    "visits": _visits,
}

Found = dict[Choice, Figures]


class _Timed:
    """A judge with a memo of its own, and a clock."""

    def __init__(self, task: Task, seconds: float) -> None:
        self.task, self.judge = task, Judge(task)
        self.sizes = [len(part.options) for part in task.space.parts]
        self.found: Found = {}
        self._end = time.perf_counter() + seconds

    @property
    def over(self) -> bool:
        return time.perf_counter() >= self._end

    def figures(self, choice: Choice) -> Figures:
        if choice not in self.found:
            self.found[choice] = self.judge.figures(choice)
        return self.found[choice]


def ours(task: Task, seconds: float, seed: int) -> Found:
    trials = Trials(Judge(task), task.table.num_rows, Budget(seconds=seconds))
    run(trials, task.space.parts, seed, joint_seeds(task.space))
    return trials.judged


def by_chance(task: Task, seconds: float, seed: int) -> Found:
    timed, draw = _Timed(task, seconds), random.Random(seed)
    while not timed.over:
        timed.figures(tuple(draw.randrange(size) for size in timed.sizes))
    return timed.found


def _optuna(sampler: str) -> Callable[[Task, float, int], Found]:
    def search(task: Task, seconds: float, seed: int) -> Found:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        timed = _Timed(task, seconds)

        def judged(trial: Any) -> tuple[float, float]:
            options = [trial.suggest_int(f"x{i}", 0, n - 1) for i, n in enumerate(timed.sizes)]
            return on_map(timed.figures(tuple(options)), task.table.num_rows)

        study = optuna.create_study(
            directions=["minimize"] * 2, sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )
        study.optimize(judged, timeout=seconds)
        return timed.found

    return search


WAYS: dict[str, Callable[[Task, float, int], Found]] = {
    "ours": ours,
    "random": by_chance,
    "optuna TPE": _optuna("TPESampler"),
    "optuna NSGA-II": _optuna("NSGAIISampler"),
}


@cache
def hypervolumes(name: str, whole: bool) -> dict[str, float]:
    """Let every way search a table, and measure what it found; without optuna if it is missing."""
    task = TABLES[name]()
    if not whole:
        space = task.space
        apart = tuple(part for part in space.parts if not part.joint)
        task = replace(task, space=Space(apart, space.base))
    by_chance(task, 1.0, seed=1)  # compiles
    found = {}
    for way, search in WAYS.items():
        with suppress(ModuleNotFoundError):
            judged = search(task, SECONDS, 0)
            found[way] = hypervolume(judged.values(), task.table.num_rows)
    return found


def _is_above_all(ratio: float, found: dict[str, float], _: Any) -> str:
    said = ", ".join(f"{way} {area:.3f}" for way, area in found.items())
    if SECONDS >= _ENOUGH:
        others = [area for way, area in found.items() if way != "ours"]
        assert found["ours"] > max(others), said
        assert found["ours"] >= ratio * found["random"], said
    return said


def _case(name: str, whole: bool) -> Case:
    check = partial(_is_above_all, 1.0 if whole else _RATIO)
    return Case(ours=lambda: hypervolumes(name, whole), check=check)


# Searched once: what counts is what was found in the same time. In the whole space one joint option
# may be most of what there is to find, and chance finds it too.
for _name in TABLES:
    for _whole, _space in ((False, "column by column"), (True, "and jointly")):
        row(f"{_name} {_space}", large=True)(partial(_case, _name, _whole))
