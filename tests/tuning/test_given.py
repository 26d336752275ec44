"""Steps that a search recipe gives, with lists of values to choose from."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import BadInput
from discreet.tuning.given import given_parts


def oma(*columns: str, **given: Any) -> dict[str, Any]:
    return {"method": "oma", "columns": list(columns), **given}


def test_a_step_without_lists_is_one_option() -> None:
    [part] = given_parts([oma("pay", "rent", k=5)])
    assert part.columns == ("pay", "rent")
    assert not part.joint
    assert [option.steps for option in part.options] == [({"method": "oma", "k": 5},)]


def test_two_lists_are_all_combined() -> None:
    [part] = given_parts([oma("pay", k=[3, 5], objective=["l1", "l2"])])
    found = [(step["k"], step["objective"]) for option in part.options for step in option.steps]
    assert found == [(3, "l1"), (3, "l2"), (5, "l1"), (5, "l2")]
    assert part.options[1].words == "averaged in groups of 3 or more (objective = l2)"


def test_each_method_takes_the_parameters_that_it_knows() -> None:
    step = {"method": ["oma", "rank-swap"], "columns": ["pay"], "k": [3, 5], "p": 8}
    [part] = given_parts([step])
    assert [option.words for option in part.options] == [
        "averaged in groups of 3 or more",
        "averaged in groups of 5 or more",
        "swapped within 8 % of ranks",
    ]


def test_a_list_that_the_method_takes_is_no_choice() -> None:
    models = [{"model": "k-anonymity", "k": 5}]
    step = {"method": "mondrian", "columns": ["age", "sex"], "privacy": models}
    [one] = given_parts([step])
    assert len(one.options) == 1
    assert one.joint
    assert one.options[0].alone
    more = [models, [{"model": "k-anonymity", "k": 10}]]
    [two] = given_parts([step | {"privacy": more}])
    assert [option.steps[0]["privacy"] for option in two.options] == more


def test_steps_that_share_columns_are_one_part_and_keep_their_own() -> None:
    steps = [
        oma("pay", "rent", k=[3, 5], promise=False),
        oma("age", k=4),
        {"method": "rank-swap", "columns": ["rent"], "p": [5, 10]},
    ]
    age, both = given_parts(steps)
    assert (age.columns, both.columns) == (("age",), ("pay", "rent"))
    assert len(both.options) == 4
    first, second = both.options[0].steps
    assert "columns" not in first
    assert second["columns"] == ["rent"]


def test_equal_values_are_tried_once() -> None:
    [part] = given_parts([oma("pay", k=[3, 3, 5])])
    assert len(part.options) == 2


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            [oma("pay", k=list(range(2, 300)))],
            "step 1 has 298 combinations of values; list fewer, 200 at most",
        ),
        (
            [
                oma("pay", k=list(range(2, 32)), promise=False),
                {"method": "rank-swap", "columns": ["pay"], "p": list(range(1, 31))},
            ],
            "steps 1 and 2 have 900 combinations of values; list fewer, 200 at most",
        ),
        ([oma("pay", k=[])], "step 1: k is an empty list; name one value at least"),
        ([oma("pay", method=[])], "step 1: method is an empty list; name one at least"),
        ([oma("pay", kk=3)], "step 1 (oma): unknown key 'kk'; did you mean 'k'?"),
        ([oma("pay", method="omo")], "step 1: there is no method 'omo'; did you mean 'oma'?"),
        ([{"columns": ["pay"]}], "step 1 has no method"),
        (["oma"], "step 1 must be a table with a method and columns, not 'oma'"),
        ("oma", "steps must be a list of steps, not 'oma'"),
        ([{"method": "oma", "k": 3}], "the recipe: step 1 (oma): 'columns' is missing"),
    ],
)
def test_what_cannot_be_used_is_told(steps: Any, said: str) -> None:
    with pytest.raises(BadInput) as error:
        given_parts(steps)
    assert str(error.value) == said


def test_a_bad_value_in_a_list_is_told_with_its_step() -> None:
    with pytest.raises(BadInput, match=r"^the recipe: step 1 \(oma\): .*k"):
        given_parts([oma("pay", k=[3, -1])])
