import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.check.check import check_release
from discreet.check.evidence import Evidence
from discreet.errors import BadInput
from discreet.perturbation import RankSwap
from tests.perturbation.windows import found_for_certain, intersected

# Small tables have small windows, and equal values: both warnings have their own tests.
small = pytest.mark.filterwarnings(
    "ignore:.*partners can be guessed:UserWarning", "ignore:.*came out unchanged:UserWarning"
)
# Few different values, so that there are ties; nulls too.
columns = st.lists(
    st.integers(-4, 4).map(float) | st.floats(-1e9, 1e9) | st.just(np.nan) | st.just(-0.0),
    min_size=2,
    max_size=60,
).filter(lambda cells: any(cell == cell for cell in cells))


def ranks(values, present):
    """Ranks of the values that are not null, equal ones in the order of their rows."""
    rank = np.full(len(values), -1)
    rank[present[np.argsort(values[present], kind="stable")]] = np.arange(len(present))
    return rank


@small
@given(cells=columns, p=st.floats(2, 100), seed=st.integers(0, 2**32))
def test_values_stay_in_the_column_and_go_no_farther_than_p(cells, p, seed):
    x = np.array(cells)
    (present,) = np.nonzero(~np.isnan(x))
    window = p / 100 * len(present)
    if int(p * len(present) / 100) < 2 or len(present) < 3:
        with pytest.raises(BadInput, match=r"needed to swap at random|can undo a swap"):
            RankSwap(p).fit(x.reshape(-1, 1))
        return
    method = RankSwap(p, random_state=seed)
    out = method.fit_transform(x.reshape(-1, 1)).ravel()
    assert (np.isnan(out) == np.isnan(x)).all()
    assert (np.sort(out[present]) == np.sort(x[present])).all()
    rows = method.plan_["columns"]["x0"]["rows"]
    assert (rows[np.isnan(x)] == np.flatnonzero(np.isnan(x))).all()
    assert (out[present] == x[rows[present]]).all()
    rank = ranks(x, present)
    assert (np.abs(rank[rows] - rank)[present] <= window).all()
    # Swaps come in pairs, and one value of an odd number stays.
    assert (rows[rows] == np.arange(len(x))).all()
    assert (rows == np.arange(len(x)))[present].sum() == len(present) % 2
    assert not np.signbit(out[out == 0]).any()


def test_released_ranks_stay_within_p_where_values_differ():
    """Seen from outside, without the plan: the rank of what each row holds now."""
    x = np.random.default_rng(1).lognormal(size=(5000, 2))
    out = RankSwap({"x0": 1, "x1": 10}, random_state=0).fit_transform(x)
    for column, window in ((0, 50), (1, 500)):
        before = np.searchsorted(np.sort(x[:, column]), x[:, column])
        after = np.searchsorted(np.sort(x[:, column]), out[:, column])
        assert 0.9 * window < np.abs(before - after).max() <= window


def test_far_swaps_lose_correlations_and_near_ones_keep_them():
    common = np.random.default_rng(2).normal(size=20_000)
    x = np.column_stack([common, common])
    found = [
        np.corrcoef(RankSwap(p, random_state=0).fit_transform(x).T)[0, 1] for p in (1, 10, 100)
    ]
    assert found[0] > 0.99
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.2


def test_columns_draw_apart_and_rows_of_the_table_do_not_matter():
    x = np.tile(np.arange(100.0).reshape(-1, 1), 2)
    out = RankSwap(20, random_state=3).fit_transform(x)
    assert (out[:, 0] != out[:, 1]).any()
    # Draws belong to ranks: without ties another order of rows gives the same swaps of values.
    order = np.random.default_rng(4).permutation(100)
    assert (RankSwap(20, random_state=3).fit_transform(x[order]) == out[order]).all()


def people(n=400):
    common = np.random.default_rng(5).normal(size=(n, 1))
    return np.exp(common + np.random.default_rng(6).normal(size=(n, 10)))


