import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet import draws
from discreet.draws import PREDICTABLE_BELOW, Draws, secret_seed

ROWS = np.arange(200_000)


def numpy_words(key: np.ndarray, rows: list[int], stream: int) -> list[int]:
    """numpy's own Philox, which counts up before its first block."""
    whole = int(key[0]) | int(key[1]) << 64
    words = []
    for row in rows:
        counter = (row | stream << 64) - 1
        generator = np.random.Philox(key=whole, counter=counter % 2**256)
        words.append(int(generator.random_raw(1)[0]))
    return words


@given(
    seed=st.integers(0, 2**128 - 1),
    rows=st.lists(st.integers(0, 2**64 - 1), max_size=5),
    stream=st.integers(0, 2**32),
)
def test_words_are_those_of_numpys_philox(seed, rows, stream):
    draws = Draws(seed, 1, "income")
    ours = draws.words(np.array(rows, dtype=np.uint64), stream)
    assert ours.tolist() == numpy_words(draws._key, rows, stream)


def test_uniform_and_normal_have_their_distributions():
    draws = Draws(7, 1, "income")
    uniform, normal = draws.uniform(ROWS), draws.normal(ROWS)
    assert uniform.min() > 0
    assert uniform.max() < 1
    # One draw of a fixed seed: the p-value is what it is, not a matter of luck at every run.
    assert stats.kstest(uniform, "uniform").pvalue > 0.01
    assert stats.kstest(normal, "norm").pvalue > 0.01
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) < 4 / np.sqrt(len(ROWS))


@given(st.permutations(range(50)), st.integers(1, 49))
def test_a_draw_depends_on_its_row_alone(order, cut):
    draws = Draws(11, 2, "age")
    whole = draws.normal(np.arange(50))
    order = np.array(order)
    pieces = np.concatenate([draws.normal(order[:cut]), draws.normal(order[cut:])])
    assert (pieces == whole[order]).all()


def test_threads_give_the_same_draws():
    from concurrent.futures import ThreadPoolExecutor

    draws = Draws(5, 1, "x")
    whole = draws.uniform(ROWS)
    for threads in (1, 2, 7):
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(draws.uniform, np.array_split(ROWS, 3 * threads)))
        assert (np.concatenate(parts) == whole).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [((1, 1, "a"), (2, 1, "a")), ((1, 1, "a"), (1, 2, "a")), ((1, 1, "a"), (1, 1, "b")),
     ((1, 12, "x"), (1, 1, "2x")), ((12, 3), (1, 23))],
)  # fmt: skip
def test_other_scopes_are_independent(one, other):
    a, b = Draws(*one).uniform(ROWS), Draws(*other).uniform(ROWS)
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(len(ROWS))
    assert (a != b).mean() > 0.999


def test_streams_of_a_row_are_independent():
    draws = Draws(3, 1, "a")
    a, b = draws.uniform(ROWS, 0), draws.uniform(ROWS, 1)
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(len(ROWS))


def test_permutation_is_one_and_uniform():
    assert sorted(Draws(1, "row order").permutation(1000)) == list(range(1000))
    first = [Draws(seed, "row order").permutation(4)[0] for seed in range(4000)]
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 0.001


def test_secret_seeds_are_never_predictable(monkeypatch):
    monkeypatch.setattr(draws, "secrets", secrets)  # Tests have others: tests/conftest.py.
    seeds = {secret_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(PREDICTABLE_BELOW <= 2**127 <= seed < 2**128 for seed in seeds)


def test_random_state_as_scikit_learn_takes_it():
    rows = np.arange(5)
    same = [Draws.from_random_state(s, "x").uniform(rows) for s in (4, np.int64(4), 4)]
    assert (same[0] == same[1]).all()
    assert (same[0] == same[2]).all()
    state = [Draws.from_random_state(np.random.RandomState(4), "x").uniform(rows) for _ in "ab"]
    assert (state[0] == state[1]).all()
    fresh = [Draws.from_random_state(None, "x").uniform(rows) for _ in "ab"]
    assert (fresh[0] != fresh[1]).all()
