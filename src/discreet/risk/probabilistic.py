"""Probabilistic record linkage (Fellegi and Sunter 1969), with parameters by EM.

Every pair of a protected and an original record has an agreement pattern: for each attribute the
level on which the two agree, of two levels (they do or they do not) or of more. A model with two
kinds of pairs, matches and others, in which attributes agree independently of each other, is fitted
to the counts of the patterns; each protected record is then linked to the original of highest
weight.

m_kl, u_kl: the probability that attribute k agrees on level l in a match, and in another pair.
lambda: the share of matches among all pairs, which is known: n of n * n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np

from discreet.errors import BadInput, nearest
from discreet.kernels.agreement import best_is_own, count_patterns, fit_mixture, intervals, prefixes
from discreet.measure import AVERAGE, Entry, Facts, Figure, Measure
from discreet.risk._known import (
    Known,
    Linkage,
    constant_columns,
    known_sets,
    linkage_over_sets,
)
from discreet.risk.values import standardize
from discreet.table.pairs import Pair, shared_pairs
from discreet.threads import over_ranges

Agreement = Literal["sd", "rank", "graded"]
Tolerance = float | Sequence[float] | Mapping[str, float | Sequence[float]]

MOST_COLUMNS = 20
_MOST_PATTERNS = 2**21
# Numbers agree when they differ by no more, in standard deviations or as a share of the ranks.
TOLERANCE = {"sd": 0.25, "rank": 0.01}
# The same, level by level; the later ones are for more columns, whose patterns are too many.
_GRADES = ((0.002, 0.01, 0.05, 0.1), (0.005, 0.05), (0.01,))
_PREFIX_BYTES = 2**24
_COUNT_BYTES = 2**26
# Protected records whose pairs the model of several levels is fitted to.
_LEARNED = 4_000
_START_M = 0.9
# Probabilities of exactly 0 and 1 would make one disagreement outweigh everything.
_LEAST = 1e-6
_MOST_STEPS = 500
_SETTLED = 1e-7
# Weights that differ by less are the same: rounding must not decide ties.
_WEIGHT_DECIMALS = 9
_READING = "share of released records linked to their own original by which columns agree"


@overload
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    agreement: Agreement = ...,
    tolerance: Tolerance | None = ...,
    known: Known = ...,
    detail: Literal[False] = ...,
) -> float: ...
@overload
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    agreement: Agreement = ...,
    tolerance: Tolerance | None = ...,
    known: Known = ...,
    detail: Literal[True],
) -> Linkage: ...
def probabilistic_linkage(
    original: Any,
    protected: Any,
    *,
    agreement: Agreement = "graded",
    tolerance: Tolerance | None = None,
    known: Known = "paper",
    detail: bool = False,
) -> float | Linkage:
    """Share of the records that an intruder links correctly by the most likely match.

    Parameters
    ----------
    original, protected : table or array
        The same rows in the same order.
    agreement : {"graded", "rank", "sd"}
        When numbers agree; categories agree when equal. `"graded"`: on one of several levels, by
        how far they are apart in ranks, each within its file. `"rank"`: when their ranks are not
        farther apart than a share of all. `"sd"`: when they are not farther apart than some
        standard deviations, after each file's column was standardised by its own mean and standard
        deviation; of skewed columns that is nearly always, and most of the risk is missed.
    tolerance : float, list of float or dict, optional
        How far apart. One number for `"sd"` (0.25 standard deviations where not given) and `"rank"`
        (0.01 of the ranks); for `"graded"` one for each level, in shares of the ranks: 0.002, 0.01,
        0.05 and 0.1 for up to 9 columns at a time, 0.005 and 0.05 for up to 13, and 0.01 for more.
        A dict has them by column; columns that it does not name take the usual ones.
    known : {"paper", "all"}, list of str or list of lists of str
        What the intruder knows; see `distance_linkage`. At most 20 columns at a time, and as many
        as have no more than 2,097,152 patterns (of five levels 9 columns, of three 13).
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
    A null agrees with nothing, not even with another null. Tied values have the mean of their
    ranks. Closer agreement never counts against a match: its probability in a match, over that in
    another pair, is taken to be at least that of the level before. Time grows with the square of
    the records, memory does not. So that several levels do not take much longer than one, there
    are fewer of them the more columns there are, and of more than 4,000 protected records the model
    is fitted to the pairs of 4,000, evenly spread; links are looked for among all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> original = pa.table({"sex": ["f", "f", "m", "m"], "age": [20, 30, 40, 50]})
    >>> protected = pa.table({"sex": ["f", "f", "m", "m"], "age": [21, 29, 41, 49]})
    >>> probabilistic_linkage(original, protected, known="all")
    1.0
    >>> probabilistic_linkage(
    ...     original, protected, agreement="sd", tolerance={"age": 1.0}, known="all"
    ... )
    0.5
    """
    if agreement not in get_args(Agreement):
        raise BadInput(f'agreement = "{agreement}": {nearest(agreement, get_args(Agreement))}')
    pairs = shared_pairs(original, protected)
    sets = known_sets(known, list(pairs))
    used = dict.fromkeys(name for columns in sets for name in columns)
    given = _given(agreement, tolerance, pairs)
    constant = constant_columns(pairs, used, "probabilistic_linkage")
    n = len(next(iter(pairs.values())).x)
    chosen = [[name for name in columns if name not in constant] for columns in sets]
    usual = _usual(agreement, max(len(names) for names in chosen))
    tolerances = {name: given.get(name, given.get(None, usual)) for name in used}
    levels = 1 + max((len(tolerances[name]) for name in used if name not in constant), default=1)
    usable = {
        name: _attribute(pairs[name], agreement, tolerances[name], levels)
        for name in used
        if name not in constant
    }
    counted: dict[tuple[str, ...], np.ndarray] = {}
    # The longest first: what the first columns of a set count follows from its own counts.
    for names in sorted(chosen, key=len, reverse=True):
        longer = next((known for known in counted if list(known[: len(names)]) == names), None)
        counted[tuple(names)] = (
            pattern_counts([usable[name] for name in names])
            if longer is None
            else counts_of_first(counted[longer], len(names), levels)
        )
    outcomes = [
        (names, linked([usable[name] for name in names], counted[tuple(names)], n), 0)
        for names in chosen
    ]
    result = linkage_over_sets(outcomes)
    return result if detail else result.value


def _given(
    agreement: Agreement, tolerance: Tolerance | None, pairs: Mapping[str, Pair]
) -> dict[str | None, tuple[float, ...]]:
    """Return the tolerances that are given by column, or for all of them under None."""
    if tolerance is None:
        return {}
    if not isinstance(tolerance, Mapping):
        return {None: _checked(agreement, tolerance, "tolerance")}
    for name in tolerance:
        if name not in pairs:
            raise BadInput(f"tolerance: there is no column '{name}'; {nearest(name, list(pairs))}")
        if pairs[name].categorical:
            raise BadInput(f"tolerance: column '{name}' holds categories, which agree when equal")
    return {
        name: _checked(agreement, one, f"tolerance of '{name}'") for name, one in tolerance.items()
    }


def _checked(agreement: Agreement, tolerance: Any, what: str) -> tuple[float, ...]:
    one = isinstance(tolerance, int | float | str)
    if one and agreement == "graded":
        raise BadInput(
            f'{what} = {tolerance}: agreement = "graded" takes a list, such as [0.01, 0.05]; '
            'one number is for agreement = "rank" or "sd"'
        )
    if not one and agreement != "graded":
        raise BadInput(
            f'{what} = {tolerance}: agreement = "{agreement}" takes one number; a list is for '
            'agreement = "graded"'
        )
    found = (tolerance,) if one else tuple(tolerance)
    if not found:
        raise BadInput(f"{what} holds no number")
    for value in found:
        if isinstance(value, str) or not value >= 0:
            raise BadInput(f"{what} = {value} must be 0 or more")
    return tuple(sorted(set(found)))


def _usual(agreement: Agreement, p: int) -> tuple[float, ...]:
    """Return the tolerances of so many columns where none are given."""
    if agreement != "graded":
        return (TOLERANCE[agreement],)
    fitting = (one for one in _GRADES if p <= _most_columns(1 + len(one)))
    return next(fitting, _GRADES[-1])


def _most_columns(levels: int) -> int:
    """Return how many columns of so many levels have patterns that can be counted.

    Examples
    --------
    >>> _most_columns(2), _most_columns(3), _most_columns(5)
    (20, 13, 9)
    """
    return max(p for p in range(MOST_COLUMNS + 1) if levels**p <= _MOST_PATTERNS)


class Originals:
    """One column of the original in order, scaled as numbers are compared."""

    def __init__(
        self, x: np.ndarray, categorical: bool = False, agreement: Agreement = "sd"
    ) -> None:
        n, self.categorical, self.agreement = len(x), categorical, agreement
        if not categorical:
            x = standardize(x) if agreement == "sd" else _mid_ranks(x)
        # NaN sorts last.
        self.order = np.argsort(x, kind="stable")
        ordered = x[self.order]
        self.ordered = ordered[: int(np.searchsorted(ordered, np.nan))]
        # One prefix in 64 ranks, or fewer where they would take too much memory.
        self.stride = max(64, n * n // (8 * _PREFIX_BYTES))
        self.below = prefixes(self.order, n, self.stride)


class Attribute(NamedTuple):
    """What one column agrees with: for each protected record, intervals of ranks of originals.

    `spans` has one for each level above 0, the widest first: levels by records by both ends.
    """

    originals: Originals
    spans: np.ndarray


def agreeing(
    originals: Originals, y: np.ndarray, tolerances: Sequence[float] = (TOLERANCE["sd"],)
) -> Attribute:
    """Find the originals that each of some released values agrees with, on each level."""
    n = len(originals.ordered)
    if originals.categorical:
        tolerances = [0.0] * len(tolerances)
    elif originals.agreement == "sd":
        y = standardize(y)
    else:
        # In ranks of the original, which may have another number of nulls.
        y = _mid_ranks(y) * (n / (~np.isnan(y)).sum())
        tolerances = [round(one * n, _WEIGHT_DECIMALS) for one in tolerances]
    wide = sorted(tolerances, reverse=True)
    return Attribute(originals, np.stack([intervals(originals.ordered, y, one) for one in wide]))


def _attribute(
    pair: Pair, agreement: Agreement, tolerances: Sequence[float], levels: int
) -> Attribute:
    originals = Originals(pair.x, pair.categorical, agreement)
    # A column of fewer levels has none between its closest and the next.
    closest = min(tolerances)
    return agreeing(originals, pair.y, [*tolerances, *[closest] * (levels - 1 - len(tolerances))])


def _mid_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of values from 1 on, of tied ones their mean; of nulls NaN.

    Examples
    --------
    >>> _mid_ranks(np.array([7.0, np.nan, 3.0, 7.0]))
    array([2.5, nan, 1. , 2.5])
    """
    ranks, there = np.full(len(values), np.nan), ~np.isnan(values)
    _, which, ties = np.unique(values[there], return_inverse=True, return_counts=True)
    ranks[there] = (np.cumsum(ties) - (ties - 1) / 2)[which]
    return ranks


