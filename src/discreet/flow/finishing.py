"""From treated rows to released ones: rare values blanked, types as they are shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines import Frame
from discreet.engines.frame import plain_type
from discreet.engines.memory import MemoryFrame
from discreet.errors import BadInput
from discreet.flow.applying import LEFT_OUT, SUPPRESSED, UNIT
from discreet.flow.deciding import Decided
from discreet.flow.refusals import looked_at
from discreet.recipe.recipe import Recipe
from discreet.table.cells import blank, differing, plain
from discreet.table.classes import classes_of, encode_columns
from discreet.table.csv import read_as
from discreet.table.labels import is_text, released_labels


@dataclass(frozen=True)
class Finish:
    """Makes what is released of treated rows; can be pickled."""

    schema: pa.Schema  # names, types and labels of the released columns
    # Tuples of some columns that too few records are left to hold, and that are blanked.
    rare: tuple[pa.Table, ...] = ()
    # Columns that steps made text of and left as they were, which are read as what they were; of
    # those of categories, these.
    unchanged: Mapping[str, pa.Array | None] = field(default_factory=dict)

    def __call__(self, piece: pa.Table, rows: np.ndarray) -> pa.Table:
        """Return a piece of the released table."""
        shown = self.columns(piece)
        return pa.table([shown[name] for name in self.schema.names], self.schema.names).cast(
            self.schema
        )

    def columns(self, piece: pa.Table) -> dict[str, pa.ChunkedArray]:
        """Return the columns of a piece with rare values blanked."""
        columns = {name: piece[name] for name in self.schema.names}
        for tuples in self.rare:
            found = _among(pa.table({n: plain(columns[n]) for n in tuples.column_names}), tuples)
            for name in tuples.column_names:
                columns[name] = blank(columns[name], found)
        for name, categories in self.unchanged.items():
            columns[name] = _read_again(columns[name], self.schema.field(name).type, categories)
        return columns

    def kept(self, piece: pa.Table, rows: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Return what is released of a piece without the records that are left out."""
        there = ~piece[LEFT_OUT].to_numpy()
        return self(piece, rows).filter(pa.array(there)), rows[there]

    def changes(
        self, names: Sequence[str], before: pa.Table, rows: Any, there: Any, after: pa.Table
    ) -> dict[str, int]:
        """Count the cells of some columns that differ from the original's."""
        shown = self(after, rows)
        return {name: differing(before[name], shown[name]) for name in names}

    def emptied(
        self, names: Sequence[str], before: pa.Table, rows: Any, there: Any, after: pa.Table
    ) -> dict[str, int]:
        """Count the same of columns that no step treats: only suppressed records that stay differ.

        Records that are left out are in no file, so that no cell of theirs differs.
        """
        stay = pa.array(~after[LEFT_OUT].to_numpy())
        return self.changes(names, before.filter(stay), rows, there, after.filter(stay))


def _among(rows: pa.Table, tuples: pa.Table) -> np.ndarray:
    """Mask the rows that are one of some tuples."""
    if rows.num_columns == 1:
        found = pc.is_in(rows.column(0), value_set=tuples.column(0).combine_chunks())
        return pc.and_(found, rows.column(0).is_valid()).to_numpy()
    both = pa.concat_tables([tuples, rows.cast(tuples.schema)])
    numbers, count = classes_of(*encode_columns(both, both.column_names))
    wanted = np.zeros(count, dtype=bool)
    wanted[numbers[: len(tuples)]] = True
    return wanted[numbers[len(tuples) :]]


def _read_again(
    text: pa.ChunkedArray, kind: pa.DataType, categories: pa.Array | None
) -> pa.ChunkedArray:
    """Read text as the type that it had; categories are numbered by their place."""
    if categories is None:
        return read_as(text, kind)
    place = pc.index_in(read_as(text, kind.value_type), value_set=categories)
    codes = place.combine_chunks().cast(kind.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, categories, None, kind.ordered)])


def finish(decided: Decided, original: Frame, treated: Frame) -> Finish:
    """Settle what is blanked for want of records, and what types are released.

    Notes in plan and log how many records and cells that concerns.
    """
    unchanged = _unchanged(decided, original, treated)
    shown = [treated.schema.field(name) for name in decided.shown]
    schema = pa.schema([unchanged.get(one.name, one) for one in shown])
    categories = _categories(unchanged, original, treated)
    made = Finish(schema, _rare_after_suppression(decided, original, treated), categories)
    return replace(made, schema=_public(decided, original, treated, made))


