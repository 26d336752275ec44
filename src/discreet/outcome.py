"""What methods are given and what they return: rows or counts, outcomes and decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.table.moments import Moments
from discreet.table.summary import Summary

# Rounds the numbers of a column, by its name, to what may be released.
Rounder = Callable[[str, np.ndarray], np.ndarray]
# Gives some cells of a column, by its name, as the float64 that the whole column is taken as.
AsFloat = Callable[[str, pa.ChunkedArray], np.ndarray]
# The column that draws go by, and a function from its cells to the numbers (uint64) that they use.
Key = tuple[str, Callable[[pa.ChunkedArray], np.ndarray]]


def as_computed(column: str, values: np.ndarray) -> np.ndarray:
    """Round nothing: what the transformers do."""
    return values


@dataclass(frozen=True)
class Linked:
    """Rows that an intruder sees to belong together, such as those of one pseudonym."""

    units: np.ndarray  # the unit of each row, as 0, 1, ...
    known: int | None  # how many of a unit's rows the intruder may know; None: all of them

    @property
    def several(self) -> Linked | None:
        """None where every unit has one row, and nothing is seen together.

        A row that tells no unit, -1, is one of its own.
        """
        nobody = self.units < 0
        if np.bincount(self.units[~nobody]).max(initial=0) < 2:
            return None
        units = self.units.copy()
        units[nobody] = units.max() + 1 + np.arange(nobody.sum())
        return Linked(units, self.known)

    def at(self, rows: np.ndarray) -> Linked | None:
        """Take some rows."""
        return Linked(self.units[rows], self.known).several


@dataclass(frozen=True)
class Given:
    """What `Method.run` takes."""

    columns: Mapping[str, Any]  # arrays of float64 or of Arrow, as `Method.needs` says
    draws: Callable[[str], Draws]  # gives the draws of a column by its name
    # Rounds to the input's decimals; the results and the plans hold numbers that were rounded.
    rounded: Rounder
    target: np.ndarray | None  # the class of each row, as 0, 1, ...; for supervised methods
    others: Mapping[str, pa.ChunkedArray]  # the columns that `Method.reads` names
    # The unit of each row as 0, 1, ..., where k counts these; None where it counts rows.
    units: np.ndarray | None = None
    linked: Linked | None = None  # where rows of a unit can be seen to belong together

    def at(self, rows: np.ndarray) -> Given:
        """Take some rows."""
        return Given(
            {name: _take(column, rows) for name, column in self.columns.items()},
            lambda column: self.draws(column).at(rows),
            self.rounded,
            None if self.target is None else self.target[rows],
            {name: _take(column, rows) for name, column in self.others.items()},
            None if self.units is None else self.units[rows],
            None if self.linked is None else self.linked.at(rows),
        )


def _take(column: Any, rows: np.ndarray) -> Any:
    return column[rows] if isinstance(column, np.ndarray) else column.take(pa.array(rows))


@dataclass(frozen=True)
class Outcome:
    """What a method made of a table's columns.

    The columns come with their rows in order: float64 (NaN where null) for those that came as
    numbers, Arrow for the others. Plans have a `kind` that the check knows.
    """

    columns: dict[str, Any]
    plans: dict[str, Any]  # what was decided for each column
    joint: Any = field(default_factory=dict)  # and for all together; empty where nothing was
    suppressed: np.ndarray | None = None  # marks the records that were suppressed
    # Marks the suppressed records that must not stay in the table, not even as stars.
    unsafe: np.ndarray | None = None
    figures: dict[str, Any] = field(default_factory=dict)  # for the log: what the search did
    # Parameters as they must be for a rerun with the same bytes, where a budget in seconds decided.
    fixed: dict[str, Any] = field(default_factory=dict)
    # Marks records that are released as they are, outside all promises, as the recipe allows.
    disclosed: np.ndarray | None = None

    def at(self, codes: np.ndarray, first: np.ndarray) -> Outcome:
        """Give all rows of a household what one got, `first[code]` being the row it was of."""
        plans = {
            name: plan | {"first": first} if plan["kind"] == "sources" else plan
            for name, plan in self.plans.items()
        }
        columns = {name: _take(column, codes) for name, column in self.columns.items()}
        return replace(self, columns=columns, plans=plans)


def merged(parts: Sequence[Outcome]) -> Outcome:
    """Put the columns of a step together that were treated apart from each other."""
    if len(parts) == 1:
        return parts[0]
    return Outcome(
        {name: column for part in parts for name, column in part.columns.items()},
        {name: plan for part in parts for name, plan in part.plans.items()},
        parts[0].joint,
        figures=_all([part.figures for part in parts]),
        fixed=_all([part.fixed for part in parts]),
    )


def _all(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join figures; those by column under one name."""
    found: dict[str, Any] = {}
    for one in figures:
        for name, figure in one.items():
            known = found.get(name)
            by_column = isinstance(known, Mapping) and isinstance(figure, Mapping)
            found[name] = dict(known or {}) | figure if by_column else figure
    return found


class Counted(Protocol):
    """What an engine tells of a table's columns without giving its rows."""

    # The column of the units that k counts, where it does not count rows.
    unit: str | None

    def summary(self, column: str) -> Summary:
        """Return a numeric column's distinct values and counts, by class for supervised methods."""

    def ranges(self, column: str) -> Iterator[Summary] | None:
        """Return the same range after range, where there are too many values for one summary."""

    def tuples(self, columns: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
        """Return the distinct tuples of some columns, by first appearance, with their counts."""

    def smallest(
        self,
        columns: Sequence[str],
        find: Callable[[Mapping[str, Any]], np.ndarray],
        needed: np.ndarray,
        draws: Draws,
    ) -> np.ndarray:
        """Return the smallest words drawn for the rows of tuples, as many as each needs.

        `find` goes from columns to the tuple of each row, as 0, 1, ... Words are by tuple and in
        order; those of a unit's rows are one, where units are counted.
        """

    def moments(self, columns: Sequence[str]) -> Moments:
        """Return the moments of numeric columns."""


@dataclass(frozen=True)
class Decision:
    """What a method decided from counts, and how it treats rows, some at a time.

    `treat` goes from columns, draws and a rounder, as `Method.run` takes them, to an `Outcome`
    whose plans are empty. It can be pickled, since an engine may have its rows elsewhere.
    """

    plans: dict[str, Any]
    treat: Callable[[Mapping[str, Any], Callable[[str], Draws], Rounder], Outcome]
    joint: Any = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)


def together(made: Sequence[tuple[Sequence[str], Decision]]) -> Decision:
    """Put decisions on columns of a step together that are treated apart from each other."""
    if len(made) == 1:
        return made[0][1]
    return Decision(
        {name: plan for _, one in made for name, plan in one.plans.items()},
        partial(_treat_each, [(tuple(columns), one.treat) for columns, one in made]),
        made[0][1].joint,
        _all([one.figures for _, one in made]),
        _all([one.fixed for _, one in made]),
    )


def _treat_each(
    made: Sequence[tuple[Sequence[str], Callable[..., Outcome]]],
    columns: Mapping[str, Any],
    draws: Callable[[str], Draws],
    rounded: Rounder,
) -> Outcome:
    return merged(
        [treat({name: columns[name] for name in some}, draws, rounded) for some, treat in made]
    )
