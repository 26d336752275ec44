"""Optimal microaggregation against brute force, a plain dynamic program and exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.kernels.oma import oma_l1, oma_l1_counts, oma_l2, oma_l2_counts, oma_units
from discreet.kernels.units import last_starts
from tests.examples import examples

SINGLE = {"l2": oma_l2, "l1": oma_l1}
COUNTED = {"l2": oma_l2_counts, "l1": oma_l1_counts}
objectives = pytest.mark.parametrize("objective", ["l2", "l1"])


def group_cost(values, counts, objective):
    """Exact cost of one group, in fractions."""
    exact = [Fraction(v) for v in values]
    if objective == "l2":
        first = sum(c * x for x, c in zip(exact, counts, strict=True))
        second = sum(c * x * x for x, c in zip(exact, counts, strict=True))
        return second - first * first / sum(counts)
    behind = list(itertools.accumulate(counts))
    median = next(x for x, w in zip(exact, behind, strict=True) if 2 * w >= behind[-1])
    return sum(c * abs(x - median) for x, c in zip(exact, counts, strict=True))


def partition_cost(values, counts, ends, objective):
    starts = [0, *ends[:-1]]
    return sum(
        group_cost(values[a:z], counts[a:z], objective) for a, z in zip(starts, ends, strict=True)
    )


def least_cost(values, counts, k, objective):
    """Exact least cost over all partitions, none left out."""
    n = len(values)
    cost = {
        (a, z): group_cost(values[a:z], counts[a:z], objective)
        for a, z in itertools.combinations(range(n + 1), 2)
        if sum(counts[a:z]) >= k
    }
    found = []
    for r in range(n):
        for inner in itertools.combinations(range(1, n), r):
            groups = list(itertools.pairwise((0, *inner, n)))
            if all(group in cost for group in groups):
                found.append(sum(cost[group] for group in groups))
    return min(found)


def plain_least_cost(values, counts, k, objective):
    """Least cost by the O(n k) recurrence, each group's cost from its own centred values."""
    n = len(values)
    behind = np.concatenate(([0], np.cumsum(counts)))
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    for i in range(1, n + 1):
        # Groups of 2k records and more are left out only if they can be cut in two.
        j = np.flatnonzero(behind[:i] <= behind[i] - k)
        if j.size == 0:
            continue
        reach = np.searchsorted(behind, behind[j[-1]] - k, side="right") - 1
        low = max(reach, 0)
        x = values[low:i] - values[i - 1]
        c = counts[low:i]
        m = np.cumsum(c[::-1])[::-1]
        if objective == "l2":
            first = np.cumsum((c * x)[::-1])[::-1]
            second = np.cumsum((c * x * x)[::-1])[::-1]
            cost = second - first**2 / m
        else:
            cost = np.empty(i - low)
            up_to = np.cumsum(c)
            for a in range(i - low):
                middle = np.searchsorted(up_to[a:], up_to[-1] - m[a] / 2)
                cost[a] = c[a:] @ np.abs(x[a:] - x[a + middle])
        j = j[j >= low]
        total[i] = np.min(total[j] + cost[j - low])
    return total[n]


def check_counted(values, counts, k, objective):
    ends = COUNTED[objective](np.array(values), np.array(counts), k)
    assert ends.dtype == np.int64
    assert ends[-1] == len(values)
    assert np.add.reduceat(counts, np.r_[0, ends[:-1]]).min() >= k
    return ends


def check_single(values, k, objective):
    ends = SINGLE[objective](np.array(values), k)
    sizes = np.diff(ends, prepend=0)
    assert ends.dtype == np.int64
    assert ends[-1] == len(values)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    return ends


SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tail": lambda rng, n: rng.lognormal(0, 3, n),
    "heavy tail below": lambda rng, n: -rng.lognormal(0, 3, n),
    "ties": lambda rng, n: rng.integers(-3, 4, n).astype(float),
    "far": lambda rng, n: 1e9 + 1e-3 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-12 * rng.normal(size=n),
    "clusters": lambda rng, n: rng.choice([-1e9, 0.0, 1.0, 1e6], n) + 1e-3 * rng.normal(size=n),
    "equal": lambda rng, n: np.full(n, 0.1),
    "grid": lambda rng, n: np.arange(n) * 0.1,
}
shapes = pytest.mark.parametrize("shape", SHAPES)


