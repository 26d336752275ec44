"""Two releases of one table: classes, values and cells that the pair narrows down."""

import itertools

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import differencing
from discreet.errors import BadInput


def test_two_cuts_of_ages():
    """Ages 31, 33, 36, 38 and 41 with k = 2.

    One release has the classes {31, 33}, {36, 38} and {41}, the other {31, 33, 36} and {38, 41}.
    The pair's classes are {31, 33}, {36}, {38} and {41}: 36 and 38 are alone, who were two.
    """
    people = pd.DataFrame({"age": [31, 33, 36, 38, 41]})
    one = pd.DataFrame({"age": ["30-34", "30-34", "35-39", "35-39", "40-49"]})
    other = pd.DataFrame({"age": ["30-36", "30-36", "30-36", "37-49", "37-49"]})
    found = differencing(people, one, other, quasi=["age"], k=2)
    # Alone: 2, 2, 1 in the one, 3 and 2 in the other. 41 is alone in the one already.
    assert found.smallest == (1, 2, 1)
    assert (found.below_k, found.classes) == (2, 2)
    # 36 was 36 or 38, and 31, 33 or 36: together 36. 38 was 36 or 38, and 38 or 41: together 38.
    # 31 and 33 stay two values; 41 was alone.
    assert (found.cells, found.narrowed, found.single) == (5, 2, 2)
    assert "narrow 2 of 5 records down to fewer than 2" in found.said


def test_values_that_both_classes_have():
    """Class {A, B} in the one and {B, C} in the other leave B alone for who is in both."""
    people = pd.DataFrame({"age": [31, 33, 36, 38], "ill": ["A", "B", "B", "C"]})
    one = people.assign(age=["30-34", "30-34", "35-39", "35-39"])
    other = people.assign(age=["30-32", "33-36", "33-36", "37-39"])
    found = differencing(people, one, other, quasi=["age"], secret="ill", k=1)
    # 33 is in {A, B} and in {B}: the other's class has one value by itself. No pair of two classes
    # with two values each is left with one.
    assert found.below_l == 0
    people = pd.DataFrame({"age": [31, 33, 36, 38, 42, 44], "ill": ["A", "B", "C", "B", "A", "C"]})
    one = people.assign(age=["30-35"] * 2 + ["36-44"] * 4)
    other = people.assign(age=["30-32"] + ["33-36"] * 2 + ["37-44"] * 3)
    found = differencing(people, one, other, quasi=["age"], secret="ill", k=2)
    # The one: {A, B}, {C, B, A, C}; the other: {A}, {B, C}, {B, A, C}. 33 has {A, B} and {B, C}: B.
    # 36 has {A, B, C} and {B, C}: two values. 38, 42 and 44 have three. 31 had one before.
    assert found.below_l == 1
    # Its class of the pair has one person, and so has 36's.
    assert found.below_k == 2
    assert differencing(people, one, other, quasi=["age"], secret="ill", k=2, l=3).below_l == 0


def test_every_confidential_column_counts():
    """One person is left with one illness, and another with one job: two in all."""
    people = pd.DataFrame({"age": [31, 33, 36, 38, 42, 44], "ill": ["A", "B", "C", "B", "A", "C"]})
    people["job"] = ["x", "y", "x", "w", "x", "y"]
    one = people.assign(age=["30-35"] * 2 + ["36-40"] * 2 + ["41-44"] * 2)
    other = people.assign(age=["30-32"] + ["33-36"] * 2 + ["37-44"] * 3)
    # Illnesses: {A, B}, {C, B}, {A, C}; {A}, {B, C}, {B, A, C}. 33 has {A, B} and {B, C}: B.
    # 36 has {C, B} twice, 38 {C, B} of {B, A, C}, 42 and 44 {A, C}: two each. 31 had one before.
    assert differencing(people, one, other, quasi=["age"], secret="ill").below_l == 1
    # Jobs: {x, y}, {x, w}, {x, y}; {x}, {y, x}, {w, x, y}. 36 has {x, w} and {y, x}: x. 38 has
    # {x, w} of {w, x, y}, 33, 42 and 44 {x, y}: two each.
    assert differencing(people, one, other, quasi=["age"], secret="job").below_l == 1
    assert differencing(people, one, other, quasi=["age"], secret=["ill", "job"]).below_l == 2


