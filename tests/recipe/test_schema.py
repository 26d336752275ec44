"""The JSON schema: editors accept what the recipe does, refuse what it refuses, explain every key."""

import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from discreet import Recipe
from discreet.errors import BadInput
from discreet.registry import methods
from tests.fuzz.cases import make_case
from tests.recipe.test_recipe import BASE, edited, roles, step

ROOT = Path(__file__).parents[2]
SCHEMA = Recipe.json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def objects(part):
    """Every part of the schema that has properties."""
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            yield part
        for inside in part.values():
            yield from objects(inside)
    elif isinstance(part, list):
        for inside in part:
            yield from objects(inside)


def test_it_is_a_schema_that_explains_every_key():
    Draft202012Validator.check_schema(SCHEMA)
    found = list(objects(SCHEMA))
    assert len(found) > len(methods())
    for one in found:
        for name, value in one["properties"].items():
            assert len(value.get("description", "")) > 5 or "$ref" in value, (
                one.get("title"),
                name,
            )
        assert one["additionalProperties"] is False
    # TOML has no null.
    assert '"null"' not in str(SCHEMA).replace("'", '"')


def test_choices_and_ranges_are_those_of_the_methods():
    oma = SCHEMA["$defs"]["OMAStep"]["properties"]
    assert oma["objective"]["enum"] == ["l2", "l1"]
    assert oma["k"]["anyOf"][0] == {"type": "integer", "minimum": 1}
    limit = SCHEMA["$defs"]["GeneralizeStep"]["properties"]["suppression_limit"]
    assert (limit["minimum"], limit["maximum"]) == (0, 1)
    assert SCHEMA["$defs"]["KAnonymity"]["properties"]["k"]["minimum"] == 1


def written() -> list[tuple[str, str]]:
    """The recipes that are shipped, and all that the documentation shows."""
    found = [("demo.toml", (ROOT / "src/discreet/cli/demo.toml").read_text("utf-8"))]
    for page in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]):
        blocks = re.findall(r"^```toml[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)  # fmt: skip
        found += [(page.name, block) for block in blocks]
    return found


def test_every_recipe_of_the_documentation_that_is_one_is_valid():
    valid = 0
    for name, text in written():
        content = tomllib.loads(text)
        try:
            Recipe.from_dict(content)
        except BadInput:
            continue  # a part of a recipe, or a policy
        assert not list(VALIDATOR.iter_errors(content)), name
        valid += 1
    assert valid >= 3


def test_any_recipe_that_can_be_run_is_valid():
    used = set()
    for seed in range(150):
        recipe = make_case(seed, most=30).recipe
        wrong = [f"{list(one.path)}: {one.message}" for one in VALIDATOR.iter_errors(recipe)]
        assert not wrong, (seed, recipe, wrong)
        used |= {one["method"] for one in recipe["steps"]}
    assert len(used) > len(methods()) / 2


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content.update(rolse={}),
        lambda content: content.pop("roles"),
        lambda content: content.update(seed=-1),
        lambda content: content.update(counts="people"),
        roles(quasy=["a"]),
        roles(rest="keep"),
        roles(quasi="age"),
        step(method="omma"),
        step(kk=3),
        step(k=0),
        step(k={"salary": 0}),
        step(objective="l3"),
        step(promise="no"),
        lambda content: content["steps"][0].pop("columns"),
        lambda content: content["steps"][0].pop("method"),
    ],
)
def test_what_is_wrong_is_refused_as_the_recipe_does(edit):
    assert VALIDATOR.is_valid(BASE)
    content = edited(edit)
    with pytest.raises(BadInput):
        Recipe.from_dict(content)
    assert not VALIDATOR.is_valid(content)


def with_step(**parameters):
    return {"roles": {"quasi": ["a"]}, "steps": [{"columns": ["a"], **parameters}]}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"k": 5}, "a privacy model needs its name, such as model = \"k-anonymity\", in {'k': 5}"),
        ({"model": "k-anonimity", "k": 5}, "there is no privacy model 'k-anonimity'; did you mean"),
        ({"model": ["x"], "k": 5}, "there is no privacy model '['x']'; known: "),
        ({"model": {"a": 1}, "k": 5}, "there is no privacy model '{'a': 1}'; known: "),
    ],
)
def test_a_privacy_model_that_is_none_is_refused(model, said):
    """By both, and in a sentence: names that are no text ended in a traceback."""
    right = {"model": "k-anonymity", "k": 5}
    assert VALIDATOR.is_valid(with_step(method="mondrian", privacy=[right]))
    wrong = with_step(method="mondrian", privacy=[model])
    assert not VALIDATOR.is_valid(wrong)
    with pytest.raises(BadInput) as error:
        Recipe.from_dict(wrong)
    assert str(error.value).startswith(f"the recipe: step 1 (mondrian): {said}")


def test_a_combination_without_k_is_refused_in_a_sentence():
    with pytest.raises(BadInput, match="each of combinations has columns and k, such as "):
        Recipe.from_dict(with_step(method="local-suppression", combinations=[{"columns": ["a"]}]))
