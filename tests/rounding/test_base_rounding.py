from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.check import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BadInput
from discreet.rounding import BaseRounding

BASES = [factor * 10.0**power for power in range(-3, 9) for factor in (1, 2, 2.5, 5)]


@given(value=st.floats(-1e9, 1e9), base=st.sampled_from([0.25, 0.5, 1.0, 2.5, 5.0, 64.0, 1000.0]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_value_goes_to_the_multiple_whose_set_of_attraction_it_is_in(value, base):
    (out,) = BaseRounding(base).fit_transform([[value]]).ravel()
    quotient = value / base  # as floats have it; exact for most of these bases
    assert out == floor(Fraction(quotient) + Fraction(1, 2)) * base


def test_halves_go_up_and_just_under_a_half_does_not():
    x = np.array([[0.49999999999999994], [0.5], [-0.5], [-0.5000000000000001], [2.5]])
    assert BaseRounding(1).fit_transform(x).ravel().tolist() == [0, 1, 0, -1, 3]
    assert BaseRounding(1, encoding="nearest").fit_transform(x).ravel().tolist() == [
        0,
        0,
        -1,
        -1,
        2,
    ]


@given(
    values=st.lists(st.integers(-300, 300), min_size=3, max_size=40),
    least=st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_smallest_nice_base_that_keeps_the_sets_of_attraction(values, least):
    x = np.array(values, dtype=float).reshape(-1, 1)
    method = BaseRounding(min_attraction=least, bases="nice").fit(x)
    base = method.plan_["x0"]["base"]

    def smallest(base):
        multiples = [floor(Fraction(v) / Fraction(base) + Fraction(1, 2)) for v in values]
        return min(multiples.count(m) for m in multiples)

    assert method.group_sizes_["x0"].min() == smallest(base) >= least
    # The search starts at the power of ten at or below the smallest gap: there every value is
    # still by itself, as with any smaller base.
    gap = np.diff(np.unique(values)).min() if len(set(values)) > 1 else 1
    start = 10.0 ** floor(np.log10(gap))
    assert all(smallest(b) < least for b in BASES if start <= b < base)


def test_bases_of_ones_own_and_none_that_works():
    x = np.array([[21.0], [22.0], [24.0], [37.0], [39.0]])
    assert BaseRounding(min_attraction=2, bases=[60, 7, 20]).fit(x).plan_["x0"]["base"] == 20
    with pytest.raises(BadInput, match=r"no base of .* leaves 2 records at each multiple"):
        BaseRounding(min_attraction=2, bases=[5]).fit(x)


def held(values, base, rounding="nearest", ends="closed"):
    """Count the records at each multiple that occurs, by the definition."""
    at = np.floor(values / base + 0.5) if rounding == "nearest" else np.floor(values / base)
    if ends == "open":
        at = np.clip(at, np.ceil(values.min() / base), np.floor(values.max() / base))
    return np.unique(at, return_counts=True)[1]


EXPONENTIAL = np.random.default_rng(0).exponential(100, 300)
NORMAL = np.random.default_rng(18).normal(0, 10, 1000)


@pytest.mark.parametrize(
    ("values", "parameters", "bound", "base", "points"),
    [
        (EXPONENTIAL, {}, 541.917, 542, 2),
        (EXPONENTIAL, {"bases": "nice"}, None, 2000, 1),
        (EXPONENTIAL, {"ends": "open"}, 270.958, 271, 2),
        (EXPONENTIAL, {"rounding": "floor"}, 406.438, 407, 2),
        (NORMAL, {}, 4.1584, 4.16, 15),
        (NORMAL, {"bases": "nice"}, None, 10, 7),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_known_answers_of_five_records_at_each_multiple(values, parameters, bound, base, points):
    plan = BaseRounding(min_attraction=5, **parameters).fit(values.reshape(-1, 1)).plan_["x0"]
    assert plan["base"] == base
    assert len(plan["points"]) == points
    how = {name: parameters[name] for name in parameters.keys() - {"bases"}}
    assert plan["counts"].tolist() == held(values, base, **how).tolist()
    if bound is not None:
        assert plan["none_below"] == pytest.approx(bound, rel=1e-5)
        # A fine grid below the bound has no base that works, and at the bound one does.
        grid = np.arange(bound / 5, plan["none_below"], bound / 5000)
        assert all(held(values, b, **how).min() < 5 for b in grid)
        assert held(values, plan["none_below"], **how).min() >= 5


def test_few_points_are_told():
    x = EXPONENTIAL.reshape(-1, 1)
    said = "column 'x0': base 542 leaves 2 points of 300 distinct values; lower min_attraction to"
    with pytest.warns(UserWarning, match=said):
        BaseRounding(min_attraction=5).fit(x)
    said = "'x0': base 2000 turns all 300 distinct values into 0; take bases = 'smallest' to keep"
    with pytest.warns(UserWarning, match=said):
        BaseRounding(min_attraction=5, bases="nice").fit(x)
    with pytest.warns(UserWarning, match=r"base 5000 turns all 300 .* into 0; use a smaller one"):
        BaseRounding(5000).fit(x)


def test_all_digits_of_a_base_would_tell_the_value_that_it_hangs_on():
    plan = BaseRounding(min_attraction=5).fit(EXPONENTIAL.reshape(-1, 1)).plan_["x0"]
    assert plan["none_below"] * 1.5 == pytest.approx(EXPONENTIAL.max(), rel=1e-14)
    assert plan["base"] * 1.5 == 813


def test_open_ends_keep_points_within_the_range():
    x = np.array([[1.0], [6.0], [14.9], [15.0], [24.0], [29.0]])
    # From 10 to 20: what is below 15 goes to 10, the rest to 20.
    method = BaseRounding(10, ends="open").fit(x)
    assert method.transform(x).ravel().tolist() == [10, 10, 10, 20, 20, 20]
    assert method.transform([[-40.0], [99.0]]).ravel().tolist() == [10, 20]
    floor_ = BaseRounding(10, ends="open", rounding="floor")
    assert floor_.fit_transform(x).ravel().tolist() == [10, 10, 10, 10, 20, 20]
    drawn = BaseRounding(10, ends="open", encoding="stochastic", random_state=0).fit(x)
    assert drawn.n_points_ == {"x0": 2}
    assert set(drawn.transform(np.repeat(x, 50, axis=0)).ravel()) == {10, 20}


def test_open_ends_without_a_multiple_in_the_range():
    x = np.array([[101.0], [104.0], [108.0]])
    assert BaseRounding(100, ends="open").fit_transform(x).ravel().tolist() == [100] * 3
    assert BaseRounding(99, ends="open").fit_transform(x + 90).ravel().tolist() == [198] * 3


def test_the_multiple_at_or_below():
    x = np.array([[-0.5], [0.0], [9.9], [10.0], [-10.0]])
    out = BaseRounding(10, rounding="floor").fit_transform(x).ravel()
    assert out.tolist() == [-10, 0, 0, 10, -10]
    message = "no base leaves 2 records at each multiple; few lie on one side of 0; use ends = 'op"
    with pytest.raises(BadInput, match=message):
        BaseRounding(min_attraction=2, rounding="floor").fit([[-1.0], [3.0], [4.0]])


def test_values_that_enough_share_keep_apart():
    x = np.repeat([10.0, 20.0, 37.0], 4).reshape(-1, 1)
    method = BaseRounding(min_attraction=4).fit(x)
    assert "none_below" not in method.plan_["x0"]
    assert method.plan_["x0"]["base"] == 10
    assert method.n_points_ == {"x0": 3}


def test_a_search_that_was_cut_short_is_told(monkeypatch):
    monkeypatch.setattr("discreet.rounding.base_rounding.BUDGET", 10)
    x = np.random.default_rng(0).normal(1e6, 1, (200, 1))
    with pytest.warns(UserWarning, match="'x0': the search for the smallest base went on in steps"):
        plan = BaseRounding(min_attraction=3).fit(x).plan_["x0"]
    assert plan["none_below"] < plan["base"]
    assert plan["counts"].min() >= 3


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("more", [{}, {"ends": "open"}, {"rounding": "floor"}, {"bases": "nice"}])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_release_holds_what_was_asked_for(engine, more):
    step = {"method": "base", "columns": ["x"], "min_attraction": 5, "precision": "full", **more}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step]}
    release = discreet.protect(pa.table({"x": NORMAL}), recipe, engine)
    plan = release.plan["steps"][0]["columns"]["x"]
    alone = BaseRounding(min_attraction=5, **more).fit(NORMAL.reshape(-1, 1))
    assert plan["base"] == alone.plan_["x0"]["base"]
    assert release.check.verified
    found = np.sort(np.asarray(pa.table(release.table)["x"]))
    assert found.tolist() == np.sort(alone.transform(NORMAL.reshape(-1, 1)).ravel()).tolist()
    release.close()


FORGED = {
    "nice": ({"bases": "nice"}, {"base": 3.0}, "base is nice"),
    "listed": ({"bases": [10, 40]}, {"base": 30.0}, "base among bases"),
    "smallest": ({}, {"none_below": 1e9}, "base from none_below on"),
    "rounding": ({}, {"rounding": "floor"}, "rounding"),
    "ends": ({}, {"ends": "open"}, "ends"),
    "given": ({"base": 2, "min_attraction": None}, {"base": 4.0}, "base"),
    "few": ({}, {"counts": np.array([4, 996])}, "min_attraction kept"),
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_forged_plan_is_found(name):
    more, forged, said = FORGED[name]
    release = protected(NORMAL, more)
    assert release.check.verified
    release.plan["steps"][0]["columns"]["x"].update(forged)
    assert f"the plan's {said} in column 'x' is" in str(checked(release, release.table))


@pytest.mark.parametrize("precision", ["full", "input"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int32(), pa.decimal128(9, 2)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_points_that_are_no_multiples_are_found(precision, kind):
    column = pa.array(NORMAL.round(2)).cast(kind, safe=False)
    release = protected(column, {"precision": precision})
    plan = release.plan["steps"][0]["columns"]["x"]
    assert release.check.verified
    new = release.table["x"].to_pylist()
    at, moved = plan["points"][3], plan["points"][3] + 1.0
    plan["points"][3] = moved
    shown = pa.array([moved if float(x) == at else float(x) for x in new])
    table = pa.table({"x": shown.cast(release.table["x"].type, safe=False)})
    said = "the plan's points at multiples of the base in column 'x' is False, the recipe's True"
    assert said in str(checked(release, table))


def protected(x, more):
    step = {"method": "base", "columns": ["x"], "min_attraction": 5, "precision": "full"} | more
    step = {key: value for key, value in step.items() if value is not None}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step]}
    return discreet.protect(pa.table({"x": x}), recipe)


def checked(release, table):
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(table, release.recipe, evidence, release.original)


@pytest.mark.parametrize(
    "values", [[0, 901, 901, 7e-231], [0, 5e-324], [-9e300, 9e300, 9e300 * (1 - 2**-53)]]
)
def test_no_base_is_tried_that_would_be_refused(values):
    method = BaseRounding(min_attraction=1).fit(np.array(values).reshape(-1, 1))
    assert method.plan_["x0"]["base"] * 2**53 >= max(values)


def test_new_rows_go_to_multiples_that_no_fitted_row_had():
    method = BaseRounding(10).fit([[1.0], [21.0]])
    assert method.transform([[105.0], [-999.0], [np.nan]]).ravel()[:2].tolist() == [110, -1000]


def test_stochastic_encoding_is_unbiased():
    n = 40_000
    method = BaseRounding(10, encoding="stochastic", random_state=0).fit([[0.0], [100.0]])
    for value in (12.5, -47.0, 30.0):
        out = method.transform(np.full((n, 1), value))
        below = floor(value / 10) * 10
        # Five standard errors of a two-point distribution.
        error = np.sqrt((value - below) * (below + 10 - value) / n)
        assert abs(out.mean() - value) <= 5 * error
        assert set(out.ravel()) <= {below, below + 10}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "give either base or min_attraction"),
        ({"base": 5, "min_attraction": 2}, "give either base or min_attraction"),
        ({"base": 0}, "a base must be a number above 0, not 0"),
        ({"base": "a"}, "a base must be a number above 0, not 'a'"),
        ({"base": 10**400}, "a base must be a number above 0, not 1000"),
        ({"min_attraction": 1, "bases": [1, None]}, "a base must be a number above 0, not None"),
        (
            {"min_attraction": 1, "bases": 5},
            "bases must be 'smallest', 'nice' or a list of numbers above 0, not 5",
        ),
        (
            {"min_attraction": 1, "bases": []},
            r"bases must be .* a list of numbers above 0, not \[\]",
        ),
        ({"base": 5, "bases": [1]}, "bases says what min_attraction chooses from; give it with"),
        ({"base": 5, "rounding": "up"}, "rounding must be one of 'nearest', 'floor', not 'up'"),
        ({"base": 5, "ends": "none"}, "ends must be one of 'closed', 'open', not 'none'"),
        (
            {"base": 5, "rounding": "floor", "encoding": "nearest"},
            "rounding = 'floor' takes the multiple at or below a value; use it with encoding = 'gr",
        ),
        ({"base": 1e-20}, "base = 1e-20 is finer than float64 can tell the values of column 'x0'"),
        ({"min_attraction": 0}, "min_attraction must be a whole number of at least 1, not 0"),
        ({"min_attraction": 9}, r"has 2 values .* fewer than min_attraction = 9"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(BadInput, match=message):
        BaseRounding(**parameters).fit([[1.0], [2.0]])
