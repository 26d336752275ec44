import datetime as dt
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.perturbation import Shuffle

rows = st.lists(
    st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.integers(0, 9)), min_size=1
)


@pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
@given(rows=rows, seed=st.integers(0, 2**32))
def test_each_column_keeps_its_values_and_its_nulls(rows, seed):
    columns = {"a": pa.array([r[0] for r in rows], pa.string()),
               "b": pa.array([r[1] for r in rows], pa.int16())}  # fmt: skip
    table = pa.table(columns)
    out = Shuffle(random_state=seed).fit_transform(table)
    assert out.schema == table.schema
    for name in table.column_names:
        assert Counter(out[name].to_pylist()) == Counter(table[name].to_pylist())
        assert out[name].is_null().equals(table[name].is_null())


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(rows=rows, seed=st.integers(0, 2**32))
def test_together_keeps_the_records_and_where_their_nulls_are(rows, seed):
    table = pa.table({"a": pa.array([r[0] for r in rows], pa.string()),
                      "b": pa.array([r[1] for r in rows], pa.int16())})  # fmt: skip
    out = Shuffle(together=True, random_state=seed).fit_transform(table)
    found = list(zip(out["a"].to_pylist(), out["b"].to_pylist(), strict=True))
    assert Counter(found) == Counter(rows)
    for name in table.column_names:
        assert out[name].is_null().equals(table[name].is_null())


@pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
def test_orders_are_uniform():
    trials = 3000
    found = Counter(
        tuple(Shuffle(random_state=s).fit_transform(np.array([[1], [2], [3]])).ravel())
        for s in range(trials)
    )
    assert len(found) == 6
    # Five standard deviations of a binomial count.
    assert max(abs(c - trials / 6) for c in found.values()) < 5 * np.sqrt(trials * 5 / 36)


def test_columns_apart_lose_their_relation_and_together_keep_it():
    x = np.random.default_rng(0).normal(size=(20_000, 1)) * [1, 2]
    apart = Shuffle(random_state=1).fit_transform(x)
    assert abs(np.corrcoef(apart.T)[0, 1]) < 5 / np.sqrt(20_000)
    together = Shuffle(together=True, random_state=1).fit_transform(x)
    assert (together[:, 1] == 2 * together[:, 0]).all()
    assert abs(np.corrcoef(together[:, 0], x[:, 0])[0, 1]) < 5 / np.sqrt(20_000)


def test_a_record_whose_nulls_no_other_shares_is_told():
    table = pa.table({"a": [1, None, 3, 4], "b": [1, 2, None, 4]})
    with pytest.warns(UserWarning, match="2 records are the only ones with nulls in just their"):
        Shuffle(together=True).fit(table)


@pytest.mark.parametrize("together", [False, True])
def test_values_that_came_out_unchanged_are_told(together, recwarn):
    zeros = [0] * 800 + list(range(1, 201))
    table = pa.table({
        "name": [f"n{i}" for i in range(1000)],
        "debt": zeros,
        "sick": pa.array(["no" if z == 0 else "yes" for z in zeros]).dictionary_encode(),
        "land": ["xx"] * 1000,
        "none": pa.nulls(1000, pa.int32()),
        "list": [[i] for i in range(1000)],
    })  # fmt: skip
    out = Shuffle(together=together, random_state=0).fit_transform(table)
    same = {
        c: np.mean(np.equal(out[c].to_pylist(), table[c].to_pylist())) for c in ("debt", "sick")
    }
    why = "most of them are equal, or they are few; take another method, or suppress the column"
    assert [str(warning.message) for warning in recwarn] == [
        f"column 'debt': {same['debt']:.0%} of the values came out unchanged: {why}",
        f"column 'sick': {same['sick']:.0%} of the values came out unchanged: {why}",
        f"column 'land': 100% of the values came out unchanged: {why}",
    ]


def test_any_kind_comes_back_as_it_came():
    frame = pd.DataFrame(
        {
            "day": [dt.date(2020, 1, i + 1) for i in range(4)],
            "level": pd.Categorical(["lo", "hi", "lo", "mid"], ["lo", "mid", "hi"], ordered=True),
            "yes": [True, False, True, True],
        },
        index=list("wxyz"),
    )
    out = Shuffle(random_state=2).fit_transform(frame)
    assert (out.dtypes == frame.dtypes).all()
    assert out.index.equals(frame.index)
    assert sorted(out["day"]) == sorted(frame["day"])
    polar = pl.DataFrame({"a": ["x", "y", None]}, schema={"a": pl.Categorical})
    assert Shuffle().fit_transform(polar).schema == polar.schema


def test_errors():
    with pytest.raises(BadInput, match="together must be True or False, not 'yes'"):
        Shuffle(together="yes").fit(np.ones((2, 2)))
