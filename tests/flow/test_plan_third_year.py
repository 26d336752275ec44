"""The plan of a release that was itself made by a plan."""

import pytest

from discreet import protect
from discreet.errors import BadInput, BrokenPromise
from tests.flow.plans import few, people


def test_what_was_suppressed_in_one_year_is_not_suppressed_unasked_in_the_next(tmp_path):
    plan, table = few(tmp_path)
    protect(table, plan=plan, suppress=True).save(tmp_path / "second")
    third = protect(people(600, 1), plan=tmp_path / "second")
    assert [step.method for step in third.recipe.steps] == ["generalize", "given-cuts"]
    assert third.recipe.steps[0].suppression_limit == 0.05
    assert third.recipe.steps[1].promise
    kept = third.log["plan"]["kept"]
    assert kept == {
        "1": ["hierarchies", "levels"],
        "2": ["cuts", "encoding", "min_count", "points"],
    }
    with pytest.raises(BrokenPromise, match="--suppress, decide on these steps anew"):
        protect(people(80, 4), plan=tmp_path / "second")


def test_in_the_third_year_too_a_step_is_decided_on_as_the_first_recipe_asked(tmp_path):
    plan, table = few(tmp_path)
    second = protect(table, plan=plan, suppress=True)
    second.save(tmp_path / "second")
    third = protect(table, plan=tmp_path / "second", anew=[1, 2])
    assert [step.method for step in third.recipe.steps] == ["generalize", "oma"]
    assert third.recipe.steps[0].levels is None
    points = [one.plan["steps"][1]["columns"]["income"]["points"] for one in (second, third)]
    assert len(points[1]) < len(points[0])
    with pytest.raises(BadInput, match=r"^there is no step 3 to decide on anew; the plan has 2$"):
        protect(table, plan=tmp_path / "second", anew=[3])
