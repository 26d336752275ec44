"""Extended match: a null equals any value, so a record has all that it matches for company."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.wildcard import wildcard_counts


class Matching:
    """Judges the classes of a node by the records that they match.

    `nullable` tells of each column whether its last leaf is a null.
    """

    def __init__(self, nullable: Sequence[bool], k: int) -> None:
        self.nullable, self.k = nullable, k

    def suppressed(self, lattice: Lattice, table: Table, node: np.ndarray) -> np.ndarray:
        """Return the suppressed records by class.

        A suppressed record is company to none, so classes go until each of the rest matches k
        records of the rest. What stays at a node stays at every coarser one.
        """
        codes, sizes = self._codes(lattice, table, node)
        left = np.arange(len(table.counts))
        while len(left):
            counts = table.counts[left]
            matched, _ = wildcard_counts(codes[left], sizes, counts, np.zeros(len(left)))
            if (matched >= self.k).all():
                break
            left = left[matched >= self.k]
        out = table.counts.copy()
        out[left] = 0
        return out

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
