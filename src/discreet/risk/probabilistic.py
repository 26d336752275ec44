"""Probabilistic record linkage (Fellegi and Sunter 1969), with parameters by EM.

Every pair of a protected and an original record has an agreement pattern. A model with two kinds of
pairs, matches and others, in which attributes agree independently of each other, is fitted to the
counts of the patterns; each protected record is then linked to the original of highest weight.

m_k, u_k: the probability that attribute k agrees in a match, and in another pair. lambda: the share
of matches among all pairs, which is known: n of n * n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from discreet.errors import BadInput
from discreet.kernels.agreement import best_is_own, count_patterns, fit_mixture, intervals, prefixes
from discreet.measure import AVERAGE, Facts, Figure, Measure
from discreet.risk._known import (
    Known,
    Linkage,
    constant_columns,
    known_sets,
    linkage_over_sets,
    linked_by,
)
from discreet.risk.values import standardize
from discreet.table.pairs import Pair, shared_pairs
from discreet.threads import over_ranges

MOST_COLUMNS = 20
# Numbers agree when they differ by no more, in standard deviations.
TOLERANCE = 0.25
_PREFIX_BYTES = 2**24
_START_M = 0.9
# Probabilities of exactly 0 and 1 would make one disagreement outweigh everything.
_LEAST = 1e-6
_MOST_STEPS = 500
_SETTLED = 1e-7
# Weights that differ by less are the same: rounding must not decide ties.
_WEIGHT_DECIMALS = 9


@overload
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    tolerance: float = ...,
    known: Known = ...,
    detail: Literal[False] = ...,
) -> float: ...
@overload
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    tolerance: float = ...,
    known: Known = ...,
    detail: Literal[True],
) -> Linkage: ...
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    tolerance: float = TOLERANCE,
    known: Known = "paper",
    detail: bool = False,
) -> float | Linkage:
    """Share of the records that an intruder links correctly by the most likely match.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    tolerance : float
        Numbers agree when they differ by no more than this, after each file's column was
        standardised by its own mean and standard deviation; categories agree when equal.
    known : {"paper", "all"}, list of str or list of lists of str
        What the intruder knows; see `distance_linkage`. At most 20 columns at a time.
    detail : bool
        Give the share of each set of columns and the chance of each record too.

    Returns
    -------
    float or Linkage
        Shares in 0..1. A record whose original is one of t with the highest weight counts 1/t.

    Warns
    -----
    UserWarning
        Names each column that is left out because it is constant in one of the files. Without any
        column all records tie, and 1/n is found.

    Notes
    -----
    A null agrees with nothing, not even with another null. Agreement never counts against a match:
    its probability in a match is taken to be at least that in another pair. Time grows with the
    square of the records, memory does not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"sex": ["f", "f", "m", "m"], "age": [20, 30, 40, 50]})
    >>> protected = pa.table({"sex": ["f", "f", "m", "m"], "age": [21, 29, 41, 49]})
    >>> probabilistic_linkage(original, protected, known="all")
    1.0
    """
    if not tolerance >= 0:
        raise BadInput(f"tolerance = {tolerance} must be 0 or more")
    pairs = shared_pairs(original, protected)
    sets = known_sets(known, list(pairs))
    used = dict.fromkeys(name for columns in sets for name in columns)
    constant = constant_columns(pairs, used, "probabilistic_linkage")
    n = len(next(iter(pairs.values())).x)
    usable = {name: _attribute(pairs[name], tolerance) for name in used if name not in constant}
    chosen = [[name for name in columns if name in usable] for columns in sets]
    counted: dict[tuple[str, ...], np.ndarray] = {}
    # The longest first: what the first columns of a set count follows from its own counts.
    for names in sorted(chosen, key=len, reverse=True):
        longer = next((known for known in counted if list(known[: len(names)]) == names), None)
        counted[tuple(names)] = (
            pattern_counts([usable[name] for name in names])
            if longer is None
            else counts_of_first(counted[longer], len(names))
        )
    outcomes = [
        (names, linked([usable[name] for name in names], counted[tuple(names)], n), 0)
        for names in chosen
    ]
    result = linkage_over_sets(outcomes)
    return result if detail else result.value


class Originals:
    """One column of the original in order, scaled as numbers are compared."""

    def __init__(self, x: np.ndarray, categorical: bool = False) -> None:
        n, x = len(x), x if categorical else standardize(x)
        # NaN sorts last.
        self.order = np.argsort(x, kind="stable")
        ordered = x[self.order]
        self.ordered = ordered[: int(np.searchsorted(ordered, np.nan))]
        # One prefix in 64 ranks, or fewer where they would take too much memory.
        self.stride = max(64, n * n // (8 * _PREFIX_BYTES))
        self.below = prefixes(self.order, n, self.stride)


class Attribute(NamedTuple):
    """What one column agrees with: for each protected record, an interval of ranks of originals."""

    originals: Originals
    spans: np.ndarray


def agreeing(originals: Originals, y: np.ndarray, tolerance: float = TOLERANCE) -> Attribute:
    """Find the originals that each of some released numbers agrees with."""
    return Attribute(originals, intervals(originals.ordered, standardize(y), tolerance))


def _attribute(pair: Pair, tolerance: float) -> Attribute:
    originals = Originals(pair.x, pair.categorical)
    if pair.categorical:
        return Attribute(originals, intervals(originals.ordered, pair.y, 0.0))
    return agreeing(originals, pair.y, tolerance)


def pattern_counts(attributes: Sequence[Attribute]) -> np.ndarray:
    """Count the pairs of a protected and an original record that have each agreement pattern."""
    p = len(attributes)
    if p > MOST_COLUMNS:
        raise BadInput(
            f"probabilistic_linkage compares at most {MOST_COLUMNS} columns at a time, not {p}; "
            "name fewer in known"
        )
    n = len(attributes[0].spans) if attributes else 0
    if n == 0:
        return np.zeros(1 << p, np.int64)
    sides = _sides(attributes)
    parts = over_ranges(lambda a, b: count_patterns(*sides, a, b), n, _chunk(n))
    counts: np.ndarray = np.sum(parts, axis=0)
    return counts


def counts_of_first(counts: np.ndarray, p: int) -> np.ndarray:
    """Count the patterns of the first p attributes, from those of more.

    Examples
    --------
    >>> counts_of_first(np.array([5, 1, 2, 1]), 1)
    array([7, 2])
    """
    return counts.reshape(-1, 1 << p).sum(axis=0)


def linked(attributes: Sequence[Attribute], counts: np.ndarray, n: int) -> np.ndarray:
    """Return each record's hit by one set of columns, whose patterns were counted."""
    hits = np.full(n, 1.0 / max(1, n))
    if not attributes or n == 0:
        return hits
    sides, top = _sides(attributes), _rank_starts(pattern_weights(counts, n))
    over_ranges(lambda a, b: best_is_own(*sides, top, a, b, hits), n, _chunk(n))
    return hits


