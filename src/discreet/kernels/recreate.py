"""Local suppression, strict: patterns are taken apart and put together again, by annealing.

One move, on the items of one region:

1. Ruin. A lot with blanks is drawn, and its pattern, with some patterns of near items, is taken
   apart; what a pool lent goes home, and a pool as such is seldom touched.
2. Recreate. The homeless, in random order, take what costs least per record: to join a pattern, to
   found one with other homeless and with members that patterns can spare, or to be left out.
   For founding, all sets of up to eight columns are weighed at once: homeless and spare members
   are counted by the columns in which they differ, and summed over subsets.
3. What costs more is taken with probability exp(-cost / heat), or all is undone. The best is kept.

See `suppression` for items, lots and patterns.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner, once
from discreet.kernels.splitmix import below, unit
from discreet.kernels.suppression import (
    COUNT,
    FIRST,
    FREE_LOTS,
    FREE_PATTERNS,
    ITEM,
    MASK,
    MEMBERS,
    NEXT,
    PATTERN,
    SIBLING,
    UNUSED,
    WRITTEN,
    new_pattern,
    price_of,
    same,
    shift,
    spare,
    weight_of,
)

# Columns of which all sets are weighed at once.
_AT_ONCE = 8
# What takes part in a ruin at most: patterns, and members as so many times k.
_RUINS, _RUINED = np.int64(6), 12


@njit(cache=True, nogil=True)
def neighbours(codes, tables, most):
    """Return the nearest items of each, itself included, and the columns in which they differ.

    Items that no pattern can have in common are none; -1 fills up.
    """
    n, q = codes.shape
    by_column = codes.T.copy()
    near = np.empty((n, min(n, most)), np.int32)
    near[:] = -1
    gaps = np.zeros(near.shape, np.int64)
    steps, total = np.empty(q, np.int32), 0.0
    for c in range(q):
        weight = weight_of(tables, 1 << c)
        total += weight if weight < np.inf else 0.0
    for c in range(q):
        weight = weight_of(tables, 1 << c)
        steps[c] = weight * (250.0 / max(total, 1e-300)) if weight < np.inf else 10_000
    far, apart = np.empty(n, np.int32), np.empty(n, np.int64)
    tally = np.empty(256, np.int64)
    for i in range(n):
        far[:] = 0
        apart[:] = 0
        for c in range(q):
            own, step, bit = by_column[c, i], steps[c], 1 << c
            for j in range(n):
                differs = by_column[c, j] != own
                far[j] += step * differs
                apart[j] |= bit * differs
        tally[:] = 0
        for j in range(n):
            tally[min(far[j], 255)] += 1
        cut, total = 0, 0
        while cut < 255 and total + tally[cut] <= near.shape[1]:
            total += tally[cut]
            cut += 1
        # Of those at the limit some are taken, from the item on and round.
        _take(i, far, apart, cut, near.shape[1] - total, near, gaps, tally)
    return near, gaps


@once
def _take(i, far, apart, cut, room, near, gaps, tally):
    """List the items nearer than the cut by distance, and at it as many as there is room for."""
    n = far.size
    at = np.empty(256, np.int64)
    total = 0
    for d in range(256):
        at[d] = total
        total += tally[d] if d < cut else 0
    for step in range(n):
        j = (i + step) % n
        d = far[j]
        if d < cut or (d == cut and d < 255 and room > 0):
            room -= d == cut
            near[i, at[d]], gaps[i, at[d]] = j, apart[j]
            at[d] += 1


@njit(cache=True, nogil=True)
def anneal(s, near, gaps, k, moves, hot, cold, state, best, waiting):
    """Make some moves while the heat falls; the best found is kept in `best`.

    `best` has a row for each lot: item, pattern, members, blanks; its first row has their number.
    `state` is of the generator; `waiting` is room for the homeless members of each item. Returns
    the least cost.
    """
    homeless = np.empty(waiting.size, np.int64)
    order = np.empty(waiting.size, np.int64)
    least = s.cost[0]
    keep(s, best)
    fall = (cold / hot) ** (1.0 / max(moves - 1, 1)) if hot > 0.0 else 1.0
    heat = hot
    for _ in range(moves):
        before = s.cost[0]
        s.at[WRITTEN] = 0
        many = _ruin(s, near, gaps, k, state, waiting, homeless)
        done = many > 0 and _recreate(s, near, gaps, k, state, waiting, homeless, many, order)
        gain = before - s.cost[0]
        if done and (gain >= 0.0 or (heat > 0.0 and unit(state) < np.exp(gain / heat))):
            _tidy(s)
            if s.cost[0] < least - 1e-9:
                least = s.cost[0]
                keep(s, best)
        else:
            _undo(s, waiting, homeless, many)
            s.cost[0] = before
        heat *= fall
    return least


@inner
def keep(s, best):
    """Write down all lots."""
    count = 0
    for lot in range(s.lots.shape[0]):
        if s.lots[lot, ITEM] >= 0:
            count += 1
            best[count, 0], best[count, 1] = s.lots[lot, ITEM], s.lots[lot, PATTERN]
            best[count, 2] = s.lots[lot, MEMBERS]
            best[count, 3] = s.patterns[s.lots[lot, PATTERN], MASK]
    best[0, 0] = count


@inner
def _tidy(s):
    """Free the patterns that lost their last member."""
    for i in range(s.at[WRITTEN]):
        pattern = s.journal[i, 1]
        if pattern > 0 and s.patterns[pattern, FIRST] < 0 and s.patterns[pattern, MASK] != UNUSED:
            s.patterns[pattern, MASK] = UNUSED
            s.free_patterns[s.at[FREE_PATTERNS]] = pattern
            s.at[FREE_PATTERNS] += 1


@once
def _undo(s, waiting, homeless, many):
    """Take back what the journal says."""
    for i in range(many):
        waiting[homeless[i]] = 0
    written = s.at[WRITTEN]
    for i in range(written - 1, -1, -1):
        # Taking back is not to be written, or rather over what is read no more.
        s.at[WRITTEN] = written
        shift(s, s.journal[i, 0], s.journal[i, 1], -s.journal[i, 2])
    s.at[WRITTEN] = written
    _tidy(s)


# Ruin


@inner
def _ruin(s, near, gaps, k, state, waiting, homeless):
    """Take some patterns apart; return how many items have homeless members."""
    seed = -1
    for _ in range(100):
        lot = below(state, s.lots.shape[0])
        item = s.lots[lot, ITEM]
        if item >= 0 and s.patterns[s.lots[lot, PATTERN], MASK] != s.nulls[item]:
            seed = lot
            break
    if seed < 0:
        return 0
    many, members = np.int64(0), np.int64(0)
    many, members = _dissolve(
        s, s.lots[seed, PATTERN], s.lots[seed, ITEM], k, state, waiting, homeless, many, members
    )
    for _ in range(below(state, _RUINS)):
        if many == 0 or members > _RUINED * k:
            break
        one = homeless[below(state, many)]
        u = unit(state)
        other = np.int64(near[one, np.int64(u * u * near.shape[1])])
        if other < 0 or s.first[other] < 0:
            continue
        lot = s.first[other]
        while s.lots[lot, SIBLING] >= 0 and below(state, 2) == 0:
            lot = s.lots[lot, SIBLING]
        many, members = _dissolve(
            s, s.lots[lot, PATTERN], other, k, state, waiting, homeless, many, members
        )
    return many


@inner
def _dissolve(s, pattern, item, k, state, waiting, homeless, many, members):
    """Make the members of a pattern homeless; of the left out and of large patterns only some."""
    patterns, lots = s.patterns, s.lots
    mask = patterns[pattern, MASK]
    own = 0
    lot = patterns[pattern, FIRST]
    while lot >= 0 and pattern > 0:
        one = lots[lot, ITEM]
        own += (mask == s.nulls[one]) * lots[lot, MEMBERS]
        lot = lots[lot, NEXT]
    pool = own >= k and (own >= 3 * k or below(state, 10) > 0)
    large = pattern == 0 or patterns[pattern, COUNT] > _RUINED * k
    lot = patterns[pattern, FIRST]
    while lot >= 0:
        one, count, after = lots[lot, ITEM], lots[lot, MEMBERS], lots[lot, NEXT]
        lot = after
        if pool and mask == s.nulls[one]:
            continue
        if large:
            # Where all cannot go, what the pattern can spare goes, the drawn item first.
            if one != item and (pattern == 0 or below(state, 4) > 0):
                continue
            count = count if pattern == 0 else min(count, spare(s, one, pattern, k))
            if count <= 0:
                continue
        shift(s, one, pattern, -count)
        home = _home(s, one, k)
        if home >= 0 and home != pattern:
            shift(s, one, home, count)
            continue
        if waiting[one] == 0:
            homeless[many] = one
            many += 1
        waiting[one] += count
        members += count
        if members > 4 * _RUINED * k and large:
            break
    return many, members


@inner
def _home(s, item, k):
    """Return an item's own pattern, if that has k members."""
    home = s.home[s.own[item]]
    if home < 0 or s.patterns[home, COUNT] < k or s.patterns[home, MASK] != s.nulls[item]:
        return -1
    one = s.lots[s.patterns[home, FIRST], ITEM]
    return home if same(s.codes, item, one, s.nulls[item]) else -1


