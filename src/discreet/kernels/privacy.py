"""Does a class satisfy the privacy models? Decided from its size and its counts of values.

The confidential columns stand side by side on one axis of values: column j has the places
`offsets[j]` to `offsets[j + 1] - 1`. `histogram` counts a class's records at each place, nulls left
out; `q` is each column's distribution over all records. Where units are counted, both count the
distinct units that hold a value, and one more place, the last, counts the units. Where there is a
population, that place counts instead its records that have the class's quasi-identifiers.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

DISTINCT, ENTROPY, RECURSIVE, EQUAL, ORDERED, HIERARCHICAL, BETA, ENHANCED, ALPHA, DELTA = range(10)
# A class passes where it misses a bound by no more than rounding.
TOLERANCE = 1e-12
# Grassberger's G(0), G(2), ... (2003): -Euler - ln 2 + 2 (1 + 1/3 + ... + 1/(2m - 1)).
_G = np.cumsum(np.append(-np.euler_gamma - np.log(2), 2 / np.arange(1.0, 256, 2)))


class Rules(NamedTuple):
    """Privacy models as flat arrays, for compiled code."""

    # Records, or units, that a class must have: the largest k of the models.
    k: int
    # By column, the distinct values that a class must have, as the models together imply. With k,
    # this is the part of the models that stays true when a class grows.
    least: np.ndarray
    # (models, 4): kind, column, and for hierarchical t-closeness where its levels start in `tree`
    # and their number. k-anonymity and distinct l-diversity are not listed: k and least say all.
    kinds: np.ndarray
    # (models, 2): l and c (of entropy: 1 for Grassberger's estimator), t, beta, alpha or 2^delta.
    numbers: np.ndarray
    offsets: np.ndarray
    q: np.ndarray
    # By level, for each value of the column the label above it.
    tree: np.ndarray
    # The place at which units are counted; -1 where k counts records.
    units: int = -1
    # The place at which the population is counted; -1 where there is none. What a class must have
    # there, and its share of that, at least and at most.
    population: int = -1
    mapped: int = 0
    lowest: float = 0.0
    highest: float = 1.0
    # What attacks cost and gain, and the publisher's loss and benefit
    # (`discreet.kernels.worth`); empty where no model looks at these. A record is found among those
    # that are counted at a place; -1 where among those of its class.
    profit: np.ndarray = np.empty(0)
    among: int = -1

    @property
    def monotone(self) -> bool:
        """True where a class that keeps the models also does so with more records."""
        shares = self.lowest > 0 or self.highest < 1
        return not (len(self.kinds) or len(self.profit) or shares)

    @property
    def mergeable(self) -> bool:
        """True where two classes of different records that keep the models do so as one."""
        entropies = self.numbers[self.kinds[:, 0] == ENTROPY, 1]
        return not (DELTA in self.kinds[:, 0] or entropies.any())


@njit(cache=True, nogil=True)
def may_hold(rules, size, histogram):
    """Tell whether a class, or one that it is part of, can satisfy the models.

    False stays false for every part of the class.
    """
    if size < rules.k or (rules.mapped and histogram[rules.population] < rules.mapped):
        return False
    for j in range(rules.least.size):
        if rules.least[j] > 0:
            distinct = 0
            for v in range(rules.offsets[j], rules.offsets[j + 1]):
                distinct += histogram[v] > 0
            if distinct < rules.least[j]:
                return False
    return True


@njit(cache=True, nogil=True)
def holds(rules, size, histogram):
    """Tell whether a class of `size` records, or units, satisfies all models."""
    return may_hold(rules, size, histogram) and not too_many(rules, size, histogram)[0]


@njit(cache=True, nogil=True)
def stars_hold(rules, size, histogram):
    """Tell whether suppressed records may stay as a class, of stars alone.

    Their publisher has nothing of them, so that it is enough if no attack on one pays.
    """
    if rules.profit.size:
        among = max(1, size if rules.among < 0 else histogram[rules.among])
        if rules.profit[1] / among - rules.profit[0] > 0:
            return False
    return holds(rules, size, histogram)


@njit(cache=True, nogil=True)
def too_many(rules, size, histogram):
    """Tell whether a class breaks a model, and how many records must go before its parts can hold.

    If a class satisfies a model that `may_hold` does not look at, its parts need not; but classes
    that satisfy it also do so when merged. So if a class breaks it, some part of it does too,
    however it is divided, and enough records must go to bring the rest back to the bound. Two
    models are not like that, and tell of no record that must go: Grassberger's entropy, and
    delta-disclosure of values that are too rare in the class.
    """
    broken, most = False, 0
    if rules.population >= 0:
        most = _beyond_presence(rules, size, histogram[rules.population])
        broken = most > 0
    for i in range(rules.kinds.shape[0]):
        bad, many = _too_many(rules, i, histogram)
        broken |= bad
        most = max(most, many)
    return broken, most


@inner
def _beyond_presence(rules, size, population):
    """Return how many of a class's records must go before its parts can keep their share.

    The share of a class of m records in M of the population is the mean of its parts' shares. If x
    records go, the parts that go have x of M at least, and m - x <= highest (M - x) for the rest.
    Below `lowest` some part is below too, so that one must go; it may have any number of M.
    """
    if size < rules.lowest * population * (1 - TOLERANCE):
        return 1
    excess = size - rules.highest * population
    if rules.highest == 1 or excess <= TOLERANCE * population:
        return 0
    return _share_of(1.0, excess / (1 - rules.highest))


@inner
def _too_many(rules, i, histogram):
    """Tell the same of one model."""
    kind, j = rules.kinds[i, 0], rules.kinds[i, 1]
    first, last = rules.offsets[j], rules.offsets[j + 1]
    counts, q = histogram[first:last], rules.q[first:last]
    n = counts.sum()
    if n == 0:
        # No value tells nothing, but is no diversity either.
        return kind <= RECURSIVE, 1 if kind <= RECURSIVE else 0
    if kind == ENTROPY and rules.numbers[i, 1]:
        return _grassberger(counts, n) < n * np.log(rules.numbers[i, 0]) - TOLERANCE * n, 0
    if kind == DELTA:
        return _disclosing(counts, n, q, rules.numbers[i, 0])
    many = _to_bring_back(rules, i, counts, n, q)
    return many > 0, many


@inner
def _grassberger(counts, n):
    """Return n G(n) - sum of c G(c), which estimates the entropy of n values, n times."""
    entropy = n * _g(n)
    for c in counts:
        if c > 0:
            entropy -= c * _g(c)
    return entropy


@njit(cache=True, nogil=True)
def _g(n):
    """Return G(n); that of an odd number is that of the one before."""
    m = n // 2
    if m < _G.size:
        return _G[m]
    # The sum's asymptotic series, exact to float64 from here on.
    return np.log(2.0 * m) + 1 / (24.0 * m**2) - 7 / (960.0 * m**4)


@inner
def _disclosing(counts, n, q, factor):
    """Tell whether a value is `factor` times as common as over all, or as rare, and who must go.

    No value is in the kept parts of a class more often than factor q of their records. So of m that
    are kept there are no more than the sum of min(count, factor q m). That is concave in m: what is
    left where its tangent meets m is no less than the most that can be kept, and is taken for m
    again, until it stays. The rare tell nothing, since parts without them may hold.
    """
    common, rare = False, False
    for v in range(counts.size):
        if counts[v] > 0:
            expected = n * q[v]
            common |= counts[v] >= expected * factor * (1 - TOLERANCE)
            rare |= counts[v] * factor <= expected * (1 + TOLERANCE)
    if not common:
        return rare, 0
    kept, before = float(n), np.inf
    while 0 < kept < before:
        before, whole, share = kept, 0.0, 0.0
        for v in range(counts.size):
            if counts[v] > 0:
                most = factor * q[v]
                if counts[v] > most * before:
                    share += most
                else:
                    whole += counts[v]
        if share < 1:
            kept = min(before, whole / (1 - share))
    return True, max(1, n - int(kept + 1e-6))


@inner
def _to_bring_back(rules, i, counts, n, q):
    """Return how many records must go before a model that holds for merged classes can hold."""
    kind, bound = rules.kinds[i, 0], rules.numbers[i, 0]
    if kind == ENTROPY:
        entropy = 0.0
        for c in counts:
            if c > 0:
                entropy -= c / n * np.log(c / n)
        if np.exp(entropy) >= bound * (1 - TOLERANCE):
            return 0
        # Entropy is concave: that of all is at least the rest's share times log(l).
        return _share_of(n, 1 - entropy / np.log(bound))
    if kind == RECURSIVE:
        return 0 if _recursive(counts, n, int(bound), rules.numbers[i, 1]) else 1
    if kind == EQUAL:
        return _beyond(n, _excess(counts, n, q), bound)
    if kind in (ORDERED, HIERARCHICAL):
        return _beyond(n, _distance(rules, i, counts, n, q), bound)
    most = 0
    for v in range(counts.size):
        p = counts[v] / n
        if kind == ALPHA:
            most = max(most, _beyond(n, p, bound))
        elif p > q[v]:
            gain = bound if kind == BETA else min(bound, -np.log(q[v]))
            if (p - q[v]) / q[v] > gain + TOLERANCE:
                most = max(most, 1, _beyond(n, p, q[v] * (1 + gain)))
    return most


@inner
def too_many_shared(rules, histogram):
    """Return the same where parts of a class may have pairs of a unit and a value in common.

    Each of these models says, of weights f of the values from 0 to 1, that f p is at most b. A pair
    counts once in the class, n in all, and once in each part, N in all parts at most. So in the
    parts that are kept f times the counts is at most b N, and what the class has beyond must go.
    For t-closeness b = t + f q, with the f that reaches the distance: it is 1 for values above q;
    for the distances other than equal it is not looked for, and f q is at most 1.
    """
    most = 0.0
    for i in range(rules.kinds.shape[0]):
        kind, j, bound = rules.kinds[i, 0], rules.kinds[i, 1], rules.numbers[i, 0]
        first, last = rules.offsets[j], rules.offsets[j + 1]
        counts, q = histogram[first:last], rules.q[first:last]
        n, parts = counts.sum(), histogram[rules.units + 1 + j]
        if n == 0 or kind <= RECURSIVE:
            continue
        if kind in (ORDERED, HIERARCHICAL):
            most = max(most, n * _distance(rules, i, counts, n, q) - bound * parts - (parts - n))
        elif kind == EQUAL:
            above, share = 0, 0.0
            for v in range(counts.size):
                if counts[v] > n * q[v]:
                    above += counts[v]
                    share += q[v]
            most = max(most, above - (bound + share) * parts)
        else:
            for v in range(counts.size):
                if counts[v] > 0:
                    gain = min(bound, -np.log(q[v])) if kind == ENHANCED else bound
                    limit = bound if kind == ALPHA else q[v] * (1 + gain)
                    limit = q[v] * bound if kind == DELTA else limit
                    most = max(most, counts[v] - limit * parts)
    return int(np.ceil(most - 1e-6))


@inner
def _distance(rules, i, counts, n, q):
    """Return the distance of an ordered or a hierarchical column's distribution from q."""
    if rules.kinds[i, 0] == HIERARCHICAL:
        tree = rules.tree[rules.kinds[i, 2] :]
        return _tree_distance(counts, n, q, tree, rules.kinds[i, 3])
    ahead, total = 0.0, 0.0
    for v in range(counts.size):
        ahead += counts[v] / n - q[v]
        total += abs(ahead)
    return total / max(counts.size - 1, 1)


