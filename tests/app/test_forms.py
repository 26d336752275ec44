"""Forms made from methods: every method and every privacy model has one."""

import pytest

from discreet.app.forms import method_fields, model_fields, read_step, toml
from discreet.errors import BadInput
from discreet.generalization.models import MODELS
from discreet.recipe.recipe import read_step as validated
from discreet.registry import methods


@pytest.mark.parametrize("name", methods())
def test_every_method_has_a_field_for_each_parameter_with_help(name):
    found = method_fields(name)
    assert found or name in ("record-key",)
    for one in found:
        assert one.help, f"{name} says nothing of {one.name}"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_field_for_each_parameter(name):
    assert model_fields(name)


def test_a_form_that_is_left_as_it_is_gives_the_step_that_it_shows():
    step = {
        "method": "generalize",
        "columns": ["age", "sex"],
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "l-diversity", "l": 2, "column": "ill", "kind": "entropy"},
        ],
        "suppression_limit": 0.1,
        "local": True,
        "levels": {"age": [0, 2]},
        "hierarchies": {"age": {"kind": "flat"}, "sex": {"kind": "flat"}},
    }
    given = {"columns": step["columns"]}
    for one in method_fields("generalize"):
        if one.kind not in ("models", "link"):
            value = step.get(one.name)
            shown = "true" if value is True else one.shown(value)
            given[one.name] = [shown if value is not None or one.kind != "flag" else ""]
            if one.kind == "flag" and value is None:
                given[one.name] = ["true" if one.default else ""]
    for i, model in enumerate(step["privacy"]):
        given[f"privacy.{i}.model"] = [model["model"]]
        for one in model_fields(model["model"]):
            given[f"privacy.{i}.{one.name}"] = [one.shown(model.get(one.name))]
    found = read_step("generalize", given, step)
    assert found == step
    assert validated(found, 1).method == "generalize"


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

    hostile = {'a"b\n': ["<script>", "\\", 1.5, False], "ü": {"x": "'"}}
    assert tomllib.loads(f"x = {toml(hostile)}")["x"] == hostile
