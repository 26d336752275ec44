"""The radix sort against numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.kernels.sorting import sort, sort_rows
from tests.examples import examples

SHAPES = {
    "empty": np.empty(0),
    "one": np.array([2.5]),
    "nulls only": np.full(5, np.nan),
    "equal": np.full(1000, -7.25),
    "few values": np.random.default_rng(1).integers(-4, 4, 5000).astype(float),
    "normal": np.random.default_rng(2).normal(size=5000),
    "far and close together": 1e9 + 1e-3 * np.random.default_rng(3).normal(size=5000),
    "wide": np.random.default_rng(4).lognormal(0, 200, 5000),
    "clusters": np.random.default_rng(5).choice([-1e9, 0.0, 1e6], 5000)
    + 1e-6 * np.random.default_rng(6).normal(size=5000),
    "extremes": np.array([1.0, -np.inf, np.inf, 5e-324, -5e-324, 1.8e308, -1.8e308, 0.0]),
}


def check(values):
    present = values[~np.isnan(values)] + 0.0
    ordered, rows = sort_rows(values)
    np.testing.assert_array_equal(ordered, np.sort(present))
    np.testing.assert_array_equal(sort(values), ordered)
    assert not np.signbit(ordered[ordered == 0]).any()
    stable = np.argsort(values + 0.0, kind="stable")[: len(present)]
    np.testing.assert_array_equal(rows, stable)


@pytest.mark.parametrize("shape", SHAPES)
def test_order_and_rows_are_those_of_a_stable_sort(shape):
    check(SHAPES[shape])


@given(arrays(np.float64, st.integers(0, 40), elements=st.floats(width=64) | st.just(-0.0)))
@examples(200)
def test_any_floats_are_sorted_with_nulls_left_out(values):
    check(values)


def test_nan_with_a_sign_is_a_null_too():
    check(np.array([3.0, -np.nan, 1.0, np.copysign(np.nan, -1), -2.0]))
