import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.table import float_values, kind_of, numbers


def column(cells, kind=None):
    return pa.chunked_array([pa.array(cells, kind)])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.int8(), "numeric"),
        (pa.float32(), "numeric"),
        (pa.decimal128(5, 2), "numeric"),
        (pa.date32(), "numeric"),
        (pa.timestamp("ns", tz="UTC"), "numeric"),
        (pa.duration("s"), "numeric"),
        (pa.bool_(), "boolean"),
        (pa.dictionary(pa.int8(), pa.string(), ordered=True), "ordered"),
        (pa.dictionary(pa.int8(), pa.string()), "categorical"),
        (pa.string(), "text"),
        (pa.list_(pa.int8()), "other"),
    ],
)
def test_kinds(kind, name):
    assert kind_of(kind) == name


KINDS = [
    (st.integers(-(2**53), 2**53), pa.int64()),
    (st.decimals(-(10**9), 10**9, places=3), pa.decimal128(15, 3)),
    (st.dates(), pa.date32()),
    (st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), pa.timestamp("us")),
    (st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000)), pa.duration("us")),
    (st.floats(allow_nan=False, allow_infinity=False, width=32), pa.float32()),
    (st.floats(-1e15, 1e15), pa.float64()),
]


@pytest.mark.parametrize(("cells", "kind"), KINDS, ids=[str(kind) for _, kind in KINDS])
@given(data=st.data())
def test_there_and_back(cells, kind, data):
    values = data.draw(st.lists(st.none() | cells, min_size=1).filter(lambda v: any(c is not None for c in v)))  # fmt: skip
    before = column(values, kind)
    taken = numbers(before, "x")
    after = taken.restore(taken.values)
    assert after.type == kind
    assert after.to_pylist() == before.to_pylist()


LESS = "take less noise, or a method that keeps to the column's own values, such as rank-swap"
WIDER = 'bring such values back with a top-bottom step, give the column a wider type, or set precision = "full"'  # fmt: skip
DAY = dt.date(2020, 1, 1)
NIGHT = dt.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("kind", "cell", "values", "message"),
    [
        # The value at fault, not the largest.
        (pa.uint8(), 1, [91, -12, 300], f"uint8 cannot hold -12 (row 2), only 0 to 255; {WIDER}"),
        (pa.int16(), 1, [1, 2, 32768.4], f"int16 cannot hold 32768 (row 3), only -32768 to 32767; {WIDER}"),
        (pa.int64(), 1, [-2.0**54], f"int64 cannot hold -1.8014398509482e+16 exactly (row 1), only -9007199254740992 to 9007199254740992; {WIDER}"),
        (pa.date32(), DAY, [np.nan, 18262, 2932897], f"date32[day] cannot hold 10000-01-01 (row 3), only 0001-01-01 to 9999-12-31; {LESS}"),
        (pa.date64(), DAY, [-719163], f"date64[ms] cannot hold 0000-12-31 (row 1), only 0001-01-01 to 9999-12-31; {LESS}"),
        (pa.timestamp("s"), NIGHT, [2932897], f"timestamp[s] cannot hold 10000-01-01 (row 1), only 0001-01-01 to 9999-12-31; {LESS}"),
        (pa.timestamp("ns"), NIGHT, [106751, 106752], f"timestamp[ns] cannot hold 2262-04-12 (row 2), only 1677-09-22 to 2262-04-11; {LESS}, or give the column in microseconds"),
        (pa.timestamp("us"), NIGHT, [1e40], f"timestamp[us] cannot hold 1e+40 days since 1970-01-01 (row 1), only 0001-01-01 to 9999-12-31; {LESS}"),
        (pa.duration("ns"), dt.timedelta(2), [1e6], f"duration[ns] cannot hold 1e+06 (row 1); {LESS}"),
        (pa.decimal128(4, 2), Decimal("12.34"), [1.0, 1e15], f"decimal128(4, 2) cannot hold 1e+15 exactly (row 2); {LESS}"),
        (pa.float32(), 1.5, [1.0, -1e39], f"float cannot hold -1e+39 (row 2); {LESS}"),
        (pa.float64(), 1.5, [np.inf], f"double cannot hold inf (row 1); {LESS}"),
    ],
)  # fmt: skip
def test_values_that_leave_their_type_are_named(kind, cell, values, message):
    with pytest.raises(BadInput) as caught:
        numbers(column([cell], kind), "x").restore(np.array(values, dtype=float))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "cell", "ends"),
    [
        (pa.uint8(), 1, [0, 255]),
        (pa.date32(), DAY, [dt.date.min, dt.date.max]),
        (pa.date64(), DAY, [dt.date.min, dt.date.max]),
        (pa.timestamp("us"), NIGHT, [dt.datetime.min, dt.datetime(9999, 12, 31)]),
        (pa.timestamp("ms", tz="UTC"), NIGHT.replace(tzinfo=dt.UTC), [dt.datetime(9999, 12, 31, tzinfo=dt.UTC)]),
    ],
)  # fmt: skip
def test_the_ends_of_a_type_can_be_given_back(kind, cell, ends):
    taken = numbers(column([cell], kind), "x")
    values = numbers(column(ends, kind), "x").values
    assert taken.restore(values).to_pylist() == ends


