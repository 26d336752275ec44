"""Scores of points, put together from what is known of each column, and of the first few.

Information loss by moments and interval disclosure are made of figures of single columns, but for
the covariances. The intruders of a score know the first 1, 2, ... columns, so that what they find
stays the same whatever becomes of the columns after these.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.risk._known import known_sets
from discreet.risk.distance import Nearest
from discreet.risk.interval import disclosed_cells, disclosure_of
from discreet.risk.probabilistic import (
    Attribute,
    Originals,
    agreeing,
    counts_of_first,
    linked,
    pattern_counts,
)
from discreet.risk.values import refuse_infinite, sd, standardize
from discreet.table.columns import float_values, kind_of
from discreet.tuning.cells import Group, Released
from discreet.tuning.measured import score_axes
from discreet.utility.compared import is_constant
from discreet.utility.loss import il1s_of
from discreet.utility.moments import CellChange, cell_change, covariances, il_metrics_of
from discreet.utility.scores import dr_of

if TYPE_CHECKING:
    from discreet.tuning.space import Choice
    from discreet.tuning.task import Task

# Sets of columns whose linkage is remembered, and bytes of columns.
_MOST_SETS = 200_000
_MOST_BYTES = 1 << 29


@dataclass(frozen=True)
class Halves:
    """Risk and loss in percent, of which a score is the mean; and the columns that are lost.

    A column that is not released as numbers is in no score, which would reward to leave it out.
    """

    risk: float
    loss: float
    lost: int


class _Original:
    """A numeric column of the original."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.constant, self.spread = x, is_constant(x), sd(x)
        if not self.constant:
            self.standardized, self.ranked = standardize(x), Originals(x)


@dataclass(frozen=True, eq=False)
class _Column:
    """What a score takes from a released column, by itself."""

    y: np.ndarray
    change: CellChange
    absolute: float  # sum of |x - y|
    disclosed: float  # share of cells
    usable: bool  # for linkage: it varies on both sides
    standardized: np.ndarray
    agrees: Attribute | None


