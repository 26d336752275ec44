"""Local suppression, strict: the patterns that are released, kept so that changing them is cheap.

An *item* is a tuple of codes with its members, or one unit's hold of a tuple where units are
counted. A *pattern* is a set of blanked columns with the values of the others; a *lot* is the
members of one item that are released in one pattern. Every pattern has k members, or units, or
more; pattern 0 stands for the records that are left out, and needs none.

`suppression_start` makes a first solution, `recreate` improves it, and `give_back`, here, ends it:
members go back to a pattern with fewer blanks where that is there or they are enough to found it,
as long as those they leave are none or k.

Patterns are looked up by a hash of their values and compared in full, so that nothing rests on a
hash alone. Nothing is checked here.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner, once

# Items: codes (0 = null), columns that are null, number of the tuple, unit (or none at all), and
# how many rows a member stands for. `tables` has the weight of every set, byte by byte, `price`
# what a record left out costs. `first` is an item's first lot, `home` a tuple's own pattern.
# `at` counts free lots, free patterns, units seen and entries of the journal.
State = namedtuple(
    "State",
    "codes nulls own unit rows tables price first lots patterns home free_lots free_patterns at "
    "cost unit_keys unit_counts journal",
)
# The columns of `lots` and of `patterns`.
ITEM, PATTERN, MEMBERS, SIBLING, NEXT, BEFORE = range(6)
MASK, COUNT, FIRST = range(3)
FREE_LOTS, FREE_PATTERNS, SEEN, WRITTEN = range(4)
GONE, UNUSED = -1, -2
# The pattern of the left out. Typed, like all numbers that are passed on: for a plain one the
# function would be compiled once more.
LEFT_OUT = np.int64(0)


@njit(cache=True, nogil=True)
def weight_of(tables, columns):
    """Return the price of blanking a set of columns."""
    total, byte = 0.0, 0
    while columns > 0:
        total += tables[byte, columns & 255]
        columns >>= 8
        byte += 1
    return total


@inner
def price_of(s, item, mask):
    """Return what a member of an item costs in a pattern with these blanks."""
    if mask == GONE:
        return s.price * s.rows[item]
    return s.rows[item] * weight_of(s.tables, mask & ~s.nulls[item])


@inner
def nones(size):
    """Return an array of -1; `np.full` would take longer to compile."""
    array = np.empty(size, np.int64)
    array[:] = -1
    return array


# Lots and patterns


@inner
def shift(s, item, pattern, members):
    """Add members of an item to a pattern, or take them out; the journal keeps it."""
    lots, patterns = s.lots, s.patterns
    lot, before = s.first[item], -1
    while lot >= 0 and lots[lot, PATTERN] != pattern:
        before, lot = lot, lots[lot, SIBLING]
    if lot < 0:
        s.at[FREE_LOTS] -= 1
        lot = s.free_lots[s.at[FREE_LOTS]]
        head = patterns[pattern, FIRST]
        lots[lot, ITEM], lots[lot, PATTERN], lots[lot, MEMBERS] = item, pattern, 0
        lots[lot, SIBLING], lots[lot, NEXT], lots[lot, BEFORE] = s.first[item], head, -1
        s.first[item] = lot
        before = -1
        if head >= 0:
            lots[head, BEFORE] = lot
        patterns[pattern, FIRST] = lot
    lots[lot, MEMBERS] += members
    s.cost[0] += members * price_of(s, item, patterns[pattern, MASK])
    if s.unit.size == 0:
        patterns[pattern, COUNT] += members
    else:
        patterns[pattern, COUNT] += _seat(s, pattern, s.unit[item], members)
    if s.journal.shape[0] > 0:
        written = s.at[WRITTEN]
        s.journal[written, 0], s.journal[written, 1] = item, pattern
        s.journal[written, 2], s.journal[written, 3] = members, patterns[pattern, MASK]
        s.at[WRITTEN] += 1
    if lots[lot, MEMBERS] == 0:
        if before >= 0:
            lots[before, SIBLING] = lots[lot, SIBLING]
        else:
            s.first[item] = lots[lot, SIBLING]
        after, ahead = lots[lot, NEXT], lots[lot, BEFORE]
        if after >= 0:
            lots[after, BEFORE] = ahead
        if ahead >= 0:
            lots[ahead, NEXT] = after
        else:
            patterns[pattern, FIRST] = after
        lots[lot, ITEM] = -1
        s.free_lots[s.at[FREE_LOTS]] = lot
        s.at[FREE_LOTS] += 1


@inner
def new_pattern(s, mask):
    """Return the number of a pattern that has no member yet."""
    s.at[FREE_PATTERNS] -= 1
    pattern = s.free_patterns[s.at[FREE_PATTERNS]]
    s.patterns[pattern, MASK], s.patterns[pattern, COUNT] = mask, 0
    return pattern


@inner
def spare(s, item, pattern, k):
    """Return how many members of an item its pattern can do without."""
    lot = s.first[item]
    while lot >= 0 and s.lots[lot, PATTERN] != pattern:
        lot = s.lots[lot, SIBLING]
    if lot < 0:
        return 0
    left = s.patterns[pattern, COUNT] - k
    if s.unit.size == 0:
        return min(left, s.lots[lot, MEMBERS])
    return 1 if left > 0 or s.unit_counts[_unit_place(s, pattern, s.unit[item])] > 1 else 0


@njit(cache=True, nogil=True)
def fill(s, table, items, masks, members):
    """Put the lots of a solution into a state."""
    for i in range(items.size):
        if masks[i] == GONE:
            shift(s, items[i], LEFT_OUT, members[i])
            continue
        pattern = found(s, table, items[i], masks[i])
        if masks[i] == s.nulls[items[i]]:
            s.home[s.own[items[i]]] = pattern
        shift(s, items[i], pattern, members[i])


# Units: how often a pattern has one, by open addressing; what falls to 0 keeps its place.


@inner
def _unit_place(s, pattern, unit):
    key = (pattern << 32) | unit
    size = s.unit_keys.size
    place = np.int64(mixed(np.uint64(key)) & np.uint64(size - 1))
    while s.unit_keys[place] != -1 and s.unit_keys[place] != key:
        place = (place + 1) & (size - 1)
    return place


@once
def _seat(s, pattern, unit, members):
    """Count a unit into a pattern or out of it; return by how much its units change."""
    if pattern == 0:
        return 0
    if 2 * s.at[SEEN] > s.unit_keys.size:
        _seat_again(s)
    place = _unit_place(s, pattern, unit)
    if s.unit_keys[place] == -1:
        s.unit_keys[place] = (pattern << 32) | unit
        s.unit_counts[place] = 0
        s.at[SEEN] += 1
    s.unit_counts[place] += members
    if members > 0:
        return 1 if s.unit_counts[place] == members else 0
    return -1 if s.unit_counts[place] == 0 else 0


@once
def _seat_again(s):
    """Drop the units that patterns no longer have."""
    keys, counts = s.unit_keys.copy(), s.unit_counts.copy()
    s.unit_keys[:] = -1
    s.at[SEEN] = 0
    for i in range(keys.size):
        if keys[i] != -1 and counts[i] > 0:
            place = _unit_place(s, keys[i] >> 32, keys[i] & 0xFFFFFFFF)
            s.unit_keys[place], s.unit_counts[place] = keys[i], counts[i]
            s.at[SEEN] += 1


# Looking patterns up


@inner
def mixed(x):
    """Return 64 well mixed bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def key_of(codes, item, mask):
    """Hash what an item shows outside a set of columns; nulls count as blanks."""
    key = np.uint64(0)
    for column in range(codes.shape[1]):
        code = codes[item, column]
        if code != 0 and (mask >> column) & 1 == 0:
            key += mixed(np.uint64(code) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(column))
    return key


