"""What holds for all rounding methods: summaries, encodings, sizes, errors, and the release."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.check.evidence import Evidence
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
from discreet.rounding._sizes import freedman_diaconis
from discreet.table import Summary, summarise
from tests.counted import CountedTable, draws_of

METHODS = {
    "base": lambda **p: BaseRounding(0.5, **p),
    "base-attraction": lambda **p: BaseRounding(min_attraction=2, **p),
    "equal-width": lambda **p: EqualWidth(3, **p),
    "equal-frequency": lambda **p: EqualFrequency(3, **p),
    "kmeans": lambda **p: KMeans(3, **p),
    "kmeans-l1": lambda **p: KMeans(3, objective="l1", **p),
    "kmeans-lloyd": lambda **p: KMeans(3, solver="lloyd", **p),
    "resampling": lambda **p: Resampling(3, n_quantiles=2, **p),
    "resampling-median": lambda **p: Resampling(3, n_quantiles=2, centre="median", **p),
    "mdav": lambda **p: MDAV(2, **p),
    "mdav-split": lambda **p: MDAV(2, keep_ties=False, **p),
    "vmdav": lambda **p: VMDAV(2, **p),
    "vmdav-split": lambda **p: VMDAV(2, keep_ties=False, **p),
    "oma": lambda **p: OMA(2, **p),
    "oma-split": lambda **p: OMA(2, keep_ties=False, **p),
    "mdlp": lambda **p: MDLP(**p),
    "chimerge": lambda **p: ChiMerge(**p),
}
GROUPS = {"mdav": MDAV, "vmdav": VMDAV, "oma": OMA}
COUNTS = {"equal-width": EqualWidth, "equal-frequency": EqualFrequency, "kmeans": KMeans,
          "resampling": Resampling}  # fmt: skip
every_method = pytest.mark.parametrize("name", METHODS)
group_methods = pytest.mark.parametrize("method", GROUPS.values(), ids=GROUPS)
point_methods = pytest.mark.parametrize("method", COUNTS.values(), ids=COUNTS)
supervised = pytest.mark.parametrize("method", [MDLP, ChiMerge])
quietly = pytest.mark.filterwarnings("ignore::UserWarning")

cells = st.one_of(
    st.integers(-5, 5).map(float), st.floats(-1e3, 1e3), st.just(float("nan")), st.just(-0.0)
)
rows = st.lists(st.tuples(cells, st.integers(0, 2)), min_size=4, max_size=25).filter(
    lambda rows: (
        sum(x == x for x, _ in rows) >= 2 and len({label for x, label in rows if x == x}) > 1
    )
)


def same(plan, other):
    assert plan.keys() == other.keys()
    for key, value in plan.items():
        if isinstance(value, dict):
            same(value, other[key])
        else:
            assert np.array_equal(value, other[key]), key


@every_method
@given(rows=rows)
@quietly
def test_summaries_and_rows_give_the_same_plan(name, rows):
    x, y = np.array([x for x, _ in rows]), np.array([label for _, label in rows])
    method = METHODS[name](random_state=1)
    plan = method.fit(x.reshape(-1, 1), y).plan_["x0"]
    again = METHODS[name](random_state=1)
    again.fit_transform(x.reshape(-1, 1), y)
    same(plan, again.plan_["x0"])
    # A summary as an engine would count it: from the rows in another order.
    values, counts = np.unique(x[~np.isnan(x)] + 0.0, return_counts=True)
    table = np.zeros((len(values), 3), np.int32)
    for cell, label in rows:
        if cell == cell:
            table[np.searchsorted(values, cell), label] += 1
    table = table[:, : y.max() + 1]
    same(plan, method.decide(Summary(values, counts, 0, table), "x0"))


@every_method
@given(rows=rows)
@quietly
def test_counts_are_those_of_the_rows_and_nulls_stay(name, rows):
    x, y = np.array([x for x, _ in rows]), np.array([label for _, label in rows])
    method = METHODS[name](random_state=1)
    out = method.fit_transform(x.reshape(-1, 1), y).ravel()
    assert (np.isnan(out) == np.isnan(x)).all()
    plan = method.plan_["x0"]
    found, counts = np.unique(out[~np.isnan(out)], return_counts=True)
    points, position = np.unique(plan["points"], return_inverse=True)
    assert found.tolist() == points.tolist()
    assert counts.tolist() == np.bincount(position, plan["counts"]).tolist()
    if "split" not in name:
        np.testing.assert_array_equal(method.transform(x.reshape(-1, 1)).ravel(), out)


@every_method
def test_stochastic_encoding_is_unbiased(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1)) * 3
    y = (x.ravel() > 0).astype(int)
    method = METHODS[name](encoding="stochastic", random_state=0).fit(x, y)
    points, n = method.rounding_sets_["x0"], 40_000
    assert len(points) > 1
    for value in np.linspace(points[0], points[-1], 7):
        out = method.transform(np.full((n, 1), value)).ravel()
        assert len(set(out)) <= 2
        low, high = out.min(), out.max()
        # Five standard errors of a two-point distribution; none where the value is a point.
        error = np.sqrt(max(0.0, (value - low) * (high - value)) / n)
        assert abs(out.mean() - value) <= 5 * error + 1e-9


@every_method
def test_nearest_encoding_takes_the_closest_point(name):
    x = np.random.default_rng(1).normal(size=(60, 1))
    y = (x.ravel() > 0).astype(int)
    method = METHODS[name](encoding="nearest", random_state=0)
    out = method.fit_transform(x, y).ravel()
    points = method.rounding_sets_["x0"]
    assert (np.abs(out - x.ravel()) <= np.abs(x - points).min(axis=1) + 1e-15).all()
    assert method.effect == "perturbs"
    assert method.promise is None


@pytest.mark.parametrize("name", [n for n in METHODS if not n.startswith(("base", "resampling"))])
@pytest.mark.parametrize("representative", ["mean", "median", "midpoint"])
def test_points_are_the_representatives_of_their_parts(name, representative):
    x = np.random.default_rng(2).lognormal(size=(80, 1)).round(1)
    y = (x.ravel() > 1).astype(int)
    method = METHODS[name](representative=representative, random_state=0).fit(x, y)
    centre = {"mean": np.mean, "median": np.median, "midpoint": lambda g: (g.min() + g.max()) / 2}
    parts = np.split(np.sort(x.ravel()), np.cumsum(method.group_sizes_["x0"])[:-1])
    expected = [centre[representative](part) for part in parts]
    np.testing.assert_allclose(method.plan_["x0"]["points"], expected, rtol=1e-12)


REPRESENTED = [name for name in METHODS if not name.startswith("base")]


@pytest.mark.parametrize("name", [n for n in REPRESENTED if not n.startswith("resampling")])
def test_a_resampled_mean_is_drawn_about_the_mean_of_its_part(name):
    x = np.random.default_rng(2).lognormal(size=(300, 1)).round(2)
    y = (x.ravel() > 1).astype(int)
    drawn = METHODS[name](representative="resampled-mean", random_state=0)
    plain = METHODS[name](random_state=0).fit(x, y).plan_["x0"]
    assert drawn.is_random
    assert not drawn.draws_by_row
    plan = drawn.fit(x, y).plan_["x0"]
    assert plan["counts"].tolist() == plain["counts"].tolist()
    assert plan["representative"] == "resampled-mean"
    assert "representative" not in plain
    parts = np.split(np.sort(x.ravel()), np.cumsum(plan["counts"])[:-1])
    low, high, deviation = (np.array([f(p) for p in parts]) for f in (np.min, np.max, np.std))
    # The mean of m means of m values has standard error s / m; five of them, and one ulp or two.
    error = deviation / plan["counts"]
    assert (np.abs(plan["points"] - plain["points"]) <= 5 * error + 1e-12).all()
    assert ((low - 1e-12 <= plan["points"]) & (plan["points"] <= high + 1e-12)).all()
    assert (np.abs(plan["points"] - plain["points"]) > 0)[error > 0].mean() > 0.5
    other = METHODS[name](representative="resampled-mean", random_state=1).fit(x, y).plan_["x0"]
    if "lloyd" not in name:
        assert (other["points"] != plan["points"]).any()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    "step",
    [
        {"method": "oma", "k": 5},
        {"method": "mdav", "k": 4, "keep_ties": True, "spikes": "keep"},
        {"method": "equal-width", "n_points": 5, "min_count": 3},
        {"method": "equal-frequency", "n_points": 5, "min_count": 3},
        {"method": "resampling", "n_points": 5, "min_count": 3, "n_quantiles": 4},
    ],
    ids=lambda step: step["method"],
)
@quietly
def test_a_release_of_resampled_means_is_verified(step, engine, tmp_path):
    x = np.random.default_rng(3).lognormal(3, 1, 200).round(2)
    x[:30] = 5.0
    step = {"columns": ["x"], "representative": "resampled-mean", **step}
    recipe = {"seed": 2**90, "roles": {"confidential": ["x"]}, "steps": [step]}
    releases = [discreet.protect(pa.table({"x": x}), recipe, e) for e in (engine, "memory")]
    assert releases[0].check.verified
    one, other = (release.plan["steps"][0]["columns"]["x"] for release in releases)
    assert one["points"].tolist() == other["points"].tolist()
    last = releases[1]
    evidence = Evidence(last.plan, last.log, last.recipe)
    steps = [last.recipe.steps[0].model_copy(update={"representative": "mean"})]
    recipe = last.recipe.model_copy(update={"steps": steps})
    report = discreet.check_release(last.table, recipe, evidence)
    said = "the plan's drawing of points in column 'x' is True, the recipe's False"
    assert [f.detail for f in report.having("broken") if "drawing" in f.detail] == [said]
    for release in releases:
        release.close()


# Sizes


@point_methods
@quietly
@given(values=st.lists(st.integers(-9, 9), min_size=5, max_size=30), least=st.integers(1, 5))
def test_small_parts_are_merged_up_to_min_count(method, values, least):
    x = np.array(values, dtype=float).reshape(-1, 1)
    sizes = method(5, min_count=least, random_state=0).fit(x).group_sizes_["x0"]
    assert sizes.min() >= least
    assert sizes.sum() == len(values)


def test_a_small_part_joins_the_neighbour_whose_point_is_nearest():
    # Means 1, 5 and 10.5; the single 5 is nearer to 1.
    x = np.array([[0.0], [1.0], [2.0], [5.0], [10.0], [11.0]])
    method = KMeans(3, min_count=2).fit(x)
    assert method.plan_["x0"]["points"].tolist() == [2.0, 10.5]
    # The smallest part goes first: 9 joins 5, and then neither is small.
    x = np.array([[0.0], [0.0], [0.0], [5.0], [5.0], [9.0], [20.0], [20.0], [20.0]])
    method = KMeans(4, min_count=3).fit(x)
    assert method.group_sizes_["x0"].tolist() == [3, 3, 3]


@point_methods
def test_min_count_above_the_number_of_values_is_refused(method):
    with pytest.raises(BadInput, match=r"column 'x0' has 2 values .* fewer than min_count = 3"):
        method(1, min_count=3).fit([[1.0], [2.0]])


def test_freedman_diaconis_by_hand():
    # IQR 49.5 (type 7), width 2 * 49.5 / 100^(1/3) = 21.33, 99 / width = 4.64: 5 points, k = 20.
    x = np.arange(100.0).reshape(-1, 1)
    assert EqualWidth("freedman-diaconis").fit(x).n_points_ == {"x0": 5}
    oma = OMA({"x0": "freedman-diaconis"}).fit(x)
    assert oma.plan_["x0"]["k"] == 20
    assert oma.group_sizes_["x0"].min() >= 20


def test_freedman_diaconis_on_a_heavy_tail_stays_at_three_records():
    x = np.append(np.arange(30.0), 1e6).reshape(-1, 1)
    with pytest.warns(UserWarning, match="the Freedman-Diaconis rule gives k = 0; k = 3 is used"):
        assert OMA("freedman-diaconis").fit(x).plan_["x0"]["k"] == 3
    with pytest.warns(UserWarning, match="gives .* points for 31 values; 10 are used"):
        EqualFrequency("freedman-diaconis").fit(x)


def test_freedman_diaconis_without_spread_falls_back():
    x = np.array([[5.0]] * 20 + [[1.0], [2.0], [9.0], [10.0]])
    with pytest.warns(UserWarning, match="'x0' has interquartile range 0: Scott's rule"):
        EqualWidth("freedman-diaconis").fit(x)
    with pytest.warns(UserWarning, match="column 'x0' is constant: it gets one group"):
        assert OMA("freedman-diaconis").fit([[5.0]] * 9).n_points_ == {"x0": 1}


@pytest.mark.parametrize("tail", [1e-200, 5e-324, 1e300])
def test_scotts_rule_does_not_underflow(tail):
    # Deviation 0.302 of the range: 11^(1/3) / (3.49 * 0.302) = 2.11, so 3 classes and k = 3.
    x = np.array([0.0] * 10 + [tail]).reshape(-1, 1)
    with pytest.warns(UserWarning, match="'x0' has interquartile range 0: Scott's rule"):
        assert OMA("freedman-diaconis").fit(x).plan_["x0"]["k"] == 3


def test_freedman_diaconis_on_extreme_ranges():
    x = np.array([0.0] * 4 + [1e-323] * 7 + [1e9]).reshape(-1, 1)
    with pytest.warns(UserWarning, match="'x0' has interquartile range .*e-32.: Scott's rule"):
        assert OMA("freedman-diaconis").fit(x).plan_["x0"]["k"] == 4
    far = summarise(np.array([-1.7e308, 0.0, 1.7e308]))
    with pytest.warns(UserWarning, match="'x' has a range beyond .* float64 .* one group"):
        assert freedman_diaconis(far, "x") == 1


@pytest.mark.parametrize("name", [name for name in METHODS if not name.startswith("base")])
@quietly
def test_values_whose_sum_float64_does_not_hold(name):
    x = np.linspace(-1.0, 1.0, 40).reshape(-1, 1)
    y = np.repeat([0, 1], 20)
    small, large = (METHODS[name](random_state=1) for _ in range(2))
    small.fit(1e300 * x, y)
    with pytest.raises(BadInput, match=r"the values of column 'x0' are too far apart to compute"):
        large.fit(1.7e308 * x, y)


class InRanges(CountedTable):
    """What an engine tells of a column whose values do not fit: summaries of 800 after 800."""

    def ranges(self, column):
        values = self.table[column].to_numpy()
        return (summarise(values[i : i + 800]) for i in range(0, len(values), 800))


def test_ranges_of_values_draw_their_points_apart():
    x = np.arange(3200.0)
    method = OMA(8, representative="resampled-mean")
    plan = method.decide_from(["x"], InRanges(pa.table({"x": x})), draws_of()).plans["x"]
    assert (plan["counts"] == 8).all()
    # All groups are alike: by the same draws, the points of two ranges would be off by the same.
    off = plan["points"] - x.reshape(-1, 8).mean(axis=1)
    assert max(np.mean(off[lag:] == off[:-lag]) for lag in range(1, 300)) < 0.1


@pytest.mark.parametrize("c", [10**9, 10**400], ids=["1e9", "1e400"])
def test_no_memory_is_taken_for_empty_parts(c):
    x = np.array([[0.0], [1.0], [1.0], [7.0]])
    for method in (
        *(method(c) for method in (EqualWidth, EqualFrequency, KMeans)),
        *(Resampling(c, discretizer=how) for how in ("equal-width", "equal-frequency", "kmeans")),
    ):
        with pytest.warns(UserWarning, match="gets . points, not 1000.*: it has only 3 distinct"):
            assert method.fit(x).n_points_["x0"] <= 3
    assert Resampling(3, n_quantiles=c).fit(x).n_points_ == {"x0": 3}


def test_sizes_by_column():
    frame = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0) ** 2})
    method = MDAV({"a": 10, "b": "freedman-diaconis"}).fit(frame)
    assert method.plan_["a"]["k"] == 10
    with pytest.raises(BadInput, match="n_points is given by column, but not for column 'b'"):
        KMeans({"a": 2}).fit(frame)
    for method, name in ((MDAV, "k"), (KMeans, "n_points")):
        size = {"a": 2, "b": 2, "zz": 4}
        for fit in (method(size).fit, method(size).fit_transform):
            with pytest.raises(
                BadInput, match=f"{name} is given for column 'zz', but there is none"
            ):
                fit(frame)


# Errors, each in one sentence


@group_methods
def test_fewer_values_than_k(method):
    with pytest.raises(BadInput, match=r"column 'x0' has 3 values .* fewer than k = 4"):
        method(4).fit([[1.0], [2.0], [np.nan], [3.0]])


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "sturges"])
def test_sizes_that_are_none(size):
    for method, name in [*((m, "k") for m in GROUPS.values()),
                         *((m, "n_points") for m in COUNTS.values())]:  # fmt: skip
        with pytest.raises(BadInput, match=f"{name} must be a whole number of at least 1, not "):
            method(size).fit([[1.0], [2.0]])


@group_methods
def test_keep_ties_is_true_or_false(method):
    with pytest.raises(BadInput, match="keep_ties must be True or False, not 'no'"):
        method(2, keep_ties="no").fit([[1.0], [2.0]])


@point_methods
def test_more_points_than_distinct_values(method):
    x = [[1.0], [1.0], [2.0], [2.0], [7.0], [7.0]] * 3
    with pytest.warns(UserWarning, match="column 'x0' gets 3 points, not 50: it has only 3 "):
        fitted = method(50, random_state=0).fit(x)
    assert fitted.n_points_["x0"] == 3


@every_method
def test_a_constant_column_gets_one_point_and_is_told(name):
    with pytest.warns(UserWarning, match="column 'x0' is constant: it gets one point"):
        out = METHODS[name](random_state=0).fit_transform([[4.0]] * 6, [0, 1] * 3)
    assert set(out.ravel()) == {4.0}


@every_method
def test_infinity(name):
    with pytest.raises(ValueError, match="infinity"):
        METHODS[name]().fit([[1.0], [np.inf], [2.0]], [0, 1, 0])


@supervised
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1], "y has 2 classes for 4 rows; give one for each row"),
        ([1, 1, 1, 1], "y holds one class only; .* needs two or more"),
        ([0.5, 1.0, 2.0, 2.5], "y is continuous, but .* needs classes"),
        (["a", None, "b", "a"], "y has missing values"),
    ],
)
def test_classes_that_cannot_be_used(method, y, message):
    y = y if y is None else np.array(y, dtype=object if None in y else None)
    for fit in (method().fit, method().fit_transform):
        with pytest.raises(BadInput, match=message):
            fit([[1.0], [2.0], [3.0], [4.0]], y)


@supervised
def test_one_class_among_the_values(method):
    with pytest.raises(BadInput, match="with a value in column 'x0' are all of one class"):
        method().fit([[1.0], [2.0], [np.nan]], ["a", "a", "b"])
    with pytest.raises(BadInput, match="needs the classes of column 'x'"):
        method().decide(summarise(np.array([1.0, 2.0])), "x")


@supervised
def test_too_many_classes(method):
    with pytest.raises(BadInput, match="the target has 1,500 classes"):
        method().fit(np.arange(1500.0).reshape(-1, 1), np.arange(1500))


# In a recipe


def protect(step, x, **roles):
    table = pa.table({"x": x} | {"y": (np.asarray(x) > 50).tolist()} if roles else {"x": x})
    recipe = {"roles": {"confidential": ["x"]} | roles, "steps": [{"columns": ["x"]} | step]}
    return discreet.protect(table, recipe)


STEPS = [
    {"method": "base", "base": 2.5},
    {"method": "base", "base": 10, "encoding": "stochastic"},
    {"method": "base", "min_attraction": 4},
    {"method": "equal-width", "n_points": 6, "min_count": 3},
    {"method": "equal-frequency", "n_points": "freedman-diaconis", "min_count": 3},
    {"method": "kmeans", "n_points": {"x": 5}, "min_count": 4},
    {"method": "kmeans", "n_points": 5, "solver": "lloyd", "min_count": 3, "encoding": "nearest"},
    {"method": "resampling", "n_points": 4, "min_count": 3},
    {"method": "mdav", "k": 4},
    {"method": "vmdav", "k": "freedman-diaconis"},
    {"method": "oma", "k": {"x": "freedman-diaconis"}, "precision": "full"},
    {"method": "mdav", "k": 4, "keep_ties": False, "encoding": "group"},
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join(map(str, step.values())))
@quietly
def test_a_release_is_verified_and_can_be_checked_from_its_folder(step, tmp_path):
    x = np.random.default_rng(3).lognormal(3, 1, 200).round(1)
    release = protect(step, x)
    assert not release.check.having("broken")
    assert not [f for f in release.check.findings if "per value" in f.promise
                and f.status != "verified"]  # fmt: skip
    release.save(tmp_path / "out")
    report = discreet.check_release(
        tmp_path / "out" / "public" / "table.csv", release.recipe, tmp_path / "out" / "internal",
        pa.table({"x": x}),
    )  # fmt: skip
    assert report.verified
    # Multiples of a base may stand for one record, where no least number is promised.
    alone = step["method"] == "base" and "min_attraction" not in step
    assert len(report.having("weak")) == alone


@pytest.mark.parametrize("name", ["mdlp", "chimerge"])
def test_supervised_steps_aim_at_the_target(name, tmp_path):
    x = np.arange(100.0)
    release = protect({"method": name}, x, target="y")
    assert release.table.column_names == ["x"]
    assert release.table["x"].to_pylist() == [25.0] * 51 + [75.0] * 49
    assert release.check.ok
    with pytest.raises(
        BadInput, match=rf"step 1 \({name}\) needs classes: give their column the role target"
    ):
        protect({"method": name}, x)
    with pytest.raises(BadInput, match=rf"step 1 \({name}\) treats 'x', the target it aims at"):
        protect({"method": name}, x, target="x", rest="drop")
    with pytest.raises(BadInput, match="the target 'y' holds one class only"):
        protect({"method": name}, x - 100, target="y")


def test_a_point_of_one_record_is_refused_unless_the_step_states_min_count():
    x = [*range(20), 1000]
    step = {"method": "equal-width", "n_points": 2}
    message = r"step 1 \(equal-width\): a point of column 'x' stands for 1 record; set min_count"
    with pytest.raises(BadInput, match=message):
        protect(step, x)
    assert protect(step | {"min_count": 1}, x).table["x"].to_pylist()[-1] == 1000
    assert len(set(protect(step | {"min_count": 3}, x).table["x"].to_pylist())) == 1


def test_k_by_a_rule_needs_the_plan_to_be_verified():
    step = {"method": "oma", "k": "freedman-diaconis"}
    release = protect(step, np.arange(100.0))
    (finding,) = [f for f in release.check.findings if "per value" in f.promise]
    assert (finding.promise, finding.status) == ("k = 20 per value in column 'x'", "verified")
    report = discreet.check_release(release.table, release.recipe)
    (finding,) = [f for f in report.findings if "per value" in f.promise]
    assert (finding.promise, finding.status) == (
        "k per value in column 'x', k by the rule freedman-diaconis",
        "not verifiable",
    )


def test_a_broken_min_count_is_found():
    recipe = {
        "roles": {"confidential": ["x"]},
        "steps": [{"method": "kmeans", "columns": ["x"], "n_points": 2, "min_count": 3}],
    }
    report = discreet.check_release(pa.table({"x": [1, 1, 1, 5, 5]}), recipe)
    (finding,) = report.having("broken")
    assert finding.promise == "k = 3 per value in column 'x'"
