"""MDAV, V-MDAV and CBFS over several columns: groups of at least k records.

MDAV: Domingo-Ferrer and Torra 2005, Data Mining and Knowledge Discovery 11, 195-212. V-MDAV:
Solanas and Martinez-Balleste 2006, COMPSTAT. CBFS: Laszlo and Mukherjee 2005, IEEE TKDE 17,
902-911.

1. Neighbours come from a tree that records are taken out of (`mdav_tree`).
2. The centre of the records that are left is a sum that shrinks. In floats the order of work would
   change its last bits, and with them which of two equally far records is taken; so coordinates
   are multiples of 2**-36, and their sums are whole numbers.
3. The record farthest from a moving centre is looked for in a shell: the outer records, sorted by
   their distance D to a reference centre. Once the centre is `moved` away from that, no record is
   farther than D + moved, so the scan ends early. Equal records make a run, of which only the
   lowest row that is left is looked at. The shell is made anew when it is used up.

`mismatch` and `steps` describe the space. Both None: squared Euclidean distances, the centre is the
mean. Else Gower's distance, see `mdav_tree`; a column with a step holds categories as multiples of
it (the step times 0, 1, ...): its centre is the mode where `mismatch` is not 0, the first of
equally frequent ones, and the lower median where it is.

With `units` (of each record, as 0, 1, ...; else empty) k counts these and not records: a group
takes the nearest records until it has k units. That leaves at least k wherever 2k were left.

Points come as C-ordered float64, multiples of 2**-36 where a column has no step, below 2**17 in
size; 1 <= k <= n, or the number of units; nothing is checked here. Each function fills `labels`
with the groups 0, 1, ... in the order they are made, and returns their number.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.mdav_tree import build, distance, farthest, nearest, new_search, remove

UNIT = 2.0**36
# Of the records that are left, how many make a shell, and how few are not worth one.
_SHELL, _SMALL = 16, 256
# A computed distance may be off by some bits; the shell's bound is widened by more than that.
_SLACK = 1 + 1e-9
# Zero, but no constant of the code: for each of these numba compiles what it is given to again.
_NONE = np.int64(0)

# Sum of the records' coordinates in units, and for columns with a step how often each category is.
Sums = namedtuple("Sums", "units counts")
# Runs of equal records: `rows` from `starts` (moved on as records are taken out) to `stops`, and
# their `depths`, the largest first. `inner`: no record that is not in the shell is deeper.
Shell = namedtuple("Shell", "rows starts stops depths inner reference")


@njit(cache=True, nogil=True)
def mdav(points, mismatch, steps, k, labels, units):
    """Group by maximum distance to the average vector: k records, k..2k-1 in the last group."""
    n, p = points.shape
    labels[:] = -1
    search, spot, none = new_search(k), np.empty(n, np.int64), np.empty(0, np.int64)
    tree = build(points, np.arange(n), spot)
    built, left, groups = n, _all_left(n, units), _NONE
    sums, centre = _sums_of_all(points, mismatch, steps), np.empty(p)
    shell, head, spent = _new_shell(points, mismatch, np.empty(0, np.int64), centre), 0, 0
    while left[1] >= 2 * k:
        _centre(sums, mismatch, steps, left[0], centre)
        r = -1
        if spent <= left[0]:
            r, head, scanned = _outermost(points, mismatch, spot, shell, head, centre)
            spent += scanned
        if r < 0:
            shell = _new_shell(points, mismatch, np.flatnonzero(labels < 0), centre)
            r, head, spent = _outermost(points, mismatch, spot, shell, _NONE, centre)
        pair = left[1] >= 3 * k
        _take(tree, points, mismatch, steps, r, k, groups, labels, sums, search, left, units, none)
        groups += 1
        if pair:
            radius = distance(points, r, centre, mismatch)
            s = farthest(tree, points[r], mismatch, search, centre, radius)
            _take(
                tree, points, mismatch, steps, s, k, groups, labels, sums, search, left, units, none
            )
            groups += 1
        if left[0] < built // 2:
            tree = build(points, np.flatnonzero(labels < 0), spot)
            built = left[0]
    _take_rest(labels, groups)
    return groups + 1


@njit(cache=True, nogil=True)
def cbfs(points, mismatch, steps, k, labels, units):
    """Group around the records farthest from the centre of all: k, k..2k-1 in the last group."""
    n = points.shape[0]
    labels[:] = -1
    search, spot, none = new_search(k), np.empty(n, np.int64), np.empty(0, np.int64)
    tree = build(points, np.arange(n), spot)
    built, left, groups = n, _all_left(n, units), _NONE
    sums = _sums_of_all(points, mismatch, steps)
    for r in _outer_first(points, mismatch, steps, sums):
        if left[1] < 2 * k:
            break
        if labels[r] >= 0:
            continue
        _take(tree, points, mismatch, steps, r, k, groups, labels, sums, search, left, units, none)
        groups += 1
        if left[0] < built // 2:
            tree = build(points, np.flatnonzero(labels < 0), spot)
            built = left[0]
    _take_rest(labels, groups)
    return groups + 1


@njit(cache=True, nogil=True)
def vmdav(points, mismatch, steps, k, gamma, labels, units):
    """Group as CBFS, but let a group grow to 2k-1 records by those nearer to it than to others.

    Fewer than k records that are left over join the group with the nearest centre. With units it
    is 2k-1 and k of these.
    """
    n = points.shape[0]
    labels[:] = -1
    search, spot = new_search(max(k, 2)), np.empty(n, np.int64)
    tree = build(points, np.arange(n), spot)
    built, left, groups = n, _all_left(n, units), _NONE
    sums = _sums_of_all(points, mismatch, steps)
    room = 2 * k if units.size == 0 else n
    members, closest, gaps = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    for r in _outer_first(points, mismatch, steps, sums):
        if left[1] < k:
            break
        if labels[r] >= 0:
            continue
        size = _take(
            tree, points, mismatch, steps, r, k, groups, labels, sums, search, left, units, members
        )
        closest[:size], held = -1, k
        # The last record that is left has no neighbour to compare with, and stays.
        while held < 2 * k - 1 and left[0] > 1:
            gap, e = _nearest_to_group(
                tree, points, mismatch, members, closest, gaps, size, labels, search
            )
            nearest(tree, points[e], mismatch, _NONE + 2, search)
            if not _metric(gap, mismatch) <= gamma * _metric(search.distances[0], mismatch):
                break
            held += _put(tree, e, groups, labels, left, units)
            members[size], closest[size] = e, -1
            size += 1
        groups += 1
        if left[0] < built // 2:
            tree = build(points, np.flatnonzero(labels < 0), spot)
            built = left[0]
    if left[0] > 0:
        _join(points, mismatch, steps, labels, groups)
    return groups


@njit(cache=True, nogil=True)
def _take(tree, points, mismatch, steps, r, k, group, labels, sums, search, left, units, members):
    """Make a group of a record and its nearest, of k records or units; return how many.

    Who they are is put into `members`, unless that is empty. For a None in its place, or in that of
    `units`, numba would compile all of this once more.
    """
    size, missing = 0, k
    search.rows[0], count = r, 1
    while True:
        for i in range(count):
            row = search.rows[i]
            missing -= _put(tree, row, group, labels, left, units)
            _add(sums, points, row, mismatch, steps, -1)
            if members.size > 0:
                members[size] = row
            size += 1
        if missing == 0:
            return size
        count = missing
        nearest(tree, points[r], mismatch, count, search)


@inner
def _put(tree, row, group, labels, left, units):
    """Put a record into a group; return 1 if k counts it, 0 if the group has its unit already."""
    remove(tree, row)
    labels[row] = group
    left[0] -= 1
    if units.size == 0:
        left[1] -= 1
        return 1
    unit = 2 * units[row] + 2
    left[unit] -= 1
    left[1] -= left[unit] == 0
    new = left[unit + 1] != group
    left[unit + 1] = group
    return int(new)


@njit(cache=True, nogil=True)
def _all_left(n, units):
    """Count what is left: records and units, then of each unit its records and its last group."""
    if units.size == 0:
        return np.full(2, n)
    left = np.full(2 * units.max() + 4, -1)
    left[2::2] = np.bincount(units)
    left[:2] = n, units.max() + 1
    return left


@njit(cache=True, nogil=True)
def _take_rest(labels, group):
    for i in range(labels.size):
        if labels[i] < 0:
            labels[i] = group


@inner
def _nearest_to_group(tree, points, mismatch, members, closest, gaps, size, labels, search):
    """Find the free record nearest to one of a group's members, the lowest row of several."""
    best = -1
    for i in range(size):
        if closest[i] < 0 or labels[closest[i]] >= 0:
            nearest(tree, points[members[i]], mismatch, _NONE + 1, search)
            closest[i], gaps[i] = search.rows[0], search.distances[0]
        if (
            best < 0
            or gaps[i] < gaps[best]
            or (gaps[i] == gaps[best] and closest[i] < closest[best])
        ):
            best = i
    return gaps[best], closest[best]


