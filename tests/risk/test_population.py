"""Population uniqueness as a measure: of a table, of a release, and on the command line."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet
from discreet.datasets import load_adult
from discreet.errors import BadInput
from discreet.inspection import risk_of
from discreet.risk import frequencies, population_uniqueness
from tests.risk.plain_population import PLAIN, of_sizes

COLUMNS = ["sex", "race", "education", "occupation"]
ROLES = {"quasi": ["age", "sex"], "insensitive": ["job"]}


def people(n=400):
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "age": np.round(draw.gamma(6, 8, n)).astype(int),
            "sex": draw.choice(["f", "m"], n).tolist(),
            "job": draw.choice(["a", "b"], n).tolist(),
        }
    )


@pytest.mark.parametrize("people", [317_238_626, 150_810])
def test_the_figures_are_the_papers(people):
    sizes = of_sizes(np.bincount(frequencies(load_adult(), COLUMNS).classes))
    found = population_uniqueness(load_adult(), COLUMNS, population=people)
    for name, plain in PLAIN.items():
        assert getattr(found, name) == pytest.approx(plain(*sizes, people), rel=1e-6)
    same = population_uniqueness(load_adult(), COLUMNS, sampling_fraction=30_162 / people)
    assert same.pitman == pytest.approx(found.pitman, rel=1e-9)


def test_an_assessment_takes_it_with_a_population(tmp_path):
    table = people()
    recipe = {
        "roles": ROLES,
        "steps": [
            {
                "method": "generalize",
                "columns": ["age", "sex"],
                "privacy": [{"model": "population-uniqueness", "share": 0.01, "population": 4_000}],
                "hierarchies": {
                    "age": {"kind": "intervals", "widths": [5, 10]},
                    "sex": {"kind": "flat"},
                },
            }
        ],
    }
    release = discreet.protect(table, recipe)
    own = release.assess().risk["population_uniqueness"]
    assert own["population"] == 4_000
    assert own["after"]["dankar"] <= 0.01 < own["before"]["dankar"]
    before = population_uniqueness(table, ["age", "sex"], population=4_000)
    assert own["before"] == {"dankar": before.dankar, **vars(before)}
    found = discreet.assess(table, release.table, ROLES, population=8_000)
    assert found.risk["population_uniqueness"]["population"] == 8_000
    without = discreet.assess(table, release.table, ROLES)
    assert "of how many people" in without.left_out["population_uniqueness"]
    release.save(tmp_path / "release")
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    kept = discreet.assess(table, tmp_path / "release", population=8_000)
    assert kept.risk["population_uniqueness"]["population"] == 8_000


def test_the_risk_of_a_table_tells_it():
    found = risk_of(people(), ROLES, population=4_000)
    expected = population_uniqueness(people(), ["age", "sex"], population=4_000)
    assert found.risk["population_uniqueness"]["zayatz"] == expected.zayatz
    assert "unique in the population  Dankar" in str(found)
    assert "population_uniqueness" not in risk_of(people(), ROLES).left_out


def test_a_recipe_may_name_the_population():
    recipe = {"roles": {"quasi": ["age", "sex"], "untouched": ["age", "sex"]}, "population": 4_000}
    found = discreet.assess(people(), people(), recipe)
    assert found.risk["population_uniqueness"]["population"] == 4_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give either population"),
        ({"population": 5}, "population = 5 is below the number of records, 400"),
        ({"sampling_fraction": 2.0}, "sampling_fraction must be above 0 and at most 1"),
    ],
)
def test_what_is_refused(given, said):
    with pytest.raises(BadInput, match=said):
        population_uniqueness(people(), ["age", "sex"], **given)
