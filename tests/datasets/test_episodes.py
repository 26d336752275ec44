"""What `make_episodes` promises: several rows a person, sameness, and what a clinic would keep."""

from datetime import date

import pandas as pd
import pyarrow as pa
import pytest

from discreet.datasets import make_episodes
from tests.timed import within

SCHEMA = pa.schema(
    {
        "patient_id": pa.int64(),
        "clinic_name": pa.string(),
        "sex": pa.string(),
        "birth_year": pa.int64(),
        "visit_date": pa.date32(),
        "diagnosis": pa.string(),
        "days": pa.int64(),
        "cost": pa.float64(),
    }
)


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return make_episodes(10_000, seed=1).to_pandas()


@pytest.mark.parametrize("persons", [1, 2, 1000])
def test_has_as_many_persons_as_asked_for_and_no_nulls(persons):
    table = make_episodes(persons, seed=persons)
    assert table.schema == SCHEMA
    assert all(column.null_count == 0 for column in table.columns)
    assert len(table["patient_id"].unique()) == persons


def test_persons_have_about_seven_rows_and_some_have_one(visits):
    rows = visits.groupby("patient_id").size()
    assert 6.5 < rows.mean() < 7.5
    assert (rows == 1).mean() > 0.02
    assert rows.max() > 40


def test_rows_of_a_person_are_neighbours_in_order_of_their_dates(visits):
    persons = visits["patient_id"]
    assert (persons != persons.shift()).sum() == persons.nunique()
    assert (visits.groupby("patient_id")["visit_date"].diff().dropna() > pd.Timedelta(0)).all()


def test_sex_and_birth_year_are_constant_and_diagnoses_are_not(visits):
    values = visits.groupby("patient_id").nunique()
    assert (values[["sex", "birth_year"]] == 1).all(axis=None)
    assert (values["diagnosis"] > 1).mean() > 0.6
    assert (values["clinic_name"] > 1).mean() > 0.1


def test_subject_numbers_are_mostly_consecutive(visits):
    steps = visits["patient_id"].drop_duplicates().diff().dropna()
    assert (steps > 0).all()
    assert 0.9 < (steps == 1).mean() < 1


def test_longer_stays_cost_more(visits):
    assert visits["days"].between(0, 120).all()
    assert visits[["days", "cost"]].corr(method="spearman").loc["days", "cost"] > 0.7
    assert (visits["cost"].round(2) == visits["cost"]).all()


def test_table_is_the_one_of_other_machines():
    # A known answer, so that a change of machine or of numpy that alters the draws is noticed.
    table = make_episodes(1000)
    assert table.equals(make_episodes(1000))
    assert not table.equals(make_episodes(1000, seed=1))
    assert table.num_rows == 6627
    assert list(table.slice(6, 1).to_pylist()[0].values()) == [
        *(200003, "Brookstad Clinic", "female", 1943, date(2020, 4, 17), "F32", 3, 2059.36)
    ]


def test_rejects_less_than_one_person():
    with pytest.raises(ValueError, match="persons is 0, but a table needs at least 1: give more"):
        make_episodes(0)


@pytest.mark.slow
def test_a_million_rows_take_under_five_seconds():
    assert within(5, lambda: make_episodes(143_000)).num_rows > 1_000_000