@inner
def same(codes, one, other, mask):
    """Tell whether two items show the same outside a set of columns."""
    for column in range(codes.shape[1]):
        if (mask >> column) & 1 == 0 and codes[one, column] != codes[other, column]:
            return False
    return True


@inner
def find(s, table, item, mask):
    """Return the pattern of an item with these blanks, -1 where there is none, and its place."""
    mask |= s.nulls[item]
    place = np.int64(key_of(s.codes, item, mask) & np.uint64(table.size - 1))
    while table[place] >= 0:
        pattern = table[place]
        if s.patterns[pattern, MASK] == mask:
            head = s.patterns[pattern, FIRST]
            if head >= 0 and same(s.codes, item, s.lots[head, ITEM], mask):
                return pattern, place
        place = (place + 1) & (table.size - 1)
    return -1, place


@inner
def found(s, table, item, mask):
    """Return the pattern of an item with these blanks, which is made where there is none.

    Its first member has to be put in before the next look-up.
    """
    mask |= s.nulls[item]
    pattern, place = find(s, table, item, mask)
    if pattern < 0:
        pattern = new_pattern(s, mask)
        table[place] = pattern
    return pattern


@njit(cache=True, nogil=True)
def numbered(codes, items, masks):
    """Return numbers of the patterns of lots, as they come, and the first lot of each."""
    size = 16
    while size < 2 * items.size:
        size *= 2
    slots = nones(size)
    numbers, first = np.empty(items.size, np.int64), np.empty(items.size, np.int64)
    count = 0
    for i in range(items.size):
        # The left out are one by one: nothing keeps them together.
        key = key_of(codes, items[i], masks[i]) if masks[i] != GONE else mixed(np.uint64(i))
        place = np.int64(key & np.uint64(size - 1))
        while slots[place] >= 0:
            j = first[slots[place]]
            if masks[i] == masks[j] != GONE and same(codes, items[i], items[j], masks[i]):
                break
            place = (place + 1) & (size - 1)
        if slots[place] < 0:
            slots[place], first[count] = count, i
            count += 1
        numbers[i] = slots[place]
    return numbers, first[:count]


