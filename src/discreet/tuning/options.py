"""The ways to treat one column, from its kind and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.generalization import Hierarchy
from discreet.perturbation.pram import MOST_CATEGORIES
from discreet.perturbation.rank_swap import FEW as FEW_RANKS
from discreet.report.words import level_words, steps_words
from discreet.table.classes import encode
from discreet.table.columns import float_values, kind_of
from discreet.tuning.space import Option

KEPT = Option()
REMOVED = Option(words="removed", released=False)

# Strengths, from weak to strong. Those that were never near the least loss for what they tell, on
# Census, EIA and Tarragona, are left out: most windows that are fixed, and much plain noise.
_SIZES = (3, 5, 10, 15, 25, 50, 100)
_WINDOWS = (3, 5, 8, 10, 12, 15, 20, 25)
_FIXED = (3, 8, 15)
_NOISES = (
    ({"kind": "additive"}, (0.02, 0.05, 0.1, 0.2, 0.5)),
    ({"kind": "additive", "match_ranks": True}, (0.05, 0.1, 0.2, 0.5, 1.0)),
    ({"kind": "multiplicative"}, (0.02, 0.05, 0.1, 0.2, 0.35)),
    ({"kind": "multiplicative", "match_ranks": True}, (0.02, 0.05, 0.1, 0.15, 0.2, 0.35, 0.5)),
    ({"kind": "logarithmic", "match_ranks": True}, (0.02, 0.1, 0.25, 0.5)),
)
# For a score, all kinds of noise have all of these.
_SCALES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.5, 1.0)
_KEEPS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
# Chains of two.
_SIZES_BEFORE = (3, 10, 25)
_SCALES_BEFORE = (0.05, 0.1)
_WINDOWS_AFTER = (5, 10)
# Numbers of fewer values are taken for codes, which have no averages.
_FEW_VALUES = 10
# A value that so many share, such as 0, stays where neighbours are averaged.
_SPIKE = 0.05

# A way to treat a column, and how strong it is: about the share of the ranks that values go.
Ways = Iterator[tuple[float, Option]]


def column_options(
    column: pa.ChunkedArray,
    name: str,
    hierarchy: Hierarchy | None = None,
    *,
    coded: bool = False,
    scored: bool = False,
    promise: bool = True,
) -> tuple[Option, ...]:
    """Return the ways to treat a column, from leaving it as it is to removing it.

    A column of one value has one option, and so has an empty one: nothing is gained by another.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name : str
    hierarchy : Hierarchy, optional
        To whose levels the column may be recoded; proposed from the column where not given.
    coded : bool
        Numbers stand for categories, which are changed to one another and have no averages.
    scored : bool
        For a score, whose intruder does not know the method: with more strengths of noise, and
        every fixed window.
    promise : bool
        Whether averages promise their k.

    Examples
    --------
    >>> codes = pa.chunked_array([["10115", "10117", "20095", "20099", "30159"] * 10])
    >>> options = column_options(codes, "zip")
    >>> [options[i].words for i in (0, 1, 6, -1)]
    ['kept', 'drawn anew in 5 % of records', 'without the last character', 'removed']
    """
    found = how_many(column, name)
    if found < 2:
        return (KEPT,)
    ways = list(_levels(column, name, hierarchy or Hierarchy.auto()))
    if kind_of(column.type) == "numeric" and found >= _FEW_VALUES and not coded:
        ways += _numbers(column, name, scored, promise)
    elif found <= MOST_CATEGORIES and not pa.types.is_temporal(column.type):
        ways += _categories()
    ordered = sorted(ways, key=lambda way: way[0])
    return (KEPT, *(option for _, option in ordered), REMOVED)


def how_many(column: pa.ChunkedArray, name: str) -> int:
    """Count the distinct values of a column; a null is one.

    Examples
    --------
    >>> how_many(pa.chunked_array([["a", "a", None]]), "letter")
    2
    """
    codes, size = encode(column, name)
    return size + bool((codes < 0).any())


def _levels(column: pa.ChunkedArray, name: str, hierarchy: Hierarchy) -> Ways:
    """Recode to each level that merges something, but for the top, where all is one."""
    settled = hierarchy.settle(column, name)
    ladder, codes = settled.bind_and_encode(column, name)
    used = np.unique(codes[codes >= 0])
    before = len(used)
    for level in range(1, ladder.height):
        labels = [ladder.labels[level][i] for i in np.unique(ladder.maps[level][used])]
        if 1 < len(labels) < before:
            before = len(labels)
            step = {
                "method": "generalize",
                "hierarchies": {name: settled.spec},
                "levels": {name: level},
            }
            words = level_words(settled.spec, level, labels, name)
            yield 1 / (3 * len(labels)), Option((step,), words)


def _categories() -> Ways:
    """Change some cells to categories drawn by the column's shares."""
    for keep in _KEEPS:
        yield (1 - keep) / 3, _option({"method": "pram", "retention": keep, "invariant": True})


