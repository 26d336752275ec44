"""Local suppression: what is blanked, what is not, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.suppression import LocalSuppression

POLICIES = ["value", "own", "match"]


@st.composite
def tables(draw):
    """A small table of keys of several types, with nulls, and a column beside them."""
    n = draw(st.integers(4, 40))
    columns = {
        "age": st.integers(30, 33),
        "sex": st.sampled_from(["f", "m", None]),
        "size": st.sampled_from([1.5, 2.5, None]),
        "works": st.booleans(),
    }
    table = {
        name: draw(st.lists(values, min_size=n, max_size=n)) for name, values in columns.items()
    }
    return pd.DataFrame(table | {"pay": np.arange(n)})


KEYS = ["age", "sex", "size", "works"]


@given(tables(), st.integers(2, 4), st.sampled_from(POLICIES), st.integers(0, 3))
def test_only_key_cells_are_blanked_and_all_else_stays(table, k, policy, seed):
    method = LocalSuppression(k, policy, columns=KEYS, random_state=seed)
    new = method.fit_transform(table)
    assert list(new.columns) == list(table.columns)
    assert new["pay"].tolist() == table["pay"].tolist()
    for name in KEYS:
        shown = new[name].notna()
        assert (new[name][shown] == table[name][shown]).all()
        assert not (shown & table[name].isna()).any()
        assert method.blanks_[name] == int(table[name].notna().sum() - shown.sum())
    assert not method.suppressed_mask_.any()
    assert method.bound_ <= method.cost_


@given(tables(), st.integers(2, 4), st.integers(0, 3))
def test_every_released_tuple_is_that_of_k(table, k, seed):
    new = LocalSuppression(k, columns=KEYS, random_state=seed).fit_transform(table)
    assert new.groupby(KEYS, dropna=False, observed=True).size().min() >= k


def test_nothing_demanded_is_refused():
    with pytest.raises(BadInput, match="nothing is demanded of the key columns; set k"):
        LocalSuppression().fit_transform(pd.DataFrame({"a": [1, 1]}))
