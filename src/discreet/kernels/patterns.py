"""Patterns of combinations of key columns: who is in which, as members get other masks.

A member of a tuple has a set of blanked columns, its *mask*. For every demand (a set of columns C
and a k), the members whose tuples agree on C where they show it, and show the same columns of C,
make a *pattern*. One with fewer than k members is *bad*.

All patterns of all demands are in one hash table, keyed by the sum of one random word for each
value shown and one for the demand, so that the key of a neighbouring pattern is a few additions
away. Two patterns whose keys are equal by chance would be counted together; the caller counts the
result once more from the values.

A move gives one member another mask. It costs the change in price, and `heed` for each member that
patterns are then short of.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

# Typed: for a plain number that is passed on, functions would be compiled once more.
GONE, NONE = np.int64(-1), np.int64(0)

# What does not change. `words` has a word for each cell, 0 for a null; member i is one of tuple
# `tuples[i]`, whose members are `starts[t]` up to `starts[t + 1]`, and stands for `rows[i]` rows.
# `orders[x]` lists the tuples such that those which agree in the columns `sets[x]` are together.
Given = namedtuple(
    "Given",
    "words nulls tuples starts rows units columns ks weights free record sets orders",
)
# The patterns: of each slot its key, members, demand, first node and place among the bad.
Patterns = namedtuple("Patterns", "keys counts demand head place bad unit_keys unit_counts")
# The members: mask of each, place among those with blanks, and nodes (member * demands + demand)
# chained by slot.
Members = namedtuple("Members", "mask place touched slot after before")
BAD, TOUCHED, FILLED, UNIT_FILLED, LOGGED = range(5)
# Of a table of patterns, what may be filled before it is made anew, and in any case.
ROOM, FULL = 0.6, 0.9


@inner
def _salt(d):
    return (np.uint64(d) + np.uint64(1)) * np.uint64(0xD1342543DE82EF95)


@inner
def _find(keys, key):
    """Return the slot of a key, or the empty one where it belongs."""
    last = np.uint64(keys.size - 1)
    at = (key ^ (key >> np.uint64(29))) & last
    while keys[at] != 0 and keys[at] != key:
        at = (at + np.uint64(1)) & last
    return np.int64(at)


@inner
def _slot(patterns, tally, key, d):
    """Return the slot of a pattern, which is made where it is new."""
    at = _find(patterns.keys, key)
    if patterns.keys[at] == 0:
        patterns.keys[at] = key
        patterns.demand[at] = d
        patterns.head[at] = patterns.place[at] = -1
        tally[FILLED] += 1
    return at


@inner
def _unit_key(key, unit):
    """Return the key of a unit in a pattern: its members there are counted."""
    key = (key ^ (np.uint64(unit) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xBF58476D1CE4E5B9)
    return max(key, np.uint64(1))


@inner
def _key(words, columns, mask):
    """Add up the words of the columns that are shown."""
    key = np.uint64(0)
    for c in range(words.size):
        if columns >> c & 1 and not mask >> c & 1:
            key += words[c]
    return key


@inner
def _short(n, k):
    return k - n if 0 < n < k else 0


@inner
def _settle(patterns, given, tally, s):
    """Keep the list of bad patterns, after the members of slot s changed."""
    n = patterns.counts[s]
    bad = 0 < n < given.ks[patterns.demand[s]]
    if bad and patterns.place[s] < 0:
        patterns.place[s] = tally[BAD]
        patterns.bad[tally[BAD]] = s
        tally[BAD] += 1
    elif not bad and patterns.place[s] >= 0:
        tally[BAD] -= 1
        last = patterns.bad[tally[BAD]]
        patterns.bad[patterns.place[s]] = last
        patterns.place[last] = patterns.place[s]
        patterns.place[s] = -1


@inner
def _enter(given, patterns, members, tally, i, d, key):
    s = _slot(patterns, tally, key, d)
    node = i * given.columns.size + d
    first = patterns.head[s]
    members.slot[node], members.after[node], members.before[node] = s, first, -1
    if first >= 0:
        members.before[first] = node
    patterns.head[s] = node
    more = 1
    if given.units.size:
        key = _unit_key(key, given.units[i])
        at = _find(patterns.unit_keys, key)
        if patterns.unit_keys[at] == 0:
            patterns.unit_keys[at] = key
            tally[UNIT_FILLED] += 1
        patterns.unit_counts[at] += 1
        more = patterns.unit_counts[at] == 1
    if not more:
        return 0
    n, k = patterns.counts[s], given.ks[d]
    patterns.counts[s] += 1
    _settle(patterns, given, tally, s)
    return _short(n + 1, k) - _short(n, k)


@inner
def _leave(given, patterns, members, tally, i, d):
    node = i * given.columns.size + d
    s = members.slot[node]
    after, before = members.after[node], members.before[node]
    if after >= 0:
        members.before[after] = before
    if before >= 0:
        members.after[before] = after
    else:
        patterns.head[s] = after
    members.slot[node] = -1
    less = 1
    if given.units.size:
        at = _find(patterns.unit_keys, _unit_key(patterns.keys[s], given.units[i]))
        patterns.unit_counts[at] -= 1
        less = patterns.unit_counts[at] == 0
    if not less:
        return 0
    n, k = patterns.counts[s], given.ks[d]
    patterns.counts[s] -= 1
    _settle(patterns, given, tally, s)
    return _short(n - 1, k) - _short(n, k)


@inner
def _is_crowded(patterns, tally):
    return (
        tally[FILLED] > ROOM * patterns.keys.size
        or tally[UNIT_FILLED] > ROOM * patterns.unit_keys.size + 1
    )


@njit(cache=True, nogil=True)
def fill(given, patterns, members, tally, lumps):
    """Count all members with the masks that they have, and the lumps that stay as they are.

    Returns false where the table is too small.
    """
    for t in range(lumps.size):
        if _is_crowded(patterns, tally):
            return False
        if lumps[t]:
            for d in range(given.columns.size):
                key = _key(given.words[t], given.columns[d], NONE) + _salt(d)
                patterns.counts[_slot(patterns, tally, key, d)] += lumps[t]
    for i in range(members.mask.size):
        if _is_crowded(patterns, tally):
            return False
        if members.mask[i] != GONE:
            for d in range(given.columns.size):
                key = _key(given.words[given.tuples[i]], given.columns[d], members.mask[i])
                _enter(given, patterns, members, tally, i, d, key + _salt(d))
        _note(members, tally, i)
    return True


@inner
def _note(members, tally, i):
    """Keep the list of members with blanks."""
    if members.mask[i] != 0 and members.place[i] < 0:
        members.place[i] = tally[TOUCHED]
        members.touched[tally[TOUCHED]] = i
        tally[TOUCHED] += 1
    elif members.mask[i] == 0 and members.place[i] >= 0:
        tally[TOUCHED] -= 1
        last = members.touched[tally[TOUCHED]]
        members.touched[members.place[i]] = last
        members.place[last] = members.place[i]
        members.place[i] = -1


@inner
def _price(given, i, mask):
    """Return what a member's mask costs."""
    if mask == GONE:
        return given.record * given.rows[i]
    total = 0.0
    for c in range(given.weights.size):
        if mask >> c & 1:
            total += given.weights[c]
    return total * given.rows[i]