def _numbers(column: pa.ChunkedArray, name: str, scored: bool, promise: bool) -> Ways:
    values = float_values(column, name)
    values = values[~np.isnan(values)]
    yield from _averages(values, promise)
    yield from _noise(values, pa.types.is_temporal(column.type), scored)
    yield from _swaps(len(values), scored)
    yield from _chains(values)


def _averages(values: np.ndarray, promise: bool) -> Ways:
    for k in _SIZES:
        if 2 * k <= len(values):
            step = _averaged(values, k)
            yield k / (4 * len(values)), _option(step if promise else step | {"promise": False})


def _noise(values: np.ndarray, temporal: bool, scored: bool) -> Ways:
    """Add noise; or let it decide which of the column's own values a record gets."""
    spread = float(np.std(values))
    size = float(np.sqrt(np.mean(values**2))) / spread if spread else 1.0
    for kind, scales in _NOISES:
        relative = kind["kind"] != "additive"
        if relative and (temporal or not spread):
            continue
        for scale in _SCALES if scored else scales:
            step = {"method": "noise", **kind, "scale": scale}
            yield _of_noise(scale * size if relative else scale), _option(step)


def _swaps(rows: int, scored: bool) -> Ways:
    """Swap values; windows of few ranks could be tried."""
    for p in _WINDOWS:
        if p * rows >= 100 * FEW_RANKS:
            yield p / 160, _option(_drawn(p))
            if scored or p in _FIXED:
                yield p / 160, _option({"method": "rank-swap", "p": p})


def _chains(values: np.ndarray) -> Ways:
    """Swap what was averaged or got a little noise."""
    rows = len(values)
    for p in _WINDOWS_AFTER:
        if p * rows < 100 * FEW_RANKS:
            continue
        for k in _SIZES_BEFORE:
            if 2 * k <= rows:
                first = _averaged(values, k) | {"promise": False}
                yield p / 160 + k / (4 * rows), _option(first, _drawn(p))
        for scale in _SCALES_BEFORE:
            first = {"method": "noise", "kind": "additive", "scale": scale}
            yield p / 160 + _of_noise(scale) / 3, _option(first, _drawn(p))


def _option(*steps: dict[str, Any]) -> Option:
    return Option(steps, steps_words(steps))


def _averaged(values: np.ndarray, k: int) -> dict[str, Any]:
    step = {"method": "oma", "k": k}
    most = np.unique(values, return_counts=True)[1].max()
    return step | {"spikes": "keep"} if most >= max(k, _SPIKE * len(values)) else step


def _drawn(p: int) -> dict[str, Any]:
    return {"method": "rank-swap", "p": p, "window": "drawn"}


def _of_noise(scale: float) -> float:
    """Return about how far noise moves the ranks of normal values."""
    return 0.25 * scale / (1 + scale)
