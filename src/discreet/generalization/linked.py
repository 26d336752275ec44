"""Rows that an intruder sees to belong together: what must go so that k units share them.

The items of a unit are the labels of its rows, taken together; what was suppressed says nothing and
is no item. Any m of a unit's items must be found in k units (k^m-anonymity, Terrovitis, Mamoulis
and Kalnis 2008), or, where all of them may be known, its whole set must be that of k units. With a
confidential column the rows by which these units hold them must have l distinct values, the
(k, l)-diversity of Gong et al., "Anonymizing 1:M microdata with high utility" (2017), for every
combination that may be known.

Coarser labels keep all this: what k units shared they still share. So levels are searched as
before, and at each node the rows are suppressed that stand in the way, a few at a time: which are
the fewest is not known, and the search proves its optimum for this way of choosing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._groups import Group
from discreet.generalization._recode import Settings, recode
from discreet.generalization._treat import Treatment, _Done
from discreet.generalization._tuples import Tuples, collapse
from discreet.generalization.by_class import BY_CLASS
from discreet.generalization.ladder import Ladder
from discreet.generalization.models import LDiversity
from discreet.generalization.quality import Quality
from discreet.generalization.search import Levels, Node, Search, judge
from discreet.generalization.targets import refuse_whole
from discreet.kernels import linked as kernels
from discreet.kernels.lattice import Table, penalties, roll_up, spread, together
from discreet.kernels.privacy import Rules
from discreet.outcome import Given
from discreet.table.classes import encode
from discreet.table.linked import Failed, Itemsets

# Tells which of the rows that are left are in a class that breaks a model, at some levels.
Failing = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Linking:
    """Rows by unit, and what combinations of them must keep.

    Attributes
    ----------
    units : ndarray of int
        The unit of each row, as 0, 1, ...
    known : int, optional
        How many of a unit's rows may be known; None for all.
    k : int
        Units that must share them.
    diverse : sequence of (ndarray, int)
        Confidential values by row (-1 is none), and how many distinct ones there must be.
    failing : callable
        Classes must keep the models too, as far as rows are left in them.
    """

    units: np.ndarray
    known: int | None
    k: int
    diverse: Sequence[tuple[np.ndarray, int]]
    failing: Failing

    def suppressed(
        self, levels: np.ndarray, items: np.ndarray, broken: np.ndarray, most: int
    ) -> tuple[np.ndarray, int]:
        """Mark rows so that those that are left keep everything; all, if more than `most` must go.

        `items` are the classes of rows at some levels, and `broken` marks those whose class breaks
        a model. Also returns how many rows must go besides, at these levels and at all finer ones.
        """
        everything, gone = np.full(len(items), True), broken.copy()
        sets = Itemsets.of(np.where(gone, -1, items), self.units)
        failed = self._failed(sets)
        # No unit gains an item: one that holds what too few do loses a row, at finer levels too.
        least = len(np.unique(np.concatenate([one.holders for one in failed])))
        if gone.sum() + least > most:
            return everything, least
        while gone.sum() <= most:
            entries = self._chosen(sets, failed)
            if not entries.any():
                return gone, least
            gone |= sets.of_rows(entries)
            gone |= self.failing(levels, ~gone)
            sets = Itemsets.of(np.where(gone, -1, items), self.units)
            failed = [] if self.known is None else self._failed(sets)
        return everything, least

    def _failed(self, sets: Itemsets) -> list[Failed]:
        """Find the combinations that fail; of whole sets, the pairs in them that do."""
        if self.known is None or not self.diverse:
            return [sets.failed(self.k, self.known or 2)]
        return [sets.failed(self.k, self.known, *diverse) for diverse in self.diverse]

    def _chosen(self, sets: Itemsets, failed: Sequence[Failed]) -> np.ndarray:
        """Mark entries of units that do not share enough."""
        if self.known is None:
            return self._of_whole_sets(sets)
        entries = np.zeros(len(sets.items), bool)
        for one in failed:
            found = one.combinations, one.support, one.holders
            entries |= kernels.broken_up(sets.starts, sets.items, sets.rows, *found)
        return entries

    def _of_whole_sets(self, sets: Itemsets) -> np.ndarray:
        """Mark the item that the fewest units hold, in each unit whose set too few units have.

        Step by step such sets become one that others have, or empty.
        """
        bad = sets.units_of_sets < self.k
        for values, least in self.diverse:
            bad |= sets.values_of_sets(values) < least
        # The items of a unit by how many units hold them; no two have the same rank.
        rank = np.argsort(np.argsort(sets.support, kind="stable"), kind="stable")[sets.items]
        full = np.flatnonzero(np.diff(sets.starts))
        rarest = np.full(len(sets.sets), -1)
        if len(full):
            rarest[full] = np.minimum.reduceat(rank, sets.starts[full])
        return (rank == rarest[sets.owner]) & bad[sets.sets[sets.owner]]


class LinkedTreatment(Treatment):
    """A table generalized whose rows can be seen to belong together."""

    def __init__(self, method: Any, given: Given, decide: bool = True) -> None:
        assert given.linked is not None
        if method.local:
            raise BadInput(
                "rows of a unit can be seen to belong together, and local recoding does not "
                "protect that; use global recoding, local = false"
            )
        refuse_whole(
            method.models, "rows of a unit can be seen to belong together here; use k-anonymity"
        )
        for model in method.models:
            if getattr(model, "population", None) is not None:
                raise BadInput(
                    f"{model.model} counts records of a population, and here rows of a unit can "
                    "be seen to belong together; use k-anonymity"
                )
        if method.quality in BY_CLASS or method.suppression_factor != 0.5:
            raise BadInput(
                "rows of a unit can be seen to belong together, and are suppressed one by one: "
                f"quality = '{method.quality}', and a suppression_factor, look at whole classes; "
                "use quality = 'loss'"
            )
        nulls = any(column.null_count for column in given.columns.values())
        if nulls and method.null_policy != "value":
            raise BadInput(
                "rows of a unit can be seen to belong together, and some have nulls; set "
                "null_policy = 'value', so that all are generalized alike"
            )
        self.linked = given.linked
        self.dropped = np.empty(0, np.int64)
        draws = method._levels_drawn_by(given.draws)
        super().__init__(method, given.columns, given.others, None, given.units, draws, decide)

    def _group(self, group: Group, k: int) -> _Done:
        """Search with all rows, and suppress single ones where that is needed."""
        tuples, ids = self._collapsed(group)
        diverse = [
            (encode(self.others[model.column], model.column)[0], int(model.l))
            for model in self.models
            if isinstance(model, LDiversity) and model.kind == "distinct"
        ]
        linking = Linking(self.linked.units, self.linked.known, k, diverse, self._failing)
        settings = _Settings(**vars(self.settings), linking=linking, ids=ids)
        (one,) = recode(tuples, self.bound.rules, settings, self.budget, "")
        levels = np.array(one.levels, np.int64)
        table, above, broken = _at(levels, tuples, self.bound.rules)
        gone, _ = linking.suppressed(levels, above[ids], broken[ids], len(ids))
        counts = np.bincount(above[ids[~gone]], minlength=len(table.counts))
        held = counts > 0
        classes = Tuples(tuples.lattice, table).part(held).table._replace(counts=counts[held])
        self.certificates.append(one.certificate)
        self.suppressed[:] = gone
        self.unsafe[:] = gone & (not self._keep(gone))
        self.dropped = np.flatnonzero(gone & held[above[ids]])
        class_of = np.where(held, np.cumsum(held) - 1, -1)[above]
        kept = replace(one, members=np.arange(len(above)), class_of=class_of, classes=classes)
        done = _LinkedDone(group, tuples, ids, [kept], ~held[above])
        done.unsafe, done.dropped = bool(self.unsafe.any()), self.dropped
        return done

    def _failing(self, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Mark those of some rows whose class breaks a model."""
        tuples, ids = self._part(rows)
        _, _, broken = _at(levels, tuples, self.bound.rules)
        marks = np.zeros(self.rows, bool)
        marks[rows] = broken[ids]
        return marks

    def _keep(self, rows: np.ndarray) -> bool:
        """Tell whether some rows would keep the models as one class."""
        tuples, _ = self._part(rows)
        whole = np.full(len(tuples.table.counts), True)
        return not rows.any() or together(self.bound.rules, tuples.table, whole)

    def _part(self, rows: np.ndarray) -> tuple[Tuples, np.ndarray]:
        return collapse(self.lattice, [c[rows] for c in self.codes], self.bound.part(rows))

    def _labels(self, a: int) -> tuple[np.ndarray, pa.Array]:
        place, texts = super()._labels(a)
        place[self.dropped] = len(texts) - 1
        return place, texts


