"""The ways to treat one column, from its kind and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.generalization import Hierarchy
from discreet.perturbation.pram import MOST_CATEGORIES
from discreet.table.columns import float_values, kind_of
from discreet.tuning.space import Option
from discreet.tuning.words import level_words

KEPT = Option()
REMOVED = Option(words="removed", released=False)

_SIZES = (3, 5, 10, 15, 25, 50, 100)
_WINDOWS = (3, 5, 8, 10, 12, 15, 20, 25)
_SCALES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
_FACTORS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5)
_KEEPS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
# Chains of two.
_SIZES_BEFORE = (3, 10, 25)
_SCALES_BEFORE = (0.05, 0.1)
_WINDOWS_AFTER = (5, 10, 15)
# Numbers of fewer values are codes: swapped, most would meet themselves.
_FEW = 10

# A way to treat a column, and how much it changes it: about the share of the ranks that values go.
Ways = Iterator[tuple[float, Option]]


def column_options(
    column: pa.ChunkedArray, name: str, hierarchy: Hierarchy | None = None
) -> tuple[Option, ...]:
    """Return the ways to treat a column, from leaving it as it is to removing it.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name : str
    hierarchy : Hierarchy, optional
        Whose levels the column may be recoded to; proposed from the column where not given.

    Examples
    --------
    >>> codes = pa.chunked_array([["10115", "10117", "20095", "20099", "30159"] * 10])
    >>> [option.words for option in column_options(codes, "zip")][:3]
    ['kept', 'changed in 5 % of records', 'changed in 10 % of records']
    """
    present = column.drop_null()
    if pc.count_distinct(present).as_py() + (len(present) < len(column)) < 2:
        return (KEPT,)
    ways = [*_levels(column, name, hierarchy)]
    if kind_of(column.type) == "numeric":
        ways += _numeric(column, name)
    else:
        ways += _categories(present)
    ordered = sorted(ways, key=lambda way: way[0])
    return (KEPT, *(option for _, option in ordered), REMOVED)


def _levels(column: pa.ChunkedArray, name: str, hierarchy: Hierarchy | None) -> Ways:
    """Recode to each level that merges something, but for the top, where all is one."""
    settled = (hierarchy or Hierarchy.auto()).settle(column, name)
    ladder, codes = settled.bind_and_encode(column, name)
    used = np.unique(codes[codes >= 0])
    before = len(used)
    for level in range(1, ladder.height):
        groups = len(np.unique(ladder.maps[level][used]))
        if 1 < groups < before:
            before = groups
            step = {"method": "generalize", "hierarchies": {name: settled.spec}}
            step["levels"] = {name: level}
            yield 1 / (3 * groups), Option((step,), level_words(settled.spec, level, groups, name))


def _numeric(column: pa.ChunkedArray, name: str) -> Ways:
    values = float_values(column, name)
    values = values[~np.isnan(values)]
    rows = len(values)
    for k in _SIZES:
        if 2 * k <= rows:
            yield k / (4 * rows), Option((_oma(k),), f"averaged over {k} or more neighbours")
    if len(np.unique(values)) < _FEW:
        return
    yield from _noise(values, temporal=pa.types.is_temporal(column.type))
    for p in _WINDOWS:
        if p * rows >= 200:
            yield p / 160, Option((_swap(p),), f"swapped within {p} % of ranks")
            yield from _before_swap(p, rows)


def _noise(values: np.ndarray, temporal: bool) -> Ways:
    spread = float(np.std(values))
    for scale in _SCALES:
        step = {"method": "noise", "kind": "additive", "scale": scale}
        words = f"with noise of {_percent(scale)} of its standard deviation"
        yield _of_noise(scale), Option((step,), words)
    if temporal or not spread:
        return
    size = float(np.sqrt(np.mean(values**2)))
    for scale in _FACTORS:
        step = {"method": "noise", "kind": "multiplicative", "scale": scale}
        words = f"with noise of {_percent(scale)} of each value"
        yield _of_noise(scale * size / spread), Option((step,), words)


def _before_swap(p: int, rows: int) -> Ways:
    """Swap what was averaged or got a little noise."""
    if p not in _WINDOWS_AFTER:
        return
    for k in _SIZES_BEFORE:
        if 2 * k <= rows:
            words = f"averaged over {k} or more neighbours and swapped within {p} % of ranks"
            first = _oma(k) | {"promise": False}
            yield p / 160 + k / (4 * rows), Option((first, _swap(p)), words)
    for scale in _SCALES_BEFORE:
        words = f"with noise of {_percent(scale)} of its standard deviation and swapped within "
        first = {"method": "noise", "kind": "additive", "scale": scale}
        yield p / 160 + _of_noise(scale) / 3, Option((first, _swap(p)), f"{words}{p} % of ranks")


def _categories(present: pa.ChunkedArray) -> Ways:
    """Change some cells to categories drawn by the column's shares."""
    if pc.count_distinct(present).as_py() > MOST_CATEGORIES:
        return
    for keep in _KEEPS:
        step = {"method": "pram", "retention": keep, "invariant": True}
        yield (1 - keep) / 3, Option((step,), f"changed in {_percent(1 - keep)} of records")


def _oma(k: int) -> dict[str, Any]:
    return {"method": "oma", "k": k}


def _swap(p: int) -> dict[str, Any]:
    return {"method": "rank-swap", "p": p}


def _of_noise(scale: float) -> float:
    """Return about how far noise moves the ranks of normal values."""
    return 0.25 * scale / (1 + scale)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
