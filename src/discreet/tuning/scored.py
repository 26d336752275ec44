"""Points judged by a score: the information lost and the disclosure risk that it is made of.

What goes by each column is taken once for each option and run, and added up. Linkage goes by the
first columns, then one more, and so on: only the sets in which something changed are linked again,
and the patterns of agreement of the longest are those of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.draws import derived
from discreet.errors import BadInput
from discreet.risk._known import known_sets
from discreet.risk.distance import Nearest, linked_by_distance
from discreet.risk.interval import Kind, disclosed_cells, disclosure_of
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
from discreet.tuning.figures import Figures, Profile
from discreet.tuning.space import Choice, Space
from discreet.utility.compared import is_constant
from discreet.utility.loss import il1s_of
from discreet.utility.moments import CellChange, Second, cell_change, covariances, il_metrics_of

if TYPE_CHECKING:
    from discreet.tuning.task import Task

# Releases with other seeds that a score is the mean of: that of one is off by half a point.
RUNS = 16
# Of them those in which records are linked: that takes most of the time, and scatters little.
LINKED = 3
# Percent, for points that a score says nothing of.
_WORST = 100.0
# Sets of columns whose linkage is remembered, and bytes of released columns.
_MOST_SETS = 200_000
_MOST_BYTES = 1 << 29


class _Original:
    """A numeric column of the original."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.constant, self.whole = x, is_constant(x), not np.isnan(x).any()
        if not self.constant:
            self.standardized, self.ranked = standardize(x), Originals(x)


@dataclass(frozen=True, eq=False)
class _Column:
    """What a score takes from one column of one run; cells null on either side are so in both."""

    x: np.ndarray
    y: np.ndarray
    whole: bool  # no nulls
    change: CellChange
    moved: float  # sum of |x - y|
    spread: float  # of x; 0 where it is constant
    cells: int
    disclosed: float  # share of its values within an interval
    # For linkage, where it varies on both sides.
    standardized: np.ndarray | None
    agrees: Attribute | None


