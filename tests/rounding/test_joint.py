"""Several columns together: groups of records, the points they get, and what is promised of them."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import discreet
from discreet.check import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation
from discreet.rounding import KMeans, Resampling

METHODS = {"kmeans": KMeans, "resampling": Resampling}


def made(name, n_points, **more):
    seed = {"random_state": 1} if name == "resampling" else {}
    return METHODS[name](n_points, joint=True, **seed, **more)


def skewed(n, columns=3, seed=0):
    return np.exp(np.random.default_rng(seed).normal(size=(n, columns)))


def z_scores(x):
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def squares(z, groups):
    return sum(((z[groups == g] - z[groups == g].mean(axis=0)) ** 2).sum() for g in set(groups))


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(METHODS)),
    st.integers(5, 60),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(0, 9),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore:there are")
def test_every_group_is_large_enough(name, n, c, least, seed, tied):
    x = skewed(n, 2, seed)
    x = np.ceil(x) if tied else x
    found = made(name, c, min_count=least).fit(x)
    sizes = np.bincount(found.groups_)
    assert sizes.min() >= least
    assert len(sizes) <= c
    assert found.group_sizes_["x0"].tolist() == sizes.tolist()


def test_there_are_as_many_groups_as_asked_for():
    x = skewed(300)
    for c, least in ((10, 5), (30, 10), (1, 300), (300, 1)):
        assert len(np.unique(KMeans(c, min_count=least, joint=True).fit(x).groups_)) == c


@pytest.mark.parametrize("representative", ["mean", "median", "midpoint"])
def test_kmeans_releases_what_stands_for_a_groups_records(representative):
    x = skewed(200)
    found = KMeans(12, min_count=5, joint=True, representative=representative)
    new = found.fit_transform(x)
    of = {
        "mean": lambda v: v.mean(axis=0),
        "median": lambda v: np.median(v, axis=0),
        "midpoint": lambda v: (v.min(axis=0) + v.max(axis=0)) / 2,
    }[representative]
    for g in range(12):
        rows = found.groups_ == g
        np.testing.assert_allclose(new[rows], np.tile(of(x[rows]), (rows.sum(), 1)), rtol=1e-12)
    spread = x.std(axis=0, ddof=1)
    lost = (((x - new) / spread) ** 2).sum() / (z_scores(x) ** 2).sum()
    assert found.loss_ == pytest.approx(100 * lost, rel=1e-12)


def test_without_a_least_size_groups_are_around_the_nearest_centre():
    x = np.random.default_rng(3).normal(size=(400, 2)) * [1, 1000]
    groups = KMeans(8, joint=True).fit(x).groups_
    z = z_scores(x)
    centres = np.array([z[groups == g].mean(axis=0) for g in range(8)])
    nearest = ((z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    # The search stops where a round gains next to nothing, so that a few records may yet change.
    assert (nearest != groups).mean() < 0.05


def test_the_best_of_all_groupings_of_few_records():
    x = np.array([[0, 0], [1, 1], [0, 1], [9, 9], [8, 9], [9, 8], [30, 0], [31, 1.0]])
    z = z_scores(x)
    groupings = [
        np.array(g)
        for g in itertools.product(range(3), repeat=8)
        if np.bincount(g, minlength=3).min() >= 2
    ]
    best = min(squares(z, g) for g in groupings)
    found = KMeans(3, min_count=2, joint=True).fit(x)
    assert squares(z, found.groups_) == pytest.approx(best)
    assert found.loss_ == pytest.approx(100 * best / (z**2).sum())


def test_a_group_that_is_too_small_takes_what_costs_least():
    # One far away: alone it would be a group, with the next two it is the cheapest one of three.
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 3.0, 4.0, 20.0])[:, None] * [1.0, 2.0]
    found = KMeans(2, min_count=3, joint=True).fit(x)
    assert found.groups_.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_it_loses_less_than_groups_of_equal_size():
    x = skewed(2000, 5)
    ours = KMeans(40, min_count=5, joint=True).fit(x)
    mdav = Microaggregation(k=50).fit(x)
    assert len(np.unique(ours.groups_)) == len(np.unique(mdav.groups_)) == 40
    assert ours.loss_ < 0.7 * mdav.loss_


def test_min_count_counts_units():
    rng = np.random.default_rng(5)
    x, units = skewed(240), rng.integers(0, 60, 240)
    for name in METHODS:
        groups = made(name, 10, min_count=6).fit(x, units=units).groups_
        assert min(len(set(units[groups == g])) for g in set(groups)) >= 6
    with pytest.raises(BadInput, match=r"^60 units are fewer than min_count = 61; lower it$"):
        made("kmeans", 2, min_count=61).fit(x, units=units)


@pytest.mark.parametrize("name", METHODS)
def test_records_share_a_group_within_one_pattern_of_nulls(name):
    x = skewed(200, 2)
    x[:40, 0] = np.nan
    x[40:42, 1] = np.nan
    x[42:50] = np.nan
    found = made(name, 10, min_count=5)
    with pytest.warns(UserWarning, match=r"2 because fewer than min_count = 5 share their pattern"):
        new = found.fit_transform(x)
    assert (found.groups_[40:50] == -1).all()
    assert np.isnan(new[40:50]).all()
    assert np.isnan(new[:40, 0]).all()
    assert not np.isnan(new[:40, 1]).any()
    assert not np.isnan(new[50:]).any()
    assert not set(found.groups_[:40]) & set(found.groups_[50:])
    # Ten groups by the records of each: 40 and 150.
    assert len(set(found.groups_[:40])) == 2
    assert len(set(found.groups_[50:])) <= 8


def test_resampled_points_are_near_the_parts_means():
    rng = np.random.default_rng(7)
    blobs = np.repeat([[0.0, 0.0], [50.0, 2.0], [0.0, 9.0], [50.0, 11.0]], 500, axis=0)
    x = blobs + rng.normal(size=blobs.shape) * [1.0, 0.1]
    found = Resampling(4, n_quantiles=4, min_count=3, joint=True, random_state=2)
    new = found.fit_transform(x)
    # Four parts of 500 are the four heaps: the means of their samples have the error s / sqrt(m),
    # and a point is the mean of 500 such means.
    for g in range(4):
        rows = slice(500 * g, 500 * (g + 1))
        assert len(np.unique(new[rows], axis=0)) == 1
        error = np.abs(new[500 * g] - x[rows].mean(axis=0))
        limit = 5 * x[rows].std(axis=0) / np.sqrt(500 * 500)
        assert (error < limit).all()
        assert (error > 0).all()
    again = clone(found).fit_transform(x)
    np.testing.assert_array_equal(new, again)
    assert not np.array_equal(new, clone(found).set_params(random_state=3).fit_transform(x))


def test_means_of_many_records_are_drawn_from_their_normal_limit():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(10_500, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]) + [5.0, 1e6]
    found = Resampling(1, n_quantiles=1, joint=True, random_state=0)
    with pytest.warns(UserWarning, match=r"^in 1 of 1 parts the means of samples of more than 10,"):
        new = found.fit_transform(x)
    assert len(np.unique(new, axis=0)) == 1
    # The mean of 2,000 means of 10,500.
    error = (new[0] - x.mean(axis=0)) / (x.std(axis=0) / np.sqrt(10_500 * 2000))
    assert (np.abs(error) < 5).all()


def test_numbers_far_from_zero_keep_their_spread():
    # Multiples of powers of two, which are exact there too.
    x = np.round(skewed(100, 2) * 64) / 64
    near = KMeans(5, min_count=4, joint=True).fit(x)
    far = KMeans(5, min_count=4, joint=True).fit(1e9 + x / 1024)
    assert far.groups_.tolist() == near.groups_.tolist()
    assert far.loss_ == pytest.approx(near.loss_, rel=1e-6)


@pytest.mark.parametrize("method", [KMeans, Resampling])
def test_the_order_of_rows_does_not_matter(method):
    x = skewed(120, 3)
    x[::7, 1] = np.nan
    x[::11, 0] = np.nan
    order = np.random.default_rng(1).permutation(len(x))
    first, again = (
        method(9, min_count=4, joint=True, random_state=3).fit_transform(rows)
        for rows in (x, x[order])
    )
    np.testing.assert_array_equal(first[order], again)


@pytest.mark.parametrize("name", METHODS)
def test_records_of_which_too_few_share_any_pattern_of_nulls_are_blanked(name):
    x = np.array([[1.0, np.nan], [2, np.nan], [np.nan, 3], [np.nan, 4], [5, 6], [7, 8]])
    method = METHODS[name](2, joint=True, min_count=3)
    with pytest.warns(UserWarning, match="6 records are blanked in these columns"):
        assert np.isnan(method.fit_transform(x)).all()
    assert (method.groups_ == -1).all()
    assert method.loss_ == pytest.approx(100)
    assert [len(held) for held in method.rounding_sets_.values()] == [0, 0]
    cells = [pa.array(column, from_pandas=True) for column in x.T]
    towns = pa.table([*cells, ["a", "b"] * 3], names=["age", "pay", "town"])
    release = discreet.protect(towns, recipe(name, n_points=2, min_count=3))
    assert release.table["age"].null_count == 6
    assert not release.check.having("broken")


def test_constant_columns_and_equal_records():
    x = np.column_stack([np.full(30, 7.0), np.repeat([1.0, 2.0, 4.0], 10)])
    with pytest.warns(
        UserWarning, match=r"^there are 3 groups, not 5: the other clusters ran empt"
    ):
        new = KMeans(5, joint=True).fit_transform(x)
    np.testing.assert_array_equal(new, x)
    assert KMeans(1, joint=True).fit(x[:, :1]).loss_ == 0.0


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (KMeans({"x0": 3}, joint=True), "joint = true makes groups of all columns together; give"),
        (KMeans("freedman-diaconis", joint=True), "joint = true makes groups of all columns"),
        (
            KMeans(3, joint=True, encoding="nearest"),
            "point; encoding = 'nearest' is for one column",
        ),
        (KMeans(3, joint=True, spikes="keep"), "point; spikes = 'keep' is for one column"),
        (
            KMeans(3, joint=True, representative="resampled-mean"),
            "does not know representative = 'resampled-mean'; use one of mean, median, midpoint",
        ),
        (KMeans(3, joint=True, solver="lloyd"), "start of its own; leave solver and objective out"),
        (KMeans(3, joint=True, objective="l1"), "start of its own; leave solver and objective out"),
        (Resampling(3, joint=True, centre="median"), "leave centre and discretizer out"),
        (Resampling(3, joint=True, discretizer="equal-width"), "leave centre and discretizer out"),
        (KMeans(3, joint=True, min_count=9), "6 records are fewer than min_count = 9; lower it"),
    ],
)
def test_what_sorted_values_alone_have_is_refused(method, said):
    with pytest.raises(BadInput, match=said):
        method.fit(skewed(6))


def test_new_rows_have_no_group():
    found = KMeans(2, joint=True).fit(skewed(6))
    with pytest.raises(BadInput, match="groups the rows that it is given; use fit_transform"):
        found.transform(skewed(6))


# In a recipe


def table(n=150):
    rng = np.random.default_rng(4)
    pay = np.exp(rng.normal(8, 1, n)).round(2)
    age = pa.array(rng.integers(18, 90, n), mask=rng.random(n) < 0.15)
    return pa.table({"age": age, "pay": pay, "town": ["A", "B"] * (n // 2)})


def recipe(name, **more):
    step = {"method": name, "columns": ["age", "pay"], "n_points": 10, "joint": True}
    roles = {"quasi": ["age"], "confidential": ["pay"], "insensitive": ["town"]}
    return {"roles": roles, "steps": [step | {"min_count": 4} | more]}


def checked(release):
    evidence = Evidence(release.plan, release.log, release.recipe)
    return check_release(release.table, release.recipe, evidence, release.original)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("representative", ["mean", "median", "midpoint"])
def test_a_release_promises_k_per_tuple(name, representative):
    release = discreet.protect(table(), recipe(name, representative=representative))
    said = [f for f in release.check.findings if "per tuple" in f.promise]
    assert [(f.promise, f.status) for f in said] == [("k = 4 per tuple of age, pay", "verified")]
    assert not release.check.having("broken")
    sizes = release.table.group_by(["age", "pay"]).aggregate([([], "count_all")])
    assert min(sizes["count_all"].to_pylist()) >= 4


@pytest.mark.parametrize("name", METHODS)
def test_a_forged_plan_is_found(name):
    wanted = "resampled" if name == "resampling" else "mean"
    for key, value, said in (
        ("representative", "resampled" if wanted == "mean" else "mean", "points from samples"),
        ("representative", "mode", "representative"),
        ("k", 3, "the plan's min_count in column 'age' is 3, the recipe's 4"),
    ):
        release = discreet.protect(table(), recipe(name))
        assert release.plan["steps"][0]["joint"]["representative"] == wanted
        release.plan["steps"][0]["joint"][key] = value
        assert said in str(checked(release))
    release = discreet.protect(table(), recipe(name))
    centres = release.plan["steps"][0]["columns"]["pay"]["centres"]
    centres[2] += 1e6
    column = "is not among its values" if name == "resampling" else "is not its mean"
    assert f"the centre of group 2 of column 'pay' {column}" in str(checked(release))


def test_more_groups_than_asked_for_are_found():
    release = discreet.protect(table(), recipe("kmeans"))
    steps = [release.recipe.steps[0].model_copy(update={"n_points": 9})]
    other = release.recipe.model_copy(update={"steps": steps})
    evidence = Evidence(release.plan, release.log, other)
    report = check_release(release.table, other, evidence, release.original)
    assert "the plan's n_points kept in column 'age' is False, the recipe's True" in str(report)


def test_a_point_of_one_record_is_refused_where_min_count_is_not_stated():
    asked = recipe("kmeans", n_points=140)
    del asked["steps"][0]["min_count"]
    with pytest.raises(
        BadInput, match=r"^step 1 \(kmeans\): a point of columns 'age', 'pay' stands for 1 record; "
    ):
        discreet.protect(table(), asked)


def test_an_engine_refuses_it():
    with pytest.raises(
        BadInput,
        match=r"^step 1 \(kmeans\) cannot run on duckdb: joint = true looks at the rows "
        r"themselves; use --engine memory$",
    ):
        discreet.protect(table(), recipe("kmeans"), engine="duckdb")
