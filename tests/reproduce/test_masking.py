"""The rounding paper's way of masking, against its definition."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.reproduce.masking import RULE, coded, masked

tables = st.lists(st.tuples(st.integers(0, 30), st.integers(-90, 90)), min_size=12, max_size=40)


def frame(rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"]).astype(float)


def own_points(x: np.ndarray, c: int, lower: bool) -> list[float]:
    """Means of the parts between type-7 quantiles, c changed until these differ."""
    options = range(c, 0, -1) if lower else range(c, len(x))
    for size in options:
        breaks = np.quantile(x, np.arange(size + 1) / size)
        if (np.diff(breaks) > 0).all():
            break
    else:
        breaks = np.unique(np.quantile(x, np.arange(c + 1) / c))
    edges = [-np.inf, *breaks[1:-1], np.inf]
    parts = [x[(x >= low) & (x < high)] for low, high in pairwise(edges)]
    return [part.mean() for part in parts if len(part)]


@given(tables, st.integers(2, 6), st.booleans())
def test_equal_frequency_takes_the_nearest_point_of_all_columns(rows, c, raise_c):
    x = frame(rows)
    if x.nunique().min() < 2:
        return
    found = masked(x, "EFD", c, raise_c=raise_c).to_numpy()
    points = np.unique(
        np.concatenate([own_points(x[name].to_numpy(), c, not raise_c) for name in x])
    )
    gaps = np.abs(x.to_numpy()[:, :, None] - points)
    np.testing.assert_allclose(np.abs(x.to_numpy() - found), gaps.min(axis=2), atol=1e-9)


def test_equal_width_takes_points_of_another_column():
    x = pd.DataFrame({"a": [0.0, 1.0, 9.0, 10.0], "b": [4.0, 4.0, 6.0, 6.0]})
    # Own points: 0.5 and 9.5 in a, 4 and 6 in b.
    assert masked(x, "EWD", 2)["b"].tolist() == [4.0, 4.0, 6.0, 6.0]
    x["a"] = [0.0, 5.0, 9.0, 10.0]
    assert masked(x, "EWD", 2)["a"].tolist() == [0.0, 4.0, 8.0, 8.0]


def test_the_raw_rule_has_no_least_group():
    # 24 values: width 2 * 2 / 24^(1/3), range 1000, so many more classes than values and k = 1.
    x = pd.DataFrame({"a": [*np.arange(23) % 5, 1000.0]})
    pd.testing.assert_frame_equal(masked(x, "OMA", RULE), x)


def test_ties_are_split():
    x = pd.DataFrame({"a": [1.0, 2.0, 2.0, 3.0]})
    assert masked(x, "MDAV", 2)["a"].tolist() == [1.5, 1.5, 2.5, 2.5]


@pytest.mark.parametrize("method", ["MDLP", "ChiM"])
def test_codes_count_the_parts(method):
    x = pd.DataFrame({"a": [5.0, 1.0, 6.0, 2.0] * 5})
    assert coded(x, pd.Series([1, 0, 1, 0] * 5), method)["a"].tolist() == [2.0, 1.0, 2.0, 1.0] * 5
