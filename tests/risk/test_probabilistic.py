"""Probabilistic linkage against a matrix of all pairs, and against splink."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.datasets import load_census
from discreet.errors import BadInput
from discreet.risk import distance_linkage, probabilistic_linkage
from discreet.risk.probabilistic import fit_agreement
from tests.examples import examples
from tests.risk.test_distance import mdav_like, varied, z_scores

quiet = pytest.mark.filterwarnings("ignore:probabilistic_linkage leaves out")


def agreement(x, y, tolerance, categorical=()):
    """Attribute, protected record, original record -> agrees; constant columns left out."""
    found = []
    for c in varied(x, y):
        if c in categorical:
            found.append(y[:, c][:, None] == x[:, c][None, :])
        else:
            a, b = z_scores(x[:, [c]])[:, 0], z_scores(y[:, [c]])[:, 0]
            found.append(np.abs(b[:, None] - a[None, :]) <= tolerance)
    return np.array(found)


def em(agrees):
    """EM over every single pair: m and u."""
    prior = 1 / agrees.shape[1]
    u = np.clip(agrees.mean(axis=(1, 2)), 1e-6, 1 - 1e-6)
    m = np.full(len(u), 0.9)
    for _ in range(500):
        match = np.full(agrees.shape[1:], prior)
        other = np.full(agrees.shape[1:], 1 - prior)
        for k, a in enumerate(agrees):
            match = match * np.where(a, m[k], 1 - m[k])
            other = other * np.where(a, u[k], 1 - u[k])
        w = match / (match + other)
        new_m = np.clip([(w * a).sum() / w.sum() for a in agrees], 1e-6, 1 - 1e-6)
        new_u = np.clip([((1 - w) * a).sum() / (1 - w).sum() for a in agrees], 1e-6, 1 - 1e-6)
        new_m = np.maximum(new_m, new_u)
        change = max(abs(new_m - m).max(), abs(new_u - u).max())
        m, u = new_m, new_u
        if change < 1e-7:
            break
    return m, u


def weights(agrees):
    m, u = em(agrees)
    total = np.zeros(agrees.shape[1:])
    for k, a in enumerate(agrees):
        total = total + np.where(a, np.log2(m[k] / u[k]), np.log2((1 - m[k]) / (1 - u[k])))
    return total


def slow_linkage(x, y, tolerance=0.25, categorical=()):
    agrees = agreement(x, y, tolerance, categorical)
    n = len(x)
    if len(agrees) == 0:
        return 1 / n
    weight = weights(agrees)
    total = 0.0
    for i in range(n):
        best = weight[i] >= weight[i].max() - 1e-9
        total += best[i] / best.sum()
    return total / n


def pattern_counts(agrees):
    pattern = sum(a.astype(int) << k for k, a in enumerate(agrees))
    return np.bincount(pattern.ravel(), minlength=1 << len(agrees))


@pytest.mark.parametrize("n", [2, 63, 64, 65, 300])
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
    assert probabilistic_linkage(x, y, known="all") == pytest.approx(slow_linkage(x, y))


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
    expected = slow_linkage(x, y, categorical=range(0, p, 2))
    assert probabilistic_linkage(*text, known="all") == pytest.approx(expected)


def test_parameters_against_all_pairs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    agrees = agreement(x, x + 0.1 * rng.normal(size=x.shape), 0.25)
    for found, expected in zip(fit_agreement(pattern_counts(agrees), 200), em(agrees), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_tolerance_is_met_exactly_at_its_edge():
    # Standardised, neighbours are 1 / sd apart: floats on either side of it must fall as they do
    # in the plain test |zx - zy| <= tolerance.
    x = np.arange(10.0)[:, None]
    step = 1 / np.std(x, ddof=1)
    for tolerance in (0.0, step * (1 - 1e-12), step, step * (1 + 1e-12)):
        found = probabilistic_linkage(x, x, tolerance=tolerance)
        assert found == pytest.approx(slow_linkage(x, x, tolerance))


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
    found = probabilistic_linkage(table, table, known="all")
    assert found == pytest.approx(slow_linkage(x, x, categorical=(0, 2)))
    assert found >= 1 / 10
    m, u = fit_agreement(pattern_counts(agreement(x, x, 0.25, (0, 2))), 20)
    assert (m >= u).all()


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


def test_what_is_refused():
    with pytest.raises(BadInput, match=r"tolerance = -1 must be 0 or more"):
        probabilistic_linkage([[1.0]], [[1.0]], tolerance=-1)
    wide = np.random.default_rng(0).normal(size=(5, 21))
    with pytest.raises(BadInput, match="at most 20 columns at a time, not 21"):
        probabilistic_linkage(wide, wide, known="all")


def test_a_column_of_another_kind_is_left_out_by_name():
    x = pa.table({"age": [20, 30], "sex": ["f", "m"]})
    y = pa.table({"age": ["20-29", "30-39"], "sex": ["f", "m"]})
    with pytest.warns(
        UserWarning, match="'age' is not compared as numbers: it is numeric in the original and te"
    ):
        assert probabilistic_linkage(x, y, known="all") == 1.0


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
    found = probabilistic_linkage(census, released, known=sets)
    assert found == pytest.approx(expected)
    assert 0 < found <= distance_linkage(census, released, known=sets) + 0.1
