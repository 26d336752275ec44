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


def test_a_joint_part_comes_last_and_leaves_out_what_is_removed() -> None:
    blanks = {"method": "local-suppression", "k": 3, "importance": {"age": 2.0, "size": 1.0}}
    joint = Part(("age", "size"), (Option(), Option((blanks,), "blanked")), joint=True)
    space = Space((*SPACE.parts, joint), BASE)
    assert space.steps((1, 3, 0, 1)) == [
        OMA | {"promise": False, "columns": ["age"]},
        blanks | {"importance": {"age": 2.0}, "columns": ["age"]},
    ]
    assert space.words((1, 3, 0, 1)) == [
        "age averaged",
        "size removed",
        "income kept",
        "age blanked",
    ]
    assert space.words((0, 0, 0, 1)) == ["income kept", "age and size blanked"]
    assert space.steps((3, 3, 0, 1)) == []


def test_what_decides_alone_replaces_the_parts_of_its_columns() -> None:
    mdav = {"method": "microaggregation", "k": 3}
    joint = Part(("age", "size"), (Option(), Option((mdav,), "grouped", alone=True)), joint=True)
    space = Space((*SPACE.parts, joint), BASE)
    assert space.steps((3, 2, 1, 1)) == [
        OMA | {"columns": ["income"]},
        mdav | {"columns": ["age", "size"]},
    ]
    assert space.recipe((3, 2, 1, 1))["roles"]["quasi"] == ["age", "size"]
    assert space.words((3, 2, 1, 1)) == ["income averaged", "age and size grouped"]


def test_what_is_for_the_rest_leaves_columns_to_their_own_parts() -> None:
    mdav = {"method": "microaggregation", "k": 3}
    option = Option((mdav,), "grouped", rest=True)
    joint = Part(("age", "size", "income"), (Option(), option), joint=True)
    space = Space((*SPACE.parts, joint), BASE)
    assert space.steps((3, 0, 0, 1)) == [mdav | {"columns": ["size", "income"]}]
    assert space.dropped((3, 0, 0, 1)) == ["age"]
    assert space.words((3, 0, 0, 1)) == ["age removed", "size and income grouped"]
    assert space.steps((0, 0, 1, 1)) == [
        OMA | {"columns": ["income"]},
        mdav | {"columns": ["age", "size"]},
    ]


def test_joint_steps_of_different_columns_are_not_put_together() -> None:
    mdav = {"method": "microaggregation", "k": 3}
    option = Option((mdav,), "grouped", alone=True)
    names = ("a", "b", "c", "d")
    parts = (Part(names[:2], (option,), joint=True), Part(names[2:], (option,), joint=True))
    space = Space(parts, {"roles": {"confidential": list(names)}})
    assert [step["columns"] for step in space.steps((0, 0))] == [["a", "b"], ["c", "d"]]


def test_recoding_of_several_columns_is_one_step() -> None:
    def level(name: str, number: int) -> Part:
        step = {
            "method": "generalize",
            "hierarchies": {name: {"kind": "intervals", "widths": [5, 10]}},
            "levels": {name: number},
        }
        return Part((name,), (Option((step,), f"at level {number}"),))

    space = Space((level("age", 1), level("size", 2)), BASE)
    [step] = space.steps((0, 0))
    assert step["levels"] == {"age": 1, "size": 2}
    assert step["columns"] == list(step["hierarchies"]) == ["age", "size"]
    Recipe.from_dict(space.recipe((0, 0)))
