"""Risk and loss of a point, added up from what is known of each column and option."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.draws import derived
from discreet.errors import BadInput
from discreet.risk._found import Sheet, Told
from discreet.risk._tells import Column
from discreet.risk.informed import learned_from
from discreet.tuning.cells import Cells, Group, Released
from discreet.tuning.figures import Figures
from discreet.tuning.space import Choice, Space
from discreet.utility.information import information_loss

if TYPE_CHECKING:
    from discreet.tuning.task import Task

# Runs with other seeds that the intruder learns from.
RERUNS = 3
# Records that are looked for: all of a small table.
_ALL, _SOME = 5_000, 2_000
# With fewer records all codes fit into 16 bits, even if each has other values in all runs.
_SMALL = 2**15 // (2 + RERUNS)


@dataclass(frozen=True)
class Profile:
    """What an option of a part does by itself: loss, and bits told, summed over its columns."""

    loss: float
    bits: float


@dataclass(frozen=True)
class _Known:
    """What is known of a column as a group releases it."""

    loss: float | None  # None where the column does not count
    told: Told | None  # None where the intruder does not know it


class Judge:
    """Risk and loss of points, by the informed intruder and by the information lost.

    A column of an option is looked at once. The release goes by one seed, and what the intruder
    learns from by others, the same for all points.

    Parameters
    ----------
    task : Task
    released : Released, optional
    seed : int
    """

    def __init__(self, task: Task, released: Released | None = None, seed: int = 0) -> None:
        self.seeds = [derived(seed, "selection", str(run)) for run in range(1 + RERUNS)]
        self.task = task
        self.released = Released(task, self.seeds[0]) if released is None else released
        self.evaluations = 0
        n = task.table.num_rows
        order = np.random.default_rng(0).permutation(n)
        self._sheet = Sheet(order[: n if n <= _ALL else _SOME], small=n < _SMALL)
        [(_, self._learned)] = learned_from(order, order, RERUNS)
        self._counted = [name for name in task.counted if _varies(task, name)]
        self._groups: dict[Group, dict[str, _Known]] = {}

    def figures(self, choice: Choice, queries: int | None = None) -> Figures:
        """Return risk and loss of a point; with `queries`, the risk of so many records only."""
        self.evaluations += 1
        known: dict[str, _Known] = {}
        for group in self.released.groups(choice):
            known |= self._of(group)
        lost = [known[name].loss for name in self._counted if name in known]
        loss = (sum(one for one in lost if one is not None) + len(self._counted) - len(lost)) / max(
            1, len(self._counted)
        )
        told = [known[name].told for name in self.task.known if name in known]
        return Figures(self._found([one for one in told if one is not None], queries), loss)

    def profile(self, part: int, option: int) -> Profile:
        """Return loss and bits of an option of a part that is not joint."""
        columns = self.space.parts[part].columns
        known = self._of(Group(columns, ((part, option),)))
        counted = [name for name in columns if name in self._counted]
        loss = sum((known[name].loss or 0.0) if name in known else 1.0 for name in counted)
        bits = sum(one.told.bits for one in known.values() if one.told is not None)
        return Profile(loss, bits)

    @property
    def queries(self) -> int:
        """Records that are looked for, where it is not said how many."""
        return len(self._sheet.rows)

    @property
    def space(self) -> Space:
        """What is chosen from."""
        return self.task.space

    def _found(self, told: list[Told], queries: int | None) -> float:
        if not told:
            return 1.0 / self.task.table.num_rows
        return float(self._sheet.hits(told, queries).mean())

    def _of(self, group: Group) -> dict[str, _Known]:
        """Return what is known of the columns of a group that are released."""
        if group not in self._groups:
            self._look_at(group)
            # Those that are made together are looked at together, as long as their cells are here.
            for one in self.released.beside(group):
                with suppress(BadInput):
                    self._look_at(one)
        return self._groups[group]

    def _look_at(self, group: Group) -> None:
        if group not in self._groups:
            runs = [self.released.of(group, seed) for seed in self.seeds]
            self._groups[group] = {name: self._known(name, runs) for name in runs[0]}

    def _known(self, name: str, runs: list[Cells]) -> _Known:
        original = self.task.table.select([name])
        loss, told = None, None
        if name in self._counted:
            loss = information_loss(original, pa.table({name: runs[0][name]}))
        if name in self.task.known:
            column = Column(name, original[name], [run[name] for run in runs])
            tells = column.settled() if column.repeats else column.drawn(self._learned)
            told = self._sheet.add(tells)
        return _Known(loss, told)


def _varies(task: Task, name: str) -> bool:
    """Tell whether a column of the original has something to lose."""
    original = task.table.select([name])
    try:
        information_loss(original, original)
    except BadInput:
        return False
    return True
