"""The nodes of a lattice, looked at one by one: what each would cost, before any is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import BadInput
from discreet.generalization._groups import with_null
from discreet.generalization._tuples import collapse, lay_out
from discreet.generalization.by_class import Asked
from discreet.generalization.generalize import Generalize
from discreet.generalization.hierarchy import Hierarchy
from discreet.generalization.ladder import Ladder
from discreet.generalization.privacy import bind
from discreet.generalization.quality import Quality
from discreet.generalization.search import Search
from discreet.generalization.targets import of_whole_table
from discreet.kernels import lattice as kernels


@dataclass(frozen=True)
class NodeLook:
    """What a node does to a table.

    Attributes
    ----------
    levels : dict of str to int
    classes : int
        Those that keep the privacy models.
    smallest : int
        Records in the smallest of these.
    suppressed : int
        Records in the others.
    allowed : int
        Records that may be suppressed.
    quality : float
        By the quality model of the step; lower is better.
    holds : bool
        Whether the node may be taken.
    """

    levels: dict[str, int]
    classes: int
    smallest: int
    suppressed: int
    allowed: int
    quality: float

    @property
    def holds(self) -> bool:
        """True where no more records are suppressed than may be."""
        return self.suppressed <= self.allowed


class Nodes:
    """The lattice of a `Generalize` on one table: its nodes are counted in milliseconds.

    Records with and without nulls are looked at together, a null being one more value, whatever
    the method's null policy.

    Parameters
    ----------
    method : Generalize
    table : pyarrow.Table
        With the columns to treat and those that the models read.
    counts : ndarray of int, optional
        The records that each row stands for; one by default.

    Examples
    --------
    >>> from discreet.generalization import KAnonymity
    >>> ages = pa.table({"age": [31, 34, 38, 52, 57, 59]})
    >>> method = Generalize({"age": Hierarchy.intervals(widths=[10, 20])}, KAnonymity(3))
    >>> nodes = Nodes(method, ages)
    >>> nodes.height
    {'age': 3}
    >>> nodes.at({"age": 1})
    NodeLook(levels={'age': 1}, classes=2, smallest=3, suppressed=0, allowed=0, quality=...)
    >>> nodes.best().levels
    {'age': 1}
    """

    def __init__(
        self, method: Generalize, table: pa.Table, counts: np.ndarray | None = None
    ) -> None:
        method.check_params()
        _refuse(method)
        self.names = [name for name in table.column_names if name in method.hierarchies]
        others = {name: table[name] for name in method.reads}
        weights = None if counts is None else np.ascontiguousarray(counts, np.int64)
        bound = bind(method.models, others, table.num_rows, weights)
        self.ladders: list[Ladder] = []
        codes = []
        for name in self.names:
            column = table[name]
            tree = Hierarchy.from_spec(method.hierarchies[name]).settle(column, name, weights)
            ladder, of_row = tree.bind_and_encode(column, name, weights)
            null = of_row < 0
            if null.any():
                of_row = np.where(null, len(ladder.leaves), of_row).astype(np.int32)
                ladder = with_null(ladder)
            self.ladders.append(ladder)
            codes.append(of_row)
        tuples, _ = collapse(lay_out(self.ladders), codes, bound, weights)
        given = [float((method.weights or {}).get(name, 1.0)) for name in self.names]
        self._quality = Quality(method.quality, tuples, method.aggregate, given)
        self._tuples, self._rules = tuples, bound.rules
        self.allowed = math.floor(method.suppression_limit * tuples.n)
        self._search = self._over([0] * len(self.names), [x.height for x in self.ladders])

    def _over(self, lo: Sequence[int], hi: Sequence[int]) -> Search:
        return Search(self._tuples, self._rules, self._quality, self.allowed, lo, hi)

    @property
    def records(self) -> int:
        """Records in all."""
        return self._tuples.n

    @property
    def height(self) -> dict[str, int]:
        """The highest level of each column."""
        return {n: ladder.height for n, ladder in zip(self.names, self.ladders, strict=True)}

    def labels(self, name: str, level: int) -> list[str | None]:
        """Return the labels of a column at a level."""
        return list(self.ladders[self.names.index(name)].labels[level])

    def at(self, levels: Mapping[str, int]) -> NodeLook:
        """Look at a node."""
        node = tuple(int(levels[name]) for name in self.names)
        found = self._search.look(node)
        table = self._search.classes(np.array(node, np.int64))
        out, _ = kernels.judge(self._rules, table)
        kept = table.counts[out == 0]
        return NodeLook(
            dict(zip(self.names, node, strict=True)),
            len(kept),
            int(kept.min()) if len(kept) else 0,
            int(found.suppressed),
            self.allowed,
            float(found.value),
        )

    def best(self, fixed: Mapping[str, int] | None = None) -> NodeLook | None:
        """Find the best node, with the levels of some columns fixed; None where none may be taken.

        Parameters
        ----------
        fixed : mapping of str to int, optional
        """
        fixed = fixed or {}
        lo = [fixed.get(name, 0) for name in self.names]
        hi = [fixed.get(n, x.height) for n, x in zip(self.names, self.ladders, strict=True)]
        found = self._over(lo, hi).run()
        return None if found is None else self.at(dict(zip(self.names, found.levels, strict=True)))


def _refuse(method: Generalize) -> None:
    """Refuse what a node's own classes do not tell, rather than say that it holds."""
    others = [
        *of_whole_table(method.models),
        *(model for model in method.models if hasattr(model, "population")),
        *(model for model in method.models if getattr(model, "attack", False)),
    ]
    if others:
        raise BadInput(f"single levels are not judged by {others[0].model}; run the recipe instead")
    quality = Asked(method.quality, method.aggregate, None, method.suppression_factor)
    if quality.by_class or method.suppression_factor != 0.5:
        said = f"quality = '{method.quality}'" if quality.by_class else "another suppression_factor"
        raise BadInput(f"single levels are not measured by {said}; run the recipe instead")
