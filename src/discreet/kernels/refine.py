"""Refinement of groups: take some neighbouring groups apart and regroup their records.

One try, on the records of one chunk of groups:

1. A region. A group is drawn, half of the time in proportion to its sum of squares, with its
   nearest groups, from 2 to 60 of them, but not many more than 300 records. Where two groups alone
   hold more, the 300 likeliest to change sides are free, the others keep their place, and there
   is no heat: the costs of large groups are smooth.
2. A start. The groups as they are; or one of them dissolved, each record going where it costs
   least; or one more group, around a record and of its nearest in groups that can spare them.
3. Annealing. Moves of a record, mostly to a near record's group, and swaps with one of that
   group's, no group under k or above 2k-1; what costs more is taken with probability
   exp(-cost / heat), while the heat falls to 0. A group's sum of squares is its sum P of squared
   distances between its pairs over its size, and with R[g, x], the sum of x's squared distances to
   g, a proposal is weighed in a few operations, whatever the number of columns.
4. The end. The region's sum of squares is computed afresh; the try counts if that is less than
   before. So the loss never rises, at any heat.

With `units` (of each record, as 0, 1, ...) k counts these and not records: no record leaves a group
that would then hold fewer than k, and groups may be larger than 2k-1.

A chunk's result depends on its records, their groups, units and `seed` alone: chunks are searched
in threads, in any order. Points come as C-ordered float64; nothing is checked here.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_MOST_GROUPS, _MOST_RECORDS = 60, 300
# Near records to draw a move's goal from.
_NEAR = 10
# The heat at the start, in sums of squares per record, is drawn between these; how far it falls.
_COOL, _HOT, _FALL = 0.1, 1.0, 0.05
# What a try must gain, as a part of what was there: more than rounding can feign.
_LEAST_GAIN = 1e-12

# The groups of a chunk: centre, size and sum of squares of each; `local` is room for a region.
Groups = namedtuple("Groups", "centre size squares local")
# The free records of a region: their squared distances, their near ones, and for the groups
# sizes, P, R and the free members, with each record's place among those.
Region = namedtuple("Region", "squared near label size P R members fill place")
# Where k counts units: that of each free record, as 0, 1, ... within the region, how many records
# of it each group has, and how many units that has.
Held = namedtuple("Held", "unit records units")


@njit(cache=True, nogil=True)
def search(points, labels, groups, k, tries, sweeps, seed, units):
    """Try to lower the sum of squares; `labels` (groups 0, 1, ...) are changed in place.

    No group has fewer than k records, or units. Each try has so many sweeps of annealing, of two
    proposals per record. Returns the number of groups, and by how much the sum of squares fell.
    """
    n, p = points.shape
    state = np.full(1, seed, np.uint64)
    most = n // k + 1
    own = Groups(
        np.zeros((most, p)), np.zeros(most, np.int64), np.zeros(most), np.full(most, -1, np.int64)
    )
    _measure(points, labels, np.arange(n), np.arange(groups), own)
    gained = 0.0
    for _ in range(tries):
        if groups < 2:
            break
        chosen = _neighbours(own, groups, state)
        rows = _members(labels, own, chosen)
        free = _free(points, labels, rows, own, chosen)
        label = np.empty(free.size, np.int64)
        for i in range(free.size):
            label[i] = own.local[labels[free[i]]]
        held = _held(units, rows, free, own.local[labels[rows]], chosen.size)
        for g in chosen:
            own.local[g] = -1
        before = 0.0
        for g in chosen:
            before += own.squares[g]
        if before <= 0.0:
            continue
        squared = _squared_distances(points, free)
        near = _near(squared)
        count = chosen.size
        if free.size == rows.size:
            region = _region(squared, near, label, count)
            count = _start(region, k, state, held)
            if count != chosen.size:
                region = _region(squared, near, label, count)
                held = _held(units, rows, free, label, count)
        else:
            region = _region_of_some(points, own, chosen, free, squared, near, label)
        heat = before / rows.size * _COOL * (_HOT / _COOL) ** _unit(state)
        if free.size < rows.size:
            heat = 0.0
        _anneal(region, k, heat, sweeps, state, held)
        gain, groups = _settle(
            points, labels, own, groups, chosen, count, rows, free, label, before
        )
        gained += gain
    return groups, gained


# The region


@inner
def _neighbours(own, groups, state):
    """Draw a group; return it and its nearest, and number them in `own.local`."""
    first = _below(state, groups)
    if _below(state, 2) == 0:
        target = _unit(state) * own.squares[:groups].sum()
        for g in range(groups):
            target -= own.squares[g]
            if target < 0.0:
                first = g
                break
    want = min(groups, int(2.0 * (_MOST_GROUPS / 2.0) ** _unit(state) + 0.5))
    gaps = np.empty(groups)
    for g in range(groups):
        gaps[g] = _squared(own.centre, g, own.centre, first)
    chosen = np.empty(want, np.int64)
    count, records = 0, 0
    for _ in range(want):
        best = -1
        for g in range(groups):
            if own.local[g] < 0 and (best < 0 or gaps[g] < gaps[best]):
                best = g
        if count >= 2 and records + own.size[best] > _MOST_RECORDS:
            break
        own.local[best], chosen[count] = count, best
        count, records = count + 1, records + own.size[best]
    return chosen[:count]


@inner
def _members(labels, own, chosen):
    """Return the rows of the numbered groups."""
    rows = np.empty(own.size[chosen].sum(), np.int64)
    at = 0
    for i in range(labels.size):
        if own.local[labels[i]] >= 0:
            rows[at] = i
            at += 1
    return rows


@inner
def _free(points, labels, rows, own, chosen):
    """Return the rows that may change sides: all, or those for which it costs least."""
    if rows.size <= _MOST_RECORDS:
        return rows
    cost = np.empty(rows.size)
    for i in range(rows.size):
        other = np.inf
        for g in chosen:
            if g != labels[rows[i]]:
                other = min(other, _squared(points, rows[i], own.centre, g))
        cost[i] = other - _squared(points, rows[i], own.centre, labels[rows[i]])
    return rows[np.argsort(cost)[:_MOST_RECORDS]]


@inner
def _squared_distances(points, free):
    m = free.size
    squared = np.zeros((m, m))
    for i in range(m):
        for j in range(i):
            squared[i, j] = squared[j, i] = _squared(points, free[i], points, free[j])
    return squared


@inner
def _near(squared):
    """Return the nearest other records of each record."""
    m = squared.shape[0]
    near = np.empty((m, min(_NEAR, m - 1)), np.int64)
    for i in range(m):
        count = 0
        for j in range(m):
            if j == i or (count == near.shape[1] and squared[i, j] >= squared[i, near[i, -1]]):
                continue
            count = min(count + 1, near.shape[1])
            at = count - 1
            while at > 0 and squared[i, near[i, at - 1]] > squared[i, j]:
                near[i, at] = near[i, at - 1]
                at -= 1
            near[i, at] = j
    return near


@inner
def _region(squared, near, label, count):
    """Lay out a region whose records are all free."""
    m = label.size
    members, fill, place = _places(label, count)
    P, R = np.zeros(count), np.zeros((count, m))
    for i in range(m):
        for j in range(m):
            R[label[i], j] += squared[i, j]
    for i in range(m):
        P[label[i]] += R[label[i], i] / 2
    return Region(squared, near, label, fill.copy(), P, R, members, fill, place)


@inner
def _region_of_some(points, own, chosen, free, squared, near, label):
    """Lay out a region in which the others count by their group's centre and sum of squares."""
    members, fill, place = _places(label, chosen.size)
    size = own.size[chosen]
    P, R = np.empty(chosen.size), np.empty((chosen.size, free.size))
    for g in range(chosen.size):
        P[g] = size[g] * own.squares[chosen[g]]
        for i in range(free.size):
            gap = _squared(points, free[i], own.centre, chosen[g])
            R[g, i] = size[g] * gap + own.squares[chosen[g]]
    return Region(squared, near, label, size, P, R, members, fill, place)


