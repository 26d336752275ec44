"""What `Microaggregation` promises, whatever the columns hold."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import check_release, protect
from discreet.draws import Draws
from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation
from discreet.microaggregation._blocks import cut
from discreet.utility import sse_ratio

ALGORITHMS = ["mdav", "vmdav", "cbfs"]


@st.composite
def tables(draw):
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    values = {
        "normal": rng.normal(size=(n, p)),
        "few values": rng.integers(0, 3, (n, p)).astype(float),
        "far from zero": 1e9 + 1e-3 * rng.normal(size=(n, p)),
        "equal": np.full((n, p), 0.1),
    }[draw(st.sampled_from(["normal", "few values", "far from zero", "equal"]))]
    if draw(st.booleans()):
        values[rng.random((n, p)) < 0.2] = np.nan
        values[0] = 0.5
    return values, draw(st.integers(1, min(n, 5)))


def rarest(table):
    """How many records hold the rarest tuple."""
    return pd.DataFrame(table).value_counts(dropna=False).min()


@given(tables(), st.sampled_from(ALGORITHMS), st.sampled_from([0, 10]))
@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_every_tuple_is_held_by_k_records_and_centres_are_means(table, algorithm, moves):
    x, k = table
    method = Microaggregation(k, algorithm, refine_moves=moves, random_state=0)
    out = method.fit_transform(x)
    assert rarest(out) >= k
    blanked = method.groups_ < 0
    assert np.isnan(out[blanked]).all()
    for g in range(method.groups_.max() + 1):
        rows = method.groups_ == g
        null = np.isnan(x[rows])
        assert (null == null[0]).all()
        assert (np.isnan(out[rows]) == null).all()
        origin = x[rows][0]
        expected = (x[rows] - origin).mean(axis=0)
        # To the last bits of the values themselves, which near 1e9 are 1e-7 apart.
        off = np.abs((out[rows] - origin) - expected)
        assert (off[:, ~null[0]] <= 4 * np.spacing(np.abs(origin[~null[0]])) + 1e-14).all()
    if algorithm != "vmdav":
        assert np.bincount(method.groups_[~blanked]).max(initial=0) <= 2 * k - 1
    assert 0 <= method.loss_ <= 100 + 1e-9


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_order_of_rows_does_not_matter(algorithm):
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=(400, 3))
    order = rng.permutation(400)
    method = Microaggregation(4, algorithm)
    out = method.fit_transform(x)
    loss = method.loss_
    assert np.allclose(method.fit_transform(x[order]), out[order], rtol=1e-12)
    assert method.loss_ == pytest.approx(loss)


def test_scale_and_origin_of_a_column_do_not_matter():
    x = np.random.default_rng(1).lognormal(size=(300, 2))
    groups = Microaggregation(5).fit(x).groups_
    moved = np.column_stack([1e9 + 1e-3 * x[:, 0], -7 * x[:, 1]])
    assert (Microaggregation(5).fit(moved).groups_ == groups).mean() > 0.99
    assert Microaggregation(5).fit(moved).loss_ == pytest.approx(
        Microaggregation(5).fit(x).loss_, rel=1e-3
    )


def test_the_loss_is_that_of_z_scores():
    x = np.random.default_rng(2).lognormal(size=(200, 3))
    x = np.column_stack([x, np.full(200, 7.0)])
    method = Microaggregation(4)
    out = method.fit_transform(x)
    z = x[:, :3].std(axis=0, ddof=1)
    within = (((x - out)[:, :3] / z) ** 2).sum()
    assert method.loss_ == pytest.approx(100 * within / (3 * 199))
    assert (out[:, 3] == 7.0).all()


def test_weights_pull_the_groups():
    x = np.random.default_rng(3).normal(size=(300, 2))
    plain, weighted = (
        Microaggregation(5, weights=w).fit_transform(x) for w in (None, {"x0": 100.0})
    )
    assert ((x - weighted)[:, 0] ** 2).sum() < 0.2 * ((x - plain)[:, 0] ** 2).sum()
    # A weight of w is a column that is there w times.
    twice = Microaggregation(5).fit(x[:, [0, 0, 1]]).groups_
    assert (Microaggregation(5, weights={"x0": 2.0}).fit(x).groups_ == twice).all()


@pytest.mark.parametrize("times", [1e-9, 1e12])
@pytest.mark.parametrize("text", [False, True])
def test_only_the_ratio_of_weights_counts(times, text):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(400, 2)), columns=["x", "y"])
    if text:
        table["t"] = rng.choice(list("abc"), 400)
    weights = dict(zip(table.columns, [3.0, 1.0, 2.0], strict=False))
    many = {name: times * w for name, w in weights.items()}
    plain, scaled = (Microaggregation(5, weights=w).fit(table) for w in (weights, many))
    assert (plain.groups_ == scaled.groups_).mean() > 0.99  # but for the last bits
    assert scaled.loss_ == pytest.approx(plain.loss_, rel=1e-3)


def test_a_cut_among_equal_values_goes_by_row():
    values = np.random.default_rng(7).integers(0, 3, 5000) / 2
    rows = np.arange(5000)
    found = cut(values[:, None], rows, 5, 2500)
    order = np.argsort(values, kind="stable")
    assert [b.tolist() for b in found] == [sorted(order[:2500]), sorted(order[2500:])]


def test_fewer_than_2k_records_are_one_group():
    x = np.arange(14.0).reshape(7, 2)
    for algorithm in ALGORITHMS:
        method = Microaggregation(4, algorithm, gamma=0.0).fit(x)
        assert method.groups_.tolist() == [0] * 7
        assert method.loss_ == pytest.approx(100)


def test_vmdav_keeps_a_cluster_of_four_together():
    x = np.array([[0.0], [0.1], [0.2], [0.3], [10.0], [10.1], [10.2]])
    assert Microaggregation(3, "vmdav", gamma=1.0).fit(x).groups_.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert len(set(Microaggregation(3, "mdav").fit(x).groups_[:4])) == 1


def test_blocks_cover_everything_and_cost_little():
    x = np.random.default_rng(4).normal(size=(6000, 2))
    exact = Microaggregation(5).fit(x)
    blocks = Microaggregation(5, block_size=2000).fit(x)
    assert np.bincount(blocks.groups_).min() == 5
    assert exact.loss_ < blocks.loss_ < 1.1 * exact.loss_
    draws = lambda name: Draws(1, name)  # noqa: E731
    columns = {f"x{i}": x[:, i] for i in range(2)}
    assert Microaggregation(5).run(columns, draws).figures == {
        "loss": exact.loss_,
        "groups": 1200,
        "moves": 0,
        "blanked_records": 0,
    }
    figures = Microaggregation(5, block_size=2000).run(columns, draws).figures
    assert (figures["blocks"], figures["block_size"]) == (3, 2000)
    # The sample is the whole table here.
    sample = figures["on_a_sample"]
    assert sample == {
        "records": 6000,
        "loss_without_blocks": pytest.approx(exact.loss_),
        "loss_in_blocks": pytest.approx(blocks.loss_),
    }


RECIPE = {
    "roles": {"quasi": ["age", "sex"], "confidential": ["income"], "rest": "drop"},
    "steps": [{"method": "microaggregation", "columns": ["age", "sex", "income"], "k": 4}],
}


@pytest.mark.parametrize("columns", [["age", "income"], ["age", "sex", "income"]])
@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_in_a_recipe_it_is_checked_saved_and_run_again(households, columns, tmp_path):
    roles = {"confidential": columns, "insensitive": ["region"], "rest": "drop"}
    step = {
        "method": "microaggregation",
        "columns": columns,
        "k": 4,
        "strata": "region",
        "refine": 0.2,
    }
    release = protect(households, {"roles": roles, "steps": [step]})
    assert release.check.verified
    assert "k = 4 per tuple" in str(release.check)
    treated = release.table.select(columns).to_pandas()
    assert rarest(treated) >= 4
    [log] = release.log["steps"]
    assert log["moves"] > 0
    fixed = release.recipe.steps[0]
    assert (fixed.refine, fixed.refine_moves) == (0.0, log["moves"])
    assert protect(households, release.recipe).table.equals(release.table)
    path = release.save(tmp_path / "out")
    assert check_release(path, release.recipe, tmp_path / "out" / "internal", households).verified


@pytest.mark.parametrize("column", ["income", "sex"])
@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_a_plan_that_was_edited_is_found_out(households, column):
    release = protect(households, RECIPE)
    centres = release.plan["steps"][0]["columns"][column]["centres"]
    at = next(i for i in range(len(centres)) if centres[i] is not None and centres[i] == centres[i])
    centres[at] = (
        {"male": "female", "female": "male"}[centres[at]] if column == "sex" else centres[at] + 1.0
    )
    from discreet.check.replay import replay

    with pytest.raises(
        ValueError, match=f"the centre of group {at} of column '{column}' is not its"
    ):
        replay(release.plan, release.recipe.seed, release.original.table)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": 2.5}, "k must be a whole number of at least 1, not 2.5"),
        ({"k": 9}, "8 records cannot make a group of k = 9; lower k"),
        ({"k": 2, "algorithm": "kmeans"}, "algorithm must be one of 'mdav', 'vmdav', 'cbfs', not 'kmeans'"),
        ({"k": 2, "small_pattern": "drop"}, "small_pattern must be one of 'blank', 'error', not 'drop'"),
        ({"k": 2, "refine": -1}, "refine must be a number of at least 0, not -1"),
        ({"k": 2, "gamma": np.nan}, "gamma must be a number of at least 0, not nan"),
        ({"k": 2, "refine": 1.0, "refine_moves": 5}, "give refine (seconds) or refine_moves, not both"),
        ({"k": 2, "refine_moves": 1.5}, "refine_moves must be a whole number of at least 0, not 1.5"),
        ({"k": 3, "block_size": 5}, "block_size must be a whole number of at least 6, not 5"),
        ({"k": 2, "weights": {"x0": 0}}, "the weight of column 'x0' must be a number above 0, not 0; leave a column without weight out"),
        ({"k": 2, "weights": {"x0": np.inf}}, "the weight of column 'x0' must be a number above 0, not inf; leave a column without weight out"),
        ({"k": 2, "weights": {"x0": 1e9}}, "the weight of column 'x1' is less than 1e-08 of the largest; leave the column out"),
        ({"k": 2, "weights": [1, 2]}, "weights must give a number for each column by name, not [1, 2]"),
        ({"k": 2, "weights": {"x7": 1}}, "weights names 'x7', no column; known: x0, x1"),
        ({"k": 2, "strata": "x7"}, "there is no column 'x7' for strata; known: x0, x1"),
    ],
)  # fmt: skip
def test_what_is_refused(parameters, message):
    with pytest.raises(BadInput) as error:
        Microaggregation(**parameters).fit(np.arange(16.0).reshape(8, 2))
    assert str(error.value) == message


@pytest.mark.parametrize("low", [-1.5e308, 0.0])  # the range overflows, or the sum does
def test_values_that_are_too_far_apart_are_refused(low):
    with pytest.raises(BadInput, match="the values of column 'x0' are too far apart"):
        Microaggregation(4).fit(np.array([[low], [1.5e308], [1.5e308], [1.5e308]]))


def test_the_measure_of_the_house_agrees():
    x = np.random.default_rng(6).lognormal(size=(100, 3))
    method = Microaggregation(5)
    out = method.fit_transform(x)
    assert sse_ratio(x, out, standardize=True) == pytest.approx(method.loss_)


def test_dates_are_numbers():
    days = pa.table(
        {"born": pd.to_datetime(["2001-01-01", "2001-01-03", "1950-05-05", "1950-05-07"])}
    )
    out = Microaggregation(2).fit_transform(days)
    assert [str(d)[:10] for d in out["born"].to_pylist()] == ["2001-01-02"] * 2 + ["1950-05-06"] * 2