def test_who_knows_the_window_finds_most_records_and_fewer_where_it_is_drawn():
    x = people()
    fixed = RankSwap(10, random_state=0).fit_transform(x)
    drawn = RankSwap(10, window="drawn", random_state=0).fit_transform(x)
    # Nobody's own record is ruled out by a fixed window, so that what is left alone is certain.
    assert intersected(x, fixed, 10).diagonal().all()
    assert found_for_certain(x, fixed, 10) > 0.9
    # With a drawn one most records are ruled out as their own, and a wider look leaves no one alone.
    assert intersected(x, drawn, 10).diagonal().mean() < 0.4
    assert found_for_certain(x, drawn, 10) < 0.4
    assert found_for_certain(x, drawn, 80) < 0.02
    # At about the same loss; near the ends jumps are shorter.
    moved = [np.abs(np.log(out) - np.log(x)).mean() for out in (fixed, drawn)]
    assert moved[1] == pytest.approx(moved[0], rel=0.1)


@small
@given(cells=columns, p=st.floats(2, 100), seed=st.integers(0, 2**32))
def test_with_drawn_windows_values_stay_in_the_column_and_nulls_in_place(cells, p, seed):
    x = np.array(cells)
    present = ~np.isnan(x)
    if int(p * present.sum() / 100) < 2 or present.sum() < 3:
        with pytest.raises(BadInput, match=r"needed to swap at random|can undo a swap"):
            RankSwap(p, window="drawn").fit(x.reshape(-1, 1))
        return
    method = RankSwap(p, window="drawn", random_state=seed)
    out = method.fit_transform(x.reshape(-1, 1)).ravel()
    assert (np.isnan(out) == np.isnan(x)).all()
    rows = method.plan_["columns"]["x0"]["rows"]
    assert (rows[rows] == np.arange(len(x))).all()
    assert (rows == np.arange(len(x)))[present].sum() == present.sum() % 2
    assert (out[present] == x[rows[present]]).all()


def _drawn_release():
    table = pa.table({"x": [*np.random.default_rng(0).normal(size=300), None]})
    recipe = {
        "seed": 2**100 + 1,
        "roles": {"confidential": ["x"]},
        "steps": [{"method": "rank-swap", "columns": ["x"], "p": 20, "window": "drawn"}],
    }
    return table, discreet.protect(table, recipe), recipe


def _swapped(rows, a, b):
    """Other pairs: what a and b had as partners they exchange."""
    new = rows.copy()
    new[[a, b, rows[a], rows[b]]] = rows[b], rows[a], b, a
    return new


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: plan | {"rows": _swapped(plan["rows"], 0, 1)}, "as far as was drawn"),
        (lambda plan: plan | {"rows": [*np.roll(plan["rows"][:300], 1).tolist(), 300]}, "in pairs"),
        (lambda plan: plan | {"rows": np.arange(301)}, "in pairs"),
        (lambda plan: plan | {"jump": 5.0}, "5 ranks on average, not"),
        (lambda plan: plan | {"p": 10.0}, "ranks on average, not 16.7"),
    ],
)
def test_the_check_repeats_swaps_that_were_drawn(change, message):
    table, release, recipe = _drawn_release()
    assert not release.check.having("broken")
    assert not any("moved farther" in f.promise for f in release.check.findings)
    step = release.plan["steps"][0]
    [column] = step["columns"].values()
    forged = release.plan | {"steps": [step | {"columns": {"x": change(column)}}]}
    evidence = Evidence(forged, release.log, release.recipe)
    broken = check_release(release.table, recipe, evidence, original=table).having("broken")
    assert any(message in f.detail for f in broken), [f.detail for f in broken]


def test_the_check_compares_the_kind_of_window_with_the_recipe():
    _, release, recipe = _drawn_release()
    recipe["steps"][0]["window"] = "fixed"
    evidence = Evidence(release.plan, release.log, release.recipe)
    broken = check_release(release.table, recipe, evidence).having("broken")
    assert "the plan's window in column 'x' is drawn, the recipe's fixed" in [
        f.detail for f in broken
    ]


def test_the_plan_says_how_far():
    plan = RankSwap(25, random_state=0).fit(np.arange(47.0).reshape(-1, 1)).plan_["columns"]["x0"]
    assert (plan["kind"], plan["p"], plan["window"]) == ("sources", 25.0, 11)
    assert plan["rows"].dtype == np.int64


