"""Pairs of doubles against fractions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.exact import add_pair, times_over, two_prod, two_sum

floats = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


def exact(pair):
    return Fraction(pair[0]) + Fraction(pair[1])


@given(floats, floats)
def test_sum_and_product_lose_nothing(a, b):
    assert exact(two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exact(two_prod(a, b)) == Fraction(a) * Fraction(b)


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_long_sums_keep_thirty_digits(values):
    high = low = 0.0
    for value in values:
        high, low = add_pair(high, low, value, 0.0)
    size = sum(abs(Fraction(value)) for value in values)
    assert abs(exact((high, low)) - sum(map(Fraction, values))) <= size / 10**30


@given(st.integers(-(2**62), 2**62), st.integers(1, 2**53))
def test_quotients_keep_thirty_digits(a, w):
    high = float(a)
    low = float(a - int(high))
    found = exact(times_over(high, low, high, low, float(w)))
    assert abs(found - Fraction(a * a, w)) <= Fraction(a * a, w) / 10**30
