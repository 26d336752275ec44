"""Parts and options, and the recipes that choices of them are."""

from __future__ import annotations

from discreet.recipe import Recipe
from discreet.tuning.space import Option, Part, Space

OMA = {"method": "oma", "k": 5}
SWAP = {"method": "rank-swap", "p": 10}
OPTIONS = (
    Option(),
    Option((OMA,), "averaged"),
    Option((OMA, SWAP), "averaged and swapped"),
    Option(words="removed", released=False),
)
BASE = {"roles": {"quasi": ["age", "size"], "confidential": ["income"], "rest": "drop"}}
SPACE = Space(tuple(Part((name,), OPTIONS) for name in ("age", "size", "income")), BASE)


def test_the_same_step_on_several_columns_is_one() -> None:
    assert SPACE.steps((1, 0, 1)) == [OMA | {"columns": ["age", "income"]}]


def test_a_chain_comes_in_order_and_what_is_altered_later_promises_nothing() -> None:
    assert SPACE.steps((2, 1, 2)) == [
        OMA | {"promise": False, "columns": ["age", "income"]},
        OMA | {"columns": ["size"]},
        SWAP | {"columns": ["age", "income"]},
    ]


def test_removed_columns_have_no_role_and_kept_quasi_ones_are_untouched() -> None:
    recipe = SPACE.recipe((0, 3, 3))
    assert recipe["roles"] == {
        "quasi": ["age"],
        "confidential": [],
        "rest": "drop",
        "untouched": ["age"],
    }
    assert Recipe.from_dict(recipe).roles.released(["age", "size", "income"]) == ["age"]


def test_words_put_columns_of_one_treatment_together() -> None:
    assert SPACE.words((1, 3, 1)) == ["age and income averaged", "size removed"]
