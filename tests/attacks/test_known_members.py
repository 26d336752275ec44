"""Known members: the last value of a group by subtraction."""

import numpy as np
import pytest

from discreet.attacks import known_members
from discreet.microaggregation import Microaggregation
from discreet.perturbation import Noise


def test_the_last_value_by_subtraction():
    """Groups 10, 11, 15 (mean 12) and 90, 95, 97 (mean 94): 3 * 12 - 10 - 11 = 15, and so on."""
    pay = np.array([[10.0], [11.0], [15.0], [90.0], [95.0], [97.0]])
    groups = Microaggregation(k=3)
    released = groups.fit_transform(pay)
    assert released.ravel() == pytest.approx([12, 12, 12, 94, 94, 94])
    found = known_members(pay, released, [(groups, ["x0"])])
    assert found.columns == {"x0": 1.0}
    assert "for 100 % of the values of 'x0'" in found.said
    # A mean that was rounded to hundreds tells no more than hundreds.
    assert known_members(pay, np.round(released, -2), [(groups, ["x0"])]).value < 1


def test_noise_has_no_members():
    pay = np.arange(20.0)[:, None]
    noise = Noise(scale=0.1, random_state=1)
    found = known_members(pay, noise.fit_transform(pay), [(noise, ["x0"])])
    assert found.columns == {}
    assert found.value == 0
