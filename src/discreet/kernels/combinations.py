"""Combinations of key columns, each shared by k members: mended, then ruined and recreated.

The patterns are those of `discreet.kernels.patterns`.

To mend a bad pattern, a column is blanked, or shown again, in all its members or in one, or more
members join it. Those that have new blanks call in others, which agree in all that they show or
in the columns of a demand that is still short, until their patterns have k members or nothing
helps. The cheapest way is taken, give or take some noise. That is the start, and the second half
of the improvement by ruin and recreate: the first half clears blanks of members that have a
pattern in common.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner, once
from discreet.kernels.patterns import (
    BAD,
    GONE,
    LOGGED,
    NONE,
    TOUCHED,
    _is_crowded,
    _key,
    _make,
    _price,
    _shortfall,
    _undo,
)
from discreet.kernels.splitmix import below, unit

# Tuples to look at for one more member of a pattern.
MOST_DONORS = 64
# How often a way to mend is passed over: it gives others a turn, and keeps from going in circles.
SKIP = 0.3
# Members of a bad pattern that are looked at.
MOST_MEMBERS = 64
# Patterns that are mended in one move.
MOST_STEPS = np.int64(100)


@once
def _range(given, t, shown):
    """Return the row of an index, and from where to where tuples agree with t in some columns."""
    at, last = 0, given.sets.size
    while at < last:
        middle = (at + last) // 2
        if given.sets[middle] < shown:
            at = middle + 1
        else:
            last = middle
    if at == given.sets.size or given.sets[at] != shown:
        return 0, 0, 0
    order = given.orders[at]
    key = _key(given.words[t], shown, NONE)
    first, last = 0, order.size
    while first < last:
        middle = (first + last) // 2
        if _key(given.words[order[middle]], shown, NONE) < key:
            first = middle + 1
        else:
            last = middle
    end = first
    while end < order.size and _key(given.words[order[end]], shown, NONE) == key:
        end += 1
    return at, first, end


@inner
def _wanting(given, patterns, members, i):
    """Return a demand in which a member's pattern is bad, or -1."""
    for d in range(given.columns.size):
        s = members.slot[i * given.columns.size + d]
        if s >= 0 and patterns.place[s] >= 0:
            return d
    return -1


@inner
def _donor(given, patterns, members, tally, heed, i, t, wanted, state):
    """Return a member of a tuple that could share the blanks of member i, its mask and the cost."""
    size = given.starts[t + 1] - given.starts[t]
    skip = below(state, max(size, 1))
    for x in range(size):
        j = given.starts[t] + (skip + x) % size
        old = members.mask[j]
        new = members.mask[i]
        if wanted:
            # Only in the columns that are wanted; the others stay as they are.
            new = (new & wanted) | ((old if old != GONE else 0) & ~wanted)
        new &= given.free & ~given.nulls[t]
        if j != i and new != old:
            cost = _price(given, j, new) - _price(given, j, old)
            cost += heed * _shortfall(given, patterns, members, j, new)
            return j, new, cost
    return -1, 0, np.inf


@once
def _found(given, patterns, members, tally, log, heed, i, shown, wanted, state):
    """Let others that agree with a member in some columns have its blanks, while that helps.

    Costs of all that agree are taken once; then the cheapest is looked at again each time, since
    what comes first changes what the next one costs.
    """
    total = 0.0
    D = given.columns.size
    columns = given.columns[wanted] if wanted >= 0 else 0
    at, first, end = _range(given, given.tuples[i], shown)
    tries = min(end - first, MOST_DONORS)
    skip = below(state, max(end - first, 1))
    costs = np.empty(tries)
    for x in range(tries):
        t = given.orders[at, first + (skip + x) % (end - first)]
        costs[x] = _donor(given, patterns, members, tally, heed, i, t, columns, state)[2]
    left = 4 * tries + 64
    while tries and left and total < np.inf:
        left -= 1
        if wanted < 0:
            if _wanting(given, patterns, members, i) < 0:
                break
        elif patterns.place[members.slot[i * D + wanted]] < 0:
            break
        x = 0
        for y in range(1, tries):
            if costs[y] < costs[x]:
                x = y
        if costs[x] > -1e-9:
            break
        t = given.orders[at, first + (skip + x) % (end - first)]
        j, new, cost = _donor(given, patterns, members, tally, heed, i, t, columns, state)
        if cost <= costs[x] + 1e-9 and j >= 0:
            total += _make(given, patterns, members, tally, log, heed, j, new)
        else:
            costs[x] = cost
    return total


@inner
def _with_donors(given, patterns, members, tally, log, heed, i, state):
    """Bring a member's patterns to k, by those that agree in all that it shows, then within C."""
    q = given.weights.size
    hidden = members.mask[i] | given.nulls[given.tuples[i]]
    shown = ((1 << q) - 1) & ~hidden
    wanted, total = -1, 0.0
    for _ in range(5):
        total += _found(given, patterns, members, tally, log, heed, i, shown, wanted, state)
        wanted = _wanting(given, patterns, members, i)
        if wanted < 0:
            break
        shown = given.columns[wanted] & ~hidden
    return total