# Recreate


@once
def _recreate(s, near, gaps, k, state, waiting, homeless, many, order):
    """Place all the homeless; return whether that worked."""
    for i in range(many):
        j = below(state, i + 1)
        order[i] = order[j]
        order[j] = homeless[i]
    for i in range(many):
        item = order[i]
        while waiting[item] > 0:
            if not _settle(s, near, gaps, k, state, waiting, item):
                return False
    return True


@once
def _settle(s, near, gaps, k, state, waiting, item):
    """Place an item where it costs least per record; return whether there was a place."""
    pattern, price = _joined(s, near, gaps, k, item)
    if s.price * s.rows[item] < price:
        pattern, price = 0, s.price * s.rows[item]
    columns, share = _founded(s, near, gaps, k, state, waiting, item, price)
    if share < price and _found(s, near, gaps, k, waiting, item, columns):
        return True
    if pattern < 0 or s.at[FREE_LOTS] == 0:
        return False
    shift(s, item, pattern, waiting[item])
    waiting[item] = 0
    return True


@inner
def _joined(s, near, gaps, k, item):
    """Return the cheapest pattern of a near item that an item can join."""
    best, least = -1, np.inf
    for i in range(near.shape[1]):
        other = np.int64(near[item, i])
        # The nearest come first, and a pattern shared with one costs what they differ in.
        if other < 0 or s.rows[item] * weight_of(s.tables, gaps[item, i] & ~s.nulls[item]) > least:
            break
        lot = s.first[other]
        while lot >= 0:
            pattern = s.lots[lot, PATTERN]
            mask = s.patterns[pattern, MASK]
            if pattern > 0 and gaps[item, i] & ~mask == 0 and s.patterns[pattern, COUNT] >= k:
                price = price_of(s, item, mask)
                if price < least:
                    best, least = pattern, price
            lot = s.lots[lot, SIBLING]
    return best, least


