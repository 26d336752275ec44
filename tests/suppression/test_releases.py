"""Local suppression in recipes: after and beside other steps, with units, again from its log."""

import pytest

import discreet
from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.recipe import Recipe

KEYS = ["region", "age", "sex"]
PEOPLE = make_households(600, seed=5, null_rate=0.02)
# Little is gained by more moves here.
BLANKS = {"method": "local-suppression", "columns": KEYS, "k": 3, "improve_moves": 100}
AGES = {
    "method": "generalize",
    "columns": ["age", "region"],
    "privacy": [{"model": "k-anonymity", "k": 10}],
    "suppression_limit": 0.1,
    "hierarchies": {"age": {"kind": "intervals", "widths": [5, 10]}, "region": {"kind": "auto"}},
}


def rules(*steps, **more):
    roles = {"identifiers": ["name"], "quasi": KEYS, "confidential": ["disease"], "rest": "drop"}
    roles |= more.pop("roles", {})
    return {
        "seed": 2**100 + 5,
        "order_seed": 2**100 + 7,
        "allow_leaks": KEYS,
        "roles": roles,
        "steps": list(steps),
        **more,
    }


def smallest(release, columns=KEYS):
    table = release.released.native()
    return min(table.group_by(columns).aggregate([([], "count_all")])["count_all"].to_pylist())


def test_columns_are_recoded_a_little_and_then_blanked():
    release = discreet.protect(PEOPLE, rules(AGES | {"promise": False}, BLANKS))
    assert release.check.verified
    told = release.log["steps"][1]
    assert 0 < told["cells"] < PEOPLE.num_rows
    assert told["found_for_certain"] == 0
    # What the first step suppressed is left out, since the second counts on all that it sees.
    gone = release.log.get("suppressed", {}).get("left_out", 0)
    assert release.log.get("suppressed", {}).get("records", 0) == gone


def test_records_that_are_left_out_are_missing_in_no_other_class():
    few = {**BLANKS, "columns": ["sex", "education"], "fixed": ["sex"], "k": 40}
    steps = [few | {"record_cost": 0.5}, {**AGES, "suppression_limit": 0.0}]
    keys = [*KEYS, "education"]
    release = discreet.protect(PEOPLE, rules(*steps, roles={"quasi": keys}))
    assert release.check.verified
    assert release.log["suppressed"]["left_out"] > 0


def test_a_step_after_it_must_leave_its_columns_alone():
    later = {"method": "top-bottom", "columns": ["age"], "upper": 80}
    with pytest.raises(BadInput, match="would alter 'age' after step 1 \\(local-suppression\\)"):
        Recipe.from_dict(rules(BLANKS, later))


def test_linked_rows_are_refused():
    roles = {"unit": "household_id", "pseudonyms": ["household_id"]}
    with pytest.raises(BadInput, match="does not protect what rows that are linked by 'househo"):
        Recipe.from_dict(rules(BLANKS, roles=roles))


@pytest.mark.parametrize("counts", ["rows", "households"])
def test_a_rerun_of_the_kept_recipe_gives_the_same_bytes(counts, tmp_path):
    budget = BLANKS | {"improve_moves": None, "improve": 0.05}
    roles = {"household": "household_id", "release_household": False}
    first = discreet.protect(PEOPLE, rules(budget, counts=counts, roles=roles))
    kept = first.recipe.steps[0]
    assert kept.improve is None
    assert kept.improve_moves == first.log["steps"][0]["moves"]
    again = discreet.protect(PEOPLE, first.recipe)
    assert again.table.equals(first.table)
    first.save(tmp_path / "out")
    found = discreet.check_release(
        tmp_path / "out/public/table.csv", first.recipe, tmp_path / "out/internal", PEOPLE
    )
    assert found.verified, found


def test_weights_are_looked_at_and_not_released():
    risk = {"k": None, "max_risk": 0.2, "risk": "individual", "weight": "weight"}
    release = discreet.protect(PEOPLE, rules(BLANKS | risk, roles={"weight": "weight"}))
    assert "weight" not in release.table.column_names
    assert any("a risk of 0.2 at most (individual" in f.promise for f in release.check.findings)


def test_classes_are_diverse_where_that_is_asked_for():
    models = [{"model": "l-diversity", "l": 2, "column": "disease"}]
    release = discreet.protect(PEOPLE, rules(BLANKS | {"privacy": models}))
    assert release.check.verified
    table = release.table.to_pandas()
    classes = table.groupby(KEYS, dropna=False)["disease"]
    assert classes.nunique().min() >= 2
    assert classes.size().min() >= 3


def test_subsets_by_size_survive_the_file(tmp_path):
    step = {**BLANKS, "k": None, "subsets": {"1": 10, "2": 5}}
    recipe = Recipe.from_dict(rules(step))
    assert recipe.steps[0].subsets == {1: 10, 2: 5}
    recipe.dump(tmp_path / "recipe.toml")
    assert Recipe.load(tmp_path / "recipe.toml") == recipe
    release = discreet.protect(PEOPLE, recipe)
    assert smallest(release, ["age"]) >= 10
    assert smallest(release, ["age", "sex"]) >= 5


def test_two_steps_may_leave_records_out():
    one = {**BLANKS, "columns": ["region", "age"], "record_cost": 1.5}
    other = {**BLANKS, "columns": ["sex", "education"], "k": 60, "record_cost": 0.9}
    release = discreet.protect(PEOPLE, rules(one, other, roles={"quasi": [*KEYS, "education"]}))
    assert release.check.verified
    assert release.log["suppressed"]["left_out"] > 0


def test_nothing_to_blank_is_written_and_checked_too(tmp_path):
    step = {**BLANKS, "columns": ["sex"], "k": 2}
    roles = {"quasi": KEYS, "untouched": ["region", "age"]}
    release = discreet.protect(PEOPLE, rules(step, roles=roles))
    assert release.log["steps"][0]["cells"] == 0
    release.save(tmp_path / "out")  # which checks what was written
    assert release.check.verified
