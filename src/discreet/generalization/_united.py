"""The quality of several groups and rounds as one table, from the quality models' definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.generalization.quality import aggregated, bits


@dataclass(frozen=True)
class Piece:
    """Tuples that have the same levels, all of them kept or all suppressed.

    The levels of suppressed records are those that they were last tried at, and the sizes of
    their classes are empty.
    """

    tuples: Tuples
    levels: tuple[int, ...]
    kept: bool
    sizes: np.ndarray

    def leaves(self, a: int) -> np.ndarray:
        """Return the leaves under each tuple's label in column a."""
        lattice, level = self.tuples.lattice, self.levels[a]
        return lattice.leaves[lattice.first[a, level] + self.tuples.labels(a, level)]

    def over_records(self, values: np.ndarray) -> float:
        """Sum what each tuple has over its records."""
        return float((self.tuples.table.counts * values).sum())


def united_quality(
    name: str, pieces: Sequence[Piece], aggregate: str, weights: Sequence[float]
) -> float:
    """Return the quality of the whole; every record has the levels of its own piece."""
    lattice = pieces[0].tuples.lattice
    n = sum(piece.tuples.n for piece in pieces)
    suppressed = sum(piece.tuples.n for piece in pieces if not piece.kept)
    kept = [piece for piece in pieces if piece.kept]
    domain = lattice.domain.tolist()
    columns = range(len(domain))
    if name == "discernibility":
        squares = [(p.sizes.astype(np.float64) ** 2).sum() for p in kept]
        return float(sum(squares) + n * suppressed)
    if name == "average-class":
        return n / max(1, sum(len(p.sizes) for p in kept) + int(suppressed > 0))
    if name == "ambiguity":
        whole = float(np.prod(lattice.domain))
        products = [np.prod([p.leaves(a) for a in columns], axis=0) for p in kept]
        held = sum(p.over_records(x) for p, x in zip(kept, products, strict=True))
        return held + suppressed * whole
    if name == "precision":
        shares = [np.array(p.levels) / np.maximum(lattice.height, 1) for p in kept]
        levels = np.sum([p.tuples.n * s for p, s in zip(kept, shares, strict=True)], axis=0)
        return float(np.mean((levels + suppressed) / n)) if kept else 1.0
    if name in ("nue", "nnue"):
        return sum(_entropy_loss(pieces, a, name == "nnue") for a in columns)
    if name == "entropy-based":
        whole = float(np.log10(lattice.domain).sum())
        shares = _by_column(kept, domain, lambda x, size: np.log10(x / size))
        return n + (sum(shares) / whole if whole else 0.0)
    x = []
    for sum_of_leaves, size, weight in zip(
        _by_column(kept, domain, lambda x, size: x), domain, weights, strict=True
    ):
        loss = (sum_of_leaves + suppressed * size - n) / (n * (size - 1)) if size > 1 else 0.0
        x.append(weight * max(0.0, loss))
    return aggregated(x, aggregate)


def _by_column(
    kept: Sequence[Piece], domain: Sequence[float], value: Callable[[np.ndarray, float], np.ndarray]
) -> list[float]:
    """Sum over the kept records a value of the leaves under their labels, column by column."""
    return [sum(p.over_records(value(p.leaves(a), d)) for p in kept) for a, d in enumerate(domain)]


def _entropy_loss(pieces: Sequence[Piece], a: int, normalised: bool) -> float:
    """Return the non-uniform entropy of one column; counts are over all records."""
    lattice = pieces[0].tuples.lattice
    marginal = np.sum([piece.tuples.marginal(a) for piece in pieces], axis=0)
    total, masked = 0.0, np.zeros(len(lattice.leaves))
    for piece in pieces:
        level = piece.levels[a]
        start = lattice.step[a, 0, level]
        above = np.bincount(lattice.up[start : start + len(marginal)], marginal)
        label, leaf = piece.tuples.labels(a, level), piece.tuples.codes(a)
        total += piece.over_records(np.log2(above[label] / marginal[leaf]))
        if not piece.kept:
            np.add.at(masked, lattice.first[a, level] + label, piece.tuples.table.counts)
    total += bits(masked)
    if not normalised:
        return total
    whole = bits(marginal)
    return total / whole if whole > 0 else 0.0