@inner
def _places(label, count):
    """List the members of each group, and where in the list each one is."""
    members, fill = np.empty((count, label.size), np.int64), np.zeros(count, np.int64)
    place = np.empty(label.size, np.int64)
    for i in range(label.size):
        g = label[i]
        members[g, fill[g]], place[i] = i, fill[g]
        fill[g] += 1
    return members, fill, place


# Units


@inner
def _held(units, rows, free, label, count):
    """Count the units of each group of a region, with room for one more; `label` goes by `rows`."""
    if units is None:
        return None
    own = np.unique(units[rows])
    records = np.zeros((count + 1, own.size), np.int64)
    unit = np.searchsorted(own, units[rows])
    for i in range(rows.size):
        records[label[i], unit[i]] += 1
    many = np.zeros(count + 1, np.int64)
    for g in range(count):
        many[g] = (records[g] > 0).sum()
    return Held(np.searchsorted(own, units[free]), records, many)


@inner
def _may_leave(x, a, k, size, held):
    """Tell whether record x can be spared by group a, of that size."""
    if held is None:
        return size > k
    return held.units[a] - (held.records[a, held.unit[x]] == 1) >= k


@inner
def _count_move(x, a, b, held):
    """Count record x in group b and no longer in a."""
    if held is not None:
        u, records = held.unit[x], held.records
        records[a, u] -= 1
        held.units[a] -= records[a, u] == 0
        held.units[b] += records[b, u] == 0
        records[b, u] += 1


