"""Optimal k-means in one dimension: the global optimum, for means (l2) and for medians (l1).

The values are sorted, so clusters are runs of consecutive values and a partition is a path of cut
positions 0 = p_0 < p_1 < ... < p_c = n, whose cost is the sum of its clusters' costs. Cluster costs
have the Monge property: two overlapping clusters cost no more than their union and intersection.
Everything below rests on it, on any subset of the positions.

1. A price per cluster (`_priced_paths`). The path that minimises cost + price * clusters, with any
   number of clusters, takes one pass over the positions: by Monge the best predecessor only moves
   right, so a queue of candidates, each with the first target it wins, is enough.
2. The right price (`_best_path`). The optimal cost is convex in the number of clusters, so some
   price gives c clusters, and a priced optimum that has c clusters is the optimum for c. The price
   is found by secants between a path with fewer and one with more clusters. If c lies on a straight
   piece of the cost curve, the two paths are both optimal at its price and `_splice` joins them
   into one of c clusters at no extra cost (Aggarwal, Schieber and Tokuyama 1994).
3. Which positions matter (`_live`). Positions are put in bins. A path of bins, whose clusters leave
   out the values inside the bins, bounds from below the cost of all partitions with cuts in those
   bins. One forward and one backward priced pass give the least such bound through every bin; if
   it exceeds the cost of a known partition, the bin holds no cut of the optimum. Bins that stay
   are split, until few positions are left. Step 2 on those gives the optimum of the whole; where
   little can be dropped it runs on (nearly) all positions, in O(n log n) per price.

Coarse grids only supply good first prices and the known partition; the result does not depend on
how good they are. All is exact up to rounding, see `kmeans_cost`.

Ties: of two equal costs the earlier predecessor wins, so counting from the last cluster back each
cluster starts as far left as it can; a splice is made at the first place possible. The result
depends on the input alone.

Callers guarantee: values strictly ascending and finite, counts >= 1, 1 <= c <= number of values.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.kmeans_cost import (
    Floats,
    Ints,
    cluster_cost,
    cluster_mean,
    path_cost,
    prefix_sums,
    standardise,
)

# table, low, l1: the first three arguments of `cluster_cost`
Sums = tuple[Floats, Floats | None, bool]

_COARSE = 1024  # positions of the first grid
_SPLIT = 8  # parts of a bin that stays
_MAX_PRICES = 100  # some 10 are tried; a guard for costs that are all rounding error
_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-9  # error of the plain formula, relative to the optimum, that is accepted


def kmeans_l2(values: Floats, counts: Ints, c: int) -> Ints:
    """Return the ends (exclusive) of the c clusters of least sum of squares about their means."""
    return _kmeans(values, counts, c, False)


def kmeans_l1(values: Floats, counts: Ints, c: int) -> Ints:
    """Return the ends (exclusive) of the c clusters of least sum of distances to their medians."""
    return _kmeans(values, counts, c, True)


def _kmeans(values: Floats, counts: Ints, c: int, l1: bool) -> Ints:
    if c == 1:
        return np.array([values.size])
    if c == values.size:
        return np.arange(1, c + 1)
    scale, median = standardise(values, counts)
    # Plain sums first, where they may do.
    for pairs in (True,) if l1 else (False, True):
        table, low = prefix_sums(values, counts, scale, median, pairs)
        path = _optimal_path((table, low if pairs else None, l1), c)
        if path is not None:
            return path[1:]
        del table
    raise AssertionError("sums as pairs leave no doubt")


def lloyd(
    values: Floats, counts: Ints, centres: Floats, max_iter: int = 10_000
) -> tuple[Floats, Ints]:
    """Lloyd's iterations from the given centres, until no value changes its cluster.

    Returns the sorted centres and the ends (exclusive) of their clusters. A value halfway between
    two centres goes to the lower one; an empty cluster keeps its centre.
    """
    scale, median = standardise(values, counts)
    table, low = prefix_sums(values, counts, scale, median, True)
    centres = np.sort(centres.astype(np.float64))
    ends = np.full(centres.size, -1)
    ends[-1] = values.size
    for _ in range(max_iter):
        if not _lloyd_step(values, table, low, scale, values[median], centres, ends):
            break
    return centres, ends


@njit(cache=True)
def _lloyd_step(values, table, low, scale, median, centres, ends) -> bool:
    """Assign the values, then move the centres, in place; whether an assignment changed."""
    changed = False
    for k in range(centres.size - 1):
        middle = 0.5 * centres[k] + 0.5 * centres[k + 1]
        end = np.searchsorted(values, middle, side="right")
        changed |= end != ends[k]
        ends[k] = end
    start = 0
    for k in range(centres.size):
        if ends[k] > start:
            centres[k] = median + cluster_mean(table, low, start, ends[k]) / scale
        start = ends[k]
    return changed


def _optimal_path(sums: Sums, c: int) -> Ints | None:
    """Optimal path of c clusters, 1 < c < n, or None if rounding errors leave it in doubt."""
    table = sums[0]
    n = table.shape[0] - 1
    coarse = max(_COARSE, 64 * c)
    fine = min(n // 64, max(4 * _COARSE, 4 * c**3))  # drops bins if the values are near uniform
    fewer = np.array([0, n])
    if n < 4 * coarse:
        positions = more = np.arange(n + 1)
    else:
        grid = _grid(table, coarse)
        fewer = _best_path(sums, grid, c - 1, fewer, grid)
        more = _best_path(sums, grid, c + 1, fewer, grid)
        if not _trusted(sums, more):
            return None
        positions = np.arange(n + 1) if fine < _COARSE else _live(sums, c, fine, fewer, more)
    path = _best_path(sums, positions, c, fewer, more)
    return path if _trusted(sums, path) else None


def _grid(table: Floats, size: int) -> Ints:
    """Up to `size` positions, spread so that an optimal cluster anywhere holds many of them.

    The values are cut into blocks, down to single values at both ends. Half of the positions follow
    the blocks, half (weight * width**2) ** (1/3) summed over them: the density of optimal centres
    is the cube root of that of the values (Panter and Dite 1951).
    """
    n = table.shape[0] - 1
    angle = np.linspace(0, np.pi / 2, size + 1)
    edges = _merge(((n - 1) * np.sin(angle) ** 2).astype(np.int64))
    weight, total, _ = (table[edges + 1] - table[edges]).T
    width = np.diff(total / weight)
    share = np.cbrt(np.diff(table[edges, 0]) * width**2)
    reach = np.append(0.0, np.cumsum(share / share.sum() + 1 / share.size))
    cuts = np.interp(np.linspace(0, reach[-1], size + 1), reach, edges).astype(np.int64)
    return _merge(cuts, np.array([0, 1, n]))


def _merge(*paths: Ints) -> Ints:
    merged = np.concatenate(paths)
    merged.sort(kind="stable")  # quick on the long sorted run it starts with
    return merged[np.append(True, merged[1:] > merged[:-1])]


def _noise(sums: Sums, clusters: int) -> float:
    """Return what rounding may change in the cost of a path; nothing, if the sums are pairs."""
    table, low, _ = sums
    return 4 * clusters * _EPS * (table[-1, 2] - table[0, 2]) if low is None else 0.0


def _trusted(sums: Sums, path: Ints) -> bool:
    """Whether the cost of a path stands out from the rounding errors."""
    return _noise(sums, path.size - 1) <= _ROUNDING * path_cost(*sums, path)


def _price(sums: Sums, fewer: Ints, more: Ints) -> float:
    """Return the price at which two paths cost the same."""
    return (path_cost(*sums, fewer) - path_cost(*sums, more)) / (more.size - fewer.size)


def _best_path(sums: Sums, positions: Ints, c: int, fewer: Ints, more: Ints) -> Ints:
    """Optimal path of c clusters on `positions`, given two paths on them with c between."""
    for path in (fewer, more):
        if path.size - 1 == c:
            return path
    for _ in range(_MAX_PRICES):
        price = _price(sums, fewer, more)
        line = path_cost(*sums, fewer) + price * (fewer.size - 1)
        _, predecessor = _priced_paths(*sums, positions, positions, price)
        path = _trace(positions, predecessor)
        if path.size - 1 == c:
            return path
        value = path_cost(*sums, path) + price * (path.size - 1)
        if value >= line * (1 - _EPS * path.size) - _noise(sums, path.size):
            break  # nothing below the line: c is on a straight piece of the cost curve
        if path.size - 1 < c:
            fewer = path
        else:
            more = path
    return _splice(fewer, more, c)


@inner
def _wins(table, low, l1, best, tail, head, j, i, target) -> bool:
    """Whether predecessor j beats predecessor i < j at a target."""
    return best[j] + cluster_cost(table, low, l1, tail[j], head[target]) < best[i] + cluster_cost(
        table, low, l1, tail[i], head[target]
    )


@njit(cache=True)
def _priced_paths(table, low, l1, tail, head, price):
    """Least cost + price * clusters from the first bin to each bin, and its predecessor there.

    A cluster from bin a to bin b > a goes from position tail[a] to position head[b]; where bins are
    single positions the two arrays are the same.
    """
    m = head.size
    best = np.zeros(m)
    predecessor = np.zeros(m, np.int32)
    queue = np.zeros(m, np.int32)  # candidates in ascending order ...
    since = np.ones(m, np.int32)  # ... and the first target at which each beats those before it
    first, last = 0, 0
    for j in range(1, m):
        if first < last and since[first + 1] == j:
            first += 1
        i = queue[first]
        best[j] = best[i] + cluster_cost(table, low, l1, tail[i], head[j]) + price
        predecessor[j] = i

        won = m  # a target from which on j beats the candidates before it
        while last > first and _wins(table, low, l1, best, tail, head, j, queue[last], since[last]):
            won = since[last]
            last -= 1
        i = queue[last]
        lost = max(since[last], j)
        # the answer tends to be close to a win given up by another, else to the last win
        near_won = won < m
        step = 1
        while won - lost > 1:
            target = (won + lost) // 2
            target = max(target, won - step) if near_won else min(target, lost + step)
            if _wins(table, low, l1, best, tail, head, j, i, target):
                won = target
            else:
                lost = target
            step *= 2
        if won < m:
            last += 1
            queue[last] = j
            since[last] = won
    return best, predecessor


@njit(cache=True)
def _trace(positions: Ints, predecessor) -> Ints:
    """Return the path that ends in the last position."""
    clusters = 0
    j = positions.size - 1
    while j > 0:
        j = predecessor[j]
        clusters += 1
    path = np.zeros(clusters + 1, np.int64)
    j = positions.size - 1
    for k in range(clusters, 0, -1):
        path[k] = positions[j]
        j = predecessor[j]
    return path


def _splice(fewer: Ints, more: Ints, c: int) -> Ints:
    """Path of c clusters from two optimal ones: start of `more`, then rest of `fewer`.

    Where a cluster of `more` lies inside one of `fewer`, by Monge changing over costs nothing.
    """
    lead = c - (fewer.size - 1)
    shifted = more[lead : lead + fewer.size]
    i = np.flatnonzero((fewer[:-1] <= shifted[:-1]) & (fewer[1:] >= shifted[1:]))[0]
    return np.concatenate((more[: i + lead + 1], fewer[i + 1 :]))


def _live(sums: Sums, c: int, size: int, fewer: Ints, more: Ints) -> Ints:
    """Every position where an optimal path of c clusters can cut, and some others.

    Starts from a grid of the given size; `fewer` and `more` have c - 1 and c + 1 clusters.
    """
    grid = _merge(_grid(sums[0], size), fewer, more)
    known = _best_path(sums, grid, c, fewer, more)
    price = max(_price(sums, fewer, more), 0.0)  # two cuts in a bin may be counted as one
    budget = path_cost(*sums, known) * (1 + _ROUNDING) + 2 * _noise(sums, c) + c * price
    head, tail = grid, np.append(grid[1:] - 1, grid[-1])  # first and last position of each bin
    while True:
        forward, _ = _priced_paths(*sums, tail, head, price)
        backward, _ = _priced_paths(*sums, head[::-1].copy(), tail[::-1].copy(), price)
        live = forward + backward[::-1] <= budget
        head, tail = head[live], tail[live]
        left = np.sum(tail - head + 1)
        # two more passes, over the parts, would cost more than they save in the one that follows
        if 2 * head.size > live.size or left <= 8 * _SPLIT * head.size:
            return _merge(_split(head, tail, left)[0], fewer, more, known)
        head, tail = _split(head, tail, _SPLIT)


@njit(cache=True)
def _split(head: Ints, tail: Ints, most: int) -> tuple[Ints, Ints]:
    """First and last positions of the bins when each is split evenly into up to `most` parts."""
    total = 0
    for b in range(head.size):
        total += min(most, tail[b] - head[b] + 1)
    new_head = np.empty(total, np.int64)
    new_tail = np.empty(total, np.int64)
    at = 0
    for b in range(head.size):
        size = tail[b] - head[b] + 1
        parts = min(most, size)
        for part in range(parts):
            new_head[at] = head[b] + part * size // parts
            new_tail[at] = head[b] + (part + 1) * size // parts - 1
            at += 1
    return new_head, new_tail
