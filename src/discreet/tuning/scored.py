"""Points judged by a score: the information lost and the disclosure risk that it is made of.

What goes by each column is taken once for each option and run, and added up. Linkage goes by the
first columns, then one more, and so on: only the sets in which something changed are linked again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from discreet import risk
from discreet.draws import derived
from discreet.errors import BadInput
from discreet.risk._known import known_sets
from discreet.risk.interval import disclosure_of
from discreet.tuning.cells import Group, Released
from discreet.tuning.figures import Figures
from discreet.tuning.judge import Profile
from discreet.tuning.space import Choice, Space
from discreet.utility.compared import compared, is_constant
from discreet.utility.loss import il1s
from discreet.utility.moments import CellChange, cell_change, covariances, il_metrics_of

if TYPE_CHECKING:
    from discreet.tuning.task import Task

# Releases with other seeds that a score is the mean of: that of one is off by half a point.
RUNS = 8
# Of them those in which records are linked: that takes most of the time, and scatters little.
LINKED = 3
# Percent, for points that a score says nothing of.
_WORST = 100.0


@dataclass(frozen=True)
class _Column:
    """What a score takes from one column of one run."""

    before: np.ndarray
    after: np.ndarray
    change: CellChange
    cells: int
    disclosed: float  # share of its values within an interval
    il1s: float
    released: pa.ChunkedArray


class ScoreJudge:
    """Risk and loss of points in percent, as a score has them: their mean is the score.

    Every numeric column counts. A point that drops one, or makes it text, has no score: it breaks
    a standard.

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
        self.evaluations = 0
        self.normalized = task.measure == "normalized_score"
        table = task.table.select([n for n in task.table.column_names if n in task.counted])
        self.names = list(compared(table, table, "score"))
        if not self.names:
            raise BadInput("a score needs numeric columns, and none that varies is released")
        self.sets = known_sets("paper", self.names)
        self._columns: dict[tuple[Group, int], dict[str, _Column]] = {}
        self._linked: dict[tuple[int, tuple[Group, ...]], float] = {}

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
        self.evaluations += 1
        groups = {name: one for one in self.released.groups(choice) for name in one.columns}
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Columns that a measure leaves out.
            for run in range(len(self.seeds)):
                columns = self._run(groups, run)
                if len(columns) < len(self.names):
                    return Figures(_WORST, _WORST, float(len(self.names) - len(columns)))
                linked = None
                if run < (LINKED if queries is None else 1):
                    linked = np.mean([self._link(columns, groups, n, run) for n in self.sets])
                found.append((linked, _disclosed(columns), self._loss(columns)))
        shares = [one for one, _, _ in found if one is not None]
        risk_of_both = 50 * (np.mean(shares) + np.mean([one for _, one, _ in found]))
        return Figures(float(risk_of_both), float(np.mean([one for _, _, one in found])))

    def profile(self, part: int, option: int) -> Profile:
        """Return what an option of a part loses and discloses by itself, both in percent."""
        of = [name for name in self.space.parts[part].columns if name in self.names]
        group = Group(self.space.parts[part].columns, ((part, option),))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            columns = self._of(group, 0)
            if any(name not in columns for name in of):
                return Profile(_WORST * len(of), 0.0)
            losses = [self._loss({name: columns[name]}) for name in of]
        return Profile(sum(losses), 100 * sum(columns[name].disclosed for name in of))

    def _run(self, groups: dict[str, Group], run: int) -> dict[str, _Column]:
        found: dict[str, _Column] = {}
        for name in self.names:
            columns = self._of(groups[name], run)
            if name in columns:
                found[name] = columns[name]
        return found

    def _loss(self, columns: dict[str, _Column]) -> float:
        changes = {name: one.change for name, one in columns.items()}
        varied = [one for one in columns.values() if not one.change.constant]
        second = None
        if varied:
            before, after = [one.before for one in varied], [one.after for one in varied]
            second = covariances(before), covariances(after)
        moments = il_metrics_of(changes, second).value
        if not self.normalized:
            return moments
        cells = [one.cells for one in columns.values()]
        moved = float(np.average([one.il1s for one in columns.values()], weights=cells))
        return (min(100.0, moments) + min(100.0, 100 * moved)) / 2

    def _link(
        self, columns: dict[str, _Column], groups: dict[str, Group], names: list[str], run: int
    ) -> float:
        """Return the share that is linked by some columns, by both ways where the score has two."""
        key = run, tuple(groups[name] for name in names)
        if key not in self._linked:
            before = self.task.table.select(names)
            after = pa.table({name: columns[name].released for name in names})
            found = [risk.distance_linkage(before, after, known=names)]
            if not self.normalized:
                found.append(risk.probabilistic_linkage(before, after, known=names))
            self._linked[key] = float(np.mean(found))
        return self._linked[key]

    def _of(self, group: Group, run: int) -> dict[str, _Column]:
        if (group, run) not in self._columns:
            cells = self.released.of(group, self.seeds[run])
            found = ((name, self._column(name, cells[name])) for name in cells)
            self._columns[group, run] = {name: one for name, one in found if one is not None}
        return self._columns[group, run]

    def _column(self, name: str, released: pa.ChunkedArray) -> _Column | None:
        if name not in self.names:
            return None
        before, after = self.task.table.select([name]), pa.table({name: released})
        pair = compared(before, after, "score")
        if name not in pair:
            return None
        x, y = pair[name]
        kind: Literal["sd", "rank"] = "sd" if self.normalized else "rank"
        return _Column(
            before=x,
            after=y,
            change=cell_change(x, y),
            cells=int((~np.isnan(x)).sum()),
            disclosed=risk.interval_disclosure(before, after, kind=kind),
            il1s=0.0 if is_constant(x) else il1s(before, after, normalize=True),
            released=released,
        )


def _disclosed(columns: dict[str, _Column]) -> float:
    """Return the share of all values that lie within an interval."""
    shares = {name: one.disclosed for name, one in columns.items()}
    return disclosure_of(shares, {name: one.cells for name, one in columns.items()}).value