@once
def _option(given, patterns, members, tally, log, heed, who, option, state):
    """Mend a bad pattern in one way: by a column of all or one of its members, or by more of them.

    Returns what it costs, or infinity where it is no way.
    """
    q = given.weights.size
    D = given.columns.size
    d = who[0] % D
    total = 0.0
    if option == 2 * q:
        return _with_donors(given, patterns, members, tally, log, heed, who[0] // D, state)
    if option == 2 * q + 1:
        if given.record == np.inf:
            return np.inf
        for node in who:
            total += _make(given, patterns, members, tally, log, heed, node // D, GONE)
        return total
    c = option % q
    if not given.columns[d] & given.free & 1 << c:
        return np.inf
    if option >= q:
        if who.size == 1:
            return np.inf
        who = who[:1]
    for node in who:
        i = node // D
        mask = (members.mask[i] ^ 1 << c) & given.free & ~given.nulls[given.tuples[i]]
        if mask == members.mask[i]:
            return np.inf
        total += _make(given, patterns, members, tally, log, heed, i, mask)
    for node in who:
        total += _with_donors(given, patterns, members, tally, log, heed, node // D, state)
    return total


@once
def _mend(given, patterns, members, tally, log, heed, noise, state, chosen):
    """Mend one bad pattern in the cheapest way, give or take."""
    q = given.weights.size
    s = patterns.bad[below(state, tally[BAD])]
    who = np.empty(MOST_MEMBERS, np.int64)
    size = 0
    node = patterns.head[s]
    while node >= 0 and size < MOST_MEMBERS:
        who[size] = node
        size += 1
        node = members.after[node]
    who = who[:size]
    x = below(state, size)
    who[0], who[x] = who[x], who[0]
    mark = tally[LOGGED]
    best, many = np.inf, 0
    for option in range(2 * q + 2):
        if best < np.inf and unit(state) < SKIP:
            continue
        cost = _option(given, patterns, members, tally, log, heed, who, option, state)
        if tally[LOGGED] > mark:
            cost += noise * (0.5 + abs(cost)) * unit(state)
            if cost < best:
                best, many = cost, tally[LOGGED] - mark
                for step in range(many):
                    chosen[step, 0], chosen[step, 2] = log[mark + step, 0], log[mark + step, 2]
        _undo(given, patterns, members, tally, log, mark)
    paid = 0.0
    for step in range(many):
        i, mask = chosen[step, 0], chosen[step, 2]
        paid += _price(given, i, mask) - _price(given, i, members.mask[i])
        _make(given, patterns, members, tally, log, heed, i, mask)
    return paid


@inner
def _give_back(given, patterns, members, tally, log, i):
    """Clear those blanks of a member that no pattern needs."""
    paid = 0.0
    mask = members.mask[i]
    if mask == 0:
        return paid
    if mask == GONE:
        if _shortfall(given, patterns, members, i, NONE) <= 0:
            paid += _make(given, patterns, members, tally, log, 0.0, i, NONE)
        return paid
    for c in range(given.weights.size):
        less = mask & ~(1 << c)
        if less != mask and _shortfall(given, patterns, members, i, less) <= 0:
            mask = less
            paid += _make(given, patterns, members, tally, log, 0.0, i, mask)
    return paid


@njit(cache=True, nogil=True)
def give_back(given, patterns, members, tally, log):
    """Clear all blanks that no pattern needs, member by member."""
    for i in range(members.mask.size):
        tally[LOGGED] = 0
        _give_back(given, patterns, members, tally, log, i)
    tally[LOGGED] = 0


@once
def _ruin(given, patterns, members, tally, log, state):
    """Clear blanks of some members that have a pattern in common."""
    paid = 0.0
    D = given.columns.size
    for _ in range(1 + below(state, 3)):
        if tally[TOUCHED] == 0:
            break
        i = members.touched[below(state, tally[TOUCHED])]
        if members.mask[i] == GONE:
            paid += _make(given, patterns, members, tally, log, 0.0, i, NONE)
            continue
        d = below(state, D)
        while not members.mask[i] & given.columns[d]:
            d = (d + 1) % D
        only = -1
        if below(state, 2):
            only = ~(1 << below(state, given.weights.size))
        node = members.slot[i * D + d]
        node = patterns.head[node]
        left = 24
        while node >= 0 and left > 0:
            after = members.after[node]
            j = node // D
            mask = 0 if only == -1 else members.mask[j] & only
            if mask != members.mask[j]:
                paid += _make(given, patterns, members, tally, log, 0.0, j, mask)
            node = after
            left -= 1
    return paid


@once
def _recreate(given, patterns, members, tally, log, heed, noise, state, chosen, limit, paid, steps):
    """Mend pattern after pattern, until all are good; returns what was paid, or infinity."""
    for _ in range(steps):
        if tally[BAD] == 0:
            break
        if paid > limit or tally[LOGGED] > log.shape[0] // 2 or _is_crowded(patterns, tally):
            return np.inf
        paid += _mend(given, patterns, members, tally, log, heed, noise, state, chosen)
    if tally[BAD]:
        return np.inf
    for at in range(tally[LOGGED]):
        paid += _give_back(given, patterns, members, tally, log, log[at, 0])
    return paid


@njit(cache=True, nogil=True)
def search(given, patterns, members, tally, log, heed, noise, state, chosen, moves, heats, slack):
    """Make the patterns good, if they are not; else improve what they cost, by ruin and recreate.

    A move counts if it costs no more than a draw at its heat, one of `heats`; no heat: no move
    that costs something. Returns the moves made: fewer where the table of patterns is crowded.
    """
    is_start = tally[BAD] > 0
    for n in range(moves):
        tally[LOGGED] = 0
        limit, paid, steps = np.inf, 0.0, moves
        if not is_start:
            if tally[TOUCHED] == 0:
                return moves
            if _is_crowded(patterns, tally):
                return n
            limit = -heats[n] * np.log(1.0 - unit(state))
            paid = _ruin(given, patterns, members, tally, log, state)
            steps = MOST_STEPS
        paid = _recreate(
            given, patterns, members, tally, log, heed, noise, state, chosen, limit + slack, paid,
            steps,
        )  # fmt: skip
        if is_start:
            return 0
        if not paid <= limit:
            _undo(given, patterns, members, tally, log, NONE)
    return moves
