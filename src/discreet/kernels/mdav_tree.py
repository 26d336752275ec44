"""A k-d tree from which records are removed: the nearest and farthest of those that are left.

1. The tree. Nodes in heap order, all leaves on one level, at most 8 records in a leaf, which holds
   its records' coordinates column by column, so that eight distances are computed at once.
2. Taking out. The last record of the leaf fills the gap, and the boxes above are tightened until
   one does not change. When half of the records are gone, the caller builds the tree anew.
3. The searches go depth first, the more promising child first. They compare (distance, row), the
   lower row first, and leave out a box only if no record in it can be better: the bound of a box
   takes the same steps in the same order as a distance does, and rounding is monotone. So they
   find what a scan of all records would, to the last bit. A node keeps the lowest of its rows:
   where many records are equal, bounds tie, and the rows decide.

Two distances. `mismatch` is None: squared Euclidean. An array: Gower's, a sum over the columns of
|x-y|, or of `mismatch[c]` where that is not 0 and x != y. Coordinates are scaled before.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.kdtree import split_nodes

LEAF = 8

# cells (leaves x columns x 8), rows (leaves x 8), fill (leaves), boxes (nodes x 2 x columns), and
# lowest (nodes): the lowest row in each, and spot: where each record is, leaf * 8 + slot, or -1
# once it was taken out.
Tree = namedtuple("Tree", "cells rows fill boxes lowest spot")
# What a search works in: a heap of the best, and a stack of nodes with their bounds; `opened`
# counts the leaves it looked into.
Search = namedtuple("Search", "distances rows stack bounds eight opened")
_NONE = np.iinfo(np.int64).max


@njit(cache=True, nogil=True)
def new_search(most):
    """Make room for a search for at most that many records."""
    return Search(
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(64, np.int64),
        np.empty(64),
        np.empty(8),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def build(points, left, spot):
    """Build a tree of the records `left` (rows of `points`); `spot` is filled in."""
    m, p = left.size, points.shape[1]
    levels = 0
    while m > LEAF << levels:
        levels += 1
    leaves = 1 << levels
    own, order = points[left], left.copy()
    spans = np.zeros((2 * leaves - 1, 2), np.int64)
    spans[0, 1] = m
    columns = np.zeros(2 * leaves - 1, np.int64)
    boxes = np.empty((2 * leaves - 1, 2, p))
    for level in range(levels + 1):
        split_nodes(own, order, spans, columns, boxes, (1 << level) - 1, (2 << level) - 1)
    cells, rows = np.zeros((leaves, p, LEAF)), np.zeros((leaves, LEAF), np.int64)
    fill, lowest = np.empty(leaves, np.int64), np.full(2 * leaves - 1, _NONE)
    for leaf in range(leaves):
        start, stop = spans[leaves - 1 + leaf]
        fill[leaf] = stop - start
        for i in range(start, stop):
            rows[leaf, i - start] = order[i]
            spot[order[i]] = leaf * LEAF + i - start
            lowest[leaves - 1 + leaf] = min(lowest[leaves - 1 + leaf], order[i])
            for c in range(p):
                cells[leaf, c, i - start] = own[i, c]
    for node in range(leaves - 2, -1, -1):
        lowest[node] = min(lowest[2 * node + 1], lowest[2 * node + 2])
    return Tree(cells, rows, fill, boxes, lowest, spot)


@njit(cache=True, nogil=True)
def remove(tree, row):
    """Remove a record."""
    cells, rows, fill, boxes, lowest, spot = tree
    p = cells.shape[1]
    leaf, slot = divmod(spot[row], LEAF)
    last = fill[leaf] - 1
    fill[leaf] = last
    spot[row] = -1
    if slot != last:
        rows[leaf, slot] = rows[leaf, last]
        spot[rows[leaf, slot]] = leaf * LEAF + slot
    node = fill.size - 1 + leaf
    first = _NONE
    for i in range(last):
        first = min(first, rows[leaf, i])
    changed = first != lowest[node]
    lowest[node] = first
    for c in range(p):
        cells[leaf, c, slot] = cells[leaf, c, last]
        low, high = np.inf, -np.inf
        for i in range(last):
            low = min(low, cells[leaf, c, i])
            high = max(high, cells[leaf, c, i])
        changed |= low != boxes[node, 0, c] or high != boxes[node, 1, c]
        boxes[node, 0, c], boxes[node, 1, c] = low, high
    while changed and node > 0:
        node = (node - 1) // 2
        first = min(lowest[2 * node + 1], lowest[2 * node + 2])
        changed = first != lowest[node]
        lowest[node] = first
        for c in range(p):
            low = min(boxes[2 * node + 1, 0, c], boxes[2 * node + 2, 0, c])
            high = max(boxes[2 * node + 1, 1, c], boxes[2 * node + 2, 1, c])
            changed |= low != boxes[node, 0, c] or high != boxes[node, 1, c]
            boxes[node, 0, c], boxes[node, 1, c] = low, high


@njit(cache=True, nogil=True)
def nearest(tree, query, mismatch, want, search):
    """Find the `want` records nearest to a point, or all there are; return how many.

    They are `search.rows`, in no order; `search.distances[0]` is the largest of their distances.
    """
    # Taken apart once: an array taken out of a tuple costs as much as a bound.
    cells, rows, fill, boxes, lowest, _ = tree
    worst, held, stack, bounds, eight, opened = search
    found, depth, leaves = 0, 1, fill.size
    stack[0], bounds[0] = 0, 0.0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if found == want and not _before(bounds[depth], lowest[node], worst[0], held[0]):
            continue
        while node < leaves - 1:
            left = _bound(query, boxes, 2 * node + 1, mismatch)
            right = _bound(query, boxes, 2 * node + 2, mismatch)
            node, other = 2 * node + 1, 2 * node + 2
            if _before(right, lowest[other], left, lowest[node]):
                node, other, left, right = other, node, right, left
            if found < want or _before(right, lowest[other], worst[0], held[0]):
                stack[depth], bounds[depth] = other, right
                depth += 1
            if found == want and not _before(left, lowest[node], worst[0], held[0]):
                node = -1
                break
        if node < 0:
            continue
        leaf = node - leaves + 1
        opened[0] += 1
        _eight(cells, leaf, query, mismatch, eight)
        for i in range(fill[leaf]):
            if found < want:
                _sift_up(worst, held, found, eight[i], rows[leaf, i])
                found += 1
            elif _before(eight[i], rows[leaf, i], worst[0], held[0]):
                _sift_down(worst, held, want, eight[i], rows[leaf, i])
    return found


@njit(cache=True, nogil=True)
def farthest(tree, query, mismatch, search, centre, radius):
    """Find the record farthest from a point; the lowest row of several.

    All records must lie within `radius` (a distance like the others) of `centre`: far from the
    query, boxes stick out of that ball, but records do not.
    """
    cells, rows, fill, boxes, lowest, _ = tree
    _, _, stack, bounds, eight, opened = search
    # Minus the distances, so that less is better as with the nearest.
    best, best_row, depth, leaves = 1.0, -1, 1, fill.size
    stack[0], bounds[0] = 0, -np.inf
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if not _before(bounds[depth], lowest[node], best, best_row):
            continue
        while node < leaves - 1:
            left = -_reach(query, boxes, 2 * node + 1, mismatch, centre, radius)
            right = -_reach(query, boxes, 2 * node + 2, mismatch, centre, radius)
            node, other = 2 * node + 1, 2 * node + 2
            if _before(right, lowest[other], left, lowest[node]):
                node, other, left, right = other, node, right, left
            if _before(right, lowest[other], best, best_row):
                stack[depth], bounds[depth] = other, right
                depth += 1
            if not _before(left, lowest[node], best, best_row):
                node = -1
                break
        if node < 0:
            continue
        leaf = node - leaves + 1
        opened[0] += 1
        _eight(cells, leaf, query, mismatch, eight)
        for i in range(fill[leaf]):
            if _before(-eight[i], rows[leaf, i], best, best_row):
                best, best_row = -eight[i], rows[leaf, i]
    return best_row


@inner
def _before(distance, row, other, other_row):
    return distance < other or (distance == other and row < other_row)


@njit(cache=True, nogil=True)
def distance(points, row, query, mismatch):
    """Distance of a record to a point, as the tree computes it."""
    total = 0.0
    for c in range(query.size):
        total += _part(points[row, c] - query[c], mismatch, c)
    return total


@inner
def _part(difference, mismatch, c):
    if mismatch is None:
        return difference * difference
    if mismatch[c] > 0.0:
        return mismatch[c] if difference != 0.0 else 0.0
    return abs(difference)


@inner
def _eight(cells, leaf, query, mismatch, out):
    """Distances of a leaf's eight slots, filled or not."""
    for i in range(LEAF):
        out[i] = 0.0
    for c in range(query.size):
        for i in range(LEAF):
            out[i] += _part(cells[leaf, c, i] - query[c], mismatch, c)


