"""The smallest base, against all bases at which a value changes sides, in fractions."""

from fractions import Fraction as F
from itertools import count, pairwise
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.kernels.bases import least_width, multiple, smallest_base, too_small
from discreet.kernels.units import first_ends

HALF = {"nearest": F(1, 2), "floor": F(0)}


def cells(values, b, rounding, is_open):
    """Return the multiple of each value, by the definition."""
    found = [floor(x / b + HALF[rounding]) for x in values]
    if is_open:
        low, high = ceil(min(values) / b), floor(max(values) / b)
        if low > high:
            return [0] * len(values)
        found = [min(max(j, low), high) for j in found]
    return found


def kept(values, b, t, rounding, is_open):
    found = cells(values, b, rounding, is_open)
    return min(map(found.count, found)) >= t


def plain_smallest(values, t, rounding, is_open):
    """Try every base at which a value changes sides, and one between each two; None: no base."""
    values = [F(x) for x in values]
    gap = min(b - a for a, b in pairwise(sorted(set(values))))
    # Below half the gap no two values can share a set, however wide it is.
    turns = {gap / 2}
    for x in values:
        for half in {HALF[rounding], F(0)}:
            for j in count():
                if j + half and abs(x) / (j + half) < gap / 2:
                    break
                if j + half and x:
                    turns.add(abs(x) / (j + half))
                if not x:
                    break
    turns = sorted(turns)
    for low, high in pairwise([*turns, 2 * turns[-1] + 1]):
        if kept(values, low, t, rounding, is_open):
            return low
        if kept(values, (low + high) / 2, t, rounding, is_open):
            return low
    return None


def back_of(values, t):
    ordered = sorted(values)
    distinct = sorted(set(values))
    totals = [0, *(sum(y <= x for y in ordered) for x in distinct)]
    enough = lambda i: [j for j in range(i) if totals[i] - totals[j] >= t]  # noqa: E731
    return np.array([max(enough(i), default=-1) for i in range(len(totals))], np.int32)


@given(
    values=st.lists(st.integers(-30, 30), min_size=2, max_size=8),
    shift=st.sampled_from([0, 40, 40, -40]),
    t=st.integers(2, 4),
    rounding=st.sampled_from(["nearest", "floor"]),
    is_open=st.booleans(),
)
@example([-1, 0, 5], 0, 2, "floor", False)
def test_no_smaller_base_works(values, shift, t, rounding, is_open):
    values = [x + shift for x in values]
    if len(set(values)) < 2 or len(values) < t or min(map(values.count, values)) >= t:
        return
    distinct, back = np.unique(np.array(values, float)), back_of(values, t)
    width = least_width(distinct, back, first_ends(back))
    wanted = plain_smallest(values, t, rounding, is_open)
    up = 0.5 if rounding == "nearest" else 1.0
    found, bound = smallest_base(distinct, back, width / (1 + is_open), up, is_open, 10**6)
    if wanted is None:
        assert found == np.inf
        return
    assert found == bound == pytest.approx(float(wanted), rel=1e-13)
    start, end, _ = too_small(distinct, back, found, up, is_open)
    assert start == end
    # Quotients as floats have them: on the border itself they decide.
    assert kept([F(x / found) for x in values], F(1), t, rounding, is_open)


@given(values=st.lists(st.integers(0, 30), min_size=1, max_size=12), t=st.integers(1, 5))
def test_every_cell_must_be_as_wide_as_the_narrowest_around_each_value(values, t):
    if len(values) < t:
        return
    distinct, back = np.unique(np.array(values, float)), back_of(values, t)
    widest = 0
    for x in distinct:
        windows = [
            high - low
            for low in distinct
            for high in distinct
            if low <= x <= high and sum(low <= y <= high for y in values) >= t
        ]
        widest = max(widest, min(windows))
    assert least_width(distinct, back, first_ends(back)) == widest


@given(x=st.floats(-1e6, 1e6), b=st.floats(1e-3, 1e6))
def test_multiples_are_those_of_the_quotient(x, b):
    quotient = F(x / b)
    assert multiple(x, b, 0.5) == floor(quotient + F(1, 2))
    assert multiple(x, b, 1.0) == floor(quotient)


@pytest.mark.parametrize("up", [0.5, 1.0])
def test_the_outermost_multiples_may_turn_more_often_than_the_budget_lasts(up):
    # The smallest values need a base near their own size, at which 1e10 has 1e10 multiples.
    x = np.array([1.0, 2.0, 3.0, 1e10, 1e10 + 1, 1e10 + 2])
    back = back_of(list(x), 6)
    base, bound = smallest_base(x, back, 1.0, up, True, 1000)
    assert bound < base
    first, last, _ = too_small(x, back, base, up, True)
    assert first == last


@pytest.mark.parametrize("lowest", [0.0, 1e-300])
def test_an_end_that_is_nothing_beside_the_base_never_turns(lowest):
    x = np.array([lowest, 1e290, 3e290, 9e290])
    base, bound = smallest_base(x, back_of(list(x), 2), 1e290, 0.5, True, 1000)
    assert base == bound == pytest.approx(1e290 * plain_smallest([0, 1, 3, 9], 2, "nearest", True))


def test_a_spent_budget_gives_a_base_that_works_and_how_far_it_looked():
    x = np.sort(np.random.default_rng(0).normal(1e6, 1, 200))
    back = back_of(list(x), 3)
    start = least_width(x, back, first_ends(back))
    base, bound = smallest_base(x, back, start, 0.5, False, 100)
    exact, same = smallest_base(x, back, start, 0.5, False, 10**7)
    assert start < bound <= exact <= base
    assert exact == same
    first, last, _ = too_small(x, back, base, 0.5, False)
    assert first == last
