"""Risk and loss of a point, added up from what is known of each column and option."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.draws import derived
from discreet.errors import BadInput
from discreet.risk._found import Sheet, Told
from discreet.risk._tells import Column
from discreet.risk._units import Units
from discreet.risk.informed import learned_from
from discreet.tuning.bounds import SCORES
from discreet.tuning.cells import Cells, Group, Released
from discreet.tuning.figures import Figures, Profile, Together
from discreet.tuning.measured import can_compare, looked_for, loss_of, standards_of
from discreet.tuning.scored import ScoreJudge
from discreet.tuning.space import Choice, Space
from discreet.utility.information import information_loss

if TYPE_CHECKING:
    from discreet.tuning.task import Task

# Runs with other seeds that the intruder learns from.
RERUNS = 3
# With fewer records all codes fit into 16 bits, even if each has other values in all runs.
_SMALL = 2**15 // (2 + RERUNS)
# Bytes of what joint parts tell, of which there is no end, before it is forgotten.
_MOST_BYTES = 1 << 28
# What cannot be released at all is worse than anything that can.
REFUSED = Figures(1.0, 1.0, 1e6)
_REFUSED_SCORE = Figures(100.0, 100.0, 1e6)


@dataclass(frozen=True)
class _Known:
    """What is known of a column as a group releases it."""

    loss: float | None  # None where the column does not count
    told: Told | None  # None where the intruder does not know it


class Judge:
    """Risk and loss of points: of the informed intruder and of the information lost, or of a score.

    A column of an option is looked at once. The release goes by one seed, and what the intruder
    learns from by others, the same for all points.

    Parameters
    ----------
    task : Task
    released : Released, optional
    seed : int

    Attributes
    ----------
    queries : int
        The records that are looked for, where `figures` is not asked for fewer.
    """

    def __init__(self, task: Task, released: Released | None = None, seed: int = 0) -> None:
        self.seeds = [derived(seed, "selection", str(run)) for run in range(1 + RERUNS)]
        self.task = task
        self.released = Released(task, self.seeds[0]) if released is None else released
        n = task.table.num_rows
        order = np.random.default_rng(0).permutation(n)
        self.queries = looked_for(n)
        rows, self._units = order[: self.queries], None
        if task.unit is not None:
            self._units = Units(task.table[task.unit], task.known_rows)
            rows, self.queries = self._units.rows, self._units.asked
        self._sheet = Sheet(rows, small=n < _SMALL)
        [(_, self._learned)] = learned_from(order, order, RERUNS)
        self._counted = [name for name in task.counted if _varies(task, name)]
        self._scored = ScoreJudge(task, self.released, seed) if task.measure in SCORES else None
        self._groups: dict[Group, dict[str, _Known]] = {}
        # Those of several parts, with the bytes that they take on the sheet.
        self._joint: dict[Group, int] = {}

    @property
    def space(self) -> Space:
        """What is chosen from."""
        return self.task.space

    def figures(self, choice: Choice, queries: int | None = None) -> Figures:
        """Return risk and loss of a point; with `queries`, the risk of so many records only.

        A point that the flow refuses has the worst figures that there are. Standards are left to
        `checked`.
        """
        self._forget()
        try:
            if self._scored is not None:
                return self._scored.figures(choice, queries)
            known = {n: one for g in self.released.groups(choice) for n, one in self._of(g).items()}
            told = [known[name].told for name in self.task.known if name in known]
            risk = self._found([one for one in told if one is not None], queries)
            if self.task.measure is None:
                return Figures(risk, self._loss(known))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Columns that a measure leaves out.
                run = self.released.table(choice, self.seeds[0])
                return Figures(risk, loss_of(self.task, self.task.table, run))
        except BadInput:
            return REFUSED if self._scored is None else _REFUSED_SCORE

    def checked(self, choice: Choice, figures: Figures) -> Figures:
        """Return the figures of a point with by how much it breaks the minimum standards."""
        if not self.task.standards or figures.broken >= REFUSED.broken:
            return figures
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = self.released.table(choice, self.seeds[0])
            found = standards_of(self.task, self.task.table, run)
        limits = self.task.standards
        over = sum(max(0.0, value - limits[name]) for name, value in found.items())
        return replace(figures, broken=figures.broken + over)

    def profile(self, part: int, option: int) -> Profile:
        """Return loss and bits of an option of a part that is not joint.

        Of a score, instead, both halves as far as they are the column's own. An option that the
        flow refuses has an infinite loss.
        """
        columns = self.space.parts[part].columns
        group = Group(columns, ((part, option),))
        try:
            if self._scored is not None:
                return self._scored.profile(part, option)
            known = self._of(group)
            cells = self.released.of(group, self.seeds[0])
            released = {name: one.type for name, one in cells.items()}
        except BadInput:
            return Profile(np.inf, np.inf)
        if not can_compare(self.task, columns, released):
            return Profile(np.inf, np.inf)
        counted = [name for name in columns if name in self._counted]
        loss = sum((known[name].loss or 0.0) if name in known else 1.0 for name in counted)
        bits = sum(one.told.bits for one in known.values() if one.told is not None)
        return Profile(loss, bits)

    def together(self, part: int, option: int) -> Together | None:
        """Return what an option of a joint part costs and tells; None if the flow refuses it."""
        first = self.space.first()
        choice = (*first[:part], option, *first[part + 1 :])
        columns = self.space.parts[part].columns
        try:
            known = {n: one for g in self.released.groups(choice) for n, one in self._of(g).items()}
        except BadInput:
            return None
        told = [known[name].told for name in columns if name in known]
        found = self._found([one for one in told if one is not None], None)
        losses = {
            name: (known[name].loss or 0.0) if name in known else 1.0
            for name in columns
            if name in self._counted
        }
        return Together(losses, float(np.log2(max(1.0, found * self.task.table.num_rows))))

    def _loss(self, known: Mapping[str, _Known]) -> float:
        """Return the mean over the columns that count, those that are dropped being lost whole."""
        lost = [known[name].loss if name in known else 1.0 for name in self._counted]
        return sum(one for one in lost if one is not None) / max(1, len(lost))

    def _found(self, told: Sequence[Told], queries: int | None) -> float:
        if self._units is not None:
            return float(self._units.hits(self._sheet, told, queries).mean())
        if not told:
            return 1.0 / self.task.table.num_rows
        return float(self._sheet.hits(told, queries).mean())

    # Columns

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
            before = self._sheet.nbytes
            runs = [self.released.of(group, seed) for seed in self.seeds]
            self._groups[group] = {name: self._known(name, runs) for name in runs[0]}
            if len(group.options) > 1:
                self._joint[group] = self._sheet.nbytes - before

    def _known(self, name: str, runs: list[Cells]) -> _Known:
        original = self.task.table.select([name])
        loss, told = None, None
        if name in self._counted and self._scored is None:
            loss = information_loss(original, pa.table({name: runs[0][name]}))
        if name in self.task.known:
            column = Column(name, original[name], [run[name] for run in runs])
            tells = column.settled() if column.repeats else column.drawn(self._learned)
            told = self._sheet.add(tells)
        return _Known(loss, told)

    def _forget(self) -> None:
        """Forget the older half of what joint parts tell, of which there is no end."""
        if sum(self._joint.values()) <= _MOST_BYTES:
            return
        for group in list(self._joint)[: len(self._joint) // 2 + 1]:
            del self._joint[group], self._groups[group]
        kept = [
            (known, name) for known in self._groups.values() for name in known if known[name].told
        ]
        told = [one for known, name in kept if (one := known[name].told) is not None]
        self._sheet, again = self._sheet.only(told)
        for (known, name), one in zip(kept, again, strict=True):
            known[name] = replace(known[name], told=one)


def _varies(task: Task, name: str) -> bool:
    """Tell whether a column of the original has something to lose."""
    original = task.table.select([name])
    try:
        information_loss(original, original)
    except BadInput:
        return False
    return True
