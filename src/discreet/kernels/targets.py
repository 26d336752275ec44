"""Which of the smallest classes go, until the risk that is left in a table is low enough.

Classes are told by their sizes alone: `sizes` that occur, rising, and `numbers` of classes of each.
What is asked of those that stay, R records in U classes: U <= average R, and for each k and share
that records in classes of fewer than k are at most share R. As small classes go, both come nearer:
the average size grows, and a class that goes from among those under k takes as many records of them
as it takes of R.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.population import fewest_uniques

# Sizes below this are counted in a list, larger ones sorted.
_SMALL = 4096
# What misses a bound by no more than rounding keeps it.
_TOLERANCE = 1e-12


@inner
def histogram(counts, gone):
    """Count the classes of each size, but for those that are gone; `gone` may be empty."""
    small = np.zeros(_SMALL, np.int64)
    large = np.empty(counts.size, np.int64)
    many = 0
    for c in range(counts.size):
        if gone.size and gone[c]:
            continue
        if counts[c] < _SMALL:
            small[counts[c]] += 1
        else:
            large[many] = counts[c]
            many += 1
    # No class has no records; what is left of one may be nothing.
    small[0] = 0
    some = np.flatnonzero(small)
    sizes, numbers = np.empty(some.size + many, np.int64), np.empty(some.size + many, np.int64)
    sizes[: some.size], numbers[: some.size] = some, small[some]
    end = some.size
    for size in np.sort(large[:many]):
        if end > some.size and sizes[end - 1] == size:
            numbers[end - 1] += 1
        else:
            sizes[end], numbers[end] = size, 1
            end += 1
    return sizes[:end].copy(), numbers[:end].copy()


@inner
def keeps(classes, records, under, average, shares):
    """Tell whether so many classes with so many records are within the average and the shares."""
    good = classes <= average * records * (1 + _TOLERANCE)
    for i in range(shares.size):
        good &= under[i] <= shares[i] * records * (1 + _TOLERANCE)
    return good


@inner
def first_to_stay(sizes, numbers, average, ks, shares):
    """Return the smallest size of which a class stays, by its place, and how many of it go."""
    classes, records = numbers.sum(), (sizes * numbers).sum()
    under = np.zeros(ks.size, np.int64)
    for i in range(ks.size):
        for s in range(sizes.size):
            if sizes[s] < ks[i]:
                under[i] += sizes[s] * numbers[s]
    for s in range(sizes.size):
        low, high = 0, numbers[s]
        # How many of this size must go: at most all, after which the next size is looked at.
        while low < high:
            middle = (low + high) // 2
            left = under - sizes[s] * middle * (sizes[s] < ks)
            if keeps(classes - middle, records - sizes[s] * middle, left, average, shares):
                high = middle
            else:
                low = middle + 1
        if low < numbers[s]:
            return s, low
        classes -= numbers[s]
        records -= sizes[s] * numbers[s]
        under -= sizes[s] * numbers[s] * (sizes[s] < ks)
    return sizes.size, 0


@njit(cache=True, nogil=True)
def taken_out(counts, gone, average, ks, shares, kinds, mosts, people):
    """Return a size, and how many classes of it go besides all smaller ones.

    `kinds`, `mosts` and `people` are of the estimates of population uniqueness that are asked for.
    """
    sizes, numbers = histogram(counts, gone)
    s, many = first_to_stay(sizes, numbers, average, ks, shares)
    if s == 0 and kinds.size and sizes.size and sizes[0] == 1:
        left = numbers.copy()
        left[0] -= many
        # What one estimator makes go may raise what another says.
        i = 0
        while i < kinds.size and left[0] > 0:
            more = fewest_uniques(kinds[i], mosts[i], sizes, left, people[i])
            left[0] -= more
            i = 0 if more and i else i + 1
        many = numbers[0] - left[0]
    if s == sizes.size:
        return (sizes[-1] + 1 if sizes.size else 1), 0
    return sizes[s], many


@njit(cache=True, nogil=True)
def least_out(counts, least, stars, average, ks, shares):
    """Return how many records every finer node suppresses, at least.

    `least` are the records of each class that must go there for other models' sake. `stars` tells
    which classes show nothing, here; only what is among them shows nothing at finer nodes.

    The average: what a finer node keeps and shows are r records in m <= average r of its classes.
    They lie in at most m classes here, of which none gives more than what it need not lose. Let
    g(m) be the sum of the m largest of that. It is concave, so that g(m) / m falls, and the m with
    m <= average g(m) are all up to some M. From m <= average r <= average g(m) follows m <= M, and
    r <= g(M): the other records are gone, or show nothing.

    The shares: who is in a class of fewer than k here is so at every finer node, or gone. So these
    u records are at most S + share (n - S), if S of n are gone.
    """
    n, sure, hidden = 0, 0, 0
    for c in range(counts.size):
        n += counts[c]
        sure += least[c]
        if stars.size and stars[c]:
            hidden += counts[c]
    most = sure
    if average < 1:
        sizes, numbers = histogram(counts - least, stars[:0])
        classes, kept = 0, 0
        for s in range(sizes.size - 1, -1, -1):
            low, high = 0, numbers[s]
            while low < high:
                middle = (low + high + 1) // 2
                whole = kept + middle * sizes[s]
                if classes + middle <= average * whole * (1 + _TOLERANCE):
                    low = middle
                else:
                    high = middle - 1
            classes += low
            kept += low * sizes[s]
            if low < numbers[s]:
                break
        most = max(most, n - kept - hidden)
    for i in range(ks.size):
        under = 0
        for c in range(counts.size):
            if counts[c] < ks[i] and not (stars.size and stars[c]):
                under += counts[c]
        beyond = (under - shares[i] * n) / (1 - shares[i])
        most = max(most, int(np.ceil(beyond - 1e-6)))
    return most
