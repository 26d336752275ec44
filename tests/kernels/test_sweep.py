"""The sums over a node's classes, against numpy on the records themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.sweep import class_sums, climb, suppressed_entropy

SHIFTS, MASKS = np.array([0, 3], np.uint64), np.array([7, 7], np.uint64)
rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=60)


def collapsed(records):
    keys, counts = np.unique([a + 8 * b for a, b in records], return_counts=True)
    return keys.astype(np.uint64), counts


@given(rows, st.lists(st.integers(0, 4), min_size=5, max_size=5))
def test_climbing_merges_what_becomes_equal(records, above):
    keys, counts = climb(*collapsed(records), np.array(above), SHIFTS[0], MASKS[0])
    wanted = collapsed([(above[a], b) for a, b in records])
    order = np.argsort(keys)
    np.testing.assert_array_equal(keys[order], wanted[0])
    np.testing.assert_array_equal(counts[order], wanted[1])


@given(rows, st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True))
def test_sums_are_those_of_the_records(records, sizes):
    sizes = np.array(sorted(sizes))
    leaves, starts = np.array([1.0, 2, 3, 1, 4, 2, 1, 5]), np.array([0, 5, 8])
    domain = np.array([11.0, 8.0])
    logs = np.log10(leaves / np.repeat(domain, [5, 3]))
    found = class_sums(*collapsed(records), SHIFTS, MASKS, leaves, logs, starts, sizes)
    entropy = suppressed_entropy(*collapsed(records), SHIFTS, MASKS, starts, sizes)
    table = np.array(records)
    _, of_row, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    under = np.column_stack([leaves[table[:, 0]], leaves[5 + table[:, 1]]])
    for j, k in enumerate(sizes):
        kept_class, kept = counts >= k, (counts >= k)[of_row.ravel()]
        wanted = [kept.sum(), kept_class.sum(), (counts[kept_class] ** 2).sum()]
        np.testing.assert_array_equal(found[0][:, j], wanted)
        np.testing.assert_allclose(found[1][0, j], under[kept].prod(axis=1).sum())
        share = (under[kept] / domain).prod(axis=1)
        np.testing.assert_allclose(found[1][1, j], np.log10(share).sum(), atol=1e-9)
        np.testing.assert_allclose(found[2][j], under[kept].sum(axis=0))
        for a in range(2):
            m = np.bincount(table[~kept, a])
            m = m[m > 0]
            np.testing.assert_allclose(entropy[j, a], -(m * np.log2(m / m.sum())).sum(), atol=1e-9)
