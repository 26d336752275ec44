"""Membership: who is found to be in the release."""

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import membership
from discreet.attacks.membership import WRONG, area_under, gain
from discreet.errors import BadInput
from tests.attacks.people import independent, mixed


@pytest.fixture
def people():
    return mixed(900, np.random.default_rng(1))


def test_in_the_table_itself_everybody_is_found(people):
    found = membership(people[:600], people[:600], holdout=people[600:])
    assert found.attack.value > 0.95
    assert found.detail["area"] > 0.99
    assert found.control.value == pytest.approx(WRONG)


def test_independent_rows_tell_nobody(people):
    released = independent(people[:600], np.random.default_rng(2))
    found = membership(people[:600], released, holdout=people[600:])
    assert found.interval[0] <= 0 <= found.interval[1]
    low, high = found.detail["area_interval"]
    assert low <= 0.5 <= high


def test_a_release_that_tells_nothing_gives_the_guess(people):
    released = people[:600].assign(**dict.fromkeys(people, "*"))
    found = membership(people[:600], released, holdout=people[600:])
    assert found.excess == pytest.approx(0, abs=1e-12)
    assert found.detail["area"] == 0.5


def test_without_a_holdout_nobody_can_be_told_apart(people):
    with pytest.raises(BadInput, match="membership needs a holdout"):
        membership(people, people, holdout=None)


def test_the_area_is_the_share_of_pairs():
    own, other = np.array([3.0, 1, 2]), np.array([0.0, 2])
    pairs = [(a > b) + (a == b) / 2 for a in own for b in other]
    assert area_under(own, other)[0] == pytest.approx(np.mean(pairs))


def test_of_equal_scores_so_many_are_found_that_one_in_a_hundred_is_wrong():
    """Half of 200 others are as high as the best: 2 of these 100 are allowed, 2 % of all as high."""
    own, other = np.repeat([1.0, 0.0], [60, 40]), np.repeat([1.0, 0.0], [100, 100])
    assert gain(own, other, np.random.default_rng(1))[0] == pytest.approx(0.6 * 0.02)


def test_the_holdout_may_have_other_types(people):
    text = pd.DataFrame(people[600:].assign(age=people["age"][600:].astype(float)))
    assert membership(people[:600], people[:600], holdout=text).attack.value > 0.9


def test_that_nobody_is_found_is_no_proof_that_chance_finds_none():
    """Of 300 people, chance finds none in a hundred with 5 %: 0 is not ruled out by that."""
    scores = np.arange(300.0)
    found, (low, high) = gain(scores - 1000, scores, np.random.default_rng(1))
    assert found == 0
    assert low == -0.01
    # Exact for a known threshold; one that the holdout sets is more uncertain.
    assert high > 1 - 0.025 ** (1 / 300) - 0.011 > 0
