"""A k-d tree over the records of one file, and whether each record's nearest is its partner.

1. The tree. Nodes in heap order: node i has children 2i+1 and 2i+2, all leaves are on one level.
   A node's records are halved at the median of the column in which they spread most, and moved,
   so that each node is a slice of `points`; `order` remembers where they came from.
2. The search. The distance to one's own partner is known, so it is the radius from the start:
   boxes beyond it are not opened, the first record strictly inside it ends the search (no hit),
   and records on it are ties. It starts in the partner's leaf and climbs: after strong masking
   the partner's neighbours are likely closer, after weak masking few other boxes are in reach.
3. Exactness. The bound of a box takes the same steps in the same order as a distance does; since
   rounding is monotone, no computed distance into the box is below it. So the tree finds what a
   scan of all records would, to the last bit.
4. Ties. A node whose box is a point is counted whole, however many records it holds; and with
   Gower's distance, where whole boxes of categories tie, one whose least and largest distance are
   both the radius. A box that lies inside the radius as a whole ends the search.

Two distances. `categorical` is None: squared Euclidean, no nulls. An array of flags: Gower's, the
mean over the columns that both records fill of |x-y| (columns scaled to 0..1) or, where flagged, of
x != y; a null is -1. A box with nulls in a column may hold records that skip it, so the column
adds nothing to the bound, and the mean is taken over as many columns as there can be.

Points come without NaN, as C-ordered float64; nothing is checked here.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

LEAF = 16
_POINT = -1


@njit(cache=True, nogil=True)
def split_nodes(points, order, spans, columns, boxes, first, last):
    """Fill the boxes of the nodes first..last-1, halve their records, and set their children's.

    The nodes of one level touch different records, so they can be split in any order.
    """
    p = points.shape[1]
    for node in range(first, last):
        start, stop = spans[node]
        low, high = boxes[node, 0], boxes[node, 1]
        low[:] = points[start]
        high[:] = points[start]
        for i in range(start + 1, stop):
            for c in range(p):
                low[c] = min(low[c], points[i, c])
                high[c] = max(high[c], points[i, c])
        widest = 0
        for c in range(1, p):
            if high[c] - low[c] > high[widest] - low[widest]:
                widest = c
        columns[node] = widest if high[widest] > low[widest] else _POINT
        if 2 * node + 1 < columns.size:
            middle = (start + stop) // 2
            if columns[node] != _POINT:
                _select(points, order, start, stop - 1, middle, widest)
            spans[2 * node + 1] = start, middle
            spans[2 * node + 2] = middle, stop


@inner
def _select(points, order, left, right, k, c):
    """Partition records by column c around k: none before it is above, none after it below."""
    while right > left:
        a, b, z = points[left, c], points[(left + right) // 2, c], points[right, c]
        pivot = max(min(a, b), min(max(a, b), z))
        i, j = left, right
        while i <= j:
            while points[i, c] < pivot:
                i += 1
            while points[j, c] > pivot:
                j -= 1
            if i <= j:
                for d in range(points.shape[1]):
                    points[i, d], points[j, d] = points[j, d], points[i, d]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            return


@njit(cache=True, nogil=True)
def nearest_is_own(queries, points, order, spans, columns, boxes, categorical, first, last, hits):
    """Fill in the hits of the records in the leaves first..last-1.

    A hit is 1/t if a record's own partner is among t nearest at equal distance, else 0. Record
    `order[i]` of the queries has its partner at `points[i]`. If no column compares the two: 0.
    """
    stack, query = np.empty(64, np.int64), np.empty(points.shape[1])
    for leaf in range(first, last):
        start, stop = spans[leaf, 0], spans[leaf, 1]
        for place in range(start, stop):
            for c in range(query.size):
                query[c] = queries[order[place], c]
            radius = _distance(query, points, place, categorical)
            ties = 0
            if categorical is None or radius < np.inf:
                ties = _ties(query, points, start, stop, radius, categorical)
            node = leaf
            while node > 0 and ties > 0:
                parent = (node - 1) // 2
                sibling = 4 * parent + 3 - node
                if _bound(query, boxes, sibling, categorical) <= radius:
                    found = _search(
                        query, points, spans, columns, boxes, sibling, radius, stack, categorical
                    )
                    ties = ties + found if found >= 0 else 0
                node = parent
            hits[order[place]] = 1.0 / ties if ties > 0 else 0.0


@inner
def _search(query, points, spans, columns, boxes, top, radius, stack, categorical):
    """Count the records of a node at the radius; -1 if one is closer."""
    inner = columns.size // 2
    ties, depth = 0, 1
    stack[0] = top
    while depth > 0:
        depth -= 1
        node = stack[depth]
        start, stop = spans[node, 0], spans[node, 1]
        if categorical is not None:
            reach = _reach(query, boxes, node, categorical)
            if reach < radius:
                return -1
            if reach == radius and _bound(query, boxes, node, categorical) == radius:
                ties += stop - start
                continue
        if columns[node] == _POINT:
            # One record stands for all.
            found = _ties(query, points, start, start + 1, radius, categorical) * (stop - start)
        elif node >= inner:
            found = _ties(query, points, start, stop, radius, categorical)
        else:
            left = _bound(query, boxes, 2 * node + 1, categorical)
            right = _bound(query, boxes, 2 * node + 2, categorical)
            # The nearer child goes on top: a closer record is likelier there.
            near = 2 * node + 1 if left <= right else 2 * node + 2
            if max(left, right) <= radius:
                stack[depth] = 4 * node + 3 - near
                depth += 1
            if min(left, right) <= radius:
                stack[depth] = near
                depth += 1
            continue
        if found < 0:
            return -1
        ties += found
    return ties


@inner
def _ties(query, points, start, stop, radius, categorical):
    ties = 0
    for i in range(start, stop):
        distance = _distance(query, points, i, categorical)
        if distance < radius:
            return -1
        if distance == radius:
            ties += 1
    return ties


@inner
def _distance(query, points, i, categorical):
    """Distance to a record. Sums are not cut short: the branches would cost more than they save."""
    total = 0.0
    if categorical is None:
        for c in range(query.size):
            difference = query[c] - points[i, c]
            total += difference * difference
        return total
    compared = 0
    for c in range(query.size):
        if query[c] >= 0.0 and points[i, c] >= 0.0:
            compared += 1
            total += _gower(abs(query[c] - points[i, c]), categorical[c])
    return total / compared if compared > 0 else np.inf


@inner
def _bound(query, boxes, node, categorical):
    """Smallest distance to a node's box."""
    total = 0.0
    if categorical is None:
        for c in range(query.size):
            gap = max(query[c] - boxes[node, 1, c], boxes[node, 0, c] - query[c], 0.0)
            total += gap * gap
        return total
    filled = 0
    for c in range(query.size):
        if query[c] >= 0.0:
            filled += 1
            if boxes[node, 0, c] >= 0.0:
                gap = max(query[c] - boxes[node, 1, c], boxes[node, 0, c] - query[c], 0.0)
                total += _gower(gap, categorical[c])
    return total / filled if filled > 0 else 0.0


@inner
def _reach(query, boxes, node, categorical):
    """Largest Gower distance to a node's box; infinity if nulls make it depend on the record."""
    total, filled = 0.0, 0
    for c in range(query.size):
        if query[c] >= 0.0:
            if boxes[node, 0, c] < 0.0:
                return np.inf
            filled += 1
            gap = max(query[c] - boxes[node, 0, c], boxes[node, 1, c] - query[c])
            total += _gower(gap, categorical[c])
    return total / filled if filled > 0 else np.inf


@inner
def _gower(difference, categorical):
    if categorical:
        return 1.0 if difference > 0.0 else 0.0
    return difference
