"""What `make_households` promises: exact size, sameness, and the relations of a real survey."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from discreet.datasets import make_households
from tests.examples import examples
from tests.timed import within

SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "region": pa.string(),
        "postcode": pa.string(),
        "birth_date": pa.date32(),
        "age": pa.int64(),
        "sex": pa.string(),
        "education": pa.string(),
        "occupation": pa.string(),
        "marital_status": pa.string(),
        "household_id": pa.int64(),
        "household_size": pa.int64(),
        "income": pa.float64(),
        "assets": pa.float64(),
        "disease": pa.string(),
        "weight": pa.float64(),
    }
)
NEVER_NULL = {"name", "household_id", "household_size", "weight"}
LEVELS = ["none", "primary", "lower secondary", "upper secondary", "vocational"]
LEVELS += ["bachelor", "master", "doctorate"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return make_households(100_000, seed=1).to_pandas()


@pytest.fixture(scope="module")
def adults(people) -> pd.DataFrame:
    return people[people["age"] >= 25]


@pytest.fixture(scope="module")
def couples(people) -> pd.DataFrame:
    """One row per couple, with the columns of both partners."""
    paired = people[people["marital_status"].isin(["married", "cohabiting"])]
    half = paired.groupby("household_id").cumcount()
    return paired[half == 0].merge(paired[half == 1], on="household_id", suffixes=("", "_2"))


@pytest.mark.parametrize("n", [1, 2, 7, 1000, 100_003])
def test_exact_size_and_household_sizes(n):
    table = make_households(n, seed=n)
    assert table.num_rows == n
    assert table.schema == SCHEMA
    assert all(column.null_count == 0 for column in table.columns)
    frame = table.select(["household_id", "household_size"]).to_pandas()
    counted = frame.groupby("household_id")["household_size"].transform("size")
    assert (frame["household_size"] == counted).all()


@examples(60)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**64))
def test_a_household_cut_short_stays_consistent(n, seed):
    frame = make_households(n, seed=seed).to_pandas()
    counts = frame.groupby("household_id")["marital_status"].value_counts().unstack(fill_value=0)
    for status in {"married", "cohabiting"} & set(counts):
        assert counts[status].isin([0, 2]).all()
    assert (frame["age"] >= 18).groupby(frame["household_id"]).any().all()


def test_same_arguments_give_the_same_table():
    first, second = (make_households(3000, seed=5, null_rate=0.2) for _ in range(2))
    assert first.equals(second)
    assert not first.equals(make_households(3000, seed=6, null_rate=0.2))


def test_table_is_the_one_of_other_machines():
    # A known answer, so that a change of machine or of numpy that alters the draws is noticed.
    table = make_households(2000, seed=0)
    assert list(table.slice(5, 1).to_pylist()[0].values()) == [
        *("Søren U. N. Woodlow", "Lindholm", "26679", date(1955, 4, 5), 68, "male"),
        *("lower secondary", "retired", "single", 1006247, 1),
        *(26240.12, 101077.7, "I10", 203.7931),
    ]
    cents = {name: np.rint(table[name].to_numpy() * 100).sum() for name in ("income", "assets")}
    assert cents == {"income": 5_648_321_106, "assets": 27_014_522_374}


@pytest.mark.parametrize("null_rate", [0.02, 0.3, 0.9])
def test_null_rates_hold_in_each_column_independently(null_rate):
    n = 40_000
    table = make_households(n, seed=2, null_rate=null_rate)
    assert table.schema == SCHEMA
    masks = {name: table[name].is_null().to_numpy() for name in set(SCHEMA.names) - NEVER_NULL}
    error = 5 * np.sqrt(null_rate * (1 - null_rate) / n)
    for mask in masks.values():
        assert mask.mean() == pytest.approx(null_rate, abs=error)
    both = (masks["income"] & masks["age"]).mean()
    assert both == pytest.approx(null_rate**2, abs=error)
    for name in NEVER_NULL:
        assert table[name].null_count == 0
    for name in ("income", "assets"):
        assert not pc.any(pc.is_nan(table[name])).as_py()


def test_cells_left_do_not_depend_on_the_null_rate():
    whole, holed = make_households(5000, seed=3), make_households(5000, seed=3, null_rate=0.4)
    for name in SCHEMA.names:
        kept = holed[name].is_valid()
        assert holed[name].filter(kept).equals(whole[name].filter(kept))


@pytest.mark.parametrize("n", [0, -3])
def test_rejects_a_size_below_one(n):
    with pytest.raises(ValueError, match=f"n is {n}, .* at least 1 row"):
        make_households(n)


@pytest.mark.parametrize("null_rate", [-0.1, 1.0, 2.0, float("nan")])
def test_rejects_a_null_rate_out_of_range(null_rate):
    with pytest.raises(ValueError, match=r"null_rate is .* at least 0 and below 1\.$"):
        make_households(10, null_rate=null_rate)


def test_age_is_that_on_the_reference_date(people):
    born = pd.to_datetime(people["birth_date"])
    first_of_january = (born.dt.month == 1) & (born.dt.day == 1)
    assert first_of_january.any()
    assert (people["age"] == 2024 - born.dt.year - ~first_of_january).all()
    assert people["age"].between(0, 103).all()


def test_rows_of_a_household_are_neighbours_and_share_its_columns(people):
    ids = people["household_id"]
    assert (ids != ids.shift()).sum() == ids.nunique()
    shared = people.groupby("household_id")[["region", "postcode", "weight", "household_size"]]
    assert (shared.nunique() == 1).all(axis=None)


def test_household_id_tells_nothing_about_the_order(people):
    ids = people["household_id"].drop_duplicates().to_numpy()
    assert abs(spearmanr(ids, np.arange(len(ids))).statistic) < 0.03


def test_names_are_nearly_unique_and_differ_within_a_household(people):
    assert people["name"].nunique() > 0.99 * len(people)
    first_names = people["name"].str.split().str[0]
    pairs = pd.DataFrame({"home": people["household_id"], "first": first_names})
    assert not pairs.duplicated().any()


def test_postcodes_are_text_and_nested_in_regions(people):
    assert people["postcode"].str.fullmatch(r"\d{5}").all()
    assert people.groupby("postcode")["region"].nunique().eq(1).all()
    zeros = people["postcode"].str.startswith("0")
    assert set(people.loc[zeros, "region"]) == {"Vessmark"}
    sizes = people["postcode"].value_counts()
    assert 500 < len(sizes) < 3000
    assert sizes.iloc[0] > 20 * sizes.median()


def test_couples_are_two_of_close_age_and_mostly_of_different_sex(people, couples):
    in_couple = people["marital_status"].isin(["married", "cohabiting"]).sum()
    assert 2 * len(couples) == in_couple
    assert (couples["marital_status"] == couples["marital_status_2"]).all()
    assert couples[["age", "age_2"]].min(axis=None) >= 18
    gap = (couples["age"] - couples["age_2"]).abs()
    assert gap.median() <= 4
    assert gap.quantile(0.99) <= 12
    assert 0.9 < (couples["sex"] != couples["sex_2"]).mean() < 1


def test_children_are_single_and_18_to_45_years_younger_than_the_mother(people, couples):
    children = people[people["age"] < 18]
    assert (children["marital_status"] == "single").all()
    assert (children["income"] == 0).all()
    assert children["occupation"].isin(["child", "pupil"]).all()
    mixed = couples[couples["sex"] != couples["sex_2"]]
    mother = mixed["age"].where(mixed["sex"] == "female", mixed["age_2"])
    father = mixed["age_2"].where(mixed["sex"] == "female", mixed["age"])
    parents = pd.DataFrame({"household_id": mixed["household_id"], "m": mother, "f": father})
    pairs = children.merge(parents, on="household_id")
    assert len(pairs) > 10_000
    assert (pairs["m"] - pairs["age"]).between(18, 45).all()
    assert (pairs["f"] - pairs["age"]).min() >= 17


def test_education_follows_age_and_period(people, adults):
    assert set(people["education"]) == set(LEVELS)
    level = people["education"].map(LEVELS.index)
    assert level[people["age"] < 12].max() == 0
    assert level[people["age"] < 22].max() < LEVELS.index("bachelor")
    high = adults["education"].map(LEVELS.index) >= LEVELS.index("bachelor")
    assert high[adults["age"] < 45].mean() > 2 * high[adults["age"] > 75].mean()


def test_occupation_follows_education_and_age(people, adults):
    assert (adults.loc[adults["age"] >= 70, "occupation"] == "retired").all()
    assert not (people.loc[people["age"] < 58, "occupation"] == "retired").any()
    physicians = people.loc[people["occupation"] == "physician", "education"]
    assert set(physicians) == {"bachelor", "master", "doctorate"}
    assert people["occupation"].nunique() >= 16


def test_income_rises_with_education_and_has_a_heavy_tail(people):
    grown = people[people["age"] >= 18]
    rank = grown["education"].map(LEVELS.index)
    assert spearmanr(rank, grown["income"]).statistic > 0.25
    paid = people.loc[people["income"] > 0, "income"]
    assert paid.max() > 20 * paid.median()
    assert (people["income"] >= 0).all()
    assert 0.01 < (grown["income"] == 0).mean() < 0.15


def test_assets_have_zeros_debts_and_a_very_heavy_tail(people, adults):
    assets = adults["assets"]
    assert 0.15 < (assets == 0).mean() < 0.4
    assert 0.05 < (assets < 0).mean() < 0.25
    assert assets.max() > 1000 * assets[assets > 0].median()
    assert spearmanr(adults["age"], assets).statistic > 0.25
    assert spearmanr(adults["income"], assets).statistic > 0.1
    assert not np.signbit(people["assets"][people["assets"] == 0]).any()


def test_amounts_have_the_promised_decimals(people):
    for name, decimals in {"income": 2, "assets": 2, "weight": 4}.items():
        assert (people[name].round(decimals) == people[name]).all()


def test_diseases_are_mostly_none_rise_with_age_and_some_are_very_rare(people):
    counts = people["disease"].value_counts()
    assert counts["none"] > 0.6 * len(people)
    assert (counts < 20).sum() >= 3
    ill = people["disease"] != "none"
    shares = ill.groupby(pd.cut(people["age"], [-1, 17, 39, 59, 74, 110]), observed=True).mean()
    assert shares.is_monotonic_increasing
    assert (people.loc[people["disease"] == "C50", "sex"] == "female").all()
    assert (people.loc[people["disease"] == "C61", "sex"] == "male").all()


def test_weights_vary_with_region_and_household_size(people):
    assert people["weight"].between(10, 300).all()
    by_region = people.groupby("region")["weight"].mean()
    assert by_region.max() > 5 * by_region.min()
    one_region = people[people["region"] == "Ostara"]
    by_size = one_region.groupby(one_region["household_size"].clip(upper=4))["weight"].mean()
    assert by_size.is_monotonic_decreasing


@pytest.mark.slow
def test_a_million_rows_take_under_five_seconds():
    within(5, lambda: make_households(1_000_000))


def test_the_weight_of_a_survey_gives_the_region_away():
    people = make_households(15_000, seed=4, survey=True).to_pandas()
    assert people["weight"].nunique() == 72
    assert (people.groupby("weight")["region"].nunique() == 1).all()
    plain = make_households(15_000, seed=4).to_pandas()
    others = [name for name in plain if name != "weight"]
    pd.testing.assert_frame_equal(people[others], plain[others])


def test_the_income_of_a_surveyed_household_is_that_of_its_members():
    people = make_households(15_000, seed=4, survey=True).to_pandas()
    homes = people.groupby("household_id")
    assert (homes["household_income"].nunique() == 1).all()
    assert np.allclose(homes["income"].transform("sum"), people["household_income"])
    assert (people["income"] == 0).mean() > 0.2