@inner
def _join(points, mismatch, steps, labels, groups):
    """Put each record without a group into the one with the nearest centre, as they were made."""
    free = np.flatnonzero(labels < 0)
    order = np.argsort(labels, kind="mergesort")[free.size :]
    best, joins = np.full(free.size, np.inf), np.zeros(free.size, np.int64)
    centre, start = np.empty(points.shape[1]), 0
    sums = _no_sums(points, mismatch, steps)
    for group in range(groups):
        stop = start
        while stop < order.size and labels[order[stop]] == group:
            _add(sums, points, order[stop], mismatch, steps, 1)
            stop += 1
        _centre(sums, mismatch, steps, stop - start, centre)
        for i in range(start, stop):
            _add(sums, points, order[i], mismatch, steps, -1)
        for i in range(free.size):
            gap = distance(points, free[i], centre, mismatch)
            if gap < best[i]:
                best[i], joins[i] = gap, group
        start = stop
    for i in range(free.size):
        labels[free[i]] = joins[i]


@inner
def _outer_first(points, mismatch, steps, sums):
    """Sort all records by their distance to the centre, the farthest first, then by row."""
    n = points.shape[0]
    centre, far = np.empty(points.shape[1]), np.empty(n)
    _centre(sums, mismatch, steps, n, centre)
    for i in range(n):
        far[i] = -distance(points, i, centre, mismatch)
    return np.argsort(far, kind="mergesort")