def _sides(attributes: Sequence[Attribute]) -> tuple[Any, ...]:
    known = [one.originals for one in attributes]
    return (
        np.stack([one.spans for one in attributes]),
        np.stack([one.order for one in known]),
        np.stack([one.below for one in known]),
        known[0].stride,
        len(known[0].order),
    )


def _chunk(n: int) -> int:
    return max(128, n // 64)


def pattern_weights(counts: np.ndarray, n: int) -> np.ndarray:
    """Return the weight log2(P(pattern | match) / P(pattern | other)) of every agreement pattern.

    Of each pattern the pairs are counted, n records in each file; bit k of its number is set where
    attribute k agrees.

    Examples
    --------
    >>> weights = pattern_weights(np.array([90, 10]), 10)
    >>> bool(weights[1] > 0 > weights[0])
    True
    """
    m, u = fit_agreement(counts, n)
    agrees = _agrees(len(counts))
    return np.where(agrees, np.log2(m / u), np.log2((1 - m) / (1 - u))).sum(axis=1)


def fit_agreement(counts: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimate m and u by EM from the pattern counts; the share of matches stays at 1/n.

    m stays at u or above: agreement never counts against a match. Left free, EM can take columns
    that agree together for the matches, and hold it against the others that they agree.
    """
    there = np.flatnonzero(counts)
    p = len(counts).bit_length() - 1
    m, u = np.full(p, _START_M), np.empty(p)
    pairs = counts[there].astype(np.float64)
    fit_mixture(there, pairs, m, u, 1.0 / n, _LEAST, _MOST_STEPS, _SETTLED)
    return m, u


def _agrees(patterns: int) -> np.ndarray:
    """Table of patterns by attributes."""
    p = patterns.bit_length() - 1
    return (np.arange(patterns)[:, None] >> np.arange(p) & 1).astype(bool)


def _rank_starts(weights: np.ndarray) -> np.ndarray:
    """Rank the weights, and for k = 0..p the starts of patterns, by the best that they can become.

    The starts of k attributes are at 2**k and following, the patterns themselves at 2**p.
    """
    top = np.empty(2 * len(weights), dtype=np.int64)
    top[len(weights) :] = np.unique(np.round(weights, _WEIGHT_DECIMALS), return_inverse=True)[1]
    size = len(weights) // 2
    while size:
        # Bit k of the longer start, which is its highest, is clear in the first half, then set.
        longer = top[2 * size : 4 * size]
        top[size : 2 * size] = np.maximum(longer[:size], longer[size:])
        size //= 2
    return top


def _slow(t: Facts) -> str:
    n = t.to_link.num_rows
    return f"it takes long on {n:,} records" * (n > 20_000)


PROBABILISTIC_LINKAGE = Measure(
    "probabilistic_linkage",
    "share of released records linked to their own original by which columns agree",
    lambda t: linked_by(t, probabilistic_linkage),
    [
        Figure("linkage by probability", "", "%", guide=AVERAGE, headline=True, attack=True),
        Figure("linkage by probability, weaker", "paper", "%", guide=AVERAGE,
               reading="the same by an intruder who knows half of the columns"),
    ],
    needs=["quasi columns or changed numbers"],
    on_request=_slow,
)  # fmt: skip
