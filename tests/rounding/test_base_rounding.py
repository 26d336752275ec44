from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.rounding import BaseRounding

BASES = [factor * 10.0**power for power in range(-3, 9) for factor in (1, 2, 2.5, 5)]


@given(value=st.floats(-1e9, 1e9), base=st.sampled_from([0.25, 0.5, 1.0, 2.5, 5.0, 64.0, 1000.0]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_value_goes_to_the_multiple_whose_set_of_attraction_it_is_in(value, base):
    (out,) = BaseRounding(base).fit_transform([[value]]).ravel()
    quotient = value / base  # as floats have it; exact for most of these bases
    assert out == floor(Fraction(quotient) + Fraction(1, 2)) * base


def test_halves_go_up_and_just_under_a_half_does_not():
    x = np.array([[0.49999999999999994], [0.5], [-0.5], [-0.5000000000000001], [2.5]])
    assert BaseRounding(1).fit_transform(x).ravel().tolist() == [0, 1, 0, -1, 3]
    assert BaseRounding(1, encoding="nearest").fit_transform(x).ravel().tolist() == [
        0,
        0,
        -1,
        -1,
        2,
    ]


@given(
    values=st.lists(st.integers(-300, 300), min_size=3, max_size=40),
    least=st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_smallest_base_that_keeps_the_sets_of_attraction(values, least):
    method = BaseRounding(min_attraction=least).fit(np.array(values, dtype=float).reshape(-1, 1))
    base = method.plan_["x0"]["base"]

    def smallest(base):
        multiples = [floor(Fraction(v) / Fraction(base) + Fraction(1, 2)) for v in values]
        return min(multiples.count(m) for m in multiples)

    assert method.group_sizes_["x0"].min() == smallest(base) >= least
    # The search starts at the power of ten at or below the smallest gap: there every value is
    # still by itself, as with any smaller base.
    gap = np.diff(np.unique(values)).min() if len(set(values)) > 1 else 1
    start = 10.0 ** floor(np.log10(gap))
    assert all(smallest(b) < least for b in BASES if start <= b < base)


def test_bases_of_ones_own_and_none_that_works():
    x = np.array([[21.0], [22.0], [24.0], [37.0], [39.0]])
    assert BaseRounding(min_attraction=2, bases=[60, 7, 20]).fit(x).plan_["x0"]["base"] == 20
    with pytest.raises(BadInput, match=r"no base of .* leaves 2 records at each multiple"):
        BaseRounding(min_attraction=2, bases=[5]).fit(x)


@pytest.mark.parametrize(
    "values", [[0, 901, 901, 7e-231], [0, 5e-324], [-9e300, 9e300, 9e300 * (1 - 2**-53)]]
)
def test_no_base_is_tried_that_would_be_refused(values):
    method = BaseRounding(min_attraction=1).fit(np.array(values).reshape(-1, 1))
    assert method.plan_["x0"]["base"] * 2**53 >= max(values)


def test_new_rows_go_to_multiples_that_no_fitted_row_had():
    method = BaseRounding(10).fit([[1.0], [21.0]])
    assert method.transform([[105.0], [-999.0], [np.nan]]).ravel()[:2].tolist() == [110, -1000]


def test_stochastic_encoding_is_unbiased():
    n = 40_000
    method = BaseRounding(10, encoding="stochastic", random_state=0).fit([[0.0], [100.0]])
    for value in (12.5, -47.0, 30.0):
        out = method.transform(np.full((n, 1), value))
        below = floor(value / 10) * 10
        # Five standard errors of a two-point distribution.
        error = np.sqrt((value - below) * (below + 10 - value) / n)
        assert abs(out.mean() - value) <= 5 * error
        assert set(out.ravel()) <= {below, below + 10}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "give either base or min_attraction"),
        ({"base": 5, "min_attraction": 2}, "give either base or min_attraction"),
        ({"base": 0}, "a base must be a number above 0, not 0"),
        ({"base": "a"}, "a base must be a number above 0, not 'a'"),
        ({"base": 10**400}, "a base must be a number above 0, not 1000"),
        ({"min_attraction": 1, "bases": [1, None]}, "a base must be a number above 0, not None"),
        ({"min_attraction": 1, "bases": 5}, "bases must be a list of numbers above 0, not 5"),
        ({"base": 5, "bases": [1]}, "bases lists what min_attraction chooses from"),
        ({"base": 1e-20}, "base = 1e-20 is finer than float64 can tell the values of column 'x0'"),
        ({"min_attraction": 0}, "min_attraction must be a whole number of at least 1, not 0"),
        ({"min_attraction": 9}, r"has 2 values .* fewer than min_attraction = 9"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(BadInput, match=message):
        BaseRounding(**parameters).fit([[1.0], [2.0]])
