"""MDLP against a plain recursion over all cuts."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.rounding import MDLP

rows = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from("aab") | st.sampled_from("abc")),
    min_size=2,
    max_size=60,
).filter(lambda rows: len({label for _, label in rows}) > 1)


def entropy(labels):
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * log2(share) for share in shares)


def textbook(rows):
    """Cut points of Fayyad and Irani, each between two values, or None where two cuts tie."""
    labels = [label for _, label in rows]
    n, k = len(rows), len(set(labels))
    best = []
    for cut in sorted({value for value, _ in rows})[1:]:
        left = [label for value, label in rows if value < cut]
        right = [label for value, label in rows if value >= cut]
        best.append(((len(left) * entropy(left) + len(right) * entropy(right)) / n, cut))
    if not best:
        return []
    best.sort()
    rest, cut = best[0]
    if len(best) > 1 and best[1][0] - rest < 1e-12:
        return None
    left = [row for row in rows if row[0] < cut]
    right = [row for row in rows if row[0] >= cut]
    delta = log2(3**k - 2) - k * entropy(labels)
    for side in (left, right):
        inside = [label for _, label in side]
        delta += len(set(inside)) * entropy(inside)
    gain, price = entropy(labels) - rest, (log2(n - 1) + delta) / n
    if abs(gain - price) < 1e-12:
        return None
    if gain < price:
        return []
    below, above = textbook(left), textbook(right)
    return None if below is None or above is None else [*below, cut, *above]


@given(rows)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cuts_are_those_of_the_textbook(rows):
    cuts = textbook(rows)
    if cuts is None:  # left to rounding errors
        return
    values = np.array([[float(value)] for value, _ in rows])
    method = MDLP().fit(values, [label for _, label in rows])
    parts = np.searchsorted(cuts, values.ravel(), side="right")
    assert method.group_sizes_["x0"].tolist() == np.bincount(parts)[np.unique(parts)].tolist()


def test_classes_that_never_change_leave_one_point():
    x = np.arange(40.0).reshape(-1, 1)
    assert MDLP().fit(x, np.tile([0, 1], 20)).n_points_ == {"x0": 1}


def test_many_classes_do_not_overflow():
    x = np.arange(4000.0).reshape(-1, 1)
    assert MDLP().fit(x, np.repeat(np.arange(800), 5)).n_points_["x0"] >= 1
