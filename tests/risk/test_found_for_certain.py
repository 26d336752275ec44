"""Found for certain: against a plain comparison of every person with every released record."""

import importlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import assess
from discreet.errors import BadInput
from discreet.risk import class_sizes, found_for_certain
from tests.timed import within

module = importlib.import_module("discreet.risk.found_for_certain")

COLUMNS = ["u", "v", "w"]
# What a value can become: itself, one of two labels above it, or anything.
UNDER = {"a": ["a", "ab"], "b": ["b", "ab", "bc"], "c": ["c", "bc"], None: ["a", "b", "ab"]}


@st.composite
def released(draw, most=12):
    """Rows before and after, and the unit of each."""
    value = st.sampled_from(["a", "b", "c", None])
    before = draw(st.lists(st.tuples(value, value, value), min_size=1, max_size=most))
    after = [
        tuple(draw(st.sampled_from([*UNDER[cell], cell, None, "*"])) for cell in row)
        for row in before
    ]
    unit = st.sampled_from([1, 2, 3, None])
    return before, after, draw(st.lists(unit, min_size=len(before), max_size=len(before)))


def as_table(rows):
    cells = zip(*rows, strict=True)
    return pa.table({n: pa.array(c, pa.string()) for n, c in zip(COLUMNS, cells, strict=True)})


def by_all_pairs(before, after, units):
    """Tell of each record whether nobody else's can be its person's, from the definition."""
    pairs = [
        {(x[c], y[c]) for x, y in zip(before, after, strict=True)} for c in range(len(COLUMNS))
    ]

    def compatible(x, y):
        return all(
            x[c] is None or y[c] in (None, "*") or (x[c], y[c]) in pairs[c] for c in range(len(x))
        )

    return [
        {u for y, u in zip(after, units, strict=True) if compatible(x, y)} == {own}
        for x, own in zip(before, units, strict=True)
    ]


@given(released())
def test_against_all_pairs(rows):
    before, after, _ = rows
    expected = by_all_pairs(before, after, range(len(before)))
    found = found_for_certain(as_table(before), as_table(after), COLUMNS, detail=True)
    assert found.records.tolist() == expected
    assert (found.found, found.people) == (sum(expected), len(before))
    assert found.value == sum(expected) / len(before)


@given(released())
def test_units_against_all_pairs(rows):
    before, after, units = rows
    alone = [-i if unit is None else unit for i, unit in enumerate(units)]
    expected = by_all_pairs(before, after, alone)
    found = found_for_certain(
        as_table(before), as_table(after), COLUMNS, units=pa.array(units, pa.int64()), detail=True
    )
    assert found.records.tolist() == expected
    assert found.people == len(set(alone))
    assert found.found == len({u for u, yes in zip(alone, expected, strict=True) if yes})


@given(released())
def test_whoever_has_a_twin_is_not_found(rows):
    # The strict reading of blanks: each pattern is there twice.
    before, after, _ = rows
    assert found_for_certain(as_table(before * 2), as_table(after * 2), COLUMNS) == 0


@given(released())
def test_without_nulls_an_untouched_table_has_its_unique_records(rows):
    before = [row for row in rows[0] if None not in row]
    table = as_table(before) if before else as_table([("a",) * 3])
    found = found_for_certain(table, table, COLUMNS, detail=True)
    assert found.found == class_sizes(table, COLUMNS).unique


def test_a_record_with_no_value_left_can_be_anyones():
    before = pa.table({"age": [31, 45, 60]})
    after = pa.table({"age": [31, 45, None]})
    assert found_for_certain(before, after, ["age"], detail=True).found == 1  # who is 60
    after = pa.table({"age": ["31", "45", "*"]})
    assert found_for_certain(before, after, ["age"], detail=True).found == 1


def test_rounded_numbers_are_labels():
    before = pa.table({"age": [31, 33, 45, 60]})
    after = pa.table({"age": [32.0, 32.0, 45.0, 60.0]})
    found = found_for_certain(before, after, ["age"], detail=True)
    assert found.records.tolist() == [False, False, True, True]


def test_no_rows():
    none = pa.table({"age": pa.array([], pa.int64())})
    assert found_for_certain(none, none, ["age"]) == 0


def test_tables_that_do_not_go_together():
    one, two = pa.table({"age": [1]}), pa.table({"age": [1, 2]})
    with pytest.raises(BadInput, match="the original has 1 rows, the protected table 2"):
        found_for_certain(one, two, ["age"])
    with pytest.raises(BadInput, match="has no column 'ages'"):
        found_for_certain(one, one, ["ages"])


PEOPLE = pa.table({
    "sex": ["f", "f", "m", "m", "m"],
    "region": ["north", "south", "north", "north", "south"],
})  # fmt: skip
BLANKED = pa.table({
    "sex": ["f", "f", None, None, None],
    "region": ["north", None, "north", "north", "south"],
})  # fmt: skip


def test_assess_takes_it_where_there_are_blanks():
    taken = assess(PEOPLE, BLANKED, {"quasi": ["sex", "region"]})
    entry = taken.risk["found_for_certain"]
    assert entry["columns"] == ["sex", "region"]
    assert entry["before"] == {"found": 3, "share": 0.6}
    assert entry["after"] == {"found": 1, "share": 0.2}  # the man in the south
    assert "found_for_certain.found" in str(taken)


def test_assess_says_why_it_is_left_out():
    same = assess(PEOPLE, PEOPLE, {"quasi": ["sex", "region"]})
    assert "class_sizes tells as much" in same.left_out["found_for_certain"]
    asked = assess(PEOPLE, PEOPLE, {"quasi": ["sex"]}, measures=["found_for_certain"])
    assert asked.risk["found_for_certain"]["after"]["found"] == 0
    step = {"method": "pram", "columns": ["sex"]}
    recipe = {"roles": {"quasi": ["sex"], "rest": "drop"}, "steps": [step]}
    left = assess(
        PEOPLE, BLANKED, {"quasi": ["sex"], "rest": "drop"}, recipe=recipe,
        measures=["found_for_certain"],
    ).left_out["found_for_certain"]  # fmt: skip
    assert left.startswith("step 1 (pram) perturbs 'sex'")


@pytest.mark.parametrize("units", [False, True])
def test_scattered_nulls_are_met_one_by_one_or_by_kind_alike(monkeypatch, units):
    rng = np.random.default_rng(3)
    known = pd.DataFrame(rng.integers(0, 3, (80, 4)), columns=list("abcd")).astype(float)
    released = known.assign(a=known["a"] // 2).mask(rng.random(known.shape) < 0.1)
    known = known.mask(rng.random(known.shape) < 0.2)
    people = rng.integers(0, 50, 80) if units else None
    found = []
    for pairs in (0, 10**9):
        monkeypatch.setattr(module, "_PAIRS", pairs)
        one = found_for_certain(known, released, list("abcd"), units=people, detail=True)
        found.append(one.records.tolist())
    assert found[0] == found[1]
    assert 0 < sum(found[0]) < 80


def test_scattered_nulls_take_seconds():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.integers(0, 5, (2000, 10)), columns=list("abcdefghij")).astype(float)
    table = table.mask(rng.random(table.shape) < 0.2)
    found = within(5, lambda: found_for_certain(table, table, list("abcdefghij")))
    assert found == pytest.approx(0.58)
