"""Local suppression: what is blanked, what is not, and what is refused."""

import itertools
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import protect
from discreet.datasets.reference import data_folder
from discreet.errors import BadInput
from discreet.generalization import KAnonymity, LDiversity
from discreet.suppression import LocalSuppression

POLICIES = ["value", "own", "match"]
# What is promised holds after any number of moves; those by default take most of a test's time.
MOVES = 300


@st.composite
def tables(draw):
    """A small table of keys of several types, with nulls, and a column beside them."""
    n = draw(st.integers(4, 40))
    columns = {
        "age": st.integers(30, 33),
        "sex": st.sampled_from(["f", "m", None]),
        "size": st.sampled_from([1.5, 2.5, None]),
        "works": st.booleans(),
    }
    table = {
        name: draw(st.lists(values, min_size=n, max_size=n)) for name, values in columns.items()
    }
    return pd.DataFrame(table | {"pay": np.arange(n)})


KEYS = ["age", "sex", "size", "works"]


@given(tables(), st.integers(2, 4), st.sampled_from(POLICIES), st.integers(0, 3))
def test_only_key_cells_are_blanked_and_all_else_stays(table, k, policy, seed):
    method = LocalSuppression(k, policy, columns=KEYS, improve_moves=MOVES, random_state=seed)
    new = method.fit_transform(table)
    assert list(new.columns) == list(table.columns)
    assert new["pay"].tolist() == table["pay"].tolist()
    for name in KEYS:
        shown = new[name].notna()
        assert (new[name][shown] == table[name][shown]).all()
        assert not (shown & table[name].isna()).any()
        assert method.blanks_[name] == int(table[name].notna().sum() - shown.sum())
    assert not method.suppressed_mask_.any()
    if policy == "own":
        assert method.bound_ == pytest.approx(method.cost_)


@given(tables(), st.integers(2, 4), st.integers(0, 3))
def test_every_released_tuple_is_that_of_k(table, k, seed):
    method = LocalSuppression(k, columns=KEYS, improve_moves=MOVES, random_state=seed)
    new = method.fit_transform(table)
    assert new.groupby(KEYS, dropna=False, observed=True).size().min() >= k


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("demanded", [{"k": 2}, {"k": 3}, {"k": 2, "subsets": 2}])
def test_the_proven_optimum_lies_between_bound_and_cost(demanded, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, (12, 3)), columns=list("abc"))
    given_as = demanded | {"importance": {"b": 1.5}, "random_state": 0}
    proven = LocalSuppression(**given_as, exact=True).fit(table)
    assert proven.gap_ == pytest.approx(0)
    found = LocalSuppression(**given_as, improve_moves=MOVES).fit(table)
    assert found.bound_ <= proven.cost_ + 1e-6
    assert found.cost_ >= proven.cost_ - 1e-6


def test_nothing_demanded_is_refused():
    with pytest.raises(BadInput, match="nothing is demanded of the key columns; set k"):
        LocalSuppression().fit_transform(pd.DataFrame({"a": [1, 1]}))


PEOPLE = pd.DataFrame({"age": [30, 30, 30, 31, 70, 71], "sex": list("ffmmff")})


