"""What a release shows of its records, counted where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.check.evidence import Evidence
from discreet.check.findings import NEEDS_INTERNAL
from discreet.engines import Frame
from discreet.engines.frame import in_rows, plain_type
from discreet.recipe.recipe import Recipe
from discreet.table import float_values
from discreet.table.cells import plain
from discreet.table.summary import Tuples

NEEDS_MEMORY = "needs all rows in memory: check it with the engine memory"
# Columns beside those that are shown: the unit of a record, its group by what the original lacks,
# and whether it is to be judged; its weight, and whether it is left out.
UNIT, GROUP, JUDGED = "\0unit", "\0group", "\0judged"
WEIGHT, LEFT = "\0weight", "\0left"
# Promises about classes of records, for which some may be left out.
OF_CLASSES = ("privacy-models", "wildcard-k", "local-suppression")
_MOST_KEPT = 1 << 25

Ends = tuple[float, float] | None
RowNumbers = tuple[int, ...]
Counted = tuple[pa.Table, np.ndarray]


@dataclass(frozen=True)
class Units:
    """What is counted in place of records: the distinct values of a column."""

    column: str
    word: str  # units or households
    # Where the column is, by row number; without, it is the release's own, if that has it.
    original: Frame | None = None
    hidden: RowNumbers = ()  # rows of nulls that stand for records which are left out
    # Records of which the column does not say the unit. They count as none.
    unknown: int = 0

    def within(self, promised: Sequence[str], shown: Shown) -> Frame:
        """Put units beside what is shown of each record in the columns that promises are about."""
        names = [name for name in shown.column_names if name in promised]
        if self.original is not None:
            hidden = shown.hidden + self.hidden
            return beside(self.original, shown.frame, names, hidden, self.column)
        schema = _schema(shown.frame, names, shown.frame, self.column)
        empty = shown.empty > 0
        rows = np.array(shown.hidden, np.int64)
        function = partial(_own_units, names, self.column, rows, empty, schema)
        return shown.frame.map(function, schema)


@dataclass(frozen=True)
class Shown:
    """What a release shows: how many records, or units, hold each distinct tuple, when asked."""

    frame: Frame
    mapped: bool = False  # rows have the numbers of the original's rows
    complete: bool = False  # left-out records are there, as rows of nulls
    empty: int = 0  # rows of nulls alone, which are suppressed records and not shown
    suppression: bool | None = None  # of records; None where only the plan would tell
    hidden: RowNumbers = ()  # rows of the original that are not shown
    known: dict[tuple[Any, ...], Counted] = field(default_factory=dict)
    promised: tuple[str, ...] = ()  # columns that promises are about
    # Rows of the original that all steps do without, and that are none of the table's.
    excluded: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    units: Units | None = None
    at_most: bool = False  # records are counted, as the most units that there can be
    # By the rows that are not shown and the columns, how many records are unique.
    uniques: dict[tuple[Any, ...], int] = field(default_factory=dict)
    # Where the original is there, by the number of a step that blanks cells: its columns as they
    # were before it, and as they are with the weights of records.
    before: Mapping[int, Tuples] = field(default_factory=dict)
    weighed: Mapping[int, Tuples] = field(default_factory=dict)
    # By the number of a step that treats nulls apart and a column, the rows in which earlier steps
    # have made it null, or filled it.
    moved: Mapping[tuple[int, str], np.ndarray] = field(default_factory=dict)
    # Of a release in two tables, the number of each row's group.
    groups: pa.ChunkedArray | None = None
    # By the rows that are not shown, a frame with units beside.
    beside: dict[RowNumbers, Frame] = field(default_factory=dict)

    @classmethod
    def of(
        cls, frame: Frame, recipe: Recipe, evidence: Evidence | None, path: Path | None
    ) -> Shown:
        """Show a table; a file does not hold the records that are left out."""
        methods = [step.build() for step in recipe.steps]
        promised = (*recipe.treated, *(name for method in methods for name in method.reads))
        if evidence is None:
            unclear = set(OF_CLASSES) & {method.promise for method in methods}
            suppression = None if unclear else False
            empty = _empty_rows(frame)
            return cls(frame, empty=empty, suppression=suppression, promised=promised)
        gone = evidence.suppressed
        rows = evidence.log["input"]["rows"] - len(evidence.excluded)
        complete = path is None and gone["left_out"] > 0 and frame.num_rows == rows
        return cls(
            frame,
            complete or evidence.row_map is None or evidence.mapped == frame.num_rows,
            complete,
            # A row of values where there should be nulls is shown, and counted.
            min(gone["left_out"], _empty_rows(frame)) if complete else 0,
            gone["records"] > 0,
            promised=promised,
            excluded=evidence.excluded,
        )

    def counting(
        self, recipe: Recipe, original: Frame | None, left_out: np.ndarray | None
    ) -> Shown:
        """Count what the recipe counts: units by the original, if it has the rows, or by the table.

        Of the rows of the original, some are left out; None where rows cannot be found in it.
        """
        column, word = recipe.counted, recipe.counted_as
        if column is None:
            return self
        if original is not None and left_out is not None and column in original.schema.names:
            return replace(self, units=Units(column, word, original, tuple(left_out.tolist())))
        unknown = self.num_rows
        if column in self.column_names:
            unknown = self.frame.nulls(column) - self.empty
        return replace(self, units=Units(column, word, unknown=unknown))

    @property
    def column_names(self) -> list[str]:
        """The released columns."""
        return self.frame.schema.names

    @property
    def num_rows(self) -> int:
        """The number of records."""
        return self.frame.num_rows - self.empty - len(self.hidden)

    @property
    def needs(self) -> str | None:
        """What it would take to look at each record beside its original, if anything."""
        if not self.frame.whole:
            return NEEDS_MEMORY
        return None if self.mapped else NEEDS_INTERNAL

    @property
    def exact(self) -> bool:
        """False where units are counted that some records do not tell."""
        return self.units is None or not self.units.unknown

    @property
    def tells_units(self) -> bool:
        """Whether units are counted, and the records of each are known."""
        if self.units is None or self.at_most:
            return False
        return self.units.original is not None or self.units.column in self.column_names

    @property
    def of_what(self) -> str:
        """What a promise counts, to follow its number: nothing where it is records."""
        return "" if self.units is None else f" {self.units.word}"

    @property
    def noun(self) -> str:
        """What is counted."""
        return "records" if self.units is None or self.at_most else self.units.word

    @property
    def records(self) -> Shown:
        """The same, counted by records."""
        return replace(self, units=None)

    def without(self, rows: Any) -> Shown:
        """Leave out some rows of the original, where it is known which they are."""
        return replace(self, hidden=tuple(int(row) for row in rows)) if self.mapped else self

    def over(self, columns: Sequence[str]) -> Counted:
        """Count the records, or units, of distinct tuples."""
        if not columns:
            raise ValueError("none of its columns is there")
        if self.units is not None and not self.at_most:
            return self._units_over(self.units, columns)
        if self.hidden:
            table, counts = self.frame.counts_without(columns, np.array(self.hidden))
        else:
            table, counts = self._counts(tuple(columns))
        if self.empty:
            counts = counts - self.empty * all_null(table)
            table, counts = table.filter(pa.array(counts > 0)), counts[counts > 0]
        return table, counts

    def _units_over(self, units: Units, columns: Sequence[str]) -> Counted:
        if not self.tells_units:
            table, counts = self.records.over(columns)
            return table, np.zeros_like(counts)
        if self.hidden not in self.beside:
            self.beside[self.hidden] = units.within(self.promised, self)
        made = self.beside[self.hidden]
        return self._once((UNIT, self.hidden, *columns), partial(judged, made, columns, UNIT))

    def _counts(self, columns: tuple[str, ...]) -> Counted:
        return self._once(columns, partial(self.frame.counts, columns, by_value=True))

    def _once(self, key: tuple[Any, ...], count: Callable[[], Counted]) -> Counted:
        """Count distinct tuples, once where they are not too many to be kept."""
        if key in self.known:
            return self.known[key]
        found = count()
        if sum(len(counts) for _, counts in self.known.values()) + len(found[1]) < _MOST_KEPT:
            self.known[key] = found
        return found

    def values(self, name: str) -> tuple[pa.ChunkedArray, np.ndarray, int]:
        """Return the distinct values of a column, their counts, and the number of nulls."""
        table, counts = self.over([name])
        there = table[name].is_valid().to_numpy()
        return table[name].filter(pa.array(there)), counts[there], int(counts[~there].sum())

    def ends(self, name: str) -> Ends:
        """Return a column's smallest and largest number; None where it holds nulls alone."""
        return self.frame.fold(partial(_ends, name), _wider, [name])

    def unique(self, columns: Sequence[str]) -> int:
        """Count the records that no other shares some columns with."""
        key = (self.hidden, *columns)
        if key not in self.uniques:
            whole = not self.empty and not self.hidden
            self.uniques[key] = (
                self.frame.unique_rows(columns)
                if whole
                else int((self.records.over(columns)[1] == 1).sum())
            )
        return self.uniques[key]

    def remove(self) -> None:
        """Remove what was stored to count units."""
        for frame in self.beside.values():
            frame.remove()


