import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.rounding import OMA
from discreet.table import Summary, summarise
from tests.examples import examples

small = st.lists(
    st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3) | st.floats(-1e-12, 1e-12),
    min_size=1,
    max_size=9,
)
near_a_billion = st.lists(st.integers(0, 40).map(lambda i: 1e9 + i * 1e-3), min_size=1, max_size=9)


def cost(groups: list[list[float]], objective: str) -> Fraction:
    """Exact within-group cost."""
    total = Fraction(0)
    for group in groups:
        exact = [Fraction(v) for v in group]
        if objective == "l2":
            mean = sum(exact) / len(exact)
            total += sum((v - mean) ** 2 for v in exact)
        else:
            total += sum(abs(v - sorted(exact)[len(exact) // 2]) for v in exact)
    return total


def best_cost(values: list[float], k: int, keep_ties: bool, objective: str) -> Fraction:
    """Cost of the best of all partitions, by trying them all."""
    ordered = sorted(values)
    places = [i for i in range(1, len(ordered)) if not (keep_ties and ordered[i] == ordered[i - 1])]
    costs = []
    for number in range(len(places) + 1):
        for cuts in itertools.combinations(places, number):
            ends = [0, *cuts, len(ordered)]
            groups = [ordered[a:b] for a, b in itertools.pairwise(ends)]
            if all(len(group) >= k for group in groups):
                costs.append(cost(groups, objective))
    return min(costs)


@examples(300)
@given(
    values=small | near_a_billion,
    k=st.integers(1, 4),
    keep_ties=st.booleans(),
    objective=st.sampled_from(["l2", "l1"]),
)
def test_the_best_of_all_partitions(values, k, keep_ties, objective):
    if len(values) < k:
        return
    method = OMA(k, keep_ties=keep_ties, objective=objective)
    method.fit_transform(np.array(values).reshape(-1, 1))
    ends = np.cumsum(method.group_sizes_["x0"])
    ordered = sorted(v + 0.0 for v in values)
    groups = [ordered[a:b] for a, b in itertools.pairwise([0, *ends])]
    assert all(len(group) >= k for group in groups)
    best = best_cost(values, k, keep_ties, objective)
    spread = Fraction(max(values)) - Fraction(min(values))
    slack = spread**2 if objective == "l2" else spread
    assert cost(groups, objective) <= best + slack / 10**12


@given(
    values=small,
    k=st.integers(1, 3),
    representative=st.sampled_from(["mean", "median", "midpoint"]),
)
def test_points_are_the_representatives_of_their_groups(values, k, representative):
    if len(values) < k:
        return
    x = np.array(values)
    out = OMA(k, representative=representative).fit_transform(x.reshape(-1, 1)).ravel()
    centre = {"mean": np.mean, "median": np.median, "midpoint": lambda g: (g.min() + g.max()) / 2}
    scale = max(1e-12, np.abs(x).max())
    for point in np.unique(out):
        members = x[out == point]
        assert abs(centre[representative](members) - point) <= 1e-12 * scale
        assert members.min() <= point + 0.0
        assert members.max() >= point


@given(values=small, k=st.integers(1, 3))
def test_with_ties_kept_the_plan_is_a_function_of_the_value(values, k):
    if len(values) < k:
        return
    x = np.array(values).reshape(-1, 1)
    method = OMA(k)
    once = method.fit_transform(x)
    assert (once == method.transform(x)).all()
    assert (once == OMA(k).fit(x).transform(x)).all()


@given(values=small, k=st.integers(1, 3), keep_ties=st.booleans())
def test_rows_and_summaries_give_the_same_plan(values, k, keep_ties):
    if len(values) < k:
        return
    x = np.array(values)
    method = OMA(k, keep_ties=keep_ties)
    plans = [
        method.decide(summarise(x), "x0"),
        method.fit(x.reshape(-1, 1)).plan_["x0"],
        OMA(k, keep_ties=keep_ties).fit(x[::-1].reshape(-1, 1)).plan_["x0"],
    ]
    method.fit_transform(x.reshape(-1, 1))
    plans.append(method.plan_["x0"])
    for plan in plans[1:]:
        for key in ("cuts", "points", "counts"):
            assert np.array_equal(plan[key], plans[0][key])


def test_split_ties_go_in_row_order_and_new_rows_to_the_larger_share():
    x = np.array([5.0, 1.0, 5.0, 5.0, 9.0, 5.0, 5.0]).reshape(-1, 1)
    method = OMA(3, keep_ties=False)
    out = method.fit_transform(x).ravel()
    # 1 5 5 5 | 5 5 9: the first three fives in row order join the 1.
    assert method.group_sizes_["x0"].tolist() == [4, 3]
    assert out.tolist() == [4, 4, 4, 4, 19 / 3, 19 / 3, 19 / 3]
    assert method.transform([[5.0], [4.9], [5.1]]).ravel().tolist() == [4, 4, 19 / 3]
    splits = method.plan_["x0"]["splits"]
    assert {key: values.tolist() for key, values in splits.items()} == {
        "value": [5.0, 5.0], "group": [0, 1], "count": [3, 2],
    }  # fmt: skip


def test_values_outside_go_to_the_end_groups_and_nulls_stay():
    method = OMA(2).fit([[1.0], [2.0], [10.0], [12.0]])
    assert method.plan_["x0"]["cuts"].tolist() == [6.0]
    new = method.transform([[-99.0], [5.999], [6.0], [99.0], [np.nan]]).ravel()
    assert new[:4].tolist() == [1.5, 1.5, 11.0, 11.0]
    assert np.isnan(new[4])


def test_neighbouring_floats_can_be_told_apart():
    a = 1.0
    b = np.nextafter(a, 2)
    method = OMA(2).fit([[a], [a], [b], [b]])
    assert method.transform([[a], [b]]).ravel().tolist() == [a, b]


def test_a_value_split_over_many_groups():
    x = np.array([3.0] * 10 + [4.0]).reshape(-1, 1)
    method = OMA(2, keep_ties=False)
    out = method.fit_transform(x).ravel()
    assert np.bincount(np.unique(out, return_inverse=True)[1]).min() >= 2
    assert method.transform([[3.0]])[0, 0] == 3.0


def test_k_by_column():
    frame = pd.DataFrame({"a": range(12), "b": range(12)})
    method = OMA({"a": 3, "b": 6}).fit(frame)
    assert method.n_points_ == {"a": 4, "b": 2}
    with pytest.raises(BadInput, match="k is given by column, but not for column 'b'"):
        OMA({"a": 3}).fit(frame)


def test_encodings():
    x = np.array([[0.0], [1.0], [10.0], [11.0], [5.4], [5.6]])
    nearest = OMA(3, encoding="nearest").fit(x)
    assert nearest.rounding_sets_["x0"].tolist() == pytest.approx([6.4 / 3, 26.6 / 3])
    assert nearest.transform([[5.4], [5.6]]).ravel().tolist() == pytest.approx([6.4 / 3, 26.6 / 3])
    assert OMA(3, encoding="nearest").effect == "perturbs"
    assert OMA(3, encoding="nearest").promise is None
    assert OMA(3).effect == "coarsens"
    assert OMA(3).promise == "k-per-value"


def test_stochastic_encoding_is_unbiased():
    points = np.array([[0.0], [0.0], [10.0], [10.0]])
    method = OMA(2, encoding="stochastic", random_state=0).fit(points)
    n = 40_000
    for value in (0.0, 2.5, 7.0, 10.0):
        out = method.transform(np.full((n, 1), value)).ravel()
        assert set(out) <= {0.0, 10.0}
        # Five standard errors of a two-point distribution.
        sd = np.sqrt(value * (10 - value) / n)
        assert abs(out.mean() - value) <= 5 * sd
    assert method.transform([[-5.0], [15.0]]).ravel().tolist() == [0.0, 10.0]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (OMA(0), "k must be a whole number of at least 1, not 0"),
        (OMA(2.5), "k must be a whole number of at least 1, not 2.5"),
        (OMA(5), r"column 'x0' has 4 values \(n_samples = 4\), fewer than k = 5"),
        (OMA(2, objective="l3"), "objective must be one of 'l2', 'l1', not 'l3'"),
        (OMA(2, encoding="x"), "encoding must be one of 'group', 'nearest', 'stochastic', not 'x'"),
        (OMA(2, representative="x"), "representative must be one of 'mean', 'median', 'midpoint', 'resampled-mean', not 'x'"),
    ],
)  # fmt: skip
def test_errors(method, message):
    with pytest.raises(BadInput, match=message):
        method.fit_transform([[1.0], [2.0], [3.0], [4.0]])


def test_only_nulls_and_infinity():
    with pytest.raises(BadInput, match="column 'x0' holds only nulls"):
        OMA(1).fit([[np.nan]])
    with pytest.raises(ValueError, match="infinity"):
        OMA(1).fit([[np.inf]])


def test_a_constant_column_is_one_group():
    method = OMA(2).fit([[7.0]] * 5)
    assert method.plan_["x0"]["points"].tolist() == [7.0]
    assert method.transform([[3.0]])[0, 0] == 7.0


def test_decide_takes_a_summary_from_anywhere():
    summary = Summary(np.array([1.0, 5.0, 6.0]), np.array([3, 1, 2]))
    assert OMA(3).decide(summary, "x")["points"].tolist() == [1.0, 17 / 3]
