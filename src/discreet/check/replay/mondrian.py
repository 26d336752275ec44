"""Mondrian's plans, applied again: a row gets its class's labels, which must cover its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import StepPlan
from discreet.check.replay.generalization import in_group
from discreet.draws import Draws
from discreet.table import kind_of, numbers
from discreet.table.classes import classes_of

EVERYTHING = "*"
_OTHER_TUPLES = "the plan's tuples are not those of the rows, each once"


def mondrian(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the released columns, and count the records of classes.

    Raise ValueError where a label does not cover a value.
    """
    joint = step["joint"]
    read = {name: _read(columns, name) for name in step["columns"]}
    n = len(next(iter(read.values()))[1])
    classes = _classes(step, columns, read)
    if len(classes) != n:
        raise ValueError(f"{len(classes):,} rows have a class, but there are {n:,}")
    sizes = np.asarray(joint["sizes"], dtype=np.int64)
    columns.count(step, "classes", records=np.bincount(classes[classes >= 0], minlength=len(sizes)))
    released = {}
    for name, (values, null) in read.items():
        named = joint["labels"][name]
        label = np.asarray(named["label"], dtype=np.int64)
        texts = np.append(np.asarray(named["labels"], dtype=object), [EVERYTHING, None])
        if len(label) != len(sizes) or label.min(initial=0) < -1 or label.max() >= len(texts) - 2:
            raise ValueError(f"column '{name}': some class has no label")
        # -1, a class of nulls, has the last text; a suppressed record, the one before.
        of_row = np.where(classes >= 0, label[classes], len(texts) - 2)
        if joint["null_policy"] == "match":
            of_row[null] = -1
        problem = _uncovered(values, null, named, of_row, texts)
        if problem is not None:
            row = problem if columns.rows is None else columns.rows[problem]
            raise ValueError(
                f"column '{name}', row {row + 1}: the label {texts[of_row[problem]]} does not "
                f"cover {columns.arrow(name)[problem].as_py()}"
            )
        place = pa.array(np.where(of_row < 0, len(texts) - 1, of_row))
        released[name] = pa.chunked_array([pa.array(texts, pa.string()).take(place)])
    _suppress(joint, columns, classes < 0, {name: null for name, (_, null) in read.items()})
    return released


def verify_mondrian(step: StepPlan, tally: dict[tuple[Any, ...], Any]) -> None:
    """Raise ValueError where classes do not have the sizes that the plan gives."""
    if ("tuples",) in tally and not tally["tuples",].all():
        raise ValueError(_OTHER_TUPLES)
    if not np.array_equal(tally["classes",], step["joint"]["sizes"]):
        raise ValueError("the classes do not have the sizes that the plan gives")


def _suppress(
    joint: dict[str, Any], columns: Any, suppressed: np.ndarray, null: dict[str, np.ndarray]
) -> None:
    """Tell which records are suppressed; of a group that may not stay, all are left out."""
    left_out = np.zeros(len(suppressed), dtype=bool)
    for group in joint["groups"] if suppressed.any() else ():
        if group.get("left_out"):
            left_out |= suppressed & in_group(group, null)
    columns.suppress(suppressed, left_out)


def _classes(step: StepPlan, columns: Any, read: dict[str, tuple[Any, np.ndarray]]) -> np.ndarray:
    """Return the class of each row: the plan has it by row, or else by tuple of values."""
    joint = step["joint"]
    if "classes" in joint:
        of_row = np.asarray(joint["classes"], dtype=np.int64)
        return of_row if columns.rows is None else of_row[columns.rows]
    tuples = joint["tuples"]
    classes = np.asarray(tuples["classes"], dtype=np.int64)
    both, sizes = [], []
    for name, (values, null) in read.items():
        held = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        known = pa.array(tuples["values"][name], held.type)
        place = pc.fill_null(pc.index_in(held, value_set=known), -1).to_numpy()
        unknown = (place < 0) & ~null
        if unknown.any():
            value = held[int(np.argmax(unknown))].as_py()
            raise ValueError(f"column '{name}' holds '{value}', which the plan does not know")
        of_tuple = np.asarray(tuples["codes"][name], dtype=np.int64)
        if len(of_tuple) != len(classes) or of_tuple.max(initial=-1) >= len(known):
            raise ValueError(f"column '{name}': the plan's tuples are not what its values say")
        # Tuples of the plan and rows are numbered together.
        both.append(np.concatenate([of_tuple, np.where(null, -1, place)]))
        sizes.append(len(known))
    number, count = classes_of(np.array(both), np.array(sizes, dtype=np.int64))
    known_tuples, rows = number[: len(classes)], number[len(classes) :]
    class_of = np.full(count, -1)
    class_of[known_tuples] = classes
    if (np.bincount(known_tuples, minlength=count) != 1).any():
        raise ValueError(_OTHER_TUPLES)
    columns.count(step, "tuples", records=np.bincount(rows, minlength=count)[known_tuples])
    return class_of[rows]


def _read(columns: Any, name: str) -> tuple[Any, np.ndarray]:
    """Return a column's numbers, or else its texts, and where it is null."""
    column = columns.arrow(name)
    if kind_of(column.type) == "numeric":
        # In units of the whole column, of which a piece may have coarser ones.
        values = numbers(column, name).values if columns.rows is None else columns[name]
        return values + 0.0, np.isnan(values)
    kind = column.type
    plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    if pa.types.is_floating(plain.type):
        # NaN is a null, and -0.0 is 0.0.
        plain = pc.if_else(pc.is_nan(plain), pa.scalar(None, plain.type), plain)
        plain = pc.add(plain, pa.scalar(0.0, plain.type))
    return plain.cast(pa.string()), plain.is_null().to_numpy()


def _uncovered(
    values: Any, null: np.ndarray, named: dict[str, Any], label: np.ndarray, texts: np.ndarray
) -> int | None:
    """Find the first row whose label does not cover its value."""
    everything = (texts == EVERYTHING)[label]
    good = everything | ((label == -1) & null)
    (rows,) = np.nonzero(~everything & (label >= 0) & ~null)
    if "lower" in named:
        lower, upper = np.asarray(named["lower"]), np.asarray(named["upper"])
        good[rows] = (lower[label[rows]] <= values[rows]) & (values[rows] <= upper[label[rows]])
    else:
        numeric = isinstance(values, np.ndarray)
        held = pa.array(values[rows]) if numeric else values.take(pa.array(rows))
        good[rows] = _is_member(named, label[rows], held)
    return None if good.all() else int(np.argmin(good))


def _is_member(named: dict[str, Any], label: np.ndarray, values: Any) -> np.ndarray:
    """Tell whether each value is in the set that its label stands for."""
    leaves = pa.array(named["leaves"], values.type)
    distinct = leaves.unique()
    # A leaf that no row has may look like another, so leaves are told apart by value.
    of_leaf = pc.index_in(leaves, value_set=distinct).to_numpy()
    ends = np.asarray(named["ends"], dtype=np.int64)
    members = np.asarray(named["members"], dtype=np.int64)
    set_of_member = np.searchsorted(ends, np.arange(len(members)), side="right")
    known = set_of_member * len(leaves) + of_leaf[members]
    found = pc.fill_null(pc.index_in(values, value_set=distinct), -1).to_numpy()
    return (found >= 0) & np.isin(label * len(leaves) + found, known)