def pattern_counts(attributes: Sequence[Attribute]) -> np.ndarray:
    """Count the pairs of a protected and an original record that have each agreement pattern.

    On more than two levels, of larger tables, only those of 4,000 protected records, which lie as
    far apart as the table allows.
    """
    p, levels = len(attributes), _levels(attributes)
    most = _most_columns(levels)
    if p > most:
        fewer = " or give fewer tolerances" * (levels > 2)
        raise BadInput(
            f"probabilistic_linkage compares at most {most} columns at a time"
            + f" on {levels} levels" * (levels > 2)
            + f", not {p}; name fewer in known{fewer}"
        )
    n = attributes[0].spans.shape[1] if attributes else 0
    if n == 0:
        return np.zeros(levels**p, np.int64)
    spans, *originals = _sides(attributes)
    if levels > 2 and n > _LEARNED:
        spans = np.ascontiguousarray(spans[:, :, np.arange(_LEARNED) * n // _LEARNED])
        n = _LEARNED
    # Fewer pieces where each has many counts.
    chunk = max(_chunk(n), n * 8 * levels**p // _COUNT_BYTES)
    parts = over_ranges(lambda a, b: count_patterns(spans, *originals, a, b), n, chunk)
    counts: np.ndarray = np.sum(parts, axis=0)
    return counts


def counts_of_first(counts: np.ndarray, p: int, levels: int = 2) -> np.ndarray:
    """Count the patterns of the first p attributes, from those of more.

    Examples
    --------
    >>> counts_of_first(np.array([5, 1, 2, 1]), 1)
    array([7, 2])
    """
    return counts.reshape(-1, levels**p).sum(axis=0)


def linked(attributes: Sequence[Attribute], counts: np.ndarray, n: int) -> np.ndarray:
    """Return each record's hit by one set of columns, whose patterns were counted."""
    hits = np.full(n, 1.0 / max(1, n))
    if not attributes or n == 0:
        return hits
    levels = _levels(attributes)
    sides, top = _sides(attributes), _rank_starts(pattern_weights(counts, n, levels), levels)
    over_ranges(lambda a, b: best_is_own(*sides, top, a, b, hits), n, _chunk(n))
    return hits


def _levels(attributes: Sequence[Attribute]) -> int:
    return 1 + len(attributes[0].spans) if attributes else 2


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


def pattern_weights(counts: np.ndarray, n: int, levels: int = 2) -> np.ndarray:
    """Return the weight log2(P(pattern | match) / P(pattern | other)) of every agreement pattern.

    Of each pattern the pairs are counted, n records in each file; digit k of its number, of as many
    as there are levels, is the level on which attribute k agrees.

    Examples
    --------
    >>> weights = pattern_weights(np.array([90, 10]), 10)
    >>> bool(weights[1] > 0 > weights[0])
    True
    """
    m, u = fit_agreement(counts, n, levels)
    weights = np.zeros(1)
    for of_level in np.log2(m / u):
        weights = (of_level[:, None] + weights).ravel()
    return weights


def fit_agreement(counts: np.ndarray, n: int, levels: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Estimate m and u, attributes by levels, by EM from the pattern counts.

    The share of matches stays at 1/n. m / u never falls from a level to the next: agreement never
    counts against a match. Left free, EM can take columns that agree together for the matches, and
    hold it against the others that they agree.
    """
    there = np.flatnonzero(counts)
    p = round(np.log(len(counts)) / np.log(levels))
    m, u = np.full((p, levels), _START_M / (levels - 1)), np.empty((p, levels))
    m[:, 0] = 1 - _START_M
    digits = (there[:, None] // levels ** np.arange(p) % levels).astype(np.uint8)
    pairs = counts[there].astype(np.float64)
    fit_mixture(digits, pairs, m, u, 1.0 / n, _LEAST, _MOST_STEPS, _SETTLED)
    return m, u


def _rank_starts(weights: np.ndarray, levels: int) -> np.ndarray:
    """Rank the weights, and for k = 0..p the starts of patterns, by the best that they can become.

    The starts of k attributes come after those of fewer, the patterns themselves last.
    """
    tops = [np.unique(np.round(weights, _WEIGHT_DECIMALS), return_inverse=True)[1]]
    while len(tops[0]) > 1:
        # The last digit of the longer starts is their highest.
        tops.insert(0, tops[0].reshape(levels, -1).max(axis=0))
    return np.concatenate(tops)


def _take(t: Facts) -> Entry:
    """Link records by each way to agree, and tell of the one that finds most."""
    x, y = t.to_link.linked()
    found = {
        one: probabilistic_linkage(x, y, agreement=one, known="all") for one in get_args(Agreement)
    }
    strongest = max(found, key=lambda one: found[one])
    before, paper = (
        probabilistic_linkage(x, z, agreement=strongest, known=known)
        for z, known in ((x, "all"), (y, "paper"))
    )
    entry = {
        "means": f"{_READING} (agreement: {strongest}, which finds most of sd, rank and graded)",
        "columns": x.column_names,
        "before": before,
        "after": found[strongest],
        "paper": paper,
        "agreement": strongest,
        "by_agreement": found,
    }
    return entry | t.sampled(found[strongest])


def _slow(t: Facts) -> str:
    n = t.to_link.num_rows
    return f"it takes long on {n:,} records" * (n > 20_000)


PROBABILISTIC_LINKAGE = Measure(
    "probabilistic_linkage",
    _READING,
    _take,
    [
        Figure("linkage by probability", "", "%", guide=AVERAGE, headline=True, attack=True),
        Figure("linkage by probability, weaker", "paper", "%", guide=AVERAGE,
               reading="the same by an intruder who knows half of the columns"),
    ],
    needs=["quasi columns or changed numbers"],
    on_request=_slow,
    intruder="linking by which columns agree; beside one record in n by chance",
)  # fmt: skip