@objectives
@shapes
def test_single_records_reach_the_brute_force_optimum(shape, objective):
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(1, 12))
        k = int(rng.integers(1, min(n, 5) + 1))
        values = np.sort(SHAPES[shape](rng, n))
        ends = check_single(values, k, objective)
        best = least_cost(values, [1] * n, k, objective)
        assert partition_cost(values, [1] * n, ends, objective) <= best * (1 + Fraction(1, 10**12))


@objectives
@shapes
@pytest.mark.parametrize("largest", [3, 9, 1000])
def test_counts_reach_the_brute_force_optimum(shape, largest, objective):
    rng = np.random.default_rng(2)
    for _ in range(15):
        values = np.unique(SHAPES[shape](rng, int(rng.integers(1, 10))))
        counts = rng.integers(1, largest + 1, values.size)
        k = int(rng.integers(1, min(counts.sum(), 12) + 1))
        ends = check_counted(values, counts, k, objective)
        plain = counts.tolist()
        best = least_cost(values, plain, k, objective)
        assert partition_cost(values, plain, ends, objective) <= best * (1 + Fraction(1, 10**11))


@objectives
@pytest.mark.parametrize("shape", ["normal", "heavy tail", "heavy tail below", "far", "clusters"])
@pytest.mark.parametrize("k", [2, 3, 5, 7, 16, 17, 50, 200])
def test_hundreds_of_records_reach_the_plain_optimum(k, shape, objective):
    n = max(300, 3 * k) if objective == "l2" else max(150, 2 * k)
    values = np.sort(SHAPES[shape](np.random.default_rng(3), n))
    ends = check_single(values, k, objective)
    ones = np.ones(n, np.int64)
    cost = float(partition_cost(values, ones.tolist(), ends, objective))
    assert cost == pytest.approx(plain_least_cost(values, ones, k, objective), rel=1e-9, abs=0)


@objectives
@pytest.mark.parametrize("k", [2, 5, 17, 60, 300])
@pytest.mark.parametrize("largest", [2, 30, 100_000])
def test_counts_reach_the_plain_optimum(largest, k, objective):
    rng = np.random.default_rng(4)
    values = np.sort(rng.normal(size=300))
    counts = rng.zipf(1.5, 300).clip(max=largest)
    ends = check_counted(values, counts, k, objective)
    cost = float(partition_cost(values, counts.tolist(), ends, objective))
    assert cost == pytest.approx(plain_least_cost(values, counts, k, objective), rel=1e-9, abs=0)


@objectives
@given(
    values=st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=10),
    k=st.integers(1, 5),
)
@examples(100)
def test_any_small_sample_is_cut_at_the_optimum(values, k, objective):
    values, k = sorted(values), min(k, len(values))
    ends = check_single(values, k, objective)
    ones = [1] * len(values)
    # Small integers: the costs are a rounding apart or truly different.
    best = least_cost(values, ones, k, objective)
    assert float(partition_cost(values, ones, ends, objective) - best) < 1e-9
    distinct, counts = np.unique(values, return_counts=True)
    ends = check_counted(distinct, counts, k, objective)
    best = least_cost(distinct, counts.tolist(), k, objective)
    assert float(partition_cost(distinct, counts.tolist(), ends, objective) - best) < 1e-9


@objectives
@pytest.mark.parametrize("k", [1, 2, 10, 64, 1000])
def test_unit_counts_give_the_partition_of_single_records(k, objective):
    values = np.sort(np.random.default_rng(5).normal(size=5000))
    ones = np.ones(values.size, np.int64)
    ends = SINGLE[objective](values, k)
    np.testing.assert_array_equal(COUNTED[objective](values, ones, k), ends)


@objectives
def test_of_equal_optima_the_last_group_is_the_smallest(objective):
    np.testing.assert_array_equal(SINGLE[objective](np.zeros(8), 3), [5, 8])
    np.testing.assert_array_equal(SINGLE[objective](np.zeros(11), 3), [5, 8, 11])


@objectives
def test_a_costly_start_does_not_blur_what_follows(objective):
    """An outlier brings the total to 1e24 (l2); the rest is still cut at the optimum."""
    k, values = 5, np.r_[-1e12, np.sort(np.random.default_rng(6).normal(size=150))]
    ends = check_single(values, k, objective)
    total = {0: Fraction(0)}
    for i in range(k, values.size + 1):
        total[i] = min(
            total[j] + group_cost(values[j:i], [1] * (i - j), objective)
            for j in range(max(i - 2 * k + 1, 0), i - k + 1)
            if j in total
        )
    excess = partition_cost(values, [1] * values.size, ends, objective) - total[values.size]
    assert 0 <= excess < 1e-3


