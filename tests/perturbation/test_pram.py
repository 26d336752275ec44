import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.perturbation import PRAM

SEX = {"f": {"f": 0.7, "m": 0.3}, "m": {"f": 0.4, "m": 0.6}}
cells = st.lists(st.none() | st.sampled_from("abcd"), min_size=1, max_size=80).filter(
    lambda cells: any(cells)
)


def matrix_of(method, column):
    flat = method.plan_[column]["matrix"]
    return flat.reshape(len(method.plan_[column]["categories"]), -1)


def shares_of(cells):
    present = [cell for cell in cells if cell is not None]
    return np.unique(present, return_counts=True)[1] / len(present)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    cells=cells, retention=st.floats(0, 0.99), invariant=st.booleans(), seed=st.integers(0, 2**32)
)
def test_each_row_goes_where_its_draw_falls_in_its_categorys_row(cells, retention, invariant, seed):
    table = pa.table({"a": pa.array(cells, pa.string())})
    method = PRAM(retention, invariant=invariant, random_state=seed).fit(table)
    categories, matrix = method.plan_["a"]["categories"], matrix_of(method, "a")
    assert categories == sorted({cell for cell in cells if cell})
    uniform = Draws(seed, "a").uniform(np.arange(len(cells)))
    found = method.transform(table)["a"].to_pylist()
    for before, after, u in zip(cells, found, uniform, strict=True):
        if before is None:
            assert after is None
            continue
        totals = np.cumsum(matrix[categories.index(before)])
        first = next((i for i, total in enumerate(totals) if u < total), len(totals) - 1)
        assert after == categories[first]


def test_retention_is_the_share_that_stays_and_the_others_are_alike():
    n = 60_000
    table = pa.table({"a": ["x"] * n + ["y", "z"]})
    found = PRAM(0.7, random_state=1).fit_transform(table)["a"].to_pylist()[:n]
    for category, probability in (("x", 0.7), ("y", 0.15), ("z", 0.15)):
        error = np.sqrt(n * probability * (1 - probability))
        assert abs(found.count(category) - n * probability) < 5 * error


@pytest.mark.parametrize("matrix", [None, {"x0": {
    "x": {"x": 0.5, "y": 0.5}, "y": {"y": 0.8, "z": 0.2}, "z": {"x": 0.1, "y": 0.3, "z": 0.6},
}}], ids=["retention", "matrix"])  # fmt: skip
def test_invariant_keeps_the_expected_counts(matrix):
    counts = np.array([30_000, 9_000, 1_000])
    cells = np.repeat(["x", "y", "z"], counts)
    method = PRAM(0.4, matrix=matrix, invariant=True, random_state=2)
    found = method.fit_transform(cells.reshape(-1, 1)).ravel()
    shares, used = counts / counts.sum(), matrix_of(method, "x0")
    np.testing.assert_allclose(used.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(shares @ used, shares, rtol=1e-12)
    after = np.array([(found == c).sum() for c in "xyz"])
    # The variance of a count is that of independent draws, one a record.
    error = np.sqrt(counts @ (used * (1 - used)))
    assert (np.abs(after - counts) < 5 * error).all()
    assert (found != cells).mean() > 0.1


def test_without_invariant_the_counts_change():
    cells = np.repeat(["x", "y"], [9000, 1000]).reshape(-1, 1)
    found = PRAM(0.8, random_state=3).fit_transform(cells)
    # 0.2 of 9,000 and 0.8 of 1,000.
    assert (found == "y").sum() == pytest.approx(2600, abs=5 * np.sqrt(10_000 * 0.16))


@given(
    counts=st.lists(st.integers(1, 1000), min_size=2, max_size=6),
    retention=st.floats(0, 0.99),
    data=st.data(),
)
def test_invariant_matrices_are_exact_for_any_counts(counts, retention, data):
    m = len(counts)
    labels = [f"c{i}" for i in range(m)]
    table = pa.table({"a": np.repeat(labels, counts)})
    weights = data.draw(st.lists(st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any),
                                 min_size=m, max_size=m))  # fmt: skip
    rows = {
        label: {other: w / sum(row) for other, w in zip(labels, row, strict=True)}
        for label, row in zip(labels, weights, strict=True)
    }
    shares = np.array(counts) / sum(counts)
    for given_matrix in (None, {"a": rows}):
        used = matrix_of(PRAM(retention, matrix=given_matrix, invariant=True).fit(table), "a")
        assert (used >= 0).all()
        np.testing.assert_allclose(used.sum(axis=1), 1, rtol=1e-10)
        np.testing.assert_allclose(shares @ used, shares, rtol=1e-10)
        if given_matrix is None:
            assert (used.diagonal() >= retention).all()


