"""Noise over several releases: means by hand, the root law, and consistent draws."""

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import averaging
from discreet.errors import BadInput


def test_two_releases_by_hand():
    """Pay 10, 20, 30, 40 (sd 12.91); errors +2, -2, +1, 0 and -2, +1, +1, 0.

    Means of the errors: 0, -0.5, 1, 0. Within 0.05 sd = 0.645 are 10, 20 and 40 by the means: 3 of
    4; by the first release 40 alone. Root mean squares: sqrt((9 + 6) / 8) = 1.369 for one release
    (squares 4, 4, 1, 0 and 4, 1, 1, 0), sqrt(1.25 / 4) = 0.559 for the means.
    """
    pay = pd.DataFrame({"pay": [10.0, 20, 30, 40]})
    one = pay.assign(pay=pay["pay"] + [2, -2, 1, 0])
    other = pay.assign(pay=pay["pay"] + [-2, 1, 1, 0])
    found = averaging(pay, [one, other])
    sd = np.std([10, 20, 30, 40], ddof=1)
    column = found.columns["pay"]
    assert column.one == pytest.approx(np.sqrt(15 / 8) / sd)
    assert column.mean == pytest.approx(np.sqrt(1.25 / 4) / sd)
    assert (found.attack.successes, found.guess.successes) == (3, 1)
    assert found.excess == 0.5
    assert "The mean of 2 releases is within 0.05 standard deviations of 75 %" in found.said


def test_independent_noise_falls_with_the_root():
    rng = np.random.default_rng(3)
    pay = rng.normal(size=(20_000, 1))
    releases = [pay + 0.3 * rng.normal(size=pay.shape) for _ in range(9)]
    column = averaging(pay, releases).columns["x0"]
    assert column.one == pytest.approx(0.3, rel=0.02)
    assert column.mean == pytest.approx(0.1, rel=0.03)


def test_the_same_release_twice_adds_nothing():
    rng = np.random.default_rng(3)
    pay = rng.normal(size=(500, 1))
    noisy = pay + 0.3 * rng.normal(size=pay.shape)
    found = averaging(pay, [noisy, noisy, noisy])
    assert found.excess == 0
    assert found.columns["x0"].mean == pytest.approx(found.columns["x0"].one)
    assert averaging(pay, [pay, pay]).columns == {}
    assert "No column" in averaging(pay, [pay, pay]).said


def test_nulls_are_left_out_and_one_release_is_refused():
    pay = pd.DataFrame({"pay": [10.0, 20, None, 40]})
    noisy = pd.DataFrame({"pay": [11.0, None, 3, 41]})
    assert averaging(pay, [noisy, noisy]).attack.of == 2
    with pytest.raises(BadInput, match="two or more releases"):
        averaging(pay, [noisy])