@objectives
@pytest.mark.parametrize("k", [2, 7])
def test_groups_keep_k_records_even_where_squares_overflow(k, objective):
    values = np.array([-1e308, -1e300, -1e200, 0.0, 1.0, 2.0, 1e200, 1e300, 1e308] * 3)
    values.sort()
    check_single(values, k, objective)
    check_counted(np.unique(values), np.full(9, 3), k, objective)


@objectives
def test_one_heavy_value_may_stand_alone(objective):
    values, counts = np.array([0.0, 1.0, 5.0, 6.0]), np.array([1, 1000, 1, 2])
    np.testing.assert_array_equal(COUNTED[objective](values, counts, 3), [2, 4])


# k units instead of k records


@st.composite
def held_values(draw):
    """Return sorted distinct values with the units that hold each, one of them several times."""
    held = draw(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), max_size=9))
    held = [[0], *held]
    values = draw(
        st.lists(st.integers(-20, 20), min_size=len(held), max_size=len(held), unique=True)
    )
    return sorted(map(float, values)), held


def back_of(held, k):
    units = np.array([unit for units in held for unit in units])
    starts = np.cumsum([0, *map(len, held)])
    return last_starts(units, starts, int(units.max()) + 1, k)


def of_units(values, held, k, objective):
    counts = np.array([len(units) for units in held])
    ends = oma_units(np.array(values), counts, back_of(held, k), objective == "l1")
    assert ends.dtype == np.int64
    assert ends[-1] == len(values)
    for a, z in itertools.pairwise([0, *ends.tolist()]):
        assert len(set().union(*held[a:z])) >= k
    return partition_cost(values, counts.tolist(), ends, objective)


def least_cost_of_units(values, held, k, objective):
    """Exact least cost over all partitions into groups that k units hold, none left out."""
    n, counts = len(values), [len(units) for units in held]
    cost = {
        (a, z): group_cost(values[a:z], counts[a:z], objective)
        for a, z in itertools.combinations(range(n + 1), 2)
        if len(set().union(*held[a:z])) >= k
    }
    found = []
    for r in range(n):
        for inner in itertools.combinations(range(1, n), r):
            groups = list(itertools.pairwise((0, *inner, n)))
            if all(group in cost for group in groups):
                found.append(sum(cost[group] for group in groups))
    return min(found)


@objectives
@given(sample=held_values(), k=st.integers(1, 4))
@examples(200)
def test_units_reach_the_brute_force_optimum(sample, k, objective):
    values, held = sample
    k = min(k, len(set().union(*held)))
    # Small integers: the costs are a rounding apart or truly different.
    best = least_cost_of_units(values, held, k, objective)
    assert float(of_units(values, held, k, objective) - best) < 1e-9


@objectives
@pytest.mark.parametrize("shape", ["normal", "heavy tail", "far", "clusters"])
@pytest.mark.parametrize("units", [10, 40])
def test_units_reach_the_plain_optimum(units, shape, objective):
    k, rng = 5, np.random.default_rng(7)
    x = SHAPES[shape](rng, 100)
    # The rows of a unit are near to each other: some groups must be long.
    who = (np.argsort(np.argsort(x)) // 3 + rng.integers(0, 3, x.size)) % units
    values, place = np.unique(x, return_inverse=True)
    held = [who[place == i].tolist() for i in range(values.size)]
    counts = np.array([len(units) for units in held])
    total = [0.0] + [np.inf] * values.size
    for i in range(1, values.size + 1):
        for j in range(i):
            if total[j] < np.inf and len(set().union(*held[j:i])) >= k:
                group = np.repeat(values[j:i], counts[j:i])
                off = group - (group.mean() if objective == "l2" else np.median(group))
                cost = np.sum(off**2 if objective == "l2" else np.abs(off))
                total[i] = min(total[i], total[j] + cost)
    assert float(of_units(values, held, k, objective)) == pytest.approx(total[-1], rel=1e-6)


@objectives
@pytest.mark.parametrize("k", [1, 2, 10, 64])
def test_units_of_one_record_each_give_the_partition_of_records(k, objective):
    rng = np.random.default_rng(5)
    values, counts = np.sort(rng.normal(size=3000)), rng.integers(1, 4, 3000)
    starts, size = np.append(0, np.cumsum(counts)), int(counts.sum())
    back = last_starts(rng.permutation(size), starts, size, k)
    found = oma_units(values, counts, back, objective == "l1")
    np.testing.assert_array_equal(found, COUNTED[objective](values, counts, k))
