"""Whose records they are: people and households with several rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.attacks._predicates import Predicates
from discreet.attacks._reading import Tables
from discreet.errors import BadInput, nearest

# Records times predicates that are looked at at a time.
_BLOCK = 2**25


class NobodyToAttack(BadInput):
    """There are too few people, or values, to try an attack on."""


def one_of_each(whose: Any, draw: np.random.Generator) -> np.ndarray:
    """Draw a row of each value, in order; rows without one are each on their own.

    Examples
    --------
    >>> one_of_each(pa.array([7, None, 8, None]), np.random.default_rng(0))
    array([0, 1, 2, 3])
    >>> len(one_of_each(pa.array(["a", "a", "b"]), np.random.default_rng(0)))
    2
    """
    codes = whose_codes(whose)
    order = draw.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    return np.sort(order[first])


def whose_codes(whose: Any) -> np.ndarray:
    """Return a number for each person; rows that do not say whose they are get one each."""
    column = whose.combine_chunks() if isinstance(whose, pa.ChunkedArray) else whose
    codes = pc.fill_null(column.dictionary_encode().indices, -1).to_numpy().astype(np.int64)
    alone = codes < 0
    codes[alone] = int(codes.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return codes


def some_people(tables: Tables, unit: str | None, random_state: int) -> tuple[Tables, np.ndarray]:
    """Return the tables with one record of each person of the holdout, and rows to attack."""
    if unit is None:
        return tables, np.arange(tables.original.num_rows)
    check_unit(tables, unit)
    draw = np.random.default_rng((random_state, 1))
    rows, held = one_of_each(tables.original[unit], draw), tables.holdout
    if held is not None and unit in held.column_names:
        held = held.take(one_of_each(held[unit], draw))
    return Tables(tables.original, tables.protected, held), rows


def check_unit(tables: Tables, unit: str) -> None:
    """Refuse a unit that the original does not have."""
    if unit not in tables.original.column_names:
        hint = nearest(unit, tables.original.column_names)
        raise BadInput(f"unit names '{unit}', which the original does not have; {hint}")


@dataclass(frozen=True)
class People:
    """Whom the rows of a table belong to: rows in their order, where the rows of each begin."""

    n: int  # rows
    order: np.ndarray | None = None  # rows by person; None: each row is a person
    first: np.ndarray | None = None

    @classmethod
    def alone(cls, n: int) -> People:
        """Return people with one row each."""
        return cls(n)

    @classmethod
    def of(cls, table: pa.Table, unit: str | None) -> People:
        """Read whose rows they are; without that column each row is a person."""
        if unit is None or unit not in table.column_names:
            return cls(table.num_rows)
        codes = whose_codes(table[unit])
        order = np.argsort(codes, kind="stable")
        return cls(len(codes), order, np.flatnonzero(np.diff(codes[order], prepend=-1)))

    def __len__(self) -> int:
        return self.n if self.first is None else len(self.first)

    @property
    def sizes(self) -> np.ndarray:
        """How many rows each has."""
        return np.ones(self.n, int) if self.first is None else np.diff(self.first, append=self.n)

    def counts(self, asked: Predicates, values: Sequence[np.ndarray]) -> np.ndarray:
        """Count the people of whom predicates are true, by some row; exactly up to 1.

        What is true of more rows than anybody has is true of several people.
        """
        count = asked.counts(values)
        if self.first is not None:
            some = np.flatnonzero((count > 1) & (count <= self.sizes.max()))
            for chosen, _, true in self.met(asked.some(some), values) if len(some) else ():
                count[some[chosen]] = true.sum(axis=0, dtype=np.int64)
        return count

    def met(
        self, asked: Predicates, values: Sequence[np.ndarray]
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield which predicates, which people, and for each pair whether it is true: 0 or 1."""
        if self.first is None:
            for part, bits in asked.bits(values):
                for start in range(0, len(asked), 256):
                    chosen = slice(start, start + 256)
                    n = part.stop - part.start
                    yield chosen, part, np.unpackbits(bits[:, chosen], axis=0, count=n)
            return
        ordered = [one[self.order] for one in values]
        step = max(1, _BLOCK // self.n)
        for start in range(0, len(asked), step):
            chosen = slice(start, min(start + step, len(asked)))
            parts = asked.some(np.arange(chosen.start, chosen.stop)).bits(ordered)
            rows = [np.unpackbits(b, axis=0, count=p.stop - p.start) for p, b in parts]
            yield chosen, slice(None), np.maximum.reduceat(np.vstack(rows), self.first, axis=0)

    def alone_by_chance(self, share: np.ndarray) -> np.ndarray:
        """Return how likely exactly one person has a row with what a share of rows have."""
        found = np.zeros(len(share))
        with np.errstate(divide="ignore"):
            none = np.log1p(-np.minimum(share, 1 - 1e-16))
        for rows, people in zip(*np.unique(self.sizes, return_counts=True), strict=True):
            found += people * -np.expm1(rows * none) * np.exp((self.n - rows) * none)
        return found
