"""Combinations of a unit's items that too few units share: k^m with rows as items.

The itemsets of the units lie one after the other, each with its distinct items in ascending order:
those of unit u are `items[starts[u]:starts[u + 1]]`. A combination is counted by going through the
units that hold all of its items but the last (Terrovitis, Mamoulis and Kalnis, "Privacy-preserving
anonymization of set-valued data", 2008, count in a tree; here the units are projected instead, so
that memory stays in proportion to one item's units). What contains a combination that fails is
failed by it, and is not looked at.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Sets(NamedTuple):
    """Itemsets, and the distinct confidential values of each entry, if any are looked at."""

    starts: np.ndarray
    items: np.ndarray
    owner: np.ndarray  # the unit of each entry
    value_starts: np.ndarray
    values: np.ndarray


class Found(NamedTuple):
    """Failed combinations, as many as there is room for; `n` counts them, and their holders."""

    combinations: np.ndarray
    support: np.ndarray
    holders: np.ndarray
    n: np.ndarray


class _Work(NamedTuple):
    """Counts by depth and item, and which items hold after the combination of that depth."""

    counts: np.ndarray
    place: np.ndarray
    fine: np.ndarray
    prefix: np.ndarray
    stamp: np.ndarray
    token: np.ndarray


@njit(cache=True, nogil=True)
def itemsets(items, units, n_items, n_units):
    """Return the distinct items of each unit: starts, items, and the entry of each row.

    A row whose item is -1 has no entry (-1).
    """
    n = items.size
    by_item = _sorted_by(items, np.arange(n), n_items)
    rows = _sorted_by(units, by_item, n_units)
    starts = np.zeros(n_units + 1, np.int64)
    found, entry = np.empty(rows.size, np.int32), np.full(n, -1, np.int64)
    end = 0
    unit = -1
    for i in range(rows.size):
        row = rows[i]
        if units[row] != unit or found[end - 1] != items[row]:
            unit = units[row]
            found[end] = items[row]
            starts[unit + 1] += 1
            end += 1
        entry[row] = end - 1
    return np.cumsum(starts), found[:end].copy(), entry


@inner
def _sorted_by(keys, rows, size):
    """Sort rows by their keys, keeping the order of equal ones; those with a key of -1 are left."""
    ends = np.zeros(size + 1, np.int64)
    for row in rows:
        if keys[row] >= 0:
            ends[keys[row] + 1] += 1
    ends = np.cumsum(ends)
    out = np.empty(ends[-1], np.int64)
    for row in rows:
        if keys[row] >= 0:
            out[ends[keys[row]]] = row
            ends[keys[row]] += 1
    return out


@njit(cache=True, nogil=True)
def whole_sets(starts, items):
    """Assign the same number to units with equal itemsets, and -1 to those without items.

    Sets are paths in a tree: the next node is looked up by the one before and the item, so that
    equal numbers mean equal sets.
    """
    bits = 4
    while (1 << bits) < 2 * (items.size + 1):
        bits += 1
    last, down = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    keys, nodes = np.empty(1 << bits, np.uint64), np.full(1 << bits, -1, np.int64)
    sets = np.full(starts.size - 1, -1, np.int64)
    count = 0
    for u in range(sets.size):
        node = -1
        for e in range(starts[u], starts[u + 1]):
            key = (np.uint64(node + 1) << np.uint64(32)) | np.uint64(items[e])
            place = (key * _MIX) >> down
            while nodes[place] >= 0 and keys[place] != key:
                place = (place + np.uint64(1)) & last
            if nodes[place] < 0:
                keys[place], nodes[place] = key, count
                count += 1
            node = nodes[place]
        sets[u] = node
    return sets


@njit(cache=True, nogil=True)
def failures(sets, n_items, n_values, k, least, most, found):
    """Find combinations of at most `most` items that fail, and whose first items do not.

    A combination fails where fewer than k units hold it, or where the entries by which they do
    have fewer than `least` distinct values together. Returns the smallest number of units counted.
    """
    work = _Work(
        np.zeros((most, n_items), np.int64),
        np.zeros((most, n_items), np.int64),
        np.zeros((most, n_items), np.bool_),
        np.zeros(most, np.int32),
        np.full(n_values, -1, np.int64),
        np.zeros(2, np.int64),
    )
    work.token[1] = sets.starts.size
    everything = np.arange(sets.items.size)
    by_item = _sorted_by(sets.items, everything, n_items)
    ends = np.zeros(n_items + 1, np.int64)
    for item in sets.items:
        ends[item + 1] += 1
    ends = np.cumsum(ends)
    for x in range(n_items):
        held = by_item[ends[x] : ends[x + 1]]
        if held.size:
            work.fine[0, x] = _judge(sets, work, k, least, 0, x, held, found)
    if most > 1:
        for x in range(n_items):
            if work.fine[0, x]:
                work.prefix[0] = x
                _descend(sets, work, k, least, most, by_item[ends[x] : ends[x + 1]], found)
    return work.token[1]


@inner
def _descend(sets, work, k, least, most, held, found):
    """Look at all combinations that begin with an item, which has the entries `held`.

    Depth first, and without recursion, which numba does not keep in its cache.
    """
    touched, entries = _extend(sets, work, k, least, 1, held, found)
    next_items, buckets = [touched] * most, [entries] * most
    cursor = np.zeros(most, np.int64)
    depth = 1
    while depth:
        if depth + 1 == most or cursor[depth] == next_items[depth].size:
            for x in next_items[depth]:
                work.counts[depth, x], work.fine[depth, x] = 0, False
            depth -= 1
            continue
        x = next_items[depth][cursor[depth]]
        cursor[depth] += 1
        if work.fine[depth, x]:
            work.prefix[depth] = x
            end = work.place[depth, x]
            held = buckets[depth][end - work.counts[depth, x] : end]
            depth += 1
            next_items[depth], buckets[depth] = _extend(sets, work, k, least, depth, held, found)
            cursor[depth] = 0


@inner
def _extend(sets, work, k, least, depth, held, found):
    """Judge the prefix with each item that can follow it; its last item has the entries `held`.

    An item can follow where it did so on the prefix without its last item. Returns these items,
    and their entries, those of x up to `work.place[depth, x]`.
    """
    counts, place, before = work.counts[depth], work.place[depth], work.fine[depth - 1]
    room = 0
    for e in held:
        room += sets.starts[sets.owner[e] + 1] - e - 1
    touched = np.empty(min(room, counts.size), np.int32)
    n = 0
    for e in held:
        for f in range(e + 1, sets.starts[sets.owner[e] + 1]):
            x = sets.items[f]
            if before[x]:
                if counts[x] == 0:
                    touched[n] = x
                    n += 1
                counts[x] += 1
    touched = touched[:n]
    end = 0
    for x in touched:
        place[x] = end
        end += counts[x]
    entries = np.empty(end, np.int64)
    for e in held:
        for f in range(e + 1, sets.starts[sets.owner[e] + 1]):
            x = sets.items[f]
            if before[x]:
                entries[place[x]] = f
                place[x] += 1
    for x in touched:
        own = entries[place[x] - counts[x] : place[x]]
        work.fine[depth, x] = _judge(sets, work, k, least, depth, x, own, found)
    return touched, entries


@inner
def _judge(sets, work, k, least, depth, x, held, found):
    """Tell whether the prefix and x hold, and note it if not; their units have x at `held`."""
    n = held.size
    work.token[1] = min(work.token[1], n)
    if n >= k and (least == 0 or _diverse(sets, work, least, depth, held)):
        return True
    number, end = found.n[0], found.n[1]
    found.n[0] += 1
    found.n[1] += n
    if number < found.support.size and end + n <= found.holders.size:
        for d in range(depth):
            found.combinations[number, d] = work.prefix[d]
        found.combinations[number, depth] = x
        found.support[number] = n
        for i in range(n):
            found.holders[end + i] = sets.owner[held[i]]
    return False


@inner
def _diverse(sets, work, least, depth, held):
    """Tell whether a combination has enough distinct values in the units that hold it."""
    work.token[0] += 1
    token, distinct = work.token[0], 0
    for e in held:
        unit = sets.owner[e]
        for d in range(depth + 1):
            f = e
            if d < depth:
                low, high = sets.starts[unit], sets.starts[unit + 1]
                f = low + np.searchsorted(sets.items[low:high], work.prefix[d])
            for v in range(sets.value_starts[f], sets.value_starts[f + 1]):
                if work.stamp[sets.values[v]] != token:
                    work.stamp[sets.values[v]] = token
                    distinct += 1
                    if distinct >= least:
                        return True
    return False


@njit(cache=True, nogil=True)
def marked(starts, items, combinations, support, holders):
    """Mark the entries that take part in a combination, of the units that hold it."""
    marks = np.zeros(items.size, np.bool_)
    end = 0
    for c in range(support.size):
        for h in range(end, end + support[c]):
            low, high = starts[holders[h]], starts[holders[h] + 1]
            for x in combinations[c]:
                if x >= 0:
                    marks[low + np.searchsorted(items[low:high], x)] = True
        end += support[c]
    return marks


@njit(cache=True, nogil=True)
def broken_up(starts, items, rows, combinations, support, holders):
    """Choose entries so that no unit holds a combination any more, and mark them.

    In each unit, the item in the most combinations for its `rows` goes first, of several the one
    that comes first.
    """
    n_units = starts.size - 1
    ends = np.zeros(n_units + 1, np.int64)
    for u in holders:
        ends[u + 1] += 1
    ends = np.cumsum(ends)
    held, end = np.empty(holders.size, np.int64), 0
    place = ends[:-1].copy()
    for c in range(support.size):
        for h in range(end, end + support[c]):
            held[place[holders[h]]] = c
            place[holders[h]] += 1
        end += support[c]
    chosen = np.zeros(items.size, np.bool_)
    score = np.zeros(items.size, np.int64)
    for u in range(n_units):
        low, high = starts[u], starts[u + 1]
        left = held[ends[u] : ends[u + 1]].copy()
        while left.size:
            score[low:high] = 0
            for c in left:
                for x in combinations[c]:
                    if x >= 0:
                        score[low + np.searchsorted(items[low:high], x)] += 1
            best = low
            for e in range(low + 1, high):
                if score[e] * rows[best] > score[best] * rows[e]:
                    best = e
            chosen[best] = True
            n = 0
            for c in left:
                if not (combinations[c] == items[best]).any():
                    left[n] = c
                    n += 1
            left = left[:n]
    return chosen
