"""k distinct units in every group, where units have several rows."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import BadInput
from discreet.microaggregation import Microaggregation
from tests.examples import examples

ALGORITHMS = ["mdav", "vmdav", "cbfs"]


def holders(values, units):
    """The distinct units behind each value, counted over dicts."""
    found = defaultdict(set)
    for value, unit in zip(values, units, strict=True):
        found[value].add(unit)
    return {value: len(some) for value, some in found.items()}


def released(table, columns):
    """Each row's released tuple; a null is None."""
    rows = table[columns].astype(object).where(table[columns].notna(), None)
    return list(rows.itertuples(index=False, name=None))


def household_like(seed, households, shared=True):
    """Members share income and region, and have ages of their own."""
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(households), rng.integers(1, 6, households)))
    n = len(unit)
    income, region = rng.lognormal(10, 0.6, households), rng.choice(list("NSW"), households)
    table = pd.DataFrame({"income": income[unit], "age": rng.integers(0, 90, n).astype(float)})
    if not shared:
        table["income"] *= rng.uniform(0.5, 1.5, n)
    return table.assign(region=region[unit]), np.char.add("h", unit.astype(str))


@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(5, 25),
    st.sampled_from(ALGORITHMS),
    st.sampled_from([None, 10]),
    st.sampled_from(["numbers", "mixed", "strata"]),
    st.sampled_from([0.0, 0.15]),
    st.booleans(),
)
@examples(120)
@pytest.mark.filterwarnings("ignore:.* records are blanked")
def test_every_group_and_released_tuple_has_k_units(
    seed, k, households, algorithm, moves, kind, nulls, blocks
):
    table, units = household_like(seed, households, shared=seed % 2 == 0)
    numbers = ["income", "age"]
    hidden = np.random.default_rng(seed).random((len(table), 2)) < nulls
    table[numbers] = table[numbers].mask(hidden)
    if table[numbers].isna().all().any():
        return
    columns = numbers + ["region"] * (kind == "mixed")
    method = Microaggregation(
        k,
        algorithm,
        refine_moves=moves,
        random_state=seed,
        strata="region" if kind == "strata" else None,
        block_size=max(2 * k, 12) if blocks else None,
    )
    X = table if kind != "numbers" else table[numbers]
    out = method.fit_transform(X, units=units)
    if kind == "numbers":
        out = pd.DataFrame(out, columns=numbers)
    assert min(holders(released(out, columns), units).values()) >= k
    groups = method.groups_
    kept = groups >= 0
    if not kept.any():
        return
    assert min(holders(groups[kept], units[kept]).values()) >= k
    if kind == "strata":
        assert set(holders(groups[kept], table["region"][kept]).values()) == {1}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("moves", [None, 30])
def test_units_of_one_row_change_nothing(algorithm, moves):
    table, _ = household_like(3, 60)
    method = Microaggregation(4, algorithm, refine_moves=moves, random_state=1)
    plain = method.fit_transform(table)
    units = np.random.default_rng(2).permutation(len(table))
    pd.testing.assert_frame_equal(plain, method.fit_transform(table, units=units))


def test_five_members_of_one_household_are_no_five_records():
    # The attack: who knows a household of five finds its income among the released.
    rng = np.random.default_rng(5)
    unit = np.repeat(np.arange(200), 5)
    income = rng.lognormal(10, 0.6, 200)[unit]
    X = np.column_stack([income, income / 12])
    by_rows = Microaggregation(5).fit_transform(X)
    by_units = Microaggregation(5).fit_transform(X, units=unit)
    assert np.isclose(by_rows[:, 0], income).all()
    assert not np.isclose(by_units[:, 0], income).any()


