"""Values that many share: kept as they are where a step says so."""

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.rounding import (
    MDAV,
    MDLP,
    OMA,
    VMDAV,
    ChiMerge,
    EqualFrequency,
    EqualWidth,
    KMeans,
    Resampling,
)
from tests.flow.ranges import count_by_ranges

METHODS = {
    "oma": lambda **p: OMA(5, **p),
    "oma-l1": lambda **p: OMA(5, objective="l1", representative="midpoint", **p),
    "oma-split": lambda **p: OMA(5, keep_ties=False, **p),
    "mdav": lambda **p: MDAV(5, **p),
    "vmdav": lambda **p: VMDAV(5, **p),
    "equal-width": lambda **p: EqualWidth(4, min_count=5, **p),
    "equal-frequency": lambda **p: EqualFrequency(4, min_count=5, **p),
    "kmeans": lambda **p: KMeans(4, min_count=5, **p),
    "resampling": lambda **p: Resampling(4, min_count=5, random_state=0, **p),
    "mdlp": lambda **p: MDLP(min_count=5, **p),
    "chimerge": lambda **p: ChiMerge(min_count=5, **p),
}
every_method = pytest.mark.parametrize("name", METHODS)
quietly = pytest.mark.filterwarnings("ignore::UserWarning")


def incomes():
    """Return 200 incomes: a quarter have none, a tenth the same wage, one owes a little."""
    rng = np.random.default_rng(2)
    x = rng.lognormal(7, 1, 200).round()
    x[:50], x[50:70], x[70] = 0, 1200, -40
    return rng.permutation(x)


def released(name, x, **more):
    y = (x > 1000).astype(int)
    method = METHODS[name](**more)
    return method.fit_transform(x.reshape(-1, 1), y).ravel(), method


@every_method
@quietly
def test_spikes_stay_and_the_others_are_grouped(name):
    x = incomes()
    new, method = released(name, x, spikes="keep")
    for spike in (0, 1200):
        assert (new[x == spike] == spike).all()
    others = ~np.isin(x, [0, 1200])
    values, counts = np.unique(new[others], return_counts=True)
    assert counts.min() >= 5
    assert method.plan_["x0"]["spikes"].tolist() == [0, 1200]
    assert set(method.rounding_sets_["x0"]) == {0, 1200, *values}
    assert method.group_sizes_["x0"].sum() == 200
    assert method.caveat.endswith("values that many share are kept as they are")
    grouped, _ = released(name, x)
    if name != "oma-split":
        assert not (grouped[x == 0] == 0).all()
    assert (new == x).sum() > (grouped == x).sum()
    # New rows: a spike is a spike, and what lies next to one is not.
    rows = np.array([[0.0], [1200.0], [1e-9], [1200.5], [np.nan]])
    new = method.transform(rows).ravel()
    assert new[:2].tolist() == [0, 1200]
    assert np.isin(new[2:4], values).all()
    assert np.isnan(new[4])


@every_method
@pytest.mark.parametrize("encoding", ["nearest", "stochastic"])
@quietly
def test_spikes_stay_in_the_encodings_that_perturb(name, encoding):
    x = incomes()
    new, _ = released(name, x, spikes="keep", encoding=encoding, **(
        {} if name == "resampling" else {"random_state": 0}))  # fmt: skip
    assert (new[x == 0] == 0).all()


def test_a_group_may_lie_on_both_sides_of_a_spike():
    x = np.array([1.0, 2.0, *[3.0] * 10, 4.0, 5.0]).reshape(-1, 1)
    method = OMA(4, spikes="keep").fit(x)
    plan = method.plan_["x0"]
    assert plan["points"].tolist() == [3.0, 3.0]
    assert plan["counts"].tolist() == [4, 10]
    assert OMA(2, spikes="keep").fit(x).plan_["x0"]["points"].tolist() == [1.5, 4.5, 3.0]


def test_what_is_a_spike():
    def spikes(x, k, units=None):
        method = OMA(k, spikes="keep").fit(np.array(x, float).reshape(-1, 1), units=units)
        return method.plan_["x0"].get("spikes", np.empty(0)).tolist()

    others = list(range(100, 195))
    assert spikes([0] * 5 + others, 5) == [0]  # 5 of 100
    assert spikes([0] * 5 + others + [99], 5) == []  # 5 of 101
    assert spikes([0] * 5 + others, 6) == []
    # Units: ten rows of two persons are no spike, ten persons are; so are five per cent of them.
    assert spikes([0] * 10 + others, 5, [0, 1] * 5 + list(range(10, 105))) == []
    assert spikes([0] * 10 + others, 5, list(range(105))) == [0]
    assert spikes([0] * 5 + others * 4, 5, [*range(5), *list(range(5, 100)) * 4]) == [0]


