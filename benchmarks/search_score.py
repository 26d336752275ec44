"""PoROP's score of what a search finds, beside single methods, all on the same fresh seeds.

Run one table with ``python -m benchmarks --large --rows "search_score/*Census*"``. The score's own
intruders know nothing of the method, so that it is no measure of safety: beside it stand the shares
of records that intruders find who know the recipe, column by column (`informed_linkage`), and all
columns together, by the covariance of the differences that the method makes.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.rows import Case, row
from discreet import datasets
from discreet.draws import derived
from discreet.flow.protection import prepare
from discreet.recipe.recipe import Recipe
from discreet.reproduce.porop import EIA_COLUMNS
from discreet.risk import informed_linkage
from discreet.table.columns import float_values
from discreet.utility import score

MINUTES = float(os.environ.get("DISCREET_SEARCH_MINUTES", "10"))
SEEDS = 5
_SIZES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55)
_GROUPS = (3, 5, 10, 20)
_WIDTH = 34


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
        return float(np.mean([score(table, run) for run in runs]))

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


def _together(table: pa.Table, run: pa.Table, others: Sequence[pa.Table]) -> float:
    """Share of records found by differences of logarithms, their covariance being known."""
    before, after, *learned = (_logs(one) for one in (table, run, *others))
    moved = np.vstack([one - before for one in learned])
    values, vectors = np.linalg.eigh(np.cov(moved.T).reshape(before.shape[1], -1))
    # What does not move at all tells all that there is to tell.
    whiten = vectors / np.sqrt(np.maximum(values, 1e-9 * max(values.max(), 1e-12)))
    x, y = before @ whiten, after @ whiten
    hits = 0.0
    for i, one in enumerate(y):
        distances = ((x - one) ** 2).sum(axis=1)
        nearest = distances <= distances.min() * (1 + 1e-9)
        hits += nearest[i] / nearest.sum()
    return hits / len(y)


def _logs(table: pa.Table) -> np.ndarray:
    columns = [float_values(table[name], name) for name in table.column_names]
    return np.column_stack([np.sign(x) * np.log1p(np.abs(x)) for x in columns])


def line(table: pa.Table, recipe: Recipe) -> dict[str, float]:
    """Return the figures of a recipe, means of fresh seeds."""
    runs = [_released(table, recipe, seed) for seed in _seeds("fresh", SEEDS)]
    scores = [score(table, run, detail=True) for run in runs]
    others = [[other for other in runs if other is not run][:3] for run in runs]
    learned = list(zip(runs, others, strict=True))
    informed = [informed_linkage(table, run, reruns=more) for run, more in learned]
    found = {
        "score": [one.value for one in scores],
        "IL": [one.parts["il"] for one in scores],
        "DR": [one.parts["dr"] for one in scores],
        "informed": informed,
        "together": [_together(table, run, more) for run, more in learned],
    }
    means = {name: float(np.mean(figures)) for name, figures in found.items()}
    return means | {"spread": float(np.std(found["score"], ddof=1))}


def lines(table: pa.Table, minutes: float, seed: int = 0) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of the best point of a search and of single methods; and its words."""
    from discreet import search

    roles = {"roles": {"confidential": table.column_names}}
    front = search(table, roles, loss="score", minutes=minutes, seed=seed)
    recipes = {f"search, {front.evaluations} points tried": front.best.recipe, **_alone(table)}
    return {name: line(table, recipe) for name, recipe in recipes.items()}, front.best.words


def shown(found: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as text, shares in percent."""
    heads = ("score", "+-", "IL", "DR", "informed %", "together %")
    text = ["".ljust(_WIDTH) + "".join(head.rjust(12) for head in heads)]
    for name, one in found.items():
        figures = [one["score"], one["spread"], one["IL"], one["DR"]]
        figures += [100 * one["informed"], 100 * one["together"]]
        text.append(name.ljust(_WIDTH) + "".join(f"{figure:12.1f}" for figure in figures))
    return "\n".join(text)


def _print(name: str, found: Mapping[str, Mapping[str, float]], words: Sequence[str]) -> str:
    print(f"\n{name}\n{shown(found)}\n" + "\n".join(words))
    ours, *others = (one["score"] for one in found.values())
    assert ours < min(others), "a single method has a better score"
    return f"score {ours:.1f}"


for name in ("Census", "EIA", "Tarragona"):

    @row(f"score on {name}", large=True)
    def _(name: str = name) -> Case:
        table = _tables()[name]()
        # Once, though the harness calls it again to take its time.
        search = cache(lambda: lines(table, MINUTES))
        return Case(ours=search, check=lambda ours, _: _print(name, *ours))
