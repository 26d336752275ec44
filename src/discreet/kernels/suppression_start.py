"""Local suppression, strict: a first solution by a greedy search, in near-linear time.

An item's own pattern that has k members is a *pool*: what it has above k it may lend. The others
wait. For a price per record that rises from level to level, every set of columns, cheap ones first,
is gone through once: items that wait join a pattern that is there, or found one together, with
members that pools lend where they are too few, if that does not cost more per waiting record than
the level. One pass hashes the waiting items, and no set of columns keeps anything after it. Last,
what still waits widens the pattern for which that costs least.

See `suppression` for items, lots and patterns.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner, once
from discreet.kernels.suppression import (
    COUNT,
    FIRST,
    ITEM,
    LEFT_OUT,
    MASK,
    MEMBERS,
    NEXT,
    UNUSED,
    differing,
    find,
    found,
    key_of,
    nones,
    price_of,
    same,
    shift,
    spare,
    weight_of,
)


@njit(cache=True, nogil=True)
def start(s, table, sets, few, k, levels, waiting, active, pools, most):
    """Place the waiting members by a greedy search; return the items that still wait.

    `sets` are sets of columns by weight, the last `few` of them always gone through; `waiting` has
    the members that each item has to place, `active` the items that have some, `pools` those that
    may lend, `most` how many items may be hashed before only the last sets are.
    """
    # All that could share a pattern wait together when it opens, but for what nulls make equal.
    nulls = 0
    for null in s.nulls:
        nulls |= null
    join = nulls > 0
    work = 0
    seen = nones(s.unit.size)
    stamp = np.zeros(1, np.int64)
    for level in levels:
        for number in range(sets.size):
            if weight_of(s.tables, sets[number]) > level:
                continue
            if active.size == 0:
                return active
            if work > most and number < sets.size - few:
                continue
            work += active.size + pools.size
            _place(s, table, sets[number], join, k, level, waiting, active, pools, seen, stamp)
            active = _still(waiting, active)
    return active


@inner
def _still(waiting, active):
    """Return those of the items that still wait."""
    left, count = np.empty(active.size, np.int64), 0
    for item in active:
        if waiting[item] > 0:
            left[count] = item
            count += 1
    return left[:count]


@once
def _place(s, table, columns, join, k, level, waiting, active, pools, seen, stamp):
    """Go through one set of columns."""
    slots, group, reps, following = _grouped(s, table, columns, waiting, active, join)
    count = reps.size
    heads = nones(count)
    served, cost = np.zeros(count, np.int64), np.zeros(count)
    for i in range(active.size - 1, -1, -1):
        g = group[i]
        if g >= 0:
            item = active[i]
            following[i], heads[g] = heads[g], i
            served[g] += waiting[item]
            cost[g] += waiting[item] * price_of(s, item, columns)
    wanted = 0
    for g in range(count):
        if s.unit.size > 0:
            stamp[0] += 1
            served[g] = _units(s, active, heads[g], following, seen, stamp[0])
        if served[g] >= k and cost[g] <= level * served[g] * (1 + 1e-12):
            _open(s, table, columns, waiting, active, heads[g], following)
            served[g] = -1
        elif served[g] < k and weight_of(s.tables, columns) * k <= level * served[g] * (1 + 1e-12):
            wanted += 1
        else:
            served[g] = -1
    if wanted > 0:
        lent, then = _lenders(s, columns, k, slots, reps, served, pools)
        for g in range(count):
            if served[g] > 0 and lent[g] >= 0:
                stamp[0] += 1
                _open_lent(
                    s, table, columns, k, level, waiting, active, heads[g], following,
                    pools, lent[g], then, served[g], cost[g], seen, stamp[0],
                )  # fmt: skip


@inner
def _grouped(s, table, columns, waiting, active, join):
    """Group waiting items by what they would show; those that find a pattern may join it."""
    size = 16
    while size < 2 * active.size:
        size *= 2
    slots = nones(size)
    group = nones(active.size)
    reps = np.empty(active.size, np.int64)
    count = 0
    for i in range(active.size):
        item = active[i]
        if join:
            pattern, _ = find(s, table, item, columns)
            if pattern >= 0:
                shift(s, item, pattern, waiting[item])
                waiting[item] = 0
                continue
        place = np.int64(key_of(s.codes, item, columns) & np.uint64(size - 1))
        while slots[place] >= 0 and not same(s.codes, item, reps[slots[place]], columns):
            place = (place + 1) & (size - 1)
        if slots[place] < 0:
            slots[place], reps[count] = count, item
            count += 1
        group[i] = slots[place]
    return slots, group, reps[:count], np.empty(active.size, np.int64)


@inner
def _units(s, active, head, following, seen, stamp):
    """Count the units of a group, and stamp them."""
    count, i = 0, head
    while i >= 0:
        unit = s.unit[active[i]]
        if seen[unit] != stamp:
            seen[unit] = stamp
            count += 1
        i = following[i]
    return count


@inner
def _open(s, table, columns, waiting, active, head, following):
    """Release a group in one pattern, and return this."""
    pattern = found(s, table, active[head], columns)
    i = head
    while i >= 0:
        shift(s, active[i], pattern, waiting[active[i]])
        waiting[active[i]] = 0
        i = following[i]
    return pattern


@once
def _lenders(s, columns, k, slots, reps, served, pools):
    """Chain the pools that could lend to each group that wants it."""
    lent = nones(reps.size)
    then = np.empty(pools.size, np.int64)
    for i in range(pools.size - 1, -1, -1):
        item = pools[i]
        home = s.home[s.own[item]]
        if s.patterns[home, COUNT] <= k:
            continue
        place = np.int64(key_of(s.codes, item, columns) & np.uint64(slots.size - 1))
        while slots[place] >= 0:
            g = slots[place]
            if same(s.codes, item, reps[g], columns):
                if served[g] > 0:
                    then[i], lent[g] = lent[g], i
                break
            place = (place + 1) & (slots.size - 1)
    return lent, then


@inner
def _open_lent(
    s, table, columns, k, level, waiting, active, head, following,
    pools, lender, then, served, cost, seen, stamp,
):  # fmt: skip
    """Open a pattern with lent members, if there are enough and it is worth its price."""
    if s.unit.size > 0:
        _units(s, active, head, following, seen, stamp)
    takes = np.empty((k, 2), np.int64)
    want, count = k - served, 0
    while lender >= 0 and want > 0:
        item = pools[lender]
        home = s.home[s.own[item]]
        many = min(want, spare(s, item, home, k))
        if s.unit.size > 0 and many > 0:
            # Units are lent one by one, and a pool's count falls only when all is decided.
            left = s.patterns[home, COUNT] - k
            for i in range(count):
                left -= s.own[takes[i, 0]] == s.own[item]
            many = 1 if left > 0 and seen[s.unit[item]] != stamp else 0
            if many == 1:
                seen[s.unit[item]] = stamp
        if many > 0:
            takes[count, 0], takes[count, 1] = item, many
            cost += many * price_of(s, item, columns)
            want -= many
            count += 1
        lender = then[lender]
    if want > 0 or cost > level * served * (1 + 1e-12):
        return
    pattern = _open(s, table, columns, waiting, active, head, following)
    for i in range(count):
        item, many = takes[i, 0], takes[i, 1]
        shift(s, item, s.home[s.own[item]], -many)
        shift(s, item, pattern, many)


@njit(cache=True, nogil=True)
def absorb(s, table, everything, waiting, active):
    """Widen, for what still waits, the pattern for which that costs least; return what is left.

    `everything` are the columns that may be blanked. Fewer than k wait in each group of items that
    agree in the others.
    """
    slots, group, reps, _ = _grouped(s, table, everything, waiting, active, active.size > 0)
    count = reps.size
    masks, least = np.zeros(count, np.int64), np.empty(count)
    least[:] = np.inf
    goals, blanks = nones(count), np.zeros(count, np.int64)
    away = np.zeros(count)
    for i in range(active.size):
        if group[i] >= 0:
            masks[group[i]] |= differing(s.codes, active[i], reps[group[i]])
            masks[group[i]] |= s.nulls[active[i]]
            away[group[i]] += waiting[active[i]] * s.rows[active[i]] * s.price
    for pattern in range(1, s.patterns.shape[0]):
        head = s.patterns[pattern, FIRST]
        if s.patterns[pattern, MASK] == UNUSED or head < 0:
            continue
        one = s.lots[head, ITEM]
        g = _group_of(s, everything, slots, reps, one)
        if g < 0:
            continue
        mask = masks[g] | s.patterns[pattern, MASK] | differing(s.codes, one, reps[g])
        cost, lot = 0.0, head
        while lot >= 0 and cost < least[g]:
            item = s.lots[lot, ITEM]
            more = price_of(s, item, mask) - price_of(s, item, s.patterns[pattern, MASK])
            cost += s.lots[lot, MEMBERS] * more
            lot = s.lots[lot, NEXT]
        if cost < least[g]:
            least[g], goals[g], blanks[g] = cost, pattern, mask
    for g in range(count):
        if goals[g] >= 0 and least[g] < away[g]:
            _widen(s, table, goals[g], blanks[g])
    for i in range(active.size):
        item, g = active[i], group[i]
        if g >= 0 and goals[g] >= 0 and least[g] < away[g]:
            shift(s, item, found(s, table, item, blanks[g]), waiting[item])
            waiting[item] = 0
        elif g >= 0 and np.isfinite(s.price):
            shift(s, item, LEFT_OUT, waiting[item])
            waiting[item] = 0
    return _still(waiting, active)


@once
def _group_of(s, columns, slots, reps, item):
    place = np.int64(key_of(s.codes, item, columns) & np.uint64(slots.size - 1))
    while slots[place] >= 0 and not same(s.codes, item, reps[slots[place]], columns):
        place = (place + 1) & (slots.size - 1)
    return slots[place]


@once
def _widen(s, table, pattern, mask):
    """Move all that a pattern has to one with more blanks."""
    goal = -1
    while s.patterns[pattern, FIRST] >= 0:
        lot = s.patterns[pattern, FIRST]
        item, members = s.lots[lot, ITEM], s.lots[lot, MEMBERS]
        if goal < 0:
            goal = found(s, table, item, mask)
        if goal == pattern:
            return
        shift(s, item, pattern, -members)
        shift(s, item, goal, members)
