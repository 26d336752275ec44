"""Rules of parameters: what they refuse, how they say it, and where a class gets them from."""

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.parameters import (
    FLAG,
    Constraints,
    Rule,
    check_declared,
    check_named,
    number,
    one_of,
    rules_of,
    whole,
)
from discreet.registry import methods, parameters

Kind = Literal["one", "two"]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.booleans().map(np.bool_),
    st.integers(-3, 3),
    st.integers(-3, 3).map(np.int64),
    st.integers(-3, 3).map(lambda n: n * 10**400),
    st.floats(-3, 3),
    st.floats(-3, 3).map(np.float64),
    st.sampled_from([math.nan, math.inf, -math.inf, 1 + 0j, Fraction(1, 2), 0.0, 1.0]),
    st.sampled_from(["", "one", "two", "1", b"1", [], [1], {}, {"x": 1}, (1,), object]),
)


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (whole(), 0, "p must be a whole number of at least 1, not 0"),
        (whole(2), True, "p must be a whole number of at least 2, not True"),
        (whole(2), 2.0, "p must be a whole number of at least 2, not 2.0"),
        (whole(1), None, "p must be a whole number of at least 1, not None"),
        (whole(1), {"x": 1}, "p must be a whole number of at least 1, not {'x': 1}"),
        (whole(1), [1], "p must be a whole number of at least 1, not [1]"),
        (number(least=0), -1, "p must be a number of at least 0, not -1"),
        (number(above=0, most=1), 0.0, "p must be a number above 0 and at most 1, not 0.0"),
        (number(least=0, most=1), 1.5, "p must be a number of at least 0 and at most 1, not 1.5"),
        (number(least=0, below=1), 1, "p must be a number of at least 0 and below 1, not 1"),
        (number(wanted="a finite number"), math.inf, "p must be a finite number, not inf"),
        (number(above=0), "1", "p must be a number above 0, not '1'"),
        (number(above=0, called="a {name}"), 0, "a p must be a number above 0, not 0"),
        (FLAG, 1, "p must be True or False, not 1"),
        (one_of(Kind), "three", "p must be one of 'one', 'two', not 'three'"),
        (one_of(Kind, wanted="one of one, two"), 1, "p must be one of one, two, not 1"),
        (whole(1, hint=" (or so)"), 0, "p must be a whole number of at least 1, not 0 (or so)"),
        (whole(1, by_column=True), {"x": 1, "y": 0}, "p must be a whole number of at least 1, not 0"),
        (
            number(above=0, called="the {name} of '{column}'", only_by_column=True),
            {"x": 1, "y": 0},
            "the p of 'y' must be a number above 0, not 0",
        ),
        (number(only_by_column=True), 2, "p must give a number for each column by name, not 2"),
        (whole(1, or_list="a number"), [], "p is an empty list; give a number"),
        (whole(1, or_list="a number"), (1, 0), "p must be a whole number of at least 1, not 0"),
    ],
)  # fmt: skip
def test_messages(rule, value, message):
    with pytest.raises(BadInput) as error:
        rule.check("p", value)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (whole(0), np.int64(0)),
        (whole(1, optional=True), None),
        (whole(1, by_column=True), 3),
        (whole(1, by_column=True), {"x": 1, "y": np.int32(2)}),
        (whole(1, or_list="a number"), [1, 2]),
        (number(), Fraction(1, 3)),
        (number(above=0, most=1), np.float32(1)),
        (number(optional=True, only_by_column=True), {}),
        (FLAG, np.True_),
    ],
)
def test_what_is_good(rule, value):
    rule.check("p", value)


def keeps(rule: Rule, value: Any) -> bool:
    try:
        rule.check("p", value)
    except BadInput as error:
        said = str(error)
    else:
        return True
    assert said == f"p must be {rule.wanted}, not {value!r}"
    return False


@given(ANYTHING, st.integers(-2, 2))
def test_whole_numbers_are_neither_floats_nor_booleans(value, least):
    is_whole = type(value) in (int, np.int64)
    assert keeps(whole(least), value) == (is_whole and value >= least)


@given(ANYTHING)
def test_numbers_are_finite_and_within_their_bounds(value):
    real = type(value) in (int, float, np.int64, np.float64, Fraction)
    finite = real and abs(value) < 10**300  # float64 does not hold what is larger
    assert keeps(number(least=0), value) == (finite and value >= 0)
    assert keeps(number(above=0, most=1), value) == (finite and 0 < value <= 1)
    assert keeps(number(above=-1, below=1), value) == (finite and -1 < value < 1)


@given(ANYTHING)
def test_flags_and_choices_take_nothing_else(value):
    assert keeps(FLAG, value) == (type(value) in (bool, np.bool_))
    assert keeps(one_of(Kind), value) == (type(value) is str and value in ("one", "two"))


@dataclass
class Base:
    constraints: ClassVar[Constraints] = {"k": whole(1), "share": number(least=0, most=1)}
    k: int = 1
    share: float = 0.5


@dataclass
class Derived(Base):
    constraints: ClassVar[Constraints] = {"k": whole(2, by_column=True)}
    k: Any = 2
    kind: Kind = "one"
    strict: bool = True
    free: float = 0.0


def test_a_class_adds_to_the_rules_of_its_bases_and_types_are_rules():
    rules = rules_of(Derived)
    assert list(rules) == ["k", "share", "kind", "strict"]
    assert rules["k"].wanted == "a whole number of at least 2"
    check_declared(Derived(free=-5))
    for wrong, said in [
        ({"k": 1}, "k must be a whole number of at least 2, not 1"),
        ({"share": 2}, "share must be a number of at least 0 and at most 1, not 2"),
        ({"kind": "three"}, "kind must be one of 'one', 'two', not 'three'"),
        ({"strict": "no"}, "strict must be True or False, not 'no'"),
    ]:
        with pytest.raises(BadInput, match=said):
            check_declared(Derived(**wrong))
    check_declared(Base(k=1))


def test_columns_that_there_are_not():
    check_named(Derived(k={"age": 2}), ["age"])
    with pytest.raises(BadInput) as error:
        check_named(Derived(k={"agee": 2}), ["age", "zip"])
    assert str(error.value) == (
        "k is given for column 'agee', but there is none of that name; did you mean 'age'?"
    )


@pytest.mark.parametrize("name", list(methods()))
def test_every_declaration_is_of_a_parameter(name):
    method = methods()[name]
    known = {parameter for parameter, *_ in parameters(method)} | set(method.estimator_only)
    inherited = {"degree"} if name == "lirop" else set()
    for base in method.__mro__:
        assert set(vars(base).get("constraints", {})) <= known | inherited
    rules = rules_of(method)
    for parameter, _, default in parameters(method):
        if parameter in rules and default is not inspect.Parameter.empty:
            rules[parameter].check(parameter, default)
