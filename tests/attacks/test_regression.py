"""Regression of original on released values: known answers, and nothing where nothing is told."""

import numpy as np
import pytest

from discreet.attacks import regression
from discreet.attacks.regression import _fitted
from discreet.errors import BadInput
from discreet.risk._guesses import densest


def noisy(n, noise, seed=1):
    rng = np.random.default_rng(seed)
    pay = rng.normal(size=(n, 1))
    return pay, pay + noise * rng.normal(size=pay.shape)


def test_regression_to_the_mean():
    """x + e with equal variances: the best line halves the released value, and its error is

    sqrt(1 - 1/2) = 0.71 standard deviations, where the released value's own is 1; the correlation
    of guess and value is sqrt(1/2) = 0.71 as well.
    """
    pay, released = noisy(40_000, 1.0)
    found = regression(pay, released, "x0", known=2000)
    assert found.detail["error"] == pytest.approx(np.sqrt(0.5), abs=0.01)
    assert found.detail["released_error"] == pytest.approx(1, abs=0.02)
    assert found.detail["correlation"] == pytest.approx(np.sqrt(0.5), abs=0.01)
    assert found.attack.of == 38_000


def test_what_is_released_as_it_is_is_guessed():
    pay, _ = noisy(400, 0)
    found = regression(pay, pay * 2 + 5, "x0")
    assert found.attack.value == 1
    assert found.detail["released"] < 0.2


def test_nothing_is_told_by_values_that_have_nothing_to_do_with_it():
    pay, _ = noisy(20_000, 0)
    found = regression(pay, noisy(20_000, 0, seed=2)[0], "x0", known=2000)
    assert found.detail["error"] == pytest.approx(1, abs=0.02)
    assert found.interval[0] <= 0 <= found.interval[1] + 0.005
    assert "without a holdout" in found.said


def test_nulls_of_other_columns_cost_no_record():
    """A column that is null everywhere or nearly so is taken as its mean, and tells nothing."""
    pay, released = noisy(2000, 0.3)
    alone = regression(pay, released, "x0")
    nothing = np.full((2000, 2), np.nan)
    nothing[::40, 1] = np.random.default_rng(5).normal(size=50)
    beside = [np.hstack([table, nothing]) for table in (pay, released)]
    found = regression(*beside, "x0")
    assert found.attack.of == alone.attack.of == 1800
    assert found.detail["error"] == pytest.approx(alone.detail["error"], abs=0.03)
    # A record whose own value is null, before or after, cannot be judged.
    beside[1][:100, 0] = np.nan
    assert regression(*beside, "x0").attack.of == 1700


def test_messages():
    pay, released = noisy(20, 1)
    with pytest.raises(BadInput, match="columns is empty"):
        regression(pay, released, "x0", columns=[])
    with pytest.raises(BadInput, match="known must be a whole number"):
        regression(pay, released, "x0", known=0)
    with pytest.raises(BadInput, match="secret = 'pay' is no numeric column"):
        regression(pay, released, "pay")
    with pytest.raises(BadInput, match="too few"):
        regression(pay[:4], released[:4], "x0")
    with pytest.raises(BadInput, match="'x1' is no numeric"):
        regression(pay, released, "x0", columns=["x1"])


def coverage(times, n=700, known=200, width=0.25):
    """How often the interval has the true excess, of the line and the middle that were learned.

    Both are made again from the known records, and tried on many people drawn anew.
    """
    covered = 0
    for seed in range(times):
        pay, released = noisy(n, 0.5, seed)
        found = regression(pay, released, "x0", known=known, width=width, random_state=seed)
        learned = np.random.default_rng(seed).permutation(n)[:known]
        others, told = noisy(20_000, 0.5, 10_000 + seed)
        half = width * np.std(pay, ddof=1)
        guess = _fitted(released[learned], pay[learned, 0], told)
        right = np.abs(guess - others[:, 0]) <= half
        middle = np.abs(others[:, 0] - densest(pay[learned, 0], half * (1 + 1e-9))) <= half
        low, high = found.interval
        covered += low <= right.mean() - middle.mean() <= high
    return covered / times


def test_the_interval_covers_the_true_excess():
    assert coverage(60) >= 0.88


@pytest.mark.slow
def test_the_interval_covers_the_true_excess_as_often_as_it_says():
    assert 0.93 <= coverage(500) <= 0.97