@pytest.mark.parametrize(
    ("given_as", "said"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": 2, "null_policy": "any"}, "null_policy must be one of 'value', 'own', 'match'"),
        ({"k": 2, "importance": {"age": 0}}, "importance of column 'age' must be a number above 0"),
        ({"k": 2, "importance": ["age", "age"]}, "importance lists a column twice"),
        ({"k": 2, "importance": 3}, "importance must give a weight to columns by name"),
        (
            {"k": 2, "importance": [2, 1]},
            "list columns with the most important first, not \\[2, 1\\]; ranks in the order of the "
            "columns, as sdcMicro has them, are not understood",
        ),
        (
            {"k": 2, "fixed": "sex"},
            "fixed must list columns, such as \\['sex'\\], not a single text",
        ),
        ({"k": 2, "importance": ["agee"]}, "importance names 'agee', which is not among the col"),
        ({"k": 2, "fixed": ["sez"]}, "fixed names 'sez', which is not among the columns to treat"),
        ({"k": 2, "limit": {"age": 1.5}}, "limit of column 'age' must be a number of at least 0"),
        ({"k": 2, "limit": 0.5}, "limit must give a number for each column by name"),
        ({"combinations": [["age"]]}, "each of combinations has columns and k, such as"),
        ({"combinations": [{"columns": ["a"], "k": 2}]}, "combinations names 'a'"),
        ({"combinations": [{"columns": "age", "k": 2}]}, "must list column names, not 'age'"),
        ({"combinations": [{"columns": ["age"], "k": 0}]}, "k of a combination must be a whole"),
        ({"subsets": 2}, "subsets = 2 needs k: by how many every 2 columns must be shared"),
        ({"subsets": {3: 5}}, "subsets of 3 columns need more than the 2 to treat"),
        ({"subsets": {2: 0}}, "k of subsets of 2 must be a whole number of at least 1"),
        (
            {"k": 2, "max_risk": 1.0},
            "max_risk must be a number of at least 1e-09 and below 1, not 1.0",
        ),
        ({"k": 2, "risk": "suda"}, "risk and weight are for max_risk"),
        ({"max_risk": 0.5, "risk": "individual"}, "risk = 'individual' needs the column of wei"),
        (
            {"k": 2, "record_cost": 0},
            "record_cost must be a number above 0 and at most 1e.09, not 0",
        ),
        (
            {"k": 2, "subsets": 2, "max_risk": 0.5, "risk": "individual", "weight": "w"},
            "risk = 'individual' is about all key columns together; leave combinations and subsets",
        ),
        (
            {"privacy": [KAnonymity(2)], "combinations": [{"columns": ["age"], "k": 2}]},
            "privacy is about all key columns together; leave combinations and subsets out",
        ),
        ({"k": 2, "improve": 1, "improve_moves": 5}, "improve \\(seconds\\) or improve_moves"),
        ({"k": 7}, "there are only 6 records, fewer than k = 7; lower k"),
        (
            {"k": 3, "fixed": ["sex"]},
            "2 records share their values in the fixed columns 'sex' with fewer than k = 3; fix "
            "fewer columns, or set record_cost",
        ),
        ({"k": 2, "columns": ["agee"]}, "the table has no column 'agee'"),
    ],
)
def test_what_is_refused(given_as, said):
    with pytest.raises(BadInput, match=said):
        LocalSuppression(**given_as).fit_transform(PEOPLE)


def test_listed_columns_cost_more_than_others():
    table = pd.DataFrame({"a": [1, 1, 1, 2], "b": [1, 1, 1, 2], "c": [1, 1, 1, 2]})
    costs = {}
    for given_as in (["c"], ["b", "a"], ["c", "a", "b"]):
        one = LocalSuppression(2, "own", given_as, random_state=0).fit(table)
        costs[tuple(given_as)] = one.cost_
    # One record is blanked in all columns.
    assert costs == {("c",): 1 + 1 + 2, ("b", "a"): 1 + 2 + 3, ("c", "a", "b"): 2 + 3 + 4}


def test_sizes_of_subsets_may_be_text():
    blanked = [
        LocalSuppression(subsets=sizes, random_state=0).fit_transform(PEOPLE)
        for sizes in ({2: 2}, {"2": 2})
    ]
    pd.testing.assert_frame_equal(*blanked)


def test_ranks_are_refused_in_a_recipe_too():
    step = {"method": "local-suppression", "columns": ["age", "sex"], "k": 2}
    recipe = {"roles": {"quasi": ["age", "sex"]}, "steps": [step | {"importance": [2, 1]}]}
    with pytest.raises(BadInput, match=r"step 1 \(local-suppression\): importance must give a we"):
        protect(PEOPLE, recipe)


def test_privacy_models_need_classes():
    models = [LDiversity(2, column="ill")]
    table = PEOPLE.assign(ill=list("abcabc"))
    with pytest.raises(BadInput, match="privacy is for null_policy = 'value' alone, not for 'own'"):
        LocalSuppression(2, "own", privacy=models).fit_transform(table)
    with pytest.raises(BadInput, match="column 'ill' is looked at by privacy or weight"):
        LocalSuppression(2, privacy=models, columns=["age", "ill"]).fit_transform(table)


def test_a_limit_that_cannot_be_kept_tells_the_smallest_share():
    table = pd.DataFrame({"a": range(10), "b": [1] * 10})
    with pytest.raises(BadInput) as refused:
        LocalSuppression(2, limit={"a": 0.5}, fixed=["b"]).fit_transform(table)
    assert str(refused.value) == (
        "no way was found to keep the limit of column 'a', 0.5: the smallest share found is 1; "
        "raise it, or "
        "let other columns be blanked more"
    )


