"""What classes are worth: to a publisher who may be attacked, and to whoever predicts from them.

An intruder's and a publisher's figures are one array: the cost of an attack on a record and what
the intruder gains by its success, then what the publisher loses by that, and the benefit of a
record that is released as it was.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.lattice import fold, members_of, number, product_of

COST, GAIN, LOST, BENEFIT = range(4)


@inner
def pays(figures, among):
    """Tell whether an attack on a record pays that could be any of so many."""
    return figures[GAIN] / among - figures[COST] > 0


@inner
def payout(figures, lost, among):
    """Return what the publisher has of a record, of whose information a share is lost.

    `among` are the records that it could be to the intruder: those of its class, or those of the
    population with the same labels.
    """
    risk = figures[LOST] / among if pays(figures, among) else 0.0
    return figures[BENEFIT] * (1 - lost) - risk


@inner
def logs_of(lattice, node):
    """Return of each label at a node the logarithm of its leaves, where each column starts there.

    Also the logarithm of the tuples that there could be.
    """
    starts = np.zeros(node.size + 1, np.int64)
    for a in range(node.size):
        first, last = lattice.first[a, node[a]], lattice.first[a, node[a] + 1]
        starts[a + 1] = starts[a] + last - first
    logs, whole = np.empty(starts[-1]), 0.0
    for a in range(node.size):
        first = lattice.first[a, node[a]]
        for u in range(starts[a + 1] - starts[a]):
            logs[starts[a] + u] = np.log10(lattice.leaves[first + u])
        # In the same order as labels are added up, so that stars lose all, to the last digit.
        whole += np.log10(lattice.domain[a])
    return logs, starts, whole


@inner
def lost_of(lattice, table, c, known):
    """Return the share of information that a class's records lose, entropy-based."""
    logs, starts, whole = known
    total = 0.0
    for a in range(starts.size - 1):
        code = (table.keys[lattice.word[a], c] >> lattice.shift[a]) & lattice.mask[a]
        total += logs[starts[a] + np.int64(code)]
    return total / whole if whole > 0 else 1.0


@inner
def among_of(table, c, place):
    """Return the records that a record of a class could be, those that are counted at a place.

    With place = -1 they are those of the class itself. A table that is no sample of its population
    has records there that this does not have: each is one.
    """
    if place < 0:
        return table.counts[c]
    for e in range(table.starts[c], table.starts[c + 1]):
        if table.values[e] == place:
            return table.numbers[e]
    return 1


@njit(cache=True, nogil=True)
def suppress_unprofitable(lattice, table, node, figures, place, out):
    """Add to the suppressed records, `out` by class, those of classes that do not pay.

    `place` is as `among_of` has it. A finer class loses less and is attacked more, so that nothing
    follows for it.
    """
    known = logs_of(lattice, node)
    for c in range(out.size):
        if out[c] == 0 and table.counts[c] > 0:
            lost = lost_of(lattice, table, c, known)
            if payout(figures, lost, among_of(table, c, place)) <= 0:
                out[c] = table.counts[c]


@njit(cache=True, nogil=True)
def attacked(lattice, table, node, figures, place, out, sure):
    """Sum what attacks on the kept classes cost the publisher, and what they cost at finer nodes.

    `out` are the suppressed records by class, `sure` those that every finer node suppresses, and
    `place` is as `among_of` has it. A class that is attacked is attacked in all its parts, unless
    all of these are suppressed: what that costs is more than `lost_of` has taken off already.
    """
    known = logs_of(lattice, node)
    hits, least = 0.0, 0.0
    for c in range(out.size):
        size = table.counts[c]
        # A class that only the population has is none of the release.
        among = among_of(table, c, place) if size else 1
        if size == 0 or not pays(figures, among):
            continue
        if out[c] == 0:
            hits += size / among
        if sure[c] == 0:
            rest = 1 - lost_of(lattice, table, c, known)
            least += min(figures[LOST] * size / among, figures[BENEFIT] * size * rest)
    return figures[LOST] * hits, least


@njit(cache=True, nogil=True)
def capped(lattice, table, node, sure, stays, most):
    """Sum the shares that records lose at a node, at most so much of each unless it `stays`.

    Also what the records of `sure` lose more if they are suppressed, which costs the most.
    """
    known = logs_of(lattice, node)
    total, more = 0.0, 0.0
    for c in range(sure.size):
        lost = lost_of(lattice, table, c, known)
        total += table.counts[c] * (lost if stays[c] else min(lost, most))
        more += sure[c] * max(0.0, most - lost)
    return total, more


@inner
def _add(total, rest, x):
    """Add a number, and what rounding took off to the rest: the order of a sum does not matter."""
    after = total + x
    part = after - total
    return after, rest + ((total - (after - part)) + (x - part))