class ScoreJudge:
    """Risk and loss of points in percent, as a score has them: their mean is the score.

    Interval disclosure is of all columns, `interval="all"`: a search would leave those as they are
    that no intruder is taken to know. Every numeric column counts. A point that drops one, or makes
    it text, has no score: it breaks a standard.

    Parameters
    ----------
    task : Task
        With the measure "score" or "normalized_score".
    released : Released, optional
    seed : int
    runs : int
        Releases with other seeds that figures are means of.
    """

    def __init__(
        self, task: Task, released: Released | None = None, seed: int = 0, runs: int = RUNS
    ) -> None:
        self.seeds = [derived(seed, "selection", str(run)) for run in range(runs)]
        self.task = task
        self.released = Released(task, self.seeds[0]) if released is None else released
        self.normalized = task.measure == "normalized_score"
        table, known = task.table, self.released.names
        self._originals = {
            name: _Original(_finite(table[name], name))
            for name in table.column_names
            if name in known and kind_of(table[name].type) == "numeric"
            if table[name].null_count < table.num_rows
        }
        self.names = list(self._originals)
        if not self.names:
            raise BadInput("a score needs numeric columns, and none is released")
        self.sets = known_sets("paper", self.names)
        self._columns: dict[tuple[Group, str, int], _Column | None] = {}
        self._linked: dict[tuple[int, tuple[Group, ...]], float] = {}
        self._trees: dict[tuple[str, ...], Nearest] = {}
        self._before: dict[tuple[str, ...], Second] = {}

    @property
    def queries(self) -> int:
        """Records that are looked for: always all."""
        return self.task.table.num_rows

    @property
    def space(self) -> Space:
        """What is chosen from."""
        return self.task.space

    def figures(self, choice: Choice, queries: int | None = None) -> Figures:
        """Return risk and loss of a point in percent, the means of several runs.

        With `queries`, records are linked in the first run only.
        """
        self._forget()
        groups = {name: one for one in self.released.groups(choice) for name in one.columns}
        shares, disclosed, losses = [], [], []
        for run in range(len(self.seeds)):
            columns = self._of({name: groups[name] for name in self.names}, run)
            if len(columns) < len(self.names):
                return Figures(_WORST, _WORST, float(len(self.names) - len(columns)))
            if run < (LINKED if queries is None else 1):
                shares.append(self._link(columns, groups, run))
            disclosed.append(_disclosed(columns))
            losses.append(self._loss(columns))
        risk = 50 * (np.mean(shares) + np.mean(disclosed))
        return Figures(float(risk), float(np.mean(losses)))

    def profile(self, part: int, option: int) -> Profile:
        """Return what an option of a part loses and discloses by itself, both in percent."""
        group = Group(self.space.parts[part].columns, ((part, option),))
        of = {name: group for name in group.columns if name in self.names}
        columns = self._of(of, 0)
        if len(columns) < len(of):
            return Profile(_WORST * len(of), 0.0)
        losses = [self._loss({name: one}) for name, one in columns.items()]
        return Profile(sum(losses), 100 * sum(one.disclosed for one in columns.values()))

    # Columns

    def _of(self, groups: dict[str, Group], run: int) -> dict[str, _Column]:
        """Return what is known of columns; those that are not released as numbers are not there."""
        found = {}
        for name, group in groups.items():
            key = group, name, run
            if key not in self._columns:
                cells = self.released.of(group, self.seeds[run]).get(name)
                numeric = cells is not None and kind_of(cells.type) == "numeric"
                self._columns[key] = self._column(name, cells) if numeric else None
            one = self._columns[key]
            if one is not None:
                found[name] = one
        return found

    def _column(self, name: str, cells: pa.ChunkedArray) -> _Column | None:
        own, y = self._originals[name], _finite(cells, name)
        null = np.isnan(own.x) | np.isnan(y)
        if null.all():
            return None
        whole = not null.any()
        x, after = (own.x, y) if whole else (np.where(null, np.nan, v) for v in (own.x, y))
        usable = not own.constant and not is_constant(y)
        kind: Kind = "sd" if self.normalized else "rank"
        return _Column(
            x,
            after,
            whole,
            cell_change(x, after),
            moved=float(np.nansum(np.abs(x - after))),
            spread=0.0 if is_constant(x) else sd(x),
            cells=int((~null).sum()),
            disclosed=float(disclosed_cells(x[~null], after[~null], kind).mean()),
            standardized=standardize(y) if usable else None,
            agrees=agreeing(own.ranked, y) if usable and not self.normalized else None,
        )

    def _forget(self) -> None:
        """Forget columns and sets where they are too many."""
        if 40 * len(self._columns) * self.task.table.num_rows > _MOST_BYTES:
            self._columns.clear()
        if len(self._linked) > _MOST_SETS:
            self._linked.clear()

    # Loss

    def _loss(self, columns: dict[str, _Column]) -> float:
        changes = {name: one.change for name, one in columns.items()}
        varied = tuple(name for name, change in changes.items() if not change.constant)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Columns that are left out.
            second = None
            if varied:
                after = covariances([columns[name].y for name in varied])
                second = self._covariances(columns, varied), after
            moments = il_metrics_of(changes, second).value
            if not self.normalized:
                return moments
            moved = il1s_of(
                {name: one.moved for name, one in columns.items()},
                {name: one.spread for name, one in columns.items()},
                {name: one.cells for name, one in columns.items()},
                normalize=True,
            )
        return (min(100.0, moments) + min(100.0, 100 * moved.value)) / 2

    def _covariances(self, columns: dict[str, _Column], names: tuple[str, ...]) -> Second:
        """Return the covariances of the original, which are the same without nulls."""
        if not all(columns[name].whole for name in names):
            return covariances([columns[name].x for name in names])
        if names not in self._before:
            self._before[names] = covariances([columns[name].x for name in names])
        return self._before[names]

    # Linkage

    def _link(self, columns: dict[str, _Column], groups: dict[str, Group], run: int) -> float:
        """Return the share linked over all sets, by both ways where the score has two."""
        counts: np.ndarray | None = None
        found = []
        # The longest first, whose patterns tell those of the others.
        for names in reversed(self.sets):
            key = run, tuple(groups[name] for name in names)
            if key not in self._linked:
                usable = [name for name in names if columns[name].standardized is not None]
                shares = [self._by_distance(columns, usable)]
                if not self.normalized:
                    agrees = [one for name in usable if (one := columns[name].agrees) is not None]
                    counts = _counted(agrees, counts)
                    hits = linked(agrees, counts, self.task.table.num_rows)
                    shares.append(float(hits.mean()))
                self._linked[key] = float(np.mean(shares))
            found.append(self._linked[key])
        return float(np.mean(found))

    def _by_distance(self, columns: dict[str, _Column], names: Sequence[str]) -> float:
        n = self.task.table.num_rows
        parts = [one for name in names if (one := columns[name].standardized) is not None]
        queries = np.column_stack([np.empty((n, 0)), *parts])
        known = [self._originals[name] for name in names]
        if not all(one.whole for one in known):
            targets = np.column_stack([one.standardized for one in known])
            return float(linked_by_distance(queries, targets)[0].mean())
        key = tuple(names)
        if key not in self._trees:
            targets = np.column_stack([np.empty((n, 0)), *(one.standardized for one in known)])
            self._trees[key] = Nearest(targets)
        return float(self._trees[key].own_hits(queries).mean())


def _finite(column: pa.ChunkedArray, name: str) -> np.ndarray:
    values = float_values(column, name)
    refuse_infinite(name, values)
    return values


def _counted(agrees: Sequence[Attribute], longer: np.ndarray | None) -> np.ndarray:
    """Count patterns, or take them from the counts of more columns."""
    return pattern_counts(agrees) if longer is None else counts_of_first(longer, len(agrees))


def _disclosed(columns: dict[str, _Column]) -> float:
    """Return the share of all values that lie within an interval."""
    shares = {name: one.disclosed for name, one in columns.items()}
    return disclosure_of(shares, {name: one.cells for name, one in columns.items()}).value