@pytest.mark.parametrize(
    ("cells", "p", "message"),
    [
        ([1, 2, 3], 0, "the recipe: step 1 (rank-swap): p must be a percentage above 0 and up to 100, not 0"),
        ([1, 2, 3], 101, "the recipe: step 1 (rank-swap): p must be a percentage above 0 and up to 100, not 101"),
        ([1, 2, 3], {"b": 5}, "the recipe: step 1 (rank-swap): p names 'b', which is not among the step's columns"),
        ([1, 2, 3, None], 33, "p = 33 % of the 3 values of column 'a' is a window of less than 1 rank, and anyone can undo a swap of neighbours; give p = 66.67 or more, which gives 2 ranks"),
        (list(range(150)), 1, "p = 1 % of the 150 values of column 'a' is a window of 1 rank, and anyone can undo a swap of neighbours; give p = 1.34 or more, which gives 2 ranks"),
        ([1, None], 100, "column 'a' has 1 value, and at least 3 are needed to swap at random; take another method, or suppress the column"),
        ([1, 2], 100, "column 'a' has 2 values, and at least 3 are needed to swap at random"),
        (["x", "y"], 50, "column 'a', row 1: 'x' is not a number"),
    ],
)  # fmt: skip
def test_errors(cells, p, message):
    recipe = {
        "roles": {"rest": "insensitive"},
        "steps": [{"method": "rank-swap", "columns": ["a"], "p": p}],
    }
    with pytest.raises(BadInput) as caught:
        discreet.protect(pa.table({"a": cells}), recipe)
    assert message in str(caught.value)


@small
def test_the_p_that_the_message_names_is_enough():
    for n in (3, 7, 13, 625, 999):
        x = np.arange(float(n)).reshape(-1, 1)
        with pytest.raises(BadInput, match="can undo a swap of neighbours") as caught:
            RankSwap(1e-3).fit(x)
        enough = float(str(caught.value).split("give p = ")[1].split()[0])
        assert RankSwap(enough).fit(x).plan_["columns"]["x0"]["window"] == 2
        # The seed decides: that is what makes it worth asking for.
        found = {tuple(RankSwap(enough, random_state=s).fit_transform(x).ravel()) for s in range(9)}
        assert len(found) > 1


def test_a_window_of_few_ranks_is_told(recwarn):
    x = np.arange(300.0).reshape(-1, 1)
    RankSwap(3.3).fit(x)
    RankSwap(3.34).fit(x)
    RankSwap(100).fit(x[:9])
    assert [str(warning.message) for warning in recwarn][:2] == [
        "column 'x0': p = 3.3 % is a window of 9 ranks, so few that partners can be guessed; "
        "give p = 3.34 or more",
        "column 'x0': p = 100 % is a window of 9 ranks, so few that partners can be guessed; "
        "take another method",
    ]


def test_values_that_came_out_unchanged_are_told(recwarn):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=1000), rng.normal(size=1000), np.full(1000, 3.0)])
    x[:800, 1] = 0.0
    x[900:, 1] = np.nan
    out = RankSwap(5, random_state=0).fit_transform(x)
    share = (out[:900, 1] == x[:900, 1]).mean()
    assert share > 0.8
    why = "swaps among equal values change nothing; raise p, or take another method, such as pram"
    assert [str(warning.message) for warning in recwarn] == [
        f"column 'x1': {share:.0%} of the values came out unchanged: {why}",
        f"column 'x2': 100% of the values came out unchanged: {why}",
    ]


def test_the_check_compares_how_far_values_went_with_the_recipe():
    recipe = {
        "seed": 2**100 + 1,
        "roles": {"confidential": ["x"]},
        "steps": [{"method": "rank-swap", "columns": ["x"], "p": 20}],
    }
    table = pa.table({"x": np.arange(100.0)})
    release = discreet.protect(table, recipe)
    said = "no value of column 'x' moved farther than 20 % of the ranks"
    assert (said, "verified") in [(f.promise, f.status) for f in release.check.findings]
    evidence = Evidence(release.plan, release.log, release.recipe)
    recipe["steps"][0]["p"] = 5
    broken = check_release(release.table, recipe, evidence).having("broken")
    assert [f.detail for f in broken] == [
        "a value moved by 20 ranks of 100",
        "the plan's p in column 'x' is 20.0, the recipe's 5.0",
    ]