def test_a_given_matrix_is_used_as_it_is_and_zero_never_happens():
    table = pa.table({"sex": ["f", "m", None] * 5000, "job": ["a", "b", "a"] * 5000})
    method = PRAM(0.5, matrix={"sex": SEX}, random_state=0).fit(table)
    np.testing.assert_allclose(matrix_of(method, "sex"), [[0.7, 0.3], [0.4, 0.6]])
    np.testing.assert_allclose(matrix_of(method, "job"), [[0.5, 0.5], [0.5, 0.5]])
    never = {"a": {"a": 0.1, "b": 0.9}, "b": {"b": 1}}
    found = PRAM(matrix={"job": never}, random_state=0).fit_transform(table.select(["job"]))["job"]
    assert set(found.to_pylist()[1::3]) == {"b"}


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        (pa.array([True, False]), {"true": {"false": 1}, "false": {"true": 1}}),
        (pa.array([True, False]), {True: {False: 1}, False: {True: 1}}),
        (pa.array([7, 8], pa.uint8()), {"7": {"8": 1}, "8": {"7": 1}}),
        (pa.array([7, 8], pa.int64()), {7: {8: 1}, 8: {7: 1}}),
        (pa.array([7.0, 8.5]), {"7": {"8.5": 1}, "8.5": {"7": 1}}),
        (pa.array([0.1, 0.7], pa.float32()), None),
        (pa.array(["7", "x"], pa.large_string()), {"7": {"x": 1}, "x": {"7": 1}}),
        (pa.array(["b", "a"]).dictionary_encode(), {"a": {"b": 1}, "b": {"a": 1}}),
    ],
    ids=str,
)  # fmt: skip
def test_every_kind_of_category_is_named_as_text_and_keeps_its_type(column, rows):
    table = pa.table({"a": column})
    matrix = None if rows is None else {"a": rows}
    out = PRAM(0, matrix=matrix).fit_transform(table)
    assert out.schema == table.schema
    # Each becomes the other for sure.
    assert out["a"].to_pylist() == table["a"].to_pylist()[::-1]


def test_categories_keep_their_levels_and_their_order():
    levels = ["none", "low", "mid", "high"]
    column = pd.Categorical(["low", "mid", None, "high"] * 20, levels, ordered=True)
    frame = pd.DataFrame({"a": column}, index=range(5, 85))
    out = PRAM(0.2, random_state=0).fit_transform(frame)
    assert out["a"].dtype == frame["a"].dtype
    assert out.index.equals(frame.index)
    assert out["a"].isna().equals(frame["a"].isna())
    assert "none" not in set(out["a"])
    assert (out["a"] != frame["a"]).sum() > 20
    polar = pl.DataFrame({"a": ["x", "y"]}, schema={"a": pl.Enum(["y", "z", "x"])})
    assert PRAM(0).fit_transform(polar).equals(polar.reverse())


