"""Extended match: a null equals any value, so a record has all that it matches for company."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.wildcard import wildcard_counts, wildcard_units


class Matching:
    """Judges the classes of a node by the records, or the units, that they match.

    `nullable` tells of each column whether its last leaf is a null, and `units` where units are
    counted; -1 where records are.
    """

    def __init__(self, nullable: Sequence[bool], k: int, units: int = -1) -> None:
        self.nullable, self.k, self.units = nullable, k, units

    def suppressed(self, lattice: Lattice, table: Table, node: np.ndarray) -> np.ndarray:
        """Return the suppressed records by class.

        A suppressed record is company to none, so classes go until each of the rest matches k
        of the rest. What stays at a node stays at every coarser one.
        """
        codes, sizes = self._codes(lattice, table, node)
        left, rest = np.arange(len(table.counts)), Tuples(lattice, table)
        while len(left):
            enough = self._enough(codes[left], sizes, rest)
            if enough.all():
                break
            left, rest = left[enough], rest.part(enough)
        out = table.counts.copy()
        out[left] = 0
        return out

    def _enough(self, codes: np.ndarray, sizes: np.ndarray, classes: Tuples) -> np.ndarray:
        """Tell which classes match k records or units."""
        table = classes.table
        if self.units < 0:
            matched, _ = wildcard_counts(codes, sizes, table.counts, np.zeros(len(codes)))
            return matched >= self.k
        own, shared = classes.own(self.units), table.shared
        starts = shared.starts if len(shared.starts) > 1 else np.zeros(len(own) + 1, np.int64)
        return wildcard_units(codes, sizes, own, starts, shared.holdings, len(shared.place), self.k)

    def _codes(
        self, lattice: Lattice, table: Table, node: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        classes = Tuples(lattice, table)
        sizes = np.array(
            [lattice.first[a, v + 1] - lattice.first[a, v] for a, v in enumerate(node)]
        )
        codes = np.empty((len(table.counts), len(node)), np.int64)
        for a, level in enumerate(node):
            codes[:, a] = classes.codes(a)
            if self.nullable[a] and level < lattice.height[a]:
                codes[codes[:, a] == sizes[a] - 1, a] = -1
        return codes, sizes
