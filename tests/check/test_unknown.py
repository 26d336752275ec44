"""What the check does not know is broken; it knows all methods, and it knows nothing of them."""

import ast
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet import check_release
from discreet.check import asked, promises
from discreet.check.evidence import Evidence
from discreet.registry import methods

FIGURES = "released values and their counts are the plan's"
ALLOWED = ("recipe", "table", "chance", "draws", "errors", "engines", "threads", "private", "check")


def test_the_check_imports_no_method_and_no_measure():
    folder = Path(discreet.__file__).parent / "check"
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.partition(".")[0] == "discreet":
                    assert name.split(".")[1] in ALLOWED, f"{path.name} imports {name}"


def test_every_method_can_be_compared_with_its_recipe():
    assert set(asked.ASKED) == set(methods())


STEPS = {
    "oma": {"k": 5},
    "mdav": {"k": {"x": 5}},
    "vmdav": {"k": "freedman-diaconis"},
    "kmeans": {"n_points": 4, "min_count": 3},
    "equal-width": {"n_points": "freedman-diaconis", "min_count": 3},
    "equal-frequency": {"n_points": {"x": 6}, "min_count": 3, "encoding": "nearest"},
    "resampling": {"n_points": 5, "min_count": 3},
    "mdlp": {"min_count": 3},
    "chimerge": {"min_count": 3, "encoding": "stochastic"},
    "base": {"min_attraction": 3, "bases": [0.5, 1.0, 2.0]},
    "rank-swap": {"p": 20},
    "shuffle": {},
}


def protected(method, **more):
    draw = np.random.default_rng(1)
    table = {"x": pa.array(draw.normal(size=120), mask=draw.random(120) < 0.1)}
    table |= {"y": draw.normal(size=120), "class": draw.choice(["a", "b"], 120)}
    roles = {"confidential": ["x", "y"], "target": "class"}
    step = {"method": method, "columns": ["x"], **STEPS[method], **more}
    return discreet.protect(pa.table(table), {"roles": roles, "steps": [step]})


def again(release, recipe=None):
    evidence = Evidence(release.plan, release.log, release.recipe)
    report = check_release(release.table, recipe or release.recipe, evidence, release.original)
    return {f.promise: f.detail for f in report.having("broken")}


@pytest.mark.parametrize("method", STEPS)
def test_what_was_asked_for_was_decided(method):
    release = protected(method)
    assert release.check.verified
    release.plan["steps"][0]["columns"]["x"]["kind"] = "noise"
    assert "is of the kind noise, not" in again(release)[FIGURES]


@pytest.mark.parametrize(
    ("method", "other", "said"),
    [
        ("oma", {"k": 4}, "k in column 'x' is 5, the recipe's 4"),
        ("oma", {"encoding": "nearest"}, "encoding in column 'x' is group, the recipe's nearest"),
        ("kmeans", {"n_points": 3}, "n_points kept in column 'x' is False"),
        ("kmeans", {"min_count": 50}, "min_count kept in column 'x' is False"),
        ("base", {"min_attraction": 60}, "min_attraction kept in column 'x' is False"),
        ("base", {"bases": [0.3]}, "base among bases in column 'x' is False"),
        ("base", {"ends": "open"}, "ends in column 'x' is closed, the recipe's open"),
        ("base", {"rounding": "floor"}, "rounding in column 'x' is nearest, the recipe's floor"),
        ("rank-swap", {"p": 21}, "p in column 'x' is 20.0, the recipe's 21.0"),
    ],
)
def test_a_recipe_that_asks_for_something_else(method, other, said):
    release = protected(method)
    steps = [release.recipe.steps[0].model_copy(update=other)]
    assert said in again(release, release.recipe.model_copy(update={"steps": steps}))[FIGURES]


def test_groups_of_fewer_than_k_and_values_that_are_split():
    release = protected("oma", encoding="nearest")
    column = release.plan["steps"][0]["columns"]["x"]
    column["splits"] = {}
    assert "splitting of equal values in column 'x' is True" in again(release)[FIGURES]
    column["counts"][0] = 4
    assert "k records in each group in column 'x' is False" in again(release)[FIGURES]


def test_columns_that_should_have_been_shuffled_together():
    release = protected("shuffle", columns=["x", "y"])
    steps = [release.recipe.steps[0].model_copy(update={"together": True})]
    found = again(release, release.recipe.model_copy(update={"steps": steps}))
    assert "the plan's together in column 'y' is False, the recipe's True" in found[FIGURES]
    assert protected("shuffle", columns=["x", "y"], together=True).check.verified


def test_an_unknown_method_is_broken(monkeypatch):
    release = protected("oma")
    monkeypatch.delitem(asked.ASKED, "oma")
    said = "the check does not know the method oma, so it proves nothing of its plan"
    assert again(release)[FIGURES] == said


def test_an_unknown_promise_is_broken(monkeypatch):
    release = protected("oma")
    monkeypatch.delitem(promises.PROMISES, "k-per-value")
    assert again(release) == {"promises of oma": "the check does not know what 'k-per-value' means"}


@pytest.mark.parametrize("part", ["columns", "joint"])
def test_an_unknown_kind_of_plan_is_broken(part):
    release = protected("shuffle")
    step = release.plan["steps"][0]
    (step["columns"]["x"] if part == "columns" else step["joint"])["kind"] = "tea leaves"
    if part == "columns":
        del step["joint"]
    cells = again(release)["every treated cell equals the plan applied, nulls in place"]
    assert "is of an unknown kind, tea leaves" in cells
