"""Columns of every type find their leaves."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.generalization import Hierarchy
from discreet.generalization.ladder import Ladder

AGES = Hierarchy.from_table([[str(age), "young" if age < 40 else "old"] for age in range(38, 42)])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([41, None, 38]),
        pa.array([41, None, 38], pa.uint8()),
        pa.array([41.0, math.nan, 38.0]),
        pa.array([41.0, None, 38.0], pa.float32()),
        pa.array([Decimal("41.00"), None, Decimal("38.00")]),
        pa.array(["41", None, "38"]),
        pa.array(["41", None, "38"], pa.large_string()),
        pa.array(["41", None, "38"], pa.string_view()),
        pa.array(["41", None, "38"]).dictionary_encode(),
        pa.array([41, None, 38]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([3, 0, 2]), pa.array(["41", "x", "38", "41"])),
        pa.array(pd.Categorical(["41", None, "38"])),
        pa.chunked_array([["41"], [None], ["38"]]),
        pa.chunked_array([pa.array(["41"]).dictionary_encode(), pa.array([None, "38"]).dictionary_encode()]),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_numbers_and_text_find_the_same_leaf(column):
    ladder = AGES.bind(pa.array(["38"]), "age")
    codes = ladder.encode(column, "age")
    assert codes.dtype == np.int32
    expected = [
        None if value is None or value != value else int(float(value)) - 38
        for value in column.to_pylist()
    ]
    assert codes.tolist() == [-1 if code is None else code for code in expected]


def test_a_dictionary_may_list_a_value_twice_hold_nulls_and_labels_that_no_row_has():
    labels = pa.array(["41", None, "38", "41", "unknown"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), labels)
    assert AGES.bind(column, "age").encode(column, "age").tolist() == [3, -1, 0, 3, -1]
    ladder = Hierarchy.flat().bind(column, "age")
    assert ladder.leaves.to_pylist() == ["38", "41"]


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_booleans_match_in_any_case(words):
    ladder = Hierarchy.from_table([[words[0]], [words[1]]]).bind(pa.array([True]), "x")
    assert ladder.encode(pa.array([False, None, True]), "x").tolist() == [1, -1, 0]


def test_numbers_match_however_they_are_spelt():
    ladder = Hierarchy.from_table([["1.50"], ["1000000000000000"], ["0.0"], ["n/a"]]).bind(
        pa.array([1.5]), "x"
    )
    assert ladder.encode(pa.array([1.5, 1e15, -0.0]), "x").tolist() == [0, 1, 2]
    with pytest.raises(
        BadInput, match=r"^column 'x': 1 value in 2 rows has no place in the hierarchy: '3';"
    ):
        ladder.encode(pa.array([1.5, 3.0, 3.0]), "x")


def test_a_ladder_takes_new_rows_of_another_type():
    ladder = Hierarchy.intervals([10]).bind(pa.array([1, 25]), "x")
    assert ladder.encode(pa.array([25.0, 1.0]), "x").tolist() == [1, 0]
    with pytest.raises(BadInput) as caught:
        ladder.encode(pa.array([25, 7, 7]), "x")
    assert str(caught.value) == (
        "column 'x': 1 value in 2 rows has no place in the hierarchy: '7'; "
        "add it to the hierarchy, or correct the data"
    )


def test_no_rows():
    ladder = AGES.bind(pa.chunked_array([], pa.string()), "age")
    assert len(ladder.leaves) == 4
    for kind in (pa.string(), pa.int64(), pa.dictionary(pa.int32(), pa.string())):
        assert ladder.encode(pa.chunked_array([], kind), "age").tolist() == []


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=8))
def test_levels_that_do_not_nest_are_found(rows):
    # By the definition: two leaves that share a label share all coarser ones.
    nests = all(
        first[level + 1 :] == second[level + 1 :]
        for level in range(3)
        for first in rows
        for second in rows
        if first[level] == second[level]
    )
    leaves = pa.array(range(len(rows)))
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    if nests:
        ladder = Ladder.from_levels(leaves, columns)
        for level, column in enumerate(zip(*rows, strict=True), start=1):
            assert [ladder.labels[level][code] for code in ladder.maps[level]] == list(column)
    else:
        with pytest.raises(BadInput, match="levels must nest"):
            Ladder.from_levels(leaves, columns)
