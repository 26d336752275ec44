"""Downcoding: textbook cases by hand, and worlds that are counted one by one."""

import itertools
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.attacks import downcoding
from discreet.attacks._planned import Planned, numbered
from discreet.attacks._ranges import given_ends
from discreet.attacks.downcoding import _given_broken, _kept
from discreet.errors import BadInput
from discreet.generalization import Generalize, Hierarchy, KAnonymity, Mondrian

AGES = Hierarchy.from_table([["31", "30-39", "*"], ["34", "30-39", "*"], ["50", "50", "*"]])


def fitted(table, hierarchies, k, **options):
    method = Generalize(hierarchies, KAnonymity(k), **options)
    return method.fit_transform(table), method


def test_two_of_one_class_must_differ():
    """Cohen 2022: two people are released as 30-39, three as 50, with k = 2.

    Had both been 31, or both 34, ages 31 (2), 50 (3) would have kept k = 2 and been released.
    So one is 31 and one 34, for certain, though not which: 2 records whose make-up is known. A
    guess of "31" for both is right for one of the two, with the knowledge and without it.
    """
    people = pd.DataFrame({"age": ["31", "34", "50", "50", "50"]})
    _, method = fitted(people, {"age": AGES}, 2)
    found = downcoding(people, method.plan_, k=2)
    assert (found.cells, found.records, found.made_up, found.certain) == (2, 2, 2, 0)
    assert found.attack.value == found.guess.value == 0.5
    assert "for 2 records it is certain how many of their class" in found.said


def test_without_minimality_nothing_is_known():
    people = pd.DataFrame({"age": ["31", "34", "50", "50", "50"]})
    _, method = fitted(people, {"age": AGES}, 2, publish_minimal=False, random_state=1)
    assert downcoding(people, method.plan_, k=2).made_up == 0
    # Ages were not to be had by the recipe: that they are not there tells nothing.
    _, method = fitted(people, {"age": AGES}, 2, levels={"age": [1, 2]})
    assert downcoding(people, method.plan_, k=2, lowest={"age": 1}).made_up == 0


def test_a_broken_split_turns_the_guess():
    """Five people are released as 30-39, k = 2; 31 has a share of 1/6, 34 of 1/3, 50 of 1/2.

    Of five draws with chances 1/3 (31) and 2/3 (34), the number of 31 is 0..5 with chances
    32, 80, 80, 40, 10, 1 of 243. k = 2 is broken by one 31 (80) or one 34 (10): 90 of 243.
    A record is 31 in (1/5 * 80 + 4/5 * 10) / 90 = 24/90 of these cases.
    """
    (told,) = _given_broken(np.array([5]), np.array([1 / 3, 2 / 3]), np.array([2]), 2)
    assert told == pytest.approx([24 / 90, 66 / 90])
    chance, joint = _kept(5, np.array([1 / 3, 2 / 3]), 2)
    assert chance == pytest.approx(153 / 243)
    # No part of one, and a given record is 31: 2/5 * 80 + 3/5 * 40 + 1 = 57 of 243.
    assert joint == pytest.approx([57 / 243, 96 / 243])


@pytest.mark.parametrize(("n", "k", "p"), [(4, 2, (0.2, 0.3, 0.5)), (6, 3, (0.5, 0.5))])
def test_splits_by_counting_all_of_them(n, k, p):
    """Every way to give n records a part, with its chance."""
    broken, first = 0.0, np.zeros(len(p))
    for parts in itertools.product(range(len(p)), repeat=n):
        if any(0 < parts.count(part) < k for part in parts):
            chance = np.prod([p[part] for part in parts])
            broken += chance
            first[parts[0]] += chance
    (told,) = _given_broken(np.array([n]), np.array(p), np.array([len(p)]), k)
    assert told == pytest.approx(first / broken)


