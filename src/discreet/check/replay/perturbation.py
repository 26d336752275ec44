"""Noise, date shifts, swapping, shuffling and PRAM plans, applied again."""

from __future__ import annotations

import math
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
    terms = ["noise", plan["noise"], f"{plan['scale']:.12g}", f"{plan.get('sd', 1.0):.12g}"]
    normal = draws.under(*terms, *_ranked(plan)).normal(rows)
    if plan["noise"] == "multiplicative":
        moved = x * (1 + plan["scale"] * normal)
    elif plan["noise"] == "logarithmic":
        moved = x * np.exp(plan["scale"] * normal)
    else:
        moved = x + plan["scale"] * plan["sd"] * normal
    return _matched(plan, x, moved)


def _ranked(plan: dict[str, Any]) -> list[str]:
    return ["ranks"] if plan.get("match_ranks") else []


def _matched(plan: dict[str, Any], x: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return the moved values, or, where ranks are matched, those that have their ranks; no NaN."""
    if not plan.get("match_ranks"):
        return moved
    # Equal ones in the order of rows.
    rank = np.lexsort((np.arange(len(x)), moved))
    new = np.empty(len(x))
    new[rank] = np.sort(x)
    return new


def correlated_noise(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, np.ndarray]:
    """Move each value by a weighted sum of the row's draws for all columns."""
    new = {}
    plans = step["columns"]
    weights = [
        f"{one} {other} {plans[one]['weights'][other]:.12g}"
        for one in sorted(plans)
        for other in sorted(plans[one]["weights"])
    ]
    for name, plan in plans.items():
        rows = np.arange(len(columns[name]))
        moves = np.zeros(len(rows))
        for other, weight in plan["weights"].items():
            own = plans[other]
            terms = ["noise", own["noise"], f"{own['scale']:.12g}", f"{own.get('sd', 1.0):.12g}"]
            by = draws(other).under(*terms, *weights, *_ranked(own))
            moves = moves + weight * by.normal(rows)
        x = columns[name]
        there = ~np.isnan(x)
        new[name] = x + moves if plan["noise"] == "correlated" else x * np.exp(moves)
        new[name][there] = _matched(plan, x[there], new[name][there])
    return new


def shift(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Move each date by its row's draw, one of 1 to `days` days or whole weeks, back or forth."""
    length = 7 if step["joint"]["keep_weekday"] else 1
    most = step["joint"]["days"] // length
    choices = np.array([n * length for n in range(-most, most + 1) if n != 0])
    new = {}
    for name in step["columns"]:
        column = columns.arrow(name)
        by = draws(next(iter(step["columns"])))
        by = by.under("date-shift", str(step["joint"]["days"]), str(length), by_cell=False)
        drawn = by.uniform(np.arange(len(column)))
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
    if len(taken) and ("window" in plan or "jump" in plan):
        order = np.lexsort((rows, x))
        rank = np.empty(len(x), dtype=np.int64)
        rank[order] = np.arange(len(x))
        partner = rank[taken[order]]
        window = int(plan["p"] * len(x) / 100)
        if "jump" in plan:
            _refuse_other_walk(plan, partner, window, draws.apart())
            return x[taken]
        farthest = int(np.abs(partner - np.arange(len(x))).max())
        if farthest > window or plan["window"] != window:
            raise BadInput(f"a value moves by {farthest} ranks, not {window} at most")
    return x[taken]


def _refuse_other_walk(
    plan: dict[str, Any], partner: np.ndarray, window: int, draws: Draws
) -> None:
    """Refuse swaps of ranks at drawn distances that are not those of the draws.

    Going up the ranks, one that is free is swapped with the k-th of those that are still free, k
    being 1 + the whole part of an exponential of mean m, cut off at their number F.
    """
    log2 = math.log(2)
    jump = (2 - 1 / log2) * window
    if not math.isclose(plan["jump"], jump):
        raise BadInput(f"values move by {plan['jump']:g} ranks on average, not {jump:g}")
    ranks = np.arange(len(partner))
    starts = np.flatnonzero(partner > ranks)
    ends = partner[starts]
    stays = np.flatnonzero(partner == ranks)
    if not np.array_equal(partner[partner], ranks) or len(stays) != len(ranks) % 2:
        raise BadInput("values are not swapped in pairs")
    # Before a rank starts, each one that did so before has taken two.
    free = len(ranks) - 2 * np.arange(len(starts)) - 1
    if len(stays) and stays[0] < starts.max(initial=-1):
        raise BadInput("a value stays while others are free")
    # Ranks from it to its partner, without those that earlier ones took there.
    k = ends - starts - (_smaller_before(ends) - np.searchsorted(np.sort(ends), starts))
    m = jump / (2 * log2)
    u = draws.uniform(starts)
    drawn = -m * np.log(u + (1 - u) * np.exp(-free / m))
    slack = 1e-9 * (1 + drawn)
    if ((k - 1 > drawn + slack) | ((k <= drawn - slack) & (k < free))).any():
        raise BadInput("values are not swapped as far as was drawn")


def _smaller_before(values: np.ndarray) -> np.ndarray:
    """Count for each of some different values those before it that are smaller."""
    found, index = np.zeros(len(values), dtype=np.int64), np.arange(len(values))
    # Places in the order of their values, within blocks of places that are halved each time.
    place = np.argsort(values)
    for bit in reversed(range(len(values).bit_length())):
        start = place >> (bit + 1) << (bit + 1)
        second = (place >> bit & 1).astype(bool)
        before = np.cumsum(~second) - ~second
        before -= before[start]
        found[place] += np.where(second, before, 0)
        halved = np.empty_like(place)
        halved[np.where(second, index - before + (1 << bit), start + before)] = place
        place = halved
    return found


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
        m = len(plan["categories"])
        matrix = np.asarray(plan["matrix"], dtype=np.float64).reshape(m, m)
        by = draws(name)
        if by.is_tied:
            named = map(_named, plan["categories"])
            by = by.under("pram", *named, *(f"{x:.12g}" for x in matrix.ravel()))
        uniform = by.uniform(np.arange(len(codes)))
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


def _named(category: Any) -> str:
    """Write a category as a recipe does: whole numbers without decimals, booleans in small."""
    if isinstance(category, bool | np.bool_):
        return str(category).lower()
    if isinstance(category, float) and category.is_integer():
        return str(int(category))
    return str(category)


def _codes(column: pa.DictionaryArray, categories: Any) -> np.ndarray:
    """Return the number of each cell's category, -1 for a null."""
    number = {category: i for i, category in enumerate(np.asarray(categories, object).tolist())}
    of_label = [number.get(label, -2) for label in column.dictionary.to_pylist()]
    indices = pc.fill_null(column.indices.cast(pa.int64()), len(of_label)).to_numpy()
    codes = np.array([*of_label, -1])[indices]
    if (codes == -2).any():
        raise BadInput("the plan lacks a category")
    return codes
