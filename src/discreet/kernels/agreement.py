"""Agreement patterns of all pairs of records of two files, without ever listing the pairs.

Attribute k of a protected record agrees with the originals of ranks a..b-1, in the order of that
attribute (an interval of values, or one category). A set of originals is a row of bits.

1. Prefixes. For every `stride`-th rank, the set of originals below it. The originals of ranks
   a..b-1 are the XOR of two prefixes, with the records between prefix and edge flipped one by one.
2. Patterns. The originals are split by the first attribute, each part by the second, and so on:
   the size of a last part is the count of its pattern. Parts of few records are listed instead.
   Bit k of a pattern is set where attribute k agrees.
3. Twice. First all patterns are counted over all records (for the model), then again record by
   record (for the links), where only parts that can hold a link as strong as the own one matter.
"""

import numpy as np
from numba import njit

_1 = np.uint64(1)
_63 = np.uint64(63)
_NEW, _INSIDE, _DONE = 0, 1, 2
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True)
def intervals(ordered, queries, tolerance):
    """Return the ranks a, b of each query: |ordered[r] - query| <= tolerance for a <= r < b.

    Rounded differences grow with the rank, so both ends are found by bisection with that same test.
    NaN: a = b = 0.
    """
    found = np.zeros((queries.size, 2), np.int64)
    for i in range(queries.size):
        if np.isnan(queries[i]):
            continue
        low, high = 0, ordered.size
        while low < high:
            middle = (low + high) // 2
            if queries[i] - ordered[middle] <= tolerance:
                high = middle
            else:
                low = middle + 1
        found[i, 0] = low
        high = ordered.size
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] - queries[i] <= tolerance:
                low = middle + 1
            else:
                high = middle
        found[i, 1] = low
    return found


