"""Probabilistic linkage against a matrix of all pairs, and against splink."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import rankdata

from discreet.datasets import load_census
from discreet.errors import BadInput
from discreet.regression import PoROP
from discreet.reproduce import data, porop
from discreet.risk import distance_linkage, probabilistic_linkage
from discreet.risk.probabilistic import Originals, agreeing, fit_agreement
from discreet.risk.probabilistic import pattern_counts as counted
from tests.examples import examples
from tests.risk.test_distance import mdav_like, varied, z_scores

quiet = pytest.mark.filterwarnings("ignore:probabilistic_linkage leaves out")


def mid_ranks(values):
    ranks = np.full(len(values), np.nan)
    there = ~np.isnan(values)
    ranks[there] = rankdata(values[there])
    return ranks / there.sum()


def agreement(x, y, tolerances=(0.25,), categorical=(), how="sd"):
    """Attribute, protected record, original record -> level; constant columns left out."""
    found = []
    for c in varied(x, y):
        if c in categorical:
            found.append((y[:, c][:, None] == x[:, c][None, :]) * len(tolerances))
            continue
        if how == "sd":
            a, b = z_scores(x[:, [c]])[:, 0], z_scores(y[:, [c]])[:, 0]
            edge = 0.0
        else:
            # Shares of ranks as they are, so a little room for what rounding does at the edge.
            (a, b), edge = (mid_ranks(file[:, c]) for file in (x, y)), 1e-12
        apart = np.abs(b[:, None] - a[None, :])
        found.append(sum((apart <= one + edge).astype(int) for one in tolerances))
    return np.array(found)


def shares(levels, weights, count):
    """Attribute by level: the share of the weight, at least 1e-6; the largest gives way."""
    total = weights.sum()
    found = np.array([[weights[one == v].sum() / total for v in range(count)] for one in levels])
    found = np.maximum(found, 1e-6)
    for row in found:
        most = row.argmax()
        row[most] = 1 - np.delete(row, most).sum()
    return found


def em(levels, count=2):
    """EM over every pair, those that agree alike taken together: m and u, attribute by level."""
    prior = 1 / levels.shape[1]
    levels, pairs = np.unique(levels.reshape(len(levels), -1), axis=1, return_counts=True)
    u = shares(levels, pairs, count)
    m = np.full(u.shape, 0.9 / (count - 1))
    m[:, 0] = 0.1
    for _ in range(500):
        match = np.full(levels.shape[1:], prior)
        other = np.full(levels.shape[1:], 1 - prior)
        for k, level in enumerate(levels):
            match, other = match * m[k][level], other * u[k][level]
        w = match / (match + other)
        new_m, new_u = shares(levels, w * pairs, count), shares(levels, (1 - w) * pairs, count)
        for k in range(len(levels)):
            new_m[k] = new_u[k] * isotonic_regression(new_m[k] / new_u[k], weights=new_u[k]).x
        change = max(abs(new_m - m).max(), abs(new_u - u).max())
        m, u = new_m, new_u
        if change < 1e-7:
            break
    return m, u


def slow_linkage(x, y, tolerances=(0.25,), categorical=(), how="sd"):
    levels = agreement(x, y, tolerances, categorical, how)
    n = len(x)
    if len(levels) == 0:
        return 1 / n
    m, u = em(levels, len(tolerances) + 1)
    weight = sum(np.log2(m[k] / u[k])[level] for k, level in enumerate(levels))
    total = 0.0
    for i in range(n):
        best = weight[i] >= weight[i].max() - 1e-9
        total += best[i] / best.sum()
    return total / n


def pattern_counts(levels, count=2):
    pattern = sum(level * count**k for k, level in enumerate(levels))
    return np.bincount(pattern.ravel(), minlength=count ** len(levels))


@pytest.mark.parametrize("n", [2, 63, 64, 65, 150])
@pytest.mark.parametrize("p", [1, 2, 4, 9])
@pytest.mark.parametrize("offset", [0.0, 1e9])
@quiet
def test_against_all_pairs(n, p, offset):
    rng = np.random.default_rng(n + p)
    x = rng.normal(size=(n, p))
    y = x + 0.15 * rng.normal(size=x.shape)
    if n > 2:
        x[rng.random(x.shape) < 0.03] = np.nan
        y[rng.random(y.shape) < 0.03] = np.nan
        y[:10] = y[10:20]
        x[:, 0] = np.round(x[:, 0], 1)
    x, y = offset + 1e-3 * x, offset + 1e-3 * y
    for how, tolerance in (("sd", 0.25), ("rank", 0.01)):
        found = probabilistic_linkage(x, y, agreement=how, known="all")
        assert found == pytest.approx(slow_linkage(x, y, (tolerance,), how=how))


GRADES = [0.002, 0.01, 0.05, 0.1]


@pytest.mark.parametrize(("n", "p"), [(2, 1), (64, 2), (65, 4), (150, 3), (100, 6)])
@quiet
def test_graded_against_all_pairs(n, p):
    rng = np.random.default_rng(n + p)
    x = np.exp(3 * rng.normal(size=(n, p)))
    y = x * np.exp(0.3 * rng.normal(size=x.shape))
    if n > 2:
        x[rng.random(x.shape) < 0.03] = np.nan
        y[rng.random(y.shape) < 0.03] = np.nan
        x[:, 0] = np.round(x[:, 0], 1)
    expected = slow_linkage(x, y, GRADES, how="rank")
    assert probabilistic_linkage(x, y, known="all") == pytest.approx(expected)
    if n > 2:
        assert expected > slow_linkage(x, y)


@pytest.mark.parametrize(("p", "usual"), [(9, GRADES), (10, [0.005, 0.05]), (14, [0.01])])
def test_the_more_columns_the_fewer_levels(p, usual):
    rng = np.random.default_rng(p)
    x = rng.normal(size=(60, p))
    y = x + 0.3 * rng.normal(size=x.shape)
    found = probabilistic_linkage(x, y, known="all")
    assert found == probabilistic_linkage(x, y, tolerance=usual, known="all")
    assert found == pytest.approx(slow_linkage(x, y, usual, how="rank"))


def test_tolerances_by_column():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 3))
    y = x + 0.3 * rng.normal(size=x.shape)
    for how, usual, own in (("sd", [0.25], [0.6]), ("rank", [0.01], [0.1])):
        levels = agreement(x, y, usual, how=how)
        levels[1] = agreement(x, y, own, how=how)[1]
        m, u = em(levels)
        weight = sum(np.log2(m[k] / u[k])[level] for k, level in enumerate(levels))
        best = weight >= weight.max(axis=1, keepdims=True) - 1e-9
        expected = np.mean(np.diag(best) / best.sum(axis=1))
        tolerance = {"x1": own[0]}
        found = probabilistic_linkage(x, y, agreement=how, tolerance=tolerance, known="all")
        assert found == pytest.approx(expected)


def test_columns_of_fewer_levels_than_others():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(150, 2))
    y = x + 0.2 * rng.normal(size=x.shape)
    # Levels that are the same twice say as little as levels that are not there.
    expected = slow_linkage(x, y, [0.02, 0.1], how="rank")
    found = probabilistic_linkage(x, y, tolerance=[0.1, 0.02, 0.1], known="all")
    assert found == pytest.approx(expected)
    levels = agreement(x, y, [0.02, 0.1], how="rank")
    levels[1] = 2 * agreement(x, y, [0.05], how="rank")[1]
    m, u = em(levels, 3)
    weight = sum(np.log2(m[k] / u[k])[level] for k, level in enumerate(levels))
    best = weight >= weight.max(axis=1, keepdims=True) - 1e-9
    tolerance = {"x0": [0.02, 0.1], "x1": [0.05]}
    found = probabilistic_linkage(x, y, tolerance=tolerance, known="all")
    assert found == pytest.approx(np.mean(np.diag(best) / best.sum(axis=1)))


def test_skewed_columns_are_found_by_ranks():
    """Within 0.25 standard deviations of revenues lies nearly everybody."""
    rng = np.random.default_rng(6)
    x = np.exp(3 * rng.normal(size=(600, 3)))
    y = x * np.exp(0.05 * rng.normal(size=x.shape))
    found = {
        how: probabilistic_linkage(x, y, agreement=how, known="all")
        for how in ("sd", "rank", "graded")
    }
    assert found["sd"] < 0.1 < found["rank"] < found["graded"]


def test_a_large_table_is_learned_from_evenly_spread_records(monkeypatch):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 3))
    y = x + 0.1 * rng.normal(size=x.shape)
    whole = probabilistic_linkage(x, y, known="all")
    monkeypatch.setattr("discreet.risk.probabilistic._LEARNED", 100)
    levels = agreement(x, y, GRADES, how="rank")
    attributes = [
        agreeing(Originals(x[:, k], agreement="graded"), y[:, k], GRADES) for k in range(3)
    ]
    some = levels[:, np.arange(100) * 5]
    np.testing.assert_array_equal(counted(attributes), pattern_counts(some, 5))
    assert probabilistic_linkage(x, y, known="all") == pytest.approx(whole, abs=0.05)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 3), st.integers(2, 6))
@examples(100)
@quiet
def test_small_tables_of_mixed_columns_against_all_pairs(seed, n, p, values):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, values, size=(n, p)).astype(float)
    y = np.where(rng.random((n, p)) < 0.7, x, rng.integers(0, values, size=(n, p)))
    for file in (x, y):
        file[rng.random(file.shape) < 0.05] = np.nan
    text = [
        pa.table(
            {
                f"c{c}": pa.array(file[:, c], from_pandas=True)
                if c % 2
                else pa.array([None if v != v else str(v) for v in file[:, c]], pa.string())
                for c in range(p)
            }
        )
        for file in (x, y)
    ]
    categories = range(0, p, 2)
    for how, tolerances in (("sd", [0.25]), ("graded", GRADES)):
        expected = slow_linkage(x, y, tolerances, categories, how)
        found = probabilistic_linkage(*text, agreement=how, known="all")
        assert found == pytest.approx(expected)


def test_parameters_against_all_pairs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = x + 0.1 * rng.normal(size=x.shape)
    for how, tolerances in (("sd", [0.25]), ("rank", GRADES)):
        levels, count = agreement(x, y, tolerances, how=how), len(tolerances) + 1
        fitted = fit_agreement(pattern_counts(levels, count), 200, count)
        for found, expected in zip(fitted, em(levels, count), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7)
            np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_tolerance_is_met_exactly_at_its_edge():
    # Standardised, neighbours are 1 / sd apart: floats on either side of it must fall as they do
    # in the plain test |zx - zy| <= tolerance.
    x = np.arange(10.0)[:, None]
    step = 1 / np.std(x, ddof=1)
    for tolerance in (0.0, step * (1 - 1e-12), step, step * (1 + 1e-12)):
        found = probabilistic_linkage(x, x, agreement="sd", tolerance=tolerance)
        assert found == pytest.approx(slow_linkage(x, x, [tolerance]))
    # 0.29 of 100 ranks are 29, though 0.29 * 100 is a little less.
    x = np.arange(100.0)[:, None]
    found = agreeing(Originals(x[:, 0], agreement="rank"), x[:, 0], [0.29])
    assert found.spans[0, 50].tolist() == [21, 80]


def test_identical_categories_give_one_over_ties():
    labels = ["a", "a", "b", "c", "c", "c"]
    table = pa.table({"s": labels, "t": labels})
    assert probabilistic_linkage(table, table, known="all") == pytest.approx(3 / 6)


def dependent_columns():
    """Two columns that say the same; a third that EM left free would hold against a match."""
    return pa.table({"c": ["a", "b"] * 10, "d": np.arange(20), "b": ["x", "y"] * 10})


def test_agreement_never_counts_against_a_match():
    table = dependent_columns()
    x = np.column_stack([np.arange(20) % 2, np.arange(20), np.arange(20) % 2]).astype(float)
    found = probabilistic_linkage(table, table, agreement="sd", known="all")
    assert found == pytest.approx(slow_linkage(x, x, categorical=(0, 2)))
    assert found >= 1 / 10
    m, u = fit_agreement(pattern_counts(agreement(x, x, [0.25], (0, 2))), 20)
    assert (m[:, 1] >= u[:, 1]).all()


def test_closer_agreement_never_counts_less():
    # Released values are far from their own or very near: the level between is of others only.
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 2))
    y = np.where(rng.random(x.shape) < 0.5, x, x + 0.5 * rng.choice([-1, 1], x.shape))
    levels = agreement(x, y, [0.005, 0.02, 0.1], how="rank")
    m, u = fit_agreement(pattern_counts(levels, 4), 300, 4)
    assert (np.diff(m / u, axis=1) >= -1e-12).all()
    assert np.isclose(np.diff(m / u, axis=1), 0).any()


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 3), st.integers(2, 6))
@examples(100)
@quiet
def test_identical_tables_are_linked_no_worse_than_by_chance(seed, n, p, values):
    x = np.random.default_rng(seed).integers(0, values, size=(n, p)).astype(float)
    found = probabilistic_linkage(x, x, known="all", detail=True)
    assert (found.records >= 1 / n - 1e-12).all()


def test_a_permuted_table_is_linked_by_chance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1500, 3))
    assert probabilistic_linkage(x, x[rng.permutation(1500)], known="all") < 5 / 1500


def test_far_more_records_than_prefixes(monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 3))
    y = x + 0.05 * rng.normal(size=x.shape)
    whole = probabilistic_linkage(x, y, known="all")
    monkeypatch.setattr("discreet.risk.probabilistic._PREFIX_BYTES", 1000)
    assert probabilistic_linkage(x, y, known="all") == whole


def test_any_number_of_threads_gives_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2000, 4))
    y = x + 0.2 * rng.normal(size=x.shape)
    found = []
    for cores in ({0}, {0, 1, 2, 3}):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: cores, raising=False)
        found.append(probabilistic_linkage(x, y, detail=True).records)
    np.testing.assert_array_equal(*found)


@quiet
def test_one_row_and_constant_columns():
    assert probabilistic_linkage([[1.0, 2.0]], [[3.0, 4.0]]) == 1.0
    table = pa.table({"s": ["a", "a", "a", "a"]})
    assert probabilistic_linkage(table, table) == 0.25


def test_constant_columns_are_named():
    with pytest.warns(UserWarning, match="probabilistic_linkage leaves out column 'x0', which is"):
        probabilistic_linkage([[1.0], [1.0]], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"agreement": "sd", "tolerance": -1}, "tolerance = -1 must be 0 or more"),
        ({"agreement": "ranks"}, """agreement = "ranks": did you mean 'rank'?"""),
        ({"tolerance": 0.25}, 'tolerance = 0.25: agreement = "graded" takes a list, such as [0.01, '
         '0.05]; one number is for agreement = "rank" or "sd"'),
        ({"agreement": "sd", "tolerance": [0.1, 0.2]}, 'tolerance = [0.1, 0.2]: agreement = "sd" '
         'takes one number; a list is for agreement = "graded"'),
        ({"tolerance": []}, "tolerance holds no number"),
        ({"tolerance": ["wide"]}, "tolerance = wide must be 0 or more"),
        ({"tolerance": {"agge": [0.1]}}, "tolerance: there is no column 'agge'; did you mean 'age'?"),
        ({"tolerance": {"sex": [0.1]}},
         "tolerance: column 'sex' holds categories, which agree when equal"),
        ({"tolerance": {"age": [0.1, float("nan")]}}, "tolerance of 'age' = nan must be 0 or more"),
    ],
)  # fmt: skip
def test_what_is_refused(asked, said):
    table = pa.table({"age": [20, 30], "sex": ["f", "m"]})
    with pytest.raises(BadInput) as error:
        probabilistic_linkage(table, table, **asked)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("p", "tolerance", "said"),
    [
        (21, None, "at most 20 columns at a time, not 21; name fewer in known"),
        (14, [0.1, 0.2], "at most 13 columns at a time on 3 levels, not 14; name fewer in known or "
         "give fewer tolerances"),
    ],
)  # fmt: skip
def test_too_many_columns(p, tolerance, said):
    wide = np.random.default_rng(0).normal(size=(5, p))
    with pytest.raises(BadInput) as error:
        probabilistic_linkage(wide, wide, tolerance=tolerance, known="all")
    assert str(error.value) == f"probabilistic_linkage compares {said}"


def test_a_column_of_another_kind_is_left_out_by_name():
    x = pa.table({"age": [20, 30], "sex": ["f", "m"]})
    y = pa.table({"age": ["20-29", "30-39"], "sex": ["f", "m"]})
    with pytest.warns(
        UserWarning, match="'age' is not compared as numbers: it is numeric in the original and te"
    ):
        assert probabilistic_linkage(x, y, known="all") == 1.0


def test_revenues_of_eia_that_one_tolerance_does_not_tell_apart():
    try:
        x = porop.load("II")
    except data.NotFound as error:
        pytest.skip(str(error))
    y = PoROP(4000, 1, noise="synthetic", random_state=0).fit_transform(x)
    found = {how: probabilistic_linkage(x, y, agreement=how) for how in ("sd", "rank", "graded")}
    assert found == pytest.approx({"sd": 0.0231, "rank": 0.2367, "graded": 0.5000}, abs=5e-4)
    assert distance_linkage(x, y) == pytest.approx(0.5014, abs=5e-4)


@pytest.mark.parametrize("k", [3, 10])
def test_census_masked_twice_by_different_code(k):
    try:
        census = load_census()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    census = census.slice(0, 400)
    x = np.column_stack([column.to_numpy() for column in census.columns]).astype(float)
    y = mdav_like(x, k)
    expected = np.mean([slow_linkage(x[:, :h], y[:, :h]) for h in (1, 4, 7)])
    sets = [census.column_names[:h] for h in (1, 4, 7)]
    released = pa.table(dict(zip(census.column_names, y.T, strict=True)))
    found = probabilistic_linkage(census, released, agreement="sd", known=sets)
    assert found == pytest.approx(expected)
    assert 0 < found <= distance_linkage(census, released, known=sets) + 0.1
