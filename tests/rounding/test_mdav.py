"""MDAV against a textbook version that works row by row, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.rounding import MDAV
from tests.rounding.strategies import columns

far = st.lists(st.integers(0, 50).map(lambda i: 1e9 + i * 1e-3), min_size=1, max_size=30)


def textbook(values, k, keep_ties):
    """Group sorted records; returns the sizes of the groups, from the lowest on."""
    rest = sorted(Fraction(v) for v in values)
    low, high = [], []  # groups taken from either end

    def farther_end():
        mean = sum(rest) / len(rest)
        return "low" if mean - rest[0] >= rest[-1] - mean else "high"

    def size_from(end):
        ordered = rest if end == "low" else rest[::-1]
        size = k
        while keep_ties and size < len(ordered) and ordered[size] == ordered[size - 1]:
            size += 1
        return size

    def take(end):
        """Take a group; False where too little would be left for another one."""
        nonlocal rest
        size = size_from(end)
        if len(rest) - size < k:
            return False
        if end == "low":
            low.append(size)
            rest = rest[size:]
        else:
            high.insert(0, size)
            rest = rest[: len(rest) - size]
        return True

    while len(rest) >= 3 * k:
        end = farther_end()
        if not take(end) or len(rest) < 2 * k or not take("high" if end == "low" else "low"):
            return [*low, len(rest), *high]
    if len(rest) >= 2 * k:
        take(farther_end())
    return [*low, len(rest), *high]


@given(values=columns | far, k=st.integers(1, 5), keep_ties=st.booleans())
def test_groups_are_those_of_the_textbook(values, k, keep_ties):
    if len(values) < k:
        return
    method = MDAV(k, keep_ties=keep_ties).fit(np.array(values).reshape(-1, 1))
    assert method.group_sizes_["x0"].tolist() == textbook(values, k, keep_ties)


@given(values=columns, k=st.integers(1, 5))
def test_without_ties_kept_all_groups_but_one_have_k_records(values, k):
    if len(values) < k:
        return
    sizes = MDAV(k, keep_ties=False).fit(np.array(values).reshape(-1, 1)).group_sizes_["x0"]
    assert (sizes == k).sum() >= len(sizes) - 1
    assert k <= sizes.max() <= 2 * k - 1


def test_a_tie_in_distance_is_broken_towards_the_low_end():
    # 0 and 5 are equally far from the mean; a group of 2 from the low end comes first.
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [2.5]])
    assert MDAV(2).fit(x).group_sizes_["x0"].tolist() == [2, 3, 2]
    # With 5 left of 2k..3k-1, the one more group comes from the low end too.
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    assert MDAV(2).fit(x).group_sizes_["x0"].tolist() == [2, 3]


def test_equal_values_that_fill_the_column_are_one_group():
    x = np.array([[1.0]] * 2 + [[2.0]] * 50 + [[3.0]] * 2)
    assert MDAV(3).fit(x).group_sizes_["x0"].tolist() == [54]


def test_fewer_values_than_k_are_refused():
    with pytest.raises(BadInput, match=r"column 'x0' has 2 values .* fewer than k = 3"):
        MDAV(3).fit([[1.0], [2.0]])
