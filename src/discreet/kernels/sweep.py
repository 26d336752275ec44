"""Sums over the classes of every node of a lattice, for all k and all quality models at once.

A table is the classes of a node: `keys`, the codes of the columns in the bits of one word, and
`counts`. A class is kept for every k up to its count, so each class is added to one bucket, and the
sums for all k are sums over buckets.
"""

import numpy as np
from numba import njit

from discreet.kernels.inner import inner

_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def climb(keys, counts, above, shift, mask):
    """Return the table of the node one level up in one column, which shift and mask find in a key.

    A code of the column becomes `above[code]`.
    """
    n = keys.size
    bits = 4
    while (1 << bits) < 2 * n:
        bits += 1
    last, down = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    places = np.full(1 << bits, -1, np.int32)
    new_keys, new_counts = np.empty(n, np.uint64), np.empty(n, np.int64)
    distinct = 0
    for i in range(n):
        code = (keys[i] >> shift) & mask
        key = keys[i] ^ ((code ^ np.uint64(above[code])) << shift)
        place = (key * _MIX) >> down
        held = places[place]
        while held >= 0 and new_keys[held] != key:
            place = (place + np.uint64(1)) & last
            held = places[place]
        if held < 0:
            places[place] = distinct
            new_keys[distinct], new_counts[distinct] = key, counts[i]
            distinct += 1
        else:
            new_counts[held] += counts[i]
    return new_keys[:distinct].copy(), new_counts[:distinct].copy()


@njit(cache=True, nogil=True)
def class_sums(keys, counts, shifts, masks, leaves, logs, starts, sizes):
    """Sum over the kept classes of a node, for each k.

    `leaves` are those under the labels of the node's levels, column after column, between `starts`;
    `logs` are the log10 of their shares. `sizes` are the k, in ascending order.

    Returns
    -------
    records : ndarray of int64, shape (3, k)
        Of the kept classes: their records, their number, the sum of their squares.
    products : ndarray of float64, shape (2, k)
        Sums over kept records of the product of leaves, and of the sum of logs.
    covered : ndarray of float64, shape (k, columns)
        Sum over kept records of the leaves under their label.
    """
    d, most = shifts.size, sizes.size
    records, products = np.zeros((3, most + 1), np.int64), np.zeros((2, most + 1))
    covered = np.zeros((most + 1, d))
    for c in range(keys.size):
        count, bucket = counts[c], _bucket(sizes, counts[c])
        product, log = 1.0, 0.0
        for a in range(d):
            label = starts[a] + np.int64((keys[c] >> shifts[a]) & masks[a])
            product *= leaves[label]
            log += logs[label]
            covered[bucket, a] += count * leaves[label]
        records[0, bucket] += count
        records[1, bucket] += 1
        records[2, bucket] += count * count
        products[0, bucket] += count * product
        products[1, bucket] += count * log
    for b in range(most - 1, -1, -1):
        records[:, b] += records[:, b + 1]
        products[:, b] += products[:, b + 1]
        covered[b] += covered[b + 1]
    return records[:, 1:], products[:, 1:], covered[1:]


@njit(cache=True, nogil=True)
def suppressed_entropy(keys, counts, shifts, masks, starts, sizes):
    """Sum over the labels of suppressed records -m log2(m / suppressed), by k and column."""
    d, most = shifts.size, sizes.size
    held = np.zeros((most, starts[d]), np.int64)
    gone = np.zeros(most, np.int64)
    for c in range(keys.size):
        bucket = _bucket(sizes, counts[c])
        if bucket < most:
            gone[bucket] += counts[c]
            for a in range(d):
                held[bucket, starts[a] + np.int64((keys[c] >> shifts[a]) & masks[a])] += counts[c]
    entropy = np.zeros((most, d))
    for k in range(most):
        if k:
            held[k] += held[k - 1]
            gone[k] += gone[k - 1]
        for a in range(d):
            for label in range(starts[a], starts[a + 1]):
                m = held[k, label]
                if m > 0:
                    entropy[k, a] -= m * np.log2(m / gone[k])
    return entropy


@inner
def _bucket(sizes, count):
    """Return for how many of the sizes, the smallest first, a class is kept."""
    bucket = sizes.size
    while bucket > 0 and sizes[bucket - 1] > count:
        bucket -= 1
    return bucket