@njit(cache=True, nogil=True)
def prefixes(order, n, stride):
    """Return the sets of the records order[:0], order[:stride], order[:2*stride], ... of 0..n-1."""
    sets = np.zeros((order.size // stride + 1, (n + 63) // 64), np.uint64)
    for c in range(1, sets.shape[0]):
        sets[c] = sets[c - 1]
        for r in range((c - 1) * stride, c * stride):
            _flip(sets[c], order[r])
    return sets


@njit(cache=True, nogil=True)
def count_patterns(spans, orders, below, stride, n, first, last):
    """Count the patterns of the protected records first..last-1 with all n originals.

    For every attribute, `spans` is what `intervals` returns, `orders` has the originals in the
    attribute's order, and `below` is what `prefixes` returns.
    """
    agree, parts, path, counts = _room(len(spans), n)
    for i in range(first, last):
        _find_agreeing(spans, orders, below, stride, i, agree)
        _split(parts, agree, n, path, None, 0, counts)
    return counts


@njit(cache=True, nogil=True)
def best_is_own(spans, orders, below, stride, n, top, first, last, hits):
    """Fill in the hits of records: 1/t if a record's own original is among the t strongest links.

    `top` ranks the patterns: higher means a likelier match, and equal ones tie. top[2**k + start]
    is the highest rank of a pattern with the given start, up to attribute k.
    """
    p = len(spans)
    agree, parts, path, counts = _room(p, n)
    for i in range(first, last):
        _find_agreeing(spans, orders, below, stride, i, agree)
        own = top[(1 << p) + _pattern(agree, i >> 6, np.uint64(i) & _63, 0, 0)]
        stronger = _split(parts, agree, n, path, top, own, counts)
        ties = 0
        for pattern in range(counts.size):
            if top[(1 << p) + pattern] == own:
                ties += counts[pattern]
            counts[pattern] = 0
        hits[i] = 0.0 if stronger else 1.0 / ties


@njit(cache=True, nogil=True)
def _find_agreeing(spans, orders, below, stride, i, agree):
    """Fill in the set of originals that each attribute of record i agrees with."""
    for k in range(len(spans)):
        a, b = spans[k, i]
        last = below.shape[1] - 1
        near_a = min((a + stride // 2) // stride, last)
        near_b = min((b + stride // 2) // stride, last)
        for w in range(agree.shape[1]):
            agree[k, w] = below[k, near_a, w] ^ below[k, near_b, w]
        for r in range(min(a, near_a * stride), max(a, near_a * stride)):
            _flip(agree[k], orders[k, r])
        for r in range(min(b, near_b * stride), max(b, near_b * stride)):
            _flip(agree[k], orders[k, r])


@njit(cache=True, nogil=True)
def _split(parts, agree, n, path, top, least, counts):
    """Add the counts of all records, in parts[0]; parts[k] shares its pattern up to attribute k.

    Parts without a pattern of rank `least` may be left out, unless `top` is None; then the first
    record of a higher rank ends it, and True is returned. `path` holds what would be the variables
    of a recursive function (numba crashes on a cached one).
    """
    p, words = agree.shape
    k = 0
    path[0] = 0, n, _NEW, 0
    while k >= 0:
        pattern, size, stage, inside = path[k]
        if stage == _NEW and k == p:
            if top is not None and top[(1 << p) + pattern] > least:
                return True
            counts[pattern] += size
            k -= 1
        elif stage == _NEW and size <= words:
            if _list(parts[k], agree, k, pattern, top, least, counts):
                return True
            k -= 1
        elif stage == _NEW:
            inside = 0
            for w in range(words):
                word = parts[k, w] & agree[k, w]
                parts[k + 1, w] = word
                inside += _count_bits(word)
            path[k, 2], path[k, 3] = _INSIDE, inside
            if inside > 0 and (top is None or top[(3 << k) + pattern] >= least):
                path[k + 1] = pattern | (1 << k), inside, _NEW, 0
                k += 1
        elif stage == _INSIDE:
            path[k, 2] = _DONE
            if inside < size and (top is None or top[(2 << k) + pattern] >= least):
                for w in range(words):
                    parts[k + 1, w] = parts[k, w] & ~agree[k, w]
                path[k + 1] = pattern, size - inside, _NEW, 0
                k += 1
        else:
            k -= 1
    return False


@njit(cache=True, nogil=True)
def _list(part, agree, k, pattern, top, least, counts):
    """Do the same as `_split`, record by record."""
    p = agree.shape[0]
    for w in range(part.size):
        word = part[w]
        while word:
            lowest = word & (~word + _1)
            bit = np.uint64(_count_bits(lowest - _1))
            found = _pattern(agree, w, bit, k, pattern)
            if top is not None and top[(1 << p) + found] > least:
                return True
            counts[found] += 1
            word ^= lowest
    return False


@njit(cache=True, nogil=True)
def _pattern(agree, w, bit, k, pattern):
    """Return the pattern of one record, known up to attribute k."""
    for j in range(k, agree.shape[0]):
        pattern |= np.int64((agree[j, w] >> bit) & _1) << j
    return pattern


@njit(cache=True, nogil=True)
def _count_bits(word):
    """Count set bits; compilers turn this form into one instruction."""
    word -= (word >> _1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _flip(part, record):
    part[record >> 6] ^= _1 << (np.uint64(record) & _63)


@njit(cache=True, nogil=True)
def _room(p, n):
    """Return what a search works in: sets that agree, parts (all n in the first), path, counts."""
    words = (n + 63) // 64
    parts = np.empty((p + 1, words), np.uint64)
    parts[0] = _FULL
    if n & 63:
        parts[0, -1] = (_1 << np.uint64(n & 63)) - _1
    path, counts = np.empty((p + 1, 4), np.int64), np.zeros(1 << p, np.int64)
    return np.empty((p, words), np.uint64), parts, path, counts


@njit(cache=True, nogil=True)
def fit_mixture(patterns, pairs, m, u, prior, least, most_steps, settled):
    """Fit m and u by EM in place; the prior stays, and m stays at u or above.

    Parameters
    ----------
    patterns : int64
        Those that occur; bit k is set where attribute k agrees.
    pairs : float64
        How often each occurs.
    m, u : (p,) float64
        In: where m starts; out: the estimates.
    prior : float
        Share of matches.
    least : float
        Estimates stay this far from 0 and 1.
    most_steps : int
    settled : float
        It ends when no estimate changes by as much.
    """
    p = m.size
    new_m, new_u = np.zeros(p), np.zeros(p)
    _mean_agreement(patterns, pairs, u, least)
    match, other = np.empty(pairs.size), np.empty(pairs.size)
    for _ in range(most_steps):
        for i in range(pairs.size):
            a, b = prior, 1 - prior
            for k in range(p):
                agrees = patterns[i] >> k & 1
                a *= m[k] if agrees else 1 - m[k]
                b *= u[k] if agrees else 1 - u[k]
            chance = a / (a + b)
            match[i], other[i] = pairs[i] * chance, pairs[i] * (1 - chance)
        _mean_agreement(patterns, other, new_u, least)
        _mean_agreement(patterns, match, new_m, least)
        change = 0.0
        for k in range(p):
            new_m[k] = max(new_m[k], new_u[k])
            change = max(change, abs(new_m[k] - m[k]), abs(new_u[k] - u[k]))
            m[k], u[k] = new_m[k], new_u[k]
        if change < settled:
            break


@njit(cache=True, nogil=True)
def _mean_agreement(patterns, weights, shares, least):
    """Fill in the share of the weight in which each attribute agrees."""
    total = 0.0
    shares[:] = 0.0
    for i in range(weights.size):
        total += weights[i]
        for k in range(shares.size):
            if patterns[i] >> k & 1:
                shares[k] += weights[i]
    total = max(total, 2.2250738585072014e-308)
    for k in range(shares.size):
        shares[k] = min(max(shares[k] / total, least), 1 - least)
