"""People with several records: each is one attempt of an attack, and one person to isolate."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from discreet import protect
from discreet.assessment.attacked import attack
from discreet.attacks import inference, linkability, membership, singling_out
from discreet.errors import BadInput

PEOPLE, ROWS = 120, 5


def some(draw, n=PEOPLE):
    found = pd.DataFrame(draw.integers(0, 12, (n, 3)), columns=["age", "town", "job"])
    return found.assign(ill=draw.choice(["yes", "no"], n), who=np.arange(n))


def repeated(people):
    return people.loc[people.index.repeat(ROWS)].reset_index(drop=True)


ATTACKS = {
    "inference": lambda *tables, **how: inference(*tables, secret="ill", by="nearest", **how),
    "linkability": linkability,
    "membership": membership,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_records_of_one_person_are_no_further_attempts(name):
    """The interval of people with five equal records each is as wide as with one."""
    draw = np.random.default_rng(1)
    people, others = some(draw), some(draw, 80)
    many = [repeated(one) for one in (people, people.drop(columns="who"), others)]
    one = ATTACKS[name](people, people.drop(columns="who"), holdout=others, unit="who")
    found = ATTACKS[name](many[0], many[1], holdout=many[2], unit="who")
    assert (found.attack.of, found.control.of) == (PEOPLE, 80) == (one.attack.of, one.control.of)
    width = [one.interval[1] - one.interval[0] for one in (one, found)]
    assert width[1] > 0.7 * width[0]


@pytest.mark.parametrize("with_holdout", [True, False])
@pytest.mark.parametrize("mode", ["several", "one"])
def test_a_person_is_isolated_by_what_only_their_records_have(mode, with_holdout):
    draw = np.random.default_rng(2)
    people, others = some(draw), some(draw, 80)
    # Somebody is older than all others.
    people.loc[0, "age"] = 99
    released = people.drop(columns="who")
    held = {"holdout": others} if with_holdout else {}
    one = singling_out(people, released, mode=mode, **held)
    many = repeated(people), repeated(released)
    held = {"holdout": repeated(others)} if with_holdout else {}
    found = singling_out(*many, mode=mode, unit="who", **held)
    assert found.attack.value > 0
    assert singling_out(*many, mode=mode, **held).attack.value == 0
    if mode == "several":
        # Other predicates of the same people are drawn.
        assert found.attack.value == pytest.approx(one.attack.value, abs=0.1)
        assert found.excess == pytest.approx(one.excess, abs=0.1)


def test_what_luck_gives_with_several_records_is_that_of_as_many_draws():
    """Of two people with two rows each, a predicate of share 1/4 by the margins isolates one
    with a chance of 2 (1 - (3/4)^2) (3/4)^2."""
    table = pa.table({"a": [1, 2, 3, 4], "who": [7, 7, 8, 8]})
    found = singling_out(table, table.select(["a"]), mode="several", unit="who")
    assert found.guess.value == pytest.approx(2 * (1 - 0.75**2) * 0.75**2)


def test_rows_of_nobody_are_each_on_their_own():
    table = pa.table({"a": [1, 1, 2, 3], "b": [1, 2, 3, 3], "who": [7, 7, None, None]})
    found = membership(table, table.drop(["who"]), holdout=table.slice(0, 2), unit="who")
    assert (found.attack.of, found.control.of) == (3, 1)


def test_a_unit_that_is_not_there_is_refused():
    people = some(np.random.default_rng(1))
    for name in ATTACKS:
        with pytest.raises(BadInput, match="unit names 'whose', which the original does not have"):
            ATTACKS[name](people, people, holdout=people, unit="whose")
    with pytest.raises(BadInput, match="unit names 'whose', which the original does not have"):
        singling_out(people, people, unit="whose")


@pytest.mark.parametrize("role", ["unit", "household"])
def test_a_release_is_attacked_by_the_people_of_its_recipe(role):
    people = repeated(some(np.random.default_rng(3), 200))
    recipe = {
        "holdout": 0.2,
        "roles": {"quasi": ["age", "town", "job"], "confidential": ["ill"], role: "who",
                  "untouched": ["age", "town", "job"]},
        "steps": [],
    }  # fmt: skip
    found = attack(people, protect(people, recipe))
    by_name = {one.name: one for one in found.attacks}
    assert by_name["membership"].attack.of == 160
    assert by_name["inference"].control.of == 40
    assert any("one record of each 'who' is attacked, 160 of 800" in one for one in found.notes)
    # Members of a household are people of their own; records of a unit are not.
    assert (found.attacks[0].attack.value > 0) == (role == "unit")


def test_a_holdout_that_does_not_say_who_is_told():
    draw = np.random.default_rng(4)
    people, others = repeated(some(draw, 60)), some(draw, 60).drop(columns="who")
    recipe = {"roles": {"quasi": ["age", "town"], "untouched": ["age", "town"], "unit": "who",
                        "rest": "drop"}, "steps": []}  # fmt: skip
    found = attack(people, protect(people, recipe), holdout=others)
    assert any("the holdout has no column 'who'" in one for one in found.notes)


def test_one_attack_that_cannot_be_tried_leaves_the_others():
    """A secret without values is left out, and said to be; it does not stop the attack."""
    people = some(np.random.default_rng(5)).assign(none=pd.array([None] * PEOPLE, "Int64"))
    recipe = {"roles": {"quasi": ["age", "town"], "confidential": ["ill", "none"], "rest": "drop",
                        "untouched": ["age", "town"]}, "steps": []}  # fmt: skip
    found = attack(people, protect(people, recipe))
    assert found.left_out["inference of none"] == "column 'none' has no values to infer"
    assert [one.detail.get("secret") for one in found.attacks].count("ill") == 1


def test_no_more_people_are_attacked_than_asked_for():
    draw = np.random.default_rng(6)
    people, others = some(draw), some(draw)
    found = inference(people, people, secret="ill", holdout=others, queries=10)
    assert (found.attack.of, found.control.of) == (10, 10)
