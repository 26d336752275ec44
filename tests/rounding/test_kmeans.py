"""K-means against a brute force over all partitions, in exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.rounding import KMeans

small = st.lists(
    st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3) | st.floats(-1e-12, 1e-12),
    min_size=1,
    max_size=10,
)
near_a_billion = st.lists(st.integers(0, 40).map(lambda i: 1e9 + i * 1e-3), min_size=1, max_size=10)


def cost(groups, objective):
    total = Fraction(0)
    for group in groups:
        exact = sorted(Fraction(v) for v in group)
        centre = sum(exact) / len(exact) if objective == "l2" else exact[len(exact) // 2]
        total += sum((v - centre) ** 2 if objective == "l2" else abs(v - centre) for v in exact)
    return total


def best_cost(values, c, objective):
    """Cost of the best of all partitions that keep equal values together."""
    ordered = sorted(values)
    places = [i for i in range(1, len(ordered)) if ordered[i] != ordered[i - 1]]
    return min(
        cost([ordered[a:b] for a, b in itertools.pairwise([0, *cuts, len(ordered)])], objective)
        for cuts in itertools.combinations(places, c - 1)
    )


@given(values=small | near_a_billion, c=st.integers(1, 5), objective=st.sampled_from(["l2", "l1"]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_best_of_all_partitions(values, c, objective):
    c = min(c, len(set(values)))
    method = KMeans(c, objective=objective).fit(np.array(values).reshape(-1, 1))
    ends = np.cumsum(method.group_sizes_["x0"])
    assert len(ends) == c
    ordered = sorted(values)
    groups = [ordered[a:b] for a, b in itertools.pairwise([0, *ends])]
    spread = Fraction(max(values)) - Fraction(min(values))
    slack = spread**2 if objective == "l2" else spread
    assert cost(groups, objective) <= best_cost(values, c, objective) + slack / 10**12


def test_the_optimum_far_from_zero_where_prefix_sums_cancel():
    x = 1e9 + 1e-3 * np.random.default_rng(0).normal(size=(400, 1))
    near = KMeans(5).fit_transform(x - 1e9)
    assert ((x - 1e9 - near) ** 2).sum() == pytest.approx(
        ((x - KMeans(5).fit_transform(x)) ** 2).sum(), rel=1e-3
    )


def test_lloyd_stops_where_every_value_is_nearest_to_its_own_point():
    x = np.random.default_rng(1).lognormal(size=(500, 1))
    lloyd = KMeans(8, solver="lloyd", random_state=3)
    out = lloyd.fit_transform(x)
    points = lloyd.rounding_sets_["x0"]
    nearest = points[np.abs(x - points).argmin(axis=1)]
    assert (out.ravel() == nearest).all()
    optimal = KMeans(8).fit_transform(x)
    assert ((x - optimal) ** 2).sum() <= ((x - out) ** 2).sum()


def test_lloyd_starts_from_its_seed():
    x = np.random.default_rng(2).lognormal(size=(300, 1))
    one, same, other = (
        KMeans(10, solver="lloyd", random_state=seed).fit_transform(x) for seed in (1, 1, 3)
    )
    assert (one == same).all()
    assert (one != other).any()
    assert KMeans(3, solver="lloyd").is_random
    assert not KMeans(3).is_random


def test_lloyd_with_l1_is_refused():
    with pytest.raises(BadInput, match="solver = 'lloyd' minimises squares"):
        KMeans(2, solver="lloyd", objective="l1").fit([[1.0], [2.0]])
