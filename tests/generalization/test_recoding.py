"""Columns that are recoded to given levels, with no privacy model and no promise."""

import pandas as pd
import pytest

import discreet
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy

HIERARCHIES = {
    "age": Hierarchy.intervals(widths=[10, 20]),
    "zip": Hierarchy.prefix(stars=[1, 3]),
}
TREES = {
    "age": {"kind": "intervals", "widths": [10, 20]},
    "zip": {"kind": "prefix", "stars": [1, 3]},
}
LEVELS = {"age": 1, "zip": 2}


def people():
    return pd.DataFrame(
        {
            "age": [31, 34, None, 52, 57, 59],
            "zip": ["10115", "10117", "10119", None, "10115", "20119"],
        }
    )


def recipe(**more):
    step = {"method": "generalize", "columns": ["age", "zip"], "hierarchies": TREES}
    return {"roles": {"quasi": ["age", "zip"]}, "steps": [step | more]}


@pytest.mark.parametrize(
    "options", [{}, {"privacy": []}, {"null_policy": "match"}, {"local": True}]
)
def test_every_record_is_recoded_and_none_suppressed(options):
    method = Generalize(HIERARCHIES, levels=LEVELS, **options)
    out = method.fit_transform(people())
    ages = ["30-39", "30-39", None, "50-59", "50-59", "50-59"]
    assert [None if pd.isna(x) else x for x in out["age"]] == ages
    zips = ["10***", "10***", "10***", None, "10***", "20***"]
    assert [None if pd.isna(x) else x for x in out["zip"]] == zips
    assert method.suppressed_ == 0
    assert method.promise is None


def test_new_rows_are_recoded_too():
    method = Generalize(HIERARCHIES, levels=LEVELS).fit(people())
    out = method.transform(pd.DataFrame({"age": [99, 31], "zip": ["99999", "20115"]}))
    assert out.to_numpy().tolist() == [["90-99", "99***"], ["30-39", "20***"]]


@pytest.mark.parametrize("levels", [None, {"age": 1}, {"age": 1, "zip": [1, 2]}])
def test_without_a_model_every_column_needs_one_level(levels):
    said = r"privacy is empty; name a model, such as KAnonymity\(5\), or one level for each column"
    with pytest.raises(BadInput, match=said):
        Generalize(HIERARCHIES, levels=levels).fit(people())
    with pytest.raises(BadInput, match=said):
        discreet.Recipe.from_dict(recipe(levels=levels) if levels else recipe())


def test_a_recipe_recodes_first_and_the_check_promises_nothing_of_it():
    release = discreet.protect(people(), recipe(levels=LEVELS))
    assert release.check.verified
    assert not any("anonymity" in found.promise for found in release.check.findings)


def test_a_later_step_may_treat_what_was_recoded():
    plan = recipe(levels=LEVELS)
    plan["steps"].append({"method": "pram", "columns": ["zip"], "retention": 0.5})
    assert len(discreet.Recipe.from_dict(plan).steps) == 2
