"""scikit-learn's own checks, on every method."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.generalization import (
    Anatomy,
    Generalize,
    GeneralizeItems,
    KAnonymity,
    Mondrian,
    SafePub,
)
from discreet.microaggregation import DPMicroaggregation, Microaggregation
from discreet.perturbation import PRAM, DateShift, Noise, RankSwap, Shuffle, TopBottom
from discreet.registry import methods
from discreet.regression import IPSO, LiROP, PoROP
from discreet.rounding import (
    MDAV,
    MDLP,
    OMA,
    VMDAV,
    BaseRounding,
    ChiMerge,
    EqualFrequency,
    EqualWidth,
    GivenCuts,
    KMeans,
    Resampling,
    RoundCounts,
)
from discreet.suppression import LocalSuppression

# A small k, because scikit-learn's checks use few rows.
EXAMPLES = [
    OMA(k=2),
    OMA(k=2, keep_ties=False),
    OMA(k=2, encoding="nearest"),
    MDAV(k=2),
    VMDAV(k=2),
    BaseRounding(base=0.5),
    EqualWidth(n_points=2),
    GivenCuts([0.0], [-1.0, 1.0]),
    EqualFrequency(n_points=2),
    KMeans(n_points=2),
    KMeans(n_points=2, solver="lloyd", random_state=0),
    Resampling(n_points=2, random_state=0),
    MDLP(),
    ChiMerge(),
    RoundCounts("census-drb-estimates"),
    TopBottom(upper=1),
]
# Those that draw for each row.
RANDOM = [
    OMA(k=2, encoding="stochastic", random_state=0),
    Noise(random_state=0),
    Noise("correlated", random_state=0),
    Noise("multiplicative", random_state=0),
    Noise("logarithmic", random_state=0),
    Noise("correlated-logarithmic", random_state=0),
    Noise(match_ranks=True, random_state=0),
    PRAM(random_state=0),
]
# Those that look at the rows themselves: they have `fit_transform`, and no `transform`.
ROW_BOUND = [
    # k = 1, because one of the rows below has nulls like no other and would be blanked.
    Microaggregation(k=1),
    RankSwap(p=50, random_state=0),
    Shuffle(random_state=0),
    PoROP(k=3, random_state=0),
    LiROP(k=2, random_state=0),
    IPSO(confidential=["x0"], random_state=0),
    LocalSuppression(k=1, random_state=0),
    Anatomy(2, ["x0"], random_state=0),
]
# Those that make labels of values. scikit-learn's checks look at numbers, so they have their own.
RECODING = [
    Generalize({"a": {"kind": "flat"}}, [KAnonymity(2)]),
    Mondrian([KAnonymity(2)], columns=["a"]),
]
# Those that take nothing but dates; their tests are in `tests/perturbation`.
OF_DATES = {DateShift}
# Those that must be told of each column what it can hold; they have tests of their own.
TOLD = {DPMicroaggregation, SafePub}
# Those whose cells hold several items.
SETS = [GeneralizeItems(2, separator=";")]
CLASSES = ["a", "b", "a", "b"]
DRAWS_BY_ROW = "a draw belongs to a row's number, so other rows or another order draw otherwise"
ARRAY_API = "takes numpy arrays and tables; scikit-learn skips this check unless scipy is set up"
REFUSED = {
    Anatomy: ["check_dtype_object", "check_fit2d_1sample", "check_fit2d_1feature"],
    IPSO: ["check_fit2d_1sample", "check_fit2d_1feature"],
    LocalSuppression: ["check_dtype_object"],
    Microaggregation: ["check_dtype_object"],
    RankSwap: ["check_fit2d_1sample"],
    Shuffle: ["check_dtype_object"],
}
OWN_WORDS = "refuses what the check gives it, but in other words than the check looks for"


def expected(estimator):
    failing = {"check_array_api_input": ARRAY_API}
    if any(estimator is random for random in RANDOM):
        failing["check_methods_sample_order_invariance"] = DRAWS_BY_ROW
        failing["check_methods_subset_invariance"] = DRAWS_BY_ROW
    return failing | dict.fromkeys(REFUSED.get(type(estimator), []), OWN_WORDS)


@pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
@parametrize_with_checks([*EXAMPLES, *RANDOM, *ROW_BOUND], expected_failed_checks=expected)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_no_method_is_left_out():
    recoding = {type(example) for example in [*RECODING, *SETS]} | OF_DATES | TOLD
    row_bound = {m for m in methods().values() if not hasattr(m, "transform")} - recoding
    assert {type(example) for example in ROW_BOUND} == row_bound
    others = {type(example) for example in [*EXAMPLES, *RANDOM]}
    assert others == set(methods().values()) - row_bound - recoding


@pytest.mark.parametrize("method", RECODING, ids=str)
def test_methods_that_recode_are_transformers_too(method):
    table = pd.DataFrame({"a": ["u", "v", "u", "w"], "b": [1, 2, 3, 4]}, index=list("wxyz"))
    again = clone(method)
    assert str(again.get_params()) == str(method.get_params())
    out = again.fit_transform(table)
    assert list(out.index) == list("wxyz")
    assert out["b"].tolist() == [1, 2, 3, 4]
    assert list(again.get_feature_names_out()) == ["a", "b"]
    polars = clone(method).set_output(transform="polars").fit_transform(table)
    assert isinstance(polars, pl.DataFrame)
    assert polars["a"].to_list() == out["a"].tolist()
    piped = make_pipeline(clone(method)).fit_transform(table)
    pd.testing.assert_frame_equal(piped, out)
    assert clone(method).fit_transform(pl.DataFrame(table))["a"].to_list() == out["a"].tolist()
    arrow = clone(method).fit_transform(pa.Table.from_pandas(table, preserve_index=False))
    assert arrow["a"].to_pylist() == out["a"].tolist()


@pytest.mark.parametrize("method", SETS, ids=str)
def test_methods_for_sets_are_transformers_too(method):
    table = pd.DataFrame({"a": ["u;v", "v;u", "u", "w"]}, index=list("wxyz"))
    wanted = ["u;v", "u;v", "u", None]
    again = clone(method)
    assert str(again.get_params()) == str(method.get_params())
    out = again.fit_transform(table)
    assert list(out.index) == list("wxyz")
    assert [None if pd.isna(x) else x for x in out["a"]] == wanted
    pd.testing.assert_frame_equal(again.transform(table), out)
    assert list(again.get_feature_names_out()) == ["a"]
    assert clone(method).fit_transform(pl.DataFrame(table))["a"].to_list() == wanted
    pd.testing.assert_frame_equal(make_pipeline(clone(method)).fit_transform(table), out)


def test_generalize_serves_in_a_column_transformer():
    table = pd.DataFrame({"a": ["u", "v", "u", "w"], "b": [1, 2, 3, 4]})
    both = ColumnTransformer([("recode", clone(RECODING[0]), ["a"]), ("round", OMA(k=2), ["b"])])
    out = both.set_output(transform="pandas").fit_transform(table)
    assert out["recode__a"].tolist() == RECODING[0].fit_transform(table)["a"].tolist()


@pytest.mark.parametrize("method", [*EXAMPLES, *RANDOM], ids=str)
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


@pytest.mark.filterwarnings("ignore:.*came out unchanged:UserWarning")
@pytest.mark.parametrize("method", ROW_BOUND, ids=str)
def test_row_bound_methods_treat_the_rows_they_are_given_and_no_others(method):
    assert not hasattr(method, "transform")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.lognormal(size=(9, 2)), columns=["x0", "x1"], index=list("rstuvwxyz"))
    table.loc["z", "x1"] = np.nan
    out = clone(method).set_output(transform="pandas").fit_transform(table)
    assert list(out.columns) == ["x0", "x1"]
    assert list(out.index) == list("rstuvwxyz")
    assert (out.dtypes == np.float64).all()
    assert out["x1"].isna().tolist() == [False] * 8 + [True]
    frame = pl.DataFrame(table.to_dict("list"))
    again = clone(method).set_output(transform="polars").fit_transform(frame)
    assert again.columns == ["x0", "x1"]
    np.testing.assert_array_equal(again.to_numpy(), out.to_numpy())


def test_in_a_pipeline_and_a_column_transformer():
    table = pd.DataFrame({"age": [20, 30, 40, 99], "income": [1.0, 2.0, 3.0, 4.0]})
    steps = ColumnTransformer(
        [("top", TopBottom(upper=60), ["age"]), ("oma", OMA(k=2), ["income"])]
    )
    out = make_pipeline(steps, StandardScaler()).fit_transform(table)
    assert np.allclose(out.mean(axis=0), 0)
    assert len(np.unique(out[:, 1])) == 2


def test_what_scikit_learn_was_spared_is_there_when_asked_for():
    code = (
        "import sys\nfrom discreet.rounding import OMA\n"
        "assert not {'scipy.stats', 'scipy.special'} & set(sys.modules)\n"
        "from sklearn.utils import _array_api, fixes\n"
        "assert _array_api.special.expit(0.0) == 0.5\n"
        "assert fixes._mode([1, 1, 2]).mode == 1\n"
        "import scipy.special, scipy.stats\n"
        "assert scipy.stats.norm.ppf(0.5) == scipy.special.ndtri(0.5) == 0"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
