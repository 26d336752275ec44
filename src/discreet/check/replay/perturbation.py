"""Noise, date shifts, swapping, shuffling and PRAM plans, applied again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import StepPlan
from discreet.draws import Draws
from discreet.errors import BadInput


def noise(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Move each value by its row's normal draw."""
    normal = draws.normal(rows)
    if plan["noise"] == "multiplicative":
        return x * (1 + plan["scale"] * normal)
    return x + plan["scale"] * plan["sd"] * normal


def correlated_noise(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, np.ndarray]:
    """Move each value by a weighted sum of the row's draws for all columns."""
    new = {}
    for name, plan in step["columns"].items():
        rows = np.arange(len(columns[name]))
        moves = np.zeros(len(rows))
        for other, weight in plan["weights"].items():
            moves = moves + weight * draws(other).normal(rows)
        new[name] = columns[name] + moves
    return new


def shift(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Move each date by its row's draw, one of 1 to `days` days or whole weeks, back or forth."""
    length = 7 if step["joint"]["keep_weekday"] else 1
    most = step["joint"]["days"] // length
    choices = np.array([n * length for n in range(-most, most + 1) if n != 0])
    new = {}
    for name in step["columns"]:
        column = columns.arrow(name)
        drawn = draws(next(iter(step["columns"]))).uniform(np.arange(len(column)))
        days = choices[(drawn * len(choices)).astype(np.int64)]
        # In seconds, since Arrow adds no days to days. Unchecked, as what is behind a null may be
        # the least number that there is, which pandas writes there.
        moment = column.cast(pa.timestamp("s")) if pa.types.is_date(column.type) else column
        unit = moment.type.unit
        moved = pc.add(moment, pa.array(days * 86_400, pa.duration("s")).cast(pa.duration(unit)))
        new[name] = moved.cast(column.type)
    return new


def sources(plan: dict[str, Any], x: np.ndarray, rows: np.ndarray, draws: Draws) -> np.ndarray:
    """Take each value from the row that the plan names; each is taken once, and none from afar."""
    taken = _permutation(plan, rows)
    if "window" in plan and len(taken):
        rank = np.empty(len(x), dtype=np.int64)
        rank[np.lexsort((rows, x))] = np.arange(len(x))
        farthest = int(np.abs(rank[taken] - rank).max())
        window = int(plan["p"] * len(x) / 100)
        if farthest > window or plan["window"] != window:
            raise BadInput(f"a value moves by {farthest} ranks, not {window} at most")
    return x[taken]


def shuffled(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Take each cell from the row that the plan names; nulls stay."""
    new = {}
    for name, plan in step["columns"].items():
        column = columns.arrow(name)
        (present,) = np.nonzero(column.is_valid().to_numpy())
        position = np.arange(len(column))
        position[present] = present[_permutation(plan, present)]
        new[name] = column.take(pa.array(position))
    return new


def _permutation(plan: dict[str, Any], rows: np.ndarray) -> np.ndarray:
    """Return the source of each row as a position among the rows, all of them once."""
    taken = np.asarray(plan["rows"])[rows]
    if not np.array_equal(np.sort(taken), rows):
        raise BadInput("the plan does not take each value once")
    return np.searchsorted(rows, taken)


def pram(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> dict[str, pa.ChunkedArray]:
    """Send each category to the first whose cumulated probability is above the row's draw."""
    new = {}
    for name, plan in step["columns"].items():
        column = columns.arrow(name).combine_chunks()
        is_dictionary = pa.types.is_dictionary(column.type)
        encoded = column if is_dictionary else column.dictionary_encode()
        codes = _codes(encoded, plan["categories"])
        uniform = draws(name).uniform(np.arange(len(codes)))
        m = len(plan["categories"])
        matrix = np.asarray(plan["matrix"], dtype=np.float64).reshape(m, m)
        drawn = np.full(len(codes), -1)
        for i, row in enumerate(matrix):
            share = np.cumsum(row) / np.cumsum(row)[-1]
            drawn[codes == i] = np.digitize(uniform[codes == i], share)
        labels = pa.array(list(plan["categories"]), encoded.dictionary.type)
        cells = labels.take(pa.array(drawn, mask=drawn < 0))
        if is_dictionary:
            places = pc.index_in(cells, value_set=column.dictionary)
            cells = pa.DictionaryArray.from_arrays(
                places, column.dictionary, ordered=column.type.ordered
            )
        new[name] = pa.chunked_array([cells])
    return new


def _codes(column: pa.DictionaryArray, categories: Any) -> np.ndarray:
    """Return the number of each cell's category, -1 for a null."""
    number = {category: i for i, category in enumerate(np.asarray(categories, object).tolist())}
    of_label = [number.get(label, -2) for label in column.dictionary.to_pylist()]
    indices = pc.fill_null(column.indices.cast(pa.int64()), len(of_label)).to_numpy()
    codes = np.array([*of_label, -1])[indices]
    if (codes == -2).any():
        raise BadInput("the plan lacks a category")
    return codes
