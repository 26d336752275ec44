"""Nulls by pattern, and strata."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation

nan = np.nan


def test_records_are_grouped_within_one_pattern_of_nulls():
    x = np.array([[1, 1], [2, 2], [3, 3], [1, nan], [2, nan], [9, nan], [8, nan], [7, 7]])
    method = Microaggregation(2)
    out = method.fit_transform(x)
    assert (np.isnan(out) == np.isnan(x)).all()
    groups = method.groups_
    assert not set(groups[[0, 1, 2, 7]]) & set(groups[[3, 4, 5, 6]])
    assert out[3:7, 0].tolist() == [1.5, 1.5, 8.5, 8.5]


def test_a_small_pattern_is_blanked_with_a_warning_that_counts():
    x = np.array([[1, 1], [2, 2], [3, 3], [4, 4], [5, nan], [6, nan]])
    with pytest.warns(UserWarning, match="blanked") as caught:
        out = Microaggregation(3).fit_transform(x)
    # Two records without any value would show as well, so the outermost of the rest goes too...
    # but then the others would be three, which is k.
    assert np.isnan(out).all(axis=1).tolist() == [True, False, False, False, True, True]
    assert str(caught[0].message) == (
        "3 records are blanked in these columns: 2 because fewer than k = 3 share their pattern of "
        "nulls, 1 so that records without any value are not fewer than k = 3"
    )


def test_where_no_pattern_can_spare_records_the_smallest_is_blanked_whole():
    x = np.array([[1, 1], [2, 2], [3, 3], [4, nan], [5, nan], [6, nan], [7, nan], [nan, 8]])
    with pytest.warns(UserWarning, match="^4 records are blanked"):
        out = Microaggregation(3).fit_transform(x)
    assert np.isnan(out).all(axis=1).tolist() == [True] * 3 + [False] * 4 + [True]


def test_records_without_any_value_count_with_the_blanked():
    x = np.array([[1, 1], [2, 2], [nan, nan], [nan, nan], [5, nan]])
    with pytest.warns(UserWarning, match="^1 records are blanked"):
        out = Microaggregation(2).fit_transform(x)
    assert np.isnan(out).all(axis=1).tolist() == [False, False, True, True, True]


def test_a_small_pattern_can_be_an_error():
    x = np.array([[1, 1], [2, 2], [3, 3], [4, 4], [5, nan], [6, nan], [nan, 1]])
    with pytest.raises(BadInput) as error:
        Microaggregation(3, small_pattern="error").fit(x)
    assert str(error.value) == (
        "3 records share nulls in the same columns with fewer than k = 3 (the fewest: 1); treat "
        "fewer columns, or set small_pattern = 'blank'"
    )


def test_few_records_without_any_value_are_counted_apart_or_an_error():
    x = np.array([[nan, nan], [1, 1], [2, 2], [3, 3], [4, 4], [9, 9]])
    with pytest.warns(UserWarning, match="blanked") as caught:
        out = Microaggregation(3).fit_transform(x)
    assert np.isnan(out).all(axis=1).sum() == 3
    assert str(caught[0].message) == (
        "2 records are blanked in these columns: 2 so that records without any value are not fewer "
        "than k = 3"
    )
    with pytest.raises(BadInput) as error:
        Microaggregation(3, small_pattern="error").fit(x)
    assert str(error.value) == (
        "1 records hold no value in these columns, fewer than k = 3; drop them, or set "
        "small_pattern = 'blank'"
    )


@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_a_text_column_may_be_blanked_whole():
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "t": ["a", None, None, None, None, None]})
    out = Microaggregation(2).fit_transform(table)
    assert out["t"].isna().all()
    assert out["x"].value_counts(dropna=False).min() >= 2


@given(
    st.integers(0, 9999),
    st.integers(2, 4),
    st.floats(0, 0.9),
    st.booleans(),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_every_tuple_nulls_included_is_held_by_k_records(seed, k, rate, with_strata, with_text):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rng.integers(k, 60), 3))
    x[rng.random(x.shape) < rate] = nan
    x[0] = 1.0
    table = pd.DataFrame(x, columns=list("abc"))
    if with_text:
        table["c"] = np.where(np.isnan(x[:, 2]), None, rng.choice(["t", "w", "z"], len(x)))
    if with_strata:
        table["s"] = rng.choice(["u", "v"], len(x))
    method = Microaggregation(k, strata="s" if with_strata else None, refine_moves=5)
    out = pd.DataFrame(method.fit_transform(table), columns=list("abc") + ["s"] * with_strata)
    assert out[list("abc")].value_counts(dropna=False).min() >= k
    if with_strata:
        assert (out["s"] == table["s"]).all()
        used = method.groups_ >= 0
        assert table[used].groupby(method.groups_[used])["s"].nunique().le(1).all()


def test_strata_are_kept_apart_also_by_the_refinement():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    table["s"] = rng.integers(0, 3, 200)
    method = Microaggregation(4, strata="s", refine_moves=200, random_state=0)
    out = method.fit_transform(table)
    assert isinstance(out, pd.DataFrame)
    assert (out["s"] == table["s"]).all()
    assert table.groupby(method.groups_)["s"].nunique().max() == 1
    assert method.loss_ < Microaggregation(4, strata="s").fit(table).loss_
    # The same as each stratum by itself, but for the scale that all share.
    plain = Microaggregation(4, strata="s").fit(table)
    z = (table[["x", "y"]] / table[["x", "y"]].std()).to_numpy()
    for s in range(3):
        rows = (table["s"] == s).to_numpy()
        alone = Microaggregation(4, weights={"x0": z[rows, 0].var(), "x1": z[rows, 1].var()})
        own = alone.fit(z[rows]).groups_
        assert len(set(zip(own, plain.groups_[rows], strict=True))) == len(set(own))


def test_the_strata_alone_cannot_be_treated():
    with pytest.raises(BadInput) as error:
        Microaggregation(2, strata="s").fit(pd.DataFrame({"s": [1.0, 1.0, 2.0, 2.0]}))
    assert str(error.value) == "column 's' gives the strata, and there is no other column"


def test_null_is_a_stratum_of_its_own():
    table = pa.table({"x": [1.0, 2.0, 1.1, 2.1, 1.2, 2.2], "s": ["a", None, "a", None, "a", None]})
    method = Microaggregation(3, strata="s").fit(table)
    assert method.groups_.tolist() == [0, 1, 0, 1, 0, 1]


def test_a_treated_column_gives_no_strata(households):
    from discreet import protect

    recipe = {
        "roles": {"confidential": ["income"], "rest": "drop"},
        "steps": [
            {"method": "microaggregation", "columns": ["income"], "k": 3, "strata": "income"}
        ],
    }
    with pytest.raises(BadInput, match="'income'"):
        protect(households, recipe)