# The start


@inner
def _start(region, k, state, held):
    """Dissolve a group, add one, or, half of the time, leave them; return their number."""
    count, m = region.size.size, region.label.size
    most = 2 * k - 1 if held is None else m
    kind = _below(state, 4)
    if kind == 0 and count > 1 and m <= most * (count - 1):
        _dissolve(region, _below(state, count), most)
        return count - 1
    if kind == 1 and m >= k * (count + 1):
        return _add(region, _below(state, m), k, held)
    return count


@inner
def _add(region, first, k, held):
    """Make one more group of the records nearest to one, of groups that can spare them."""
    size, label, count = region.size, region.label, region.size.size
    old = label.copy()
    taken = 0
    for i in np.argsort(region.squared[first]):
        g = label[i]
        if taken < k and _may_leave(i, g, k, size[g], held):
            size[g] -= 1
            label[i] = count
            _count_move(i, g, count, held)
            taken = taken + 1 if held is None else held.units[count]
    if taken == k:
        return count + 1
    # There are enough records, but not always enough units to spare.
    for i in range(label.size):
        if label[i] != old[i]:
            label[i] = old[i]
            size[old[i]] += 1
            _count_move(i, count, old[i], held)
    return count


@inner
def _dissolve(region, gone, most):
    """Send each record of a group where it costs least, given those before it."""
    P, R, size, label = region.P, region.R, region.size, region.label
    last = size.size - 1
    for i in range(label.size):
        if label[i] != gone:
            continue
        best, least = -1, np.inf
        for g in range(last + 1):
            if g != gone and size[g] < most:
                cost = (P[g] + R[g, i]) / (size[g] + 1) - P[g] / size[g]
                if cost < least:
                    best, least = g, cost
        label[i] = best
        size[best] += 1
        P[best] += R[best, i]
        for j in range(label.size):
            R[best, j] += region.squared[i, j]
    for i in range(label.size):
        if label[i] == last:
            label[i] = gone


# The annealing


@inner
def _anneal(region, k, heat, sweeps, state, held):
    """Propose moves and swaps while the heat falls; two sweeps without heat end it."""
    # Taken apart once: an array taken out of a tuple costs more than a proposal.
    squared, near, label, size, P, R, members, fill, place = region
    m, most = label.size, 2 * k - 1
    if held is not None:
        unit, records, units = held
        most = np.iinfo(np.int64).max
    fall = _FALL ** (1.0 / max(sweeps - 1, 1))
    for sweep in range(sweeps + 2):
        if sweep == sweeps:
            heat = 0.0
        for _ in range(2 * m):
            x, goal = _below(state, m), _below(state, near.shape[1] + 1)
            a = label[x]
            # Now and then any group, because a record may have its like around it and none other.
            b = label[near[x, goal]] if goal < near.shape[1] else _below(state, size.size)
            if a == b:
                continue
            spared = size[a] > k if held is None else units[a] - (records[a, unit[x]] == 1) >= k
            if spared and size[b] < most and _below(state, 2) == 0:
                after_a, after_b = P[a] - R[a, x], P[b] + R[b, x]
                cost = after_a / (size[a] - 1) + after_b / (size[b] + 1)
                if _taken(cost - P[a] / size[a] - P[b] / size[b], heat, state):
                    P[a], P[b] = after_a, after_b
                    _move(x, a, b, squared, label, size, R, members, fill, place)
                    _count_move(x, a, b, held)
            elif fill[b] > 0:
                z = members[b, _below(state, fill[b])]
                if held is not None:
                    u, v = unit[x], unit[z]
                    own = units[a] - (records[a, u] == 1) + (records[a, v] == 0)
                    other = units[b] - (records[b, v] == 1) + (records[b, u] == 0)
                    if u != v and min(own, other) < k:
                        continue
                after_a = P[a] - R[a, x] + R[a, z] - squared[x, z]
                after_b = P[b] - R[b, z] + R[b, x] - squared[x, z]
                if _taken((after_a - P[a]) / size[a] + (after_b - P[b]) / size[b], heat, state):
                    P[a], P[b] = after_a, after_b
                    _swap(x, a, z, b, squared, label, R, members, place)
                    _count_move(x, a, b, held)
                    _count_move(z, b, a, held)
        heat *= fall


