"""The nodes of a lattice, looked at one by one: what each would cost, before any is chosen."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.generalization._groups import Group
from discreet.generalization._holdings import pairs
from discreet.generalization._treat import Treatment
from discreet.generalization.generalize import Generalize
from discreet.generalization.linked import LinkedTreatment
from discreet.outcome import Given, as_computed


@dataclass(frozen=True)
class NodeLook:
    """What a node does to a table.

    Attributes
    ----------
    levels : dict of str to int
    classes : int
        Those that are released.
    smallest : int
        Records in the smallest of these, or units where they are counted.
    suppressed : int
        Records in the others.
    apart : int
        Those of them that are suppressed for their nulls at every node, which the limit does not
        count.
    allowed : int
        Records that may be suppressed besides.
    quality : float
        By the quality model of the step; lower is better. Infinite where nothing is left.
    holds : bool
        Whether the method would take these levels.
    proven : bool
        False for the best that was found in a given time, where better ones may exist.
    """

    levels: dict[str, int]
    classes: int
    smallest: int
    suppressed: int
    apart: int
    allowed: int
    quality: float
    holds: bool
    proven: bool = True


class Nodes:
    """The lattice of a `Generalize` on one table: what the method makes of it at given levels.

    The table is read and encoded once; each node is then decided on by the method itself, in
    milliseconds.

    Parameters
    ----------
    method : Generalize
        One level holds for all records of a column, also where it is to recode locally.
    given : Given or pyarrow.Table
        The columns to treat and those that the models read, with the units that these count; or a
        table of such columns, whose records are counted.

    Examples
    --------
    >>> from discreet.generalization import Hierarchy, KAnonymity
    >>> ages = pa.table({"age": [31, 34, 38, 52, 57, 59]})
    >>> method = Generalize({"age": Hierarchy.intervals(widths=[10, 20])}, KAnonymity(3))
    >>> nodes = Nodes(method, ages)
    >>> nodes.height
    {'age': 3}
    >>> found = nodes.at({"age": 1})
    >>> found.classes, found.smallest, found.suppressed, found.holds
    (2, 3, 0, True)
    >>> nodes.best().levels
    {'age': 1}
    """

    def __init__(self, method: Generalize, given: Given | pa.Table) -> None:
        self._method = method = copy(method)
        method.local, method.publish_minimal, method.levels = False, True, None
        method.check_params()
        if isinstance(given, pa.Table):
            given = _given(method, given)
        method.check_treated(list(given.columns))
        self._units = given.units
        self._treatment = (
            Treatment(method, given.columns, given.others, None, given.units, decide=False)
            if given.linked is None
            else LinkedTreatment(method, given, decide=False)
        )
        self.names = self._treatment.names
        # What refuses every node is said at once.
        top = self._decided(self.height, 1.0)
        searched = [one.group for one in top.done if one.group.treatment == "search"]
        self.allowed = sum(map(self._most, searched))
        self.apart = sum(one.group.n for one in top.done if one.group.treatment == "suppress")
        # Those that the method may give levels of their own.
        self.groups = len(searched)

    def _decided(
        self, levels: Mapping[str, int | list[int]], limit: float, seconds: float | None = None
    ) -> Treatment:
        treatment = copy(self._treatment)
        treatment.method = copy(self._method)
        limits = [one for one in (self._method.time_limit, seconds) if one is not None]
        treatment.method.time_limit = min(limits, default=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The run has them.
            return treatment.with_levels(levels, limit)

    @property
    def records(self) -> int:
        """Records in all."""
        return self._treatment.n

    @property
    def height(self) -> dict[str, int]:
        """The highest level of each column."""
        ladders = self._treatment.ladders
        return {n: ladder.height for n, ladder in zip(self.names, ladders, strict=True)}

    def labels(self, name: str, level: int) -> list[str | None]:
        """Return the labels of a column at a level."""
        return list(self._treatment.ladders[self.names.index(name)].labels[level])

    def at(self, levels: Mapping[str, int]) -> NodeLook:
        """Look at a node."""
        node = {name: int(levels[name]) for name in self.names}
        try:
            found = self._decided(node, 1.0)
        except BadInput:
            return NodeLook(node, 0, 0, self.records, self.apart, self.allowed, math.inf, False)
        sizes = self._sizes(found)
        return NodeLook(
            node,
            len(sizes),
            int(sizes.min()) if len(sizes) else 0,
            int(found.suppressed.sum()),
            self.apart,
            self.allowed,
            float(found.quality()),
            self._holds(node, found),
        )

    def _holds(self, node: dict[str, int], found: Treatment) -> bool:
        """Tell whether no group suppresses more than the limit."""
        searched = [one.group for one in found.done if one.group.treatment == "search"]
        if all(group.of(found.suppressed).sum() <= self._most(group) for group in searched):
            return True
        if len(found.done) == 1:
            return False
        # What goes since groups have labels in common is not within the limit.
        try:
            self._decided(node, self._method.suppression_limit)
        except BadInput:
            return False
        return True

    def _most(self, group: Group) -> int:
        """Return how many records of a group may be suppressed."""
        return math.floor(self._method.suppression_limit * group.n + 1e-9)

    def _sizes(self, found: Treatment) -> np.ndarray:
        """Count the records or units of the classes that are released.

        Records with nulls and others may have the same labels, though they are decided on apart.
        """
        of_row = np.full(found.rows, -1)
        keys: list[np.ndarray] = []
        for done in found.done:
            rows = slice(None) if done.group.rows is None else done.group.rows
            of_row[rows] = done.classes(sum(k.shape[1] for k in keys))
            keys += [one.classes.keys for one in done.rounds]
        kept = np.flatnonzero((of_row >= 0) & ~found.suppressed)
        classes = of_row[kept]
        if len(keys) > 1:
            _, alike = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
            classes = alike.ravel()[classes]
        if self._units is not None:
            classes = classes[pairs(self._units[kept], classes)[1]]
        sizes = np.bincount(classes)
        return sizes[sizes > 0]

    def best(
        self, fixed: Mapping[str, int] | None = None, seconds: float | None = None
    ) -> NodeLook | None:
        """Find the best node, with the levels of some columns fixed; None where none may be taken.

        Where records with nulls are generalized apart, the method may give each group levels of
        its own. Of levels that hold for all of them only good ones are found: from those that are
        best for a group, the level of one column is changed at a time, as long as that is better.

        Parameters
        ----------
        fixed : mapping of str to int, optional
        seconds : float, optional
            How long to look; as long as it takes by default.
        """
        fixed = fixed or {}
        levels = {n: [fixed.get(n, 0), fixed.get(n, top)] for n, top in self.height.items()}
        start, several = time.monotonic(), self.groups > 1
        half = seconds / 2 if several and seconds is not None else seconds
        try:
            found = self._decided(levels, self._method.suppression_limit, half)
        except BadInput:
            return None
        nodes = [one.rounds[0].levels for one in found.done if one.group.treatment == "search"]
        if several:
            nodes += [tuple(map(max, *nodes)), tuple(highest for _, highest in levels.values())]
        looks = [self.at(dict(zip(self.names, node, strict=True))) for node in set(nodes)]
        held = sorted((look for look in looks if look.holds), key=_rank)
        if several:
            until = math.inf if seconds is None else start + seconds
            held = [self._improved(look, levels, until) for look in held]
        best = min(held, key=_rank, default=None)
        return best and replace(best, proven=not several and found.certificates[0].gap == 0)

    def _improved(self, best: NodeLook, levels: Mapping[str, list[int]], until: float) -> NodeLook:
        """Change the level of one column after the other, until none is better or time is up."""
        moved = True
        while moved:
            moved = False
            for name, (lowest, highest) in levels.items():
                for level in range(lowest, highest + 1):
                    if level == best.levels[name]:
                        continue
                    if time.monotonic() > until:
                        return best
                    look = self.at({**best.levels, name: level})
                    if look.holds and _rank(look) < _rank(best):
                        best, moved = look, True
        return best


def _rank(look: NodeLook) -> tuple[float, tuple[int, ...]]:
    return look.quality, tuple(look.levels.values())


def _given(method: Generalize, table: pa.Table) -> Given:
    columns = {name: table[name] for name in table.column_names if name in method.hierarchies}
    others = {name: table[name] for name in method.reads}
    return Given(columns, partial(Draws, 0), as_computed, None, others)
