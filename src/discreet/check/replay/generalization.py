"""Generalization plans, applied again: the first round that has a row's class gives its labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import StepPlan
from discreet.draws import Draws
from discreet.table.classes import classes_of, first_rows

EVERYTHING = "*"
_FEW_ROUNDS = 4


def prepare_generalize(step: StepPlan) -> StepPlan:
    """Return the plan with its texts as Arrow has them."""
    joint = dict(step["joint"])
    joint["hierarchies"] = {
        name: one | {"values": pa.array(one["values"], pa.string()), "texts": texts_of(one)}
        for name, one in joint["hierarchies"].items()
    }
    return step | {"joint": joint}


def generalize(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the released columns, and count the records of groups and classes."""
    joint = step["joint"]
    hierarchies = {name: joint["hierarchies"][name] for name in step["columns"]}
    leaves = {name: leaves_of(columns.arrow(name), name, h) for name, h in hierarchies.items()}
    n = len(next(iter(leaves.values())))
    records, ids = np.ones(n, np.int64), None
    if sum(len(group["rounds"]) for group in joint["groups"]) > _FEW_ROUNDS:
        # Rows that have the same leaves end up alike, so these are looked at once.
        sizes = np.array([len(h["maps"][0]) for h in hierarchies.values()], dtype=np.int64)
        ids, n = classes_of(np.array(list(leaves.values())), sizes)
        records, first = np.bincount(ids, minlength=n), first_rows(ids, n)
        leaves = {name: found[first] for name, found in leaves.items()}
    null = {name: found < 0 for name, found in leaves.items()}
    texts = {name: h.get("texts", None) or texts_of(h) for name, h in hierarchies.items()}
    # Places on the list of a column's labels, level after level; the last is what all is under.
    released = {name: np.full(n, len(texts[name]) - 1) for name in leaves}
    suppressed, left_out = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for number, group in enumerate(joint["groups"]):
        waiting = np.flatnonzero(in_group(group, null))
        dropped = _dropped(group, columns.rows, n)
        columns.count(step, "rows", number, records=records[waiting].sum())
        if group["treatment"] == "append":
            for name, found in leaves.items():
                codes, start = labels_at(hierarchies[name], found[waiting], 0)
                released[name][waiting] = np.where(codes < 0, -1, start + codes)
            continue
        for which, one in enumerate(group["rounds"]):
            at = {
                name: labels_at(hierarchies[name], found[waiting], one["levels"][name])
                for name, found in leaves.items()
            }
            codes_at = {name: c for name, (c, _) in at.items()}
            kept, held = _kept(one, codes_at, np.where(dropped, 0, records)[waiting])
            kept &= ~dropped[waiting]
            columns.count(step, "classes", number, which, records=held)
            for name, (found, start) in at.items():
                place = np.where(found < 0, -1, start + found)
                released[name][waiting[kept]] = place[kept]
            waiting = waiting[~kept]
        columns.count(step, "suppressed", number, records=records[waiting].sum())
        suppressed[waiting] = True
        left_out[waiting] = group.get("left_out", False)
    if ids is not None:
        suppressed, left_out = suppressed[ids], left_out[ids]
        released = {name: place[ids] for name, place in released.items()}
    columns.suppress(suppressed, left_out)
    return {
        name: pa.chunked_array([texts[name].take(pa.array(place, mask=place < 0))])
        for name, place in released.items()
    }


def verify_generalize(step: StepPlan, tally: dict[tuple[Any, ...], Any]) -> None:
    """Raise ValueError where groups and classes do not have the sizes that the plan gives."""
    for number, group in enumerate(step["joint"]["groups"]):
        found = tally["rows", number]
        if found != group["rows"]:
            raise ValueError(
                f"the plan has {group['rows']:,} records in the group '{group['group']}', "
                f"but there are {found:,}"
            )
        for which, one in enumerate(group["rounds"]):
            counted = tally.get(("classes", number, which), ())
            if not np.array_equal(counted, one["sizes"]):
                raise ValueError("the classes do not have the sizes that the plan gives")
        left = tally.get(("suppressed", number))
        if left is not None and left != group["suppressed"]:
            raise ValueError(
                f"{left:,} records of the group '{group['group']}' are in no class, but "
                f"the plan suppresses {group['suppressed']:,}"
            )


def _dropped(group: dict[str, Any], rows: np.ndarray | None, n: int) -> np.ndarray:
    """Mark the rows, by number, that are suppressed though their class is kept."""
    if "dropped" not in group:
        return np.zeros(n, dtype=bool)
    return np.isin(np.arange(n) if rows is None else rows, group["dropped"])


def texts_of(hierarchy: dict[str, Any]) -> pa.Array:
    """List the labels of all levels."""
    texts = pa.array(np.concatenate([np.asarray(x, object) for x in hierarchy["labels"]]))
    if texts[-1].as_py() != EVERYTHING:
        raise ValueError(f"the top of a hierarchy is '{texts[-1]}' and not '{EVERYTHING}'")
    return texts


def leaves_of(column: pa.ChunkedArray, name: str, hierarchy: dict[str, Any]) -> np.ndarray:
    """Return the leaf of each row; -1 where null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    # Each distinct value is looked for once.
    encoded = column.combine_chunks().dictionary_encode()
    text = encoded.dictionary.cast(pa.string())
    known = hierarchy["values"]
    known = known if isinstance(known, pa.Array) else pa.array(known, pa.string())
    found = pc.index_in(text, value_set=known)
    if found.null_count:
        value = text.filter(found.is_null())[0].as_py()
        raise ValueError(f"column '{name}' holds '{value}', which the plan does not know")
    leaf = np.asarray(hierarchy["leaf"], dtype=np.int64)[found.to_numpy()]
    return np.append(leaf, -1)[encoded.indices.fill_null(len(leaf)).to_numpy()]


def in_group(group: dict[str, Any], null: dict[str, np.ndarray]) -> np.ndarray:
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


def labels_at(hierarchy: dict[str, Any], leaves: np.ndarray, level: int) -> tuple[np.ndarray, int]:
    """Return the codes of rows at a level, and where its labels start on the list of all.

    A null stays one, -1, below the top.
    """
    top = level == len(hierarchy["maps"]) - 1
    maps = np.append(np.asarray(hierarchy["maps"][level], dtype=np.int64), 0 if top else -1)
    return maps[leaves], sum(len(labels) for labels in hierarchy["labels"][:level])


def _kept(
    one: dict[str, Any], codes: dict[str, np.ndarray], records: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tell which tuples are in a class of the round, and the number of records of each class."""
    # Classes of the plan and tuples are numbered together.
    both = np.array(
        [
            np.concatenate([np.asarray(one["classes"][name], dtype=np.int64), found])
            for name, found in codes.items()
        ]
    )
    number, count = classes_of(both, both.max(axis=1, initial=0) + 1)
    known, found = np.split(number, [len(one["sizes"])])
    if np.bincount(known, minlength=1).max() > 1:
        raise ValueError("the plan lists a class twice")
    counted = np.bincount(found, records, minlength=count).astype(np.int64)
    held = np.zeros(count, dtype=bool)
    held[known] = True
    return held[found], counted[known]
