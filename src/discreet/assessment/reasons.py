"""Why a release is at risk: the columns that drive it, and what singles out its riskiest records.

The number of classes is the number of records that are found on average by guessing within each.
What a column adds to it depends on the columns that are known already, so that its share is its
Shapley value: the mean, over all orders of the columns, of the classes that it adds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.assessment.facts import Facts
from discreet.assessment.rows import Rows
from discreet.risk.frequency import Frequencies, frequencies
from discreet.risk.suda import suda2
from discreet.table.classes import classes_of, encode_columns, first_rows, in_order, renumber
from discreet.table.labels import labels_of

# Distinct tuples that all orders are tried on; of more, records are drawn.
MOST_TUPLES = 20_000
# Columns up to which all orders are tried; of more, so many of them, and their reverses.
MOST_EXACT, ORDERS = 8, 16
# Columns, and sets of them times records, up to which special uniques are looked for.
MOST_WITH_SUDA, MOST_FOR_SUDA = 8, 1_000_000
# Distinct tuples of a release, times its keys squared, up to which each key is left out.
MOST_WITHOUT = 100_000_000
# Columns up to which all sets of them are tried for one that singles out a record; of more, all
# sets of so many.
MOST_TRIED, MOST_TOGETHER = 12, 4
EXPLAINED = 10
_BITS = 62


# Which columns drive the risk


def drivers(t: Facts) -> list[dict[str, Any]]:
    """Return what each quasi column contributes to the risk before and after, the most first."""
    t.need_quasi()
    rows = t.drawn
    sides = _by_uniques(t, rows)
    by = "classes" if sides is None else "suda"
    sampled = rows.num_rows < t.num_rows
    used = rows.num_rows
    if sides is None:
        taken = [
            _tuples(side, found, t.quasi)
            for side, found in zip((rows.before, rows.after), rows.frequencies, strict=True)
        ]
        sides = [_shares(*encode_columns(table, t.quasi)) for table in taken]
        drawn = any(found.num_classes > MOST_TUPLES for found in rows.frequencies)
        used = MOST_TUPLES if drawn else used
    alone = [None] * len(t.quasi) if sampled else _unique_without(rows, t.quasi)
    found = [
        {"column": name, "before": before, "after": after, "unique_without": others, "by": by}
        for name, before, after, others in zip(t.quasi, *sides, alone, strict=True)
    ]
    found = [one | ({"sample": used} if used < t.num_rows else {}) for one in found]
    # In the order of the columns where they contribute the same.
    return sorted(found, key=lambda one: [-(one[side] or 0.0) for side in ("after", "before")])


def _by_uniques(t: Facts, rows: Rows) -> list[list[float | None]] | None:
    """Return the columns' shares of the scores of special uniques, where the release has any."""
    m = len(t.quasi)
    small = m <= MOST_WITH_SUDA and rows.num_rows << m <= MOST_FOR_SUDA
    if not small or rows.num_rows < t.num_rows or t.recipe.counted is not None:
        return None
    if (rows.frequencies[1].sample > 1).all():
        return None
    found = [suda2(side, t.quasi, detail=True).columns for side in (rows.before, rows.after)]
    return [_normalised([side[name] for name in t.quasi]) for side in found]


def _tuples(table: pa.Table, found: Frequencies, columns: list[str]) -> pa.Table:
    """Return the distinct tuples of some columns, or those of some records where they are many."""
    assert found.classes is not None
    n, count = table.num_rows, found.num_classes
    if count <= MOST_TUPLES:
        first = first_rows(found.classes, count)
    else:
        first = np.sort(np.random.default_rng(n).choice(n, MOST_TUPLES, replace=False))
    return table.select(columns).take(pa.array(first))


def _shares(codes: np.ndarray, sizes: np.ndarray) -> list[float | None]:
    """Return the share of each column in the number of classes, by its Shapley value."""
    return _normalised((_exact if len(codes) <= MOST_EXACT else _by_orders)(codes, sizes))


def _normalised(parts: Sequence[float]) -> list[float | None]:
    total = sum(parts)
    return [round(float(part / total), 6) if total > 0 else None for part in parts]


def _exact(codes: np.ndarray, sizes: np.ndarray) -> list[float]:
    """Return the Shapley values of all columns from the classes of all sets of them."""
    m, n = codes.shape
    known: dict[tuple[int, ...], tuple[np.ndarray, int]] = {(): (np.zeros(n, np.int64), 1)}
    worth: dict[tuple[int, ...], int] = {(): 1}
    for size in range(1, m + 1):
        known = {
            chosen: _finer(known[chosen[:-1]], codes[chosen[-1]], sizes[chosen[-1]])
            for chosen in combinations(range(m), size)
        }
        worth |= {chosen: count for chosen, (_, count) in known.items()}
    values = [0.0] * m
    for chosen, classes in worth.items():
        share = math.factorial(len(chosen) - 1) * math.factorial(m - len(chosen)) if chosen else 0
        for place, column in enumerate(chosen):
            added = classes - worth[chosen[:place] + chosen[place + 1 :]]
            values[column] += share / math.factorial(m) * added
    return values


def _by_orders(codes: np.ndarray, sizes: np.ndarray) -> list[float]:
    """Return the mean of the classes that each column adds, in some orders and their reverses."""
    m, n = codes.shape
    drawn = np.random.default_rng(m)
    added = np.zeros(m)
    for order in [drawn.permutation(m) for _ in range(ORDERS)]:
        for turned in (order, order[::-1]):
            classes: tuple[np.ndarray, int] = np.zeros(n, np.int64), 1
            for column in turned:
                finer = _finer(classes, codes[column], sizes[column])
                added[column] += finer[1] - classes[1]
                classes = finer
    return added.tolist()


