"""Pattern counts against a matrix of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.kernels.agreement import count_patterns, intervals, prefixes

values = st.floats(-4, 4) | st.integers(-4, 4).map(float)


@given(
    arrays(float, st.integers(0, 30), elements=values),
    arrays(float, st.integers(1, 10), elements=values | st.just(np.nan)),
    st.sampled_from([0.0, 0.1, 0.25, 1.0]),
)
def test_intervals_hold_what_the_plain_test_holds(ordered, queries, tolerance):
    ordered = np.sort(ordered)
    found = intervals(ordered, queries, tolerance)
    for (a, b), query in zip(found, queries, strict=True):
        agrees = np.zeros(len(ordered), dtype=bool)
        agrees[a:b] = True
        np.testing.assert_array_equal(agrees, np.abs(ordered - query) <= tolerance)


@pytest.mark.parametrize("n", [1, 64, 65, 500])
@pytest.mark.parametrize("stride", [64, 70, 1000])
@pytest.mark.parametrize("p", [1, 3, 7])
def test_counts_against_all_pairs(n, stride, p):
    rng = np.random.default_rng(n + stride + p)
    orders = np.array([rng.permutation(n) for _ in range(p)])
    ends = rng.integers(0, n + 1, size=(p, n, 2))
    spans = np.sort(ends, axis=2)
    below = np.stack([prefixes(order, n, stride) for order in orders])
    pattern = np.zeros((n, n), dtype=int)
    for k in range(p):
        ranks = np.argsort(orders[k])
        inside = (ranks >= spans[k, :, :1]) & (ranks < spans[k, :, 1:])
        pattern |= inside.astype(int) << k
    expected = np.bincount(pattern.ravel(), minlength=1 << p)
    halves = [
        count_patterns(spans, orders, below, stride, n, *part)
        for part in ((0, n // 2), (n // 2, n))
    ]
    np.testing.assert_array_equal(halves[0] + halves[1], expected)
