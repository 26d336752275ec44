import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.check.evidence import Evidence
from discreet.rounding import EqualFrequency


@given(values=st.lists(st.integers(0, 30), min_size=1, max_size=40), c=st.integers(1, 8))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bins_lie_between_numpys_quantiles(values, c):
    x = np.array(values, dtype=float)
    method = EqualFrequency(c).fit(x.reshape(-1, 1))
    # Halves, quarters and so on of whole numbers; rounded, so that a quantile equals its value.
    breaks = np.unique(np.round(np.quantile(x, np.linspace(0, 1, c + 1)), 9))
    bins = np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, max(0, len(breaks) - 2))
    assert method.group_sizes_["x0"].tolist() == np.unique(bins, return_counts=True)[1].tolist()


def test_coinciding_quantiles_give_fewer_bins_and_are_told():
    x = [[1.0], [2.0], [2.0], [2.0], [2.0], [2.0], [3.0]]
    with pytest.warns(
        UserWarning, match="'x0' gets 2 points, not 3: frequent values make its quantiles coincide"
    ):
        method = EqualFrequency(3).fit(x)
    assert method.n_points_ == {"x0": 2}


def plain_breaks(x, c):
    """Return numpy's quantiles, rounded so that those of the same value are the same."""
    return np.round(np.quantile(x, np.linspace(0, 1, c + 1)), 9)


@given(values=st.lists(st.integers(0, 12), min_size=2, max_size=40), c=st.integers(1, 12))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_next_number_of_parts_whose_quantiles_differ(values, c):
    x = np.array(values, dtype=float)
    differ = [i for i in range(1, 200) if (np.diff(plain_breaks(x, i)) > 0).all()]
    for ties, wanted in (
        ("raise_c", min((i for i in differ if i >= c), default=c)),
        ("lower_c", max((i for i in differ if i <= c), default=c)),
        ("merge", c),
    ):
        method = EqualFrequency(c, ties=ties).fit(x.reshape(-1, 1))
        assert method.plan_["x0"]["c"] == wanted
        breaks = np.unique(plain_breaks(x, wanted))
        bins = np.searchsorted(breaks[1:-1], x, side="right")
        assert method.group_sizes_["x0"].tolist() == np.unique(bins, return_counts=True)[1].tolist()


# The quantiles of 6 parts coincide, and those of 5 and 7 do not.
SHARED = np.repeat(np.arange(8.0), [4, 4, 4, 9, 4, 4, 4, 4])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(("ties", "c"), [("raise_c", 7), ("lower_c", 5), ("merge", 6)])
def test_ties_in_a_recipe(ties, c, engine):
    assert (np.diff(plain_breaks(SHARED, c)) > 0).all() == (ties != "merge")
    step = {"method": "equal-frequency", "columns": ["x"], "n_points": 6, "min_count": 3}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step | {"ties": ties}]}
    release = discreet.protect(pa.table({"x": SHARED}), recipe, engine)
    assert release.plan["steps"][0]["columns"]["x"]["c"] == c
    assert release.check.verified
    said = f"column 'x' is cut at the quantiles of {c} parts, not 6: frequent values make those"
    assert (said in str(release.log)) == (ties != "merge")
    release.close()


def test_where_no_higher_number_of_parts_works_that_is_told():
    x = np.array([1.0, 1.0, 1.0, 1.0, 2.0, 3.0])
    assert not any((np.diff(plain_breaks(x, c)) > 0).all() for c in range(4, 100))
    said = "column 'x0': no higher number of parts than 4 has quantiles that all differ; those that"
    with pytest.warns(UserWarning, match=said):
        method = EqualFrequency(4, ties="raise_c").fit(x.reshape(-1, 1))
    assert method.plan_["x0"]["c"] == 4


def test_a_plan_of_another_number_of_parts_is_found():
    step = {"method": "equal-frequency", "columns": ["x"], "n_points": 6, "min_count": 3}
    recipe = {"roles": {"confidential": ["x"]}, "steps": [step | {"ties": "raise_c"}]}
    release = discreet.protect(pa.table({"x": SHARED}), recipe)
    release.plan["steps"][0]["columns"]["x"]["c"] = 5
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = discreet.check_release(release.table, release.recipe, evidence, release.original)
    assert any(
        "c as ties allow in column 'x' is False" in f.detail for f in report.having("broken")
    )


def test_equal_values_share_a_bin():
    x = np.array([[1.0], [1.0], [1.0], [1.0], [2.0], [3.0]])
    out = EqualFrequency(2).fit_transform(x).ravel()
    assert len(set(out[:4])) == 1
