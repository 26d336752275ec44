"""The nearest centre against distances that numpy computes one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.nearest import nearest_centre


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_the_nearest_is_numpys_and_the_first_of_several(n, c, p, seed):
    rng = np.random.default_rng(seed)
    # Whole numbers, so that many distances are equal and exact.
    points, centres = (rng.integers(-2, 3, (m, p)).astype(float) for m in (n, c))
    labels, squares = np.empty(n, np.int64), np.empty(n)
    nearest_centre(points, np.ascontiguousarray(centres.T), labels, squares)
    far = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    assert labels.tolist() == far.argmin(axis=1).tolist()
    assert squares.tolist() == far.min(axis=1).tolist()