def test_the_price_is_small_and_refinement_lowers_it():
    table, units = household_like(1, 300)
    # A logarithm, lest the one richest household be all of the loss.
    X = table[["income", "age"]].assign(income=np.log(table["income"]))
    by_rows = Microaggregation(5).fit(X).loss_
    by_units = Microaggregation(5).fit(X, units=units).loss_
    refined = Microaggregation(5, refine_moves=300, random_state=1).fit(X, units=units)
    assert by_rows < by_units < 2 * by_rows
    assert refined.loss_ < 0.9 * by_units
    assert min(holders(refined.groups_, units).values()) >= 5


@pytest.mark.parametrize("moves", [None, 20])
def test_a_recipe_with_households_puts_k_of_them_into_every_group(moves):
    table, units = household_like(9, 80)
    step = {"method": "microaggregation", "columns": ["income", "age"], "k": 4}
    recipe = {
        "roles": {"household": "home", "confidential": ["income", "age"], "rest": "drop"},
        "steps": [step if moves is None else step | {"refine_moves": moves}],
    }
    release = discreet.protect(table.assign(home=units), recipe)
    assert release.check.verified
    found = holders(released(release.table, ["income", "age"]), units)
    assert min(found.values()) >= 4


def test_few_units_are_refused():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(BadInput) as error:
        Microaggregation(3).fit(X, units=list("aabbab"))
    assert str(error.value) == "2 units cannot make a group of k = 3; lower k"
    with pytest.raises(BadInput, match="units has 2 values for 6 rows"):
        Microaggregation(3).fit(X, units=["a", "b"])


def test_a_stratum_of_few_units_is_refused_or_blanked():
    table = pd.DataFrame({"x": np.arange(12.0), "s": list("aaaaaaaabbbb")})
    units = [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9]
    with pytest.raises(BadInput) as error:
        Microaggregation(3, strata="s", small_pattern="error").fit(table, units=units)
    assert str(error.value) == (
        "4 records share nulls in the same columns and one stratum with fewer than k = 3 units "
        "(the fewest: 2); treat fewer columns, or set small_pattern = 'blank'"
    )
    with pytest.warns(UserWarning, match="blanked") as caught:
        out = Microaggregation(3, strata="s").fit_transform(table, units=units)
    assert str(caught[0].message) == (
        "5 records are blanked in these columns: 4 because fewer than k = 3 units share their "
        "pattern of nulls in their stratum, 1 so that records without any value are not fewer "
        "than k = 3 units"
    )
    assert len({units[i] for i in np.flatnonzero(out["x"].isna())}) == 3


def test_few_units_without_any_value_are_refused():
    nan = np.nan
    X = np.array([[nan, nan], [nan, nan], [nan, nan], [1, 1], [2, 2], [3, 3], [9, 9]])
    with pytest.raises(BadInput) as error:
        Microaggregation(2, small_pattern="error").fit(X, units=[0, 0, 0, 1, 2, 3, 4])
    assert str(error.value) == (
        "1 units hold no value in these columns, fewer than k = 2; drop them, or set "
        "small_pattern = 'blank'"
    )
    with pytest.warns(UserWarning, match="^1 records are blanked"):
        out = Microaggregation(2).fit_transform(X, units=[0, 0, 0, 1, 2, 3, 4])
    # One more record of that unit would not help.
    assert np.isnan(out).all(axis=1).sum() == 4


def test_a_block_is_not_cut_where_one_side_would_have_few_units():
    # One unit has all the low values.
    units = np.r_[np.zeros(500, int), np.arange(1, 101)]
    X = np.r_[np.linspace(0, 1, 500), np.linspace(5, 9, 100)].reshape(-1, 1)
    method = Microaggregation(4, block_size=50).fit(X, units=units)
    assert min(holders(method.groups_, units).values()) >= 4


def test_the_same_seed_gives_the_same_groups_with_units():
    table, units = household_like(7, 150)
    X = table[["income", "age"]]
    first, second = (
        Microaggregation(4, refine_moves=60, random_state=3).fit(X, units=units).groups_
        for _ in range(2)
    )
    assert first.tolist() == second.tolist()