@pytest.mark.parametrize("n", [200, 5000])
def test_splits_of_large_classes_by_drawing_them(n):
    """Parts with many records are never too small, and need not be convolved."""
    p, k = np.array([0.6, 0.3945, 0.004, 0.001, 0.0005]), 5
    drawn = np.random.default_rng(1).multinomial(n, p, size=200_000)
    kept = ~((drawn > 0) & (drawn < k)).any(axis=1)
    chance, joint = _kept(n, p, k)
    assert chance == pytest.approx(kept.mean(), abs=0.005)
    assert joint == pytest.approx((drawn * kept[:, None]).mean(axis=0) / n, abs=0.003)


def test_what_was_shown_before_is_excluded():
    """Local recoding with k = 2, columns sex and town, flat hierarchies.

    Round 1 shows (a, m), (b, m), (a, f) with two people each. (b, f) has one, who is left with
    (c, m), also alone: both become (*, *). The pairs that were not shown are (b, f), (c, m) and
    (c, f), so that neither column is certain: three pairs are left, for two people. Of the towns
    left, c has two of three pairs; shares are a 4/8, b 3/8, c 1/8, m 5/8, f 3/8, and the pairs
    that are left have 9/64, 5/64 and 3/64: a town b is as likely as 9 of 17, and a sex f as 12 of
    17, where a guess says a and m.
    """
    people = pd.DataFrame({"town": list("aabbaabc"), "sex": list("mmmmfffm")})
    hierarchies = {"town": Hierarchy.flat(), "sex": Hierarchy.flat()}
    released, method = fitted(people, hierarchies, 2, local=True, suppression_limit=0)
    assert released.tail(2).to_numpy().tolist() == [["*", "*"], ["*", "*"]]
    found = downcoding(people, method.plan_, k=2)
    assert (found.cells, found.certain, found.made_up) == (4, 0, 0)
    # b and f are each right once; without the knowledge, m is right once, and a never.
    assert (found.attack.successes, found.guess.successes) == (2, 1)


def test_the_make_up_is_known_where_candidates_are_few():
    """Round 1 shows (m, 31) and (m, 34), two people each; k = 2.

    (f, 31) and (f, 34) have one each and come as (f, *). Each of the two ages can have one person
    at most, or it would have been shown: so each has one.
    """
    people = pd.DataFrame({"sex": list("mmmmff"), "age": ["31", "31", "34", "34", "31", "34"]})
    hierarchies = {"sex": Hierarchy.flat(), "age": Hierarchy.flat()}
    released, method = fitted(people, hierarchies, 2, local=True, suppression_limit=0)
    assert released.tail(2).to_numpy().tolist() == [["f", "*"], ["f", "*"]]
    found = downcoding(people, method.plan_, k=2)
    assert (found.cells, found.certain, found.made_up) == (2, 0, 2)
    # Without k, classes of those who are left may be of any size.
    assert downcoding(people, method.plan_).made_up == 0


def test_suppressed_records_are_what_was_not_shown():
    """Flat columns, k = 2, two records of ten are suppressed.

    Shown are (a, x) and (b, x), four people each; (a, y) and (b, y) have one, and are stars. Both
    have y, for certain: no (., x) is left. And as each can be of one person only, both are there.
    """
    people = pd.DataFrame({"one": list("aaaabbbbab"), "two": list("xxxxxxxxyy")})
    hierarchies = {"one": Hierarchy.flat(), "two": Hierarchy.flat()}
    released, method = fitted(people, hierarchies, 2, suppression_limit=0.2)
    assert released.tail(2).to_numpy().tolist() == [["*", "*"], ["*", "*"]]
    found = downcoding(people, method.plan_, k=2)
    assert (found.cells, found.certain, found.certain_records, found.made_up) == (4, 2, 2, 2)