# Suppression


def _nothing_left(decided: Decided) -> str:
    for number, step in enumerate(decided.plan["steps"], start=1):
        if step.get("joint", {}).get("kind") == "safepub":
            return (
                f"all records would be suppressed: no class has the k = {step['joint']['k']} "
                f"sampled records that step {number} (safepub) needs; take coarser levels, "
                "fewer columns, or another epsilon or delta"
            )
    return "all records would be suppressed; weaken what the steps must keep"


def _rare_after_suppression(
    decided: Decided, original: Frame, treated: Frame
) -> tuple[pa.Table, ...]:
    """Note what is suppressed, and return the tuples that are blanked for it."""
    states, numbers = treated.counts([SUPPRESSED, LEFT_OUT])
    suppressed = int(numbers[states[SUPPRESSED].to_numpy()].sum())
    gone = int(numbers[states[LEFT_OUT].to_numpy()].sum())
    if not suppressed:
        return ()
    if gone == original.num_rows:
        raise BadInput(_nothing_left(decided))
    rare = []
    hidden = decided.blanked()
    blanked = dict.fromkeys(hidden, suppressed - gone)
    for tuples, cells in _rare(decided, treated, hidden):
        rare.append(tuples)
        for name in tuples.column_names:
            blanked[name] = blanked.get(name, 0) + cells
    blanked = {name: cells for name, cells in blanked.items() if cells}
    told = {"records": suppressed, "left_out": gone}
    decided.plan["suppressed"] = told | {"blanked": blanked}
    decided.log["suppressed"] = told | {"blanked_cells": blanked}
    return tuple(rare)


def _rare(
    decided: Decided, treated: Frame, hidden: Sequence[str]
) -> Iterator[tuple[pa.Table, int]]:
    """Find the values of rounded columns, and the tuples of microaggregated ones, under k.

    Rounding promised k records per value, microaggregation per tuple; suppression of records may
    have taken some of them away.
    """
    for entry, step in zip(decided.plan["steps"], decided.recipe.steps, strict=True):
        promise = step.build().promise
        if not step.promise or promise not in ("k-per-value", "k-per-tuple"):
            continue
        by_value = promise == "k-per-value"
        for names in [[name] for name in step.columns] if by_value else [step.columns]:
            k = step.least_records(names[0], entry["columns"][names[0]])
            tuples, records, counts = _shown(treated, names, bool(set(names) & set(hidden)))
            few = counts < k
            if by_value:
                few &= tuples.column(0).is_valid().to_numpy()
            if few.any():
                yield tuples.filter(pa.array(few)), int(records[few].sum())


