import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.utility import il1s

cells = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=20))
@pytest.mark.filterwarnings("ignore:il1s leaves out")
def test_against_a_slow_twin(pairs):
    both = [(a, b) for a, b in pairs if a == a and b == b]
    expected = 0.0
    if len(both) > 1:
        mean = math.fsum(a for a, _ in both) / len(both)
        sd = math.sqrt(math.fsum((a - mean) ** 2 for a, _ in both) / (len(both) - 1))
        if np.std([a for a, _ in both], ddof=1) > 0:
            expected = math.fsum(abs(a - b) for a, b in both) / (math.sqrt(2) * sd)
    x, y = ([[pair[i]] for pair in pairs] for i in (0, 1))
    assert il1s(x, y) == pytest.approx(expected, rel=1e-9)


def test_normalized_and_by_column():
    x, y = [[1.0, 1.0], [3.0, 5.0]], [[2.0, 1.0], [3.0, 5.0]]
    detail = il1s(x, y, normalize=True, detail=True)
    assert detail.columns == pytest.approx({"x0": 0.25, "x1": 0.0})
    assert detail.value == pytest.approx(0.125)


def test_a_constant_column_is_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="il1s leaves out column 'x0', which is constant"):
        assert il1s([[1.0], [1.0]], [[2.0], [2.0]]) == 0