@inner
def _founded(s, near, gaps, k, state, waiting, item, price):
    """Return the set of columns by which it costs least per homeless record to found a pattern.

    Only sets that cost less than a price are looked at.
    """
    q = s.codes.shape[1]
    base, bits = _free_columns(s, near, gaps, state, item, q)
    free = 0
    for b in bits:
        free |= 1 << b
    size = 1 << bits.size
    homeless, lent, saved = np.zeros(size), np.zeros(size), np.zeros(size)
    for i in range(near.shape[1]):
        other = np.int64(near[item, i])
        if other < 0:
            break
        gap = gaps[item, i] & ~base
        if s.rows[item] * weight_of(s.tables, gaps[item, i] & ~s.nulls[item]) >= price:
            break
        if gap & ~free != 0:
            continue
        index = gap
        if q > _AT_ONCE:
            index = 0
            for b in range(bits.size):
                index |= ((gap >> bits[b]) & 1) << b
        homeless[index] += waiting[other]
        lot = s.first[other]
        while lot >= 0:
            pattern = s.lots[lot, PATTERN]
            left = min(s.patterns[pattern, COUNT] - k, s.lots[lot, MEMBERS])
            if pattern > 0 and left > 0:
                lent[index] += left
                saved[index] += left * price_of(s, other, s.patterns[pattern, MASK])
            lot = s.lots[lot, SIBLING]
    for b in range(bits.size):
        half = 1 << b
        for index in range(size):
            if index & half:
                homeless[index] += homeless[index ^ half]
                lent[index] += lent[index ^ half]
                saved[index] += saved[index ^ half]
    prices = np.empty(size)
    prices[0] = weight_of(s.tables, base & ~s.nulls[item])
    best, least = -1, np.inf
    for index in range(size):
        if index > 0:
            low = 0
            while (index >> low) & 1 == 0:
                low += 1
            prices[index] = prices[index & (index - 1)] + weight_of(s.tables, 1 << bits[low])
        if homeless[index] + lent[index] < k:
            continue
        cost = prices[index]
        if homeless[index] < k:
            want = k - homeless[index]
            cost = (cost * k - want * saved[index] / lent[index]) / homeless[index]
        if cost < least * (1.0 - 1e-9) or (cost <= least * (1.0 + 1e-9) and below(state, 2) == 0):
            best, least = index, cost
    if best < 0:
        return 0, np.inf
    columns = base
    for b in range(bits.size):
        columns |= ((best >> b) & 1) << bits[b]
    return columns, least * s.rows[item]


