"""Extended match: a null equals any value, so a record has all that it matches for company."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from discreet.errors import BadInput
from discreet.generalization._tuples import Tuples
from discreet.generalization.privacy import Bound
from discreet.kernels.lattice import Lattice, Table
from discreet.kernels.privacy import Rules
from discreet.kernels.wildcard import wildcard_counts, wildcard_models, wildcard_units

# Tells which classes keep something, of their codes, the columns' sizes and themselves.
Keeps = Callable[[np.ndarray, np.ndarray, Tuples], np.ndarray]


def check_units(bound: Bound) -> None:
    """Refuse models of confidential values where units are counted."""
    if bound.rules.units >= 0 and len(bound.codes):
        raise BadInput(
            "null_policy = 'match' is for k-anonymity alone where units are counted; use "
            "'segregate'"
        )


class Matching:
    """Judges the classes of a node by the records, or the units, that they match.

    `nullable` tells of each column whether its last leaf is a null.
    """

    def __init__(self, nullable: Sequence[bool], rules: Rules) -> None:
        self.nullable, self.rules = nullable, rules

    def judge(
        self, lattice: Lattice, table: Table, node: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return suppressed records by class, and those that every finer node suppresses at least.

        A suppressed record is company to none, so classes go until what each of the rest matches
        keeps the models. What matches k records and so many distinct values at a node does so at
        every coarser one; for the other models this need not be.
        """
        codes, sizes = self._codes(lattice, table, node)
        left, rest = np.arange(len(table.counts)), Tuples(lattice, table)
        # Few are left of those that match too few, and only they need a look at their values.
        left, rest = self._rest(codes, sizes, left, rest, self._numerous)
        if self.rules.least.any():
            left, rest = self._rest(codes, sizes, left, rest, partial(self._keeps, wholly=False))
        sure = table.counts.copy()
        sure[left] = 0
        if not len(self.rules.kinds):
            return sure, sure
        left, _ = self._rest(codes, sizes, left, rest, partial(self._keeps, wholly=True))
        out = table.counts.copy()
        out[left] = 0
        return out, sure

    def _rest(
        self, codes: np.ndarray, sizes: np.ndarray, left: np.ndarray, rest: Tuples, keeps: Keeps
    ) -> tuple[np.ndarray, Tuples]:
        """Take classes away until all that are left keep the models."""
        while len(left):
            kept = keeps(codes[left], sizes, rest)
            if kept.all():
                break
            left, rest = left[kept], rest.part(kept)
        return left, rest

    def _keeps(
        self, codes: np.ndarray, sizes: np.ndarray, classes: Tuples, wholly: bool
    ) -> np.ndarray:
        """Tell which classes keep the models with what they match."""
        table = classes.table
        held = table.starts, table.values, table.numbers
        return wildcard_models(codes, sizes, table.counts, *held, self.rules, wholly)

    def _numerous(self, codes: np.ndarray, sizes: np.ndarray, classes: Tuples) -> np.ndarray:
        """Tell which classes match k records, or units."""
        table, rules = classes.table, self.rules
        if rules.units >= 0:
            own, shared = classes.own(rules.units), table.shared
            starts = shared.starts if len(shared.starts) > 1 else np.zeros(len(own) + 1, np.int64)
            size = len(shared.place)
            return wildcard_units(codes, sizes, own, starts, shared.holdings, size, rules.k)
        matched, _ = wildcard_counts(codes, sizes, table.counts, np.zeros(len(codes)))
        return matched >= rules.k

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
