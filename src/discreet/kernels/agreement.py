"""Agreement patterns of all pairs of records of two files, without ever listing the pairs.

An attribute agrees on one of several levels: 0, not at all, up to the closest. On level l or above,
attribute k of a protected record agrees with the originals of ranks a..b-1, in the order of that
attribute (an interval of values, or one category); those of closer levels are among those of wider
ones. A set of originals is a row of bits.

1. Prefixes. For every `stride`-th rank, the set of originals below it. The originals of ranks
   a..b-1 are the XOR of two prefixes, with the records between prefix and edge flipped one by one.
2. Patterns. The originals are split by the levels of the first attribute, each part by those of the
   second, and so on: the size of a last part is the count of its pattern. Parts of few records are
   listed instead. Digit k of a pattern, in a system of as many digits as levels, is the level of
   attribute k. Where there may be many patterns, so that most parts would be small, patterns are
   counted without sets: what a level adds is added for every rank from a to b-1.
3. Twice. First all patterns are counted over all records (for the model), then again record by
   record (for the links), where only parts that can hold a link as strong as the own one matter.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_1 = np.uint64(1)
_63 = np.uint64(63)
# Parts of fewer records than one in so many words are listed: measured.
_FEW = 8
# More patterns than these are counted without sets, if an original agrees in more columns than this
# on the mean, so that sets would be split in all directions: measured.
_MANY, _WIDE = 256, 0.5
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

    For every attribute, `spans` has what `intervals` returns for each level above 0, the widest
    first, `orders` has the originals in the attribute's order, and `below` is what `prefixes`
    returns.
    """
    agree, parts, path, place = _room(len(spans), spans.shape[1], n)
    counts = np.zeros(place[-1], np.int64)
    widest = spans[:, 0, first:last]
    agreeing = (widest[:, :, 1] - widest[:, :, 0]).sum()
    if place[-1] > _MANY and agreeing > _WIDE * n * (last - first):
        _tally(spans, orders, n, place, first, last, counts)
        return counts
    for i in range(first, last):
        _find_agreeing(spans, orders, below, stride, i, agree)
        _split(parts, agree, n, path, place, None, 0, counts)
    return counts


@inner
def _tally(spans, orders, n, place, first, last, counts):
    """Add to the counts by writing down the pattern of every original, one record at a time."""
    wider = spans.shape[1]
    patterns = np.empty(n, np.int64)
    for i in range(first, last):
        patterns[:] = 0
        for k in range(len(spans)):
            step = 0
            for v in range(wider):
                step += place[k]
                a, b = spans[k, v, i]
                # Levels with the same originals, such as those of a category, are added at once.
                if v + 1 < wider and spans[k, v + 1, i, 0] == a and spans[k, v + 1, i, 1] == b:
                    continue
                for r in range(a, b):
                    patterns[orders[k, r]] += step
                step = 0
        for pattern in patterns:
            counts[pattern] += 1


@njit(cache=True, nogil=True)
def best_is_own(spans, orders, below, stride, n, top, first, last, hits):
    """Fill in the hits of records: 1/t if a record's own original is among the t strongest links.

    `top` ranks the patterns: higher means a likelier match, and equal ones tie. It begins with the
    highest rank of all patterns; then come, for k = 1, 2, ..., the highest ranks of the patterns
    with each start of k attributes; those of all attributes are the patterns' own.
    """
    p = len(spans)
    agree, parts, path, place = _room(p, spans.shape[1], n)
    whole = _starts(place, p)
    ties = np.zeros(1, np.int64)
    for i in range(first, last):
        _find_agreeing(spans, orders, below, stride, i, agree)
        own = top[whole + _pattern(agree, i >> 6, np.uint64(i) & _63, 0, 0, place)]
        ties[0] = 0
        stronger = _split(parts, agree, n, path, place, top, own, ties)
        hits[i] = 0.0 if stronger else 1.0 / ties[0]


@inner
def _starts(place, k):
    """Return where the starts of k attributes begin among those of 0, 1, 2, ... attributes."""
    return (place[k] - 1) // (place[1] - 1)


