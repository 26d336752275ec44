"""Distance linkage against a plain matrix of all distances."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.datasets import load_census
from discreet.errors import BadInput
from discreet.risk import distance_linkage
from tests.examples import examples
from tests.timed import within

quiet = pytest.mark.filterwarnings("ignore:distance_linkage leaves out")
METRICS = ["euclidean", "mahalanobis", "gower"]


def z_scores(values):
    """Columns by their own mean and sd; from the least value on, as floats near 1e9 need it."""
    columns = []
    for column in np.asarray(values, dtype=float).T:
        column = column - np.nanmin(column)
        columns.append((column - np.nanmean(column)) / np.nanstd(column, ddof=1))
    return np.array(columns).T.reshape(len(values), -1)


def varied(x, y):
    """Columns with two different values or more, in both files."""
    return [
        c
        for c in range(x.shape[1])
        if all(len(np.unique(v[~np.isnan(v)])) > 1 for v in (x[:, c], y[:, c]))
    ]


def hits_by_matrix(distances):
    """Mean hit; distances of query (row) to target (column), NaN where they cannot be compared."""
    n = len(distances)
    total = 0.0
    for i in range(n):
        own = distances[i, i]
        if np.isnan(own) or np.nanmin(distances[i]) < own:
            continue
        total += 1 / np.sum(distances[i] == own)
    return total / n


def euclidean_matrix(queries, targets):
    distances = np.zeros((len(queries), len(targets)))
    for c in range(queries.shape[1]):
        distances = distances + (queries[:, c][:, None] - targets[:, c][None, :]) ** 2
    return distances


def euclidean(x, y, scale="standardize", forward=True):
    kept = varied(x, y)
    if not kept:
        return 1 / len(x)
    x, y = x[:, kept], y[:, kept]
    if scale == "standardize":
        x, y = z_scores(x), z_scores(y)
    return hits_by_matrix(euclidean_matrix(y, x) if forward else euclidean_matrix(x, y))


def gower(x, y, categorical=()):
    kept = varied(x, y)
    if not kept:
        return 1 / len(x)
    total = np.zeros((len(x), len(x)))
    compared = np.zeros((len(x), len(x)))
    for c in kept:
        a, b = x[:, c], y[:, c]
        low, high = np.nanmin([a, b]), np.nanmax([a, b])
        if c in categorical:
            part = (b[:, None] != a[None, :]) + 0.0
        else:
            part = np.abs((b[:, None] - low) / (high - low) - (a[None, :] - low) / (high - low))
        both = ~np.isnan(b)[:, None] & ~np.isnan(a)[None, :]
        total += np.where(both, part, 0)
        compared += both
    return hits_by_matrix(np.where(compared > 0, total / np.maximum(compared, 1), np.nan))


def tables(low=0, high=4, nulls=True):
    """Two files of few different values: ties, duplicates and constant columns abound."""
    cell = st.integers(low, high).map(float)
    if nulls:
        cell = cell | st.just(np.nan)
    shapes = st.tuples(st.integers(1, 25), st.integers(1, 4))
    return shapes.flatmap(
        lambda shape: st.tuples(
            *[
                st.lists(
                    st.lists(cell, min_size=shape[1], max_size=shape[1]),
                    min_size=shape[0],
                    max_size=shape[0],
                ).map(np.array)
                for _ in range(2)
            ]
        )
    )


@given(tables(), st.booleans())
@examples(200)
@quiet
def test_raw_against_all_distances(files, forward):
    x, y = files
    direction = "protected_to_original" if forward else "original_to_protected"
    found = distance_linkage(x, y, known="all", scale="raw", direction=direction)
    assert found == pytest.approx(euclidean(x, y, "raw", forward))


@given(tables(high=30))
@examples(200)
@quiet
def test_standardized_against_all_distances(files):
    assert distance_linkage(*files, known="all") == pytest.approx(euclidean(*files))


@given(tables())
@examples(200)
@quiet
def test_gower_against_all_distances(files):
    assert distance_linkage(*files, known="all", metric="gower") == pytest.approx(gower(*files))


@given(tables(high=3))
@examples(100)
@quiet
def test_gower_of_mixed_columns_against_all_distances(files):
    x, y = files
    mixed = [
        pa.table(
            {
                f"c{c}": pa.array(values[:, c], from_pandas=True)
                if c % 2
                else pa.array([None if v != v else f"v{v:.0f}" for v in values[:, c]], pa.string())
                for c in range(x.shape[1])
            }
        )
        for values in files
    ]
    expected = gower(x, y, categorical=range(0, x.shape[1], 2))
    assert distance_linkage(*mixed, known="all", metric="gower") == pytest.approx(expected)


@pytest.mark.parametrize("noise", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("p", [1, 3, 9])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_larger_tables_against_all_distances(noise, p, offset):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(700, p)) @ rng.normal(size=(p, p))
    y = x + noise * rng.normal(size=x.shape)
    x[rng.random(x.shape) < 0.02] = np.nan
    y[:40] = y[40:80]
    x, y = offset + 1e-3 * x, offset + 1e-3 * y
    assert distance_linkage(x, y, known="all") == pytest.approx(euclidean(x, y))
    assert distance_linkage(x, y, known="all", scale="raw") == pytest.approx(euclidean(x, y, "raw"))
    assert distance_linkage(x, y, known="all", metric="gower") == pytest.approx(gower(x, y))


@pytest.mark.parametrize("scale", ["standardize", "raw"])
def test_mahalanobis_against_the_inverse_covariance(scale):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    y = x + 0.3 * rng.normal(size=x.shape)
    a, b = (z_scores(x), z_scores(y)) if scale == "standardize" else (x, y)
    inverse = np.linalg.inv(np.cov(a.T))
    differences = b[:, None, :] - a[None, :, :]
    expected = hits_by_matrix(np.einsum("ijk,kl,ijl->ij", differences, inverse, differences))
    found = distance_linkage(x, y, known="all", metric="mahalanobis", scale=scale)
    assert found == pytest.approx(expected)


def test_mahalanobis_leaves_out_a_combination_of_columns():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(100, 2))
    x = np.column_stack([x, x @ [1.0, -2.0]])
    y = x + 0.1 * rng.normal(size=x.shape)
    with pytest.warns(UserWarning, match="leaves out column 'x2', which is a linear combination"):
        found = distance_linkage(x, y, known="all", metric="mahalanobis", scale="raw")
    assert found == distance_linkage(
        x[:, :2], y[:, :2], known="all", metric="mahalanobis", scale="raw"
    )


@given(tables(nulls=False), st.sampled_from(METRICS))
@quiet
def test_identical_tables_give_one_over_ties(files, metric):
    x, _ = files
    kept = varied(x, x)
    rows = [tuple(row) for row in x[:, kept]]
    expected = np.mean([1 / rows.count(row) for row in rows])
    assert distance_linkage(x, x, known="all", metric=metric) == pytest.approx(expected)


def test_a_permuted_table_is_linked_by_chance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 3))
    found = distance_linkage(x, x[rng.permutation(2000)], known="all")
    assert found < 5 / 2000


def test_many_equal_records_are_counted_whole():
    # Two values only: each record ties with about half of the 200,000.
    x = (np.arange(200_000) % 2).astype(float)[:, None]
    assert distance_linkage(x, x, known="all") == pytest.approx(2 / 200_000)


def test_any_number_of_threads_gives_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 12, size=(20_000, 3)).astype(float)
    y = x + rng.integers(-1, 2, size=x.shape)
    found = []
    for cores in ({0}, {0, 1, 2, 3}):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: cores, raising=False)
        found.append(distance_linkage(x, y, detail=True).records)
    np.testing.assert_array_equal(*found)


def test_known_columns():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 5))
    y = x + 0.2 * rng.normal(size=x.shape)
    first = [distance_linkage(x, y, known=[f"x{c}" for c in range(h)]) for h in (1, 2, 3)]
    paper = distance_linkage(x, y, detail=True)
    assert [s.value for s in paper.sets] == first
    assert paper.sets[1].columns == ("x0", "x1")
    assert paper.value == pytest.approx(np.mean(first))
    assert paper.records.mean() == pytest.approx(paper.value)
    assert distance_linkage(x, y, known=[["x0"], ["x0", "x1"]]) == pytest.approx(np.mean(first[:2]))


def test_records_with_nulls_count_nothing_and_are_counted():
    x = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [4.0, 4.0]])
    y = np.array([[1.0, 1.0], [2.0, 2.0], [np.nan, 3.0], [4.0, 4.0]])
    found = distance_linkage(x, y, known="all", scale="raw", detail=True)
    assert found.sets[0].unlinkable == 2
    np.testing.assert_array_equal(found.records, [1, 0, 0, 1])


def test_constant_columns_are_named():
    x = np.array([[1.0, 5.0], [2.0, 5.0]])
    with pytest.warns(UserWarning, match="leaves out column 'x1', which is constant in the orig"):
        assert distance_linkage(x, x, known="all") == 1.0
    with pytest.warns(UserWarning, match="'x0', which holds only nulls in the protected"):
        assert distance_linkage(x[:, :1], x[:, :1] * np.nan) == 0.5


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_huge_and_tiny_values_change_nothing(metric, factor):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 3))
    y = x + 0.2 * rng.normal(size=x.shape)
    found = distance_linkage(x * factor, y * factor, known="all", metric=metric)
    assert found == distance_linkage(x, y, known="all", metric=metric)


@quiet
def test_no_rows():
    empty = pa.table({"a": pa.array([], pa.float64())})
    assert distance_linkage(empty, empty) == 0.0


@quiet
@pytest.mark.parametrize("metric", METRICS)
def test_one_row(metric):
    assert distance_linkage([[1.0, 2.0]], [[3.0, 4.0]], metric=metric) == 1.0


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_any_kind(make):
    x = {"age": [20, 30, 40, 50], "name": ["a", "b", "c", "d"]}
    y = {"age": [29, 31, 41, 49], "name": ["a", "b", "c", "d"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = distance_linkage(make(x), make(y), scale="raw")
    assert found == 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "gowers"}, r'metric = "gowers": did you mean \'gower\'\?'),
        ({"scale": "log"}, 'scale = "log": known: standardize, raw'),
        ({"known": "some"}, 'known = "some" is not "paper", "all" or a list'),
        ({"known": ["x9"]}, "column 'x9' cannot be compared; known: x0"),
        ({"known": ["x0", ["x0"]]}, "known mixes columns and lists of columns"),
        ({"known": []}, "known holds no columns"),
        ({"known": [[]]}, "known holds an empty set"),
        ({"known": ["x0", "x0"]}, "known names a column twice: x0, x0"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(BadInput, match=message):
        distance_linkage([[1.0], [2.0]], [[1.0], [2.0]], **options)


def test_tables_without_a_common_column_are_refused():
    with pytest.raises(
        BadInput, match="share no column: the original's first is 'a', the protected"
    ):
        distance_linkage(pa.table({"a": [1.0]}), pa.table({"b": [1.0]}))


def mdav_like(values, k):
    """Groups of k around the records farthest from the mean, each cell replaced by its mean."""
    left, released = list(range(len(values))), values.copy()
    z = z_scores(values)
    while left:
        centre = z[left].mean(axis=0)
        far = left[int(((z[left] - centre) ** 2).sum(axis=1).argmax())]
        order = ((z[left] - z[far]) ** 2).sum(axis=1).argsort(kind="stable")
        group = [left[i] for i in order[:k]] if len(left) >= 2 * k else left
        released[group] = values[group].mean(axis=0)
        left = [i for i in left if i not in set(group)]
    return released


@pytest.mark.parametrize("k", [3, 10])
def test_census_masked_twice_by_different_code(k):
    try:
        census = load_census()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    x = np.column_stack([column.to_numpy() for column in census.columns]).astype(float)
    y = mdav_like(x, k)
    sets = [list(range(h)) for h in range(1, 8)]
    expected = np.mean([euclidean(x[:, s], y[:, s]) for s in sets])
    found = distance_linkage(x, y)
    assert found == pytest.approx(expected)
    assert 0 < found < 1 / k + 0.1


def test_the_original_of_a_suppressed_record_can_be_taken_for_anothers():
    x, y = np.array([[0.0, 1, 5, 9]]).T, np.array([[0.9, np.nan, 5, 9]]).T
    found = distance_linkage(x, y, known="all", scale="raw", detail=True)
    np.testing.assert_array_equal(found.records, [0, 0, 1, 1])
    assert found.sets[0].unlinkable == 1


def recoded_tables(n, seed=0, share=1.0):
    """Records whose zip is generalised, all or a share of them; the rest is as it was."""
    rng = np.random.default_rng(seed)
    zips = [f"{z:04d}" for z in rng.integers(0, 3000, n)]
    coarse = [
        z[:2] + "**" if cut else z for z, cut in zip(zips, rng.random(n) < share, strict=True)
    ]
    rest = {"age": rng.integers(18, 90, n), "job": [f"job{j}" for j in rng.integers(0, 20, n)]}
    return pa.table({"zip": zips, **rest}), pa.table({"zip": coarse, **rest})


@pytest.mark.parametrize("columns", [["zip"], ["zip", "age", "job"], ["job", "zip"]])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
@pytest.mark.parametrize("direction", ["protected_to_original", "original_to_protected"])
def test_generalised_categories_against_all_distances(columns, share, direction):
    pair = recoded_tables(600, share=share)
    nulls = np.random.default_rng(1).random((2, 600, len(columns))) < 0.02
    files, codes = [], {}
    for table, null in zip(pair, nulls, strict=True):
        values = [
            [codes.setdefault(v, len(codes)) if isinstance(v, str) else v for v in column]
            for column in table.select(columns).to_pydict().values()
        ]
        values = np.where(null, np.nan, np.array(values, dtype=float).T)
        files.append(values)
    text = [
        pa.table(
            {
                c: pa.array(v, mask=np.isnan(values[:, i]))
                for i, (c, v) in enumerate(table.select(columns).to_pydict().items())
            }
        )
        for table, values in zip(pair, files, strict=True)
    ]
    x, y = files if direction == "protected_to_original" else files[::-1]
    expected = gower(x, y, categorical=[i for i, c in enumerate(columns) if c != "age"])
    found = distance_linkage(*text, known="all", metric="gower", direction=direction)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("columns", [["zip"], ["zip", "age", "job"]])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_generalised_categories_do_not_take_the_square_of_the_records(columns, share):
    before, after = recoded_tables(100_000, share=share)
    # A scan of all pairs takes minutes.
    within(20, lambda: distance_linkage(before, after, known=columns, metric="gower"))