@inner
def _next_key(given, patterns, members, i, d, mask):
    """Return the key of the pattern that a member would be in with another mask."""
    words = given.words[given.tuples[i]]
    s = members.slot[i * given.columns.size + d]
    if s < 0:
        return _key(words, given.columns[d], mask) + _salt(d)
    key = patterns.keys[s]
    changed = (members.mask[i] ^ mask) & given.columns[d]
    c = 0
    while changed:
        if changed & 1:
            if mask >> c & 1:
                key -= words[c]
            else:
                key += words[c]
        changed >>= 1
        c += 1
    return key


@inner
def _rows_of_unit(given, patterns, key, i):
    """Count the members of member i's unit in a pattern; none where units are not counted."""
    if not given.units.size:
        return 0
    return patterns.unit_counts[_find(patterns.unit_keys, _unit_key(key, given.units[i]))]


@inner
def _shortfall(given, patterns, members, i, mask):
    """Return by how much the patterns' shortfall rises if a member gets another mask."""
    old = members.mask[i]
    change = 0
    for d in range(given.columns.size):
        if old != GONE and mask != GONE and not (old ^ mask) & given.columns[d]:
            continue
        k = given.ks[d]
        if old != GONE:
            s = members.slot[i * given.columns.size + d]
            n = patterns.counts[s]
            if n <= k and _rows_of_unit(given, patterns, patterns.keys[s], i) <= 1:
                change += _short(n - 1, k) - _short(n, k)
        if mask != GONE:
            key = _next_key(given, patterns, members, i, d, mask)
            # What an empty slot holds is 0.
            n = patterns.counts[_find(patterns.keys, key)]
            if n < k and _rows_of_unit(given, patterns, key, i) == 0:
                change += _short(n + 1, k) - _short(n, k)
    return change


@inner
def _move(given, patterns, members, tally, i, mask):
    """Give a member another mask; returns by how much the price and the shortfall rise."""
    old = members.mask[i]
    change = 0
    for d in range(given.columns.size):
        if old != GONE and mask != GONE and not (old ^ mask) & given.columns[d]:
            continue
        key = np.uint64(0)
        if mask != GONE:
            key = _next_key(given, patterns, members, i, d, mask)
        if old != GONE:
            change += _leave(given, patterns, members, tally, i, d)
        if mask != GONE:
            change += _enter(given, patterns, members, tally, i, d, key)
    members.mask[i] = mask
    _note(members, tally, i)
    return _price(given, i, mask) - _price(given, i, old), change


@inner
def _make(given, patterns, members, tally, log, heed, i, mask):
    """Make a move that can be undone, if there is room; returns what it costs in all."""
    if (
        tally[LOGGED] >= log.shape[0]
        or tally[FILLED] + given.columns.size > FULL * patterns.keys.size
        or tally[UNIT_FILLED] + given.columns.size > FULL * patterns.unit_keys.size + 1
    ):
        return np.inf
    at = tally[LOGGED]
    log[at, 0], log[at, 1], log[at, 2] = i, members.mask[i], mask
    tally[LOGGED] = at + 1
    paid, short = _move(given, patterns, members, tally, i, mask)
    return paid + heed * short


@inner
def _undo(given, patterns, members, tally, log, mark):
    while tally[LOGGED] > mark:
        tally[LOGGED] -= 1
        _move(given, patterns, members, tally, log[tally[LOGGED], 0], log[tally[LOGGED], 1])
