"""Tuples found again among rows, against plain Python."""

import datetime as dt
import math
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.table import lookup as module
from discreet.table.lookup import Lookup


def plainly(cell):
    """What makes two cells equal: NaN is a null, and -0.0 is 0.0."""
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def tuples_of(columns):
    return list(zip(*([plainly(x) for x in c.to_pylist()] for c in columns.values()), strict=True))


def check(known, rows):
    lookup = pickle.loads(pickle.dumps(Lookup.learn(known)))
    learned, found = tuples_of(known), lookup.first[lookup.find(rows)]
    assert len(lookup.first) == len(set(learned))
    assert [learned[i] for i in found] == tuples_of(rows)


KINDS = {
    "float": (pa.float64(), [1.5, 0.0, -0.0, math.nan, 2.0]),
    "float32": (pa.float32(), [1.5, 0.0, -0.0, math.nan, None]),
    "text": (pa.string(), ["a", "b", "", "ä"]),
    "view": (pa.string_view(), ["a", "b", ""]),
    "truth": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [dt.date(2020, 1, 1), dt.date(1950, 5, 5)]),
    "time": (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    "hour": (pa.time32("s"), [dt.time(1, 2), dt.time(3, 4)]),
    "paid": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal("0.00")]),
    "nothing": (pa.null(), [None]),
    "whole": (pa.int64(), [2**60, -(2**60), 0]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoded", [(False, False), (True, True), (True, False), (False, True)])
def test_columns_of_every_kind(kind, encoded):
    type_, cells = KINDS[kind]
    rng = np.random.default_rng(0)
    known = [*cells, None]
    rows = [known[i] for i in rng.integers(0, len(known), 30)]

    def column(values, as_dictionary):
        pieces = [pa.array(values[:2], type_), pa.array(values[2:], type_)]
        made = pa.chunked_array(pieces)
        # Arrow makes no dictionary of views.
        return made.dictionary_encode() if as_dictionary and kind != "view" else made

    other = [i % 3 for i in range(len(known))]
    numbers = [other[known.index(x) if x in known else 3] for x in rows]
    # A row's tuple is one that is known: all pairs are.
    every = [(x, y) for x in known for y in range(3)]
    check(
        {"a": column([x for x, _ in every], encoded[0]), "b": pa.chunked_array([[y for _, y in every]])},
        {"a": column(rows, encoded[1]), "b": pa.chunked_array([numbers])},
    )  # fmt: skip


@given(
    st.lists(st.tuples(*[st.sampled_from([None, 1, 2, 3])] * 4), min_size=1, max_size=30),
    st.lists(st.integers(0, 100), max_size=30),
    st.sampled_from([1, 7, 100, 2**62]),
)
def test_any_tuples_folded_or_not(known, rows, largest):
    before = module._LARGEST_KEY
    module._LARGEST_KEY = largest
    try:
        names = "abcd"

        def columns(tuples):
            return {
                name: pa.chunked_array([pa.array([t[i] for t in tuples], pa.int32())])
                for i, name in enumerate(names)
            }

        check(columns(known), columns([known[r % len(known)] for r in rows]))
        absent = [t for t in {(1, 2, 3, 1), (4, 1, 1, 1), (None,) * 4} if t not in known]
        for one in absent:
            with pytest.raises(BadInput, match="which no row had when the table was counted"):
                Lookup.learn(columns(known)).find(columns([known[0], one]))
    finally:
        module._LARGEST_KEY = before


def test_many_columns_are_more_than_one_key_holds():
    rng = np.random.default_rng(0)
    known = {str(c): pa.chunked_array([rng.integers(0, 1000, 500)]) for c in range(12)}
    lookup = Lookup.learn(known)
    assert len(lookup.folds) > 1
    rows = pa.array(rng.integers(0, 500, 2000))
    found = lookup.find({name: column.take(rows) for name, column in known.items()})
    assert lookup.first[found].tolist() == rows.to_pylist()


def test_a_tuple_that_was_not_there_is_named():
    known = {"sex": pa.chunked_array([["f", "m"]]), "age": pa.chunked_array([[30, 8]])}
    for sex, age in (("f", 8), ("x", 8), ("m", None), (None, 30), ("m", 9)):
        row = {"sex": pa.chunked_array([pa.array([sex])]), "age": pa.chunked_array([pa.array([age], pa.int64())])}  # fmt: skip
        message = (
            f"a row has sex = {sex!r}, age = {age!r}, which no row had when the table was counted; "
            "use a table that does not change during the run"
        )
        with pytest.raises(BadInput) as refused:
            Lookup.learn(known).find(row)
        assert str(refused.value) == message