# Records beside their units


def beside(
    original: Frame,
    released: Frame,
    columns: Sequence[str],
    hidden: RowNumbers,
    unit: str | None,
    group: Callable[[pa.Table, np.ndarray], np.ndarray] | None = None,
    looked_at: Sequence[str] = (),
) -> Frame:
    """Put units beside what is shown of records, and whether each is to be judged.

    And groups where there are any, which go by some columns of the original.
    """
    schema = _schema(released, columns, original, unit, group is not None)
    # An array, since rows that are left out may be millions, and every piece looks at them.
    function = partial(_beside, unit, group, np.array(hidden, np.int64), schema)
    taken = [name for name in original.schema.names if name in looked_at or name == unit]
    return original.map_pairs(released, function, schema, taken, columns)


def judged(frame: Frame, columns: Sequence[str], unit: str | None) -> Counted:
    """Count tuples among the rows that are to be judged."""
    tuples, counts = frame.counts([*columns, JUDGED], by_value=True, of=unit)
    kept = tuples[JUDGED].to_numpy()
    return tuples.filter(pa.array(kept)).drop_columns([JUDGED]), counts[kept]


def _schema(
    shown: Frame, columns: Sequence[str], owner: Frame, unit: str | None, groups: bool = False
) -> pa.Schema:
    fields = [(name, plain_type(shown.schema.field(name).type)) for name in columns]
    fields += [(GROUP, pa.int64())] if groups else []
    fields += [] if unit is None else [(UNIT, plain_type(owner.schema.field(unit).type))]
    return pa.schema([*fields, (JUDGED, pa.bool_())])