def _finer(classes: tuple[np.ndarray, int], codes: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Split classes by one more column; those of one tuple each cannot be split."""
    ids, count = classes
    if count == len(ids):
        return classes
    return renumber(ids * (size + 1) + codes + 1, count * (int(size) + 1))


def _unique_without(rows: Rows, columns: list[str]) -> list[int] | list[None]:
    """Count the records of the release that are unique on all columns but one, for each.

    Not counted where it takes seconds: many keys of many tuples.
    """
    found = rows.frequencies[1]
    if (found.sample > 1).all():
        return [0] * len(columns)
    if found.num_classes * len(columns) ** 2 > MOST_WITHOUT:
        return [None] * len(columns)
    assert found.classes is not None
    first = first_rows(found.classes, found.num_classes)
    codes, sizes = encode_columns(rows.after.select(columns).take(pa.array(first)), columns)
    counts = np.bincount(found.classes)
    alone = []
    for place in range(len(columns)):
        others = [i for i in range(len(columns)) if i != place]
        ids, count = classes_of(codes[others], sizes[others])
        if found.units is None:
            alone.append(int((np.bincount(ids, counts, count) == 1).sum()))
        else:
            of_records = pa.table({"class": ids[found.classes]})
            merged = frequencies(of_records, ["class"], units=rows.units)
            alone.append(int(merged.total(merged.sample < 2)))
    return alone


# Why a record is at risk


def reasons(t: Facts, places: Sequence[int]) -> list[dict[str, Any]]:
    """Tell of some records what is released of them, and which columns already single them out."""
    after, found = t.drawn.after.select(t.quasi), t.drawn.frequencies[1]
    if not places or len(t.quasi) > _BITS:
        return [_values(t, after, i) for i in places]
    assert found.classes is not None
    rows = _distinct(found)
    codes, _ = encode_columns(after.take(pa.array(rows)), t.quasi)
    classes = found.classes[rows]
    units = None if found.units is None else found.units[rows]
    told: dict[int, dict[str, Any]] = {}
    for place in places:
        own = int(found.classes[place])
        if own not in told:
            one = codes[:, int(np.argmax(classes == own))]
            chosen, smallest = _singled_out(codes, one, units)
            columns, size = [t.quasi[i] for i in chosen], int(found.sample[place])
            told[own] = {"unique_on": columns if size == 1 else None}
            told[own] |= {"rarest": columns, "among": size}
            told[own] |= {} if units is None else {"counted": t.recipe.counted_as}
            # Found by leaving out columns one by one: none of them can go, others may be fewer.
            told[own] |= {} if smallest else {"smallest": False}
    return [_values(t, after, i) | told[int(found.classes[i])] for i in places]


def _values(t: Facts, after: pa.Table, place: int) -> dict[str, Any]:
    labels = {name: labels_of(t.before.schema.field(name)).values for name in after.column_names}
    return {
        "values": {
            name: _shown(after[name][int(place)].as_py(), labels[name])
            for name in after.column_names
        }
    }


def _shown(value: Any, labels: Mapping[Any, str]) -> Any:
    """Return a value as JSON has it, or what it means; what is not a number is null.

    Examples
    --------
    >>> _shown("2", {1.0: "male", 2.0: "female"}), _shown(2.0, {}), _shown("80-99", {1.0: "male"})
    ('female', 2, '80-99')
    """
    if value is None or isinstance(value, bool):
        return value
    if labels:
        # Codes that were recoded for some records are text.
        with suppress(ValueError, TypeError):
            return labels[value] if value in labels else labels.get(float(value), value)
    if isinstance(value, int | str):
        return value
    if isinstance(value, float):
        whole = math.isfinite(value) and value == int(value)
        return int(value) if whole else value if math.isfinite(value) else None
    return str(value)


def _distinct(found: Frequencies) -> np.ndarray:
    """Return a row of each class; of each class and unit where units are counted."""
    assert found.classes is not None
    if found.units is None:
        return first_rows(found.classes, found.num_classes)
    pairs = classes_of(
        np.array([found.classes, found.units]),
        np.array([found.num_classes, int(found.units.max(initial=0)) + 1]),
    )
    return first_rows(*pairs)


def _singled_out(
    codes: np.ndarray, own: np.ndarray, units: np.ndarray | None
) -> tuple[tuple[int, ...], bool]:
    """Find the smallest set of columns on which nobody else equals a record.

    Every other tuple differs from it in some columns, and the set must have one of these: of all
    tuples only the sets of columns that differ count, and of these only the smallest.
    """
    m = len(own)
    masks = np.zeros(codes.shape[1], np.int64)
    for column in range(m):
        masks |= (codes[column] != own[column]).astype(np.int64) << column
    others = masks > 0
    if units is not None:
        # Other rows of the same people do not hide them.
        others &= ~np.isin(units, units[~others])
    sets = _least(in_order(masks[others]))
    largest = m if m <= MOST_TRIED else MOST_TOGETHER
    for size in range(largest + 1):
        for chosen in combinations(range(m), size):
            bits = sum(1 << i for i in chosen)
            if all(bits & one for one in sets):
                return chosen, True
    left = list(range(m))
    for column in range(m):
        bits = sum(1 << i for i in left if i != column)
        if all(bits & one for one in sets):
            left.remove(column)
    return tuple(left), len(left) == largest + 1


def _least(masks: np.ndarray) -> list[int]:
    """Return the sets, as bits, that have no other one inside."""
    kept: list[int] = []
    masks = masks[np.argsort(np.bitwise_count(masks), kind="stable")]
    while len(masks):
        kept.append(int(masks[0]))
        masks = masks[masks & masks[0] != masks[0]]
    return kept
