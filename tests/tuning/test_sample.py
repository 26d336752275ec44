"""A sample to search with: whole units, over all strata, the same on every engine."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.datasets import make_households
from discreet.engines.choice import open_engine
from discreet.recipe import Roles
from discreet.table import write_table
from discreet.tuning.sample import stratified_sample

QUASI = Roles(quasi=["sex", "region", "age"], confidential=["income"])


@pytest.fixture(scope="module")
def people():
    return make_households(6_000, seed=3)


def sampled(table, roles=QUASI, engine="memory", **options):
    with open_engine(engine, table=table) as opened:
        return stratified_sample(opened.read(table, list), roles, **options)


def test_strata_have_their_share(people):
    sample = sampled(people, rows=600)
    assert sample.num_rows == 600
    for name in ("sex", "region"):
        for value in pc.unique(people[name]).to_pylist():
            share = np.mean([one == value for one in people[name].to_pylist()])
            there = np.mean([one == value for one in sample[name].to_pylist()])
            assert there == pytest.approx(share, abs=0.012)
    mean, whole = (np.nanmean(table["age"].to_numpy()) for table in (sample, people))
    assert mean == pytest.approx(whole, rel=0.05)


def test_it_goes_by_the_seed_and_keeps_the_order(people):
    numbered = people.append_column("n", pa.array(range(6_000)))
    sample = sampled(numbered, rows=500, seed=1)
    assert sample == sampled(numbered, rows=500, seed=1)
    assert sample != sampled(numbered, rows=500, seed=2)
    assert sample != sampled(numbered, rows=500, seed=2**70)
    places = sample["n"].to_pylist()
    assert places == sorted(places)


def test_households_are_whole(people):
    roles = Roles(quasi=["sex"], household="household_id")
    sample = sampled(people, roles, rows=500)
    assert 400 < sample.num_rows < 600
    homes = set(sample["household_id"].to_pylist())
    assert sample.num_rows == sum(home in homes for home in people["household_id"].to_pylist())


def test_rows_without_a_household_stand_alone():
    table = pa.table({"home": [None] * 100 + list(range(100)), "sex": ["f", "m"] * 100})
    sample = sampled(table, Roles(quasi=["sex"], household="home"), rows=50)
    assert sample.num_rows == 50
    assert 10 < sample["home"].null_count < 40


def test_a_small_table_is_taken_whole(people):
    assert sampled(people, rows=6_000).equals(people)


def test_engines_give_some_of_their_rows(people, tmp_path):
    path = tmp_path / "people.parquet"
    write_table(people, path)
    roles = Roles(quasi=["sex"], household="household_id")
    sample = sampled(path, roles, "duckdb", rows=300)
    assert 200 < sample.num_rows < 400
    homes = set(sample["household_id"].to_pylist())
    assert sample.num_rows == sum(home in homes for home in people["household_id"].to_pylist())
    assert sample.equals(sampled(path, roles, "duckdb", rows=300))


def test_a_relation_whose_rows_have_no_order_gives_the_same_sample(people):
    given = people.select(["sex", "region", "age", "income"])
    relation = duckdb.from_arrow(given)
    other = duckdb.from_arrow(given.take(pa.array(np.arange(6_000)[::-1])))
    sample = sampled(relation, engine="duckdb", rows=300)
    assert sample.num_rows == 300
    assert sample.equals(sampled(other, engine="duckdb", rows=300))
