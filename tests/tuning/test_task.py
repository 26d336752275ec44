"""What is searched, as a recipe and arguments say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.datasets import make_households
from discreet.errors import BadInput
from discreet.generalization import KAnonymity
from discreet.recipe import Recipe
from discreet.tuning.options import KEPT
from discreet.tuning.space import Part
from discreet.tuning.task import Bound, Task, read_task

PEOPLE = make_households(300, seed=1)
ROLES: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi": ["age", "sex", "region"],
    "confidential": ["income", "assets", "disease"],
    "insensitive": ["occupation"],
    "rest": "drop",
}


def task_of(recipe: dict[str, Any] | None = None, **arguments: Any) -> Task:
    return read_task(PEOPLE, {"roles": ROLES} | (recipe or {}), **arguments)


def part_of(task: Task, *columns: str) -> Part:
    [part] = [part for part in task.space.parts if set(part.columns) == set(columns)]
    return part


def test_the_space_is_built_from_roles_and_kinds() -> None:
    task = task_of()
    own = [part.columns[0] for part in task.space.parts if not part.joint]
    assert own == ["region", "age", "sex", "income", "assets", "disease"]
    # By default the intruder knows keys and amounts; what he does not know is kept.
    assert task.known == ("region", "age", "sex", "income", "assets")
    assert part_of(task, "disease").options == (KEPT,)
    assert set(task.counted) == {*own, "occupation"}
    assert [p.joint for p in task.space.parts] == sorted(p.joint for p in task.space.parts)


def test_each_option_gives_a_recipe() -> None:
    space = task_of().space
    for number, part in enumerate(space.parts):
        for place in range(len(part.options)):
            choice = list(space.first())
            choice[number] = place
            recipe = Recipe.from_dict(space.recipe(tuple(choice)))
            gone = set() if part.options[place].released else set(part.columns)
            released = set(recipe.roles.released(PEOPLE.column_names))
            assert released == {*ROLES["quasi"], *ROLES["confidential"], "occupation"} - gone


def test_what_the_intruder_knows() -> None:
    assert task_of(known="quasi").known == ("region", "age", "sex")
    assert "disease" in task_of(known="all").known
    assert len(part_of(task_of(known="all"), "disease").options) > 1
    assert task_of({"search": {"known": ["sex", "age"]}}).known == ("age", "sex")


def test_kept_columns_have_no_choice() -> None:
    task = task_of({"search": {"keep": ["age"]}})
    assert part_of(task, "age").options == (KEPT,)
    assert len(part_of(task_of({"search": {"keep": ["age"]}}, keep=["sex"]), "age").options) > 1
    roles = ROLES | {"untouched": ["age"]}
    assert part_of(task_of({"roles": roles}), "age").options == (KEPT,)
    assert not any("age" in p.columns for p in task_of({"roles": roles}).space.parts if p.joint)


def test_given_steps_are_applied_and_other_columns_stay_free() -> None:
    steps = [{"method": "oma", "columns": ["income", "assets"], "k": [3, 5]}]
    task = task_of({"steps": steps})
    assert [o.words for o in part_of(task, "income", "assets").options] == [
        "averaged in groups of 3 or more",
        "averaged in groups of 5 or more",
    ]
    assert len(part_of(task, "age").options) > 10
    assert task_of({"steps": steps}, only_given=True).space.words((0,) * 5) == [
        "region, age, sex and disease kept",
        "income and assets averaged in groups of 3 or more",
    ]


def test_hierarchies_are_those_of_the_recipe(tmp_path: Path) -> None:
    towns = sorted(set(PEOPLE["region"].to_pylist()))
    text = "\n".join(f"{town};{'north' if i < 4 else 'south'}" for i, town in enumerate(towns))
    (tmp_path / "region.csv").write_text(text)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        '[roles]\nquasi = ["region"]\nrest = "drop"\n[hierarchies]\nregion = "region.csv"\n'
    )
    [part] = read_task(PEOPLE, recipe).space.parts
    assert "in 2 broader groups" in [option.words for option in part.options]


@pytest.mark.parametrize(("group", "method"), [("{0}-{1}", "noise"), ("group {0}", "pram")])
def test_numbers_that_are_merged_by_a_list_are_codes_unless_it_lists_ranges(
    group: str, method: str
) -> None:
    ages = sorted(set(PEOPLE["age"].to_pylist()))
    rows = [[str(age), group.format(age // 10 * 10, age // 10 * 10 + 9)] for age in ages]
    task = task_of({"hierarchies": {"age": {"kind": "table", "rows": rows}}})
    methods = {step["method"] for o in part_of(task, "age").options for step in o.steps}
    assert {"noise", "pram"} & methods == {method}
    assert "generalize" in methods


def test_models_of_privacy_are_promised_by_every_choice() -> None:
    space = task_of(privacy=[KAnonymity(5)]).space
    keys = [part for part in space.parts if set(part.columns) == {"age", "sex", "region"}]
    assert len(keys) == 1
    assert all(option.steps for option in keys[0].options)
    Recipe.from_dict(space.recipe(space.first()))


def test_linked_rows_get_no_option_that_would_not_protect_them() -> None:
    roles = {"quasi": ["age", "region"], "confidential": ["income"], "unit": "household_id"}
    roles |= {"pseudonyms": ["household_id"], "rest": "drop"}
    space = read_task(PEOPLE, {"roles": roles}).space
    methods = {s["method"] for p in space.parts if p.joint for o in p.options for s in o.steps}
    assert "local-suppression" not in methods
    for place in range(len(space.parts[1].options)):
        Recipe.from_dict(space.recipe((0, place, *space.first()[2:])))


def test_bounds_and_standards_are_read() -> None:
    task = task_of(
        {"search": {"risk": "dr <= 20", "standards": {"correlations": 0.1}}}, loss="score"
    )
    assert task.measure == "score"
    assert task.standards == {"correlations": 0.1}
    assert task.risk == Bound("dr", 20.0)


def test_seeds_are_not_for_other_runs() -> None:
    content = {"seed": 1, "allow_predictable_seed": True, "null_markers": ["?"]}
    assert set(task_of(content).space.base) == {"null_markers", "roles"}


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"search": {"kep": ["age"]}}, "search: unknown key 'kep'; did you mean 'keep'?"),
        ({"search": {"keep": "age"}}, "keep must be a list of columns, not 'age'"),
        (
            {"search": {"keep": ["agge"]}},
            "keep names 'agge', which the table does not have; did you mean 'age'?",
        ),
        ({"search": {"keep": ["name"]}}, "keep names 'name', which is not released"),
        (
            {"search": {"known": "some"}},
            "known must be 'all', 'quasi' or a list of columns, not 'some'",
        ),
        (
            {"hierarchies": {"weight": {"kind": "flat"}}},
            "hierarchies names 'weight', which is not released",
        ),
        (
            {"steps": [{"method": "oma", "columns": ["incom"], "k": 3}]},
            "a step names 'incom', which the table does not have; did you mean 'income'?",
        ),
        (
            {
                "steps": [{"method": "oma", "columns": ["age"], "k": 3}],
                "search": {"keep": ["age"]},
            },
            "keep names 'age', which a step treats",
        ),
        (
            {"steps": [{"method": "oma", "columns": ["name"], "k": 3}]},
            "the recipe: step 1 (oma) treats 'name', whose role is identifiers",
        ),
        (
            {
                "steps": [{"method": "oma", "columns": ["age"], "k": 3}],
                "search": {"privacy": [{"model": "k-anonymity", "k": 5}]},
            },
            "privacy is about all quasi columns, but a step treats 'age'; leave the step out, or "
            "put the models into it",
        ),
        (
            {"search": {"privacy": [{"model": "k-anonymty", "k": 5}]}},
            "there is no privacy model 'k-anonymty'; did you mean 'k-anonymity'?",
        ),
        (
            {"steps": [{"method": "oma", "columns": ["region"], "k": [3, 5]}]},
            "column 'region', row 1: 'Lindholm' is not a number; correct it, or list it in "
            "null_markers if it marks a missing value",
        ),
        ({"search": [1]}, "search must be a table, not [1]"),
        ({"role": {}}, "the recipe: unknown key 'role'; did you mean 'roles'?"),
        (
            {"roles": {"insensitive": ["age"], "rest": "drop"}},
            "no column is quasi or confidential, so there is nothing to search for",
        ),
        (
            {
                "roles": {"quasi": ["name"], "rest": "drop"},
                "hierarchies": {"name": {"kind": "flat"}},
            },
            "column 'name' would be released, but looks like an identifier: 100% of its values "
            "are different; list it under identifiers or pseudonyms, or under not_identifiers if "
            "it is none",
        ),
        (
            {"steps": [{"method": "oma", "columns": ["weight"], "k": [3, 5]}]},
            "a step names 'weight', which is not released",
        ),
        (
            {"steps": [{"method": [{"oma": 3}], "columns": ["income"]}]},
            "step 1: a method is a name, not {'oma': 3}",
        ),
        ({"roles": ["age"]}, "roles must be a table such as {quasi = ['age']}, not ['age']"),
        (
            {"search": {"known": []}},
            "the intruder knows no column, so there is no risk to search by; name columns that he "
            "may know with known",
        ),
        (
            {"roles": {"confidential": ["disease"], "rest": "drop"}},
            "the intruder knows no column, so there is no risk to search by; name columns that he "
            "may know with known",
        ),
    ],
)
def test_what_cannot_be_used_is_told(recipe: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as error:
        task_of(recipe)
    assert str(error.value) == said


def test_a_table_in_which_nothing_varies_is_refused() -> None:
    said = "no column that is released varies, so there is nothing to search for"
    with pytest.raises(BadInput, match=said):
        read_task(PEOPLE.slice(0, 1), {"roles": ROLES})
