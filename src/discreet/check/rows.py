"""Rows of a release compared with rows of its original, some at a time or all at once.

What a piece of rows shows is noted in a `Seen`; those of all pieces together make the findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.check.evidence import UNREADABLE, Evidence, Plan, StepPlan
from discreet.check.replay import Columns, Numeric, Piece, Tally, replay
from discreet.check.shown import LEFT, UNIT, WEIGHT, all_null
from discreet.recipe.recipe import Recipe
from discreet.table import Numbers, float_values
from discreet.table.cells import blank, equal_cells, plain
from discreet.table.classes import in_order
from discreet.table.classes import plain as valued
from discreet.table.csv import read_as
from discreet.table.labels import is_text
from discreet.table.summary import Tuples

# Columns whose values must be shared by some records, each by itself or all together.
Together = tuple[str, ...]


@dataclass(frozen=True)
class Cells:
    """Cells that should hold the same values, and are empty."""

    number: int
    first: int  # the place of the first in the release, from 0
    units: frozenset[Any] | None = None  # of their records, where units are counted

    @property
    def counted(self) -> int:
        """How many records, or units, they are of."""
        return self.number if self.units is None else len(self.units)

    def joined(self, other: Cells) -> Cells:
        """Put those of two pieces together."""
        units = None if self.units is None or other.units is None else self.units | other.units
        return Cells(self.number + other.number, min(self.first, other.first), units)


# By the values that cells should hold, numbers or text.
Emptied = dict[tuple[Any, ...], Cells]


@dataclass(frozen=True)
class Differing:
    """Cells of a column that are not what they should be."""

    row: int  # the first of them, by its place in the release, from 0
    said: str  # what it holds, and what it should
    cells: int

    def joined(self, other: Differing) -> Differing:
        """Put those of two pieces together."""
        first = self if self.row <= other.row else other
        return Differing(first.row, first.said, self.cells + other.cells)


@dataclass
class Seen:
    """What some rows of the original and of the release show."""

    # The first row of the piece where the plan cannot be applied, and why.
    problem: tuple[int, str] | None = None
    # Rows of the original that are in the release and should not be, or the other way round.
    misplaced: int = 0
    applied: int = 0  # columns that the plan gives
    # By column: treated cells that are not the plan's, nulls that are not the original's, cells
    # that no step treats and that are not the original's; why it cannot be compared at all.
    cells: dict[str, Differing] = field(default_factory=dict)
    nulls: dict[str, Differing] = field(default_factory=dict)
    others: dict[str, Differing] = field(default_factory=dict)
    strange: dict[str, str] = field(default_factory=dict)
    # Treated columns of which a piece of rows does not tell what the plan gives.
    unknown: set[str] = field(default_factory=set)
    tally: Tally = field(default_factory=dict)  # what must hold of all rows together
    suppressed: int = 0
    left_out: int = 0
    # Rows that are left out, where the release has them as rows of nulls.
    hidden: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    # By columns: records that have lost a cell of these because they are suppressed; cells that
    # are empty, perhaps because too few records, or units, still share their values.
    lost: dict[Together, int] = field(default_factory=dict)
    emptied: dict[Together, Emptied] = field(default_factory=dict)
    spreads: dict[str, Tuples] = field(default_factory=dict)  # values that privacy models look at
    # By the number of a step that blanks cells: its columns before it, and with weights after.
    before: dict[int, Tuples] = field(default_factory=dict)
    weighed: dict[int, Tuples] = field(default_factory=dict)
    # By the number of a step that treats nulls apart and a column, the rows in which earlier steps
    # have made it null, or filled it.
    moved: dict[tuple[int, str], np.ndarray] = field(default_factory=dict)
    # By column of households or pseudonyms, old and new ids.
    renamed: dict[str, Tuples] = field(default_factory=dict)

    def joined(self, other: Seen) -> Seen:
        """Put what two pieces show together."""
        problems = [seen.problem for seen in (self, other) if seen.problem is not None]
        return Seen(
            problem=min(problems, default=None),
            misplaced=self.misplaced + other.misplaced,
            applied=max(self.applied, other.applied),
            cells=_merged(self.cells, other.cells, Differing.joined),
            nulls=_merged(self.nulls, other.nulls, Differing.joined),
            others=_merged(self.others, other.others, Differing.joined),
            strange=other.strange | self.strange,
            unknown=self.unknown | other.unknown,
            tally=_merged(self.tally, other.tally, _sum),
            suppressed=self.suppressed + other.suppressed,
            left_out=self.left_out + other.left_out,
            hidden=np.append(self.hidden, other.hidden),
            lost=_merged(self.lost, other.lost, _sum),
            emptied=_merged(self.emptied, other.emptied, _all_emptied),
            spreads=_merged(self.spreads, other.spreads, Tuples.joined),
            before=_merged(self.before, other.before, Tuples.joined),
            weighed=_merged(self.weighed, other.weighed, Tuples.joined),
            moved=_merged(self.moved, other.moved, np.append),
            renamed=_merged(self.renamed, other.renamed, Tuples.joined),
        )


def _sum(one: Any, other: Any) -> Any:
    return one + other


def _all_emptied(one: Emptied, other: Emptied) -> Emptied:
    return _merged(one, other, Cells.joined)


def _merged(one: Mapping[Any, Any], other: Mapping[Any, Any], put: Any) -> dict[Any, Any]:
    both = {key: put(one[key], other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **both}


@dataclass(frozen=True)
class Comparing:
    """What it takes to compare rows of a release with those of its original; can be pickled."""

    plan: Plan
    recipe: Recipe
    seed: int
    released: tuple[str, ...]  # the columns that are compared
    complete: bool  # as many rows as the original, those left out among them
    # Decimals and units of numeric columns, where the rows are not all there are.
    sources: Mapping[str, Numbers] | None = None
    # Columns that show which rows belong to one household or person.
    links: tuple[str, ...] = ()
    # The column of the release that says where a row is in the file; as they come without.
    position: str | None = None

    @property
    def key(self) -> str | None:
        """The column that draws go by, where there is one."""
        return self.recipe.roles.row_key

    @property
    def others(self) -> list[str]:
        """The columns that no step treats."""
        treated = {name for name, _ in final_plans(self.plan)} | set(self.renamed)
        return [name for name in self.released if name not in treated]

    @property
    def renamed(self) -> list[str]:
        """The columns that get other values, one to one: households and pseudonyms."""
        roles = self.recipe.roles
        return [n for n in self.released if n == roles.household or n in roles.pseudonyms]

    def seen(self, before: pa.Table, rows: np.ndarray, there: np.ndarray, after: pa.Table) -> Seen:
        """Compare some rows of the original with those of them that are there in the release."""
        some = _Rows(self, before, rows, there, after)
        try:
            some.replay()
        except UNREADABLE as error:
            first = int(rows[0]) if len(rows) else 0
            some.seen.problem = first, f"the plan cannot be applied: {error!r}"
        some.untouched()
        some.renamed()
        return some.seen


class _Rows:
    """Some rows before and after, and what is seen of them."""

    def __init__(
        self,
        comparing: Comparing,
        before: pa.Table,
        rows: np.ndarray,
        there: np.ndarray,
        after: pa.Table,
    ) -> None:
        self.comparing, self.seen = comparing, Seen()
        self.before, self.rows, self.there, self.after = before, rows, there, after
        position = comparing.position
        # Where each row is in the release, and what the plan gives, by column.
        self.place = rows[there] if position is None else after[position].to_numpy()
        self.applied: dict[str, Any] = {}
        # The cells of each column that suppression empties; of None, the rows left out. They follow
        # from the classes that the plan suppresses, and none are known before it is applied.
        self.gone: dict[str | None, np.ndarray] = dict.fromkeys(
            (None, *comparing.released), np.zeros(len(rows), dtype=bool)
        )

    def replay(self) -> None:
        """Apply the plan, and compare the columns that it treats."""
        given = self.comparing
        piece = None if given.sources is None else Piece(self.rows, given.sources)
        self.applied, columns = replay(given.plan, given.seed, self.before, given.key, piece)
        self._suppressed(columns)
        self._note(columns)
        emptied = self._emptied()
        for name, plan in final_plans(given.plan):
            if name in given.released and name not in columns.unknown:
                self._treated(name, plan, emptied.get(name, False))

    def _suppressed(self, columns: Columns) -> None:
        """Find out which cells and rows are gone, and compare the rows."""
        left_out, given = columns.left_out, self.comparing
        starred = starred_columns(given.plan)
        for name in self.gone:
            # A suppressed record tells no quasi value.
            hidden = name in given.recipe.roles.quasi and name not in starred
            hidden |= name in given.links and name not in starred
            self.gone[name] = left_out | columns.suppressed if hidden else left_out
        expected = np.full(len(left_out), True) if given.complete else ~left_out
        self.seen.misplaced = int((expected != self.there).sum())
        if given.complete:
            empty = all_null(self.after.select(given.released))
            self.seen.hidden = self.rows[self.there][left_out[self.there] & empty]

    def _note(self, columns: Columns) -> None:
        """Note what is counted over all rows."""
        seen, given = self.seen, self.comparing
        seen.applied, seen.tally, seen.unknown = len(self.applied), columns.tally, columns.unknown
        seen.suppressed, seen.left_out = int(columns.suppressed.sum()), int(columns.left_out.sum())
        seen.lost = {(name,): int(self.gone[name].sum()) for name in given.released}
        for step, plan in zip(given.recipe.steps, given.plan["steps"], strict=True):
            if step.promise and step.parameters().get("privacy"):
                for name in plan["joint"].get("confidential", {}):
                    if name not in seen.spreads and name not in columns.unknown:
                        seen.spreads[name] = self._spread(name, plain(columns.arrow(name)))
        for number, found in columns.moved.items():
            seen.moved |= {(number, name): self.rows[mask] for name, mask in found.items()}
        self._note_before(columns)

    def _note_before(self, columns: Columns) -> None:
        """Count the tuples of columns in which cells are blanked, as they were."""
        given, unit = self.comparing, self.comparing.recipe.counted
        held = {} if unit is None else {UNIT: plain(self.before[unit])}
        for step, plan in zip(given.recipe.steps, given.plan["steps"], strict=True):
            if plan["step"] not in columns.before:
                continue
            was = {n: valued(column) for n, column in columns.before[plan["step"]].items()}
            left = {LEFT: pa.array(columns.left_out)}
            self.seen.before[plan["step"]] = Tuples.of(pa.table({**was, **held, **left}))
            weight = step.parameters()["weight"]
            if weight is None:
                continue
            weights = pa.array(float_values(self.before[weight], weight))
            table = pa.table({**held, WEIGHT: weights, **left}).filter(pa.array(self.there))
            for name in step.columns:
                table = table.append_column(name, valued(self.after[name]))
            shown = pa.array(~columns.left_out[self.there])
            self.seen.weighed[plan["step"]] = Tuples.of(table.filter(shown))

    def _spread(self, name: str, column: pa.ChunkedArray) -> Tuples:
        """Count the values of a column as text, or the units that hold them."""
        unit = self.comparing.recipe.counted
        if unit is not None:
            return _held(name, column, plain(self.before[unit]))
        counted = pc.value_counts(column.drop_null())
        text = counted.field("values").cast(pa.string())
        return Tuples(pa.table({name: text}), counted.field("counts").to_numpy())

    # Cells

    def _wanted(self, name: str, made: Any) -> Any:
        """Return what the cells of a column should be, but for those of rare values."""
        if isinstance(made, Numeric):
            return made.where(self.there, self.gone[name])
        wanted = plain(blank(made, self.gone[name]))
        return wanted if self.there.all() else wanted.filter(pa.array(self.there))

    def _emptied(self) -> dict[str, np.ndarray]:
        """Note cells that are empty, perhaps because too few records still had their values.

        Returns which they are, by column.
        """
        found: dict[str, np.ndarray] = {}
        known = self.applied.keys() & set(self.comparing.released)
        allowed = rarest_allowed(self.comparing) if self.comparing.plan.get("suppressed") else {}
        for names, (_, by_tuple) in allowed.items():
            if not set(names) <= known:
                continue
            lost = np.any([self.gone[name] for name in names], axis=0)
            self.seen.lost[names] = int(lost.sum())
            cells = [_plainly(self._wanted(name, self.applied[name])) for name in names]
            wanted = pa.table(cells, names=[str(i) for i in range(len(names))])
            empty = ~lost[self.there] & all_null(self.after.select(names))
            if not by_tuple:  # Of tuples, nulls are a value like any other.
                empty &= ~all_null(wanted)
            if empty.any():
                self.seen.emptied[names] = self._counted(wanted, empty)
                found |= dict.fromkeys(names, empty)
        return found

    def _counted(self, wanted: pa.Table, some: np.ndarray) -> Emptied:
        """Count the distinct tuples of some rows, with the place of each one's first."""
        rows = wanted.append_column("place", pa.array(self.place))
        unit = self.comparing.recipe.counted
        if unit is not None:
            units = plain(self.before[unit]).filter(pa.array(self.there))
            rows = rows.append_column("unit", units)
        grouped = rows.filter(pa.array(some)).group_by(wanted.column_names, use_threads=False)
        held = [] if unit is None else [("unit", "distinct")]
        found = grouped.aggregate([([], "count_all"), ("place", "min"), *held])
        keys = zip(*(found[name].to_pylist() for name in wanted.column_names), strict=True)
        cells = zip(found["count_all"].to_pylist(), found["place_min"].to_pylist(), strict=True)
        if unit is None:
            return {key: Cells(*one) for key, one in zip(keys, cells, strict=True)}
        sets = map(frozenset, found["unit_distinct"].to_pylist())
        return {key: Cells(*one, s) for key, one, s in zip(keys, cells, sets, strict=True)}

    def _treated(self, name: str, plan: dict[str, Any], empty: np.ndarray | bool) -> None:
        """Compare a column with what the plan gives, but for cells that may be empty."""
        if name not in self.applied:
            self.seen.strange[name] = f"the plan gives no column '{name}'"
            return
        wanted = self._wanted(name, self.applied[name])
        if not isinstance(wanted, Numeric):
            self._same(self.seen.cells, name, wanted, empty, "the plan gives")
            return
        found = float_values(self.after[name], name, plan.get("unit_ns") or 10**9)
        differ = ~(wanted.holds(found) | empty)
        if differ.any():
            first = self._first(differ)
            said = f"{found[first]:.17g}, the plan gives {wanted.middle[first]:.17g}"
            self.seen.cells[name] = self._differing(differ, said)
        methods = [s.build() for s in self.comparing.recipe.steps if name in s.columns]
        if any(method.blanks or method.needs != "numeric" for method in methods):
            return
        # Nulls are the original's, whatever the plan says.
        null = (self.before[name].is_null(nan_is_null=True).to_numpy() | self.gone[name])[
            self.there
        ]
        other = (null != self.after[name].is_null(nan_is_null=True).to_numpy()) & ~np.asarray(empty)
        if other.any():
            self.seen.nulls[name] = self._differing(other, "a null")

    def untouched(self) -> None:
        """Compare the columns that no step treats with the original."""
        for name in self.comparing.others:
            wanted = self._wanted(name, self.before[name])
            self._same(self.seen.others, name, wanted, False, "the original has")

    def _same(
        self,
        noted: dict[str, Differing],
        name: str,
        wanted: pa.ChunkedArray,
        empty: np.ndarray | bool,
        says: str,
    ) -> None:
        """Compare a column that is not of numbers, or is left at its own ones."""
        try:
            found, wanted = _alike(plain(self.after[name]), wanted)
        except pa.ArrowException:
            kind = self.after[name].type
            self.seen.strange[name] = f"column '{name}' is {kind}, not {wanted.type}"
            return
        same = equal_cells(wanted, found)
        if not pc.all(same).as_py():
            differ = ~(same.to_numpy() | empty)
            if differ.any():
                first = self._first(differ)
                said = f"{found[first].as_py()}, {says} {wanted[first].as_py()}"
                noted[name] = self._differing(differ, said)

    def renamed(self) -> None:
        """Note old and new ids of households and of what has pseudonyms."""
        for name in self.comparing.renamed:
            old, new = self._wanted(name, self.before[name]), self.after[name]
            # What is gone has no id, unless one is there that should not be.
            shown = ~self.gone[name][self.there] | new.is_valid().to_numpy()
            pairs = pa.table({"old": old, "new": new}).filter(pa.array(shown))
            self.seen.renamed[name] = Tuples.of(pairs)

    def _first(self, bad: np.ndarray) -> int:
        """Return the bad row that comes first in the release."""
        (rows,) = np.nonzero(bad)
        return int(rows[np.argmin(self.place[rows])])

    def _differing(self, bad: np.ndarray, said: str) -> Differing:
        return Differing(int(self.place[self._first(bad)]), said, int(bad.sum()))


