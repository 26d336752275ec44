"""What a policy file may hold, and what is said of one that is wrong."""

import datetime
from pathlib import Path

import pytest

from discreet import Recipe
from discreet.errors import BadInput
from discreet.recipe.policies import KINDS, Policy, Rule

BASE = {"title": "House", "source": "Handbook", "date": datetime.date(2024, 5, 1)}
SAID = {"says": "As it is.", "source": "page 1"}
K = {"rule": "k", "least": 5, **SAID}
WRONG = {
    "there are no rules; add one under [[rules]]": [],
    "rule 1: there is no kind of rule 'kk'; did you mean 'k'?": [{"rule": "kk"}],
    "rule 2 has no rule, such as rule = 'k'": [K, {}],
    "rule 1 (k): 'least' is missing": [{"rule": "k", **SAID}],
    "rule 1 (k): 'source' is missing": [{"rule": "k", "least": 5, "says": "x"}],
    "rule 1 (k): 'least' should be greater than or equal to 1, not 0": [K | {"least": 0}],
    "rule 1 (k): unknown key 'lest'; did you mean 'least'?": [K | {"lest": 5}],
    "rule 1: rule 'columns' needs kinds or words": [{"rule": "columns", **SAID}],
    "rule 1: rule 'dominance' needs either largest and most, or within": [
        {"rule": "dominance", "largest": 2, **SAID}
    ],
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(said):
    with pytest.raises(BadInput) as error:
        Policy.from_dict(BASE | {"rules": WRONG[said]}, "house.toml")
    assert str(error.value) == f"house.toml: {said}"


def test_a_rule_is_of_its_policy_s_date_or_of_its_own():
    own = datetime.date(2020, 1, 2)
    policy = Policy.from_dict(BASE | {"rules": [K, K | {"date": own}]})
    assert [rule.date for rule in policy.rules] == [BASE["date"], own]


def test_a_policy_is_a_shipped_one_or_a_file(tmp_path):
    assert Policy.load("example").name == "example"
    (tmp_path / "own.toml").write_text("title = 3")
    with pytest.raises(BadInput, match=r"own\.toml: 'title' should be text in quotes, not 3"):
        Policy.load(tmp_path / "own.toml")
    (tmp_path / "own.toml").write_text("title =")
    with pytest.raises(BadInput, match="is not TOML"):
        Policy.load(tmp_path / "own.toml")
    with pytest.raises(BadInput, match=r"none\.toml cannot be read"):
        Policy.load(tmp_path / "none.toml")
    with pytest.raises(
        BadInput, match="there is no policy 'exampel', nor such a file; did you mean"
    ):
        Policy.load("exampel")


def test_every_kind_of_rule_is_known_and_documented():
    def below(model):
        return [one for sub in model.__subclasses__() for one in (sub, *below(sub))]

    models = {one for one in below(Rule) if one.__name__ != "OfColumns"}
    assert set(KINDS.values()) == models
    text = (Path(__file__).parents[2] / "docs" / "reference" / "policies.md").read_text("utf-8")
    for kind in KINDS:
        assert f"| `{kind}` |" in text, kind


def test_a_recipe_names_a_policy_and_what_its_rules_need(tmp_path):
    roles = {"confidential": ["pay"]}
    assert Recipe.from_dict({"roles": roles, "policy": "example"}).against.name == "example"
    (tmp_path / "recipe.toml").write_text(
        "policy = {name = 'own.toml', population = 'people.csv', collected = 2023-12-31}\n"
        "[roles]\nconfidential = ['pay']\n"
    )
    recipe = Recipe.load(tmp_path / "recipe.toml")
    against = recipe.against
    assert against.name == str(tmp_path / "own.toml")
    assert against.population == str(tmp_path / "people.csv")
    assert against.last_day == datetime.date(2023, 12, 31)
    assert Recipe.from_toml(recipe.dump()) == recipe
    with pytest.raises(BadInput, match="collected must be a day such as 2024-12-31, not 'soon'"):
        Recipe.from_dict({"roles": roles, "policy": {"name": "example", "collected": "soon"}})
    with pytest.raises(
        BadInput, match=r"people\.csv, which the policy's rules need, does not exist"
    ):
        against.load()
