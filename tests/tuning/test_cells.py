"""Released cells of parts against the whole flow."""

from dataclasses import replace

import pytest

from discreet.flow.protection import prepare
from discreet.recipe.recipe import Recipe
from discreet.tuning.cells import Released
from discreet.tuning.space import Option, Part, Space
from tests.tuning.test_judge import a_task

# Without chance, whose draws go by the recipe.
SETTLED = [(0, 0, 0, 0, 0), (1, 0, 0, 2, 0), (1, 1, 0, 0, 1), (4, 4, 0, 0, 1)]


@pytest.mark.parametrize("choice", SETTLED)
def test_parts_put_together_are_what_the_whole_recipe_releases(choice):
    task = a_task()
    whole = prepare(task.table, Recipe.from_dict(task.space.recipe(choice)), "memory")
    assert Released(task).table(choice, 7).equals(whole.finished.table)


def test_chance_goes_by_the_seed_alone():
    one, other = Released(a_task()), Released(a_task())
    assert one.cells(0, 2, 1)["income"] == other.cells(0, 2, 1)["income"]
    assert one.cells(0, 2, 1)["income"] != one.cells(0, 2, 2)["income"]
    assert one.cells(0, 1, 1)["income"] == one.cells(0, 1, 2)["income"]


def test_cells_that_are_kept_are_counted_once():
    released = Released(a_task())
    for seed in (1, 2, 1):
        # Of the columns that are made together only some are still there.
        if released._kept:
            released._bytes -= released._kept.popitem(last=False)[1][1]
        released.cells(0, 2, seed)
        assert released._bytes == sum(size for _, size in released._kept.values())


def test_what_is_dropped_has_no_cells():
    released = Released(a_task())
    assert released.cells(0, 4, 1) == {}
    assert "income" not in released.table((4, 0, 0, 0, 0), 1).column_names


def test_joint_parts_come_after_those_of_their_columns():
    released = Released(a_task())
    found = released.joint((0, 1, 0, 0, 1), 1)
    assert set(found) == {"age", "region", "sex"}
    blanked = sum(cells.null_count for cells in found.values())
    assert blanked > 0
    assert released.joint((0, 1, 0, 0, 0), 1) == {}


@pytest.mark.parametrize("columns", [("age", "region", "sex"), ("age", "region")])
def test_suppressed_records_concern_all_columns_that_they_do_in_the_flow(columns):
    task = a_task()
    k = {"model": "k-anonymity", "k": 4}
    step = {"method": "generalize", "privacy": [k], "suppression_limit": 0.3}
    step["hierarchies"] = {name: {"kind": "auto"} for name in columns}
    joint = Part(columns, (Option(), Option((step,))), joint=True)
    space = Space((*task.space.parts[:4], joint), task.space.base)
    released = Released(replace(task, space=space))
    choice = (1, 0, 0, 0, 1)
    whole = prepare(task.table, Recipe.from_dict(space.recipe(choice)), "memory")
    assert whole.plan["suppressed"]["records"] > 0
    assert released.table(choice, 7).equals(whole.finished.table)


@pytest.mark.parametrize("choice", [(0, 0, 0, 0, 1), (1, 0, 0, 0, 1), (0, 4, 0, 0, 1)])
def test_what_is_for_the_rest_is_made_of_the_columns_that_are_left(choice):
    task = a_task()
    option = Option(({"method": "microaggregation", "k": 4},), rest=True)
    joint = Part(("income", "age"), (Option(), option), joint=True)
    space = Space((*task.space.parts[:4], joint), task.space.base)
    whole = prepare(task.table, Recipe.from_dict(space.recipe(choice)), "memory")
    assert Released(replace(task, space=space)).table(choice, 7).equals(whole.finished.table)