@njit(cache=True, nogil=True)
def diverged(lattice, table, node, out, sure):
    """Sum s log2(A / s) over classes: s their records, A the tuples that their labels stand for.

    Returns the sum over classes that are kept, and that over all; A of all classes; the records of
    classes that every finer node suppresses, and the sum over these classes.
    """
    kept, kept_rest, every, area, gone, of_gone = 0.0, 0.0, 0.0, 0.0, 0, 0.0
    for c in range(out.size):
        size = table.counts[c]
        if size == 0:
            continue
        room = product_of(lattice, table, node, c)
        bits = size * np.log2(room / size)
        every += bits
        area += room
        if out[c] == 0:
            kept, kept_rest = _add(kept, kept_rest, bits)
        if sure[c] == size:
            gone += size
            of_gone += bits
    return kept + kept_rest, every, area, gone, of_gone


@njit(cache=True, nogil=True)
def diverged_by_record(lattice, table, node, out, place):
    """Sum the same with each record as often as its tuple occurs; the squares are at a place.

    Returns the sum over classes that are kept, and the squares of those that are not.
    """
    kept, rest, gone = 0.0, 0.0, 0
    for c in range(out.size):
        squares = 0
        if table.counts[c] == 0:
            continue
        for e in range(table.starts[c], table.starts[c + 1]):
            if table.values[e] == place:
                squares = table.numbers[e]
        if out[c]:
            gone += squares
        else:
            room = product_of(lattice, table, node, c)
            kept, rest = _add(kept, rest, squares * np.log2(room / table.counts[c]))
    return kept + rest, gone


@njit(cache=True, nogil=True)
def predicted(table, out, sure, stays, first, last, weights):
    """Count the records that a prediction by class gets wrong.

    Places from `first` to `last - 1` of the histograms are the values that are predicted.

    Returns
    -------
    tuple
        The kept records with another value than most of their class, those in kept classes without
        a most frequent value, and the suppressed ones that have a value. Then what no coarser node
        is below, and what the records of `sure` add to that; classes that `stays` marks are kept
        at every coarser node. `weights` are of a wrong record, of one without a most frequent
        value, and of a suppressed one, which is no more than that.
    """
    wrong, tied, gone, floor, more = 0, 0, 0, 0.0, 0.0
    for c in range(out.size):
        size, top, second = 0, 0, 0
        for e in range(table.starts[c], table.starts[c + 1]):
            if first <= table.values[e] < last:
                count = table.numbers[e]
                size += count
                if count > top:
                    top, second = count, top
                elif count > second:
                    second = count
        if out[c]:
            gone += size
        elif size > 0 and top == second:
            tied += size
        else:
            wrong += size - top
        floor += min(weights[0] * (size - top), weights[1 if stays[c] else 2] * size)
        if sure[c] == table.counts[c]:
            more += max(0.0, weights[2] * size - weights[0] * (size - top))
    return wrong, tied, gone, floor, more


@njit(cache=True, nogil=True)
def predicted_key(lattice, table, node, out, stays, column, weights, scale):
    """Count the same where a key column is predicted, from the labels of the others.

    `scale` is by level of that column the share of its information that is lost there.

    Returns
    -------
    tuple
        Wrong, tied and suppressed records, and what no coarser node is below: whatever level the
        column has there, wrong records cost as much, or what it costs to suppress them; and those
        of classes that `stays` marks, which are kept, cost the former.
    """
    w, shift, mask = lattice.word[column], lattice.shift[column], lattice.mask[column]
    level, height = node[column], lattice.height[column]
    keys = table.keys.copy()
    for i in range(keys.shape[1]):
        keys[w, i] &= ~(mask << shift)
    one = fold(keys)
    ids, chosen = number(one, one.size)
    rows, members = members_of(ids, chosen.size)
    wrong, tied, gone, floor = 0, 0, 0, np.inf
    seen = np.zeros(lattice.first[column, level + 1] - lattice.first[column, level], np.int64)
    kept = np.zeros_like(seen)
    for above in range(level, height + 1):
        up = lattice.up[lattice.step[column, level, above] :]
        costs = min(weights[0], weights[1]) * (1 - scale[above]) + scale[above]
        least = min(costs, weights[2])
        total = 0.0
        for g in range(chosen.size):
            size, top, held, most = 0, 0, 0, 0
            for r in range(members[g], members[g + 1]):
                c = rows[r]
                label = up[np.int64((table.keys[w, c] >> shift) & mask)]
                seen[label] += table.counts[c]
                size += table.counts[c]
                top = max(top, seen[label])
                if stays[c]:
                    kept[label] += table.counts[c]
                    held += table.counts[c]
                    most = max(most, kept[label])
            for r in range(members[g], members[g + 1]):
                label = up[np.int64((table.keys[w, rows[r]] >> shift) & mask)]
                seen[label] = kept[label] = 0
            if scale[above] == 1:
                top = most = 0
            total += least * (size - top) + (costs - least) * (held - most)
        floor = min(floor, total)
    for g in range(chosen.size):
        size, top, second = 0, 0, 0
        for r in range(members[g], members[g + 1]):
            # The label of a class is found once in a group.
            count = table.counts[rows[r]]
            if out[rows[r]]:
                gone += count
                continue
            size += count
            if count > top:
                top, second = count, top
            elif count > second:
                second = count
        if size > 0 and top == second:
            tied += size
        else:
            wrong += size - top
    return wrong, tied, gone, floor
