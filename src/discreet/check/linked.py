"""Rows that a release shows to belong together: whether enough units share what may be known.

A unit's items are its distinct tuples in a step's columns, as released; a row of nothing but stars
tells nothing and is none. Every combination of at most m of a unit's items must be found among
those of k units, or, if all may be known, its whole set must be that of k units. Where the step
names l distinct values of a confidential column, the rows by which these units hold the combination
must have so many together. All combinations are listed and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.findings import Finding, finding
from discreet.check.population import class_size
from discreet.check.shown import Shown, all_null
from discreet.recipe.recipe import Recipe, Step
from discreet.table.classes import classes_of, encode, encode_columns, in_order, renumber

# Combinations that are looked at, at some 50 bytes each.
_MOST = 100_000_000


def linked_rows(shown: Shown, recipe: Recipe) -> list[Finding]:
    """Verify that k units share what may be known of a unit's rows, where rows are linked."""
    steps = [step for step in recipe.steps if step.promise and step.parameters().get("privacy")]
    if recipe.linked is None or not steps:
        return []
    return [found for step in steps for found in _of_step(shown, recipe, step)]


def _of_step(shown: Shown, recipe: Recipe, step: Step) -> Iterator[Finding]:
    unit, m, models = str(recipe.linked), recipe.known_rows, step.parameters()["privacy"]
    some = "the set of all rows" if m is None else f"every combination of at most {m} rows"
    over = f"over {', '.join(step.columns)}"
    k = max([class_size(model, None) for model in models], default=1)
    promises = [(f"{some} of one '{unit}' is shared by k = {k} of them, {over}", k, "", 0)]
    for model in models:
        if model.model == "l-diversity" and model.kind == "distinct":
            said = f"{some} of one '{unit}' has l = {model.l} values of '{model.column}'"
            promises.append((f"{said} in those that share it, {over}", 1, model.column, model.l))
    for said, least, column, values in promises:
        missing = {unit, *step.columns, *filter(None, [column])} - set(shown.column_names)
        if missing:
            yield Finding(said, "broken", f"column '{min(missing)}' is missing")
        else:
            yield _judge(said, _Held.of(shown, unit, step.columns, column), m, least, values)


@dataclass(frozen=True)
class _Held:
    """The items of units, unit after unit and in ascending order, and the values with each."""

    unit: np.ndarray
    item: np.ndarray
    # Distinct values: those of entry i are between `starts[i]` and `starts[i + 1]`.
    starts: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, shown: Shown, unit: str, columns: Sequence[str], confidential: str) -> _Held:
        """List what is shown of units; a row without a unit is one by itself."""
        named = dict.fromkeys([unit, *columns, *filter(None, [confidential])])
        table, records = shown.frame.counts(list(named))
        # Rows of nulls that stand for records which are left out are not shown.
        records = records - shown.empty * all_null(table)
        alone = table[unit].is_null(nan_is_null=True).to_numpy()
        rows = np.repeat(np.arange(len(records)), np.where(alone, records, 1))
        rows = rows[~_all_stars(table, columns)[rows]]
        codes, size = encode(table[unit], unit)
        units = np.where(alone[rows], size + np.arange(len(rows)), codes[rows])
        codes, sizes = encode_columns(table, columns)
        items, _ = classes_of(codes[:, rows], sizes)
        of_entry, item = _distinct(units, items)
        if not confidential:
            return cls(of_entry, item, np.zeros(1, np.int64), np.empty(0, np.int64))
        size = int(items.max(initial=0)) + 1
        entry = np.searchsorted(of_entry * size + item, units * size + items)
        values, _ = encode(table[confidential], confidential)
        there = values[rows] >= 0
        entry, value = _distinct(entry[there], values[rows][there])
        return cls(of_entry, item, np.searchsorted(entry, np.arange(len(item) + 1)), value)

    def known(self, m: int | None) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """List what may be known of each unit: 1, 2, ... m items, or its whole set.

        Gives the number of units that hold each combination; and for each unit's combinations the
        combination's number and an entry by which the unit holds it.
        """
        last = np.searchsorted(self.unit, self.unit, side="right")
        entries = np.arange(len(self.item)).reshape(-1, 1)
        if m is None:
            first = np.flatnonzero(np.diff(self.unit, prepend=-1))
            sets: dict[bytes, int] = {}
            number = [
                sets.setdefault(self.item[i:j].tobytes(), len(sets))
                for i, j in zip(first, last[first], strict=True)
            ]
            of_entry = np.repeat(np.array(number, np.int64), last[first] - first)
            yield np.bincount(number), of_entry, entries.ravel()
            return
        numbers, size = self.item, int(self.item.max(initial=-1)) + 1
        for length in range(1, m + 1):
            count = int(numbers.max(initial=-1)) + 1
            if length > 1:
                # Each combination goes on with every later item of its unit.
                after = last[entries[:, -1]] - entries[:, -1] - 1
                if after.sum() > _MOST:
                    raise MemoryError(f"there are more than {_MOST:,} combinations")
                step = np.arange(after.sum()) - np.repeat(np.cumsum(after) - after, after)
                following = np.repeat(entries[:, -1] + 1, after) + step
                entries = np.column_stack([np.repeat(entries, after, axis=0), following])
                longer = np.repeat(numbers, after) * size + self.item[following]
                numbers, _ = renumber(longer, max(1, count * size))
            yield np.bincount(numbers), np.repeat(numbers, length), entries.ravel()


def _all_stars(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Mask the rows that have a star in all of some columns."""
    stars = np.full(table.num_rows, True)
    for name in columns:
        text = table[name].cast(pa.string())
        stars &= pc.fill_null(pc.equal(text, "*"), False).to_numpy()
    return stars


def _distinct(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs of two numbers, in order."""
    size = int(other.max(initial=0)) + 1
    return np.divmod(in_order(one * size + other), size)


def _judge(said: str, held: _Held, m: int | None, k: int, l: int) -> Finding:  # noqa: E741
    """Count the units, or where l is given the values, of all that may be known."""
    fewest, rare, total = None, 0, 0
    try:
        for counts, numbers, entries in held.known(m):
            if l:
                many = held.starts[entries + 1] - held.starts[entries]
                step = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
                values = held.values[np.repeat(held.starts[entries], many) + step]
                held_by, _ = _distinct(np.repeat(numbers, many), values)
                counts = np.bincount(held_by, minlength=len(counts))
            if len(counts):
                fewest = min(counts.min(), counts.min() if fewest is None else fewest)
            rare, total = rare + int((counts < max(k, l)).sum()), total + len(counts)
    except MemoryError as error:
        return Finding(said, "not verifiable", str(error))
    what = f"the poorest with {fewest} values" if l else f"the rarest in {fewest}"
    good = f"{total:,} combinations" + (f", {what}" if total else "")
    return finding(said, f"{rare:,} of {good}" if rare else None, good)
