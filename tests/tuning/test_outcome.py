"""What became of columns that were treated together."""

import pyarrow as pa
import pytest

from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.tuning.outcome import outcome, outcome_words
from discreet.tuning.search import search

BEFORE = pa.table({"age": [31, 34, 58, None], "job": ["a", "b", "c", "d"]})


def came(method, age, job, **more):
    after = pa.table({"age": age, "job": job})
    return outcome_words(outcome({"method": method, **more}, ["age", "job"], BEFORE, after))


def test_levels_are_told_by_their_width_and_by_their_number():
    ages = ["30-39", "30-39", "50-59", None]
    assert came("generalize", ages, ["ab", "ab", "cd", "cd"]) == (
        "age in 10-year groups, job in 2 groups"
    )


def test_what_has_nothing_left_comes_last():
    gone = came("generalize", ["*", "*", "*", None], ["a", "b", "c", "d"])
    assert gone == "job unchanged, age all * (nothing left)"


def test_records_that_lost_a_value_are_told_as_a_share():
    found = came("mondrian", ["31-34", "31-34", "58", None], ["*", "b", "c", "d"])
    assert found == "age with 2 labels, job 25 % *"


def test_blanks_are_told_as_a_share():
    found = came("local-suppression", [31, 34, 58, None], ["a", None, None, "d"])
    assert found == "age no blanks, job 50 % blank"
    assert came("local-suppression", [None] * 4, ["a", "b", "c", "d"]) == (
        "job no blanks, age all blank (nothing left)"
    )


def test_other_methods_and_columns_that_are_gone_are_not_told_of():
    assert outcome({"method": "microaggregation"}, ["age"], BEFORE, BEFORE) == {}
    assert outcome({"method": "generalize"}, ["age"], BEFORE, BEFORE.select(["job"])) == {}


def test_a_search_tells_what_became_of_the_keys_and_what_k_counts():
    people = make_households(200, seed=2)
    roles = {"quasi": ["sex", "age"], "household": "household_id", "rest": "drop"}
    roles["release_household"] = False
    demanded = [{"model": "k-anonymity", "k": 5}]
    front = search(people, {"roles": roles}, privacy=demanded, evaluations=6, quick=True)
    assert 1 <= len(front.points) <= 4
    said = [word for point in front.points for word in point.words]
    assert any("5 or more households share" in word and ": " in word for word in said)
    assert "pmse" not in front.points[0].measures


def test_a_recipe_that_leaves_nothing_to_search_is_refused():
    people = make_households(50, seed=2)
    step = {"method": "rank-swap", "columns": ["age"], "p": 5}
    recipe = {"roles": {"quasi": ["age"], "rest": "drop"}, "steps": [step]}
    with pytest.raises(BadInput, match="the steps of the recipe leave nothing to search; take out"):
        search(people, recipe, evaluations=3)