def random_people(seed, nulls):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 400))
    table = pd.DataFrame(
        {
            "age": rng.choice([20, 22, 31], n, p=[0.6, 0.3, 0.1]),
            "sex": rng.choice(["m", "f"], n, p=[0.9, 0.1]),
            "town": rng.choice(["a", "b"], n, p=[0.8, 0.2]),
            "job": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
        }
    )
    if nulls:
        table["town"] = table["town"].where(rng.random(n) > 0.2, None)
    return table


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("k", "nulls", "options"),
    [
        (2, False, {"local": True, "suppression_limit": 0}),
        (6, False, {"suppression_limit": 0.1}),
        (3, True, {"local": True, "suppression_limit": 0.3}),
    ],
)
def test_what_is_certain_is_true(k, nulls, options, monkeypatch):
    """On random tables: whatever is said to be certain is so in the original."""
    flat = dict.fromkeys(["sex", "town", "job"], Hierarchy.flat())
    hierarchies = {"age": Hierarchy.intervals(widths=[5, 10])} | flat
    certain, known = 0, 0
    module = import_module("discreet.attacks.downcoding")

    def count(self, shown, best, whole, plain=module._Found._count):
        nonlocal certain, known
        nodes = [one.levels for group in self.table.groups for one in group.rounds]
        for one in best:
            for u in np.flatnonzero(one.certain & (one.level >= 0)):
                tuples = shown.tuples[shown.of_tuple == u]
                assert (self.table.at(one.a, one.level[u], tuples) == one.child[u]).all()
                certain += 1
        for u in np.flatnonzero(whole):
            # At the node of some other round, each label has k - 1 of the class.
            tuples = shown.tuples[shown.of_tuple == u]
            sizes = []
            for node in nodes:
                low = enumerate(map(min, node, shown.levels))
                _, of = numbered([self.table.at(a, level, tuples) for a, level in low])
                sizes.append(np.bincount(of, self.table.counts[tuples]))
            assert any((x == k - 1).all() for x in sizes)
            known += 1
        plain(self, shown, best, whole)

    monkeypatch.setattr(module._Found, "_count", count)
    for seed in range(20):
        table = random_people(seed, nulls)
        _, method = fitted(table, hierarchies, k, **options)
        found = downcoding(table, method.plan_, k=k)
        assert found.looked_at == 1
    assert certain or nulls
    assert known or not options.get("local")


def test_rows_that_are_suppressed_one_by_one_exclude_nothing():
    """Rows of a household that are seen together: single rows go, though others show their labels.

    Then a star may be anything that was shown, and nothing is claimed of stars.
    """
    rng = np.random.default_rng(1)
    homes, sexes = np.sort(rng.integers(0, 40, 80)), rng.choice(["m", "f"], 80)
    jobs = rng.choice(list("xyz"), 80, p=[0.6, 0.3, 0.1])
    people = pd.DataFrame({"home": homes, "sex": sexes, "job": jobs})
    step = {
        "method": "generalize",
        "columns": ["sex", "job"],
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "hierarchies": {"sex": {"kind": "flat"}, "job": {"kind": "flat"}},
        "null_policy": "value",
        "suppression_limit": 0.4,
    }
    roles = {"quasi": ["sex", "job"], "household": "home"}
    release = discreet.protect(people, {"roles": roles, "known_rows": 2, "steps": [step]})
    quasi = release.table[["sex", "job"]]
    stars = (quasi == "*").all(axis=1)
    shown = set(map(tuple, quasi[~stars].to_numpy()))
    assert any(tuple(one) in shown for one in people.loc[stars, ["sex", "job"]].to_numpy())
    found = downcoding(people, release.plan["steps"][0]["joint"])
    assert (found.certain, found.made_up) == (0, 0)
    assert found.attack.successes <= found.cells


def test_other_plans_are_refused():
    with pytest.raises(BadInput, match="on plans of `generalize`"):
        downcoding(pd.DataFrame({"a": [1]}), {"kind": "oma"})


# Mondrian


def test_two_records_of_a_range_are_its_ends():
    """Ages 20, 22, 41 and 44 with k = 2: Mondrian cuts into 20-22 and 41-44.

    Each range has two records, and its ends are somebody's: all four records' values are known but
    for who of the two has which. A guess of one end for both is right for one of two, as before.
    """
    people = pd.DataFrame({"age": [20, 22, 41, 44]})
    method = Mondrian(KAnonymity(2))
    assert set(method.fit_transform(people)["age"]) == {"20-22", "41-44"}
    found = downcoding(people, method.plan_)
    assert (found.cells, found.records, found.made_up, found.certain) == (4, 4, 4, 0)
    assert found.attack.value == found.guess.value == 0.5


