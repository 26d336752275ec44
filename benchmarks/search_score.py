"""PoROP's score of what a search finds, beside single methods, all on the same fresh seeds.

Run one table with ``python -m benchmarks --large --rows "search_score/*Census*"``. The score's own
intruders know nothing of the method, so that it is no measure of safety: beside it stands the share
of records that an intruder finds who knows the recipe (`informed_linkage`). Noise that moves
related columns alike has a good score and hides little; what a search reaches without it stands
beside it.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row
from discreet import datasets
from discreet.draws import derived
from discreet.flow.protection import prepare
from discreet.recipe.recipe import Recipe
from discreet.reproduce.porop import EIA_COLUMNS
from discreet.risk import informed_linkage
from discreet.utility import score

MINUTES = float(os.environ.get("DISCREET_SEARCH_MINUTES", "10"))
SEEDS = 5
_SIZES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55)
_GROUPS = (3, 5, 10, 20)
_WIDTH = 36


def _tables() -> dict[str, Any]:
    return {
        "Census": datasets.load_census,
        "EIA": lambda: datasets.load_eia().select(EIA_COLUMNS),
        "Tarragona": datasets.load_tarragona,
    }


def _seeds(use: str, count: int) -> list[int]:
    return [derived(22, use, str(number)) for number in range(count)]


def _released(table: pa.Table, recipe: Recipe, seed: int) -> pa.Table:
    seeded = recipe.model_copy(update={"seed": seed, "allow_predictable_seed": True})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finished: Any = prepare(table, seeded, "memory").finished
        return finished.table.select(table.column_names)


def _one(table: pa.Table, **step: Any) -> Recipe:
    names = table.column_names
    roles = {"confidential": names}
    return Recipe.from_dict({"roles": roles, "steps": [{**step, "columns": names}]})


def _best(table: pa.Table, recipes: Mapping[str, Recipe]) -> tuple[str, Recipe]:
    """Return the recipe with the least score on seeds that the table does not show."""

    def mean_score(name: str) -> float:
        runs = [_released(table, recipes[name], seed) for seed in _seeds("selection", 2)]
        return float(np.mean([score(table, run, interval="all") for run in runs]))

    found = min(recipes, key=mean_score)
    return found, recipes[found]


def _alone(table: pa.Table) -> dict[str, Recipe]:
    """Return single methods, those with a k at their best."""
    cells = table.num_rows * table.num_columns
    porop = {
        f"porop, quadratic, k = {k}": _one(table, method="porop", k=k)
        for k in (int(share * cells) for share in _SIZES)
    }
    groups = {
        f"microaggregation, k = {k}": _one(table, method="microaggregation", k=k) for k in _GROUPS
    }
    swapped = {"rank-swap, p = 15": _one(table, method="rank-swap", p=15)}
    return dict([_best(table, porop), *swapped.items(), _best(table, groups)])


def line(table: pa.Table, recipe: Recipe) -> dict[str, float]:
    """Return the figures of a recipe, means of fresh seeds."""
    runs = [_released(table, recipe, seed) for seed in _seeds("fresh", SEEDS)]
    scores = [score(table, run, interval="all", detail=True) for run in runs]
    others = [[other for other in runs if other is not run][:3] for run in runs]
    learned = list(zip(runs, others, strict=True))
    informed = [informed_linkage(table, run, reruns=more) for run, more in learned]
    found = {
        "score": [one.value for one in scores],
        "IL": [one.parts["il"] for one in scores],
        "DR": [one.parts["dr"] for one in scores],
        "informed": informed,
    }
    means = {name: float(np.mean(figures)) for name, figures in found.items()}
    return means | {"spread": float(np.std(found["score"], ddof=1))}


def lines(table: pa.Table, minutes: float, seed: int = 0) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of the best points of searches and of single methods; and the words.

    One search may move related columns alike, the other may not.
    """
    from discreet import search

    roles = {"roles": {"confidential": table.column_names}}
    front = search(table, roles, loss="score", minutes=minutes, seed=seed)
    with patch("discreet.tuning.joint._related", return_value=[]):
        plain = search(table, roles, loss="score", minutes=minutes, seed=seed)
    recipes = {
        f"search, {front.evaluations} points tried": front.best.recipe,
        f"search, none moved alike, {plain.evaluations}": plain.best.recipe,
        **_alone(table),
    }
    return {name: line(table, recipe) for name, recipe in recipes.items()}, front.best.words


def shown(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as text, shares in percent."""
    heads = ("score", "+-", "IL", "DR", "informed %")
    text = ["".ljust(_WIDTH) + "".join(head.rjust(12) for head in heads)]
    for name, one in found.items():
        figures = [one["score"], one["spread"], one["IL"], one["DR"], 100 * one["informed"]]
        text.append(name.ljust(_WIDTH) + "".join(f"{figure:12.1f}" for figure in figures))
    return "\n".join(text)


def _print(name: str, found: Mapping[str, Mapping[str, float]], words: Sequence[str]) -> str:
    print(f"\n{name}\n{shown(found)}\n" + "\n".join(words))
    ours, plain, *alone = (one["score"] for one in found.values())
    assert max(ours, plain) < min(alone), "a single method has a better score"
    return f"score {ours:.1f}, none moved alike {plain:.1f}"


for name in ("Census", "EIA", "Tarragona"):

    @row(f"score on {name}", large=True)
    def _(name: str = name) -> Case:
        table = _tables()[name]()
        # Once, though the harness calls it again to take its time.
        search = cache(lambda: lines(table, MINUTES))
        return Case(ours=search, check=lambda ours, _: _print(name, *ours))
