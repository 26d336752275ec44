"""Local suppression's plans, applied again: which records of which tuples get which blanks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import StepPlan
from discreet.draws import Draws
from discreet.table.cells import blank
from discreet.table.classes import classes_of
from discreet.table.classes import plain as valued

# The set of columns that stands for a record that is left out.
GONE = -1


def prepare_suppression(step: StepPlan) -> StepPlan:
    """Return the plan with its texts as Arrow has them."""
    tuples = {
        name: one | {"values": _texts(one["values"])}
        for name, one in step["joint"]["tuples"].items()
    }
    return step | {"joint": step["joint"] | {"tuples": tuples}}


def _texts(values: Any) -> pa.Array:
    # An empty list that was read again is one of numbers.
    return pa.array(list(values), pa.string())


def suppression(
    step: StepPlan, columns: Any, draws: Callable[[str], Draws]
) -> dict[str, pa.ChunkedArray]:
    """Return the released columns, and count the records that each entry of the plan changes."""
    names = list(step["columns"])
    cells = {name: columns.arrow(name) for name in names}
    columns.before[step["step"]] = cells
    whole, some = (_entries(step, part) for part in ("whole", "some"))
    if np.isin(some["tuples"], whole["tuples"]).any():
        raise ValueError("the plan lists a tuple as a whole and in parts")
    tuples = _tuples(step["joint"]["tuples"], cells)
    # The entry of each row, one past the last where there is none.
    as_whole = _found(whole["tuples"], tuples)
    (rows,) = np.nonzero(np.isin(tuples, some["tuples"]))
    in_part = np.full(len(tuples), len(some["tuples"]))
    in_part[rows] = _drawn(some, tuples[rows], draws(names[0]).words(rows))
    masks = np.append(whole["blanked"], 0)[as_whole] | np.append(some["blanked"], 0)[in_part]
    for part, found in (("whole", as_whole), ("some", in_part)):
        n = len(step["joint"][part]["tuples"])
        columns.count(step, part, records=np.bincount(found, minlength=n + 1)[:n])
    gone, new, blanked = masks == GONE, {}, []
    for place, (name, column) in enumerate(cells.items()):
        hidden = (masks >> place) & 1 == 1
        new[name] = blank(column, hidden)
        blanked.append(int((valued(column).is_valid().to_numpy() & hidden & ~gone).sum()))
    columns.count(step, "blanked", records=np.array(blanked))
    columns.suppress(gone, gone)
    return new


def verify_suppression(step: StepPlan, tally: dict[tuple[Any, ...], Any]) -> None:
    """Raise ValueError where other numbers of records, or of cells, are changed than planned."""
    for part in ("whole", "some"):
        if not np.array_equal(tally[part,], step["joint"][part]["records"]):
            raise ValueError("the blanked tuples do not have as many records as the plan gives")
    for (name, plan), found in zip(step["columns"].items(), tally["blanked",], strict=True):
        if found != plan["blanked"]:
            raise ValueError(
                f"the plan says that it blanks {plan['blanked']:,} cells of column '{name}', but "
                f"its tuples have {found:,}"
            )


def _entries(step: StepPlan, part: str) -> dict[str, np.ndarray]:
    """Return the entries of a part of the plan; what is no set of the step's columns is refused."""
    found = {
        key: np.asarray(numbers).astype(np.uint64 if key == "words" else np.int64)
        for key, numbers in step["joint"][part].items()
    }
    masks = found["blanked"]
    if ((masks < GONE) | (masks == 0) | (masks >= 1 << len(step["columns"]))).any():
        raise ValueError("the plan blanks what is no set of the step's columns")
    if len({len(numbers) for numbers in found.values()}) > 1:
        raise ValueError("the plan's lists of tuples and blanks are not of one length")
    return found


def _tuples(known: Mapping[str, Any], cells: Mapping[str, pa.ChunkedArray]) -> np.ndarray:
    """Return the plan's tuple of each row, -1 where it has none."""
    both, sizes = [], []
    for name, column in cells.items():
        values, codes = known[name]["values"], np.asarray(known[name]["codes"]).astype(np.int64)
        values = values if isinstance(values, pa.Array) else _texts(values)
        if codes.max(initial=-1) >= len(values) or codes.min(initial=-1) < -1:
            raise ValueError(f"column '{name}': the plan's tuples are not what its values say")
        # Each distinct value is looked for once. What the plan does not have is one more value.
        encoded = valued(column).combine_chunks().dictionary_encode()
        place = pc.index_in(encoded.dictionary.cast(pa.string()), value_set=values)
        place = np.append(place.fill_null(len(values)).to_numpy(), -1)
        of_row = place[encoded.indices.fill_null(len(place) - 1).to_numpy()]
        both.append(np.concatenate([codes, of_row]))
        sizes.append(len(values) + 1)
    n = len(both[0]) - len(of_row)
    number, count = classes_of(np.array(both), np.array(sizes))
    if np.bincount(number[:n], minlength=1).max() > 1:
        raise ValueError("the plan lists a tuple twice")
    tuples = np.full(count, -1)
    tuples[number[:n]] = np.arange(n)
    return tuples[number[n:]]


def _found(listed: np.ndarray, tuples: np.ndarray) -> np.ndarray:
    """Return the place of each row's tuple on a list, one past its end where it is not there."""
    place = np.full(max(listed.max(initial=-1), tuples.max(initial=-1)) + 2, len(listed))
    place[listed] = np.arange(len(listed))
    if len(np.unique(listed)) < len(listed) or listed.min(initial=0) < 0:
        raise ValueError("the plan blanks a tuple twice")
    return place[tuples]


def _drawn(some: dict[str, np.ndarray], tuples: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the entry that has each row's tuple and word, one past the last where none does."""
    known, rank = np.unique(some["words"], return_inverse=True)
    keys = some["tuples"] * len(known) + rank
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) == 0).any():
        raise ValueError("the plan blanks a record twice")
    found = np.full(len(tuples), len(keys))
    (listed,) = np.nonzero(np.isin(words, known))
    mine = tuples[listed] * len(known) + np.searchsorted(known, words[listed])
    place = order[np.minimum(np.searchsorted(keys[order], mine), len(keys) - 1)]
    found[listed] = np.where(keys[place] == mine, place, len(keys))
    return found