def _alike(
    found: pa.ChunkedArray, wanted: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return cells and what they should be in one type.

    Labels of a plan are text; where all of them are values, the column may have the values' type.
    """
    if is_text(wanted.type) and not is_text(found.type):
        try:
            return found, read_as(wanted, found.type)
        except pa.ArrowException:
            pass  # Some cell is more than a value: as text, the first that differs is found.
    return found.cast(wanted.type), wanted


def _plainly(wanted: Any) -> pa.Array | pa.ChunkedArray:
    """Return cells as numbers or as text."""
    if isinstance(wanted, Numeric):
        return pa.array(wanted.middle, from_pandas=True)
    return wanted.cast(pa.string())


def _held(name: str, column: pa.ChunkedArray, units: pa.ChunkedArray) -> Tuples:
    """Return the distinct pairs of values, as text, and of the units that hold them."""
    values, holders = (part.combine_chunks().dictionary_encode() for part in (column, units))
    size = max(len(values.dictionary), 1)
    # Numbers are quicker to tell apart than text.
    codes = [part.indices.fill_null(-1).to_numpy().astype(np.int64) for part in (values, holders)]
    there = (codes[0] >= 0) & (codes[1] >= 0)
    unit, value = np.divmod(in_order(codes[1][there] * size + codes[0][there]), size)
    text = values.dictionary.cast(pa.string()).take(pa.array(value))
    pairs = pa.table({name: text, UNIT: holders.dictionary.take(pa.array(unit))})
    return Tuples(pairs, np.ones(len(unit), np.int64))


def rarest_allowed(comparing: Comparing) -> dict[Together, tuple[int, bool]]:
    """Return how many must share the values of columns, and whether they are a tuple.

    Values that fewer records, or units, share are emptied.
    """
    found: dict[Together, tuple[int, bool]] = {}
    for step, plan in zip(comparing.recipe.steps, comparing.plan["steps"], strict=True):
        promise = step.build().promise if step.promise else None
        if promise not in ("k-per-value", "k-per-tuple"):
            continue
        by_tuple = promise == "k-per-tuple"
        for names in [tuple(step.columns)] if by_tuple else [(name,) for name in step.columns]:
            k = int(step.least_records(names[0], plan["columns"][names[0]]))
            found[names] = k, by_tuple
    return found


def suppresses(step: StepPlan) -> bool:
    """Tell whether a step's plan suppresses records, which have stars in its columns."""
    groups = step.get("joint", {}).get("groups")
    # Of a plan of classes; groups of records by number are another plan's.
    for group in groups if isinstance(groups, list) else ():
        whole = group["rows"] if group["treatment"] == "suppress" else 0
        if group.get("suppressed", whole):
            return True
    return False


def starred_columns(plan: Plan) -> set[str]:
    """Name the columns in which suppressed records have stars."""
    return {name for step in plan["steps"] if suppresses(step) for name in step["columns"]}


def final_plans(plan: Plan) -> list[tuple[str, dict[str, Any]]]:
    """Return the last plan of each treated column."""
    plans: dict[str, dict[str, Any]] = {}
    for step in plan["steps"]:
        plans.update(step["columns"])
    return list(plans.items())


def comparing_of(evidence: Evidence, recipe: Recipe, **more: Any) -> Comparing:
    """Take what a comparison needs from the evidence."""
    return Comparing(evidence.plan, recipe, evidence.seed, **more)