def test_decimals_get_the_digits_that_they_need():
    taken = numbers(column([Decimal("12.34"), None]), "x")
    assert taken.type == pa.decimal128(4, 2)
    assert taken.restore(np.array([-99.99, np.nan])).type == pa.decimal128(4, 2)
    wide = taken.restore(np.array([-100.004, np.nan]))
    assert wide.type == pa.decimal128(5, 2)
    assert wide.to_pylist() == [Decimal("-100.00"), None]
    assert taken.restore(np.array([9e13, np.nan])).to_pylist() == [Decimal("9e13"), None]
    wide = numbers(column([Decimal("0.5")], pa.decimal256(2, 1)), "x").restore(np.array([123.4]))
    assert (wide.type, wide.to_pylist()) == (pa.decimal256(4, 1), [Decimal("123.4")])


def test_every_amount_of_cents_is_the_nearest_float():
    cents = np.arange(-100_000, 100_000)
    whole = pa.chunked_array(
        [pa.array([Decimal(int(c)) / 100 for c in cents], pa.decimal128(12, 2))]
    )
    taken = numbers(whole, "x")
    assert (taken.values == cents / 100).all()
    assert (taken.round(taken.values) == taken.values).all()
    assert numbers(whole.slice(7, 5), "x").values.tolist() == (cents[7:12] / 100).tolist()


def test_measuring_takes_seconds_whatever_the_unit():
    days = column([dt.date(2020, 1, 2), None], pa.date32())
    for other in (
        days.cast(pa.timestamp("s")),
        days.cast(pa.timestamp("ns")),
        days.cast(pa.date64()),
    ):
        assert np.array_equal(float_values(days, "t"), float_values(other, "t"), equal_nan=True)
    late = column([dt.datetime(2020, 1, 2, 0, 0, 0, 250_000)], pa.timestamp("us"))
    assert float_values(late, "t")[0] == float_values(days, "t")[0] + 0.25


@pytest.mark.parametrize(
    ("cells", "decimals"),
    [([1.0, 2.0], 0), ([1.25, 3.0], 2), ([0.1, None], 1), ([1 / 3], None), ([1e300, 0.5], 1)],
)
def test_decimals_of_floats(cells, decimals):
    assert numbers(column(cells), "x").decimals == decimals


@pytest.mark.parametrize(
    ("cells", "kind", "unit", "first"),
    [
        ([dt.date(1970, 1, 3)], pa.date32(), "days since 1970-01-01", 2),
        ([dt.datetime(1970, 1, 3)], pa.timestamp("ns"), "days since 1970-01-01", 2),
        ([dt.datetime(1970, 1, 1, 2)], pa.timestamp("us"), "hours since 1970-01-01", 2),
        ([dt.datetime(1970, 1, 1, 0, 0, 1, 500000)], pa.timestamp("us"), "0.001 seconds since 1970-01-01", 1500),
        ([dt.timedelta(minutes=3)], pa.duration("ns"), "minutes", 3),
    ],
)  # fmt: skip
def test_temporal_columns_count_in_the_coarsest_unit(cells, kind, unit, first):
    taken = numbers(column(cells, kind), "t")
    assert taken.unit == unit
    assert taken.values[0] == first


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (column([None, None], pa.float64()), "column 'x' holds only nulls"),
        (column([np.nan, np.nan]), "column 'x' holds only nulls"),
        (column([1.0, np.inf]), "column 'x', row 2: inf is infinite; remove it or mark it as missing"),
        (column([1, 2**53 + 1]), "column 'x', row 2: 9007199254740993 has more digits than a float64 can hold exactly (2^53); release it as text, or drop or shorten it"),
        (column([Decimal("12345678901234567.89")]), "column 'x', row 1: 12345678901234567.89 has more digits"),
        (column(["1", None, "x7"]), "column 'x', row 3: 'x7' is not a number; correct it, or list it in null_markers if it marks a missing value"),
        (column(["12", "13"]), "column 'x' holds numbers as text, such as '12'; convert it to numbers first"),
        (column(["12345678901234567890", "1"]), "column 'x', row 1: 12345678901234567890 has more digits"),
        (column([True, False]), "column 'x' is boolean, but this step needs numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_number_is_refused(cells, message):
    with pytest.raises(BadInput) as caught:
        numbers(cells, "x")
    assert str(caught.value).startswith(message)
