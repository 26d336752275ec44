"""The risk of a table as it is: the figures of the measures, on every engine."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import risk_of, write_table
from discreet.errors import BadInput
from discreet.inspection import raw
from discreet.risk import class_sizes, suda2

PEOPLE = pa.table({
    "age": [31, 31, 45, 46, 46, 46], "sex": ["f", "f", "m", "f", "f", None],
    "town": ["Ulm", "Ulm", "Bern", "Ulm", "Ulm", "Ulm"],
    "pay": [1.0, 2.0, 3.0, 9.0, 9.0, 5.0], "w": [10.0, 10.0, 2.0, 10.0, 10.0, 4.0],
    "home": [1, 1, 2, 3, 3, 4],
})  # fmt: skip
KEYS = ["age", "sex", "town"]
ROLES = {"quasi": KEYS, "confidential": ["pay"], "weight": "w"}


@pytest.fixture(params=["memory", "duckdb"])
def measured(request, tmp_path):
    def measured(table, roles, **more):
        if request.param == "memory":
            return risk_of(table, roles, **more)
        write_table(table, tmp_path / "people.parquet")
        return risk_of(tmp_path / "people.parquet", roles, engine="duckdb", **more)

    measured.whole = request.param == "memory"
    return measured


def test_the_figures_are_those_of_the_measures(measured):
    found = measured(PEOPLE, ROLES)
    sizes = found.risk["class_sizes"]
    assert sizes["unique"] == class_sizes(PEOPLE, KEYS).unique == 2
    assert (sizes["under_3"], sizes["classes"], sizes["records"]) == (6, 4, 6)
    assert found.risk["attackers"]["prosecutor"] == 1
    assert found.risk["individual_risk"]["basis"] == "sampling weights"
    assert found.risk["diversity"]["pay"]["l"] == 1
    assert found.combinations[0]["unique"] == pytest.approx(2 / 6)
    assert {one["column"] for one in found.drivers} == {*KEYS}
    assert json.loads(found.to_json())["rows"] == 6
    if measured.whole:
        assert found.left_out == {}
        assert found.risk["suda2"]["largest_dis"] == pytest.approx(suda2(PEOPLE, KEYS))
        assert {one["row"] for one in found.riskiest[:2]} == {3, 6}
    else:
        assert found.left_out.keys() == {"suda2"}
        assert found.riskiest is None


def test_units_are_counted_where_they_are_named(measured):
    found = measured(PEOPLE, {"quasi": ["age"], "household": "home"})
    assert found.counts == "households"
    # Ages 31 and 45 are each in one household, 46 in two.
    assert (found.risk["class_sizes"]["unique"], found.risk["class_sizes"]["records"]) == (2, 4)
    assert dict(found.lines())["unique"] == "2 households (50 %)"


def test_the_k_of_a_recipe_is_counted_and_its_steps_are_not_run():
    step = {"method": "mondrian", "columns": ["age"], "privacy": [{"model": "k-anonymity", "k": 3}]}
    found = risk_of(PEOPLE, {"roles": {"quasi": ["age"]}, "steps": [step]})
    assert found.risk["class_sizes"]["k"] == 3
    assert dict(found.lines())["under k = 3"] == "3 records (50 %)"


@pytest.mark.parametrize("n", [1, 2])
def test_small_tables(measured, n):
    found = measured(PEOPLE.slice(0, n), ROLES)
    assert found.risk["class_sizes"]["records"] == n
    assert str(found)


def test_a_page_has_at_most_23_lines():
    rng = np.random.default_rng(1)
    names = [f"key {i}" for i in range(9)]
    secret = [f"secret {i}" for i in range(9)]
    table = pa.table({name: rng.integers(0, 9, 300) for name in names + secret})
    found = risk_of(table, {"quasi": names, "confidential": secret})
    assert len(found.lines()) <= 18
    assert len(found.lines(records=True)) <= 23
    assert ("", "6 more columns, with --json") in found.lines()
    assert sum(said.startswith("row ") for _, said in found.lines(records=True)) == 10


def test_special_uniques_that_take_too_long_are_left_out(monkeypatch):
    monkeypatch.setattr(raw, "MOST_FOR_SUDA", 47)
    assert risk_of(PEOPLE, ROLES).left_out["suda2"] == (
        "it looks at 8 sets of columns in 6 records; take fewer columns"
    )


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"confidential": ["pay"]}, "there is no quasi column; name what an intruder may know"),
        ({"quasi": ["aeg"]}, "the table has no column 'aeg'; did you mean 'age'?"),
        ({"quasi": ["age"], "weight": "sex"}, ""),
    ],
)
def test_what_is_refused(roles, said):
    with pytest.raises(BadInput) as error:
        risk_of(PEOPLE, roles)
    assert str(error.value).startswith(said)
