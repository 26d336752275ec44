"""A recipe or roles may be given as a path, a Recipe, a dict or Roles, wherever one is taken."""

import pyarrow as pa
import pytest

from discreet import Recipe, Roles, assess, check_release, protect, search, sweep
from discreet.errors import BadInput
from discreet.recipe.given import as_recipe

TABLE = pa.table({"age": [31, 31, 45, 45], "pay": [1.0, 2.0, 8.0, 9.5]})
ROLES = {"quasi": ["age"], "untouched": ["age"], "confidential": ["pay"]}
CONTENT = {"roles": ROLES, "steps": [{"method": "oma", "columns": ["pay"], "k": 2}]}
FORMS = {
    "path": lambda folder: folder / "recipe.toml",
    "text": lambda folder: str(folder / "recipe.toml"),
    "recipe": lambda folder: Recipe.from_dict(CONTENT),
    "dict": lambda folder: CONTENT,
}
ROLE_FORMS = {"roles": Roles.from_dict(ROLES), "dict of roles": ROLES}


@pytest.fixture
def folder(tmp_path):
    Recipe.from_dict(CONTENT).dump(tmp_path / "recipe.toml")
    return tmp_path


@pytest.mark.parametrize("form", FORMS)
def test_a_recipe_in_every_form(folder, form):
    given = FORMS[form](folder)
    assert as_recipe(given) == Recipe.from_dict(CONTENT)
    released = protect(TABLE, given).table
    assert released["pay"].to_pylist() == [1.5, 1.5, 8.8, 8.8]
    assert check_release(released, given).ok
    found = assess(TABLE, released, given)
    # Its steps are known, so that what depends on them is as with `recipe=`.
    assert found.to_dict() == assess(TABLE, released, ROLES, recipe=CONTENT).to_dict()


@pytest.mark.parametrize("form", ROLE_FORMS)
def test_roles_in_every_form(form):
    given = ROLE_FORMS[form]
    assert as_recipe(given) == Recipe.from_dict({"roles": ROLES})
    assert protect(TABLE, given).table.equals(TABLE)
    assert check_release(TABLE, given).ok
    assert assess(TABLE, TABLE, given).risk["class_sizes"]["after"]["smallest"] == 2
    assert assess(TABLE, TABLE, ROLES, recipe=given).risk["class_sizes"]["after"]["smallest"] == 2


@pytest.mark.parametrize("given", [Roles(quasi=["age"]), {"quasi": ["age"]}], ids=["Roles", "dict"])
def test_a_search_and_a_sweep_take_roles(given):
    table = TABLE.select(["age"])
    with pytest.raises(BadInput, match="keep names 'pay', which the table"):
        search(table, given, keep=["pay"])
    with pytest.raises(BadInput, match="nothing is varied"):
        sweep(table, given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "a recipe must be a Recipe, Roles, a dict or a path, not int"),
        ([], "a recipe must be a Recipe, Roles, a dict or a path, not list"),
        ("none.toml", "the recipe none.toml cannot be read: No such file or directory"),
        ({}, "the recipe: 'roles' is missing"),
        ({"steps": []}, "the recipe: 'roles' is missing"),
    ],
)
def test_what_is_no_recipe(given, said):
    with pytest.raises(BadInput) as error:
        protect(TABLE, given)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "roles must be Roles, a Recipe, a dict or a path, not int"),
        ("none.toml", "the recipe none.toml cannot be read: No such file or directory"),
        ({"quasy": ["age"]}, "roles: unknown key 'quasy'; did you mean 'quasi'?"),
    ],
)
def test_what_are_no_roles(given, said):
    with pytest.raises(BadInput) as error:
        assess(TABLE, TABLE, given)
    assert str(error.value) == said
