"""What one column tells an intruder who knows how it was made.

A score is a log likelihood ratio: how much likelier a released cell is for a record with a certain
original value than for any record. It is learned from pairs of original and released cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput
from discreet.risk._differences import Cells, Differences, Scale
from discreet.risk.values import refuse_infinite
from discreet.table.cells import plain
from discreet.table.columns import float_values, kind_of

# Scores are whole numbers, so that sums are exact and ties are ties: this many to a natural unit.
UNIT = 1 << 16
EXCLUDED = -(1 << 30)
# Pairs of numbers that are learned from.
LEARNED = 20_000
# Numbers that became labels are put into so many bins, and those with as few values are labels.
_FEW = 40
# Cells of a table of labels; with more, labels are only equal or not.
_MOST_CELLS = 1 << 20
# Records that what is known of all labels weighs as much as, in what is learned of one.
_WEIGHTS = (1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Tells:
    """What one column tells of the originals, by released record.

    Either pieces of the codes, of which `ends` returns the ends for some released records, or rows
    of a table, of which `rows` has each released record's; see `kernels.informed`.
    """

    codes: np.ndarray  # of every original
    size: int  # of these codes
    bits: float  # that a released cell tells of its own original, on average
    scores: np.ndarray  # of the pieces
    ends: Callable[[np.ndarray], np.ndarray] | None = None
    rows: np.ndarray | None = None
    table: np.ndarray | None = None
    scale: Scale | None = None  # that drawn numbers are compared on


class Column:
    """One column of the original, of the release (run 0) and of other runs of its recipe."""

    def __init__(
        self, name: str, original: pa.ChunkedArray, released: Sequence[pa.ChunkedArray]
    ) -> None:
        original, *released = _told_apart([original, *released])
        numeric = [kind_of(column.type) == "numeric" for column in (original, *released)]
        self.ordered, self.numeric = numeric[0], all(numeric)
        if self.ordered:
            self.x = float_values(original, name)
            refuse_infinite(name, self.x)
            self.values, self.codes = _coded(self.x)
            self.nulls = len(self.values)  # their code
        if self.numeric:
            self.y = np.array([float_values(column, name) for column in released])
            refuse_infinite(name, self.y)
            values, flat = _coded(np.concatenate([self.x, *self.y]))
            self.labels, codes = len(values) + 1, flat.reshape(-1, len(self.x))
        else:
            self.labels, codes = _label_codes(name, [original, *released])
        self.a, self.b = codes[0], codes[1:]

    @property
    def same(self) -> bool:
        """Whether every cell is as it was."""
        return bool((self.b[0] == self.a).all())

    @property
    def repeats(self) -> bool:
        """Whether all runs gave the same, so that no chance is in it."""
        return bool((self.b == self.b[0]).all())

    # Without chance

    def settled(self) -> Tells:
        """Return what the column tells if every run of the recipe gives the same.

        A released value goes with the originals that were seen with it, of numbers those from the
        smallest to the largest, and with no others.
        """
        b = self.b[0]
        if self.ordered:
            return self._within()
        label = np.zeros(self.labels, np.int64)
        label[self.a] = b
        if (label[self.a] == b).all():
            # Each original value has one released label, by which it is known.
            return _equal(label[self.a], b, self.labels, EXCLUDED, 0)
        if self.labels**2 > _MOST_CELLS:
            return self._alike(Cells(np.zeros(len(b), np.int64), np.arange(len(b))))
        table = np.full((self.labels, self.labels), EXCLUDED, np.int32)
        table[b, self.a] = 0
        share = (table == 0) @ np.bincount(self.a, minlength=self.labels) / len(b)
        return _from_table(self.a, b, table, float(-np.log2(share[b]).mean()))

    def _within(self) -> Tells:
        """Return pieces: of numbers those from the smallest to the largest; and nulls."""
        b, size = self.b[0], self.nulls + 1
        there = self.codes < self.nulls
        low, high = np.full(self.labels, self.nulls), np.zeros(self.labels, np.int64)
        np.minimum.at(low, b[there], self.codes[there])
        np.maximum.at(high, b[there], self.codes[there] + 1)
        low = np.minimum(low, high)
        with_null = np.zeros(self.labels, dtype=bool)
        with_null[b[~there]] = True
        last = [np.full(self.labels, self.nulls), np.where(with_null, self.nulls, size)]
        ends = np.column_stack([low, high, *last, np.full(self.labels, size)])
        below = np.append(0, np.cumsum(np.bincount(self.codes, minlength=size)))
        count = below[high] - below[low] + with_null * (below[size] - below[size - 1])
        bits = float(-np.log2(count[b] / len(b)).mean())
        scores = np.array([EXCLUDED, 0, EXCLUDED, EXCLUDED, 0], np.int32)
        return Tells(self.codes, size, bits, scores, lambda rows: ends[b[rows]])

    # With chance

    def drawn(self, learned: Cells) -> Tells:
        """Return what the column tells if chance decided, as the cells learned from show.

        Numbers are compared by their difference on the scale that tells most: of ranks, of values
        or of their logarithms; labels by how often each became each.
        """
        if not len(learned.row):
            return _equal(self.a, self.b[0], self.labels, 0, 0)
        if not self.numeric:
            return self._labelled(learned)
        both = ~(np.isnan(self.x[learned.row]) | np.isnan(self.y[learned]))
        pairs = Cells(learned.run[both], learned.row[both]).first(LEARNED)
        if not len(pairs.row):
            return self._labelled(learned)
        by = max((Differences(s, pairs) for s in self.scales), key=lambda one: one.nats)
        found = self._differing(by, learned)
        if self.labels <= _FEW:
            return max(found, self._labelled(learned), key=lambda one: one.bits)
        return found

    @cached_property
    def scales(self) -> list[Scale]:
        """The scales that numbers may be compared on: ranks, values and their logarithms."""
        counts = np.bincount(self.codes, minlength=self.nulls + 1)[:-1]
        last = np.cumsum(counts)
        ranks = _ranks(self.b, self.labels, int(last[-1]))
        found = [Scale(self.codes, counts, (last - counts, last - 1), ranks)]
        largest = max(float(np.nanmax(np.abs(v), initial=0.0)) for v in (self.values, self.y))
        x, y = self.values / (largest or 1.0), self.y / (largest or 1.0)
        sizes = np.abs(x[x != 0])
        small = max(float(np.median(sizes)) / 100 if sizes.size else 1.0, 1e-300)
        found.append(Scale(self.codes, counts, (x, x), (y, y)))
        x, y = np.arcsinh(x / small), np.arcsinh(y / small)
        return [*found, Scale(self.codes, counts, (x, x), (y, y))]

    def _differing(self, by: Differences, learned: Cells) -> Tells:
        """Return pieces: bins of differences, and what nulls on one or on both sides tell."""
        match, told = self.nulls_tell(learned)
        scores = np.concatenate([by.scores + told[0], told[1:]])
        size = self.nulls + 1

        def ends(rows: np.ndarray) -> np.ndarray:
            gone = np.isnan(self.y[0][rows])
            bins = by.scale.ends(Cells(np.zeros_like(rows), rows), by.edges)
            bins[gone] = 0
            last = [np.full(len(rows), self.nulls), np.where(gone, self.nulls, size)]
            return np.column_stack([bins, *last, np.full(len(rows), size)])

        bits = float(match @ told + match[0] * by.nats) / math.log(2)
        return Tells(self.codes, size, bits, _scored(scores), ends, scale=by.scale)

    def nulls_tell(self, learned: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return how often pairs have no null, one released, one original, or both; and scores."""
        null = np.isnan(self.x), np.isnan(self.y[0])
        case = 2 * null[0][learned.row] + np.isnan(self.y[learned])
        match = (np.bincount(case, minlength=4) + 0.5) / (len(case) + 2)
        x, y = (np.array([1 - side.mean(), side.mean()]) for side in null)
        told = np.log(match / np.maximum(np.outer(x, y).ravel(), 0.5 / len(self.x) ** 2))
        return match, told

    def _labelled(self, learned: Cells) -> Tells:
        """Return a table of how often each label became each, with what is known of all labels."""
        equal = self.numeric or not self.ordered
        a, size = (self.a, self.labels) if equal else self._binned()
        if size * self.labels > _MOST_CELLS:
            return self._alike(learned)
        share = np.maximum(np.bincount(self.b[0], minlength=self.labels), 0.5) / len(a)
        at = a[learned.row], self.b[learned]
        kept = _kept(at[0] == at[1], share) if equal else 0.0
        expected = np.tile((1 - kept) * share, (size, 1))
        if equal:
            expected[np.diag_indices(size)] += kept
        counts = np.zeros((size, self.labels))
        np.add.at(counts, at, 1)
        weight, nats = _weighed(counts, expected, share, at)
        chance = (counts + weight * expected) / (counts.sum(axis=1, keepdims=True) + weight)
        table = _scored(np.log(np.maximum(chance / share, 1e-300))).T
        return _from_table(a, self.b[0], table, nats / math.log(2))

    def _binned(self) -> tuple[np.ndarray, int]:
        """Return numbers in about equally filled bins, nulls in one of their own."""
        counts = np.bincount(self.codes, minlength=self.nulls + 1)[:-1]
        place = (np.cumsum(counts) - counts) * _FEW // max(1, int(counts.sum()))
        kinds, bins = np.unique(place, return_inverse=True)
        return np.append(bins, len(kinds))[self.codes], len(kinds) + 1

    def _alike(self, learned: Cells) -> Tells:
        """Return what it tells that labels are equal, or not, where they are too many to count."""
        equal = self.a[learned.row] == self.b[learned]
        match = (equal.sum() + 0.5) / (len(equal) + 1)
        counts = [np.bincount(codes, minlength=self.labels) for codes in (self.a, self.b[0])]
        other = max(float(counts[0] @ counts[1]), 0.5) / len(self.a) ** 2
        ratio = np.array([(1 - match) / max(1 - other, 1e-3), match / other])
        return _equal(self.a, self.b[0], self.labels, *_scored(np.log(ratio)).tolist())


