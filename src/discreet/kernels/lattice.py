"""The classes of a lattice node, from those of a finer node, and what a quality model needs.

A *table* holds the classes of a node: `keys`, the codes of a class packed into a few words;
`counts`, its records; and where a privacy model looks at confidential values, its histogram as
`values` and `numbers` between `starts[i]` and `starts[i + 1]`.

Where units are counted, the histogram counts *holdings*: the units of a class, and its distinct
pairs of a unit and a value (`discreet.generalization._holdings`). Those of one tuple only add up
when classes are merged. The others, `shared`, are listed one by one, so that the union of classes
counts each once; of units no more than k are listed, since so many are enough. After the place of
units there is one of each confidential column, which counts its pairs as often as tuples have them.

Where there is a population, its records are counted at one more place. Tuples that it alone has are
classes of no record: they are never released, and no quality counts them.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.kernels.inner import inner
from discreet.kernels.privacy import may_hold, stars_hold, too_many, too_many_shared

_MIX = np.uint64(0x9E3779B97F4A7C15)
# What the penalty of a suppressed class is: see `discreet.generalization.quality`.
LOSS, PRECISION, NUE, LOGS, RECORDS, SQUARES, PRODUCTS, CLASSES = range(8)


class Lattice(NamedTuple):
    """The hierarchies of d columns as flat arrays."""

    # By column, where its code lies in a key.
    word: np.ndarray
    shift: np.ndarray
    mask: np.ndarray
    # `up[step[a, u, v] + code]` is what a code of level u becomes at level v.
    up: np.ndarray
    step: np.ndarray
    # `leaves[first[a, u] + code]`: leaves under a label. A level ends where the next one starts.
    leaves: np.ndarray
    first: np.ndarray
    # Leaves of each column.
    domain: np.ndarray
    height: np.ndarray


class Shared(NamedTuple):
    """By class, the holdings that several tuples have."""

    # Those of class i are between `starts[i]` and `starts[i + 1]`.
    starts: np.ndarray
    holdings: np.ndarray
    # Of every holding, its place on the axis of values.
    place: np.ndarray
    # The place of units, how many of them are enough, and whether there is nothing else.
    unit: int
    enough: int
    only_units: bool


NOTHING_SHARED = Shared(
    np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), -1, 0, True
)


class Table(NamedTuple):
    """The classes of a node."""

    keys: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    shared: Shared = NOTHING_SHARED


@njit(cache=True, nogil=True)
def pack(codes, words, shift):
    """Put the codes of one column into its word of the keys."""
    for i in range(codes.size):
        words[i] |= np.uint64(codes[i]) << shift


@njit(cache=True, nogil=True)
def number(keys, most):
    """Assign the same number to equal keys, in the order of their first appearance.

    There are no more than `most` distinct keys. Also returns the first row of each.
    """
    n = keys.size
    room = int(min(most, n))
    bits = 4
    while (1 << bits) < 2 * room:
        bits += 1
    places = np.full(1 << bits, -1, np.int32)
    last, down = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    ids, first = np.empty(n, np.int32), np.empty(room, np.int32)
    seen = np.empty(room, np.uint64)
    distinct = 0
    for i in range(n):
        key = keys[i]
        place = (key * _MIX) >> down
        held = places[place]
        while held >= 0 and seen[held] != key:
            place = (place + np.uint64(1)) & last
            held = places[place]
        if held < 0:
            held = np.int32(distinct)
            places[place] = held
            seen[held], first[held] = key, i
            distinct += 1
        ids[i] = held
    return ids, first[:distinct].copy()


@njit(cache=True, nogil=True)
def fold(keys):
    """Combine keys of several words into one word, equal if all words are."""
    one = keys[0]
    for w in range(1, keys.shape[0]):
        left, _ = number(one, one.size)
        right, _ = number(keys[w], one.size)
        one = (left.astype(np.uint64) << np.uint64(32)) | right.astype(np.uint64)
    return one


@njit(cache=True, nogil=True)
def count(ids, classes, weights):
    """Count the records of each class.

    `weights` are the records that each row stands for; empty if each is one record.
    """
    counts = np.zeros(classes, np.int64)
    if weights.size:
        for i in range(ids.size):
            counts[ids[i]] += weights[i]
    else:
        for i in range(ids.size):
            counts[ids[i]] += 1
    return counts


@njit(cache=True, nogil=True)
def members_of(ids, classes):
    """List rows by class."""
    starts = np.zeros(classes + 1, np.int64)
    for i in range(ids.size):
        starts[ids[i] + 1] += 1
    for c in range(classes):
        starts[c + 1] += starts[c]
    rows, place = np.empty(ids.size, np.int32), starts[:-1].copy()
    for i in range(ids.size):
        rows[place[ids[i]]] = i
        place[ids[i]] += 1
    return rows, starts


@njit(cache=True, nogil=True)
def tally(ids, classes, codes, places, weights):
    """Count the confidential values of each class, from the records.

    `codes` (columns by rows) are places on the axis of values, below `places`, or -1 for a null;
    `weights` are as in `count`. Returns the histograms, as a table has them.
    """
    rows, members = members_of(ids, classes)
    starts = np.zeros(classes + 1, np.int64)
    values, numbers = np.empty(codes.size, np.int32), np.empty(codes.size, np.int64)
    seen = np.zeros(places, np.int64)
    end = 0
    for c in range(classes):
        for r in range(members[c], members[c + 1]):
            weight = weights[rows[r]] if weights.size else 1
            for j in range(codes.shape[0]):
                v = codes[j, rows[r]]
                if v >= 0:
                    if seen[v] == 0:
                        values[end] = v
                        end += 1
                    seen[v] += weight
        for e in range(starts[c], end):
            numbers[e] = seen[values[e]]
            seen[values[e]] = 0
        starts[c + 1] = end
    return starts, values[:end].copy(), numbers[:end].copy()


@njit(cache=True, nogil=True)
def hold(ids, classes, holdings, place, exact, rules):
    """Count the holdings of each class, and list those that several classes have.

    `holdings` (columns by rows) are -1 for a null, and `place` says where each is counted. Only
    for columns that are `exact` does it matter what several classes have: the others' values are
    looked for, and not counted.
    """
    rows, members = members_of(ids, classes)
    spans = _spans(rows, members, holdings, place.size, exact)
    last = np.full(place.size, -1, np.int32)
    starts, since = np.zeros(classes + 1, np.int64), np.zeros(classes + 1, np.int64)
    columns = holdings.shape[0] - 1
    most = holdings.size + classes * columns
    values, numbers = np.empty(most, np.int32), np.empty(most, np.int64)
    listed = np.empty(holdings.size, np.int32)
    seen = np.zeros(rules.units + 1 + columns, np.int64)
    end, many = 0, 0
    for c in range(classes):
        for r in range(members[c], members[c + 1]):
            for j in range(holdings.shape[0]):
                h = holdings[j, rows[r]]
                if h >= 0 and spans[h] <= 1 and last[h] != c:
                    last[h] = c
                    if seen[place[h]] == 0:
                        values[end] = place[h]
                        end += 1
                    seen[place[h]] += 1
                    if j < columns:
                        seen[rules.units + 1 + j] += 1
        room = rules.k - seen[rules.units]
        for r in range(members[c], members[c + 1]):
            for j in range(holdings.shape[0]):
                h = holdings[j, rows[r]]
                if h < 0 or spans[h] <= 1 or last[h] == c:
                    continue
                if place[h] == rules.units:
                    if room <= 0:
                        continue
                    room -= 1
                last[h] = c
                listed[many] = h
                many += 1
                if j < columns:
                    seen[rules.units + 1 + j] += 1
        for j in range(columns):
            if seen[rules.units + 1 + j] and exact[j]:
                values[end] = rules.units + 1 + j
                end += 1
        for e in range(starts[c], end):
            numbers[e] = seen[values[e]]
            seen[values[e]] = 0
        for j in range(columns):
            seen[rules.units + 1 + j] = 0
        starts[c + 1], since[c + 1] = end, many
    return starts, values[:end].copy(), numbers[:end].copy(), since, listed[:many].copy()


@inner
def _spans(rows, members, holdings, size, exact):
    """Count the classes that have each holding, in the columns that are exact."""
    last, spans = np.full(size, -1, np.int32), np.zeros(size, np.int32)
    for c in range(members.size - 1):
        for r in range(members[c], members[c + 1]):
            for j in range(holdings.shape[0]):
                h = holdings[j, rows[r]]
                if h >= 0 and last[h] != c:
                    last[h] = c
                    spans[h] += exact[j]
    return spans


@njit(cache=True, nogil=True)
def roll_up(lattice, table, source, target):
    """Return the classes of the node `target` from those of the finer node `source`.

    Also returns the class that each class of the finer node belongs to.
    """
    keys = table.keys.copy()
    most = 1.0
    for a in range(source.size):
        u, v = source[a], target[a]
        most *= lattice.first[a, v + 1] - lattice.first[a, v]
        if u != v:
            climb(keys[lattice.word[a]], lattice.up[lattice.step[a, u, v] :], lattice, a)
    ids, first = number(fold(keys), most)
    counts = count(ids, first.size, table.counts)
    kept, shared = (table.starts, table.values, table.numbers), table.shared
    if table.starts.size > 1:
        rows, members = members_of(ids, first.size)
        kept = _merge(rows, members, table)
        if shared.starts.size > 1:
            shared = _unite(rows, members, shared, kept)
    return Table(take(keys, first), counts, kept[0], kept[1], kept[2], shared), ids


@inner
def climb(words, above, lattice, a):
    """Replace the codes of column a in its word of the keys."""
    shift, mask = lattice.shift[a], lattice.mask[a]
    for i in range(words.size):
        code = (words[i] >> shift) & mask
        words[i] ^= (code ^ np.uint64(above[code])) << shift


@njit(cache=True, nogil=True)
def take(keys, rows):
    """Return the keys of some rows."""
    taken = np.empty((keys.shape[0], rows.size), np.uint64)
    for w in range(keys.shape[0]):
        for i in range(rows.size):
            taken[w, i] = keys[w, rows[i]]
    return taken


@inner
def _merge(rows, members, table):
    """Add the histograms of the rows of each class."""
    classes = members.size - 1
    starts = np.zeros(classes + 1, np.int64)
    values, numbers = np.empty(table.values.size, np.int32), np.empty(table.values.size, np.int64)
    if values.size == 0:
        return starts, values, numbers
    places = 0
    for v in table.values:
        places = max(places, v + 1)
    seen = np.zeros(places, np.int64)
    end = 0
    for c in range(classes):
        for r in range(members[c], members[c + 1]):
            for e in range(table.starts[rows[r]], table.starts[rows[r] + 1]):
                v = table.values[e]
                if seen[v] == 0:
                    values[end] = v
                    end += 1
                seen[v] += table.numbers[e]
        for e in range(starts[c], end):
            numbers[e] = seen[values[e]]
            seen[values[e]] = 0
        starts[c + 1] = end
    return starts, values[:end].copy(), numbers[:end].copy()


@inner
def _unite(rows, members, shared, kept):
    """Unite the shared holdings of the rows of each class; `kept` are the others, merged."""
    classes = members.size - 1
    starts, values, numbers = kept
    since, listed = np.zeros(classes + 1, np.int64), np.empty(shared.holdings.size, np.int32)
    last = np.full(shared.place.size, -1, np.int32)
    many = 0
    for c in range(classes):
        room = shared.enough
        for e in range(starts[c], starts[c + 1]):
            if values[e] == shared.unit:
                room -= numbers[e]
        for r in range(members[c], members[c + 1]):
            if room <= 0 and shared.only_units:
                break
            for e in range(shared.starts[rows[r]], shared.starts[rows[r] + 1]):
                h = shared.holdings[e]
                if last[h] == c:
                    continue
                if shared.place[h] == shared.unit:
                    if room <= 0:
                        continue
                    room -= 1
                last[h] = c
                listed[many] = h
                many += 1
        since[c + 1] = many
    return Shared(
        since, listed[:many].copy(), shared.place, shared.unit, shared.enough, shared.only_units
    )


@njit(cache=True, nogil=True)
def judge(rules, table):
    """Return the records of each class that break the models, all or none, and a lower bound.

    The bound is on the records of the class that every finer node suppresses.
    """
    n = table.counts.size
    out, least = np.zeros(n, np.int64), np.zeros(n, np.int64)
    histogram = np.zeros(rules.q.size + rules.offsets.size + 1, np.int64)
    shared = table.shared
    # A class has no more distinct values than entries.
    entries = rules.least.max() if rules.least.size and rules.units < 0 else 0
    sizes_only = rules.units < 0 and rules.population < 0
    sizes_only &= rules.kinds.shape[0] == 0 and rules.least.sum() == 0
    for c in range(n):
        size = records = table.counts[c]
        if size < rules.k or (entries and table.starts[c + 1] - table.starts[c] < entries):
            out[c] = least[c] = records
            continue
        if sizes_only:
            continue
        for e in range(table.starts[c], table.starts[c + 1]):
            histogram[table.values[e]] = table.numbers[e]
        alone = True
        if shared.starts.size > 1:
            for e in range(shared.starts[c], shared.starts[c + 1]):
                place = shared.place[shared.holdings[e]]
                histogram[place] += 1
                alone &= place == rules.units
        if rules.units >= 0:
            size = histogram[rules.units]
        if not may_hold(rules, size, histogram):
            out[c] = least[c] = records
        else:
            broken, most = too_many(rules, size, histogram)
            least[c] = most if alone else too_many_shared(rules, histogram)
            out[c] = records if broken else 0
        for e in range(table.starts[c], table.starts[c + 1]):
            histogram[table.values[e]] = 0
        if shared.starts.size > 1:
            for e in range(shared.starts[c], shared.starts[c + 1]):
                histogram[shared.place[shared.holdings[e]]] = 0
    return out, least


@njit(cache=True, nogil=True)
def penalties(lattice, table, node, out, kind, n):
    """Sum what suppressed records, `out` by class, cost more than if they were kept.

    Returns their number and the penalty by column; only in the first place for the kinds that look
    at whole records. For `CLASSES`, the number of classes whose records are all suppressed.
    """
    d = node.size
    penalty = np.zeros(d)
    suppressed = out.sum()
    if kind == RECORDS:
        penalty[0] = suppressed
    elif kind == CLASSES:
        for c in range(out.size):
            penalty[0] += 0 < out[c] == table.counts[c]
    elif kind == SQUARES:
        for c in range(out.size):
            # As floats: the square of a large table's records is beyond 64 bits.
            penalty[0] += float(out[c]) * (n - table.counts[c])
    elif kind == PRODUCTS:
        whole = 1.0
        for size in lattice.domain:
            whole *= size
        for c in range(out.size):
            if out[c]:
                penalty[0] += out[c] * (whole - product_of(lattice, table, node, c))
    elif kind == PRECISION:
        for a in range(d):
            if lattice.height[a]:
                penalty[a] = suppressed * (lattice.height[a] - node[a]) / lattice.height[a] / n
    elif suppressed:
        for a in range(d):
            penalty[a] = _marginal(lattice, table, node, out, kind, a, suppressed)
    return suppressed, penalty


@inner
def _marginal(lattice, table, node, out, kind, a, suppressed):
    """Sum the penalties of one column, label by label so that the order is always the same."""
    first = lattice.first[a, node[a]]
    held = np.zeros(lattice.first[a, node[a] + 1] - first, np.int64)
    w, shift, mask = lattice.word[a], lattice.shift[a], lattice.mask[a]
    for c in range(out.size):
        if out[c]:
            held[np.int64((table.keys[w, c] >> shift) & mask)] += out[c]
    total, domain = 0.0, lattice.domain[a]
    for label in range(held.size):
        m = held[label]
        if m == 0:
            continue
        if kind == LOSS:
            total += m * (domain - lattice.leaves[first + label])
        elif kind == NUE:
            total -= m * np.log2(m / suppressed)
        else:
            total -= m * np.log10(lattice.leaves[first + label] / domain)
    return total


@inner
def product_of(lattice, table, node, c):
    """Multiply the leaves under a class's labels: the tuples that it could stand for."""
    product = 1.0
    for a in range(node.size):
        code = (table.keys[lattice.word[a], c] >> lattice.shift[a]) & lattice.mask[a]
        product *= lattice.leaves[lattice.first[a, node[a]] + np.int64(code)]
    return product


