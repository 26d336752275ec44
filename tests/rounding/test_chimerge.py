"""ChiMerge against a plain version that looks at all neighbours each time."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import BadInput
from discreet.kernels.supervised import _chi_square
from discreet.rounding import ChiMerge

rows = st.lists(
    st.tuples(st.integers(0, 10), st.sampled_from("abc")), min_size=2, max_size=40
).filter(lambda rows: len({label for _, label in rows}) > 1)


def chi_square(a, b):
    """Exact chi-square of two intervals' class counts."""
    total = Fraction(0)
    for found_a, found_b in zip(a, b, strict=True):
        for found, size in ((found_a, sum(a)), (found_b, sum(b))):
            expected = Fraction(size * (found_a + found_b), sum(a) + sum(b)) or Fraction(1, 10)
            total += (found - expected) ** 2 / expected
    return total


def textbook(rows, alpha):
    labels = sorted({label for _, label in rows})
    intervals = [
        [sum(row == (value, label) for row in rows) for label in labels]
        for value in sorted({value for value, _ in rows})
    ]
    threshold = chi2.ppf(1 - alpha, len(labels) - 1)
    while len(intervals) > 1:
        found = [chi_square(a, b) for a, b in itertools.pairwise(intervals)]
        smallest = min(found)
        if smallest >= threshold:
            break
        i = found.index(smallest)
        merged = [a + b for a, b in zip(intervals[i], intervals[i + 1], strict=True)]
        intervals[i : i + 2] = [merged]
    return [sum(interval) for interval in intervals]


@given(rows, st.sampled_from([0.01, 0.05, 0.3, 0.9]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_merges_are_those_of_the_textbook(rows, alpha):
    values = np.array([[float(value)] for value, _ in rows])
    method = ChiMerge(alpha=alpha).fit(values, [label for _, label in rows])
    assert method.group_sizes_["x0"].tolist() == textbook(rows, alpha)


def test_equal_chi_squares_tie_and_the_first_pair_merges():
    rows = list(zip([0, 0, 1, 1, 2, 2, 2, 3], "ccbbaaab", strict=True))
    method = ChiMerge().fit([[value] for value, _ in rows], [label for _, label in rows])
    assert method.group_sizes_["x0"].tolist() == textbook(rows, 0.05) == [8]


@given(
    st.lists(
        st.tuples(*[st.integers(0, 2**27) | st.integers(0, 9)] * 2), min_size=2, max_size=9
    ).filter(lambda counts: all(map(sum, zip(*counts, strict=True))))
)
def test_chi_square_is_the_exact_one_rounded_once(counts):
    a, b = (np.array(side, np.int64) for side in zip(*counts, strict=True))
    assert _chi_square(a, b) == float(chi_square(a.tolist(), b.tolist()))


def test_a_smaller_alpha_leaves_fewer_points():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1))
    y = (x.ravel() + rng.normal(size=400) > 0).astype(int)
    counts = [ChiMerge(alpha=alpha).fit(x, y).n_points_["x0"] for alpha in (0.5, 0.05, 1e-6)]
    assert counts[0] > counts[1] > counts[2] >= 2


@pytest.mark.parametrize("alpha", [1, 0, -0.5, np.nan, "x", None, True])
def test_an_alpha_that_is_no_level_is_refused(alpha):
    with pytest.raises(BadInput, match=f"alpha must be a number between 0 and 1, not {alpha!r}"):
        ChiMerge(alpha=alpha).fit([[1.0], [2.0]], [0, 1])
