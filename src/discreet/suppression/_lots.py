"""What the strict solver works on: items to be placed, and lots, which say how they are."""

from __future__ import annotations

import numpy as np

from discreet.kernels import suppression as kernel
from discreet.suppression._problem import GONE, Problem


class Lots:
    """Members of items with their blanks: what a state holds, outside of the compiled code."""

    def __init__(self, items: np.ndarray, masks: np.ndarray, members: np.ndarray) -> None:
        # Of one layout, so that kernels are compiled once.
        self.parts = tuple(np.ascontiguousarray(part) for part in (items, masks, members))
        self.items, self.masks, self.members = self.parts

    def at(self, some: np.ndarray) -> Lots:
        """Return some of the lots."""
        return Lots(*(part[some] for part in self.parts))


class Items:
    """What is placed: tuples with their members, or one unit's hold of a tuple each."""

    def __init__(self, problem: Problem) -> None:
        held = problem.held
        self.k = problem.demands[0].k
        self.price = float(problem.record_price)
        self.tables = _tables(problem.weights)
        self.own = np.arange(len(problem.counts)) if held is None else held.tuples.astype(np.int64)
        self.codes = np.ascontiguousarray(problem.codes[self.own], dtype=np.int32)
        self.nulls = problem.nulls[self.own].astype(np.int64)
        self.counts = problem.counts.astype(np.int64) if held is None else np.ones_like(self.own)
        self.rows = np.ones(len(self.own)) if held is None else held.rows.astype(np.float64)
        self.unit = np.empty(0, np.int64)
        if held is not None:
            self.unit = np.unique(held.units, return_inverse=True)[1].astype(np.int64)

    def state(self, some: np.ndarray, lots: int, patterns: int, journal: bool) -> kernel.State:
        """Return a state of some items that has room for lots and patterns, and none yet."""
        table = np.zeros((patterns + 1, 3), np.int64)
        table[:] = kernel.UNUSED, 0, -1
        table[0, kernel.MASK] = GONE
        keys = power(4 * lots) if self.unit.size else 1
        own = np.unique(self.own[some], return_inverse=True)[1]
        places = np.zeros((lots, 6), np.int64)
        places[:, kernel.ITEM] = -1
        unit = self.unit[some] if self.unit.size else self.unit
        return kernel.State(
            self.codes[some], self.nulls[some], own, unit,
            self.rows[some], self.tables, self.price, np.full(len(some), -1), places, table,
            np.full(own.max() + 1 if len(own) else 0, -1), np.arange(lots)[::-1].copy(),
            np.arange(1, patterns + 1)[::-1].copy(), np.array([lots, patterns, 0, 0]), np.zeros(1),
            np.full(keys, -1), np.zeros(keys, np.int64),
            np.empty((8 * lots + 10_000 if journal else 0, 4), np.int64),
        )  # fmt: skip


def _tables(weights: np.ndarray) -> np.ndarray:
    """Return the weight of every set of columns, by its bytes."""
    tables = np.zeros((max(1, -(-len(weights) // 8)), 256))
    for column, weight in enumerate(weights):
        on = (np.arange(256) >> column % 8) & 1 == 1
        tables[column // 8, on] += weight
    return tables


def power(size: int) -> int:
    """Return a power of two, at least of that size."""
    return 1 << max(4, int(size - 1).bit_length())


def lots_of(state: kernel.State) -> Lots:
    """Return the lots of a state."""
    own = state.lots[state.lots[:, kernel.ITEM] >= 0]
    masks = state.patterns[own[:, kernel.PATTERN], kernel.MASK]
    return Lots(own[:, kernel.ITEM], masks, own[:, kernel.MEMBERS])
