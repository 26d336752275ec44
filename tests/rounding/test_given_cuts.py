"""Cuts and points that are given: what a value becomes, and what is promised of it."""

import weakref
from bisect import bisect_right

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import protect
from discreet.errors import BadInput, BrokenPromise
from discreet.flow import counting
from discreet.rounding import GivenCuts
from tests.flow.ranges import count_by_ranges

CUTS, POINTS = [10.0, 20.0], [5.0, 15.0, 30.0]


@given(
    values=st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=40),
    cuts=st.lists(st.integers(-30, 30).map(float), unique=True, max_size=6).map(sorted),
    kept=st.lists(st.integers(-40, 40).map(float), unique=True, max_size=4).map(sorted),
    nulls=st.booleans(),
)
def test_each_value_becomes_its_interval_s_point_whatever_the_others_are(values, cuts, kept, nulls):
    points = [100.0 + i for i in range(len(cuts) + 1)]
    x = np.array([*values, *[np.nan] * nulls])
    method = GivenCuts(cuts, points, kept=kept)
    found = method.fit_transform(x.reshape(-1, 1)).ravel()
    wanted = [v if v in kept else points[bisect_right(cuts, v)] for v in values]
    assert found[: len(values)].tolist() == wanted
    assert np.isnan(found[len(values) :]).all()
    assert method.transform(x.reshape(-1, 1)).ravel()[: len(values)].tolist() == wanted
    plan = method.plan_["x0"]
    assert plan["counts"].sum() == len(values)
    held = dict(zip(plan["points"].tolist(), plan["counts"].tolist(), strict=True))
    assert all(held[point] == wanted.count(point) for point in {*points, *wanted})


def recipe(**step):
    step = {"method": "given-cuts", "columns": ["x"], "cuts": CUTS, "points": POINTS} | step
    return {"roles": {"confidential": ["x"], "unit": "who", "rest": "drop"}, "steps": [step]}


def table(values, who=None):
    return pa.table({"x": values, "who": range(len(values)) if who is None else who})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_check_finds_out_whether_enough_share_a_point(engine):
    enough = table([1.0, 2.0, 3.0, 44.0, 45.0, 46.0])
    release = protect(enough, recipe(min_count=3), engine=engine)
    assert release.check.ok
    with pytest.raises(BrokenPromise, match="2 units hold 30"):
        protect(enough.slice(0, 5), recipe(min_count=3), engine=engine)
    # Three records of one person are one.
    with pytest.raises(BrokenPromise, match="1 units hold 30"):
        protect(table(enough["x"], [1, 2, 3, 4, 4, 4]), recipe(min_count=3), engine=engine)


def test_a_column_of_many_values_is_counted_range_after_range(monkeypatch):
    count_by_ranges(monkeypatch, 16)
    many = pa.table({"x": np.random.default_rng(1).permutation(200) / 4})
    asked = recipe(min_count=3, kept=[0.0, 12.5], promise=False)
    asked["roles"] = {"confidential": ["x"]}
    plans = [
        protect(many, asked, engine=engine).plan["steps"][0]["columns"]["x"]
        for engine in ("memory", "duckdb")
    ]
    for name in ("cuts", "points", "counts", "spikes"):
        assert plans[0][name].tolist() == plans[1][name].tolist()
    assert plans[0]["counts"].tolist() == [39, 39, 120, 1, 1]


def test_ranges_of_a_column_are_not_kept(monkeypatch):
    count_by_ranges(monkeypatch, 16)
    seen, alive, join = [], [], counting._joined

    def joined(parts):
        found = join(parts)
        alive.append(sum(one() is not None for one in seen))
        seen.append(weakref.ref(found))
        return found

    monkeypatch.setattr(counting, "_joined", joined)
    asked = recipe(promise=False)
    asked["roles"] = {"confidential": ["x"]}
    protect(pa.table({"x": np.arange(200) / 4}), asked, engine="duckdb")
    assert len(seen) > 10
    assert max(alive) <= 2


def test_points_have_the_decimals_of_the_column():
    release = protect(table([1, 2, 3, 12, 13, 14]), recipe(points=[5.4, 15.5, 30.0], min_count=2))
    assert release.table["x"].to_pylist() == [5, 5, 5, 16, 16, 16]


@pytest.mark.parametrize(
    "more",
    [
        {"method": "given-cuts", "cuts": [3, 6], "points": [1.234, 4.567, 8.111]},
        {"method": "base", "base": 0.25},
    ],
)
def test_points_of_single_precision_are_rounded_by_their_own_decimals(more):
    """One of 4.6 is 4.599999904632568 as a double, which has not 15 decimals for that."""
    values = np.round(np.random.default_rng(0).uniform(0, 10, 200), 1)
    asked = {"roles": {"confidential": ["x"]}, "steps": [{"columns": ["x"], **more}]}
    assert protect(pa.table({"x": pa.array(values, pa.float32())}), asked).check.ok


def test_values_far_beyond_are_told():
    with pytest.warns(
        UserWarning, match="2 of 5 values lie far beyond the outermost points, 5 and 30"
    ):
        GivenCuts(CUTS, POINTS).fit(np.array([[1.0], [11.0], [39.0], [41.0], [-1.0]]))


def test_a_plan_with_other_cuts_is_found():
    from discreet.check.asked import not_as_asked

    release = protect(table([1.0, 2.0, 3.0, 44.0, 45.0, 46.0]), recipe(min_count=3))
    step, plan = release.recipe.steps[0], release.plan["steps"][0]
    assert not_as_asked(step, plan) is None
    for name, other in {"cuts": [10.0, 21.0], "points": [5.0, 15.0, 31.0]}.items():
        edited = {**plan, "columns": {"x": {**plan["columns"]["x"], name: np.array(other)}}}
        assert f"the plan's {name} in column 'x' is" in not_as_asked(step, edited)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"cuts": [2.0, 1.0], "points": [1.0, 2.0, 3.0]}, "the cuts, and the values that are kept, must rise"),
        ({"cuts": [1.0, 2.0], "points": [1.0, 3.0, 2.0]}, "the points must not fall"),
        ({"cuts": [1.0], "points": [1.0]}, "points must be one more than cuts, but there are 1 points and 1 cuts"),
        ({"cuts": {"x0": [1.0]}, "points": [1.0, 2.0]}, "give cuts and points both by column, or both once for all columns"),
        ({"cuts": {"x0": [1.0]}, "points": {"x0": [1.0]}}, "points must be one more than cuts of column 'x0', but there are 1 points and 1 cuts"),
        ({"cuts": [1.0], "points": [1.0, 2.0], "kept": {"x0": [5.0, 0.0]}}, "the cuts of column 'x0', and the values that are kept, must rise"),
        ({"cuts": {"x1": [1.0]}, "points": {"x1": [1.0, 2.0]}}, "cuts is given for column 'x1', but there is none of that name"),
        ({"cuts": ["a"], "points": [1.0, 2.0]}, "cuts must be a list of numbers, not ['a']"),
    ],
)  # fmt: skip
def test_messages(parameters, said):
    with pytest.raises(BadInput) as error:
        GivenCuts(**parameters).fit([[1.0]])
    assert str(error.value).startswith(said)
