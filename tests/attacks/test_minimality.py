"""Minimality: the textbook case, and beliefs by counting all worlds."""

import itertools

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import minimality
from discreet.errors import BadInput
from discreet.generalization import AlphaKAnonymity, Generalize, Hierarchy, KAnonymity, LDiversity

HALF = AlphaKAnonymity(0.5, 2, column="disease")


def towns(diseases, small=2):
    names = ["small"] * small + ["large"] * (len(diseases) - small)
    return pd.DataFrame({"town": names, "disease": diseases})


def fitted(table, models, **options):
    return Generalize({"town": Hierarchy.flat()}, models, **options).fit(table)


def test_both_of_the_small_town():
    """Wong et al. 2007, as docs/threats.md tells it.

    Six people, two of them with HIV; at most half of a class may share a disease. Of the 15 ways
    to give two of six HIV, one puts both into the small town (2 of 2, above half), 8 one in each
    (1 of 2 is half, which is allowed, 1 of 4), and 6 both into the large one (2 of 4 is half). Only
    the first breaks the model. Belief in HIV: 1 for both, where the class has 2 of 6.
    """
    people = towns(["HIV", "HIV", "flu", "gout", "acne", "cold"])
    method = fitted(people, HALF)
    assert method.levels_[0]["levels"] == {"town": 1}
    found = minimality(people, method.plan_, HALF)
    assert (found.records, found.certain, found.gained) == (6, 2, 2)
    assert (found.belief, found.share) == (1.0, pytest.approx(1 / 3))
    assert found.columns == ("town",)
    assert "is certain of a confidential value of 2 of 6 records" in found.said


def test_a_belief_by_counting():
    """Two values, l = 2 distinct, towns of 2 and 4, three of six have each value.

    There are C(6, 3) = 20 ways. The small town is all A in C(4, 1) = 4 of them (the third A is one
    of four others), and all B in 4. The large town cannot be alike, since it has four people. So 8
    ways break the model; a person of the small town is A in 4 of 8, which is A's share of 3 of 6.
    In the large town 1 of 4 is A in four ways and 3 of 4 in the other four: one half as well.
    """
    people = towns(["A", "A", "A", "B", "B", "B"])
    model = [KAnonymity(2), LDiversity(2, column="disease")]
    method = fitted(people, model)
    found = minimality(people, method.plan_, model)
    assert found.columns == ("town",)
    assert (found.certain, found.gained, found.belief) == (0, 0, 0.0)
    assert "raises no belief" in found.said


@pytest.mark.parametrize("small", [2, 3])
def test_beliefs_against_a_brute_force(small):
    people = towns(["A"] * small + ["B", "B", "A", "C"], small)
    model = [KAnonymity(2), LDiversity(2, column="disease")]
    method = fitted(people, model)
    assert method.levels_[0]["levels"] == {"town": 1}
    n, values = len(people), people["disease"].tolist()
    broken = [
        world
        for world in itertools.permutations(values)
        if len(set(world[:small])) < 2 or len(set(world[small:])) < 2
    ]
    belief = {v: np.mean([w[0] == v for w in broken]) for v in "ABC"}
    best = max(belief, key=belief.get)
    found = minimality(people, method.plan_, model)
    assert found.belief == pytest.approx(belief[best])
    assert found.share == pytest.approx(values.count(best) / n)


def test_k_explains_what_is_too_small():
    """One person in the small town: k alone forbids towns, and values need not be the reason."""
    people = towns(["HIV", "HIV", "flu", "gout", "acne", "cold"], small=1)
    method = fitted(people, HALF)
    found = minimality(people, method.plan_, HALF)
    assert (found.certain, found.gained, found.columns) == (0, 0, ())


def test_levels_that_were_drawn_or_fixed_tell_nothing():
    people = towns(["HIV", "HIV", "flu", "gout", "acne", "cold"])
    drawn = fitted(people, HALF, publish_minimal=False, random_state=3)
    assert minimality(people, drawn.plan_, HALF).certain == 0
    method = fitted(people, HALF, levels={"town": 1})
    assert minimality(people, method.plan_, HALF, lowest={"town": 1}).certain == 0


def test_classes_that_are_suppressed_for_their_values():
    """Three towns of four; in one all have the flu, and it is suppressed: 4 records in one class."""
    people = pd.DataFrame({"town": list("aaaabbbbcccc"), "disease": list("xyxyxyxyzzzz")})
    model = [KAnonymity(3), LDiversity(2, column="disease")]
    method = fitted(people, model, suppression_limit=0.4)
    found = minimality(people, method.plan_, model)
    assert (found.suppressed, found.classes) == (4, 1)
    assert "4 records in 1 classes are suppressed for their values" in found.said


def test_many_classes_tell_nothing_of_one():
    """Two hundred people in forty streets: that some street is alike is no news."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "town": np.repeat([f"{i:02d}" for i in range(40)], 5),
            "disease": rng.choice(["a", "b"], 200),
        }
    )
    model = [KAnonymity(5), LDiversity(2, column="disease")]
    method = Generalize({"town": Hierarchy.prefix()}, model, suppression_limit=0).fit(people)
    found = minimality(people, method.plan_, model)
    assert found.certain == 0


def test_rows_may_be_counted():
    people = towns(["HIV", "HIV", "flu", "gout", "acne", "cold"])
    method = fitted(people, HALF)
    tuples = people.groupby(["town", "disease"], as_index=False).size()
    found = minimality(tuples, method.plan_, HALF, counts=tuples["size"])
    assert found.certain == 2


def test_there_must_be_a_model_of_values():
    people = towns(["HIV", "HIV", "flu", "gout", "acne", "cold"])
    with pytest.raises(BadInput, match="models of confidential values"):
        minimality(people, fitted(people, KAnonymity(2)).plan_, KAnonymity(2))