class _LinkedDone(_Done):
    """What was done, with rows that were suppressed though their class was kept."""

    dropped: np.ndarray

    def describe(self, names: list[str], ladders: list[Ladder]) -> dict[str, Any]:
        """Return the group's part of the plan, with the numbers of these rows."""
        said = super().describe(names, ladders)
        said["suppressed"] += len(self.dropped)
        return said | {"dropped": self.dropped}


@dataclass(frozen=True)
class _Settings(Settings):
    """What a search of linked rows is to do; `ids` are the tuples of the rows."""

    linking: Linking | None = None
    ids: np.ndarray | None = None

    def search(self, tuples: Tuples, rules: Rules, quality: Quality, allowed: int) -> Search:
        search = _Search(tuples, rules, quality, allowed, self.lo, self.hi)
        search.linking, search.ids = self.linking, self.ids
        return search


class _Search(Search):
    """A search in which rows are suppressed one by one, besides those of whole classes."""

    linking: Any
    ids: Any

    def _judged(self, levels: Levels, node: Node) -> Node:
        """Suppress rows at a node, unless it cannot be taken without that already."""
        if node.suppressed > self.allowed or not (self.drawn or self._is_best(levels, node)):
            return node
        quality, lattice, target = self.quality, self.tuples.lattice, np.array(levels, np.int64)
        table, above, broken = _at(target, self.tuples, self.rules)
        of_row = above[self.ids], broken[self.ids]
        gone, more = self.linking.suppressed(target, *of_row, self.allowed)
        out = np.bincount(above[self.ids[gone]], minlength=len(table.counts))
        suppressed, penalty = penalties(lattice, table, target, out, quality.kind, quality.n)
        total = 0.0 if quality.by_column else spread(lattice, table, target, quality.kind)
        value = quality.value(levels, quality.weighed(penalty.tolist(), suppressed), total)
        # A unit that does not share enough loses a row at every finer node too.
        return replace(node, suppressed=suppressed, barred=node.barred + more, value=value)


def _at(levels: np.ndarray, tuples: Tuples, rules: Rules) -> tuple[Table, np.ndarray, np.ndarray]:
    """Return the classes of a node, and of each tuple its class, and whether it breaks a model."""
    table, above = roll_up(tuples.lattice, tuples.table, np.zeros_like(levels), levels)
    out, _ = judge(tuples.lattice, rules, table, levels, None)
    return table, above, out[above] > 0
