"""pandas, polars and pyarrow in, the same out: values, types and order."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.table import to_arrow

UTC_PLUS = dt.timezone(dt.timedelta(hours=2))
ZONE = "Europe/Berlin"
DAY = dt.date(2020, 1, 10)


def days(*offsets):
    return [None if o is None else DAY + dt.timedelta(days=o) for o in offsets]


def times(*offsets):
    start = dt.datetime(2020, 1, 10, 8, 30)
    return [None if o is None else start + dt.timedelta(minutes=o) for o in offsets]


# Kind of column -> (six cells, of which OMA with k = 2 makes three pairs; the points of the pairs).
COLUMNS = {
    "int": ([1, 3, 10, 12, 50, 56], [2, 11, 53]),
    "int_half": ([1, 2, 10, 13, 50, 55], [2, 12, 52]),  # half to even
    "float": ([1.5, 2.5, 10.0, 12.0, 50.0, 51.0], [2.0, 11.0, 50.5]),
    "decimal": (
        [Decimal(t) for t in ("1.10", "1.30", "9.00", "9.50", "70.25", "70.75")],
        [Decimal(t) for t in ("1.20", "9.25", "70.50")],
    ),
    "date": (days(0, 2, 100, 102, 900, 904), days(1, 101, 902)),
    "datetime": (times(0, 2, 100, 102, 900, 904), times(1, 101, 902)),
    "duration": (
        [dt.timedelta(minutes=m) for m in (0, 2, 100, 102, 900, 904)],
        [dt.timedelta(minutes=m) for m in (1, 101, 902)],
    ),
}
ORDER = [4, 0, 3, 1, 5, 2]


def arrow_column(kind: str) -> pa.Array:
    cells = [COLUMNS[kind][0][i] for i in ORDER]
    types = {"decimal": pa.decimal128(10, 2), "datetime": pa.timestamp("us")}
    return pa.array(cells, types.get(kind))


def expected(kind: str) -> list:
    return [COLUMNS[kind][1][i // 2] for i in ORDER]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().set_axis(list("fedcba")[: table.num_rows])


def as_polars(table: pa.Table) -> pl.DataFrame:
    return pl.from_arrow(table)


CONSTRUCTORS = {"pandas": as_pandas, "polars": as_polars, "pyarrow": lambda table: table}


@pytest.fixture(params=CONSTRUCTORS)
def constructor(request):
    return CONSTRUCTORS[request.param]


def protect(table, columns=("x",), **step):
    recipe = {
        "roles": {"confidential": list(columns), "rest": "insensitive"},
        "steps": [{"method": "oma", "columns": list(columns), "k": 2, **step}],
    }
    return discreet.protect(table, recipe).table


def same_schema(before, after):
    if isinstance(before, pd.DataFrame):
        assert before.dtypes.to_dict() == after.dtypes.to_dict()
        assert after.index.equals(pd.RangeIndex(len(before)))
    else:
        assert before.schema == after.schema


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_types_and_order(constructor, kind):
    before = constructor(pa.table({"x": arrow_column(kind), "other": list("abcdef")}))
    after = protect(before)
    assert type(after) is type(before)
    same_schema(before, after)
    assert to_arrow(after)["x"].to_pylist() == to_arrow(constructor(pa.table({"x": expected(kind)})))["x"].to_pylist()  # fmt: skip
    assert to_arrow(after)["other"].to_pylist() == list("abcdef")


@pytest.mark.parametrize("kind", COLUMNS)
def test_nulls_stay_in_place(constructor, kind):
    cells = arrow_column(kind).to_pylist()
    cells.insert(2, None)
    table = pa.table({"x": pa.array(cells, arrow_column(kind).type)})
    before = table.to_pandas() if constructor is as_pandas else constructor(table)
    after = protect(before)
    same_schema(before, after)
    assert to_arrow(after)["x"].is_null().to_pylist() == [i == 2 for i in range(7)]
    wanted = expected(kind)
    wanted.insert(2, None)
    found = [None if value is None else value for value in to_arrow(after)["x"].to_pylist()]
    if kind == "decimal" or kind in ("date", "datetime", "duration"):
        assert found == wanted
    else:
        assert [v is None or float(v) for v in found] == [v is None or float(v) for v in wanted]


def test_zones_are_restored(constructor):
    cells = [None if t is None else t.replace(tzinfo=UTC_PLUS) for t in times(0, 2, 100, 102)]
    table = pa.table({"x": pa.array(cells, pa.timestamp("us", tz=ZONE))})
    before = table.to_pandas() if constructor is as_pandas else constructor(table)
    after = protect(before)
    same_schema(before, after)
    wanted = [t.replace(tzinfo=UTC_PLUS) for t in times(1, 1, 101, 101)]
    assert to_arrow(after)["x"].to_pylist() == wanted


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_datetimes_are_as_fine_as_the_input_was(unit):
    table = pa.table({"x": pa.array(times(0, 1), pa.timestamp("us")).cast(pa.timestamp(unit))})
    after = protect(table)
    assert after.schema == table.schema
    # Half a minute, rounded to whole minutes, half to even.
    assert {t.second for t in after["x"].cast(pa.timestamp("us")).to_pylist()} == {0}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.float32(), pa.date64()])
def test_narrow_types_come_back(kind):
    cells = days(0, 2, 100, 102) if pa.types.is_date64(kind) else [1, 3, 10, 12]
    table = pa.table({"x": pa.array(cells, kind)})
    assert protect(table).schema == table.schema


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "int32", "float32", "Int8", "int64[pyarrow]"]
)
def test_pandas_dtypes_come_back(dtype):
    before = pd.DataFrame({"x": pd.Series([1, 3, 10, 12], dtype=dtype)}).set_axis([3, 3, 1, 0])
    after = protect(before)
    same_schema(before, after)
    assert after["x"].tolist() == [2, 2, 11, 11]


def test_other_columns_pass_through(constructor):
    table = pa.table(
        {
            "x": [1.0, 3.0, 10.0, 12.0],
            "flag": [True, None, False, True],
            "plain": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "text": ["u", None, "v", "w"],
        }
    )
    before = table.to_pandas() if constructor is as_pandas else constructor(table)
    after = protect(before)
    same_schema(before, after)
    for name in ("flag", "plain", "text"):
        assert to_arrow(after)[name].to_pylist() == to_arrow(before)[name].to_pylist()


def test_ordered_categories_pass_through():
    levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    before = pd.DataFrame({"x": [1, 3, 5], "level": pd.Series(["mid", "low", None], dtype=levels)})
    after = protect(before)
    assert after["level"].dtype == pd.CategoricalDtype(["low", "mid"], ordered=True)
    assert after["level"].dropna().tolist() == ["mid", "low"]


def test_pandas_objects_come_back():
    before = pd.DataFrame({"x": [Decimal("1.10"), None, Decimal("1.30")], "d": days(0, 2, None)})
    after = protect(before, columns=("x", "d"))
    assert after["x"].tolist() == [Decimal("1.20"), None, Decimal("1.20")]
    assert after["d"].tolist()[:2] == days(1, 1)
    assert after["d"].isna().tolist() == [False, False, True]


def test_nan_and_null_are_both_null():
    before = pl.DataFrame({"x": [1.0, float("nan"), None, 3.0]})
    assert protect(before)["x"].to_list() == [2.0, None, None, 2.0]
    frame = pd.DataFrame({"x": [1.0, np.nan, None, 3.0]})
    assert protect(frame)["x"].isna().tolist() == [False, True, True, False]


def test_null_markers_become_nulls_in_every_column(constructor):
    table = pa.table({"x": [1, 3, 10], "t": ["*", "b", ""], "c": pa.array(["a", "?", "a"]).dictionary_encode()})  # fmt: skip
    before = table.to_pandas() if constructor is as_pandas else constructor(table)
    recipe = {"null_markers": ["*", "?"], "roles": {"rest": "insensitive"}}
    after = to_arrow(discreet.protect(before, recipe).table)
    assert after["t"].to_pylist() == [None, "b", None]
    assert after["c"].to_pylist() == ["a", None, "a"]


def test_the_input_is_not_changed(constructor):
    table = pa.table({"x": [1.0, 3.0, 10.0, 12.0]})
    before = table.to_pandas() if constructor is as_pandas else constructor(table)
    protect(before)
    assert to_arrow(before)["x"].to_pylist() == [1.0, 3.0, 10.0, 12.0]


def test_negative_zero_is_zero():
    out = protect(pd.DataFrame({"x": [-0.0, 0.0, -0.0, 5.0, 5.0]}))
    assert not np.signbit(out["x"].to_numpy()).any()


def test_precision_full_gives_what_was_computed():
    out = protect(pd.DataFrame({"x": [1, 2, 10, 13]}), precision="full")
    assert out["x"].tolist() == [1.5, 1.5, 11.5, 11.5]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the table has two columns named 'a'"),
        (pd.DataFrame([[1, 2]]), "column names must be text, but one is 0"),
        (pd.DataFrame({"a": ["x", 1]}), "a column mixes types or has one that is not supported: "),
        ([1, 2], "a table must be a pandas, polars or pyarrow table, not list"),
        (pd.DataFrame({"a": []}), "the table has no rows"),
    ],
)
def test_unusable_tables_are_refused(table, message):
    with pytest.raises(BadInput, match=message):
        discreet.protect(table, {"roles": {"rest": "insensitive"}})