@inner
def _beyond(n, reached, bound):
    """Count the records that must go of n, where each can be at most 1 from the bound.

    What is reached is at most the rest's share times the bound, plus 1 for each that goes.
    """
    if reached <= bound + TOLERANCE:
        return 0
    return _share_of(n, (reached - bound) / (1 - bound) if bound < 1 else 0.0)


@inner
def _share_of(n, share):
    return max(1, int(np.ceil(share * n - 1e-6)))


@inner
def _recursive(counts, n, most, c):
    """Compare the largest count with c times what is left from the l-th largest (`most`) on."""
    left = counts.copy()
    tail, largest = n, 0
    for rank in range(most):
        at = np.argmax(left)
        if rank == 0:
            largest = left[at]
        if rank < most - 1:
            tail -= left[at]
            left[at] = 0
    return largest < c * tail * (1 - TOLERANCE)


@inner
def _excess(counts, n, q):
    """Half the sum of |p - q|, which is what p has in excess of q."""
    excess = 0.0
    for v in range(counts.size):
        excess += max(0.0, counts[v] / n - q[v])
    return excess


@inner
def _tree_distance(counts, n, q, tree, levels):
    """Earth mover's distance along a tree: the mean over its levels of the equal distance there.

    Two values are as far apart as their lowest common level is high, over the height: one for
    each level at which they still differ.
    """
    m = counts.size
    total = _excess(counts, n, q)
    above, expected = np.empty(m, np.int64), np.empty(m)
    for level in range(1, levels):
        above[:], expected[:] = 0, 0.0
        for v in range(m):
            label = tree[level * m + v]
            above[label] += counts[v]
            expected[label] += q[v]
        total += _excess(above, n, expected)
    return total / max(levels, 1)
