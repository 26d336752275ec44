"""Mondrian: cut a set of records in two, again and again, as long as both sides may be released.

Records come in *bundles*, distinct tuples with their number of records, in one table of integers:
the codes of the quasi-identifiers, the codes of the confidential columns, the number of records,
the bundle's own number. A part is a range of its rows; a cut moves the bundles of one side before
those of the other, in their order, so the passes read memory from front to back.

A code is a value's place in its column's order, and a null comes after the last. Columns are told
apart by their `heights`: 0, values in order, where `place` says how far apart they are; above 0, a
tree, where `ranks` numbers the nodes of each level from left to right and `spans` says how wide
each is. A tree is cut between the children of the lowest node that holds all of the part, and if
that cannot be, between grandchildren, and so on down to its leaves.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.privacy import holds

# What a null is: one more value; cut off first, where that may be; what forbids to cut its column;
# or what equals any value, and so goes to either side. The second may be added to the others. The
# last is what `semi_partition` does with them.
VALUE, APART, FORBIDS, MATCHES, MADE_UP = 0, 1, 2, 4, 8
# Passes that look for the median count in at most so many bins.
_BINS = 1024


class Held(NamedTuple):
    """What the units of each bundle hold, where units are counted."""

    # Those of bundle i are between `starts[i]` and `starts[i + 1]`.
    starts: np.ndarray
    # (confidential columns + 1, units of bundles): the number of the pair of a unit and a value, -1
    # where null, and in the last row of the unit.
    holdings: np.ndarray
    # All numbers are below it.
    size: int


NOTHING_HELD = Held(np.zeros(1, np.int64), np.empty((1, 0), np.int32), 0)


@njit(cache=True)
def mondrian(cells, sizes, heights, starts, place, ranks, spans, rules, held, relaxed, nulls):
    """Cut the bundles into classes; `cells` are put in their order, in place.

    Parameters
    ----------
    sizes, heights, starts : ndarray of int64
        For each quasi-identifier the code of its null, the height of its tree, and where its part
        of `place` (height 0), or of `ranks` and `spans`, starts.
    place : ndarray of float64
        For each code of a column in order its place; that of the null is how wide the column is.
    ranks, spans : ndarray of int32, ndarray of float64
        For each level of a tree, from the leaves up, and each code: the number and the width of
        its node. Numbers rise with the codes.
    rules : discreet.kernels.privacy.Rules
        What both sides of a cut must keep. The bundles as a whole are not tested.
    held : Held
        What units hold, where `rules` count these.
    relaxed : bool
        Share out the records that are equal to the median, in their order.

    Returns
    -------
    ends, low, high, null : ndarray
        Where each class ends in `cells`; by class and quasi-identifier the least and the largest
        code that is not a null (`low > high` where there is none), and whether it holds a null.
    """
    columns = sizes.size
    records = 0
    for i in range(cells.shape[0]):
        records += cells[i, -2]
    # No class has fewer records, and none is without a bundle.
    fewest = rules.k
    for least in rules.least:
        fewest = max(fewest, least)
    most = max(1, min(records // fewest + 1, cells.shape[0]))
    ends = np.empty(most, np.int64)
    low, high = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    null = np.empty((most, columns), np.bool_)
    stack = np.empty((most + 1, 2), np.int64)
    stack[0] = 0, cells.shape[0]
    waiting, classes = 1, 0
    side, room = np.empty(len(cells), np.bool_), np.empty_like(cells)
    bins, counts = np.empty(_BINS, np.int64), np.empty((2, rules.q.size + 1), np.int64)
    # By side and holding the last test that met it; after all, the number of tests.
    met = np.zeros((2, held.size + 1), np.int32)
    widths = np.empty(columns)
    while waiting:
        waiting -= 1
        start, stop = stack[waiting]
        # The bounds go straight to the place of the next class, in case it is one.
        lo, hi, has = low[classes], high[classes], null[classes]
        n = _bounds(cells, start, stop, sizes, lo, hi, has)
        middle = start
        if n >= 2 * fewest:
            for c in range(columns):
                widths[c] = _width(
                    c, lo, hi, has, sizes, heights, starts, place, ranks, spans, nulls
                )
            while middle == start:
                c = np.argmax(widths)
                if widths[c] < 0:
                    break
                widths[c] = -1.0
                middle = _cut(
                    cells, start, stop, n, c, lo[c], hi[c], has[c],
                    sizes[c], heights[c], starts[c], ranks, relaxed, nulls, rules, fewest,
                    side, room, bins, counts, held, met,
                )  # fmt: skip
        if middle == start:
            ends[classes] = stop
            classes += 1
        else:
            stack[waiting] = middle, stop
            stack[waiting + 1] = start, middle
            waiting += 2
    return ends[:classes], low[:classes], high[:classes], null[:classes]


@inner
def _bounds(cells, start, stop, sizes, low, high, null):
    """Find the bounds of a part and whether it holds nulls; return its number of records."""
    columns = sizes.size
    for c in range(columns):
        low[c], high[c], null[c] = sizes[c], -1, False
    n = 0
    for i in range(start, stop):
        n += cells[i, -2]
        for c in range(columns):
            code = cells[i, c]
            low[c] = min(low[c], code)
            if code < sizes[c]:
                high[c] = max(high[c], code)
            else:
                null[c] = True
    return n


@inner
def _width(c, low, high, null, sizes, heights, starts, place, ranks, spans, nulls):
    """Return how wide a part is in a column; -1 if it cannot be cut.

    A single division of whole numbers, so that equal widths are equal in floats too.
    """
    first, last = low[c], high[c]
    if null[c] and (nulls == FORBIDS or last < 0):
        return -1.0
    if null[c] and nulls == VALUE:
        last = sizes[c]
    if first == last and not (null[c] and (nulls & APART) > 0):
        return -1.0
    if heights[c] == 0:
        table = place[starts[c] : starts[c] + sizes[c] + 1]
        return (table[last] - table[first]) / table[sizes[c]]
    level = _common(first, last, sizes[c], starts[c], ranks)
    return spans[starts[c] + level * (sizes[c] + 1) + first]


@inner
def _common(first, last, size, start, ranks):
    """Return the level of the lowest node that holds two codes."""
    level = 0
    while ranks[start + first] != ranks[start + last]:
        start += size + 1
        level += 1
    return level


@inner
def _cut(
    cells, start, stop, n, c, low, high, null, size, height, table, ranks, relaxed, nulls,
    rules, fewest, side, room, bins, counts, held, met,
):  # fmt: skip
    """Cut a part in a column if allowed; return where its right side starts, or else `start`."""
    last, matching = size if null else high, 0
    if null and nulls != VALUE:
        left = _mark(cells, start, stop, c, -1, ranks, size, 0, -1, side)
        apart = (nulls & APART) > 0 and fewest <= left <= n - fewest
        if apart and _hold(cells, start, stop, left, n, rules, side, counts, held, met):
            return _move(cells, start, stop, side, room)
        if (nulls & MATCHES) > 0:
            if low == high:
                return start
            last, matching = high, n - left
    level = _common(low, last, size, table, ranks) - 1 if height > 0 else -1 if relaxed else 0
    # Level -1 shares out equal values: the way of relaxed cuts, but the last resort in a tree.
    while level >= (-1 if relaxed else 0):
        at = table + max(level, 0) * (size + 1) if height > 0 else -1
        key, left, share = _median(
            cells, start, stop, n - matching, c, at, ranks, low, last, level < 0, bins
        )
        # Nulls that equal any value go to the smaller side.
        also = -1
        if 2 * left <= n - matching and matching > 0:
            left += matching
            also = size
        if fewest <= left <= n - fewest:
            _mark(cells, start, stop, c, at, ranks, key, share, also, side)
            if _hold(cells, start, stop, left, n, rules, side, counts, held, met):
                return _move(cells, start, stop, side, room)
        level -= 1
    return start


@inner
def _hold(cells, start, stop, left, n, rules, side, counts, held, met):
    """Tell whether both sides satisfy the privacy models."""
    confidential = rules.offsets.size - 1
    first = cells.shape[1] - 2 - confidential
    if rules.units >= 0:
        return _hold_units(cells, start, stop, first, rules, side, counts, held, met)
    if confidential == 0:
        return True
    counts[:] = 0
    for i in range(start, stop):
        for j in range(first, first + confidential):
            if cells[i, j] >= 0:
                counts[0 if side[i] else 1, cells[i, j]] += cells[i, -2]
    return holds(rules, left, counts[0]) and holds(rules, n - left, counts[1])


@inner
def _hold_units(cells, start, stop, first, rules, side, counts, held, met):
    """Tell the same, each holding counted once on a side; `first` is the first confidential."""
    columns, unit = held.holdings.shape[0], rules.units
    met[0, -1] += 1
    counts[:] = 0
    for i in range(start, stop):
        s = 0 if side[i] else 1
        for e in range(held.starts[cells[i, -1]], held.starts[cells[i, -1] + 1]):
            for j in range(columns):
                h = held.holdings[j, e]
                if h >= 0 and met[s, h] != met[0, -1]:
                    met[s, h] = met[0, -1]
                    counts[s, unit if j == columns - 1 else cells[i, first + j]] += 1
        if columns == 1 and min(counts[0, unit], counts[1, unit]) >= rules.k:
            return True
    return holds(rules, counts[0, unit], counts[0]) and holds(rules, counts[1, unit], counts[1])


@njit(cache=True)
def _median(cells, start, stop, n, c, at, ranks, low, high, share_out, bins):
    """Find the cut of n records that comes nearest to two halves; on a tie the median goes left.

    Codes beyond `high` are left out, and do not count among the n. Returns the median, the records
    of the left side, and how many of the median's are among them.
    """
    base = low if at < 0 else ranks[at + low]
    width = (high if at < 0 else ranks[at + high]) - base + 1
    used = 2
    while used < _BINS and used < stop - start:
        used *= 2
    before = 0
    while True:
        shift = 0
        while (width - 1) >> shift >= used:
            shift += 1
        last = (width - 1) >> shift
        for b in range(last + 1):
            bins[b] = 0
        for i in range(start, stop):
            code = cells[i, c]
            key = (code if at < 0 else ranks[at + code]) - base
            if 0 <= key < width:
                bins[key >> shift] += cells[i, -2]
        b = 0
        while 2 * (before + bins[b]) < n:
            before += bins[b]
            b += 1
        base += b << shift
        if shift == 0:
            break
        width = min(1 << shift, width - (b << shift))
    after = before + bins[b]
    if share_out:
        return base, n // 2, n // 2 - before
    if abs(2 * after - n) <= abs(2 * before - n):
        return base, after, bins[b]
    return base, before, 0


@inner
def _mark(cells, start, stop, c, at, ranks, key, share, also, side):
    """Mark the left side, and count its records.

    It has the bundles below the key, the first of those at it, and those with the code `also`.
    """
    left = 0
    for i in range(start, stop):
        code = cells[i, c]
        own = code if at < 0 else ranks[at + code]
        goes = own < key or code == also
        if own == key and share > 0:
            goes = True
            share -= cells[i, -2]
        side[i] = goes
        if goes:
            left += cells[i, -2]
    return left


@inner
def _move(cells, start, stop, side, room):
    """Put the marked bundles first, both sides in their order; return where the others start."""
    middle, kept = start, 0
    width = cells.shape[1]
    for i in range(start, stop):
        if side[i]:
            for j in range(width):
                cells[middle, j] = cells[i, j]
            middle += 1
        else:
            for j in range(width):
                room[kept, j] = cells[i, j]
            kept += 1
    for i in range(kept):
        for j in range(width):
            cells[middle + i, j] = room[i, j]
    return middle