def test_records_that_can_be_joined():
    """Pay is released as it is in both; 10 occurs twice, so that two records are joined."""
    people = pd.DataFrame({"age": [31, 33, 36, 38], "pay": [10, 10, 20, 30]})
    one = people.assign(age="30-39")
    other = people.assign(age=["30-34", "30-34", "35-39", "35-39"])
    assert differencing(people, one, other, quasi=["age"]).joined == 2
    moved = other.assign(pay=[11, 9, 21, 29])
    assert differencing(people, one, moved, quasi=["age"]).joined == 0


def test_the_same_release_twice_tells_nothing_more():
    people = pd.DataFrame({"age": [31, 33, 36, 38], "sex": ["f", "m", "f", "m"]})
    one = pd.DataFrame({"age": ["30-39"] * 4, "sex": ["f", "m", "*", None]})
    found = differencing(people, one, one, quasi=["age", "sex"])
    assert (found.below_k, found.narrowed, found.single) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_against_a_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = 40
    people = pd.DataFrame({"age": rng.integers(20, 40, n), "ill": rng.choice(list("abc"), n)})

    def cut(width, first):
        start = first + (people["age"] - first) // width * width
        return people.assign(age=[f"{x}-{x + width - 1}" for x in start])

    one, other = cut(6, 18), cut(5, 17)
    found = differencing(people, one, other, quasi=["age"], secret="ill", k=4, l=3)
    pairs = list(zip(one["age"], other["age"], strict=True))
    few = [
        i
        for i, pair in enumerate(pairs)
        if pairs.count(pair) < 4
        and (one["age"] == pair[0]).sum() >= 4
        and (other["age"] == pair[1]).sum() >= 4
    ]
    assert found.below_k == len(few)
    assert found.classes == len({pairs[i] for i in few})
    values = [
        {v for v, a in zip(people["ill"], table["age"], strict=True) if a == label}
        for label, table in itertools.chain(
            zip(one["age"], [one] * n, strict=True), zip(other["age"], [other] * n, strict=True)
        )
    ]
    lost = sum(
        0 < len(a & b) < 3 and min(len(a), len(b)) >= 3
        for a, b in zip(values[:n], values[n:], strict=True)
    )
    assert found.below_l == lost


def test_suppressed_records_are_no_class_to_go_by():
    """One record is left out of the one release, and two are stars in the other.

    Shown are {31, 33, 36} and {38, 41}, and {31, 33} and {36, 38}: k is 2, and not 1 for 50, who is
    left out of the one. 36 is the only one in both of its classes, and so is 38; 41 is the only one
    of {38, 41} who is stars in the other.
    """
    people = pd.DataFrame({"age": [31, 33, 36, 38, 41, 50]})
    one = pd.DataFrame({"age": ["30-36"] * 3 + ["37-49"] * 2 + [None]})
    other = pd.DataFrame({"age": ["30-34"] * 2 + ["35-39"] * 2 + ["*"] * 2})
    found = differencing(people, one, other, quasi=["age"])
    assert (found.k, found.smallest) == (2, (2, 2, 1))
    assert (found.below_k, found.classes) == (3, 3)


def test_messages():
    people = pd.DataFrame({"age": [31, 33]})
    with pytest.raises(BadInput, match="quasi names 'town'"):
        differencing(people, people, people, quasi=["town"])
    with pytest.raises(BadInput, match="k must be a whole number"):
        differencing(people, people, people, quasi=["age"], k=0)