def test_a_limit_moves_blanks_to_other_columns():
    # Each is alone, and shares either column with others.
    table = pd.DataFrame({"a": [1, 1, 2, 2, 9, 9, 9, 9], "b": [1, 2, 1, 2, 9, 9, 9, 9]})
    free = LocalSuppression(2, importance={"b": 2}, random_state=0).fit(table)
    assert (free.blanks_, free.cost_) == ({"a": 4, "b": 0}, 4)
    for most in (0.25, 0.0):
        kept = LocalSuppression(2, importance={"b": 2}, limit={"a": most}, random_state=0)
        new = kept.fit_transform(table)
        assert (kept.blanks_, kept.cost_) == ({"a": 0, "b": 4}, 8)
        assert new.groupby(["a", "b"], dropna=False).size().min() >= 2


def test_a_limit_of_nothing_fixes_the_column():
    table = pd.DataFrame({"a": [5, 6, 7, 8, 1, 1, 1], "b": [1, 1, 2, 2, 1, 1, 1]})
    with pytest.raises(BadInput, match="in the fixed columns 'a'"):
        LocalSuppression(3, limit={"a": 0.0}).fit(table)


def household_keys():
    return pd.read_csv(data_folder() / "suppression" / "testdata7.csv")


def test_a_limit_is_used_up_before_other_columns_are_blanked():
    table = household_keys()
    asked = {"k": 3, "improve_moves": 2_000, "random_state": 0}
    found = LocalSuppression(**asked, limit={"relat": 0.02}).fit(table)
    assert found.blanks_["relat"] <= 91
    assert found.cost_ <= 390
    several = {"relat": 0.02, "sex": 0.01}
    found = LocalSuppression(**asked, limit=several).fit(table)
    assert found.blanks_["relat"] <= 91
    assert found.blanks_["sex"] <= 45
    assert found.cost_ <= 390


def test_under_own_a_limit_costs_the_least_that_it_can():
    table = household_keys()
    free = LocalSuppression(3, "own", random_state=0).fit(table)
    found = LocalSuppression(3, "own", limit={"relat": 0.02}, random_state=0).fit(table)
    assert free.blanks_["relat"] > 91 == found.blanks_["relat"]
    assert found.cost_ == free.cost_ == 283


@pytest.mark.parametrize("seed", range(30))
def test_under_own_no_choice_within_a_limit_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, (8, 3)), columns=list("abc"))
    prices = {"a": 1.0, "b": 1.5, "c": 2.5}
    # Of each record, what it costs to be shared by two with a blank in 'a' and without.
    costs = np.full((2, 8), np.inf)
    for row, shown in itertools.product(range(8), itertools.product([False, True], repeat=3)):
        seen = table.to_numpy()[:, list(shown)]
        if (seen == seen[row]).all(axis=1).sum() >= 2:
            price = sum(prices[name] for name, kept in zip(table, shown, strict=True) if not kept)
            costs[int(not shown[0]), row] = min(costs[int(not shown[0]), row], price)
    most = int(rng.integers(0, 4))
    choices = itertools.product([0, 1], repeat=8)
    least = min(
        sum(costs[one, row] for row, one in enumerate(chosen))
        for chosen in choices
        if sum(chosen) <= most
    )
    method = LocalSuppression(2, "own", importance=prices, limit={"a": most / 8}, random_state=0)
    if np.isinf(least):
        with pytest.raises(BadInput):
            method.fit(table)
    else:
        assert method.fit(table).cost_ == pytest.approx(least)
        assert method.blanks_["a"] <= most


@pytest.mark.parametrize("null_policy", ["value", "match"])
def test_a_tiny_importance_makes_nothing_dearer_than_without(null_policy):
    table = household_keys()
    asked = {"k": 3, "null_policy": null_policy, "random_state": 0}
    free = LocalSuppression(**asked).fit(table)
    found = LocalSuppression(**asked, importance={"relat": 1.01}).fit(table)
    assert found.cost_ <= free.cost_ + 0.01 * free.blanks_["relat"] + 1e-9


TYPED = pa.table(
    {
        "day": pa.array([date(2020, 1, d) for d in (1, 1, 1, 2, 3, 3)]),
        "size": pa.array([1, 1, 1, 1, 2, 2], pa.int16()),
        "price": pa.array([Decimal("1.50")] * 3 + [Decimal("2.50")] * 3),
        "town": pa.array(list("aaabbb")).dictionary_encode(),
        "works": pa.array([True, True, True, True, False, False]),
        "at": pa.array([datetime(2020, 1, 1)] * 6, pa.timestamp("us", "UTC")),
        "kept": pa.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    }
)


