"""Pattern counts against a matrix of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.kernels.agreement import best_is_own, count_patterns, intervals, prefixes

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


SHAPES = [(1, 2), (3, 2), (7, 2), (1, 4), (3, 5), (5, 3), (9, 2), (4, 5), (6, 3)]
STRIDES = [64, 70, 1000]


@pytest.mark.parametrize(
    ("n", "stride", "p", "levels"),
    [(n, stride, *shape) for n in (1, 64, 65) for stride in STRIDES for shape in SHAPES]
    # All pairs of many take longest: each shape has one stride there.
    + [(1100, STRIDES[i // 3], *shape) for i, shape in enumerate(SHAPES)],
)
def test_counts_and_links_against_all_pairs(n, stride, p, levels):
    rng = np.random.default_rng(n + stride + p)
    orders = np.array([rng.permutation(n) for _ in range(p)])
    # Both ends of one interval within both ends of the next wider.
    ends = np.sort(rng.integers(0, n + 1, size=(p, n, 2 * (levels - 1))), axis=2)
    spans = np.stack([ends[:, :, [v, -1 - v]] for v in range(levels - 1)], axis=1)
    # The levels of a category agree with the same originals.
    spans[0, 1:] = spans[0, :1]
    below = np.stack([prefixes(order, n, stride) for order in orders])
    pattern = np.zeros((n, n), dtype=int)
    for k in range(p):
        ranks = np.argsort(orders[k])
        for v in range(levels - 1):
            inside = (ranks >= spans[k, v, :, :1]) & (ranks < spans[k, v, :, 1:])
            pattern += inside * levels**k
    expected = np.bincount(pattern.ravel(), minlength=levels**p)
    halves = [
        count_patterns(spans, orders, below, stride, n, *part)
        for part in ((0, n // 2), (n // 2, n))
    ]
    np.testing.assert_array_equal(halves[0] + halves[1], expected)
    ranks = rng.integers(0, 4, levels**p)
    of_starts = [ranks.reshape(-1, levels**k).max(axis=0) for k in range(p + 1)]
    hits = np.zeros(n)
    best_is_own(spans, orders, below, stride, n, np.concatenate(of_starts), 0, n, hits)
    rank = ranks[pattern]
    best = rank == rank.max(axis=1, keepdims=True)
    np.testing.assert_allclose(hits, np.diag(best) / best.sum(axis=1))
