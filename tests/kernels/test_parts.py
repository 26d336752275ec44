"""Passes over sorted values against numpy's own functions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.parts import (
    class_counts,
    distinct,
    part_means,
    resampled_means,
    spread,
)

values = st.lists(st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(values)
def test_distinct_values_are_numpys(values):
    found, counts = distinct(np.sort(np.array(values) + 0.0))
    expected, expected_counts = np.unique(np.array(values) + 0.0, return_counts=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(counts, expected_counts)


def test_nothing_is_distinct_in_nothing():
    found, counts = distinct(np.empty(0))
    assert found.size == counts.size == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=30))
def test_class_counts_are_a_cross_table(rows):
    rows = sorted(rows)
    values = sorted({value for value, _ in rows})
    counts = np.array([sum(value == v for value, _ in rows) for v in values])
    table = class_counts(counts, np.array([label for _, label in rows]), 3)
    assert table.tolist() == [[rows.count((v, label)) for label in range(3)] for v in values]


@given(values, st.data())
def test_means_and_points_part_by_part(values, data):
    ordered = np.sort(np.array(values) + 0.0)
    cuts = data.draw(st.sets(st.integers(1, len(values))))
    ends = np.array(sorted(cuts | {len(values)}))
    counts = data.draw(
        st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)).map(np.array)
    )
    means = part_means(ordered, counts, ends)
    slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    expected = [np.average(ordered[part], weights=counts[part]) for part in slices]
    np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-9)
    rows = np.random.default_rng(0).permutation(len(values)).astype(np.int32)
    new = spread(means, ends, rows, len(values) + 2)
    for part, mean in zip(slices, means, strict=True):
        assert (new[rows[part]] == mean).all()
    assert np.isnan(new[len(values) :]).all()


def test_means_far_from_zero_do_not_cancel():
    far = 1e9 + np.array([0.0, 1e-3, 2e-3])
    mean = part_means(far, np.ones(3, dtype=np.int64), np.array([3]))[0]
    assert abs(mean - far[1]) <= np.spacing(1e9)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_resampled_means_are_those_of_plain_picks(sizes, seed):
    rng = np.random.default_rng(seed)
    records = np.sort(rng.normal(size=sum(sizes)))
    needed = [-(-m * m // 2) for m in sizes]
    words = rng.integers(0, 2**64, sum(needed), dtype=np.uint64)
    starts, at = (np.cumsum([0, *counts[:-1]]) for counts in (sizes, needed))
    expected = []
    for start, m, first, count in zip(starts, sizes, at, needed, strict=True):
        own = words[first : first + count].tolist()
        halves = [half for word in own for half in (word & 0xFFFFFFFF, word >> 32)][: m * m]
        expected.append(np.mean([records[start + (half * m >> 32)] for half in halves]))
    found = resampled_means(records, starts, np.array(sizes), words, at)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
