"""Try every node of a lattice, for all k and all eight quality models in one pass.

`Generalize` searches the lattice for one k and one model. The third paper's grid asks for 80
searches on the same records, with a limit of 100 %, so here each node's classes are formed once. It
is written from the definitions and shares nothing with the search; the reproduction compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.generalization.quality import QualityName
from discreet.kernels.sweep import class_sums, climb

QUALITIES: dict[str, QualityName] = {
    "Loss": "loss",
    "Precision": "precision",
    "NUE": "nue",
    "NNUE": "nnue",
    "DM": "discernibility",
    "AEC": "average-class",
    "AM": "ambiguity",
    "EBM": "entropy-based",
}
# Relative differences below this are rounding, and such nodes tie.
_DIGITS = 40


@dataclass(frozen=True)
class Best:
    """The best node for one k and one quality model."""

    k: int
    quality: str
    levels: tuple[int, ...]
    value: float
    suppressed: int


class Sweep:
    """The lattice of some records, given as the codes of their leaves (records x columns).

    The maps have by column the label of each leaf (levels x leaves); the last level has one label.
    """

    def __init__(self, codes: np.ndarray, maps: Sequence[np.ndarray]) -> None:
        self.maps = [np.asarray(m, np.int64) for m in maps]
        self.n, self.d = codes.shape
        bits = [max(1, int(m.shape[1] - 1).bit_length()) for m in self.maps]
        assert sum(bits) <= 64, "the columns do not fit one word"
        self.shifts = np.cumsum([0, *bits[:-1]]).astype(np.uint64)
        self.masks = np.array([(1 << b) - 1 for b in bits], np.uint64)
        self.domain = np.array([m.shape[1] for m in self.maps], np.float64)
        self.height = np.array([len(m) - 1 for m in self.maps])
        self.marginals = [
            np.bincount(codes[:, a], minlength=m.shape[1]) for a, m in enumerate(self.maps)
        ]
        words = np.zeros(self.n, np.uint64)
        for a in range(self.d):
            words |= codes[:, a].astype(np.uint64) << self.shifts[a]
        self.keys, self.inverse, self.counts = np.unique(
            words, return_inverse=True, return_counts=True
        )

    def tables(self) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
        """Return the levels, keys and counts of each node, in the order of their levels."""
        held = [(self.keys, self.counts)] * self.d
        before: tuple[int, ...] | None = None
        for levels in product(*(range(h + 1) for h in self.height)):
            if before is not None:
                # One column goes up by one; those after it go back to their leaves.
                a = next(i for i in range(self.d) if levels[i] != before[i])
                keys, counts = climb(
                    *held[a], self._above(a, before[a]), self.shifts[a], self.masks[a]
                )
                held[a:] = [(keys, counts)] * (self.d - a)
            before = levels
            yield levels, *held[-1]

    def best(self, sizes: Sequence[int]) -> list[Best]:
        """Find the best node for each k and each quality model."""
        ks = np.array(sorted(sizes), np.int64)
        leaves = [[np.bincount(row).astype(np.float64) for row in m] for m in self.maps]
        nodes, sums = [], []
        for levels, keys, counts in self.tables():
            here = [leaves[a][level] for a, level in enumerate(levels)]
            starts = np.cumsum([0, *(len(x) for x in here)])
            nodes.append(levels)
            sums.append(
                class_sums(
                    keys,
                    counts,
                    self.shifts,
                    self.masks,
                    np.concatenate(here),
                    starts,
                    self.domain,
                    ks,
                )
            )
        records, products, covered, entropy = (np.array(part) for part in zip(*sums, strict=True))
        values = self._values(np.array(nodes), records, products, covered, entropy)
        return [
            Best(int(k), name, nodes[i], float(value[i, j]), self.n - int(records[i, 0, j]))
            for name, value in values.items()
            for j, k in enumerate(ks)
            for i in [_least(value[:, j], nodes)]
        ]

    def suppressed(self, levels: Sequence[int], k: int) -> np.ndarray:
        """Mark the records whose class at a node has fewer than k records."""
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

    def _values(
        self,
        nodes: np.ndarray,
        records: np.ndarray,
        products: np.ndarray,
        covered: np.ndarray,
        entropy: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Return the quality of each node (rows) for each k (columns), by the definitions."""
        n, domain = self.n, self.domain
        kept, classes, squares = records.transpose(1, 0, 2)
        gone = n - kept
        share = (covered / domain + gone[:, :, None] - n / domain) / (n - n / domain)
        depth = (nodes / self.height)[:, None, :]
        generalized = np.array(
            [[self._entropy_lost(a, x) for a, x in enumerate(levels)] for levels in nodes.tolist()]
        )
        lost = generalized[:, None, :] + entropy
        held = [m[m > 0] for m in self.marginals]
        whole = np.array([-(m * np.log2(m / n)).sum() for m in held])
        return {
            "Loss": np.maximum(0.0, share).sum(axis=2),
            "Precision": ((kept[:, :, None] * depth + gone[:, :, None]) / n).mean(axis=2),
            "NUE": lost.sum(axis=2),
            "NNUE": np.divide(lost, whole, where=whole > 0, out=np.zeros_like(lost)).sum(axis=2),
            "DM": (squares + n * gone).astype(np.float64),
            "AEC": n / (classes + (gone > 0)),
            "AM": products[:, 0] + gone * domain.prod(),
            "EBM": n + products[:, 1] / np.log10(domain.prod()),
        }

    def _entropy_lost(self, a: int, level: int) -> float:
        """Sum cnt log2(cnt_generalized / cnt) over the leaves of a column."""
        cnt, label = self.marginals[a], self.maps[a][level]
        there = cnt > 0
        general = np.bincount(label, cnt)[label]
        return float((cnt[there] * np.log2(general[there] / cnt[there])).sum())


def _least(values: np.ndarray, nodes: Sequence[tuple[int, ...]]) -> int:
    """Find the smallest value; on a tie, the node with the lowest levels, then the first."""
    mantissa, exponent = np.frexp(values)
    rank = np.ldexp(np.round(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)
    ties = np.flatnonzero(rank == rank.min())
    return min(ties.tolist(), key=lambda i: (sum(nodes[i]), nodes[i]))
