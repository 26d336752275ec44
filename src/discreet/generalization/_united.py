"""The quality of several groups and rounds as one table, from the quality models' definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.generalization.quality import aggregated


@dataclass(frozen=True)
class Piece:
    """Tuples that have the same levels, all of them kept or all suppressed.

    Attributes
    ----------
    tuples : Tuples
    levels : tuple of int
    sizes : ndarray of int64
        Of the classes; empty where the records are suppressed.
    """

    tuples: Tuples
    levels: tuple[int, ...]
    sizes: np.ndarray | None


def united_quality(
    name: str, pieces: Sequence[Piece], aggregate: str, weights: Sequence[float]
) -> float:
    """Give the quality of the whole.

    Every record has its own levels here; those of a suppressed one are of the last node that it
    was tried at.
    """
    lattice = pieces[0].tuples.lattice
    n = sum(piece.tuples.n for piece in pieces)
    kept = [piece for piece in pieces if piece.sizes is not None]
    out = [piece for piece in pieces if piece.sizes is None]
    suppressed = sum(piece.tuples.n for piece in out)
    domain, height = lattice.domain, lattice.height
    if name == "discernibility":
        return float(sum((p.sizes**2).sum() for p in kept)) + n * suppressed  # type: ignore[operator]
    if name == "average-class":
        classes = sum(len(p.sizes) for p in kept)  # type: ignore[arg-type]
        return n / max(1, classes + (suppressed > 0))
    if name == "ambiguity":
        leaves = [np.prod([_leaves(p, a) for a in range(p.tuples.d)], axis=0) for p in kept]
        held = sum(
            float((p.tuples.table.counts * x).sum()) for p, x in zip(kept, leaves, strict=True)
        )
        return held + suppressed * float(np.prod(domain))
    if name in ("nue", "nnue"):
        return sum(_nue(pieces, out, a, name == "nnue") for a in range(len(domain)))
    if name == "entropy-based":
        whole = np.log10(domain).sum()
        shares = sum(
            _held(p, a, lambda x, a=a: np.log10(x / domain[a]))
            for p in kept
            for a in range(len(domain))
        )
        return n + (shares / whole if whole else 0.0)
    if name == "precision":
        levels = sum(p.tuples.n * np.array(p.levels) / np.maximum(height, 1) for p in kept)
        return float(np.mean((levels + suppressed) / n))
    x = []
    for a, size in enumerate(domain):
        total = sum(_held(p, a, lambda leaves: leaves) for p in kept) + suppressed * size
        x.append(weights[a] * max(0.0, (total - n) / (n * (size - 1))) if size > 1 else 0.0)
    return aggregated(x, aggregate)


def _leaves(piece: Piece, a: int) -> np.ndarray:
    lattice, level = piece.tuples.lattice, piece.levels[a]
    return lattice.leaves[lattice.first[a, level] + piece.tuples.labels(a, level)]


def _held(piece: Piece, a: int, of: object) -> float:
    """Sum a function of the leaves under a column's labels, over records."""
    return float((piece.tuples.table.counts * of(_leaves(piece, a))).sum())  # type: ignore[operator]


def _nue(pieces: Sequence[Piece], out: Sequence[Piece], a: int, normalised: bool) -> float:
    lattice = pieces[0].tuples.lattice
    marginal = sum(piece.tuples.marginal(a) for piece in pieces)
    n = marginal.sum()
    total = 0.0
    masked = np.zeros(len(lattice.leaves))
    for piece in pieces:
        counts, level = piece.tuples.table.counts, piece.levels[a]
        label = piece.tuples.labels(a, level)
        start = lattice.step[a, 0, level]
        above = np.bincount(lattice.up[start : start + len(marginal)], marginal)
        total += float((counts * np.log2(above[label] / marginal[piece.tuples.codes(a)])).sum())
        if piece.sizes is None:
            np.add.at(masked, lattice.first[a, level] + label, counts)
    masked = masked[masked > 0]
    total -= float((masked * np.log2(masked / masked.sum())).sum())
    if not normalised:
        return total
    there = marginal[marginal > 0]
    entropy = float(-(there * np.log2(there / n)).sum())
    return total / entropy if entropy > 0 and math.isfinite(total) else 0.0
