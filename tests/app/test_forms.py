"""Forms made from methods: every method and every privacy model has one."""

import math
from datetime import date

import pytest
import tomli_w

from discreet.app.forms import method_fields, model_fields, read_step, toml
from discreet.errors import BadInput
from discreet.generalization.models import MODELS
from discreet.registry import methods
from tests.app.untouched import untouched


@pytest.mark.parametrize("name", methods())
def test_every_method_has_a_field_for_each_parameter_with_help(name):
    found = method_fields(name)
    assert found or name in ("record-key",)
    for one in found:
        assert one.help, f"{name} says nothing of {one.name}"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_field_for_each_parameter(name):
    assert model_fields(name)


ROWS = [
    {"method": "oma", "columns": ["b", "a"], "k": {" pay": 3, "a": 2}, "encoding": "group"},
    {"method": "kmeans", "columns": ["a"], "n_points": 5, "min_count": 1, "precision": "full"},
    {"method": "mdav", "columns": ["a"], "k": 2, "keep_ties": False, "promise": False},
    {"method": "microaggregation", "columns": ["b", "a"], "k": 3, "strata": " pay", "refine": 0},
    {"method": "top-bottom", "columns": ["a"], "lower": -math.inf, "upper": date(2020, 2, 29)},
    {"method": "pram", "columns": ["a"], "matrix": {"a": {"é\n": 0.5, '"': 1e-300}}},
    {"method": "generalize-items", "columns": ["a"], "k": 2, "separator": "\t"},
    {"method": "anatomy", "columns": ["a"], "l": 2, "confidential": ['" quoted'], "group": '"g'},
    {
        "method": "generalize",
        "columns": ["b", "a"],
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "l-diversity", "l": 2, "column": "two\nlines", "kind": "distinct"},
            {"model": "t-closeness", "t": 0.2, "column": " pay", "order": ["1", "true"]},
        ],
        "quality": "precision",
        "suppression_limit": 0.05,
        "null_policy": "segregate",
        "local": True,
        "levels": {"a": [0, 2]},
        "hierarchies": {"a": {"kind": "groups", "tree": {"x": {"y": ["1"]}}}},
    },
]


@pytest.mark.parametrize("step", ROWS, ids=[step["method"] for step in ROWS])
def test_a_form_that_is_left_as_it_is_gives_the_step_that_it_shows(page, monkeypatch, step):
    # What cannot be run is shown too.
    monkeypatch.setattr("discreet.app.pages.protect._check", lambda step, number: None)
    recipe = {"roles": {"quasi": ["a"], "insensitive": ["b"]}, "steps": [step]}
    page.space.replace(tomli_w.dumps(recipe), "as text", page.version)
    shown = page.get("/protect/step", params={"number": 0}).text
    answer = page.post("/protect/step", data=untouched(shown, "/protect/step"))
    assert answer.status_code == 200, answer.text
    assert page.space.recipe == recipe


def test_a_column_that_lost_its_role_stays_in_its_step_until_it_is_taken_out(page):
    step = {"method": "oma", "columns": ["gone", "income"], "k": 3}
    recipe = {"roles": {"confidential": ["income"]}, "steps": [step]}
    page.space.replace(tomli_w.dumps(recipe), "as text", page.version)
    form = untouched(page.get("/protect/step", params={"number": 0}).text, "/protect/step")
    assert sorted(form["columns"]) == ["gone", "income"]


def test_a_column_that_is_taken_out_of_a_step_takes_its_hierarchy_with_it():
    before = {"hierarchies": {"age": {"kind": "flat"}, "sex": {"kind": "flat"}}}
    step = read_step("generalize", {"columns": ["sex"]}, before)
    assert step["hierarchies"] == {"sex": {"kind": "flat"}}
    assert "hierarchies" not in read_step("generalize", {"columns": ["job"]}, before)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("suppression_limit", "a lot", "suppression_limit: 'a lot' is not a number"),
        ("levels", "{ age = ", "levels: '{ age =' is not a value"),
    ],
)
def test_what_cannot_be_read_is_said(name, text, said):
    with pytest.raises(BadInput) as error:
        read_step("generalize", {name: [text]}, {})
    assert str(error.value) == said


def test_text_with_quotes_comes_back_from_toml():
    import tomllib

    hostile = {'a"b\n': ["<script>", "\\", 1.5, False], "ü": {"x": "'"}, "\x7f": "\x7f"}
    hostile |= {"ends": [float("inf"), -float("inf"), 1e-7, 1e22, 2]}
    assert tomllib.loads(f"x = {toml(hostile)}")["x"] == hostile
