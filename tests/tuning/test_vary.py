"""What is varied: names of parameters, ranges and lists, and all combinations."""

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.generalization import KAnonymity
from discreet.tuning.vary import combinations, read_option, read_varied

OMA = {"method": "oma", "columns": ["pay"], "k": 3}
COARSE = {
    "method": "generalize", "columns": ["age"], "privacy": [{"model": "k-anonymity", "k": 5}]
}  # fmt: skip
SWAP = {"method": "rank-swap", "columns": ["tax"], "p": 5.0}


def values(steps, vary):
    return {one.name: one.values for one in read_varied(steps, vary)[1]}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2..5", [2, 3, 4, 5]),
        ("2..10..4", [2, 6, 10]),
        ("2..9..4", [2, 6]),
        ("3, 5,10", [3, 5, 10]),
        ("2..4,10,3", [2, 3, 4, 10]),
        ("[3, {pay = 4}]", [3, {"pay": 4}]),
    ],
)
def test_values_are_ranges_and_lists(text, wanted):
    assert values([OMA], {"k": text}) == {"k": wanted}


def test_values_are_what_the_parameter_takes():
    assert values([COARSE], {"suppression_limit": "0.1..0.3..0.1", "local": "true,false"}) == {
        "suppression_limit": [0.1, 0.2, 0.3],
        "local": [True, False],
    }
    # A name that looks like a number stays a name, where a name is asked for.
    model = {"model": "l-diversity", "l": 2, "column": "ill"}
    step = COARSE | {"privacy": [model]}
    assert values([step], {"column": "ill,5", "l": "2,2.5"}) == {
        "column": ["ill", "5"],
        "l": [2, 2.5],
    }
    [found] = values([OMA], {"k": np.array([3, 4])}).values()
    assert found == [3, 4]
    assert all(type(one) is int for one in found)


def test_a_parameter_that_several_steps_have_is_named_with_its_step():
    steps = [OMA, COARSE, SWAP]
    for name in ("2.k", "generalize.k", "k-anonymity.k"):
        made = [one for _, one in combinations(*read_varied(steps, {name: [7, 8]}))]
        assert [one[1]["privacy"] for one in made] == [
            [{"model": "k-anonymity", "k": 7}],
            [{"model": "k-anonymity", "k": 8}],
        ]
        assert all(one[0] == OMA and one[2] == SWAP for one in made)
    assert values(steps, {"p": "5..15..5"}) == {"p": [5, 10, 15]}


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"kk": "2"}, "vary: no step has a parameter 'kk'; did you mean 'k'?"),
        ({"k": "2..3"}, "vary: 'k' is a parameter of step 1 (oma) and step 2 (generalize, "
                        "k-anonymity); say which, such as 1.k"),
        ({"3.k": "2..3"}, "vary: '3' has no parameter 'k', which is one of step 1 (oma) and step 2 "
                          "(generalize, k-anonymity)"),
        ({"1.k": "2..3", "oma.k": "5"}, "vary: oma.k is varied twice"),
        ({"1.k": "9..2"}, "vary: 1.k=9..2 has no values; write FROM..TO or FROM..TO..STEP, the "
                          "smaller end first and a step above 0"),
        ({"1.k": "2..9..0"}, "vary: 1.k=2..9..0 has no values; write FROM..TO or FROM..TO..STEP, "
                             "the smaller end first and a step above 0"),
        ({"1.k": "2..5000"}, "vary: 1.k=2..5000 has 4,999 values; give a larger step"),
        ({"1.k": []}, "vary: 1.k has no values; name one at least"),
        ({"1.k": 5}, "vary: the values of 1.k must be a list or a range, not 5"),
        ({"1.k": "[3"}, "vary: 1.k=[3 is not a list: Unclosed array (at end of document)"),
        ({}, "nothing is varied; name a parameter with its values, such as k=2..20, or give a list "
             "of values in a step, such as k = [3, 5, 10]"),
        ({"1.k": "4"}, "nothing is varied: 1.k has one value, 4; give several, such as k=2..20"),
        ({"1.k": "4", "quality": ["loss"]}, "nothing is varied: 1.k has one value, 4; give "
         "several, such as k=2..20"),
        ({"1.k": "2..42", "2.k": "2..26"}, "1,025 combinations are asked for, and a sweep tries "
         "all; ask for at most 1,000, or use search, which finds the best without trying all"),
    ],
)  # fmt: skip
def test_what_cannot_be_varied_is_refused(vary, message):
    with pytest.raises(BadInput) as error:
        read_varied([OMA, COARSE], vary)
    assert str(error.value) == message


def test_lists_in_steps_are_varied_after_what_is_asked_for():
    steps = [
        OMA | {"k": [3, 5], "columns": ["pay", "tax"]},
        COARSE | {"privacy": [KAnonymity(5)], "quality": ["loss", "nue"]},
    ]
    plain, varied = read_varied(steps, {"null_policy": ["value"]})
    assert [(one.name, one.values) for one in varied] == [
        ("null_policy", ["value"]),
        ("1.k", [3, 5]),
        ("quality", ["loss", "nue"]),
    ]
    made = list(combinations(plain, varied))
    assert [parameters for parameters, _ in made] == [
        {"null_policy": "value", "1.k": k, "quality": q} for k in (3, 5) for q in ("loss", "nue")
    ]
    assert made[0][1][0]["columns"] == ["pay", "tax"]
    # What is asked for takes the place of a list.
    assert values(steps, {"1.k": "9"})["1.k"] == [9]
    within = COARSE | {"privacy": [{"model": "k-anonymity", "k": [3, 5]}]}
    assert values([within], {}) == {"k": [3, 5]}


def test_methods_can_be_varied_each_with_its_own_parameters():
    step = {"method": ["oma", "rank-swap"], "columns": ["pay"], "k": 3, "p": 5.0}
    assert [one for _, [one] in combinations(*read_varied([step], {}))] == [
        {"method": "oma", "columns": ["pay"], "k": 3},
        {"method": "rank-swap", "columns": ["pay"], "p": 5.0},
    ]


@pytest.mark.parametrize("text", ["k", "=3", "k="])
def test_an_option_has_a_name_and_values(text):
    message = f"--vary takes NAME=VALUES, such as k=2..20 or k=3,5,10, not '{text}'"
    with pytest.raises(BadInput) as error:
        read_option(text)
    assert str(error.value) == message