def test_new_rows():
    method = PRAM(0, random_state=0).fit(pa.table({"a": ["x", "y"]}))
    new = pa.table({"a": ["y", None, "y"]})
    assert method.transform(new)["a"].to_pylist() == ["x", None, "x"]
    with pytest.raises(BadInput, match="column 'a', row 2: 'z' is not among the categories that"):
        method.transform(pa.table({"a": ["x", "z"]}))
    with pytest.raises(BadInput, match="column 'a' does not know the category 'x', which may be"):
        method.transform(pd.DataFrame({"a": pd.Categorical(["y"])}))


def test_one_category_is_told_and_stays():
    with pytest.warns(UserWarning, match="column 'a' has one category only: it stays"):
        out = PRAM(0.1).fit_transform(pa.table({"a": ["x", None, "x"]}))
    assert out["a"].to_pylist() == ["x", None, "x"]


def test_many_categories():
    cells = pa.table({"a": np.arange(1000)})
    assert (
        PRAM(0.5, random_state=0).fit_transform(cells)["a"].to_numpy() != np.arange(1000)
    ).sum() > 400
    with pytest.raises(BadInput, match="column 'a' has 1,001 categories, pram takes 1,000 at most"):
        PRAM().fit(pa.table({"a": np.arange(1001)}))


@pytest.mark.parametrize(
    ("column", "step", "message"),
    [
        (["f", "m"], {"retention": 1}, "the recipe: step 1 (pram): retention must be a probability below 1, such as 0.8, not 1"),
        (["f", "m"], {"retention": {"a": -0.1}}, "the recipe: step 1 (pram): retention must be a probability below 1, such as 0.8, not -0.1"),
        (["f", "m"], {"retention": {"b": 0.1}}, "the recipe: step 1 (pram): retention names 'b', which is not among the step's columns"),
        (["f", "m"], {"matrix": {"b": SEX}}, "the recipe: step 1 (pram): matrix names 'b', which is not among the step's columns"),
        (["f", "m"], {"matrix": {"a": SEX | {"m": {"m": 0.9}}}}, "the recipe: step 1 (pram): row 'm' of the matrix of column 'a' adds up to 0.9, not to 1"),
        (["f", "m"], {"matrix": {"a": SEX | {"m": {"m": 1.5, "f": -0.5}}}}, "the recipe: step 1 (pram): row 'm' of the matrix of column 'a' must be made of probabilities from 0 to 1, not 1.5"),
        (["f", "m"], {"matrix": {"a": {"f": SEX["f"]}}}, "the matrix of column 'a' has no row for 'm'"),
        (["f", "m"], {"matrix": {"a": SEX | {"x": {"f": 1}}}}, "the matrix of column 'a' names 'x', which the column does not hold; known: f, m"),
        (["f", "mm"], {"matrix": {"a": SEX}}, "the matrix of column 'a' names 'm', which the column does not hold; did you mean 'mm'?"),
        ([dt.date(2020, 1, 1)], {}, "column 'a' holds date32[day]; pram takes text, booleans, integers, floats or categories: convert it to text first"),
        ([Decimal("1.5")], {}, "column 'a' holds decimal128(2, 1); pram takes text, booleans, integers, floats or categories: convert it to text first"),
        ([None, ""], {}, "column 'a' holds only nulls"),
    ],
)  # fmt: skip
def test_errors(column, step, message):
    recipe = {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": "pram", "columns": ["a"], **step}],
    }
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table({"a": column}), recipe)
    assert message in str(caught.value)


def test_errors_of_the_transformer():
    table = pa.table({"a": ["x", "y"]})
    with pytest.raises(BadInput, match="invariant must be True or False, not 1"):
        PRAM(invariant=1).fit(table)
    with pytest.raises(BadInput, match="matrix is given for column 'b', but there is none of that"):
        PRAM(matrix={"b": SEX}).fit(table)
    with pytest.raises(
        BadInput, match="row 'x' of the matrix of column 'a' must be a mapping from"
    ):
        PRAM(matrix={"a": {"x": 1.0}}).fit(table)
