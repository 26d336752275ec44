import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.perturbation import TopBottom


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1).filter(lambda v: not all(np.isnan(v))),
    st.floats(-1e3, 0),
    st.floats(0, 1e3),
)  # fmt: skip
def test_values_inside_stay_and_others_become_the_bound(values, lower, upper):
    x = np.array(values).reshape(-1, 1)
    out = TopBottom(lower, upper).fit_transform(x)
    for before, after in zip(x.ravel(), out.ravel(), strict=True):
        if np.isnan(before):
            assert np.isnan(after)
        else:
            assert after == min(max(before, lower), upper)


def test_the_plan_counts_what_lies_beyond():
    plan = TopBottom(lower=2, upper=8).fit([[1.0], [2.0], [9.0], [9.0], [np.nan]]).plan_["x0"]
    assert plan == {"kind": "clip", "lower": 2.0, "upper": 8.0, "below": 1, "above": 2}


def test_bounds_by_column():
    table = pa.table({"a": [1, 50, 99], "b": [1, 50, 99]})
    method = TopBottom(lower={"a": 10}, upper={"a": 60, "b": 70})
    assert method.fit_transform(table).tolist() == [[10, 1], [50, 50], [60, 70]]


def recipe(**step):
    return {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": "top-bottom", "columns": ["a"], **step}],
    }


@pytest.mark.parametrize(
    ("cells", "step", "message"),
    [
        ([1, 2], {}, "the recipe: step 1 (top-bottom): top-bottom needs a bound: give lower, upper or both"),
        ([1, 2], {"lower": 5, "upper": 3}, "the recipe: step 1 (top-bottom): lower = 5 is above upper = 3"),
        ([1, 2], {"upper": 1.5}, "the bound 1.5 has more decimals than column 'a'; round it, or set precision"),
        ([dt.date(2020, 1, 1)], {"upper": 5}, "step 1 (top-bottom) takes plain numbers, but column 'a' holds date32"),
        ([1, 2], {"upper": {}}, "top-bottom has neither lower nor upper for column 'a'"),
        ([1, 2], {"upper": float("nan")}, "the recipe: step 1 (top-bottom): upper must be a finite number, not nan"),
        ([1, 2], {"upper": float("inf")}, "the recipe: step 1 (top-bottom): upper must be a finite number, not inf"),
    ],
)  # fmt: skip
def test_errors(cells, step, message):
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table({"a": cells}), recipe(**step))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower": "a"}, "lower must be a finite number, not 'a'"),
        ({"lower": {"x0": "a"}}, "lower must be a finite number, not 'a'"),
        ({"upper": True}, "upper must be a finite number, not True"),
        ({"upper": {"x0": None}}, "upper must be a finite number, not None"),
        ({"upper": np.inf}, "upper must be a finite number, not inf"),
        ({"lower": {"x0": 1}, "upper": {"x00": 5}}, "upper is given for column 'x00', but there is none of that name; did you mean 'x0'?"),
        ({"lower": {"y": 1}, "upper": 5}, "lower is given for column 'y', but there is none of that name; "),
        ({"lower": {"x0": 5}, "upper": 1}, "lower = 5 is above upper = 1"),
    ],
)  # fmt: skip
def test_errors_of_the_estimator(bounds, message):
    with pytest.raises(BadInput) as caught:
        TopBottom(**bounds).fit([[1.0], [2.0]])
    assert str(caught.value).startswith(message)


def test_full_precision_takes_any_bound():
    release = discreet.protect(pa.table({"a": [1, 2]}), recipe(upper=1.5, precision="full"))
    assert release.table["a"].to_pylist() == [1.0, 1.5]
    assert release.check.ok
