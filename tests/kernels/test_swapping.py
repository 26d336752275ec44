"""Rank swapping against a walk over lists of free ranks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.draws import Draws
from discreet.kernels.swapping import drawn_partners, swap_partners, swap_rows


def plain_partners(n, window, draws):
    partner = list(range(n))
    free = set(range(n))
    for i in range(n):
        if i not in free:
            continue
        free.remove(i)
        ahead = range(i + 1, min(i + window, n - 1) + 1)
        if not free.intersection(ahead):
            continue
        attempt, j = 0, i
        while j not in free:
            word = int(draws.words(np.array([i]), stream=attempt)[0])
            j = ahead[word * len(ahead) >> 64]
            attempt += 1
        free.remove(j)
        partner[i], partner[j] = j, i
    return partner


@given(n=st.integers(0, 60), window=st.integers(1, 70), seed=st.integers(0, 2**32))
def test_equals_the_plain_walk(n, window, seed):
    draws = Draws(seed, "a")
    assert swap_partners(n, window, *draws.key).tolist() == plain_partners(n, window, draws)


@given(n=st.integers(0, 500), window=st.integers(1, 600), seed=st.integers(0, 2**32))
def test_pairs_within_the_window_and_at_most_one_left(n, window, seed):
    partner, ranks = swap_partners(n, window, *Draws(seed, "a").key), np.arange(n)
    assert (partner[partner] == ranks).all()
    assert (np.abs(partner - ranks) <= window).all()
    assert (partner == ranks).sum() == n % 2


def test_the_first_rank_draws_its_partner_uniformly():
    window, trials = 6, 6000
    found = [swap_partners(20, window, *Draws(s, "a").key)[0] for s in range(trials)]
    counts = np.bincount(found, minlength=window + 1)[1:]
    assert counts.sum() == trials
    # Five standard deviations of a binomial count.
    assert np.abs(counts - trials / window).max() < 5 * np.sqrt(trials / window * 5 / 6)


def test_a_later_rank_draws_uniformly_among_the_free_ones():
    # Rank 0 of four took 2, so rank 1 has only 3 left; or it took 3, so that 2 is left; and so on.
    trials = 6000
    found = [tuple(swap_partners(4, 3, *Draws(s, "b").key)) for s in range(trials)]
    pairings = {(1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)}
    assert set(found) == pairings
    for pairing in pairings:
        assert abs(found.count(pairing) - trials / 3) < 5 * np.sqrt(trials * 2 / 9)


def plain_drawn(n, m, draws):
    partner, free = list(range(n)), list(range(n))
    while len(free) > 1:
        i = free.pop(0)
        u = draws.uniform(np.array([i]))[0]
        k = int(-m * math.log(u + (1 - u) * math.exp(-len(free) / m)))
        j = free.pop(min(k, len(free) - 1))
        partner[i], partner[j] = j, i
    return partner


@given(n=st.integers(0, 60), m=st.floats(0.1, 200), seed=st.integers(0, 2**32))
def test_drawn_windows_equal_the_plain_walk(n, m, seed):
    draws = Draws(seed, "a")
    assert drawn_partners(n, m, *draws.key).tolist() == plain_drawn(n, m, draws)


def test_with_drawn_windows_any_ranks_may_be_swapped_the_near_ones_most():
    n, m, trials = 6, 1.5, 20_000
    found = np.array([drawn_partners(n, m, *Draws(s, "a").key) for s in range(trials)])
    # All 15 pairings of six.
    assert len(np.unique(found, axis=0)) == 15
    expected = np.exp(-np.arange(1, n) / m)
    shares = np.bincount(found[:, 0], minlength=n)[1:] / trials
    assert np.abs(shares - expected / expected.sum()).max() < 0.02


def test_moves_with_drawn_windows_are_logistic_and_as_long_as_with_fixed_ones():
    n, window = 200_001, 2_000
    m = (2 - 1 / math.log(2)) / (2 * math.log(2)) * window
    partner = drawn_partners(n, m, *Draws(5, "a").key)
    moves = partner - np.arange(n)
    assert (partner[partner] == np.arange(n)).all()
    assert (moves == 0).sum() == 1
    for share in (0.05, 0.25, 0.75, 0.99):
        assert np.quantile(moves, share) == pytest.approx(
            m * math.log(share / (1 - share)), rel=0.05
        )
    fixed = swap_partners(n, window, *Draws(5, "a").key) - np.arange(n)
    assert np.abs(moves).mean() == pytest.approx(np.abs(fixed).mean(), rel=0.02)
    assert np.abs(moves).max() > 3 * window


@pytest.mark.parametrize("share", [0.001, 0.15, 1.0])
def test_a_large_walk_ends(share):
    n = 200_001
    partner = swap_partners(n, int(share * n), *Draws(1, "c").key)
    assert (partner == np.arange(n)).sum() == 1


@given(cells=st.lists(st.integers(-3, 3).map(float) | st.just(np.nan), max_size=30))
def test_rows_get_the_values_of_their_partners(cells):
    x = np.array(cells, dtype=np.float64)
    rows = np.argsort(x, kind="stable")[: int((~np.isnan(x)).sum())]
    partner = swap_partners(len(rows), 5, *Draws(1, "d").key)
    new, sources = swap_rows(x[rows], rows.astype(np.int32), partner, len(x))
    expected = np.arange(len(x))
    expected[rows] = rows[partner]
    assert sources.tolist() == expected.tolist()
    np.testing.assert_array_equal(new, x[expected])
