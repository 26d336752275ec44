"""Rates, intervals and the excess."""

import json

import numpy as np
import pytest

from discreet.attacks._excess import Rate, concluded, difference, paired


def test_wilson_by_its_definition():
    # The ends are the rates from which the observed one is just 1.96 standard deviations off.
    for successes, of in [(1, 10), (30, 200), (0, 20), (20, 20)]:
        for end in Rate(successes, of).interval:
            off = abs(successes / of - end)
            assert off == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / of), abs=1e-6)


def test_wilson_against_a_table():
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for hits, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)):  # fmt: skip
        assert Rate(hits, n).interval == pytest.approx((low, high), abs=5e-5)


def test_no_attempts_say_nothing():
    assert Rate(0, 0).value == 0
    assert Rate(0, 0).interval == (0, 1)


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        # Newcombe (1998, Statistics in Medicine 17:873), table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((0, 10), (0, 20), -0.1611, 0.2775),
    ],
)
def test_the_difference_of_two_rates_as_published(one, other, low, high):
    assert difference(Rate(*one), Rate(*other)) == pytest.approx((low, high), abs=6e-5)


def test_a_guess_that_is_the_same_for_all_shifts_the_interval_of_the_rate():
    outcomes = np.repeat([1.0, 0.0], [30, 170])
    low, high = Rate(30, 200).interval
    assert paired(outcomes, np.full(200, 0.1)) == pytest.approx((low - 0.1, high - 0.1))


def test_no_interval_goes_beyond_all_or_nothing():
    assert paired(np.ones(5), np.array([0, 0, 0, 0, 0.4]))[1] == 1
    assert paired(np.zeros(5), np.array([1, 1, 1, 1, 0.6]))[0] == -1


def test_a_guess_that_is_always_as_good_leaves_no_doubt():
    outcomes = np.repeat([1.0, 0.0], [60, 140])
    low, high = paired(outcomes, outcomes)
    assert -0.01 < low <= 0 <= high < 0.01


def test_an_interval_holds_its_excess_and_is_plain_data():
    draw = np.random.default_rng(0)
    for n in (1, 5, 300):
        for control in (None, draw.random(7) < 0.5):
            found = concluded("x", draw.random(n) < 0.4, draw.random(n), control, did="hits")
            assert found.interval[0] <= found.excess <= found.interval[1]
            assert found.against == ("guess" if control is None else "holdout")
            assert json.loads(json.dumps(found.to_dict()))["attack"]["of"] == n


def test_without_a_holdout_it_is_said_what_cannot_be_concluded():
    found = concluded("x", np.ones(10), 0.5, did="hits")
    assert found.control is None
    assert found.said.endswith(
        "without a holdout, what it says of single people in it cannot be told apart from what it "
        "says of everybody."
    )


@pytest.mark.parametrize("n", [60, 400])
def test_intervals_cover_the_truth(n):
    """2,000 draws of a rate with its guess, which succeed together more often than by chance."""
    draw = np.random.default_rng(n)
    covered = 0
    for _ in range(2000):
        expected = draw.choice([0.1, 0.6], n)
        outcomes = draw.random(n) < 0.2 + expected * 0.5
        low, high = paired(outcomes.astype(float), expected)
        covered += low <= 0.2 - 0.35 / 2 <= high
    assert 0.93 <= covered / 2000 <= 0.97


@pytest.mark.parametrize("n", [6, 20, 100])
def test_intervals_of_few_targets_cover_the_truth(n):
    """As in singling out by one column: a guess isolates some, and the attack nearly all of these."""
    draw = np.random.default_rng(n)
    covered = 0
    for _ in range(2000):
        expected = np.where(draw.random(n) < 0.3, 0.37, 0.0)
        outcomes = draw.random(n) < np.where(expected > 0, 0.9, 0.02)
        low, high = paired(outcomes.astype(float), expected)
        covered += low <= 0.3 * 0.9 + 0.7 * 0.02 - 0.3 * 0.37 <= high
    assert 0.93 <= covered / 2000 <= 0.97
