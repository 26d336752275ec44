"""The refinement never raises the sum of squares, keeps its sizes, and finds small optima."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels import refine
from discreet.kernels.refine import search
from tests.examples import examples


def squares(points, labels):
    return sum(
        ((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum()
        for g in np.unique(labels)
    )


def start(n, k):
    """Groups of k in the order of rows, the last with what is left."""
    return np.minimum(np.arange(n) // k, n // k - 1).astype(np.int64)


def least(points, k, units=None):
    """The optimum, by dynamic programming over the sets of records that are grouped."""
    many, cost = {}, {}
    for some in range(1 << len(points)):
        rows = [i for i in range(len(points)) if some >> i & 1]
        many[some] = len(rows) if units is None else len({units[i] for i in rows})
        if many[some] >= k:
            cost[some] = squares(points[rows], np.zeros(len(rows)))
    n = len(points)
    best = {0: 0.0}
    for done in range(1, 1 << n):
        first = done & -done
        found, some = np.inf, done
        while some:
            small = units is not None or some.bit_count() <= 2 * k - 1
            if some & first and k <= many[some] and small and done ^ some in best:
                found = min(found, best[done ^ some] + cost[some])
            some = (some - 1) & done
        if np.isfinite(found):
            best[done] = found
    return best[(1 << n) - 1]


@given(
    st.integers(2, 80),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(0, 2**63),
    st.booleans(),
)
@examples(60)
def test_the_sum_of_squares_never_rises_and_no_group_is_too_small(n, k, p, seed, ties):
    k = min(k, n)
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (n, p)).astype(float) if ties else rng.lognormal(size=(n, p))
    labels = start(n, k)
    groups, before = labels.max() + 1, squares(points, labels)
    for step in range(3):
        seed_of_step = np.uint64(seed + step)
        groups, gained = search(points, labels, groups, k, 5, 10, seed_of_step, None)
        after = squares(points, labels)
        assert after <= before * (1 + 1e-12)
        assert before - after == pytest.approx(gained, abs=1e-9 * before)
        before = after
        sizes = np.bincount(labels, minlength=groups)
        assert len(sizes) == groups
        assert k <= sizes.min()
        assert sizes.max() <= max(2 * k - 1, k + n % k)


@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3), (10, 3), (11, 4)])
def test_small_tables_reach_the_optimum(n, k):
    for seed in range(4):
        points = np.random.default_rng(seed).lognormal(size=(n, 2))
        labels = start(n, k)
        search(points, labels, labels.max() + 1, k, 200, 30, np.uint64(seed), None)
        assert squares(points, labels) == pytest.approx(least(points, k), rel=1e-9)


@given(st.integers(1, 4), st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**62))
@examples(60)
def test_no_group_falls_under_k_units(k, several, repeats, seed):
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(k * several), rng.integers(1, repeats + 1, k * several))
    points = rng.normal(size=(k * several, 2))[units] + rng.normal(size=(len(units), 2)) / 2
    labels = units // k
    groups, before = several, squares(points, labels)
    for step in range(3):
        groups, gained = search(points, labels, groups, k, 5, 10, np.uint64(seed + step), units)
        after = squares(points, labels)
        assert after <= before * (1 + 1e-12)
        assert before - after == pytest.approx(gained, abs=1e-9 * before)
        before = after
        assert set(labels) == set(range(groups))
        assert min(len(set(units[labels == g])) for g in range(groups)) >= k


@pytest.mark.parametrize(("n", "k"), [(9, 2), (10, 2), (11, 3)])
def test_small_tables_with_units_reach_the_optimum(n, k):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        points, units = rng.lognormal(size=(n, 2)), np.arange(n) % (3 * k)
        labels = np.zeros(n, dtype=np.int64)
        labels[units >= k] = 1
        search(points, labels, 2, k, 400, 30, np.uint64(seed), units)
        assert squares(points, labels) == pytest.approx(least(points, k, units), rel=1e-9)


def test_units_count_among_the_records_of_large_groups_that_keep_their_place():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(2000, 2))
    labels = (np.arange(2000) >= 1000).astype(np.int64)
    units = np.arange(2000) % 500
    before = squares(points, labels)
    search(points, labels, 2, 450, 100, 20, np.uint64(1), units)
    assert squares(points, labels) < 0.9 * before
    assert min(len(set(units[labels == g])) for g in (0, 1)) >= 450


def test_the_same_seed_gives_the_same_groups():
    points = np.random.default_rng(1).normal(size=(300, 3))
    found = []
    for seed in (7, 7, 8):
        labels = start(300, 4)
        search(points, labels, 75, 4, 40, 20, np.uint64(seed), None)
        found.append(labels.tolist())
    assert found[0] == found[1] != found[2]


def test_groups_that_are_too_large_to_take_apart_exchange_records_at_their_border():
    assert refine._MOST_RECORDS < 1000
    rng = np.random.default_rng(2)
    points = rng.normal(size=(2000, 2))
    labels = (np.arange(2000) >= 1000).astype(np.int64)
    before = squares(points, labels)
    search(points, labels, 2, 900, 400, 20, np.uint64(1), None)
    # Two halves of a normal cloud: the best cut runs through its centre.
    assert np.bincount(labels).min() >= 900
    best = before * (1 - 1 / np.pi)
    assert squares(points, labels) == pytest.approx(best, rel=0.02)


def test_far_from_zero():
    points = 1e9 + 1e-3 * np.random.default_rng(3).normal(size=(200, 2))
    labels = start(200, 4)
    before = squares(points - 1e9, labels)
    _, gained = search(points - 1e9, labels, 50, 4, 100, 20, np.uint64(1), None)
    assert gained == pytest.approx(before - squares(points - 1e9, labels), rel=1e-9)
    assert gained > before / 2
