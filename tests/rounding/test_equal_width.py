import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.rounding import EqualWidth
from discreet.rounding.equal_width import equal_width_ends
from discreet.table import summarise


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


values = st.integers(-9, 9).map(float) | st.floats(-1e9, 1e9, allow_subnormal=False)


@given(values=st.lists(values, min_size=1, max_size=40), c=st.integers(1, 200))
def test_bins_are_those_between_all_the_borders(values, c):
    summary = summarise(np.array(values))
    borders = np.linspace(summary.values[0], summary.values[-1], c + 1)[1:-1]
    ends = np.append(np.searchsorted(summary.values, borders), len(summary.values))
    assert equal_width_ends(summary, c).tolist() == np.unique(ends[ends > 0]).tolist()


def test_bins_narrower_than_float64_hold_one_value_each():
    assert EqualWidth(9).fit([[0.0], [5e-324], [1e-323]]).n_points_ == {"x0": 3}


def test_points_by_column():
    x = np.arange(20.0).reshape(10, 2)
    assert EqualWidth({"x0": 2, "x1": 5}).fit(x).n_points_ == {"x0": 2, "x1": 5}