class Scored:
    """The halves of `utility.score` or `utility.normalized_score` of points.

    Parameters
    ----------
    task : Task
        Its `measure` is the name of the score.
    released : Released
    """

    def __init__(self, task: Task, released: Released) -> None:
        self.task, self.released, self.name = task, released, str(task.measure)
        table = task.table
        self._names = [
            name
            for name in table.column_names
            if name in released.names and kind_of(table[name].type) == "numeric"
        ]
        values = {name: float_values(table[name], name) for name in self._names}
        # With nulls, figures of a column depend on others.
        self._whole = not any(np.isnan(x).any() for x in values.values())
        for name, x in values.items():
            refuse_infinite(name, x)
        self._originals = {name: _Original(x) for name, x in values.items() if self._whole}
        self._columns: dict[tuple[Group, str, int], _Column | None] = {}
        self._linked: dict[tuple[tuple[Group, int], ...], tuple[float, float]] = {}
        self._trees: dict[tuple[str, ...], Nearest] = {}
        self._before: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}

    def halves(self, choice: Choice, seed: int, link: bool = True) -> Halves:
        """Return risk and loss of a point as one seed releases it, or the risk without linkage.

        With nulls, linkage is always part of it.
        """
        groups = {name: group for group in self.released.groups(choice) for name in group.columns}
        found = {name: self._column(groups[name], name, seed) for name in self._names}
        there = {name: one for name, one in found.items() if one is not None}
        lost = len(found) - len(there)
        if not there or not self._whole or any(np.isnan(one.y).any() for one in there.values()):
            return self._in_full(choice, seed, lost)
        loss = self._il(there)
        keys = {name: (groups[name], seed) for name in there}
        dld, pld = self._linkage(there, keys) if link else (0.0, 0.0)
        cells = dict.fromkeys(there, self.task.table.num_rows)
        disclosed = disclosure_of({name: one.disclosed for name, one in there.items()}, cells).value
        if self.name == "score":
            return Halves(dr_of(100 * dld, 100 * pld, 100 * disclosed), loss, lost)
        spreads = {name: self._originals[name].spread for name in there}
        spreads |= dict.fromkeys((n for n in there if self._originals[n].constant), 0.0)
        changes = {name: one.absolute for name, one in there.items()}
        mean = _quiet(il1s_of, changes, spreads, cells, True).value
        risk = (100 * disclosed + 100 * dld) / 2
        return Halves(risk, (min(100.0, loss) + min(100.0, 100 * mean)) / 2, lost)

    def _in_full(self, choice: Choice, seed: int, lost: int) -> Halves:
        """Take the score itself."""
        run = self.released.table(choice, seed)
        names = [n for n in self._names if n in run.column_names]
        names = [n for n in names if kind_of(run[n].type) == "numeric"]
        if not names:
            return Halves(0.0, 100.0, lost)
        found = _quiet(score_axes, self.name, self.task.table.select(names), run.select(names))
        return Halves(found["risk"], found["loss"], lost)

    def profile(self, group: Group, seed: int) -> tuple[float, float]:
        """Return loss and risk, in percent, of the columns of a group alone: without linkage."""
        names = [name for name in self._names if name in group.columns]
        found = {name: self._column(group, name, seed) for name in names}
        there = {name: one for name, one in found.items() if one is not None}
        if len(there) < len(found):
            return np.inf, np.inf
        if not self._whole or any(np.isnan(one.y).any() for one in there.values()):
            return 0.0, 0.0
        return (
            sum(self._il({name: one}) for name, one in there.items()),
            sum(100 * one.disclosed for one in there.values()),
        )

    # Columns

    def _column(self, group: Group, name: str, seed: int) -> _Column | None:
        """Return what is known of a column; None where it is not released as numbers."""
        key = group, name, seed
        if key not in self._columns:
            if len(self._columns) * 32 * self.task.table.num_rows > _MOST_BYTES:
                self._columns.clear()
            cells = self.released.of(group, seed).get(name)
            numeric = cells is not None and kind_of(cells.type) == "numeric"
            self._columns[key] = self._new_column(name, cells) if numeric else None
        return self._columns[key]

    def _new_column(self, name: str, cells: pa.ChunkedArray) -> _Column:
        y = float_values(cells, name)
        refuse_infinite(name, y)
        own = self._originals.get(name)
        if own is None or np.isnan(y).any():
            return _Column(y, cell_change(y, y), 0.0, 0.0, False, y, None)
        usable = not own.constant and not is_constant(y)
        score = self.name == "score"
        return _Column(
            y,
            cell_change(own.x, y),
            float(np.nansum(np.abs(own.x - y))),
            float(disclosed_cells(own.x, y, "rank" if score else "sd").mean()),
            usable,
            standardize(y) if usable else y,
            agreeing(own.ranked, y) if usable and score else None,
        )

    # Loss

    def _il(self, columns: dict[str, _Column]) -> float:
        changes = {name: one.change for name, one in columns.items()}
        varied = tuple(name for name, change in changes.items() if not change.constant)
        second = None
        if varied:
            if varied not in self._before:
                self._before[varied] = covariances([self._originals[name].x for name in varied])
            second = self._before[varied], covariances([columns[name].y for name in varied])
        return _quiet(il_metrics_of, changes, second).value

    # Linkage

    def _linkage(
        self, columns: dict[str, _Column], keys: dict[str, tuple[Group, int]]
    ) -> tuple[float, float]:
        """Return the shares linked by distance and by probability, over all sets known."""
        sets = known_sets("paper", list(columns))
        if len(self._linked) > _MOST_SETS:
            self._linked.clear()
        counts: np.ndarray | None = None
        found = []
        # The longest first, whose patterns tell those of the others.
        for names in reversed(sets):
            key = tuple(keys[name] for name in names)
            if key not in self._linked:
                usable = [name for name in names if columns[name].usable]
                if self.name == "score":
                    agrees = [one for n in usable if (one := columns[n].agrees) is not None]
                    counts = _counted(agrees, counts)
                    pld = float(linked(agrees, counts, self.task.table.num_rows).mean())
                else:
                    pld = 0.0
                self._linked[key] = self._by_distance(columns, usable), pld
            found.append(self._linked[key])
        dld, pld = (float(np.mean(side)) for side in zip(*reversed(found), strict=True))
        return dld, pld

    def _by_distance(self, columns: dict[str, _Column], names: Sequence[str]) -> float:
        n = self.task.table.num_rows
        if not names:
            return 1.0 / n
        key = tuple(names)
        if key not in self._trees:
            known = [self._originals[name].standardized for name in names]
            self._trees[key] = Nearest(np.column_stack(known))
        queries = np.column_stack([columns[name].standardized for name in names])
        return float(self._trees[key].own_hits(queries).mean())


def _counted(agrees: Sequence[Attribute], longer: np.ndarray | None) -> np.ndarray:
    """Count patterns, or take them from the counts of more columns."""
    if longer is None:
        return pattern_counts(agrees)
    return counts_of_first(longer, len(agrees))


def _quiet(function, *given):  # type: ignore[no-untyped-def]
    """Call a function without what it warns of, which the front's own measures tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)