@once
def _free_columns(s, near, gaps, state, item, q):
    """Return columns that are blanked anyway, and those of which all sets are weighed."""
    bits = np.empty(_AT_ONCE, np.int64)
    if q <= _AT_ONCE:
        for c in range(q):
            bits[c] = c
        return 0, bits[:q]
    base = 0
    u = unit(state)
    i = np.int64(u * near.shape[1])
    if near[item, i] >= 0 and below(state, 2) == 0:
        base = gaps[item, i]
    count, taken = 0, base
    # Columns in which near items differ come first.
    for _ in range(40):
        u = unit(state)
        i = np.int64(u * u * near.shape[1])
        rest = gaps[item, i] & ~taken if near[item, i] >= 0 else 0
        b = 0
        while rest > 0 and count < _AT_ONCE:
            if rest & 1:
                bits[count] = b
                count += 1
                taken |= 1 << b
            rest >>= 1
            b += 1
        if count == _AT_ONCE:
            break
    return base, bits[:count]


@inner
def _found(s, near, gaps, k, waiting, item, columns):
    """Found a pattern of the nearest homeless and spare members; return whether there are k."""
    mask = columns | s.nulls[item]
    room = min(s.at[FREE_LOTS], s.journal.shape[0] // 2 - s.at[WRITTEN])
    if room <= 3 * k + 2 or s.at[FREE_PATTERNS] == 0:
        return False
    written = s.at[WRITTEN]
    pattern = new_pattern(s, mask)
    shift(s, item, pattern, waiting[item])
    given = waiting[item]
    waiting[item] = 0
    for turn in range(2):
        for i in range(near.shape[1]):
            other = np.int64(near[item, i])
            if other < 0 or s.patterns[pattern, COUNT] >= k:
                break
            if gaps[item, i] & ~columns != 0:
                continue
            if turn == 0 and waiting[other] > 0:
                shift(s, other, pattern, waiting[other])
                waiting[other] = 0
            elif turn == 1:
                _borrow(s, other, pattern, k)
    if s.patterns[pattern, COUNT] >= k:
        if mask == s.nulls[item]:
            s.home[s.own[item]] = pattern
        return True
    end = s.at[WRITTEN]
    for i in range(end - 1, written - 1, -1):
        one, place, members = s.journal[i, 0], s.journal[i, 1], s.journal[i, 2]
        s.at[WRITTEN] = end
        shift(s, one, place, -members)
        if place == pattern and (i == written or s.journal[i - 1, 1] == pattern):
            waiting[one] += members
    s.at[WRITTEN] = written
    s.patterns[pattern, MASK] = UNUSED
    s.free_patterns[s.at[FREE_PATTERNS]] = pattern
    s.at[FREE_PATTERNS] += 1
    waiting[item] = given
    return False


@once
def _borrow(s, other, pattern, k):
    """Move members of an item to a pattern that is short of them, from those that can spare."""
    lot = s.first[other]
    while lot >= 0 and s.patterns[pattern, COUNT] < k:
        place, after = s.lots[lot, PATTERN], s.lots[lot, SIBLING]
        if place > 0 and place != pattern:
            many = min(spare(s, other, place, k), k - s.patterns[pattern, COUNT])
            if many > 0:
                shift(s, other, place, -many)
                shift(s, other, pattern, many)
        lot = after
