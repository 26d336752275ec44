"""Generalization plans, applied again: the first round that has a row's class gives its labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.draws import Draws
from discreet.table.classes import classes_of

EVERYTHING = "*"


def generalize(
    step: dict[str, Any], columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Give the released columns; raise ValueError where classes do not have the plan's sizes."""
    joint = step["joint"]
    leaves = {
        name: _leaves(columns.arrow(name), name, joint["hierarchies"][name])
        for name in step["columns"]
    }
    null = {name: found < 0 for name, found in leaves.items()}
    n = len(next(iter(leaves.values())))
    texts = {name: _texts(joint["hierarchies"][name]) for name in leaves}
    # Places on the list of a column's labels, level after level; the last is what all is under.
    released = {name: np.full(n, len(texts[name]) - 1) for name in leaves}
    for group in joint["groups"]:
        waiting = np.flatnonzero(_in_group(group, null))
        if len(waiting) != group["rows"]:
            raise ValueError(
                f"the plan has {group['rows']:,} records in the group '{group['group']}', "
                f"but there are {len(waiting):,}"
            )
        if group["treatment"] == "append":
            for name, found in leaves.items():
                codes, start = _at(joint["hierarchies"][name], found[waiting], 0)
                released[name][waiting] = np.where(codes < 0, -1, start + codes)
            continue
        for one in group["rounds"]:
            at = {
                name: _at(joint["hierarchies"][name], found[waiting], one["levels"][name])
                for name, found in leaves.items()
            }
            kept = _kept(one, {name: codes for name, (codes, _) in at.items()})
            for name, (codes, start) in at.items():
                place = np.where(codes < 0, -1, start + codes)
                released[name][waiting[kept]] = place[kept]
            waiting = waiting[~kept]
        if len(waiting) != group["suppressed"]:
            raise ValueError(
                f"{len(waiting):,} records of the group '{group['group']}' are in no class, but "
                f"the plan suppresses {group['suppressed']:,}"
            )
    return {
        name: pa.chunked_array([texts[name].take(pa.array(place, mask=place < 0))])
        for name, place in released.items()
    }


def _texts(hierarchy: dict[str, Any]) -> pa.Array:
    """List the labels of all levels."""
    texts = pa.array(np.concatenate([np.asarray(x, object) for x in hierarchy["labels"]]))
    if texts[-1].as_py() != EVERYTHING:
        raise ValueError(f"the top of a hierarchy is '{texts[-1]}' and not '{EVERYTHING}'")
    return texts


def _leaves(column: pa.ChunkedArray, name: str, hierarchy: dict[str, Any]) -> np.ndarray:
    """Give the leaf of each row; -1 where null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    text = column.cast(pa.string())
    found = pc.index_in(text, value_set=pa.array(hierarchy["values"], pa.string()))
    unknown = pc.and_(found.is_null(), text.is_valid())
    if pc.any(unknown).as_py():
        value = text.filter(unknown)[0].as_py()
        raise ValueError(f"column '{name}' holds '{value}', which the plan does not know")
    place = pc.fill_null(found, -1).to_numpy()
    return np.append(np.asarray(hierarchy["leaf"], dtype=np.int64), -1)[place]


def _in_group(group: dict[str, Any], null: dict[str, np.ndarray]) -> np.ndarray:
    """Tell which rows belong to a group: all, those with nulls or without, or by which are null."""
    any_null = np.zeros(len(next(iter(null.values()))), dtype=bool)
    for rows in null.values():
        any_null |= rows
    if group["patterns"] is None:
        if group["group"] == "all":
            return np.full(len(any_null), True)
        return ~any_null if group["group"] == "without nulls" else any_null
    inside = np.zeros(len(any_null), dtype=bool)
    for pattern in group["patterns"]:
        inside |= np.all([rows == (name in pattern) for name, rows in null.items()], axis=0)
    return inside


def _at(hierarchy: dict[str, Any], leaves: np.ndarray, level: int) -> tuple[np.ndarray, int]:
    """Give the codes of rows at a level, and where its labels start on the list of all.

    A null stays one, -1, below the top.
    """
    top = level == len(hierarchy["maps"]) - 1
    maps = np.append(np.asarray(hierarchy["maps"][level], dtype=np.int64), 0 if top else -1)
    return maps[leaves], sum(len(labels) for labels in hierarchy["labels"][:level])


def _kept(one: dict[str, Any], codes: dict[str, np.ndarray]) -> np.ndarray:
    """Tell which rows are in a class of the round, and verify the classes' sizes."""
    sizes = np.asarray(one["sizes"], dtype=np.int64)
    # Classes of the plan and rows are numbered together.
    both = np.array(
        [
            np.concatenate([np.asarray(one["classes"][name], dtype=np.int64), found])
            for name, found in codes.items()
        ]
    )
    number, count = classes_of(both, both.max(axis=1, initial=0) + 1)
    known, rows = number[: len(sizes)], number[len(sizes) :]
    counted = np.bincount(rows, minlength=count)
    if len(np.unique(known)) != len(known) or not np.array_equal(counted[known], sizes):
        raise ValueError("the classes do not have the sizes that the plan gives")
    held = np.zeros(count, dtype=bool)
    held[known] = True
    return held[rows]
