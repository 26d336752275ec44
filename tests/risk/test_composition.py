"""Households by their members: against a plain comparison of multisets."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import assess
from discreet.errors import BadInput
from discreet.risk import unique_households
from tests.risk.tables import COLUMNS, rows, table


@given(rows(30), st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 7, None]), min_size=30, max_size=30))
def test_against_multisets(rows, homes):
    homes = homes[: len(rows)]
    members = {}
    for place, (row, home) in enumerate(zip(rows, homes, strict=True)):
        # A record without a household is one of its own.
        members.setdefault(("alone", place) if home is None else home, Counter())[row] += 1
    alike = [sum(one == other for other in members.values()) for one in members.values()]
    homes = pa.array(homes, pa.int64())
    found = unique_households(table(rows, home=homes), COLUMNS, "home", k=3, detail=True)
    assert found.households == len(alike)
    assert found.smallest == min(alike)
    assert found.unique == pytest.approx(sum(n < 2 for n in alike) / len(alike))
    assert found.rare == pytest.approx(sum(n < 3 for n in alike) / len(alike))
    assert unique_households(table(rows), COLUMNS, homes) == found.unique


def test_members_of_two_homes_do_not_mix():
    # One tuple more often in one, another in the other: the same sets, but not the same multisets.
    data = pa.table({"home": [1, 1, 1, 2, 2, 2], "sex": ["f", "f", "m", "f", "m", "m"]})
    assert unique_households(data, ["sex"], "home") == 1.0


def test_large_households_are_compared_whole():
    homes = np.repeat([0, 1, 2], 20_000)
    sex = np.tile(np.arange(20_000), 3)
    sex[-1] = 0
    found = unique_households(pa.table({"sex": sex}), ["sex"], homes, detail=True)
    assert (found.unique, found.smallest) == (pytest.approx(1 / 3), 1)


def test_no_records():
    empty = pa.table({"home": pa.array([], pa.int64()), "sex": pa.array([], pa.string())})
    assert unique_households(empty, ["sex"], "home") == 0.0


def test_refusals():
    data = pa.table({"home": [1, 2], "sex": ["f", "m"]})
    with pytest.raises(BadInput, match=r"the table has no column 'house'"):
        unique_households(data, ["sex"], "house")
    with pytest.raises(BadInput, match=r"household has 1 values, the table 2 rows"):
        unique_households(data, ["sex"], [1])
    with pytest.raises(BadInput, match=r"k must be a whole number of 1 or more, not 0"):
        unique_households(data, ["sex"], "home", k=0)


HOMES = pa.table(
    {"home": [1, 1, 2, 2, 3, 4], "age": [31, 30, 31, 32, 50, 51], "sex": list("fmmfff")}
)
ROLES = {"quasi": ["age", "sex"], "household": "home"}


def test_assess_tells_it_before_and_after():
    coarse = HOMES.set_column(1, "age", pa.array(["30-39"] * 4 + ["50-59"] * 2))
    # Numbers of a release are others than those of the original.
    coarse = coarse.set_column(0, "home", pa.array([9, 9, 7, 7, 8, 5]))
    found = assess(HOMES, coarse, ROLES)
    entry = found.risk["composition"]
    assert (entry["before"]["unique"], entry["after"]["unique"]) == (1.0, 0.0)
    assert entry["after"]["smallest"] == 2
    assert "composition.unique" in str(found)


def test_released_numbers_say_who_lives_together():
    unlinked = HOMES.set_column(0, "home", pa.array([9, None, 7, 7, 8, None]))
    entry = assess(HOMES, unlinked, ROLES).risk["composition"]
    # Records that lost their number are nobody's members.
    assert (entry["before"]["households"], entry["after"]["households"]) == (4, 3)


def test_who_lives_together_is_not_known_without_the_numbers():
    found = assess(HOMES, HOMES.drop_columns(["home"]), ROLES)
    assert found.left_out["composition"] == "the release does not say who lives together"


def test_without_households_it_is_left_out():
    found = assess(HOMES, HOMES, {"quasi": ["age", "sex"], "identifiers": ["home"]})
    assert found.left_out["composition"] == "the roles name no household"
