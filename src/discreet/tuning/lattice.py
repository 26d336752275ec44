"""Try every node of a lattice once, for all k and all quality models.

`Generalize` searches the lattice for one k and one model, which looks at a few nodes only. Where
many searches are asked for on the same records, forming the classes of each node once is quicker.
Values are computed from the definitions and share nothing with the search.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from discreet.generalization.quality import OF_LEVELS, Quality
from discreet.generalization.search import Search, guide
from discreet.kernels.sweep import class_sums, climb, suppressed_entropy

# Relative differences below this are rounding, and such nodes tie, as for the search.
_QUANTUM = 40
# Values that are nearer than this may tie: the search's own figures decide.
_NEAR = 1e-9
# Nodes that are tried for each search that is spared; a search looks at one in twenty or so, and
# here a node takes longer.
_WORTH = 300
# Bytes for the sums of all lattices; of one node some hundred for each k.
_ROOM = 1 << 28
_WORD = 64


@dataclass(frozen=True)
class Best:
    """The best node for one k and one quality model."""

    levels: tuple[int, ...]
    value: float
    suppressed: int


class EveryNode:
    """The nodes of a lattice, each with its sums for all k.

    Parameters
    ----------
    codes : ndarray of int, shape (records, columns)
        The leaf of each record in each column.
    maps : sequence of ndarray of int, shape (levels, leaves)
        By column, the label of each leaf at each level; the last level has one label.
    sizes : sequence of int
        The k.
    counts : ndarray of int, optional
        How many records each row stands for; one by default.
    lo, hi : sequence of int, optional
        The lowest and the highest level of each column, if not all are to be tried.

    Attributes
    ----------
    nodes : ndarray of int, shape (nodes, columns)
        Levels, in the order of their numbers.
    suppressed : ndarray of int, shape (nodes, k)
        Records in classes of fewer than k.

    Examples
    --------
    >>> maps = [np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])]
    >>> tried = EveryNode(np.array([[0], [1], [2], [2]]), maps, sizes=[2, 3])
    >>> tried.suppressed.tolist()
    [[2, 4], [0, 4], [0, 0]]
    >>> tried.best(2, "loss", limit=0.1)
    Best(levels=(1,), value=0.25, suppressed=0)
    """

    def __init__(
        self,
        codes: np.ndarray,
        maps: Sequence[np.ndarray],
        sizes: Sequence[int],
        counts: np.ndarray | None = None,
        lo: Sequence[int] | None = None,
        hi: Sequence[int] | None = None,
    ) -> None:
        self.maps = [np.asarray(m, np.int64) for m in maps]
        self.sizes = sorted(set(map(int, sizes)))
        self.d = len(self.maps)
        bits = bits_of(self.maps)
        assert sum(bits) <= _WORD, "the columns do not fit one word"
        self.shifts = np.cumsum([0, *bits[:-1]]).astype(np.uint64)
        self.masks = np.array([(1 << b) - 1 for b in bits], np.uint64)
        self.domain = np.array([m.shape[1] for m in self.maps], np.float64)
        self.height = np.array([len(m) - 1 for m in self.maps])
        self.lo = [0] * self.d if lo is None else list(lo)
        self.hi = self.height.tolist() if hi is None else list(hi)
        weights = np.ones(len(codes), np.int64) if counts is None else np.asarray(counts, np.int64)
        self.n = int(weights.sum())
        self.marginals = [
            np.bincount(codes[:, a], weights, m.shape[1]).astype(np.int64)
            for a, m in enumerate(self.maps)
        ]
        words = np.zeros(len(codes), np.uint64)
        for a in range(self.d):
            words |= codes[:, a].astype(np.uint64) << self.shifts[a]
        self.keys, self.inverse = np.unique(words, return_inverse=True)
        self.counts = np.bincount(self.inverse, weights).astype(np.int64)
        # Qualities that were asked for.
        self._values: dict[tuple[Any, ...], np.ndarray] = {}
        self._try()

    def _try(self) -> None:
        """Form the classes of each node, and sum over them."""
        ks = np.array(self.sizes, np.int64)
        leaves = [[np.bincount(row).astype(np.float64) for row in m] for m in self.maps]
        logs = [[np.log10(row / self.domain[a]) for row in rows] for a, rows in enumerate(leaves)]
        nodes, sums = [], []
        for levels, keys, counts in self._tables():
            here = [leaves[a][level] for a, level in enumerate(levels)]
            shares = [logs[a][level] for a, level in enumerate(levels)]
            starts = np.cumsum([0, *map(len, here)])
            nodes.append(levels)
            flat = np.concatenate(here), np.concatenate(shares)
            sums.append(class_sums(keys, counts, self.shifts, self.masks, *flat, starts, ks))
        self.nodes = np.array(nodes)
        records, self._products, self._covered = (
            np.array(part) for part in zip(*sums, strict=True)
        )
        self._kept, self._classes, self._squares = records.transpose(1, 0, 2)
        self.suppressed: np.ndarray = self.n - self._kept

    def _tables(self) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
        """Return the levels, keys and counts of each node, in the order of their levels."""
        keys, counts = self.keys, self.counts
        for a, low in enumerate(self.lo):
            above = self.maps[a][low]
            keys, counts = climb(keys, counts, above, self.shifts[a], self.masks[a])
        held = [(keys, counts)] * self.d
        before: tuple[int, ...] | None = None
        for levels in product(*map(_range, self.lo, self.hi)):
            if before is not None:
                # One column goes up by one; those after it go back to their lowest level.
                a = next(i for i in range(self.d) if levels[i] != before[i])
                above = self._above(a, before[a])
                table = climb(*held[a], above, self.shifts[a], self.masks[a])
                held[a:] = [table] * (self.d - a)
            before = levels
            yield levels, *held[-1]

    def quality(
        self, name: str, aggregate: str = "geometric", weights: Sequence[float] | None = None
    ) -> np.ndarray:
        """Return the quality of each node (rows) for each k (columns), by the definitions.

        Parameters
        ----------
        name : str
            Of a model, as `Generalize` takes it.
        aggregate : {"geometric", "sum", "max", "mean"}
        weights : sequence of float, optional
            By column; both are for the loss.
        """
        asked = name, aggregate, None if weights is None else tuple(weights)
        if asked not in self._values:
            self._values[asked] = self._quality(*asked)
        return self._values[asked]

    def _quality(self, name: str, aggregate: str, weights: Sequence[float] | None) -> np.ndarray:
        n, gone, domain = self.n, self.suppressed, self.domain
        whole = float(domain.prod())
        if name == "loss":
            return self._loss(aggregate, weights)
        if name == "precision":
            depth = (self.nodes / np.maximum(self.height, 1))[:, None, :]
            share = (self._kept[:, :, None] * depth + gone[:, :, None]) / n
            return np.where(self.height > 0, share, 0.0).mean(axis=2)
        if name in ("nue", "nnue"):
            lost = self._generalized[:, None, :] + self._entropy
            held = [m[m > 0] for m in self.marginals]
            bits = np.array([-(m * np.log2(m / n)).sum() for m in held])
            scale = bits if name == "nnue" else np.ones(self.d)
            return np.divide(lost, scale, where=scale > 0, out=np.zeros_like(lost)).sum(axis=2)
        if name == "discernibility":
            return self._squares + float(n) * gone
        if name == "average-class":
            return n / np.maximum(1, self._classes + (gone > 0))
        if name == "ambiguity":
            return self._products[:, 0] + gone * whole
        assert name == "entropy-based", name
        return n + (self._products[:, 1] / np.log10(whole) if whole > 1 else 0.0 * gone)

    def best(
        self,
        k: int,
        quality: str,
        aggregate: str = "geometric",
        weights: Sequence[float] | None = None,
        limit: float = 1.0,
    ) -> Best | None:
        """Find the best node that suppresses no more than a share; None where none does.

        On a tie, it is the node with the lowest levels, then the first.
        """
        j = self.sizes.index(k)
        value, gone = self.quality(quality, aggregate, weights)[:, j], self.suppressed[:, j]
        feasible = np.flatnonzero(gone <= math.floor(limit * self.n + 1e-9))
        if not len(feasible):
            return None
        rank = value[feasible] if self._exact(quality) else _rounded(value[feasible])
        ties = feasible[rank == rank.min()].tolist()
        levels, i = min((tuple(self.nodes[i].tolist()), i) for i in _lowest(self.nodes, ties))
        return Best(levels, float(value[i]), int(gone[i]))

    def near_best(self, k: int, values: np.ndarray, allowed: int) -> list[tuple[int, ...]]:
        """Return the nodes that may be the best by some values, as far as figures tell."""
        j = self.sizes.index(k)
        feasible = np.flatnonzero(self.suppressed[:, j] <= allowed)
        if not len(feasible):
            return []
        found = values[feasible, j]
        # Sums over records may cancel out.
        near = found <= found.min() + _NEAR * max(abs(found.min()), 1e-3 * self.n)
        return [tuple(levels) for levels in self.nodes[feasible[near]].tolist()]

    def suppressed_rows(self, levels: Sequence[int], k: int) -> np.ndarray:
        """Mark the rows whose class at a node has fewer than k records."""
        words = np.zeros(len(self.keys), np.uint64)
        for a, level in enumerate(levels):
            code = (self.keys >> self.shifts[a]) & self.masks[a]
            words |= self.maps[a][level][code].astype(np.uint64) << self.shifts[a]
        _, classes = np.unique(words, return_inverse=True)
        small = np.bincount(classes, self.counts)[classes] < k
        mask: np.ndarray = small[self.inverse]
        return mask

    def _above(self, a: int, level: int) -> np.ndarray:
        """Return what each label of a level becomes at the next; labels are numbered from 0."""
        above = np.zeros(self.maps[a].shape[1], np.int64)
        above[self.maps[a][level]] = self.maps[a][level + 1]
        return above

    def _loss(self, aggregate: str, weights: Sequence[float] | None) -> np.ndarray:
        n, domain = self.n, self.domain
        covered = self._covered + self.suppressed[:, :, None] * domain
        x = (covered - n) / np.maximum(n * (domain - 1), 1.0)
        x = x * (np.ones(self.d) if weights is None else np.asarray(weights, np.float64))
        if aggregate == "geometric":
            return np.expm1(np.log1p(x).mean(axis=2))
        if aggregate == "max":
            return x.max(axis=2)
        return x.sum(axis=2) if aggregate == "sum" else x.mean(axis=2)

    @cached_property
    def _generalized(self) -> np.ndarray:
        """The entropy that the levels of each node lose, by column."""
        by_level = [
            [self._entropy_lost(a, level) for level in range(h + 1)]
            for a, h in enumerate(self.height.tolist())
        ]
        columns = [np.array(one)[self.nodes[:, a]] for a, one in enumerate(by_level)]
        return np.column_stack(columns)

    @cached_property
    def _entropy(self) -> np.ndarray:
        """The entropy among the suppressed records of each node, by k and column.

        It takes as long as all else, and two models ask for it.
        """
        ks, labels = np.array(self.sizes, np.int64), [m.max(axis=1) + 1 for m in self.maps]
        found = []
        for levels, keys, counts in self._tables():
            starts = np.cumsum([0, *(labels[a][level] for a, level in enumerate(levels))])
            found.append(suppressed_entropy(keys, counts, self.shifts, self.masks, starts, ks))
        return np.array(found)

    def _entropy_lost(self, a: int, level: int) -> float:
        """Sum cnt log2(cnt_generalized / cnt) over the leaves of a column."""
        cnt, label = self.marginals[a], self.maps[a][level]
        there = cnt > 0
        general = np.bincount(label, cnt)[label]
        return float((cnt[there] * np.log2(general[there] / cnt[there])).sum())

    def _exact(self, quality: str) -> bool:
        """Tell whether values are whole numbers that float64 holds exactly."""
        largest = {"discernibility": float(self.n), "ambiguity": float(self.domain.prod())}
        return quality in largest and largest[quality] * self.n < 2**53


def bits_of(maps: Sequence[np.ndarray]) -> list[int]:
    """Return the bits that the codes of each column take."""
    return [max(1, int(m.shape[1] - 1).bit_length()) for m in maps]


def _lowest(nodes: np.ndarray, ties: list[int]) -> list[int]:
    """Return those of some nodes with the smallest sum of levels."""
    sums = nodes[ties].sum(axis=1)
    return [i for i, total in zip(ties, sums, strict=True) if total == sums.min()]


def _range(low: int, high: int) -> range:
    return range(low, high + 1)


def _rounded(values: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, _QUANTUM)), exponent - _QUANTUM)


class Lattices:
    """What leads the searches of a sweep: the lattices that they meet, each tried once for all k.

    A search finds what it would have found by itself: nodes that tie as far as figures tell are
    compared by its own. Those that go by more than k, count units, draw, have a budget, or whose
    lattice is too large for so few searches, search by themselves.

    Parameters
    ----------
    sizes : sequence of int
        The k that are asked for.
    searches : int
        How many searches a lattice may spare.
    """

    def __init__(self, sizes: Sequence[int], searches: int) -> None:
        self.sizes, self.searches = sorted(set(sizes)), searches
        # Seconds that trying the nodes took, and how many searches were led.
        self.seconds, self.led = 0.0, 0
        self._known: dict[bytes, EveryNode | None] = {}
        self._room = _ROOM

    @property
    def nodes(self) -> int:
        """How many nodes were tried, those of all lattices together."""
        return sum(len(one.nodes) for one in self._known.values() if one is not None)

    def __call__(self, search: Search) -> bool:
        """Lead a search to its best node; False if it has to search by itself."""
        rules = search.rules
        plain = type(search) is Search and search.matching is None and rules.units < 0
        plain = plain and search.targets is None and rules.population < 0
        if not plain or len(rules.kinds) or len(rules.least) or rules.k not in self.sizes:
            return False
        if len(rules.profit) or not _tried_at_once(search.quality):
            return False
        key = _key(search)
        if key not in self._known:
            started = time.perf_counter()
            self._known[key] = self._tried(search)
            self.seconds += time.perf_counter() - started
        tried, quality = self._known[key], search.quality
        if tried is None or quality.name == "suppressed":
            return False
        values = tried.quality(quality.name, quality.aggregate, quality.weights)
        for levels in tried.near_best(rules.k, values, search.allowed):
            search.look(levels)
        self.led += 1
        return True

    def _tried(self, search: Search) -> EveryNode | None:
        tuples, lattice = search.tuples, search.tuples.lattice
        d = tuples.d
        maps = [
            np.array(
                [
                    lattice.up[start : start + int(lattice.domain[a])]
                    for start in lattice.step[a, 0, : lattice.height[a] + 1]
                ]
            )
            for a in range(d)
        ]
        size = 8 * search.nodes * len(self.sizes) * (6 + 2 * d)
        few = search.nodes > _WORTH * self.searches
        if few or size > self._room or sum(bits_of(maps)) > _WORD:
            return None
        self._room -= size
        codes = np.column_stack([tuples.codes(a) for a in range(d)])
        return EveryNode(codes, maps, self.sizes, tuples.table.counts, search.lo, search.hi)


def _tried_at_once(quality: Quality) -> bool:
    """Tell whether a quality is computed for every node and all k."""
    plain = quality.of_kept == quality.of_gone == 1 and quality.aggregate != "rank"
    return plain and type(quality) is Quality and quality.name not in OF_LEVELS


def _key(search: Search) -> bytes:
    """Name what is searched: the same tuples with the same hierarchies and levels."""
    lattice, table = search.tuples.lattice, search.tuples.table
    found = hashlib.blake2b(repr((search.lo, search.hi)).encode(), digest_size=16)
    for array in (table.keys, table.counts, lattice.up, lattice.step, lattice.shift, lattice.word):
        found.update(f"{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


@contextmanager
def leading(sizes: Sequence[int]) -> Iterator[Lattices]:
    """Let the searches of `Generalize` within find their nodes together.

    Parameters
    ----------
    sizes : sequence of int
        The k of each search to come.

    Examples
    --------
    >>> import pandas as pd
    >>> from discreet.generalization import Generalize, Hierarchy, KAnonymity
    >>> people = pd.DataFrame({"age": [31, 34, 38, 52, 57, 59, 61, 62]})
    >>> ages = {"age": Hierarchy.intervals(widths=[10, 20, 40])}
    >>> with leading([2, 3, 4]) as lattices:
    ...     found = [Generalize(ages, KAnonymity(k)).fit(people).levels_ for k in (2, 3, 4)]
    >>> [one[0]["levels"]["age"] for one in found], lattices.nodes, lattices.led
    ([1, 3, 4], 5, 3)
    """
    lattices = Lattices(sizes, len(sizes))
    token = guide.set(lattices)
    try:
        yield lattices
    finally:
        guide.reset(token)