# The shell


@njit(cache=True, nogil=True)
def _new_shell(points, mismatch, rows, centre):
    """Make a shell of the outer ones of the records that are left."""
    left = rows.size
    depths, inner = np.empty(left), -np.inf
    for i in range(left):
        depths[i] = _metric(distance(points, rows[i], centre, mismatch), mismatch)
    if left > _SMALL:
        # About as many as wanted will do, so a sample tells where the shell ends.
        sample = depths[:: max(left // 4096, 1)].copy()
        share = max(left // _SHELL, _SMALL) / left
        end = sample[np.argsort(sample, kind="mergesort")][int((1 - share) * sample.size)]
        for i in range(left):
            if depths[i] < end:
                inner = max(inner, depths[i])
        outer = depths >= end
        rows, depths = rows[outer], depths[outer]
    order = np.argsort(-depths, kind="mergesort")
    if np.any(depths[order[1:]] == depths[order[:-1]]):
        # Equal records side by side: by some mix of their coordinates first.
        mix = np.zeros(rows.size)
        for c in range(points.shape[1]):
            mix += np.sqrt(c + 2.0) * points[rows, c]
        order = np.argsort(mix, kind="mergesort")
        order = order[np.argsort(-depths[order], kind="mergesort")]
    rows, depths = rows[order], depths[order]
    new = np.ones(rows.size + 1, np.bool_)
    for i in range(1, rows.size):
        new[i] = np.any(points[rows[i]] != points[rows[i - 1]])
    starts = np.flatnonzero(new)
    return Shell(
        rows, starts[:-1].copy(), starts[1:], depths[starts[:-1]], inner, centre.copy()[None, :]
    )


@njit(cache=True, nogil=True)
def _outermost(points, mismatch, spot, shell, head, centre):
    """Find the record farthest from the centre, -1 if the shell cannot tell.

    Also return the run at which the shell now starts, and how many were looked at.
    """
    rows, starts, stops, depths, inner, reference = shell
    moved = _metric(distance(reference, 0, centre, mismatch), mismatch)
    best, best_row, at = -1.0, -1, head
    while at < starts.size:
        if best_row >= 0 and (depths[at] + moved) * _SLACK < _metric(best, mismatch):
            return best_row, head, at - head
        while starts[at] < stops[at] and spot[rows[starts[at]]] < 0:
            starts[at] += 1
        if starts[at] < stops[at]:
            row = rows[starts[at]]
            far = distance(points, row, centre, mismatch)
            if far > best or (far == best and row < best_row):
                best, best_row = far, row
        elif at == head:
            head += 1
        at += 1
    # Records inside the shell may be as far, unless the centre is still the reference.
    if best_row >= 0 and (moved == 0.0 or (inner + moved) * _SLACK < _metric(best, mismatch)):
        return best_row, head, at - head
    return -1, head, at - head


@inner
def _metric(distance, mismatch):
    """Return a distance that satisfies the triangle inequality."""
    if mismatch is None:
        return np.sqrt(distance)
    return distance


# The centre


@inner
def _no_sums(points, mismatch, steps):
    p = points.shape[1]
    most = 1
    if steps is not None:
        for c in range(p):
            if steps[c] > 0.0:
                most = max(most, int(points[:, c].max() / steps[c] + 0.5) + 1)
    return Sums(np.zeros(p, np.int64), np.zeros((p, most), np.int64))


@njit(cache=True, nogil=True)
def _sums_of_all(points, mismatch, steps):
    sums = _no_sums(points, mismatch, steps)
    for i in range(points.shape[0]):
        _add(sums, points, i, mismatch, steps, 1)
    return sums


@inner
def _add(sums, points, row, mismatch, steps, times):
    """Count a record in, or out with `times` = -1."""
    for c in range(points.shape[1]):
        if steps is not None and steps[c] > 0.0:
            sums.counts[c, int(points[row, c] / steps[c] + 0.5)] += times
        else:
            sums.units[c] += times * np.int64(points[row, c] * UNIT)


@njit(cache=True, nogil=True)
def _centre(sums, mismatch, steps, records, centre):
    for c in range(centre.size):
        if steps is not None and steps[c] > 0.0:
            counts = sums.counts[c]
            at = np.argmax(counts)
            if mismatch[c] == 0.0:
                at, below = 0, counts[0]
                while 2 * below < records:
                    at += 1
                    below += counts[at]
            centre[c] = at * steps[c]
        else:
            centre[c] = sums.units[c] / records / UNIT
