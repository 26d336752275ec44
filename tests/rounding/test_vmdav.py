"""V-MDAV against a textbook version that works row by row, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.rounding import VMDAV
from tests.rounding.strategies import columns

# Doubling gaps: the next value is often near to the group and far from its neighbour.
uneven = st.lists(
    st.sampled_from([0.0, 1.0, 2.0, 4.0, 8.0, 64.0, 65.0, 512.0, 514.0]), min_size=1, max_size=25
)
gammas = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


def textbook(values, k, gamma, keep_ties):
    """Group sorted records; returns the sizes of the groups, from the lowest on."""
    rest = sorted(Fraction(v) for v in values)
    mean = sum(rest) / len(rest)
    low, high = [], []  # groups taken from either end, outermost first
    while len(rest) >= k:
        from_low = mean - rest[0] >= rest[-1] - mean
        ordered = rest if from_low else rest[::-1]
        size = k
        while keep_ties and size < len(ordered) and ordered[size] == ordered[size - 1]:
            size += 1
        while size < 2 * k - 1 and size + 1 < len(ordered):
            d_in = min(abs(ordered[size] - member) for member in ordered[:size])
            d_out = min(abs(ordered[size] - other) for other in ordered[size + 1 :])
            if d_in > Fraction(gamma) * d_out:
                break
            size += 1
        (low if from_low else high).append(ordered[:size])
        rest = ordered[size:] if from_low else ordered[size:][::-1]
    groups = [list(group) for group in (*low, *high[::-1])]
    centroids = [sum(group) / len(group) for group in groups]
    for value in rest:
        # Of groups with one centroid, the innermost: records stay in their order.
        nearest = min(
            range(len(groups)),
            key=lambda g: (abs(value - centroids[g]), centroids[g], abs(g - len(low) + 0.5)),
        )
        groups[nearest].append(value)
    return [len(group) for group in groups]


@given(values=columns | uneven, k=st.integers(1, 5), gamma=gammas, keep_ties=st.booleans())
@example(values=[0.0] * 6, k=2, gamma=0.0, keep_ties=False)
def test_groups_are_those_of_the_textbook(values, k, gamma, keep_ties):
    if len(values) < k:
        return
    x = np.array(values).reshape(-1, 1)
    method = VMDAV(k, gamma=gamma, keep_ties=keep_ties).fit(x)
    assert method.group_sizes_["x0"].tolist() == textbook(values, k, gamma, keep_ties)


def test_a_near_value_joins_and_a_far_one_does_not():
    x = np.array([[0.0], [1.0], [2.0], [7.0], [40.0], [41.0]])
    # From 2 the group is 1 away and the next value 5: 1 <= gamma * 5 from gamma = 0.2 on.
    # 7, left over, then joins that group too.
    assert VMDAV(2).fit(x).group_sizes_["x0"].tolist() == [4, 2]
    assert VMDAV(2, gamma=0.19).fit(x).group_sizes_["x0"].tolist() == [2, 2, 2]


def test_leftovers_join_the_nearest_centroid_even_on_both_sides():
    x = np.array([[0.0], [0.0], [0.0], [4.0], [6.0], [10.0], [10.0], [10.0]])
    assert VMDAV(3).fit(x).group_sizes_["x0"].tolist() == [4, 4]


@pytest.mark.parametrize(
    "gamma", [-1, np.nan, np.inf, pytest.param(10**400, id="huge"), "a", None, True]
)
def test_a_gamma_that_is_no_number_of_at_least_zero_is_refused(gamma):
    with pytest.raises(BadInput, match=f"gamma must be a number of at least 0, not {gamma!r}"):
        VMDAV(2, gamma=gamma).fit([[1.0], [2.0]])
