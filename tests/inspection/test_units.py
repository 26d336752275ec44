"""Tables with several records a person: who they are is found, proposed, and not released."""

import numpy as np
import pyarrow as pa
import pytest

from discreet import Recipe, inspect
from discreet.datasets import make_episodes, make_households
from discreet.errors import BadInput
from discreet.inspection.proposal import propose


@pytest.fixture(scope="module")
def visits():
    return make_episodes(800, seed=3)


def renamed(table, **names):
    return table.rename_columns([names.get(name, name) for name in table.column_names])


def test_the_subject_number_is_the_unit_and_no_amount(visits):
    roles = inspect(visits).roles
    assert (roles["patient_id"].role, roles["patient_id"].sure) == ("unit", True)
    assert [name for name, guess in roles.items() if guess.role == "identifiers"] == []
    assert roles["clinic_name"].role == "quasi"


def test_a_recipe_says_who_is_counted(visits):
    proposal = propose(inspect(visits))
    roles = proposal.recipe.roles
    assert roles.unit == "patient_id"
    assert proposal.recipe.counted == "patient_id"
    assert "patient_id" not in roles.released(visits.column_names)
    assert (
        'counts = "units"  # k counts the values of "patient_id": a person with many records is'
        in proposal.text
    )
    assert "until k people or more share each combination" in proposal.text
    assert "the mean of at least k people" in proposal.text


def test_households_are_counted_and_rows_where_there_is_nothing_else():
    people = make_households(1000, seed=1)
    text = propose(inspect(people)).text
    assert 'counts = "households"  # k counts the values of "household_id": who knows' in text
    plain = propose(inspect(people.drop_columns(["household_id"])))
    assert 'counts = "rows"  # k counts records: each is taken for a person' in plain.text
    holed = pa.array([None, *people["household_id"].to_pylist()[1:]])
    place = people.column_names.index("household_id")
    with pytest.raises(BadInput) as error:
        propose(inspect(people.set_column(place, "household_id", holed)))
    assert str(error.value) == (
        "'household_id' says whose each row is (household), but 1 of 1,000 rows have none; fill it "
        "there or remove these rows, since counting rows instead would take each for a person"
    )


def test_a_unit_is_found_without_a_name_but_doubtful(visits):
    guess = inspect(renamed(visits, patient_id="v1")).roles["v1"]
    assert (guess.role, guess.sure) == ("unit", False)
    assert guess.reason == "other columns are the same in all records of each of its numbers"


def test_amounts_that_repeat_are_no_unit():
    rng = np.random.default_rng(1)
    table = make_households(3000, seed=2).drop_columns(["household_id"])
    table = table.append_column("points", pa.array(rng.integers(0, 500, 3000)))
    roles = inspect(table).roles
    assert [name for name, guess in roles.items() if guess.role == "unit"] == []
    assert roles["points"].reason == "a measured amount"


def test_what_goes_with_a_person_in_all_records_is_an_identifier(visits):
    numbers = visits["patient_id"].to_numpy()
    chips = pa.array(numbers * 7919 % 1_000_003)
    codes = pa.array([f"c{number * 7919 % 1_000_003}" for number in numbers])
    seen = inspect(visits.append_column("chip", chips).append_column("code", codes))
    for name in ("chip", "code"):
        assert seen.roles[name].role == "identifiers"
    assert seen.roles["chip"].reason == "it has a value of its own for each 'patient_id'"
    assert seen.roles["birth_year"].role == "quasi"


def test_of_two_units_one_is_kept(visits):
    both = visits.append_column("case_id", pa.array(np.arange(visits.num_rows) // 2))
    roles = inspect(both).roles
    assert sorted(roles[name].role for name in ("patient_id", "case_id")) == ["identifiers", "unit"]


def test_answers_settle_unit_household_and_weight(visits):
    seen = inspect(visits)
    recipe = propose(seen, {"clinic_name": "household", "days": "weight"}).recipe
    assert (recipe.roles.household, recipe.roles.weight) == ("clinic_name", "days")
    assert recipe.roles.unit == "patient_id"
    proposal = propose(seen, {"cost": "unit"})
    assert proposal.recipe.roles.unit == "cost"
    assert "# dropped: \"patient_id\": the unit is 'cost', as you said" in proposal.text
    with pytest.raises(BadInput, match="'cost' and 'days' cannot both be the unit; choose one"):
        propose(seen, {"cost": "unit", "days": "unit"})


def test_the_text_of_a_proposal_is_its_recipe(visits):
    proposal = propose(inspect(visits))
    assert Recipe.from_toml(proposal.text) == proposal.recipe