@inner
def _sift_up(distances, rows, at, distance, row):
    """Put a record into a heap that has the worst on top."""
    while at > 0:
        above = (at - 1) // 2
        if distances[above] > distance or (distances[above] == distance and rows[above] > row):
            break
        distances[at], rows[at] = distances[above], rows[above]
        at = above
    distances[at], rows[at] = distance, row


@inner
def _sift_down(distances, rows, size, distance, row):
    """Replace the top of the heap."""
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and (
            distances[below + 1] > distances[below]
            or (distances[below + 1] == distances[below] and rows[below + 1] > rows[below])
        ):
            below += 1
        if distances[below] < distance or (distances[below] == distance and rows[below] < row):
            break
        distances[at], rows[at] = distances[below], rows[below]
        at = below
    distances[at], rows[at] = distance, row


@inner
def _bound(query, boxes, node, mismatch):
    """Least distance into a node's box; infinite if it is empty."""
    total = 0.0
    for c in range(query.size):
        gap = max(query[c] - boxes[node, 1, c], boxes[node, 0, c] - query[c], 0.0)
        total += _part(gap, mismatch, c)
    return total


@inner
def _reach(query, boxes, node, mismatch, centre, radius):
    """Largest distance from the query into a node's box; negative if it is empty.

    With Euclidean distances, |x-q|^2 = |x-c|^2 + |q-c|^2 + 2 (x-c)(c-q) for the centre c, where
    the first term is at most the radius: a second bound, which rounding may put a little too low.
    """
    if boxes[node, 0, 0] > boxes[node, 1, 0]:
        return -1.0
    total, within = 0.0, radius
    for c in range(query.size):
        low, high = boxes[node, 0, c], boxes[node, 1, c]
        total += _part(max(query[c] - low, high - query[c]), mismatch, c)
        if mismatch is None:
            inward = centre[c] - query[c]
            end = high if inward > 0.0 else low
            within += inward * (inward + 2 * (end - centre[c]))
    return total if mismatch is not None else min(total, within * (1 + 1e-9))
