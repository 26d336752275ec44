"""scikit-learn's own checks, on every method that can be fitted and then applied."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.microaggregation import Microaggregation
from discreet.perturbation import PRAM, Noise, RankSwap, Shuffle, TopBottom
from discreet.registry import methods
from discreet.rounding import (
    MDAV,
    MDLP,
    OMA,
    VMDAV,
    BaseRounding,
    ChiMerge,
    EqualFrequency,
    EqualWidth,
    KMeans,
    Resampling,
)

# A small k, because scikit-learn's checks use few rows.
EXAMPLES = [
    OMA(k=2),
    OMA(k=2, keep_ties=False),
    OMA(k=2, encoding="nearest"),
    MDAV(k=2),
    VMDAV(k=2),
    BaseRounding(base=0.5),
    EqualWidth(n_points=2),
    EqualFrequency(n_points=2),
    KMeans(n_points=2),
    KMeans(n_points=2, solver="lloyd", random_state=0),
    Resampling(n_points=2, random_state=0),
    MDLP(),
    ChiMerge(),
    TopBottom(upper=1),
]
# Those that draw for each row.
RANDOM = [
    OMA(k=2, encoding="stochastic", random_state=0),
    Noise(random_state=0),
    Noise("correlated", random_state=0),
    Noise("multiplicative", random_state=0),
    PRAM(random_state=0),
]
# Those that look at the rows themselves: no `transform`, so scikit-learn's checks do not apply.
ROW_BOUND = [
    # k = 1, because one of the rows below has nulls like no other and would be blanked.
    Microaggregation(k=1),
    RankSwap(p=50, random_state=0),
    Shuffle(random_state=0),
]
ALL = [*EXAMPLES, *RANDOM, *ROW_BOUND]
CLASSES = ["a", "b", "a", "b"]
DRAWS_BY_ROW = "a draw belongs to a row's number, so other rows or another order draw otherwise"
ARRAY_API = "takes numpy arrays and tables; scikit-learn skips this check unless scipy is set up"


def expected(estimator):
    failing = {"check_array_api_input": ARRAY_API}
    if any(estimator is random for random in RANDOM):
        failing["check_methods_sample_order_invariance"] = DRAWS_BY_ROW
        failing["check_methods_subset_invariance"] = DRAWS_BY_ROW
    return failing


@parametrize_with_checks([*EXAMPLES, *RANDOM], expected_failed_checks=expected)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_no_method_is_left_out():
    assert {type(example) for example in ALL} == set(methods().values())


@pytest.mark.parametrize("method", ROW_BOUND, ids=str)
def test_what_is_bound_to_its_rows_cannot_be_applied_to_others(method):
    assert not hasattr(method, "transform")
    fitted = clone(method).fit([[0.5], [2.0], [3.0], [9.0]], CLASSES)
    assert fitted.plan_["columns"].keys() == {"x0"}


@pytest.mark.parametrize("method", ALL, ids=str)
def test_frames_come_back_as_asked_with_their_names(method):
    table = pd.DataFrame({"a": [0.5, 2.0, 3.0, 9.0], "b": [1, 2, 3, np.nan]}, index=list("wxyz"))
    out = clone(method).set_output(transform="pandas").fit_transform(table, CLASSES)
    assert list(out.columns) == ["a", "b"]
    assert list(out.index) == list("wxyz")
    assert (out.dtypes == np.float64).all()
    assert out["b"].isna().tolist() == [False, False, False, True]
    again = (
        clone(method)
        .set_output(transform="polars")
        .fit_transform(pl.DataFrame(table.to_dict("list")), CLASSES)
    )
    assert isinstance(again, pl.DataFrame)
    assert again.columns == ["a", "b"]


def test_in_a_pipeline_and_a_column_transformer():
    table = pd.DataFrame({"age": [20, 30, 40, 99], "income": [1.0, 2.0, 3.0, 4.0]})
    steps = ColumnTransformer(
        [("top", TopBottom(upper=60), ["age"]), ("oma", OMA(k=2), ["income"])]
    )
    out = make_pipeline(steps, StandardScaler()).fit_transform(table)
    assert np.allclose(out.mean(axis=0), 0)
    assert len(np.unique(out[:, 1])) == 2