@njit(inline="always")
def _taken(cost, heat, state):
    return cost < 0.0 or (cost < 20.0 * heat and _unit(state) < np.exp(-cost / heat))


@inner
def _move(x, a, b, squared, label, size, R, members, fill, place):
    """Put record x of group a into group b."""
    label[x] = b
    size[a], size[b] = size[a] - 1, size[b] + 1
    fill[a] -= 1
    last = members[a, fill[a]]
    members[a, place[x]], place[last] = last, place[x]
    members[b, fill[b]], place[x] = x, fill[b]
    fill[b] += 1
    for j in range(label.size):
        R[a, j] -= squared[x, j]
        R[b, j] += squared[x, j]


@inner
def _swap(x, a, z, b, squared, label, R, members, place):
    """Swap record x of group a and record z of group b."""
    label[x], label[z] = b, a
    members[a, place[x]], members[b, place[z]] = z, x
    place[x], place[z] = place[z], place[x]
    for j in range(label.size):
        change = squared[z, j] - squared[x, j]
        R[a, j] += change
        R[b, j] -= change


# The end


@inner
def _settle(points, labels, own, groups, chosen, count, rows, free, label, before):
    """Keep the result of a try if it costs less than before; return the gain and the groups."""
    names = np.empty(max(count, chosen.size), np.int64)
    names[: chosen.size] = chosen
    names[chosen.size :] = groups
    old = labels[free]
    for i in range(free.size):
        labels[free[i]] = names[label[i]]
    after = _measure(points, labels, rows, names[:count], own)
    if after >= before * (1 - _LEAST_GAIN):
        labels[free] = old
        _measure(points, labels, rows, chosen, own)
        return 0.0, groups
    if count < chosen.size:
        # The last group takes the name that became free.
        groups -= 1
        hole = names[count]
        for i in range(labels.size):
            if labels[i] == groups:
                labels[i] = hole
        own.centre[hole] = own.centre[groups]
        own.size[hole], own.squares[hole] = own.size[groups], own.squares[groups]
    return before - after, groups + (count > chosen.size)


@inner
def _measure(points, labels, rows, names, own):
    """Compute centre, size and sum of squares of the named groups; return the sum of the last."""
    own.centre[names] = 0.0
    own.size[names] = 0
    own.squares[names] = 0.0
    p = points.shape[1]
    for i in rows:
        own.size[labels[i]] += 1
        for c in range(p):
            own.centre[labels[i], c] += points[i, c]
    for g in names:
        for c in range(p):
            own.centre[g, c] /= own.size[g]
    for i in rows:
        own.squares[labels[i]] += _squared(points, i, own.centre, labels[i])
    total = 0.0
    for g in names:
        total += own.squares[g]
    return total


@inner
def _squared(x, i, y, j):
    total = 0.0
    for c in range(x.shape[1]):
        total += (x[i, c] - y[j, c]) ** 2
    return total


# Random numbers: splitmix64, one word of state.


@inner
def _word(state):
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def _below(state, n):
    """Draw a whole number below n."""
    return np.int64(((_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always")
def _unit(state):
    """Draw a number in [0, 1)."""
    return np.float64(_word(state) >> np.uint64(11)) * 2.0**-53
