"""Minimality: the textbook case, and beliefs by counting all worlds."""

import itertools
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from discreet.attacks import minimality
from discreet.attacks._worlds import believed
from discreet.attacks.minimality import _left_half
from discreet.datasets import adult_hierarchy_paths, load_adult
from discreet.errors import BadInput
from discreet.generalization import (
    AlphaKAnonymity,
    Generalize,
    Hierarchy,
    KAnonymity,
    LDiversity,
    Mondrian,
)
from discreet.generalization.privacy import bind
from discreet.kernels.mondrian import _median
from discreet.kernels.privacy import holds
from discreet.table import to_arrow

HALF = AlphaKAnonymity(0.5, 2, column="disease")


def towns(diseases, small=2):
    names = ["small"] * small + ["large"] * (len(diseases) - small)
    return pd.DataFrame({"town": names, "disease": diseases})


def fitted(table, models, **options):
    return Generalize({"town": Hierarchy.flat()}, models, **options).fit(table)


def test_both_of_the_small_town():
    """Wong et al. 2007, as docs/explanation/threats.md tells it.

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
    assert "gains no belief" in found.said


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
    assert "4 records in 1 class are suppressed for their values" in found.said


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


# Rounds, suppressed records, cuts

DIVERSE = [KAnonymity(2), LDiversity(2, column="disease")]


@pytest.mark.parametrize("options", [{"local": True}, {}])
def test_a_class_that_was_not_kept_broke_a_model(options):
    """Town a has the flu three times, c one acne, and b ten people with two diseases; k = l = 2.

    Only b is released as a town. The other four come as *, by a round of their own or as
    suppressed: flu, flu, flu, acne. Town a has three people, enough for k, so that all of them have
    the same: the flu, which is there three times. So c has the acne. All four are certain, where
    the class has 3 of 4 and 1 of 4.
    """
    towns = list("aaac") + ["b"] * 10
    diseases = ["flu"] * 3 + ["acne"] + ["gout", "cold"] * 5
    people = pd.DataFrame({"town": towns, "disease": diseases})
    method = Generalize({"town": Hierarchy.flat()}, DIVERSE, suppression_limit=0.3, **options)
    released = method.fit_transform(people)["town"]
    assert released.tolist() == ["*"] * 4 + ["b"] * 10
    found = minimality(people, method.plan_, DIVERSE)
    assert (found.certain, found.gained, found.belief) == (4, 4, 1.0)
    if options:
        assert found.said.startswith(
            "Since a round passes over a class only if it breaks a model, one"
        )
    else:
        assert (found.suppressed, found.classes) == (3, 1)


def test_the_last_cut_of_mondrian_broke_a_model():
    """The textbook case with ages: two people of 20 and four of 30, cut between them.

    Both sides have k = 2. Only two HIV among the two of 20 are more than half (see above).
    """
    people = pd.DataFrame(
        {"age": [20, 20, 30, 30, 30, 30], "disease": ["HIV", "HIV", "flu", "gout", "acne", "cold"]}
    )
    method = Mondrian(HALF, columns=["age"])
    assert method.fit_transform(people)["age"].unique().tolist() == ["*"]
    found = minimality(people, method.plan_, HALF)
    assert (found.records, found.certain, found.columns) == (6, 2, ("age",))
    assert "only if every cut breaks a model" in found.said
    # A hierarchy is cut in other ways.
    assert minimality(people, method.plan_, HALF, trees=["age"]).certain == 0


@pytest.mark.parametrize("either", [False, True])
def test_what_is_believed_against_all_ways(either):
    rng = np.random.default_rng(4)
    for seed in range(15):
        n = int(rng.integers(4, 8))
        people = pd.DataFrame({"disease": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])})
        model = AlphaKAnonymity(0.5, 1, column="disease")
        bound = bind([model], {"disease": to_arrow(people)["disease"]}, n)
        codes, inside = bound.codes[0], np.arange(n) < rng.integers(1, n)
        values = int(codes.max()) + 1

        def breaks(part, bound=bound, values=values):
            counted = np.bincount(part, minlength=values).astype(np.int64)
            return not holds(bound.rules, len(part), counted)

        worlds = np.array(list(itertools.permutations(codes)))
        broken = [
            world
            for world in worlds
            if breaks(world[inside]) or (either and breaks(world[~inside]))
        ]
        found = believed(bound.codes, inside, bound.rules, either)
        if not broken:
            assert found is None
            continue
        for value in range(values):
            hit = np.array(broken) == value
            assert found.part[value] == pytest.approx(hit[:, inside].mean()), seed
            assert found.rest[value] == pytest.approx(hit[:, ~inside].mean()), seed


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("way", ["local", "suppressed", "mondrian"])
def test_what_is_certain_is_true(way, monkeypatch):
    """On random tables: whoever is said to have a value for certain has it."""
    module, certain = import_module("discreet.attacks.minimality"), 0

    def believe(self, who, belief, share, exact=True, plain=module._Told._believe):
        nonlocal certain
        for value in np.flatnonzero((belief > 1 - 1e-9) & (share < 1 - 1e-9)):
            if exact:
                assert (self.bound.codes[0, who] == value).all()
                certain += 1
        plain(self, who, belief, share, exact)

    monkeypatch.setattr(module._Told, "_believe", believe)
    options = {
        "local": {"local": True, "suppression_limit": 0.2},
        "suppressed": {"suppression_limit": 0.4},
    }
    flat = {"town": Hierarchy.flat(), "job": Hierarchy.flat()}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(12, 60))
        people = pd.DataFrame(
            {
                "town": rng.choice(list("abcd"), n),
                "job": rng.choice(list("xyz"), n),
                "disease": rng.choice(["flu", "gout", "acne"], n, p=[0.7, 0.2, 0.1]),
            }
        )
        if people["disease"].nunique() < 2:
            continue
        if way == "mondrian":
            method = Mondrian(DIVERSE, columns=["town", "job"]).fit(people)
        else:
            method = Generalize(flat, DIVERSE, **options[way]).fit(people)
        minimality(people, method.plan_, DIVERSE)
    assert certain


def test_adult_as_docs_threats_tells_it():
    adult, columns = load_adult(), ["sex", "age", "race", "education"]
    paths = adult_hierarchy_paths()
    hierarchies = {name: Hierarchy.from_csv(paths[name]) for name in columns}
    model = [KAnonymity(5), LDiversity(2, column="salary-class")]
    local = Generalize(hierarchies, model, local=True).fit(adult)
    assert minimality(adult, local.plan_, model).certain == 6120
    whole = Generalize(hierarchies, model).fit(adult)
    assert minimality(adult, whole.plan_, model).certain == 327
    # All by suppressed classes: where these are left out, nothing is.
    for group in whole.plan_["groups"]:
        group["left_out"] = True
    assert minimality(adult, whole.plan_, model).certain == 0
    cut = Mondrian(model, columns=columns).fit(adult)
    found = minimality(adult, cut.plan_, model)
    assert (found.certain, found.gained) == (0, 145)


def test_halves_are_those_that_mondrian_tries():
    rng = np.random.default_rng(2)
    for _ in range(200):
        codes = rng.integers(0, rng.integers(2, 6), rng.integers(2, 12))
        left = _left_half(codes)
        if len(np.unique(codes)) < 2:
            assert left is None
            continue
        cells = np.column_stack([codes, np.ones_like(codes), np.arange(len(codes))]).astype(
            np.int32
        )
        low, high = codes.min(), codes.max()
        none, bins = np.empty(0, np.int32), np.empty(1024, np.int64)
        key, records, share = _median(
            cells, 0, len(codes), len(codes), 0, -1, none, low, high, False, bins
        )
        assert (left == ((codes < key) | ((codes == key) & (share > 0)))).all()
        assert left.sum() == records