@pytest.mark.parametrize("k", [3, 4])
def test_a_rest_that_is_too_small_takes_the_nearest_spike(k):
    x = np.array([0.0] * 10 + [7.0] * 10 + [8.0, 8.5, 9.0]).reshape(-1, 1)
    method = OMA(k, spikes="keep")
    if k == 3:
        new = method.fit_transform(x).ravel()
        assert set(new) == {0, 7, 8.5}
        return
    with pytest.warns(UserWarning, match="a value that many share is grouped with the others"):
        new = method.fit_transform(x).ravel()
    values, counts = np.unique(new, return_counts=True)
    assert counts.tolist() == [10, 13]
    assert values[0] == 0
    assert 7 < values[1] < 9


@every_method
@quietly
def test_nothing_but_spikes(name):
    x = np.repeat([0.0, 1.0, 5000.0], 20)
    new, _ = released(name, x, spikes="keep")
    np.testing.assert_array_equal(new, x)


def test_the_others_may_be_of_one_class():
    x = np.array([0.0] * 10 + list(range(10, 20)))
    y = np.array([0, 1] * 5 + [1] * 10)
    for method in (MDLP(min_count=3, spikes="keep"), ChiMerge(min_count=3, spikes="keep")):
        assert set(method.fit_transform(x.reshape(-1, 1), y).ravel()) == {0, 14.5}


def test_spikes_are_grouped_or_kept():
    with pytest.raises(BadInput, match="spikes must be one of 'group', 'keep', not 'drop'"):
        OMA(2, spikes="drop").fit([[1.0], [2.0]])


# In a recipe


STEPS = [
    {"method": "oma", "k": 5},
    {"method": "oma", "k": 5, "keep_ties": False},
    {"method": "oma", "k": 5, "encoding": "nearest"},
    {"method": "vmdav", "k": "freedman-diaconis"},
    {"method": "kmeans", "n_points": 4, "min_count": 5},
]


def persons():
    """Return persons with two incomes each, of which 0 is a spike."""
    return pa.table({"person": np.arange(200) // 2, "income": incomes()})


def protect(step, table, **more):
    recipe = {
        "roles": {"unit": "person", "confidential": ["income"]},
        "steps": [{"columns": ["income"], "spikes": "keep"} | step],
    }
    return discreet.protect(table, recipe, **more)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(map(str, step.values())))
@quietly
def test_a_release_with_spikes_is_verified(step, tmp_path):
    table = persons()
    release = protect(step, table)
    before, after = (t["income"].to_numpy() for t in (table, release.table))
    assert (after[before == 0] == 0).all()
    assert not release.check.having("broken")
    release.save(tmp_path / "out")
    report = discreet.check_release(
        tmp_path / "out" / "public" / "table.csv", release.recipe, tmp_path / "out" / "internal",
        table,
    )  # fmt: skip
    assert not report.having("broken")
    if not step.get("keep_ties", True):
        return
    other = protect(step, table, engine="duckdb")
    plans = [r.plan["steps"][0]["columns"]["income"] for r in (release, other)]
    assert plans[0].keys() == plans[1].keys()
    assert all(np.array_equal(plans[0][key], plans[1][key]) for key in plans[0])
    assert sorted(other.table.to_arrow_table()["income"].to_pylist()) == sorted(after)
    other.close()


def test_spikes_among_more_values_than_fit(monkeypatch):
    count_by_ranges(monkeypatch, 400)
    rng = np.random.default_rng(3)
    x = np.append(rng.lognormal(7, 1, 1500).round(2), [0.0] * 100 + [1200.0] * 400)
    recipe = {
        "roles": {"confidential": ["income"]},
        "steps": [{"method": "oma", "columns": ["income"], "k": 5, "spikes": "keep"}],
    }
    release = discreet.protect(pa.table({"income": x}), recipe, engine="duckdb")
    plan = release.plan["steps"][0]["columns"]["income"]
    assert plan["spikes"].tolist() == [0, 1200]
    one = discreet.protect(pa.table({"income": x}), recipe)
    for key in ("cuts", "points", "counts"):
        assert np.array_equal(one.plan["steps"][0]["columns"]["income"][key], plan[key])
    assert release.check.verified
    release.close()


def test_a_report_shows_spikes(tmp_path):
    release = protect({"method": "oma", "k": 5}, persons())
    release.save(tmp_path / "out")
    page = next((tmp_path / "out" / "internal").glob("*.html")).read_text("utf-8")
    assert "Rounding set of income" in page