@njit(cache=True, nogil=True)
def spread(lattice, table, node, kind):
    """Sum over all classes what cannot be computed column by column."""
    if kind == CLASSES:
        return float(np.count_nonzero(table.counts))
    total = 0.0
    for c in range(table.counts.size):
        size = float(table.counts[c])
        total += size * (size if kind == SQUARES else product_of(lattice, table, node, c))
    return total


@njit(cache=True, nogil=True)
def prices(lattice, table, node, out, price, products):
    """Sum by column what the labels of kept records cost; `out` are those suppressed, by class.

    `price` is of each label where `leaves` has it. With `products` it is in the first place what
    each record could stand for. Sums go label by label, so that the order is always the same.
    """
    sums = np.zeros(node.size)
    if products:
        for c in range(out.size):
            if out[c] == 0:
                sums[0] += table.counts[c] * product_of(lattice, table, node, c)
        return sums
    for a in range(node.size):
        first = lattice.first[a, node[a]]
        held = np.zeros(lattice.first[a, node[a] + 1] - first, np.int64)
        w, shift, mask = lattice.word[a], lattice.shift[a], lattice.mask[a]
        for c in range(out.size):
            if out[c] == 0:
                held[np.int64((table.keys[w, c] >> shift) & mask)] += table.counts[c]
        for label in range(held.size):
            sums[a] += held[label] * price[first + label]
    return sums