def _shown(
    treated: Frame, names: Sequence[str], hidden: bool
) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Count the records that still show each tuple, and what k counts among them."""
    mark = SUPPRESSED if hidden else LEFT_OUT
    tuples, records = treated.counts([*names, mark])
    held = records
    if UNIT in treated.schema.names:
        held = treated.counts([*names, mark], of=UNIT)[1]
    there = ~tuples[mark].to_numpy()
    return tuples.filter(pa.array(there)).select(list(names)), records[there], held[there]


# Types


def _unchanged(decided: Decided, original: Frame, treated: Frame) -> dict[str, pa.Field]:
    """Find the columns that steps made text of though every cell says what it said before.

    So does a column that generalization leaves at level 0. Returns them as they were, by name.
    """
    coarser = {
        name
        for step in decided.plan["steps"]
        for name, plan in step["columns"].items()
        if any(plan.get("levels", ()))
    }
    before, after = original.schema, treated.schema
    names = tuple(
        name
        for name in decided.released
        if name not in coarser | decided.recipe.roles.renamed
        and before.field(name).type != after.field(name).type
        and pa.types.is_string(after.field(name).type)
        and not _is_plain_text(before.field(name).type)
    )
    if not names:
        return {}
    same = original.fold_pairs(treated, partial(_same, names), _both, names, names)
    return {name: pa.field(name, _own_type(before.field(name).type, treated)) for name in same}


def _is_plain_text(kind: pa.DataType) -> bool:
    return is_text(kind) and not pa.types.is_dictionary(kind)


def _own_type(kind: pa.DataType, treated: Frame) -> pa.DataType:
    if not pa.types.is_dictionary(kind) or not isinstance(treated, MemoryFrame):
        return plain_type(kind)
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)


def _same(
    names: Sequence[str], before: pa.Table, rows: Any, there: np.ndarray, after: pa.Table
) -> tuple[str, ...]:
    """Name the columns of text that is what was there before, but for cells that are blank."""
    found = []
    for name in names:
        was = plain(before[name])
        was = was if there.all() else was.filter(pa.array(there))
        try:
            now = read_as(after[name], was.type)
        except pa.ArrowException:
            continue
        same = pc.or_(now.is_null(), pc.fill_null(pc.equal(was, now), False))
        if pc.all(same).as_py() is not False:
            found.append(name)
    return tuple(found)


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in one if name in other)


def _categories(
    unchanged: Mapping[str, pa.Field], original: Frame, treated: Frame
) -> dict[str, pa.Array | None]:
    """Return the categories that are still there, in their order if that means something."""
    found: dict[str, pa.Array | None] = dict.fromkeys(unchanged)
    for name, own in unchanged.items():
        if not pa.types.is_dictionary(own.type):
            continue
        assert isinstance(original, MemoryFrame)
        assert isinstance(treated, MemoryFrame)
        used = pc.unique(read_as(treated.table[name], own.type.value_type).drop_null())
        known = used.take(pc.sort_indices(used))
        if own.type.ordered:
            known = original.table[name].unify_dictionaries().chunk(0).dictionary
            known = known.filter(pc.is_in(known, value_set=used))
        found[name] = known
    return found


def _public(decided: Decided, original: Frame, treated: Frame, made: Finish) -> pa.Schema:
    """Return the types that are released: those of the input, or wider decimals if need be.

    In memory, categories stay such, and labels that may be shared stay with their columns.
    """
    if isinstance(treated, MemoryFrame):
        assert isinstance(original, MemoryFrame)
        gone = np.flatnonzero(treated.table[LEFT_OUT].to_numpy())
        shown = pa.table(made.columns(treated.table))
        known = shown.select(decided.released)
        looked_at = seen(decided.recipe)
        labelled = released_labels(original.table, known, looked_at, gone, made.unchanged).schema
        return pa.schema([*labelled, *(shown.schema.field(name) for name in decided.recipe.added)])
    fields = []
    for name in decided.released:
        kind, own = made.schema.field(name).type, original.schema.field(name).type
        if pa.types.is_decimal(kind) and name not in made.unchanged:
            digits = treated.fold(partial(_digits, name), max, [name])
            kind = pa.decimal128(max(own.precision, digits), own.scale)
        fields.append(pa.field(name, plain_type(kind)))
    return pa.schema(fields)


def seen(recipe: Recipe) -> set[str]:
    """Name the columns that steps treat or read, and those that are renamed."""
    return {c for step in recipe.steps for c in looked_at(step)} | recipe.roles.renamed


def _digits(name: str, piece: pa.Table, rows: np.ndarray) -> int:
    """Count the digits that a column of decimals needs."""
    largest = pc.max(pc.abs(piece[name])).as_py()
    return 0 if largest is None else len(str(int(largest.scaleb(piece[name].type.scale))))


def count_changes(decided: Decided, original: Frame, treated: Frame, finish: Finish) -> None:
    """Put into the log how many cells of each column differ from the original's.

    Steps change them, and suppression empties columns that no step treats.
    """
    touched = decided.applying.touched
    blanked = decided.log.get("suppressed", {}).get("blanked_cells", {})
    taken = [name for name in decided.released if name in touched]
    others = [name for name in blanked if name not in touched | decided.recipe.roles.renamed]
    for names, count in ((taken, finish.changes), (others, finish.emptied)):
        if names:
            changed = original.fold_pairs(treated, partial(count, tuple(names)), _sum, names)
            decided.log["changed_cells"] |= changed
    for name in decided.recipe.roles.renamed & set(decided.released):
        nulls = decided.log["nulls"]["cells"][name]
        decided.log["changed_cells"][name] = original.num_rows - nulls
    for entry, step in zip(decided.log["steps"], decided.recipe.steps, strict=True):
        # Of blanks it is known which are the step's own, and not an earlier one's.
        own = entry.get("blanked") or decided.log["changed_cells"]
        entry["changed_cells"] = {c: own[c] for c in step.columns}


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one[name] + other[name] for name in one}