def _beside(
    unit: str | None,
    group: Callable[[pa.Table, np.ndarray], np.ndarray] | None,
    hidden: np.ndarray,
    schema: pa.Schema,
    before: pa.Table,
    rows: np.ndarray,
    there: np.ndarray,
    after: pa.Table,
) -> pa.Table:
    cells = after.columns if there.all() else in_rows(after, there)
    cells = [plain(column) for column in cells]
    cells += [] if group is None else [pa.array(group(before, rows))]
    cells += [] if unit is None else [plain(before[unit])]
    shown = there & ~np.isin(rows, hidden)
    return pa.table([*cells, pa.array(shown)], schema=schema)


def _own_units(
    columns: Sequence[str],
    unit: str,
    hidden: np.ndarray,
    empty: bool,
    schema: pa.Schema,
    piece: pa.Table,
    rows: np.ndarray,
) -> pa.Table:
    cells = [plain(piece[name]) for name in (*columns, unit)]
    shown = ~np.isin(rows, hidden)
    if empty:
        shown &= ~all_null(piece)
    return pa.table([*cells, pa.array(shown)], schema=schema)


def all_null(table: pa.Table) -> np.ndarray:
    """Mask the rows that are null in every column."""
    empty = np.full(table.num_rows, True)
    for column in table.columns:
        empty &= column.is_null(nan_is_null=True).to_numpy()
    return empty


def _empty_rows(frame: Frame) -> int:
    return frame.fold(_empty, add, frame.schema.names)


def _empty(piece: pa.Table, rows: np.ndarray) -> int:
    return int(all_null(piece).sum())


def _ends(name: str, piece: pa.Table, rows: np.ndarray) -> Ends:
    values = float_values(piece[name], name)
    if np.isnan(values).all():
        return None
    return float(np.nanmin(values)), float(np.nanmax(values))


def _wider(one: Ends, other: Ends) -> Ends:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])
