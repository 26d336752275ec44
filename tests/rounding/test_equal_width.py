import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.rounding import EqualWidth


@given(values=st.lists(st.integers(0, 1000), min_size=1, max_size=40), c=st.integers(1, 8))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_value_is_in_the_bin_that_whole_numbers_give(values, c):
    method = EqualWidth(c).fit(np.array(values, dtype=float).reshape(-1, 1))
    low, width = min(values), max(values) - min(values)
    # Bin i is low + width * [i, i + 1) / c, the last one closed.
    bins = [min((v - low) * c // width, c - 1) if width else 0 for v in values]
    expected = [bins.count(b) for b in sorted(set(bins))]
    assert method.group_sizes_["x0"].tolist() == expected


def test_empty_bins_get_no_point_and_are_told():
    with pytest.warns(UserWarning, match="'x0' gets 2 points, not 5: the other bins are empty"):
        method = EqualWidth(5).fit([[0.0], [0.5], [0.7], [0.8], [0.9], [10.0]])
    assert method.n_points_ == {"x0": 2}


def test_points_by_column():
    x = np.arange(20.0).reshape(10, 2)
    assert EqualWidth({"x0": 2, "x1": 5}).fit(x).n_points_ == {"x0": 2, "x1": 5}