@inner
def _find_agreeing(spans, orders, below, stride, i, agree):
    """Fill in the set of originals that each attribute of record i agrees with, level by level."""
    last = below.shape[1] - 1
    for k in range(len(spans)):
        for v in range(spans.shape[1]):
            a, b = spans[k, v, i]
            near_a = min((a + stride // 2) // stride, last)
            near_b = min((b + stride // 2) // stride, last)
            for w in range(agree.shape[2]):
                agree[k, v, w] = below[k, near_a, w] ^ below[k, near_b, w]
            for r in range(min(a, near_a * stride), max(a, near_a * stride)):
                _flip(agree[k, v], orders[k, r])
            for r in range(min(b, near_b * stride), max(b, near_b * stride)):
                _flip(agree[k, v], orders[k, r])


@inner
def _split(parts, agree, n, path, place, top, least, counts):
    """Add the counts of all records, in parts[0]; parts[k] shares its pattern up to attribute k.

    With `top`, parts without a pattern of rank `least` are left out, those of that rank are counted
    together in counts[0], and the first record of a higher rank ends it: True is returned. `path`
    holds what would be the variables of a recursive function (numba crashes on a cached one):
    pattern, records left, level to look at next, or the number of levels where it is new.
    """
    p, wider, words = agree.shape
    few, k = words // _FEW, 0
    path[0] = 0, n, wider + 1
    while k >= 0:
        pattern, size, level = path[k]
        if level > wider:
            if size <= few or k == p - 1:
                if size <= few:
                    stronger = _list(parts[k], agree, k, pattern, place, top, least, counts)
                else:
                    stronger = _last(parts[k], agree[k], pattern, size, place, top, least, counts)
                if stronger:
                    return True
                k -= 1
                continue
            level = wider
        if level < 0 or size == 0:
            k -= 1
            continue
        found = size
        start = pattern + level * place[k]
        wanted = top is None or top[_starts(place, k + 1) + start] >= least
        if level == wider:
            found = _keep(parts[k], agree[k, level - 1], parts[k + 1])
        elif level > 0:
            found = _keep_between(parts[k], agree[k, level - 1], agree[k, level], parts[k + 1])
        elif wanted:
            _drop(parts[k], agree[k, 0], parts[k + 1])
        path[k, 1], path[k, 2] = size - found, level - 1
        if found > 0 and wanted:
            path[k + 1] = start, found, wider + 1
            k += 1
    return False


@inner
def _keep(part, inside, found):
    """Fill in what is in both sets, and count it."""
    size = 0
    for w in range(part.size):
        word = part[w] & inside[w]
        found[w] = word
        size += _count_bits(word)
    return size


@inner
def _keep_between(part, inside, outside, found):
    """Fill in what is in the first two sets and not in the third, and count it."""
    size = 0
    for w in range(part.size):
        word = part[w] & inside[w] & ~outside[w]
        found[w] = word
        size += _count_bits(word)
    return size


@inner
def _drop(part, outside, found):
    """Fill in what is in the first set and not in the second."""
    for w in range(part.size):
        found[w] = part[w] & ~outside[w]


@inner
def _last(part, agree, pattern, size, place, top, least, counts):
    """Do the same as `_split` for the last attribute, of which only sizes matter."""
    p = place.size - 1
    for v in range(len(agree)):
        inside = 0
        for w in range(part.size):
            inside += _count_bits(part[w] & agree[v, w])
        start = pattern + v * place[p - 1]
        if size > inside and _add(start, size - inside, place, p, top, least, counts):
            return True
        size = inside
        if size == 0:
            return False
    start = pattern + len(agree) * place[p - 1]
    return _add(start, size, place, p, top, least, counts)


@inner
def _add(pattern, size, place, p, top, least, counts):
    """Count records of one pattern; True where it is stronger than `least`."""
    if top is None:
        counts[pattern] += size
        return False
    rank = top[_starts(place, p) + pattern]
    if rank == least:
        counts[0] += size
    return rank > least


@inner
def _list(part, agree, k, pattern, place, top, least, counts):
    """Do the same as `_split`, record by record."""
    p = agree.shape[0]
    for w in range(part.size):
        word = part[w]
        while word:
            lowest = word & (~word + _1)
            bit = np.uint64(_count_bits(lowest - _1))
            found = _pattern(agree, w, bit, k, pattern, place)
            if _add(found, 1, place, p, top, least, counts):
                return True
            word ^= lowest
    return False


@inner
def _pattern(agree, w, bit, k, pattern, place):
    """Return the pattern of one record, known up to attribute k."""
    for j in range(k, agree.shape[0]):
        for v in range(agree.shape[1]):
            if not (agree[j, v, w] >> bit) & _1:
                break
            pattern += place[j]
    return pattern


@inner
def _count_bits(word):
    """Count set bits; compilers turn this form into one instruction."""
    word -= (word >> _1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _flip(part, record):
    part[record >> 6] ^= _1 << (np.uint64(record) & _63)


@inner
def _room(p, wider, n):
    """Return what a search works in: sets that agree, parts (all n in the first), path, places.

    A place is what one level of an attribute adds to the number of a pattern.
    """
    words = (n + 63) // 64
    parts = np.empty((p + 1, words), np.uint64)
    parts[0] = _FULL
    if n & 63:
        parts[0, -1] = (_1 << np.uint64(n & 63)) - _1
    place = np.ones(p + 1, np.int64)
    for k in range(p):
        place[k + 1] = place[k] * (wider + 1)
    return np.empty((p, wider, words), np.uint64), parts, np.empty((p + 1, 3), np.int64), place


@njit(cache=True, nogil=True)
def fit_mixture(levels, pairs, m, u, prior, least, most_steps, settled):
    """Fit m and u by EM in place; the prior stays, and m / u never falls from level to level.

    Parameters
    ----------
    levels : (patterns, p) uint8
        On which level each attribute agrees, in the patterns that occur.
    pairs : float64
        How often each occurs.
    m, u : (p, levels) float64
        In: where m starts; out: the estimates.
    prior : float
        Share of matches.
    least : float
        Estimates stay this far from 0 and 1.
    most_steps : int
    settled : float
        It ends when no estimate changes by as much.
    """
    p = len(m)
    new_m, new_u, odds = np.zeros(m.shape), np.zeros(m.shape), np.empty(m.shape)
    all_held, held, match = np.zeros(m.shape), np.zeros(m.shape), np.empty(pairs.size)
    everything = _held(levels, pairs, all_held)
    _shares(all_held, everything, u, least)
    for _ in range(most_steps):
        odds[:] = u / m
        for i in range(pairs.size):
            against = (1 - prior) / prior
            for k in range(p):
                against *= odds[k, levels[i, k]]
            match[i] = pairs[i] / (1 + against)
        # What is not in a match is in another pair.
        matches = _held(levels, match, held)
        _shares(held, matches, new_m, least)
        _shares(np.maximum(all_held - held, 0.0), everything - matches, new_u, least)
        change = 0.0
        for k in range(p):
            _rise(new_m[k], new_u[k])
            for v in range(m.shape[1]):
                change = max(change, abs(new_m[k, v] - m[k, v]), abs(new_u[k, v] - u[k, v]))
                m[k, v], u[k, v] = new_m[k, v], new_u[k, v]
        if change < settled:
            break


@inner
def _held(levels, weights, held):
    """Fill in the weight with which each attribute agrees on each level; return all the weight."""
    total = 0.0
    held[:] = 0.0
    for i in range(weights.size):
        total += weights[i]
        for k in range(len(held)):
            held[k, levels[i, k]] += weights[i]
    return total


@inner
def _shares(held, total, shares, least):
    """Fill in the share of the weight in which each attribute agrees on each level."""
    total = max(total, 2.2250738585072014e-308)
    for k in range(len(shares)):
        most, rest = 0, 1.0
        for v in range(shares.shape[1]):
            shares[k, v] = max(held[k, v] / total, least)
            if shares[k, v] > shares[k, most]:
                most = v
        # What the others have is left over by the largest, so that they add up to 1.
        for v in range(shares.shape[1]):
            rest -= shares[k, v] if v != most else 0.0
        shares[k, most] = rest


@inner
def _rise(m, u):
    """Change m the least (in likelihood) so that m / u does not fall from a level to the next.

    Levels whose ratios fall are pooled, from the first on: isotonic regression of m / u with
    weights u, which is the most likely m under that order.
    """
    ratio, weight = np.empty(m.size), np.empty(m.size)
    size = np.zeros(m.size, np.int64)
    blocks = 0
    for v in range(m.size):
        ratio[blocks], weight[blocks], size[blocks] = m[v] / u[v], u[v], 1
        while blocks > 0 and ratio[blocks - 1] >= ratio[blocks]:
            both = weight[blocks - 1] + weight[blocks]
            hits = ratio[blocks - 1] * weight[blocks - 1] + ratio[blocks] * weight[blocks]
            ratio[blocks - 1], weight[blocks - 1] = hits / both, both
            size[blocks - 1] += size[blocks]
            blocks -= 1
        blocks += 1
    if blocks == 1:
        m[:] = u
        return
    v = 0
    for block in range(blocks):
        for _ in range(size[block]):
            if size[block] > 1:
                m[v] = ratio[block] * u[v]
            v += 1
