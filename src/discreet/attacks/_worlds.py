"""Part of a class, and what its values can be, when it is known that a privacy model was broken.

The class's confidential values are released, and who is in the part is known to one who knows
everybody's quasi values. All ways alike in which the values can belong to the members, the part's
histogram is drawn from the class's by the multivariate hypergeometric distribution. So histograms
are gone through, each with its chance, and not the ways themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks._planned import numbered
from discreet.kernels.privacy import Rules
from discreet.kernels.whole import judge

# More histograms of a part are not gone through.
MOST = 20_000


@dataclass(frozen=True)
class Believed:
    """What is believed of each value's share: in the class, the part and the rest of the class."""

    share: np.ndarray
    part: np.ndarray
    rest: np.ndarray
    looked_at: int  # histograms


def believed(
    codes: np.ndarray, inside: np.ndarray, rules: Rules, either: bool = False
) -> Believed | None:
    """Return what is believed of a part that is known to break a model; None if that is too much.

    Parameters
    ----------
    codes : (columns, members) array
        The confidential values of a class's members as places on the axis of `rules`, -1 for nulls.
    inside : (members,) array of bool
        Who is in the part.
    rules : Rules
    either : bool
        It is only known that the part or the rest of the class breaks a model.
    """
    n, m = codes.shape[1], int(inside.sum())
    first, kind = numbered([row + 1 for row in codes])
    kinds, counts = codes[:, first], np.bincount(kind)
    taken = histograms(counts, m)
    if taken is None:
        return None
    broken = ~_hold(kinds, taken, rules)
    if either:
        broken |= ~_hold(kinds, counts - taken, rules)
    if not broken.any():
        return None
    taken = taken[broken]
    chance = _chances(counts, taken)
    mean = chance @ taken
    at = np.zeros((kinds.shape[1], int(rules.offsets[-1])))
    for row in kinds:
        there = np.flatnonzero(row >= 0)
        at[there, row[there]] += 1
    rest = (counts - mean) @ at / max(n - m, 1)
    return Believed(counts @ at / n, mean @ at / m, rest, len(broken))


def histograms(counts: np.ndarray, m: int) -> np.ndarray | None:
    """Return all histograms of m members of a class with some counts; None if there are too many.

    Examples
    --------
    >>> histograms(np.array([2, 1, 1]), 2).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0], [2, 0, 0]]
    """
    found = np.zeros((1, 0), np.int64)
    after = np.append(np.cumsum(counts[::-1])[::-1][1:], 0)
    for count, later in zip(counts, after, strict=True):
        left = m - found.sum(axis=1)
        low, high = np.maximum(left - later, 0), np.minimum(left, count)
        each = high - low + 1
        if each.sum() > MOST:
            return None
        nth = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
        found = np.column_stack([np.repeat(found, each, axis=0), np.repeat(low, each) + nth])
    return found


def _hold(kinds: np.ndarray, taken: np.ndarray, rules: Rules) -> np.ndarray:
    """Tell which histograms of kinds of members keep the models."""
    number, width = taken.shape
    entries = np.arange(number * width, dtype=np.int64)
    return judge(
        np.repeat(np.arange(number, dtype=np.int64), width),
        number,
        entries,
        np.append(entries, len(entries)),
        np.tile(kinds, (1, number)),
        np.ascontiguousarray(taken, np.int64).ravel(),
        np.empty((0, len(entries)), np.int32),
        np.empty(0, np.int32),
        rules,
    )


def _chances(counts: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return how likely each of some histograms is, by its number of ways."""
    from scipy.special import gammaln

    log = (gammaln(counts + 1) - gammaln(taken + 1) - gammaln(counts - taken + 1)).sum(axis=1)
    ways = np.exp(log - log.max())
    return np.asarray(ways / ways.sum())
