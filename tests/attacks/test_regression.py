"""Regression of original on released values: known answers, and nothing where nothing is told."""

import numpy as np
import pytest

from discreet.attacks import regression
from discreet.errors import BadInput


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


def test_messages():
    pay, released = noisy(20, 1)
    with pytest.raises(BadInput, match="secret = 'pay' is no numeric column"):
        regression(pay, released, "pay")
    with pytest.raises(BadInput, match="too few"):
        regression(pay[:4], released[:4], "x0")
    with pytest.raises(BadInput, match="'x1' is no numeric"):
        regression(pay, released, "x0", columns=["x1"])