# Codes


def _told_apart(columns: list[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Return columns of exact numbers that float64 would make equal as ranks among all of them."""
    if not all(pa.types.is_integer(c.type) or pa.types.is_decimal(c.type) for c in columns):
        return columns
    if not any(_has_many_digits(column) for column in columns):
        return columns
    scale = max(getattr(column.type, "scale", 0) for column in columns)
    kind = pa.decimal256(76, max(0, scale))
    exact = pa.chunked_array([c for column in columns for c in column.cast(kind).chunks], kind)
    _, ranks = np.unique(np.array(exact.drop_null().to_pylist(), object), return_inverse=True)
    codes = np.zeros(len(exact), np.int64)
    codes[exact.is_valid().to_numpy()] = ranks
    whole = pa.chunked_array([pa.array(codes, mask=exact.is_null().to_numpy())])
    n = len(columns[0])
    return [whole.slice(start, n) for start in range(0, len(whole), n)]


def _has_many_digits(column: pa.ChunkedArray) -> bool:
    ends = [end for end in pc.min_max(column).as_py().values() if end is not None]
    scale = max(0, getattr(column.type, "scale", 0))
    return any(abs(end) * 10**scale > 2**53 for end in ends)


def _coded(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers in order, and the place of each among them; nulls come last."""
    values = np.unique(x[~np.isnan(x)])
    return values, np.where(np.isnan(x), len(values), np.searchsorted(values, x))


def _label_codes(name: str, columns: Sequence[pa.ChunkedArray]) -> tuple[int, np.ndarray]:
    """Assign numbers to labels, the same in all columns, nulls last; the first is how many."""
    try:
        texts = [plain(column).cast(pa.large_string()) for column in columns]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise BadInput(f"column '{name}' holds {columns[0].type}, which is no category") from None
    both = pa.chunked_array([c for text in texts for c in text.chunks], pa.large_string())
    labels = pc.unique(both.drop_null())
    codes = pc.fill_null(pc.index_in(both, value_set=labels), len(labels))
    return len(labels) + 1, codes.to_numpy().astype(np.int64).reshape(len(columns), -1)


def _ranks(codes: np.ndarray, size: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last rank of each cell in its run, as if there were n values.

    Codes are in order of the values, nulls last.

    Examples
    --------
    >>> low, high = _ranks(np.array([[0, 2, 2, 3]]), 4, 3)
    >>> low, high
    (array([[0., 1., 1., 3.]]), array([[0., 2., 2., 2.]]))
    """
    low, high = np.empty(codes.shape), np.empty(codes.shape)
    for run, own in enumerate(codes):
        counts = np.bincount(own, minlength=size)
        counts[-1] = 0
        last = np.cumsum(counts)
        scale = n / max(1, last[-1])
        low[run], high[run] = (last - counts)[own] * scale, (last - 1)[own] * scale
    return low, high


# Scores


def _kept(equal: np.ndarray, share: np.ndarray) -> float:
    """Return the share of cells that were left alone: some are equal by chance.

    Examples
    --------
    >>> round(_kept(np.repeat([True, False], [700, 300]), np.array([0.5, 0.5])), 2)
    0.4
    """
    chance = float(share @ share)
    stay = float(equal.sum() + 0.5) / (len(equal) + 1)
    return max(0.0, (stay - chance) / (1 - chance)) if chance < 1 else 0.0


def _weighed(
    counts: np.ndarray, expected: np.ndarray, share: np.ndarray, at: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """Choose how much all labels weigh in what is learned of one; also returns what is then told.

    Each pair is judged by the others, or the least weight would always do best.
    """
    others, of_all = counts[at] - 1, counts.sum(axis=1)[at[0]] - 1
    told = {
        weight: np.log((others + weight * expected[at]) / ((of_all + weight) * share[at[1]])).mean()
        for weight in _WEIGHTS
    }
    best = max(_WEIGHTS, key=lambda weight: told[weight])
    return best, float(told[best])


def _scored(nats: np.ndarray) -> np.ndarray:
    return np.rint(nats * UNIT).astype(np.int32)


def _equal(a: np.ndarray, b: np.ndarray, size: int, unequal: int, equal: int) -> Tells:
    """Return pieces by which an original is one of those with the released label, or is not."""
    share = np.maximum(np.bincount(a, minlength=size), 0.5) / len(a)
    scores = np.array([unequal, equal, unequal], np.int32)
    bits = float(-np.log2(share[b]).mean()) if equal > unequal else 0.0

    def ends(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([b[rows], b[rows] + 1, np.full(len(rows), size)])

    return Tells(a, size, bits, scores, ends)


def _from_table(a: np.ndarray, b: np.ndarray, table: np.ndarray, bits: float) -> Tells:
    return Tells(a, table.shape[1], bits, np.empty(0, np.int32), rows=b, table=table)
