"""The quality of several groups and rounds as one table, from the quality models' definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.generalization._tuples import Tuples
from discreet.generalization.by_class import Asked, ByClass
from discreet.generalization.quality import aggregated, bits, factors
from discreet.kernels.lattice import Table, roll_up


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

    def classes(self) -> tuple[Table, np.ndarray]:
        """Return the classes that the tuples form, and the levels."""
        node = np.array(self.levels, np.int64)
        lattice = self.tuples.lattice
        return roll_up(lattice, self.tuples.table, np.zeros_like(node), node)[0], node

    def over_records(self, values: np.ndarray) -> float:
        """Sum what each tuple has over its records."""
        return float((self.tuples.table.counts * values).sum())


def united_quality(asked: Asked, pieces: Sequence[Piece]) -> float:
    """Return the quality of the whole; every record has the levels of its own piece."""
    name, lattice = asked.name, pieces[0].tuples.lattice
    of_kept, of_gone = factors(asked.factor)
    n = sum(piece.tuples.n for piece in pieces)
    suppressed = sum(piece.tuples.n for piece in pieces if not piece.kept)
    kept = [piece for piece in pieces if piece.kept]
    domain = lattice.domain.tolist()
    columns = range(len(domain))
    if asked.by_class:
        ready = [replace(piece, tuples=asked.ready(piece.tuples)) for piece in pieces]
        model = asked.on(_joined([piece.tuples for piece in ready]))
        assert isinstance(model, ByClass)
        gone = [piece.tuples for piece in ready if not piece.kept]
        return model.united([piece.classes() for piece in ready if piece.kept], gone)
    if name == "discernibility":
        squares = [(p.sizes.astype(np.float64) ** 2).sum() for p in kept]
        return float(sum(squares) + n * suppressed)
    if name == "average-class":
        classes = sum(len(p.sizes) for p in kept)
        return n / (of_gone * classes + of_kept * (suppressed > 0))
    if name == "ambiguity":
        whole = float(np.prod(lattice.domain))
        products = [np.prod([p.leaves(a) for a in columns], axis=0) for p in kept]
        held = sum(p.over_records(x) for p, x in zip(kept, products, strict=True))
        return held + suppressed * whole
    if name == "precision":
        shares = [np.array(p.levels) / np.maximum(lattice.height, 1) for p in kept]
        levels = np.sum([p.tuples.n * s for p, s in zip(kept, shares, strict=True)], axis=0)
        return float(np.mean((of_kept * levels + of_gone * suppressed) / n)) if kept else of_gone
    if name in ("precision-of-levels", "height"):
        tall = np.maximum(lattice.height, 1) * len(domain) if name != "height" else 1
        return float(sum(p.tuples.n * (np.array(p.levels) / tall).sum() for p in pieces) / n)
    if name in ("nue", "nnue", "nue-of-levels"):
        return sum(_entropy_loss(pieces, a, name) for a in columns)
    if name == "entropy-based":
        whole = float(np.log10(lattice.domain).sum())
        shares = _by_column(kept, domain, lambda x, size: np.log10(x / size))
        return n + (sum(shares) / whole if whole else 0.0)
    covered = _by_column(kept, domain, lambda x, size: x)
    last = _by_column([p for p in pieces if not p.kept], domain, lambda x, size: x)
    x = []
    for a, size in enumerate(domain):
        # A suppressed record costs the whole column, or less, but no less than its label did.
        whole = of_gone * suppressed * size + (1 - of_gone) * last[a]
        loss = (
            (of_kept * covered[a] + whole - of_kept * n) / (n * (size - of_kept))
            if size > 1
            else 0.0
        )
        x.append((asked.weights or [1.0] * len(domain))[a] * max(0.0, loss))
    return aggregated(x, asked.aggregate)


def _by_column(
    kept: Sequence[Piece], domain: Sequence[float], value: Callable[[np.ndarray, float], np.ndarray]
) -> list[float]:
    """Sum over the kept records a value of the leaves under their labels, column by column."""
    return [sum(p.over_records(value(p.leaves(a), d)) for p in kept) for a, d in enumerate(domain)]


def _joined(tuples: Sequence[Tuples]) -> Tuples:
    """Put the tuples of several pieces side by side."""
    tables = [one.table for one in tuples]
    entries = [
        t.starts[1:] if len(t.starts) > 1 else np.zeros(len(t.counts), np.int64) for t in tables
    ]
    before = np.cumsum([0, *(len(t.values) for t in tables)])
    return Tuples(
        tuples[0].lattice,
        Table(
            np.concatenate([t.keys for t in tables], axis=1),
            np.concatenate([t.counts for t in tables]),
            np.concatenate(
                [np.zeros(1, np.int64), *(e + b for e, b in zip(entries, before[:-1], strict=True))]
            ),
            np.concatenate([t.values for t in tables]),
            np.concatenate([t.numbers for t in tables]),
        ),
    )


def _entropy_loss(pieces: Sequence[Piece], a: int, name: str) -> float:
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
    if name == "nue-of-levels":
        return total
    total += bits(masked)
    if name == "nue":
        return total
    whole = bits(marginal)
    return total / whole if whole > 0 else 0.0