def test_columns_keep_their_types():
    method = LocalSuppression(3, columns=TYPED.column_names[:-1], random_state=0)
    new = method.fit_transform(TYPED)
    assert new.schema.types == TYPED.schema.types
    assert new["kept"] == TYPED["kept"]
    assert {name: new[name].null_count for name in method.blanks_} == method.blanks_
    assert sum(method.blanks_.values()) > 0
    through_polars = method.fit_transform(pl.from_arrow(TYPED))
    assert through_polars.schema == pl.from_arrow(TYPED).schema
    assert through_polars.to_arrow()["day"].to_pylist() == new["day"].to_pylist()


def test_an_array_has_nan_where_it_was_blanked():
    new = LocalSuppression(2, random_state=0).fit_transform(np.array([[1, 5], [1, 5], [2, 5.0]]))
    # Two records must share a blank, and the third may not be left alone.
    np.testing.assert_array_equal(new, [[np.nan, 5]] * 3)


@given(tables(), st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_blanks(table, seed):
    asked = {"k": 3, "columns": KEYS, "improve_moves": MOVES, "random_state": seed}
    once, again = (LocalSuppression(**asked).fit_transform(table) for _ in range(2))
    pd.testing.assert_frame_equal(once, again)


@given(tables(), st.sampled_from(POLICIES), st.integers(2, 3))
def test_fixed_columns_stay_and_only_whole_records_go(table, policy, k):
    method = LocalSuppression(
        k,
        policy,
        columns=KEYS,
        fixed=["works"],
        record_cost=2.5,
        improve_moves=MOVES,
        random_state=0,
    )
    new = method.fit_transform(table)
    gone = method.suppressed_mask_
    assert new[gone].isna().all(axis=None)
    assert (new["works"][~gone] == table["works"][~gone]).all()
    if policy == "value" and not gone.all():
        assert new[~gone].groupby(KEYS, dropna=False, observed=True).size().min() >= k


@given(tables(), st.data())
def test_units_are_counted_and_treated_alike(table, data):
    n = len(table)
    units = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    method = LocalSuppression(2, columns=KEYS, improve_moves=MOVES, random_state=0)
    if len(np.unique(units)) < 2:
        with pytest.raises(BadInput, match="there is only 1 unit, fewer than k = 2; lower k"):
            method.fit_transform(table, units=units)
        return
    new = method.fit_transform(table, units=units).assign(unit=units)
    by_tuple = new.groupby(KEYS, dropna=False, observed=True)["unit"]
    assert by_tuple.nunique().min() >= 2
    both = table[KEYS].astype(object).fillna("-").assign(unit=units)
    blank = new[KEYS].isna().astype(int) @ [1, 2, 4, 8]
    assert (blank.groupby([both[c] for c in both]).nunique() == 1).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subsets": {}}, "nothing is demanded of the key columns"),
        ({"k": 2, "subsets": {}}, "subsets is empty; give a k by size"),
        ({"k": 2, "importance": {"a": 1e308}}, "must be a number above 0, from 1e-06 to 1e\\+06"),
        ({"k": 10**30}, "fewer than k|lower k|of a kind"),
        ({"max_risk": 5e-324}, "max_risk must be a number of at least 1e-09"),
    ],
)
def test_extreme_parameters_are_refused_in_a_sentence(given, said):
    table = pa.table({"a": [1, 1, 2, 3], "b": ["x", "x", "y", "y"]})
    with pytest.raises(BadInput, match=said):
        LocalSuppression(random_state=0, **given).fit_transform(table)


@pytest.mark.parametrize("price", [0.6, 1.5, 2.5])
def test_leaving_records_out_makes_no_match_dearer(price):
    table = pd.DataFrame(np.random.default_rng(1).integers(0, 6, (120, 3)), columns=list("abc"))
    free = LocalSuppression(3, "match", random_state=0).fit(table)
    found = LocalSuppression(3, "match", record_cost=price, random_state=0).fit(table)
    assert found.cost_ <= free.cost_


def test_a_null_in_a_fixed_column_is_a_blank_there():
    table = pd.DataFrame({"a": [None, "x", "x", "x", "x"], "b": ["p", "p", "p", "q", "q"]})
    for policy in ("own", "match"):
        found = LocalSuppression(2, policy, fixed=["a"], random_state=0).fit(table)
        assert found.blanks_ == {"a": 0, "b": 0}
    with pytest.raises(BadInput, match="1 records share their values in the fixed columns 'a'"):
        LocalSuppression(2, fixed=["a"], random_state=0).fit(table)