@njit(cache=True, nogil=True)
def priced(lattice, table, node, rules, price, products):
    """Sum the same from the tuples; before it, those suppressed and their lower bound (`judge`)."""
    classes, _ = roll_up(lattice, table, np.zeros_like(node), node)
    out, least = judge(rules, classes)
    return out.sum(), least.sum(), prices(lattice, classes, node, out, price, products)


@njit(cache=True, nogil=True)
def fitting(table, least, k):
    """Bound the classes of k records at finer nodes, and at coarser ones.

    A class of a finer node lies in one class here. A class of a coarser node holds a class of k
    records here, or consists only of smaller ones.
    """
    finer, coarser, rest = 0, 0, 0
    for c in range(least.size):
        finer += (table.counts[c] - least[c]) // k
        if table.counts[c] >= k:
            coarser += 1
        else:
            rest += table.counts[c]
    return finer, coarser + rest // k


@njit(cache=True, nogil=True)
def smallest_finer(levels, sizes, m, target):
    """Find, among the first m nodes, the one with the fewest classes that `target` is above."""
    best = 0
    for i in range(1, m):
        if sizes[i] < sizes[best]:
            finer = True
            for a in range(target.size):
                if levels[i, a] > target[a]:
                    finer = False
                    break
            if finer:
                best = i
    return best