def test_ends_are_likelier_than_the_distribution_says():
    """Three records of 1-3 where 2 has a share of 0.8, 1 and 3 of 0.1 each.

    Both ends occur in 1 - 2 * 0.9^3 + 0.8^3 = 0.054 of all cases. Of these a given record is 1 in
    0.1 * (1 - 0.9^2) = 0.019, 3 as often, and 2 in 0.8 * (1 - 2 * 0.9^2 + 0.8^2) = 0.016.
    """
    found = given_ends(np.array([0.1, 0.8, 0.1]), 3)
    assert found == pytest.approx(np.array([19, 16, 19]) / 54)


def test_members_of_a_set_are_all_there():
    """{clerk, nurse} of two records is one of each; with three, one of them comes twice."""
    people = pd.DataFrame({"job": ["clerk", "nurse", "cook", "cook", "maid", "maid", "smith"]})
    method = Mondrian(KAnonymity(2))
    released = method.fit_transform(people)["job"]
    found = downcoding(people, method.plan_)
    sizes = released.value_counts()
    own = people["job"].groupby(released).nunique()
    known = [label for label in sizes.index if own[label] > 1 and sizes[label] == own[label]]
    assert found.made_up == sum(sizes[label] for label in known)
    assert found.made_up >= 2
    # A label of a hierarchy need not be tight.
    assert downcoding(people, method.plan_, trees=["job"]).made_up == 0


@pytest.mark.parametrize("null_policy", ["segregate", "value", "suppress"])
def test_ranges_of_random_tables(null_policy):
    """What is counted, by looking at the released table beside the original."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {"age": rng.integers(20, 60, 80).astype(float), "n": rng.integers(0, 9, 80)}
    )
    people.loc[rng.random(80) < 0.1, "age"] = None
    method = Mondrian(KAnonymity(2), null_policy=null_policy)
    released = method.fit_transform(people).fillna("null")
    found = downcoding(people, method.plan_)
    classes = released.groupby(["age", "n"])
    made_up = 0
    for (age, n), rows in classes.groups.items():
        ranged = [c for c, label in (("age", age), ("n", n)) if "-" in label]
        if len(rows) == 2 and ranged:
            made_up += 2
            for column in ranged:
                ends = sorted(float(x) for x in (age if column == "age" else n).split("-"))
                assert sorted(people.loc[rows, column]) == ends
    assert found.made_up == made_up > 0
    assert found.guess.value <= 1


def test_other_ways_to_cut_are_refused():
    people = pd.DataFrame({"age": [20, 22, 30, 34, 41, 44]})
    method = Mondrian(KAnonymity(2), strict=False)
    method.fit_transform(people)
    if "tuples" not in method.plan_:
        with pytest.raises(BadInput, match="strict cuts"):
            downcoding(people, method.plan_)


@pytest.mark.parametrize(
    "quality",
    [
        "loss",
        "precision",
        "nue",
        "nnue",
        "discernibility",
        "ambiguity",
        "average-class",
        "entropy-based",
    ],
)
@pytest.mark.parametrize("limit", [0, 0.1])
def test_one_level_finer_some_kept_class_has_a_part_below_k(quality, limit):
    """What is used of an optimum, on random tables and by every quality model."""
    hierarchies = {
        "age": Hierarchy.intervals(widths=[5, 10]),
        "sex": Hierarchy.flat(),
        "town": Hierarchy.flat(),
        "job": Hierarchy.flat(),
    }
    looked = 0
    for seed in range(4):
        table = random_people(seed, nulls=False)
        _, method = fitted(table, hierarchies, 6, quality=quality, suppression_limit=limit)
        planned = Planned(pa.Table.from_pandas(table), method.plan_)
        (group,) = planned.groups
        (shown,) = group.rounds
        for a, level in enumerate(shown.levels):
            if level:
                finer = planned.at(a, level - 1, shown.tuples)
                _, part = numbered([shown.of_tuple, finer])
                assert np.bincount(part, planned.counts[shown.tuples]).min() < 6
                looked += 1
    assert looked
