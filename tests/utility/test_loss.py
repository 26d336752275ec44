import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.utility import il1s, sse_ratio
from tests.utility.pairs import both, covariance, mean, tables

pytestmark = pytest.mark.filterwarnings("ignore:.*leaves out column")


@given(tables(), st.booleans())
def test_il1s_against_a_slow_twin(pair, normalize):
    x, y = pair
    total, cells = 0.0, 0
    for a, b in (both(x[:, j], y[:, j]) for j in range(x.shape[1])):
        if len(set(a)) > 1:
            sd = math.sqrt(covariance(a, a))
            total += math.fsum(abs(i - j) for i, j in zip(a, b, strict=True)) / (math.sqrt(2) * sd)
            cells += len(a)
    expected = total / max(1, cells) if normalize else total
    assert il1s(x, y, normalize=normalize) == pytest.approx(expected)


@given(tables(), st.booleans())
def test_sse_ratio_against_a_slow_twin(pair, standardize):
    x, y = pair
    sse = sst = 0.0
    for a, b in (both(x[:, j], y[:, j]) for j in range(x.shape[1])):
        if len(set(a)) > 1:
            scale = covariance(a, a) if standardize else 1.0
            sse += sum((i - j) ** 2 for i, j in zip(a, b, strict=True)) / scale
            sst += sum((i - mean(a)) ** 2 for i in a) / scale
    assert sse_ratio(x, y, standardize=standardize) == pytest.approx(
        100 * sse / sst if sst else 0.0
    )


@pytest.mark.parametrize("measure", [il1s, sse_ratio])
def test_identical_tables_lose_nothing(measure):
    x = np.random.default_rng(0).normal(1e9, 1e-3, (50, 3))
    assert measure(x, x) == 0


def test_means_of_groups_lose_what_lies_inside_them():
    # Far from zero: the sums must not cancel.
    x = 1e9 + np.array([[0.0], [0.002], [0.004], [0.006]])
    y = 1e9 + np.array([[0.001], [0.001], [0.005], [0.005]])
    assert sse_ratio(x, y) == pytest.approx(20.0, rel=1e-3)


def test_normalized_and_by_column():
    x, y = [[1.0, 1.0], [3.0, 5.0]], [[2.0, 1.0], [3.0, 5.0]]
    detail = il1s(x, y, normalize=True, detail=True)
    assert detail.columns == pytest.approx({"x0": 0.25, "x1": 0.0})
    assert detail.value == pytest.approx(0.125)
    assert sse_ratio(x, y, detail=True).columns == pytest.approx({"x0": 50.0, "x1": 0.0})


@pytest.mark.parametrize("measure", [il1s, sse_ratio])
@pytest.mark.parametrize(
    ("cell", "why"), [(1.0, "which is constant"), (math.nan, "which has no values to compare")]
)
def test_a_column_left_out_is_named(measure, cell, why):
    message = f"{measure.__name__} leaves out column 'x0', {why}"
    with pytest.warns(UserWarning, match=message):
        assert measure([[cell], [cell]], [[2.0], [2.0]]) == 0


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_the_standard_deviation_is_exact_far_from_zero(offset):
    # Steps that floats near 1e9 hold exactly, so that the twin's sums of fractions are exact too.
    steps = np.random.default_rng(1).integers(0, 2**15, 1000) * 2.0**-23
    x = (offset + steps)[:, None]
    y = x + 2.0**-10
    sd = statistics.stdev([Fraction(v) for v in steps.tolist()])
    assert il1s(x, y, normalize=True) == pytest.approx(2.0**-10 / (math.sqrt(2) * sd), rel=1e-13)
    expected = 100 * 1000 * 2.0**-20 / (999 * sd**2)
    assert sse_ratio(x, y) == pytest.approx(expected, rel=1e-13)
    assert sse_ratio(x, y, standardize=True) == pytest.approx(expected, rel=1e-13)
