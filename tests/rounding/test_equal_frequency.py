import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.rounding import EqualFrequency


@given(values=st.lists(st.integers(0, 30), min_size=1, max_size=40), c=st.integers(1, 8))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bins_lie_between_numpys_quantiles(values, c):
    x = np.array(values, dtype=float)
    method = EqualFrequency(c).fit(x.reshape(-1, 1))
    # Halves, quarters and so on of whole numbers; rounded, so that a quantile equals its value.
    breaks = np.unique(np.round(np.quantile(x, np.linspace(0, 1, c + 1)), 9))
    bins = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, max(0, len(breaks) - 2))
    assert method.group_sizes_["x0"].tolist() == np.unique(bins, return_counts=True)[1].tolist()


def test_coinciding_quantiles_give_fewer_bins_and_are_told():
    x = [[1.0], [2.0], [2.0], [2.0], [2.0], [2.0], [3.0]]
    with pytest.warns(
        UserWarning, match="'x0' gets 2 points, not 3: frequent values make its quantiles coincide"
    ):
        method = EqualFrequency(3).fit(x)
    assert method.n_points_ == {"x0": 2}


def test_equal_values_share_a_bin():
    x = np.array([[1.0], [1.0], [1.0], [1.0], [2.0], [3.0]])
    out = EqualFrequency(2).fit_transform(x).ravel()
    assert len(set(out[:4])) == 1
