"""Giving back blanks that nobody needs, where blanks on both sides fit anything.

Each record starts with a set of blanks such that k of the originals agree in what it shows. A blank
more never harms anybody, so that what cannot be given back now cannot be given back later: one pass
over the records leaves no blank that could be spared alone. Which ones it leaves depends on the
order; the improvement gives some records all their blanks again, and lets these and their
neighbours give back in another order.

The table is laid out as a `Fits`: tuples have members between `starts`; and for each demand, in row
d of `begins` and `ends`, a tuple's list of others that can ever fit it (`near`) with the columns
where the originals differ (`differ`): two members fit as long as their blanks cover these. A tuple
whose list ends before it begins gives nothing back. Members that never change are summed up,
between `firsts` and `stops`, in `sums` by the `columns` that differ. `counts` are the members that
fit each one, for the demands that are not kept without blanks (`needy`); with `units` distinct ones
are counted, and `counts` may be too low; else that is empty. Each of the `sets` between a tuple's
`choices` would do for it alone: no member ever has more blanks than one of these. `failed` is the
demand that forbade a member last to give something back.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner, once
from discreet.kernels.splitmix import below

Fits = namedtuple(
    "Fits",
    "asked k starts home choices sets blanks units begins ends near differ firsts stops columns "
    "sums needy counts failed",
)


@njit(cache=True, nogil=True)
def count_all(fits, last):
    """Count who fits each member of each demand that needs it."""
    for d in range(fits.k.size):
        for e in range(fits.home.size):
            if fits.needy[d, fits.home[e]]:
                fits.counts[d, e] = _count(fits, d, e, fits.blanks[e], last)


@njit(cache=True, nogil=True)
def give_back(fits, order, columns, prices, last):
    """Let members give back their blanks, both in these orders; return what is saved."""
    saved = 0.0
    room = np.zeros(fits.k.size, np.int64)
    for e in order:
        for c in columns:
            if fits.blanks[e] >> c & 1 and _may(fits, e, c, room, last):
                _give(fits, e, c, room)
                saved += prices[c]
    return saved


@njit(cache=True, nogil=True)
def improve(fits, columns, prices, moves, most, state):
    """Give blanks again to a member and some that fit it, then give back in another order.

    Returns what is saved. Blanks after a move are kept if they cost no more than before.
    """
    n, saved = fits.home.size, 0.0
    chosen, before = np.empty(most, np.int64), np.empty(most, np.int64)
    last = np.empty(0, np.int64)
    for _ in range(moves):
        e = below(state, n)
        some = _neighbours(fits, e, chosen[: 2 + below(state, most - 1)], state)
        again = 1 + below(state, max(some // 2, 1))
        cost = 0.0
        for i in range(some):
            before[i] = fits.blanks[chosen[i]]
        for x in chosen[:again]:
            cost += _restore(fits, x, prices)
        for x in chosen[:again]:
            cost += _choose(fits, x, prices, state)
        for i in range(some - 1, 0, -1):
            j = below(state, i + 1)
            chosen[i], chosen[j] = chosen[j], chosen[i]
            before[i], before[j] = before[j], before[i]
        cost -= give_back(fits, chosen[:some], columns, prices, last)
        if cost <= 1e-9:
            saved -= cost
        else:
            for i in range(some):
                _set(fits, chosen[i], before[i])
    return saved


@once
def _restore(fits, x, prices):
    """Give a member all blanks of the set that its blanks are from; return what it costs."""
    t, old = fits.home[x], fits.blanks[x]
    for i in range(fits.choices[t], fits.choices[t + 1]):
        if old & ~fits.sets[i] == 0:
            _set(fits, x, fits.sets[i])
            break
    return _price(fits.blanks[x], prices) - _price(old, prices)


@inner
def _choose(fits, x, prices, state):
    """Give a member another set that it may choose, if nobody needs the one that it has."""
    t, old = fits.home[x], fits.blanks[x]
    many = fits.choices[t + 1] - fits.choices[t]
    if many < 2:
        return 0.0
    for d in range(fits.k.size):
        if fits.ends[d, t] < fits.begins[d, t]:
            return 0.0
    _set(fits, x, fits.sets[fits.choices[t] + below(state, many)])
    if fits.blanks[x] != old and _breaks(fits, t):
        _set(fits, x, old)
    return _price(fits.blanks[x], prices) - _price(old, prices)


@inner
def _breaks(fits, t):
    """Tell whether a member that one of tuple t can fit has fewer than k."""
    for d in range(fits.k.size):
        for i in range(fits.begins[d, t], fits.ends[d, t]):
            u = fits.near[i]
            if fits.needy[d, u]:
                for s in range(fits.starts[u], fits.starts[u + 1]):
                    if fits.counts[d, s] < fits.k[d]:
                        return True
    return False


@once
def _neighbours(fits, e, chosen, state):
    """Draw a member and some that fitted it at the start; return their number."""
    chosen[0] = e
    some, t = 1, fits.home[e]
    d = below(state, fits.k.size)
    length = fits.ends[d, t] - fits.begins[d, t]
    for _ in range(min(length, chosen.size - 1) if length > 0 else 0):
        u = fits.near[fits.begins[d, t] + below(state, length)]
        x = fits.starts[u] + below(state, fits.starts[u + 1] - fits.starts[u])
        is_new = fits.choices[u] < fits.choices[u + 1]
        for i in range(some):
            is_new &= chosen[i] != x
        if is_new:
            chosen[some] = x
            some += 1
    return some


@inner
def _count(fits, d, e, blanks, last):
    """Count who fits member e within demand d, if it had these blanks."""
    t, total = fits.home[e], 0
    for i in range(fits.firsts[d, t], fits.stops[d, t]):
        if fits.columns[i] & ~blanks == 0:
            total += fits.sums[i]
    for i in range(fits.begins[d, t], fits.ends[d, t]):
        u, open_ = fits.near[i], fits.differ[i] & ~blanks
        for s in range(fits.starts[u], fits.starts[u + 1]):
            if open_ & ~fits.blanks[s] == 0 or s == e:
                if fits.units.size == 0:
                    total += 1
                elif last[fits.units[s]] != e:
                    last[fits.units[s]] = e
                    total += 1
    if fits.units.size:
        for i in range(fits.begins[d, t], fits.ends[d, t]):
            u = fits.near[i]
            for s in range(fits.starts[u], fits.starts[u + 1]):
                last[fits.units[s]] = -1
    return total


@once
def _may(fits, e, c, room, last):
    """Tell whether member e can show column c; `room` gets its own counts then.

    The demand that forbade it last is asked first.
    """
    first = fits.failed[e]
    if not _may_within(fits, first, e, c, room, last):
        return False
    for d in range(fits.k.size):
        if d != first and not _may_within(fits, d, e, c, room, last):
            fits.failed[e] = d
            return False
    return True


@inner
def _may_within(fits, d, e, c, room, last):
    t, old = fits.home[e], fits.blanks[e]
    bit = np.int64(1) << c
    if not fits.asked[d] & bit:
        return True
    if fits.ends[d, t] < fits.begins[d, t]:
        return False
    k = fits.k[d]
    lost = 0
    for i in range(fits.begins[d, t], fits.ends[d, t]):
        u, columns = fits.near[i], fits.differ[i]
        if not columns & bit:
            continue
        needed = columns & ~old | bit
        for s in range(fits.starts[u], fits.starts[u + 1]):
            # It fits through this blank, and has none there itself.
            if needed & ~fits.blanks[s] == bit:
                lost += 1
                if (
                    fits.needy[d, u]
                    and fits.counts[d, s] <= k
                    and not _recounted(fits, d, s, e, old & ~bit, last)
                ):
                    return False
    if fits.needy[d, t]:
        if fits.units.size:
            room[d] = _count(fits, d, e, old & ~bit, last)
        else:
            for i in range(fits.firsts[d, t], fits.stops[d, t]):
                if fits.columns[i] & bit and fits.columns[i] & ~old == 0:
                    lost += fits.sums[i]
            room[d] = fits.counts[d, e] - lost
        return room[d] >= k
    return True


@inner
def _recounted(fits, d, s, e, blanks, last):
    """Tell whether k units still fit member s if e had these blanks; the count is then noted."""
    if fits.units.size == 0:
        return False
    old = fits.blanks[e]
    fits.blanks[e] = blanks
    found = _count(fits, d, s, fits.blanks[s], last)
    fits.blanks[e] = old
    if found < fits.k[d]:
        return False
    fits.counts[d, s] = found
    return True


@inner
def _give(fits, e, c, room):
    """Show column c in member e, which `_may` allowed."""
    t, old = fits.home[e], fits.blanks[e]
    bit = np.int64(1) << c
    for d in range(fits.k.size):
        if not fits.asked[d] & bit:
            continue
        if fits.needy[d, t]:
            fits.counts[d, e] = room[d]
        for i in range(fits.begins[d, t], fits.ends[d, t]):
            u, columns = fits.near[i], fits.differ[i]
            if not columns & bit or not fits.needy[d, u]:
                continue
            needed = columns & ~old | bit
            for s in range(fits.starts[u], fits.starts[u + 1]):
                if needed & ~fits.blanks[s] == bit:
                    # At k it was counted without e already.
                    fits.counts[d, s] -= fits.counts[d, s] > fits.k[d]
    fits.blanks[e] = old & ~bit


@inner
def _set(fits, e, blanks):
    """Set the blanks of member e, where records are counted."""
    t, old = fits.home[e], fits.blanks[e]
    if blanks == old:
        return
    for d in range(fits.k.size):
        if not fits.asked[d] & (blanks ^ old):
            continue
        own = 0
        for i in range(fits.begins[d, t], fits.ends[d, t]):
            u, columns = fits.near[i], fits.differ[i]
            before, now = columns & ~old, columns & ~blanks
            if before == now:
                continue
            for s in range(fits.starts[u], fits.starts[u + 1]):
                if s != e:
                    change = (now & ~fits.blanks[s] == 0) - (before & ~fits.blanks[s] == 0)
                    own += change
                    if fits.needy[d, u]:
                        fits.counts[d, s] += change
        for i in range(fits.firsts[d, t], fits.stops[d, t]):
            own += fits.sums[i] * (fits.columns[i] & ~blanks == 0)
            own -= fits.sums[i] * (fits.columns[i] & ~old == 0)
        fits.counts[d, e] += own
    fits.blanks[e] = blanks


@inner
def _price(columns, prices):
    total = 0.0
    for c in range(prices.size):
        if columns >> c & 1:
            total += prices[c]
    return total