@njit(cache=True, nogil=True)
def scattered(codes, word):
    """Hash codes, by a word that is drawn."""
    hashed = np.empty(codes.size, np.uint64)
    for i in range(codes.size):
        hashed[i] = mixed(np.uint64(codes[i]) + word)
    return hashed


@inner
def differing(codes, one, other):
    """Return the columns in which two items differ."""
    columns = 0
    for column in range(codes.shape[1]):
        if codes[one, column] != codes[other, column]:
            columns |= 1 << column
    return columns


# The end


@njit(cache=True, nogil=True)
def give_back(s, table, k):
    """Restore cells as long as every pattern keeps k members."""
    for pattern in range(1, s.patterns.shape[0]):
        mask = s.patterns[pattern, MASK]
        for column in range(s.codes.shape[1]):
            if s.patterns[pattern, FIRST] >= 0 and (mask >> column) & 1:
                _split(s, table, pattern, column, k)
        if s.patterns[pattern, FIRST] >= 0 and s.patterns[pattern, COUNT] > k:
            _return(s, table, pattern, k)


@inner
def _listed(s, pattern):
    """Return the lots of a pattern."""
    count, lot = 0, s.patterns[pattern, FIRST]
    while lot >= 0:
        count, lot = count + 1, s.lots[lot, NEXT]
    listed = np.empty(count, np.int64)
    count, lot = 0, s.patterns[pattern, FIRST]
    while lot >= 0:
        listed[count] = lot
        count, lot = count + 1, s.lots[lot, NEXT]
    return listed


@once
def _split(s, table, pattern, column, k):
    """Show a column again to members that have the same value there, where all stay k."""
    lots = _listed(s, pattern)
    values, items = np.empty(lots.size, np.int64), np.empty(lots.size, np.int64)
    for i in range(lots.size):
        values[i] = s.codes[s.lots[lots[i], ITEM], column]
    lots, values = _by_value(lots, values)
    members = np.empty(lots.size, np.int64)
    for i in range(lots.size):
        items[i], members[i] = s.lots[lots[i], ITEM], s.lots[lots[i], MEMBERS]
    begin = 0
    for end in range(1, lots.size + 1):
        if end < lots.size and values[end] == values[begin]:
            continue
        if values[begin] > 0 and s.at[FREE_PATTERNS] > 0:
            _show(s, table, pattern, column, k, items[begin:end], members[begin:end])
        begin = end


@inner
def _by_value(lots, values):
    """Return lots and their values by value, equal ones as they come: merged, runs twice as long.

    As numpy's sort does it, but this compiles in a tenth of the time.
    """
    to_lots, to_values = np.empty(lots.size, np.int64), np.empty(lots.size, np.int64)
    run = 1
    while run < lots.size:
        for begin in range(0, lots.size, 2 * run):
            middle, end = min(begin + run, lots.size), min(begin + 2 * run, lots.size)
            i, j = begin, middle
            for at in range(begin, end):
                if j == end or (i < middle and values[i] <= values[j]):
                    to_lots[at], to_values[at] = lots[i], values[i]
                    i += 1
                else:
                    to_lots[at], to_values[at] = lots[j], values[j]
                    j += 1
        lots, to_lots, values, to_values = to_lots, lots, to_values, values
        run *= 2
    return lots, values


@inner
def _show(s, table, pattern, column, k, items, members):
    """Move all of some members to the pattern with a column less blank, or none."""
    total = 0
    for one in members:
        total += one
    left = s.patterns[pattern, COUNT] - total
    goal, _ = find(s, table, items[0], s.patterns[pattern, MASK] ^ (1 << column))
    enough = goal >= 0 or total >= k
    if not enough or (s.unit.size == 0 and 0 < left < k):
        return
    goal = found(s, table, items[0], s.patterns[pattern, MASK] ^ (1 << column))
    for i in range(items.size):
        shift(s, items[i], pattern, -members[i])
        shift(s, items[i], goal, members[i])
    left = s.patterns[pattern, COUNT]
    if s.patterns[goal, COUNT] < k or 0 < left < k:
        for i in range(items.size):
            shift(s, items[i], goal, -members[i])
            shift(s, items[i], pattern, members[i])


@once
def _return(s, table, pattern, k):
    """Send members that a pattern can spare to the cheapest that is there with fewer blanks."""
    lots = _listed(s, pattern)
    mask = s.patterns[pattern, MASK]
    for lot in lots:
        item = s.lots[lot, ITEM]
        blanks = mask & ~s.nulls[item]
        many = spare(s, item, pattern, k)
        if many <= 0 or blanks == 0:
            continue
        best, least = -1, price_of(s, item, mask)
        fewer, tries = (blanks - 1) & blanks, 0
        while tries < 1024:
            price = price_of(s, item, fewer)
            if price < least:
                goal, _ = find(s, table, item, fewer)
                if goal >= 0:
                    best, least = goal, price
            if fewer == 0:
                break
            fewer, tries = (fewer - 1) & blanks, tries + 1
        if best >= 0:
            shift(s, item, pattern, -many)
            shift(s, item, best, many)
