"""k counts units where rows have them: persons or households with several rows."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
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
from discreet.table.summary import Holders, Summary
from tests.examples import examples

METHODS = {
    "oma": lambda k, **p: OMA(k, **p),
    "oma-l1": lambda k, **p: OMA(k, objective="l1", **p),
    "oma-split": lambda k, **p: OMA(k, keep_ties=False, **p),
    "mdav": lambda k, **p: MDAV(k, **p),
    "mdav-split": lambda k, **p: MDAV(k, keep_ties=False, **p),
    "vmdav": lambda k, **p: VMDAV(k, gamma=1.5, **p),
    "vmdav-split": lambda k, **p: VMDAV(k, gamma=1.5, keep_ties=False, **p),
    "base": lambda k, **p: BaseRounding(min_attraction=k),
    "equal-width": lambda k, **p: EqualWidth(6, min_count=k, **p),
    "equal-frequency": lambda k, **p: EqualFrequency(6, min_count=k, **p),
    "kmeans": lambda k, **p: KMeans(6, min_count=k, **p),
    "resampling": lambda k, **p: Resampling(6, n_quantiles=2, min_count=k, random_state=1, **p),
    "mdlp": lambda k, **p: MDLP(min_count=k, **p),
    "chimerge": lambda k, **p: ChiMerge(min_count=k, **p),
}
GROUPS = {"oma": OMA, "mdav": MDAV, "vmdav": VMDAV}
every_method = pytest.mark.parametrize("name", METHODS)
quietly = pytest.mark.filterwarnings("ignore::UserWarning")

cells = st.integers(-9, 9).map(float) | st.floats(-1e3, 1e3) | st.just(float("nan"))
# The value, the unit and the class of each row; all classes and five units have a value.
FIRST = [(1.0, 0, 0), (2.0, 1, 1), (3.0, 2, 0), (4.0, 3, 1), (5.0, 4, 0)]
rows = st.lists(st.tuples(cells, st.integers(0, 7), st.integers(0, 1)), max_size=40).map(
    lambda more: FIRST + more
)


def held(released, units):
    """Count the units behind each value, with nothing but a dictionary."""
    holders = defaultdict(set)
    for value, unit in zip(released, units, strict=True):
        if value == value:
            holders[value].add(unit)
    return {value: len(found) for value, found in holders.items()}


def counted(x, units, y):
    """Count as an engine does: each pair of value and unit once."""
    there = ~np.isnan(x)
    values, counts = np.unique(x[there] + 0.0, return_counts=True)
    pairs = sorted(
        {(value + 0.0, unit) for value, unit in zip(x[there], units[there], strict=True)}
    )
    starts = np.searchsorted([value for value, _ in pairs], values)
    table = np.zeros((len(values), y.max() + 1), np.int32)
    np.add.at(table, (np.searchsorted(values, x[there]), y[there]), 1)
    holders = Holders(np.array([u for _, u in pairs]), np.append(starts, len(pairs)), 8)
    return Summary(values, counts, int((~there).sum()), table, holders)


@every_method
@pytest.mark.parametrize("spikes", ["group", "keep"])
@given(rows=rows, k=st.integers(1, 5))
@examples(60)
@quietly
def test_k_units_are_behind_every_released_value(name, spikes, rows, k):
    x, units, y = (np.array(part) for part in zip(*rows, strict=True))
    method = METHODS[name](k, spikes=spikes)
    released = method.fit_transform(x.reshape(-1, 1), y, units=units).ravel()
    assert (np.isnan(released) == np.isnan(x)).all()
    found = held(released, units)
    assert min(found.values()) >= k
    plan = method.plan_["x0"]
    assert plan["units"].min() >= k
    assert plan["counts"].sum() == (~np.isnan(x)).sum()
    # A point may stand for several groups, whose units need not be others.
    points, times = np.unique(plan["points"], return_counts=True)
    for point in points[times == 1]:
        assert plan["units"][plan["points"] == point] == found[point]
    if "split" not in name:
        np.testing.assert_array_equal(method.transform(x.reshape(-1, 1)).ravel(), released)
        from_engine = method.decide(counted(x, units, y), "x0")
        assert from_engine.keys() == plan.keys()
        for key, value in plan.items():
            assert np.array_equal(from_engine[key], value), key


@every_method
@given(rows=rows, k=st.integers(1, 5))
@examples(30)
@quietly
def test_units_of_one_row_each_are_counted_like_rows(name, rows, k):
    x, _, y = (np.array(part) for part in zip(*rows, strict=True))
    one, other = METHODS[name](k), METHODS[name](k)
    wanted = one.fit_transform(x.reshape(-1, 1), y)
    found = other.fit_transform(x.reshape(-1, 1), y, units=np.arange(len(x)))
    np.testing.assert_array_equal(found, wanted)
    plan = other.plan_["x0"]
    assert plan.pop("units").tolist() == plan["counts"].tolist()
    assert plan.keys() == one.plan_["x0"].keys()


@pytest.mark.parametrize("method", GROUPS.values(), ids=GROUPS)
def test_a_household_does_not_hide_in_its_members(method):
    """Five members of one household with one income are one household, not five records."""
    income = np.repeat([1000.0, 1200.0, 1300.0, 5000.0, 5200.0, 9000.0], 5).reshape(-1, 1)
    household = np.repeat(np.arange(6), 5)
    assert np.isin(method(3).fit_transform(income), income).all()
    released = method(3).fit_transform(income, units=household).ravel()
    assert min(held(released, household).values()) >= 3
    assert not np.isin(released, income).any()


@pytest.mark.parametrize("method", GROUPS.values(), ids=GROUPS)
def test_one_person_with_most_of_the_rows_does_not_end_the_grouping(method):
    rng = np.random.default_rng(1)
    x, units = (
        rng.normal(size=(3000, 1)),
        np.where(rng.random(3000) < 0.7, 0, rng.integers(1, 9, 3000)),
    )
    released = method(4).fit_transform(x, units=units).ravel()
    found = held(released, units)
    assert min(found.values()) >= 4
    assert len(found) > 50


def test_groups_of_units_grow_no_further_than_they_must():
    """With rows of one unit next to each other, a group holds k units and no two groups do."""
    x, units = np.arange(60.0).reshape(-1, 1), np.repeat(np.arange(20), 3)
    for method in (OMA(4), MDAV(4), VMDAV(4)):
        assert set(method.fit(x, units=units).plan_["x0"]["units"]) <= set(range(4, 8))


def test_fewer_units_than_k_are_refused():
    x, units = np.arange(9.0).reshape(-1, 1), [0, 1, 2] * 3
    for method in (OMA(5), MDAV(5), VMDAV(5)):
        with pytest.raises(BadInput, match="column 'x0' has 3 units, fewer than k = 5"):
            method.fit(x, units=units)
    for method, said in (
        (KMeans(2, min_count=5), "min_count"),
        (BaseRounding(min_attraction=5), "min_attraction"),
    ):
        with pytest.raises(BadInput, match=f"has 3 units, fewer than {said} = 5"):
            method.fit(x, units=units)
    with pytest.raises(BadInput, match=r"no base of \[2.0\] leaves 3 units at each multiple"):
        BaseRounding(min_attraction=3, bases=[2.0]).fit(x, units=[0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_a_unit_without_a_value_is_not_counted():
    x = np.array([[1.0], [2.0], [np.nan]])
    with pytest.raises(BadInput, match="column 'x0' has 2 units, fewer than k = 3"):
        OMA(3).fit(x, units=["a", "b", "c"])


def test_the_rule_for_k_counts_units():
    """As many classes as for one row a person, so the same k, however often each row comes."""
    x = np.arange(100.0)
    assert OMA("freedman-diaconis").fit(x.reshape(-1, 1)).plan_["x0"]["k"] == 20
    repeated = OMA("freedman-diaconis").fit(
        np.repeat(x, 7).reshape(-1, 1), units=np.repeat(np.arange(100), 7)
    )
    assert repeated.plan_["x0"]["k"] == 20
    with pytest.warns(UserWarning, match="rule gives 2[0-9] points for 9 units; 3 are used"):
        KMeans("freedman-diaconis").fit(np.r_[x, 1e3].reshape(-1, 1), units=np.arange(101) % 9)


# In a recipe


def table(n=400):
    rng = np.random.default_rng(4)
    person = np.sort(rng.integers(0, n // 5, n))
    x = (rng.lognormal(3, 1, n // 5)[person] + rng.normal(size=n)).round(1)
    return pa.table({"person": person, "x": x, "y": x > 20})


def protect(step, **more):
    recipe = {
        "roles": {"unit": "person", "confidential": ["x"], "target": "y"},
        "steps": [{"columns": ["x"]} | step],
    }
    return discreet.protect(table(), recipe, **more)


STEPS = [
    {"method": "oma", "k": 4},
    {"method": "mdav", "k": 4},
    {"method": "vmdav", "k": "freedman-diaconis"},
    {"method": "base", "min_attraction": 4},
    {"method": "kmeans", "n_points": 12, "min_count": 4},
    {"method": "mdlp", "min_count": 4},
    {"method": "chimerge", "min_count": 4, "alpha": 0.9},
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["method"])
def test_a_release_counts_units_on_every_engine(step):
    release = protect(step)
    plan = release.plan["steps"][0]["columns"]["x"]
    k = plan.get("k", 4)
    found = held(release.table["x"].to_pylist(), table()["person"].to_pylist())
    assert min(found.values()) >= k
    other = protect(step, engine="duckdb")
    again = other.plan["steps"][0]["columns"]["x"]
    assert again["units"].tolist() == plan["units"].tolist()
    assert again["points"].tolist() == plan["points"].tolist()
    other.close()


def test_the_log_tells_what_counting_units_costs():
    done = protect({"method": "oma", "k": 4}).log["steps"][0]
    assert 0 < done["loss_counting_rows"]["x"] < done["loss"]["x"] < 1
    other = protect({"method": "oma", "k": 4}, engine="duckdb")
    assert other.log["steps"][0]["loss"] == done["loss"]
    other.close()
    recipe = {"roles": {"confidential": ["x"], "rest": "drop"},
              "steps": [{"columns": ["x"], "method": "oma", "k": 4}]}  # fmt: skip
    assert "loss" not in discreet.protect(table(), recipe).log["steps"][0]


@pytest.mark.parametrize("objective", ["l2", "l1"])
@pytest.mark.parametrize("keep_ties", [True, False])
def test_the_losses_are_shares_of_what_one_group_loses(objective, keep_ties):
    x, units = table()["x"].to_numpy().reshape(-1, 1), table()["person"]
    method = OMA(4, objective=objective, keep_ties=keep_ties,
                 representative="mean" if objective == "l2" else "median")  # fmt: skip
    by_rows = method.fit_transform(x)
    by_units = method.fit_transform(x, units=units)

    def off(new):
        return (np.abs(new - x) ** (2 if objective == "l2" else 1)).sum()

    plan = method.plan_["x0"]
    whole = off(x.mean() if objective == "l2" else np.median(x))
    assert plan["loss"] == pytest.approx(off(by_units) / whole)
    assert plan["loss_counting_rows"] == pytest.approx(off(by_rows) / whole)
