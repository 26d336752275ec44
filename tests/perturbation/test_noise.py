import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

import discreet
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.perturbation import Noise

KINDS = ["additive", "correlated", "multiplicative", "logarithmic", "correlated-logarithmic"]
kinds = pytest.mark.parametrize("kind", KINDS)
tables = arrays(
    np.float64,
    st.tuples(st.integers(3, 12), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
)


def correlated_columns(n, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return np.column_stack(
        [
            common + 0.5 * rng.normal(size=n),
            10 * common + 3 * rng.normal(size=n),
            rng.normal(size=n),
        ]
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(table=tables, scale=st.floats(0.01, 2), seed=st.integers(0, 2**32))
def test_each_value_is_moved_by_its_own_draw(table, scale, seed):
    normals = np.column_stack(
        [Draws(seed, f"x{i}").normal(np.arange(len(table))) for i in range(table.shape[1])]
    )
    found = Noise("additive", scale, random_state=seed).fit_transform(table)
    sd = table.std(axis=0, ddof=1)
    np.testing.assert_allclose(found, table + scale * sd * normals, rtol=1e-12, atol=1e-6)
    found = Noise("multiplicative", scale, random_state=seed).fit_transform(table)
    np.testing.assert_allclose(found, table * (1 + scale * normals), rtol=1e-12)
    found = Noise("logarithmic", scale, random_state=seed).fit_transform(table)
    there = table != 0
    logs = np.log(np.abs(table[there])) + scale * normals[there]
    np.testing.assert_allclose(found[there], np.sign(table[there]) * np.exp(logs), rtol=1e-9)
    assert (found[~there] == 0).all()


@kinds
def test_nulls_stay_and_other_cells_do_not_notice_them(kind):
    x = correlated_columns(50)
    whole = Noise(kind, random_state=1).fit(x)
    holes = x.copy()
    holes[3, 0] = holes[7, :] = np.nan
    out = whole.transform(holes)
    assert (np.isnan(out) == np.isnan(holes)).all()
    present = ~np.isnan(holes)
    assert (out[present] == whole.transform(x)[present]).all()


def test_correlated_noise_has_the_datas_covariance():
    x, scale, n = correlated_columns(40_000), 0.5, 40_000
    method = Noise("correlated", scale, random_state=5).fit(x)
    weights = np.array([list(p["weights"].values()) for p in method.plan_.values()])
    # The covariance that the plan gives the noise is exactly that of the data, scaled.
    np.testing.assert_allclose(weights @ weights.T, scale**2 * np.cov(x.T), rtol=1e-10, atol=1e-10)
    noise = method.transform(x) - x
    # A covariance of n draws is off by at most sqrt(2 / n) of the two variances; five times that.
    sds = scale * x.std(axis=0, ddof=1)
    assert (
        np.abs(np.cov(noise.T) - weights @ weights.T) < 5 * np.sqrt(2 / n) * np.outer(sds, sds)
    ).all()
    # So correlations stay, which additive noise of the same size divides by 1.25.
    kept = np.corrcoef(method.transform(x).T)[0, 1]
    lost = np.corrcoef(Noise("additive", scale, random_state=5).fit_transform(x).T)[0, 1]
    before = np.corrcoef(x.T)[0, 1]
    assert kept == pytest.approx(before, abs=0.02)
    assert lost == pytest.approx(before / 1.25, abs=0.02)


def test_noise_on_logarithms_has_the_correlations_of_ranks():
    x = np.exp(correlated_columns(20_000))
    x[:50, 0], x[50:90, 1] = 0, np.nan
    scales = {"x0": 0.5, "x1": 0.2, "x2": 0.3}
    method = Noise("correlated-logarithmic", scales, random_state=5).fit(x)
    weights = np.array([list(p["weights"].values()) for p in method.plan_.values()])
    # Ranks are those of all values, which the few holes hardly change.
    wanted = spearmanr(x[~np.isnan(x[:, 1])]).statistic
    sizes = np.array(list(scales.values()))
    np.testing.assert_allclose(weights @ weights.T, wanted * np.outer(sizes, sizes), atol=1e-5)
    logs = np.log(method.transform(x)[90:] / x[90:])
    np.testing.assert_allclose(np.cov(logs.T), weights @ weights.T, atol=5e-3)
    assert (method.transform(x)[:50, 0] == 0).all()


def test_correlations_come_from_complete_rows_and_sds_from_each_column():
    x = correlated_columns(200)
    x[:80, 2] = np.nan
    plan = Noise("correlated", 0.3, random_state=0).fit(x).plan_
    weights = np.array([list(p["weights"].values()) for p in plan.values()])
    sds = np.nanstd(x, axis=0, ddof=1)
    wanted = 0.09 * np.outer(sds, sds) * np.corrcoef(x[80:].T)
    np.testing.assert_allclose(weights @ weights.T, wanted, rtol=1e-9, atol=1e-9)


def test_columns_that_depend_on_each_other_get_noise_that_does():
    x = np.random.default_rng(1).normal(size=(500, 1)) * [1, -2, 0.5]
    noise = Noise("correlated", 0.2, random_state=2).fit_transform(x) - x
    np.testing.assert_allclose(noise, noise[:, :1] * [1, -2, 0.5], atol=1e-6)


@pytest.mark.parametrize("kind", ["additive", "correlated"])
def test_far_from_zero_and_close_together(kind):
    rng = np.random.default_rng(3)
    near = 1e-3 * rng.normal(size=(5000, 2))
    plan = Noise(kind, 0.1, random_state=0).fit(1e9 + near).plan_
    # Values near 1e9 are 1.2e-7 apart, which moves each by 6e-8 at most.
    for i, column in enumerate(plan.values()):
        assert column["sd"] == pytest.approx(near[:, i].std(ddof=1), rel=1e-3)
    assert Noise(kind).fit([[-1e300], [1e300]]).plan_["x0"]["sd"] == pytest.approx(
        np.sqrt(2) * 1e300
    )


def test_a_scale_for_each_column():
    table = pa.table({"a": [1.0, 2.0, 4.0], "b": [10.0, 30.0, 20.0]})
    plan = Noise("additive", {"a": 0.1, "b": 0.5}).fit(table).plan_
    assert plan["a"] == {
        "kind": "noise",
        "noise": "additive",
        "scale": 0.1,
        "sd": pytest.approx(1.527525),
    }
    assert plan["b"]["scale"] == 0.5


def test_new_rows_get_noise_of_the_same_size():
    method = Noise("additive", 0.1, random_state=4).fit([[0.0], [10.0], [20.0]])
    new = np.full((20_000, 1), 1000.0)
    noise = method.transform(new) - new
    assert noise.std() == pytest.approx(1.0, abs=5 / np.sqrt(2 * 20_000))


@pytest.mark.parametrize("kind", ["additive", "correlated"])
def test_a_constant_column_is_told_and_stays(kind):
    x = np.column_stack([np.full(5, 7.0), np.arange(5.0)])
    with pytest.warns(UserWarning, match="column 'x0' is constant: it gets no noise"):
        out = Noise(kind, random_state=0).fit_transform(x)
    assert (out[:, 0] == 7).all()
    assert (out[:, 1] != np.arange(5)).all()


@kinds
def test_any_number_of_threads_gives_the_same(kind, monkeypatch):
    x = correlated_columns(100_000)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr("discreet.threads.cores", lambda cores=cores: cores)
        found.append(Noise(kind, random_state=6).fit_transform(x))
    assert (found[0] == found[1]).all()


def test_negative_zero_does_not_come_out():
    out = Noise("multiplicative", random_state=0).fit_transform([[-0.0], [1.0]])
    assert not np.signbit(out[0, 0])


def protect(cells, **step):
    recipe = {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": "noise", "columns": ["a"], **step}],
    }
    return discreet.protect(pa.table({"a": cells}), recipe)


@pytest.mark.parametrize("kind", ["multiplicative", "logarithmic"])
def test_zeros_that_get_no_noise_are_not_blamed_on_rounding(kind):
    wages = [0.0] * 80 + [1000.5 + i for i in range(20)]
    release = protect(wages, kind=kind, scale=0.5)
    assert release.log["warnings"] == [
        f"step 1 (noise): column 'a': 80% of the values are 0, which {kind} noise leaves as they "
        'are; to change them, set kind = "additive"'
    ]
    # Of the others rounding takes the noise away.
    release = protect([0] * 40 + [1, 2] * 30, kind=kind, scale=0.01)
    assert release.log["warnings"][0] == (
        "step 1 (noise): column 'a': 100% of the values other than 0 are as they were; where "
        "rounding to the input's decimals took their noise away, raise scale or set "
        'precision = "full"'
    )


def test_nothing_is_told_of_a_few_zeros():
    wages = [0.0] * 20 + [1000.5 + i for i in range(80)]
    assert protect(wages, kind="multiplicative", scale=0.5).log["warnings"] == []


def test_rounding_that_takes_the_noise_away_is_told():
    release = protect([0, 1] * 50, scale=0.1)
    assert release.log["warnings"] == [
        "step 1 (noise): column 'a': 100% of the values are as they were; where rounding to the "
        'input\'s decimals took their noise away, raise scale or set precision = "full"',
        "weak: step 1 (noise) changed no cell of 'a': take other parameters, or another method",
    ]
    assert protect([0, 1] * 50, scale=0.1, precision="full").log["warnings"] == []
    assert protect([3, 3, 3]).log["warnings"] == [
        "step 1 (noise): column 'a' is constant: it gets no noise",
        "weak: step 1 (noise) changed no cell of 'a': take other parameters, or another method",
    ]


def test_dates_move_by_days_but_are_not_multiplied():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=100 * i) for i in range(10)]
    moved = protect(days, scale=0.5).table["a"].to_pylist()
    assert all(isinstance(day, dt.date) for day in moved)
    assert moved != days
    for kind in ("multiplicative", "logarithmic", "correlated-logarithmic"):
        with pytest.raises(BadInput, match="takes plain numbers, but column 'a' holds date32"):
            protect(days, kind=kind)


@kinds
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(table=tables, scale=st.floats(0.01, 2), seed=st.integers(0, 2**32))
def test_matched_ranks_are_those_of_the_noisy_values(kind, table, scale, seed):
    table[0, 0] = np.nan
    noisy = Noise(kind, scale, random_state=seed).fit_transform(table)
    found = Noise(kind, scale, match_ranks=True, random_state=seed).fit_transform(table)
    for x, moved, new in zip(table.T, noisy.T, found.T, strict=True):
        rows = [row for row in range(len(x)) if not np.isnan(x[row])]
        by_noise = sorted(rows, key=lambda row: (moved[row], row))
        wanted = dict(zip(by_noise, sorted(x[rows]), strict=True))
        assert [new[row] for row in rows] == [wanted[row] for row in rows]
        assert np.isnan(new[np.isnan(x)]).all()


def test_new_rows_are_matched_among_themselves():
    x = correlated_columns(60)
    method = Noise("additive", 0.5, match_ranks=True, random_state=3)
    assert (method.fit(x).transform(x) == method.fit_transform(x)).all()
    other = correlated_columns(40, seed=1)
    assert (np.sort(method.transform(other), axis=0) == np.sort(other, axis=0)).all()


def test_signs_and_zeros_stay_where_logarithms_are_moved():
    x = np.array([-5.0, -4, -3, 0, 0, 0, 1, 2, 3, 4]).reshape(-1, 1)
    for match_ranks in (False, True):
        out = Noise("logarithmic", 1.0, match_ranks=match_ranks, random_state=2).fit_transform(x)
        assert (np.sign(out) == np.sign(x)).all()


def test_columns_with_matched_ranks_keep_values_and_what_they_are_told_of():
    cells = (np.random.default_rng(2).lognormal(8, 1, 300) // 10).tolist()
    release = protect(cells, kind="logarithmic", scale=0.5, match_ranks=True)
    assert release.check.verified
    assert sorted(release.table["a"].to_pylist()) == sorted(cells)
    assert release.table["a"].to_pylist() != cells
    assert release.log["warnings"] == []
    method = release.recipe.steps[0].build()
    assert method.caveat.startswith("values were exchanged between records by the order that noise")
    assert "means come out too large" in Noise("logarithmic").caveat


def test_noise_that_takes_few_past_another_is_told():
    release = protect(list(range(0, 5000, 50)), scale=0.001, match_ranks=True)
    assert release.log["warnings"][0] == (
        "step 1 (noise): column 'a': 100% of the values came out unchanged: many are equal, or the "
        "noise takes few past another; raise scale"
    )


def test_matching_of_ranks_needs_all_rows(tmp_path):
    recipe = {
        "roles": {"confidential": ["a"]},
        "steps": [{"method": "noise", "columns": ["a"], "match_ranks": True}],
    }
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table({"a": [1.0, 2.0, 4.0]}), recipe, engine="duckdb")
    assert str(caught.value) == (
        "step 1 (noise) cannot run on duckdb: match_ranks = true orders all values of a column; "
        "use --engine memory"
    )


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"scale": 0}, "the recipe: step 1 (noise): scale must be a number above 0, such as 0.1, not 0"),
        ({"scale": float("inf")}, "the recipe: step 1 (noise): scale must be a number above 0, such as 0.1, not inf"),
        ({"scale": {"a": -1.0}}, "the recipe: step 1 (noise): scale must be a number above 0, such as 0.1, not -1.0"),
        ({"kind": "white"}, "the recipe: step 1 (noise): 'kind' should be 'additive', 'correlated', 'multiplicative', 'logarithmic' or 'correlated-logarithmic', not 'white'"),
        ({"kind": "correlated", "scale": {"a": 0.1}}, "the recipe: step 1 (noise): correlated noise takes one scale for all columns, not one by column"),
        ({"scale": {"b": 0.1}}, "the recipe: step 1 (noise): scale names 'b', which is not among the step's columns"),
        ({"scale": {}}, "scale is given by column, but not for column 'a'"),
    ],
)  # fmt: skip
def test_errors(step, message):
    with pytest.raises(BadInput) as caught:
        protect([1, 2, 4], **step)
    assert message in str(caught.value)


def test_errors_of_the_transformer():
    with pytest.raises(BadInput, match="kind must be one of 'additive', 'correlated', 'multipl"):
        Noise("white").fit([[1.0], [2.0]])
    with pytest.raises(BadInput, match="scale is given for column 'c', but there is none of that"):
        Noise(scale={"c": 0.1}).fit(pa.table({"a": [1.0, 2.0]}))
    with pytest.raises(BadInput, match="needs rows without nulls, but 1 are complete in all of"):
        Noise("correlated").fit([[1.0, 2.0], [np.nan, 3.0], [2.0, np.nan]])