@njit(cache=True, nogil=True)
def most_of_coarser(levels, numbers, m, target):
    """Return by column the largest number of those of the first m nodes that are above `target`."""
    most = np.zeros(numbers.shape[1])
    for i in range(m):
        coarser = True
        for a in range(target.size):
            if levels[i, a] < target[a]:
                coarser = False
                break
        if coarser:
            for a in range(most.size):
                most[a] = max(most[a], numbers[i, a])
    return most


@njit(cache=True, nogil=True)
def together(rules, table, chosen):
    """Tell whether some classes would satisfy the models if all their labels were stars."""
    histogram = np.zeros(rules.q.size + rules.offsets.size + 1, np.int64)
    shared, size = table.shared, 0
    seen = np.zeros(shared.place.size, np.bool_)
    for c in range(chosen.size):
        if not chosen[c]:
            continue
        size += table.counts[c]
        if table.starts.size > 1:
            for e in range(table.starts[c], table.starts[c + 1]):
                histogram[table.values[e]] += table.numbers[e]
        if shared.starts.size > 1:
            for e in range(shared.starts[c], shared.starts[c + 1]):
                h = shared.holdings[e]
                histogram[shared.place[h]] += not seen[h]
                seen[h] = True
    return stars_hold(rules, size if rules.units < 0 else histogram[rules.units], histogram)
