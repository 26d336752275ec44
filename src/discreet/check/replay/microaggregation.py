"""Microaggregation plans, applied again: the centres are computed from the original records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import StepPlan
from discreet.draws import Draws
from discreet.errors import BadInput

_SLACK = 1e-9
_CENTRES: dict[str, Any] = {
    "mean": np.mean,
    "median": np.median,
    "midpoint": lambda x: x.min() + (x.max() - x.min()) / 2,
    "resampled": None,
}


def microaggregation(step: StepPlan, columns: Any, draws: Callable[[str], Draws]) -> dict[str, Any]:
    """Return each record its group's centre, which must be that of the group's original values.

    Of points that were made from samples, only the plan tells what they are; each lies within the
    column's values.
    """
    groups = np.asarray(step["joint"]["groups"], dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    order = order[np.searchsorted(groups[order], 0) :]
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    members = np.split(order, starts[1:]) if len(order) else []
    if [groups[rows[0]] for rows in members] != list(range(len(members))):
        raise BadInput("the plan's groups are not numbered 0, 1, ...")
    representative = step["joint"].get("representative", "mean")
    if representative not in _CENTRES:
        raise BadInput(f"the plan's groups have an unknown representative, {representative}")
    strata = step["joint"].get("strata")
    if strata is not None:
        _verify_strata(columns.arrow(strata), strata, members)
    new = {}
    for name, plan in step["columns"].items():
        column = columns[name]
        if len(groups) != len(column) or len(plan["centres"]) != len(members):
            raise BadInput(f"the plan of column '{name}' is not of this table's length")
        if isinstance(column, np.ndarray):
            new[name] = _numbers(name, column, members, plan["centres"], representative)
        else:
            new[name] = _categories(name, column, members, plan["centres"])
    return new


def _verify_strata(column: pa.ChunkedArray, name: str, members: list[np.ndarray]) -> None:
    """Refuse a group that reaches across strata; a null is a stratum of its own."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy()
    for group, rows in enumerate(members):
        if (codes[rows] != codes[rows[0]]).any():
            raise BadInput(f"group {group} reaches across the strata of column '{name}'")


def _numbers(
    name: str, x: np.ndarray, members: list[np.ndarray], planned: Any, representative: str
) -> np.ndarray:
    """Take the planned centres, where they are the groups' but for rounding."""
    planned = np.array([np.nan if c is None else c for c in planned], dtype=np.float64)
    new = np.full(len(x), np.nan)
    if not members:
        return new
    rows, sizes = np.concatenate(members), np.array([len(m) for m in members])
    low, high = np.nanmin(x), np.nanmax(x)
    starts = np.cumsum(sizes) - sizes
    slack = _SLACK * (high - low) + 4 * np.spacing(max(abs(low), abs(high)))
    if representative == "mean":
        centres = low + np.add.reduceat(x[rows] - low, starts) / sizes
    elif representative == "resampled":
        null = np.isnan(np.add.reduceat(x[rows], starts))
        centres = np.where(null, np.nan, np.clip(planned, low, high))
    else:
        centres = np.array([_CENTRES[representative](x[own]) for own in members])
    differs = ~(np.abs(centres - planned) <= slack) & ~(np.isnan(centres) & np.isnan(planned))
    if differs.any():
        wanted = "among its values" if representative == "resampled" else f"its {representative}"
        raise BadInput(
            f"the centre of group {int(np.argmax(differs))} of column '{name}' is not {wanted}"
        )
    new[rows] = np.repeat(planned, sizes)
    return new


def _categories(
    name: str, column: pa.ChunkedArray, members: list[np.ndarray], planned: Any
) -> pa.ChunkedArray:
    """Take each group's most frequent category, the first of several, or the lower median."""
    labels, ordered = None, False
    if pa.types.is_dictionary(column.type):
        labels, ordered = column.unify_dictionaries().chunk(0).dictionary, column.type.ordered
    cells = column.to_pylist()
    if labels is not None and ordered:
        rank = {label: i for i, label in enumerate(labels.to_pylist())}
    else:
        rank = {label: i for i, label in enumerate(sorted({c for c in cells if c is not None}))}
    new: list[Any] = [None] * len(cells)
    for group, rows in enumerate(members):
        own = sorted((cells[i] for i in rows if cells[i] is not None), key=rank.__getitem__)
        centre = None
        if own and len(own) == len(rows):
            # max takes the first of several, and they are sorted.
            centre = own[(len(own) - 1) // 2] if ordered else max(own, key=_counts(own).__getitem__)
        if centre != planned[group]:
            raise BadInput(f"the centre of group {group} of column '{name}' is not its own")
        for i in rows:
            new[i] = centre
    if labels is None:
        return pa.chunked_array([pa.array(new, column.type)])
    used = pa.array(new, labels.type)
    places = pc.index_in(used, value_set=labels)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, labels, ordered=ordered)])


def _counts(labels: list[Any]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return counts
