"""The promise: no partition into c clusters costs less, whatever the values, counts and c."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from discreet.kernels import kmeans
from discreet.kernels.kmeans import kmeans_l1, kmeans_l2, lloyd
from tests.examples import examples

SOLVERS = {"l2": kmeans_l2, "l1": kmeans_l1}


def ones(values):
    return np.ones(len(values), np.int64)


def assert_partition(ends, n, c):
    assert ends.dtype == np.int64
    assert ends.size == c
    assert ends[-1] == n
    assert np.all(np.diff(ends, prepend=0) >= 1)


# -------------------------------- costs, from the definition


def exact_cluster(values, counts, objective):
    """Cost of one cluster in rational arithmetic."""
    weight = sum(counts)
    if objective == "l2":
        mean = sum(w * x for x, w in zip(values, counts, strict=True)) / weight
        return sum(w * (x - mean) ** 2 for x, w in zip(values, counts, strict=True))
    return min(sum(w * abs(x - y) for x, w in zip(values, counts, strict=True)) for y in values)


def exact_cost(values, counts, ends, objective):
    values = [Fraction(float(v)) for v in values]
    counts = [int(w) for w in counts]
    starts = [0, *ends[:-1]]
    return sum(
        exact_cluster(values[i:j], counts[i:j], objective)
        for i, j in zip(starts, ends, strict=True)
    )


def cost(values, counts, ends, objective):
    """Cost with sums that are right to the last digit, about an origin inside each cluster."""
    total = []
    for i, j in zip([0, *ends[:-1]], ends, strict=True):
        y = values[i:j] - values[(i + j) // 2]
        w = counts[i:j]
        if objective == "l2":
            centre = math.fsum(w * y) / w.sum()
            total.append(math.fsum(w * (y - centre) ** 2))
        else:
            reached = np.cumsum(w)
            centre = y[np.searchsorted(2 * reached, reached[-1])]
            total.append(math.fsum(w * np.abs(y - centre)))
    return math.fsum(total)


# -------------------------------- brute force


distinct_values = st.one_of(
    st.lists(st.integers(-20, 20), min_size=1, max_size=9, unique=True),
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=9, unique=True),
    st.lists(st.integers(0, 1000), min_size=1, max_size=9, unique=True).map(
        lambda xs: [1e9 + x * 2.0**-20 for x in xs]
    ),
    st.lists(st.integers(-6, 6), min_size=1, max_size=9, unique=True).map(
        lambda es: [10.0**e for e in es]
    ),
)


@pytest.mark.parametrize("objective", SOLVERS)
@examples(150)
@given(data=st.data())
def test_no_partition_of_few_values_costs_less(objective, data):
    values = np.sort(np.array(data.draw(distinct_values), float))
    n = values.size
    some = st.sampled_from([st.just(1), st.integers(1, 5), st.integers(1, 10**9)])
    counts = np.array(data.draw(some.flatmap(lambda s: st.lists(s, min_size=n, max_size=n))))
    c = data.draw(st.integers(1, n))
    ends = SOLVERS[objective](values, counts, c)
    assert_partition(ends, n, c)
    least = min(
        exact_cost(values, counts, [*cuts, n], objective)
        for cuts in combinations(range(1, n), c - 1)
    )
    # Sums have 32 digits, so what is smaller than that beside the spread is not seen.
    spread = Fraction(values[-1] - values[0]) ** (2 if objective == "l2" else 1)
    unseen = spread * int(counts.sum()) / 10**28
    assert exact_cost(values, counts, ends, objective) <= least * (1 + Fraction(1, 10**9)) + unseen


# -------------------------------- a plain dynamic programme, O(c n**2)


def all_costs(values, counts, objective):
    """costs[i, j] of values i..j-1, with sums about value i."""
    n = values.size
    costs = np.full((n + 1, n + 1), np.inf)
    for i in range(n):
        y = values[i:] - values[i]
        weight, s1 = np.cumsum(counts[i:]), np.cumsum(counts[i:] * y)
        if objective == "l2":
            costs[i, i + 1 :] = np.cumsum(counts[i:] * y**2) - s1**2 / weight
        else:
            q = np.searchsorted(2 * weight, weight)
            costs[i, i + 1 :] = s1 - 2 * s1[q] + y[q] * (2 * weight[q] - weight)
    return costs


def plain_ends(values, counts, c, objective):
    costs = all_costs(values, counts, objective)
    best, choices = costs[0], []
    for _ in range(c - 1):
        candidates = best[:, None] + costs
        choices.append(candidates.argmin(axis=0))
        best = candidates.min(axis=0)
    ends = [values.size]
    for choice in reversed(choices):
        ends.append(int(choice[ends[-1]]))
    return np.array(ends[::-1])


def draw(name, n, seed=0):
    """Distinct sorted values and their counts."""
    rng = np.random.default_rng(seed)
    values = {
        "normal": lambda: rng.normal(size=n),
        "uniform": lambda: rng.random(n),
        "lognormal": lambda: rng.lognormal(0, 3, n),
        "clustered": lambda: rng.integers(0, 12, n) * 100 + rng.normal(size=n),
        "far off": lambda: 1e9 + 1e-3 * rng.normal(size=n),
        "two far groups": lambda: rng.choice([-1e6, 1e9], n) + 1e-3 * rng.normal(size=n),
        "outliers": lambda: np.append(rng.normal(size=n - 2), [-1e12, 3e15]),
        "tiny": lambda: 1e-200 * rng.normal(size=n),
        "huge": lambda: 1e300 * rng.normal(size=n),
        "integers": lambda: rng.poisson(n / 3, n).astype(float),
    }[name]()
    values, counts = np.unique(values, return_counts=True)
    if name == "integers":
        counts = counts * rng.integers(1, 10**6, counts.size)
    return values, counts


NAMES = ["normal", "uniform", "lognormal", "clustered", "far off"]
NAMES += ["two far groups", "outliers", "tiny", "integers"]


@pytest.mark.parametrize("objective", SOLVERS)
@pytest.mark.parametrize("name", NAMES)
def test_as_good_as_a_plain_dynamic_programme(name, objective):
    values, counts = draw(name, 400)
    unit = 1e200 if name == "tiny" else 1.0  # the twin's squares would underflow
    for c in (2, 3, 7, 15, 40):
        ends = SOLVERS[objective](values, counts, c)
        assert_partition(ends, values.size, c)
        twin = plain_ends(values * unit, counts, c, objective)
        assert cost(values * unit, counts, ends, objective) <= (1 + 1e-9) * cost(
            values * unit, counts, twin, objective
        )


# -------------------------------- divide and conquer, O(c n log n)


@njit(cache=True)
def twin_cost(x, s1, s2, l1, i, j):
    if i >= j:
        return 0.0
    if l1:
        q = (i + j) // 2
        return (s1[j] - s1[q]) - (s1[q] - s1[i]) - x[q] * (j - 2 * q + i)
    return s2[j] - s2[i] - (s1[j] - s1[i]) ** 2 / (j - i)


@njit(cache=True)
def twin_ends(values, c, l1):
    """Layer by layer; the best cut of the middle position bounds those of both halves."""
    n = values.size
    x = values - values[n // 2]
    s1 = np.append(0.0, np.cumsum(x))
    s2 = np.append(0.0, np.cumsum(x * x))
    before = np.array([twin_cost(x, s1, s2, l1, 0, j) for j in range(n + 1)])
    choice = np.zeros((c, n + 1), np.int32)
    for k in range(1, c):
        best = np.full(n + 1, np.inf)
        todo = [(0, n, 0, n)]
        while todo:
            first, last, low, high = todo.pop()
            if first > last:
                continue
            j = (first + last) // 2
            at = low
            for i in range(low, min(high, j) + 1):
                value = before[i] + twin_cost(x, s1, s2, l1, i, j)
                if value < best[j]:
                    best[j] = value
                    at = i
            choice[k, j] = at
            todo.append((first, j - 1, low, at))
            todo.append((j + 1, last, at, high))
        before = best
    ends = np.full(c, n)
    for k in range(c - 1, 0, -1):
        ends[k - 1] = choice[k, ends[k]]
    return ends


def assert_as_good_as_twin(values, counts, c, objective):
    ends = SOLVERS[objective](values, counts, c)
    assert_partition(ends, values.size, c)
    repeated = np.repeat(values, counts)
    twin = cost(repeated, ones(repeated), twin_ends(repeated, c, objective == "l1"), objective)
    assert cost(values, counts, ends, objective) <= (1 + 1e-9) * twin


@pytest.mark.parametrize("name", ["normal", "uniform", "lognormal", "clustered", "far off"])
@pytest.mark.parametrize("objective", SOLVERS)
def test_long_columns(name, objective):
    values, counts = draw(name, 60_000)
    for c in (2, 5, 12):
        assert_as_good_as_twin(values, counts, c, objective)


@pytest.mark.parametrize("objective", SOLVERS)
@pytest.mark.parametrize("seed", range(15))
def test_bins_that_are_dropped_hold_no_cut(seed, objective, monkeypatch):
    """With small grids bins are dropped in short columns too, often and from bad first guesses."""
    monkeypatch.setattr(kmeans, "_COARSE", 8)
    rng = np.random.default_rng(seed)
    for name in ("normal", "uniform", "lognormal", "clustered"):
        values, _ = draw(name, 2000, seed)
        counts = rng.integers(1, 4, values.size)
        for c in (2, 3, 7):
            assert_as_good_as_twin(values, counts, c, objective)


@pytest.mark.parametrize("objective", SOLVERS)
def test_long_column_with_counts(objective):
    values, _ = draw("normal", 80_000)
    counts = np.random.default_rng(1).geometric(0.4, values.size)
    assert_as_good_as_twin(values, counts, 6, objective)


@pytest.mark.parametrize("objective", SOLVERS)
@pytest.mark.parametrize("name", ["normal", "lognormal"])
def test_many_clusters(name, objective):
    values, counts = draw(name, 2000)
    for c in (200, 1000, 1999):
        assert_as_good_as_twin(values, counts, c, objective)


# -------------------------------- known answers and invariants


@pytest.mark.parametrize("n", [60, 97, 9000])
def test_equal_steps_are_shared_out_evenly(n):
    """The cost curve has straight pieces here, so that paths have to be spliced."""
    values = np.arange(n, dtype=float)
    for c in {2, 3, 7, 8, n // 7, n // 4 + 1, n // 3, n // 2 - 1, n - 2}:
        ends = kmeans_l2(values, ones(values), c)
        assert_partition(ends, n, c)
        size, larger = divmod(n, c)
        optimum = (c - larger) * size * (size**2 - 1) + larger * (size + 1) * size * (size + 2)
        assert cost(values, ones(values), ends, "l2") == pytest.approx(optimum / 12, rel=1e-9)


def test_groups_are_found():
    values = np.sort(np.add.outer([-5e8, 0.0, 3.0, 1e9], [0.0, 1e-3, 2e-3]).ravel())
    for solver in SOLVERS.values():
        assert solver(values, ones(values), 4).tolist() == [3, 6, 9, 12]


@pytest.mark.parametrize("objective", SOLVERS)
def test_one_cluster_and_one_each(objective):
    values, counts = draw("normal", 10)
    assert SOLVERS[objective](values, counts, 1).tolist() == [10]
    assert SOLVERS[objective](values, counts, 10).tolist() == list(range(1, 11))
    assert SOLVERS[objective](values[:1], counts[:1], 1).tolist() == [1]


@pytest.mark.parametrize("objective", SOLVERS)
def test_offset_and_unit_do_not_matter(objective):
    values, counts = draw("far off", 20_000)
    ends = SOLVERS[objective](values, counts, 8)
    for same in (values - 1e9, values * 2.0**-900, values * 2.0**900):  # all exact
        assert cost(values, counts, SOLVERS[objective](same, counts, 8), objective) == (
            pytest.approx(cost(values, counts, ends, objective), rel=1e-9)
        )


@pytest.mark.parametrize("name", ["tiny", "huge"])
@pytest.mark.parametrize("objective", SOLVERS)
def test_extreme_units(name, objective):
    values, counts = draw(name, 300)
    unit = {"tiny": 1e200, "huge": 1e-300}[name]
    least = cost(values * unit, counts, plain_ends(values * unit, counts, 5, objective), objective)
    ends = SOLVERS[objective](values, counts, 5)
    assert cost(values * unit, counts, ends, objective) <= (1 + 1e-9) * least


def test_more_clusters_never_cost_more():
    values, counts = draw("integers", 5000)
    costs = [cost(values, counts, kmeans_l2(values, counts, c), "l2") for c in range(1, 30)]
    assert np.all(np.diff(costs) < 0)


# -------------------------------- Lloyd


@pytest.mark.parametrize("name", NAMES)
def test_optimum_never_above_lloyd(name):
    values, counts = draw(name, 30_000)
    for c in (4, 11):
        start = np.quantile(values, (np.arange(c) + 0.5) / c)
        _, ends = lloyd(values, counts, start)
        ends = np.unique(ends[ends > 0])
        best = kmeans_l2(values, counts, c)
        assert cost(values, counts, best, "l2") <= (1 + 1e-9) * cost(values, counts, ends, "l2")


def plain_lloyd(values, counts, centres):
    label = None
    while True:
        new = np.abs(values[:, None] - centres).argmin(axis=1)  # ties to the lower centre
        if np.array_equal(new, label):
            return centres, np.searchsorted(label, np.arange(centres.size), side="right")
        label = new
        centres = np.array(
            [
                np.average(values[label == k], weights=counts[label == k]) if k in label else centre
                for k, centre in enumerate(centres)
            ]
        )


@pytest.mark.parametrize("name", ["normal", "lognormal", "clustered", "integers"])
def test_lloyd_takes_the_textbook_steps(name):
    values, counts = draw(name, 500)
    start = np.random.default_rng(3).choice(values, 6, replace=False)
    centres, ends = lloyd(values, counts, start)
    expected_centres, expected_ends = plain_lloyd(values, counts, np.sort(start))
    assert ends.tolist() == expected_ends.tolist()
    np.testing.assert_allclose(centres, expected_centres, rtol=1e-12)


def test_lloyd_from_centres_beyond_the_values():
    values = np.arange(11.0)
    _, ends = lloyd(values, ones(values), np.array([10.5, 10.6]))
    assert ends.tolist() == plain_lloyd(values, ones(values), np.array([10.5, 10.6]))[1].tolist()
    assert 0 < ends[0] < 11


def test_lloyd_empty_cluster_keeps_its_centre():
    values = np.array([0.0, 1.0, 10.0, 11.0])
    centres, ends = lloyd(values, ones(values), np.array([0.0, 6.0, 10.0]))
    assert centres.tolist() == [0.5, 6.0, 10.5]
    assert ends.tolist() == [2, 2, 4]


def test_lloyd_halfway_value_goes_to_the_lower_centre():
    values = np.array([0.0, 2.0, 4.0])
    assert lloyd(values, ones(values), np.array([0.0, 4.0]))[1].tolist() == [2, 3]


def test_lloyd_stops_after_max_iter():
    values, counts = draw("normal", 5000)
    start = values[:5]
    assert lloyd(values, counts, start, 1)[1].tolist() != lloyd(values, counts, start)[1].tolist()
