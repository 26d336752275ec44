"""Semi-partition: cut into halves or children, and nulls apart, with what is too few made up.

After Gong, Luo, Yang, Ni and Li (2017), for k-anonymity. Like `mondrian`, from which it takes the
table of records (`cells`, one row each) and how columns are laid out.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.mondrian import _BINS, APART, _bounds, _common, _median, _width


@njit(cache=True)
def semi_partition(cells, sizes, heights, starts, place, ranks, spans, k):
    """Cut the records into classes of k or more; `cells` are put in their order, in place.

    The widest column of a part is cut: values in order in two, a tree into all children of the
    lowest node that holds the part, and nulls are a side of their own. Sides of fewer than k
    records are put together. Where these are still too few, records of the largest sides join them,
    the last ones first; where no side can spare any, the smallest joins them whole. Then nulls get
    company in the same way if they are too few, and are not cut off again. A column is left alone
    where that brings all back together, or where fewer than k records have a value.

    Returns
    -------
    ends, low, high, null : ndarray
        As from `mondrian`.
    """
    columns, n = sizes.size, cells.shape[0]
    most = max(1, n // k)
    ends = np.empty(most, np.int64)
    low, high = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    null = np.empty((most, columns), np.bool_)
    # Parts that wait, and the columns that may be cut in them.
    stack, open_ = np.empty((most + 1, 2), np.int64), np.ones((most + 1, columns), np.bool_)
    stack[0] = 0, n
    waiting, classes = 1, 0
    side, room = np.empty(n, np.int64), np.empty_like(cells)
    bins, widths = np.empty(_BINS, np.int64), np.empty(columns)
    while waiting:
        waiting -= 1
        start, stop = stack[waiting]
        may = open_[waiting].copy()
        lo, hi, has = low[classes], high[classes], null[classes]
        _bounds(cells, start, stop, sizes, lo, hi, has)
        sides, cut = 0, -1
        if stop - start >= 2 * k:
            for c in range(columns):
                widths[c] = -1.0
                if may[c]:
                    widths[c] = _width(
                        c, lo, hi, has, sizes, heights, starts, place, ranks, spans, APART
                    )
            while sides < 2 and widths.max() >= 0:
                cut = np.argmax(widths)
                widths[cut] = -1.0
                sides, apart = _sides(
                    cells, start, stop, cut, lo[cut], hi[cut],
                    sizes[cut], heights[cut], starts[cut], ranks, k, side, bins,
                )  # fmt: skip
        if sides < 2:
            ends[classes] = stop
            classes += 1
            continue
        bounds = _rearrange(cells, start, stop, side, sides, room)
        # The first side is cut next.
        for s in range(sides - 1, -1, -1):
            stack[waiting] = bounds[s], bounds[s + 1]
            open_[waiting] = may
            if s == sides - 1 and apart:
                open_[waiting, cut] = False
            waiting += 1
    return ends[:classes], low[:classes], high[:classes], null[:classes]


@inner
def _sides(cells, start, stop, c, low, high, size, height, table, ranks, k, side, bins):
    """Give each record the number of its side; return how many, and if the last is that of nulls.

    Numbers start at 0; where no cut may be, there is one side.
    """
    base, at, key = np.int64(0), -1, np.int64(-1)
    count = 1
    valued = 0
    for i in range(start, stop):
        if cells[i, c] < size:
            valued += 1
    if low < high and height > 0:
        at = table + (_common(low, high, size, table, ranks) - 1) * (size + 1)
        base = ranks[at + low]
        count = ranks[at + high] - base + 1
    elif low < high:
        key, _, share = _median(cells, start, stop, valued, c, -1, ranks, low, high, False, bins)
        key -= int(share == 0)
        count = 2
    # Besides a side for each value or half, one for what is put together and one for nulls.
    held = np.zeros(count + 2, np.int64)
    for i in range(start, stop):
        code = cells[i, c]
        if code == size:
            side[i] = count + 1
        elif at >= 0:
            side[i] = ranks[at + code] - base
        else:
            side[i] = 1 if count == 2 and code > key else 0
        held[side[i]] += 1
    if valued < k:
        return 1, False
    # First for what is put together, then for nulls: where each side goes as a whole, and how many
    # records it gives away.
    to, given = np.empty((2, count + 2), np.int64), np.zeros((2, count + 2), np.int64)
    to[:] = np.arange(count + 2)
    for s in range(count):
        if held[s] < k:
            to[0, s] = count
            held[count] += held[s]
            held[s] = 0
    for turn in range(2):
        _make_up(held, count + turn, k, to[turn], given[turn])
    for i in range(stop - 1, start - 1, -1):
        for turn in range(2):
            side[i] = to[turn, side[i]]
            if given[turn, side[i]] > 0:
                given[turn, side[i]] -= 1
                side[i] = count + turn
    number, used = np.zeros(count + 2, np.int64), 0
    for s in range(count + 2):
        number[s] = used
        used += held[s] > 0
    for i in range(start, stop):
        side[i] = number[side[i]]
    return used, held[count + 1] > 0


@inner
def _make_up(held, few, k, to, given):
    """Let records of the sides before join the side `few` until it has k, or one side whole."""
    need = k - held[few]
    if held[few] == 0 or need <= 0:
        return
    spare, smallest = 0, -1
    for s in range(few):
        if held[s] >= k:
            spare += held[s] - k
            if smallest < 0 or held[s] < held[smallest]:
                smallest = s
    if spare < need:
        if smallest >= 0:
            held[few] += held[smallest]
            held[smallest] = 0
            to[smallest] = few
        return
    for _ in range(need):
        largest = np.argmax(held[:few])
        given[largest] += 1
        held[largest] -= 1
        held[few] += 1


@inner
def _rearrange(cells, start, stop, side, sides, room):
    """Put the records side by side, each side in its order; return where the sides start."""
    bounds = np.zeros(sides + 1, np.int64)
    for i in range(start, stop):
        bounds[side[i] + 1] += 1
        room[i] = cells[i]
    bounds[0] = start
    for s in range(sides):
        bounds[s + 1] += bounds[s]
    at = bounds.copy()
    for i in range(start, stop):
        cells[at[side[i]]] = room[i]
        at[side[i]] += 1
    return bounds
