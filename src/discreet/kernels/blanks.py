"""Blanks of single cells: how many members agree with a tuple in the columns that it shows.

Tuples are rows of codes, 0 where a cell is null. One pass over all tuples counts, for some of them,
the members that agree in a set of columns. Tuples are found by a key, the sum of their codes times
`factors`; where different values can have the same key (`sure` is false), cells are compared too,
so that any number of columns and values is counted exactly.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner


@njit(cache=True, nogil=True)
def agreeing(codes, factors, sure, columns, among, counts, places, units):
    """Count the members that agree with each of some tuples in some columns.

    Members are records, of which each tuple has `counts`; or units, where `places`, ordered by
    unit, tells the tuples that each has: one that several tuples have counts once.
    """
    keys, groups, homes, own = _grouped(codes, factors, sure, columns, among)
    totals = np.zeros(homes.size, np.int64)
    n = codes.shape[0]
    if units is None:
        if among.size == n:
            for t in range(n):
                totals[own[t]] += counts[among[t]]
            return totals[own]
        for t in range(n):
            g = groups[_slot(codes, factors, sure, columns, keys, groups, homes, t)]
            if g >= 0:
                totals[g] += counts[t]
    else:
        of_tuple = np.empty(n, np.int32)
        for t in range(n):
            of_tuple[t] = groups[_slot(codes, factors, sure, columns, keys, groups, homes, t)]
        last = np.full(homes.size, -1, np.int64)
        for e in range(places.size):
            g = of_tuple[places[e]]
            if g >= 0 and last[g] != units[e]:
                last[g] = units[e]
                totals[g] += 1
    return totals[own]


@njit(cache=True, nogil=True)
def sharing(codes, factors, sure, columns, among, counts):
    """Count the members of some tuples that agree with each of these tuples in some columns."""
    _, _, homes, own = _grouped(codes, factors, sure, columns, among)
    totals = np.zeros(homes.size, np.int64)
    for i in range(among.size):
        totals[own[i]] += counts[among[i]]
    return totals[own]


@inner
def _grouped(codes, factors, sure, columns, among):
    """Group some tuples by their values.

    Returns keys and groups by slot (-1 where it is free), a tuple of each group, and each one's.
    """
    size = 16
    while size < 2 * among.size:
        size *= 2
    keys, groups = np.empty(size, np.int64), np.full(size, -1, np.int32)
    homes, own = np.empty(among.size, np.int64), np.empty(among.size, np.int32)
    used = 0
    for i in range(among.size):
        at = _slot(codes, factors, sure, columns, keys, groups, homes, among[i])
        if groups[at] < 0:
            keys[at], groups[at] = _key(codes, factors, columns, among[i]), used
            homes[used] = among[i]
            used += 1
        own[i] = groups[at]
    return keys, groups, homes[:used], own


@inner
def _slot(codes, factors, sure, columns, keys, groups, homes, t):
    """Return the slot of the group whose values tuple t has, or where it would be."""
    key = _key(codes, factors, columns, t)
    word = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    at = np.int64(word >> np.uint64(20)) & (keys.size - 1)
    while groups[at] >= 0:
        if keys[at] == key and (sure or _equal(codes, columns, t, homes[groups[at]])):
            return at
        at = (at + 1) & (keys.size - 1)
    return at


@inner
def _key(codes, factors, columns, t):
    key = np.int64(0)
    for c in columns:
        key += codes[t, c] * factors[c]
    return key


@inner
def _equal(codes, columns, t, s):
    for c in columns:  # noqa: SIM110
        if codes[t, c] != codes[s, c]:
            return False
    return True


@njit(cache=True, nogil=True)
def clear(bad, among, needed):
    """Tell which of some tuples have none of the needed bits."""
    ok = np.ones(among.size, np.bool_)
    for i in range(among.size):
        for w in range(needed.size):
            if bad[among[i], w] & needed[w]:
                ok[i] = False
                break
    return ok


# Blanks on both sides: who fits whom


@njit(cache=True, nogil=True)
def fitting(codes, asked, nulls, blanks, choices, sets, firsts, others, kinds, each, budget):
    """List the `others` that fit each of the tuples `firsts` in the asked columns.

    Two tuples fit where they agree in all columns that neither has a blank in, with one of the sets
    that each can choose (between its `choices`); `blanks` are all that it can choose, and its
    nulls, and `kinds` all of these that others have in the asked columns. `firsts` come sorted by
    their blanks: those with the same ones share an index of the others, by their blanks and their
    values in what both show. Returns where each one's list begins and ends, the places in `others`
    and the columns in which the originals differ. A list longer than `each` is not made (it ends
    before it begins). The last item tells whether the `budget` was enough for all.
    """
    begins, ends = np.zeros(firsts.size, np.int64), np.zeros(firsts.size, np.int64)
    found, differ = np.empty(1024, np.int32), np.empty(1024, np.int64)
    size = 16
    while size < 2 * others.size:
        size *= 2
    heads, after = np.empty(size, np.int32), np.empty(others.size, np.int32)
    used, own = 0, np.int64(-1)
    for i in range(firsts.size):
        t = firsts[i]
        if own != blanks[t] & asked:
            own = blanks[t] & asked
            _chain(codes, asked & ~own, asked, blanks, others, heads, after)
        begins[i] = used
        for kind in kinds:
            shown = asked & ~own & ~kind
            at = heads[_masked_hash(codes, shown, kind, t) & (size - 1)]
            while at >= 0 and used - begins[i] <= each:
                u = others[at]
                at, place = after[at], at
                if blanks[u] & asked != kind or not _agree(codes, shown, t, u):
                    continue
                columns = _difference(codes, asked & ~shown & ~nulls[t] & ~nulls[u], t, u)
                if not _coverable(columns, choices, sets, t, u):
                    continue
                if used == found.size:
                    found, differ = _room(found), _room(differ)
                found[used], differ[used] = place, columns
                used += 1
        ends[i] = used
        if used - begins[i] > each:
            used = begins[i]
            ends[i] = used - 1
        if used > budget:
            return begins, ends, found[:used], differ[:used], False
    return begins, ends, found[:used], differ[:used], True


@njit(cache=True, nogil=True)
def fixed_fits(codes, asked, nulls, blanks, firsts, others, kinds, counts, enough):
    """Sum up the members of `others` that fit each of `firsts`, by the columns that differ.

    The others have no blanks but their nulls, of these `kinds`, and never change. After `enough` of
    them the search ends: more members than are counted do no harm. Returns where each one's list
    begins and ends, the columns and the members.
    """
    begins, ends = np.zeros(firsts.size, np.int64), np.zeros(firsts.size, np.int64)
    differ, members = np.empty(1024, np.int64), np.empty(1024, np.int64)
    size = 16
    while size < 2 * others.size:
        size *= 2
    heads, after = np.empty(size, np.int32), np.empty(others.size, np.int32)
    used, own = 0, np.int64(-1)
    for i in range(firsts.size):
        t = firsts[i]
        if own != blanks[t] & asked:
            own = blanks[t] & asked
            _chain(codes, asked & ~own, asked, blanks, others, heads, after)
        begins[i], hits = used, 0
        for kind in kinds:
            shown = asked & ~own & ~kind
            at = heads[_masked_hash(codes, shown, kind, t) & (size - 1)]
            while at >= 0 and hits < enough:
                u = others[at]
                if blanks[u] & asked == kind and _agree(codes, shown, t, u):
                    hits += 1
                    columns = _difference(codes, asked & ~shown & ~nulls[t] & ~nulls[u], t, u)
                    place = begins[i]
                    while place < used and differ[place] != columns:
                        place += 1
                    if place == used:
                        if used == differ.size:
                            differ, members = _room(differ), _room(members)
                        differ[used], members[used] = columns, 0
                        used += 1
                    members[place] += counts[u]
                at = after[at]
        ends[i] = used
    return begins, ends, differ[:used], members[:used]


@inner
def _chain(codes, shown, asked, blanks, others, heads, after):
    heads[:] = -1
    for i in range(others.size):
        u = others[i]
        kind = blanks[u] & asked
        at = _masked_hash(codes, shown & ~kind, kind, u) & (heads.size - 1)
        after[i], heads[at] = heads[at], i


@inner
def _masked_hash(codes, shown, kind, t):
    word = (np.uint64(kind) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for c in range(codes.shape[1]):
        if shown >> c & 1:
            word = (word ^ np.uint64(codes[t, c])) * np.uint64(0xBF58476D1CE4E5B9)
            word ^= word >> np.uint64(29)
    return np.int64(word >> np.uint64(8))


@inner
def _agree(codes, shown, t, u):
    for c in range(codes.shape[1]):  # noqa: SIM110
        if shown >> c & 1 and codes[t, c] != codes[u, c]:
            return False
    return True


@inner
def _difference(codes, columns, t, u):
    found = np.int64(0)
    for c in range(codes.shape[1]):
        if columns >> c & 1 and codes[t, c] != codes[u, c]:
            found |= np.int64(1) << c
    return found


@inner
def _coverable(columns, choices, sets, t, u):
    """Tell whether a choice of one tuple and one of the other blank all these columns."""
    if columns == 0:
        return True
    for i in range(choices[t], choices[t + 1]):
        open_ = columns & ~sets[i]
        if open_ == 0:
            return True
        for j in range(choices[u], choices[u + 1]):
            if open_ & ~sets[j] == 0:
                return True
    return False


@inner
def _room(full):
    """Return the same with room for as much again."""
    more = np.empty(2 * full.size, full.dtype)
    for i in range(full.size):
        more[i] = full[i]
    return more
