"""Spark's frames from DataFrames and from files that other programs wrote."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engines.spark import SparkFrame
from discreet.errors import BadInput
from tests.engines.contract import followed, listed

pytestmark = pytest.mark.spark


def cells(frame):
    return frame.fold(listed, followed, frame.schema.names)


def test_a_dataframe_keeps_its_rows_numbers_within_a_run(session):
    spark = session.spark
    # Names that frames use themselves, in another order; and rows in any.
    data = spark.range(0, 3000, 1, 5).selectExpr(
        "id AS c1",
        "if(id % 3 = 0, '*', 'x') AS c0",
        "cast(id AS double) AS `number`",
        "timestamp_seconds(id) AS `a.b`",
        "cast(NULL AS date) AS A",
        "cast(id / 4 AS decimal(9,2)) AS a",
    )
    frame = SparkFrame.of(session, data.orderBy("c0", data["c1"].desc()), ["*"])
    assert not frame.positioned
    assert frame.num_rows == 3000
    assert frame.schema == pa.schema(
        {
            "c1": pa.int64(),
            "c0": pa.string(),
            "number": pa.float64(),
            "a.b": pa.timestamp("us", "UTC"),
            "A": pa.date32(),
            "a": pa.decimal128(9, 2),
        }
    )
    found = cells(frame)
    assert [row for row, *_ in found] == list(range(3000))
    assert found == cells(frame)
    zero = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for _, key, label, number, time, day, decimal in found:
        assert label == (None if key % 3 == 0 else "x")
        assert (number, day, decimal) == (key, None, Decimal(key) / 4)
        assert time == zero + dt.timedelta(seconds=key)
    assert sorted(key for _, key, *_ in found) == list(range(3000))
    # The caller's settings are as they were.
    assert data.sparkSession is spark


def test_dataframes_with_columns_that_engines_do_not_take(session):
    data = session.spark.range(2)
    with pytest.raises(BadInput, match="the table has two columns named 'id'"):
        SparkFrame.of(session, data.select("id", "id"))
    odd = SparkFrame.of(session, data.selectExpr("array(id) AS x", "id + 5 AS y"))
    assert odd.fold(listed, followed, ["y"]) == [(0, 5), (1, 6)]
    with pytest.raises(BadInput) as refused:
        odd.counts(["x"])
    assert str(refused.value) == (
        "column 'x' holds list<element: int64 not null>, which only the memory engine takes; drop "
        "it, or turn it into text or numbers"
    )


def test_timestamps_of_96_bits_and_columns_of_nulls(session, tmp_path):
    times = [dt.datetime(1700, 1, 1, 0, 0, 0, 123), None, dt.datetime(2024, 1, 2, 3, 4, 5, 6)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us")), "none": pa.nulls(3)})
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    frame = SparkFrame.stored(session, [path])
    assert frame.schema.types == [pa.timestamp("ns"), pa.string()]
    assert [(t and t.to_pydatetime(), none) for _, t, none in cells(frame)] == [
        (time, None) for time in times
    ]


def test_no_rows_at_all(session, tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": pa.array([], pa.float64())}), path)
    for files in ([path], [path, path]):
        frame = SparkFrame.stored(session, files)
        assert frame.num_rows == 0
        assert cells(frame) == []
        assert frame.counts(["x"])[1].tolist() == []
        assert [len(counts) for _, counts in frame.values("x")] in ([], [0])


def test_files_that_differ_or_that_spark_cannot_read(session, tmp_path):
    one, other, half = (tmp_path / f"{name}.parquet" for name in "abc")
    parquet.write_table(pa.table({"x": [1]}), one)
    parquet.write_table(pa.table({"x": [1.5]}), other)
    parquet.write_table(pa.table({"h": np.array([1.5], np.float16)}), half)
    with pytest.raises(BadInput) as refused:
        SparkFrame.stored(session, [one, other])
    assert str(refused.value) == f"{other} and {one} differ in their columns or types"
    with pytest.raises(BadInput) as refused:
        SparkFrame.stored(session, [half])
    assert str(refused.value) == (
        "column 'h' holds halffloat, which Spark does not read; turn it into numbers of 4 or 8 bytes"
    )
    with pytest.raises(BadInput, match=r"^there is no Parquet file to read$"):
        SparkFrame.stored(session, [])


def test_files_are_read_in_their_order_however_spark_packs_them(session, tmp_path):
    # Spark takes the largest first, and several in one task.
    sizes = [10, 3000, 1, 500, 500, 2]
    paths, start = [], 0
    for place, size in enumerate(sizes):
        paths.append(tmp_path / f"{place}.parquet")
        parquet.write_table(pa.table({"x": np.arange(start, start + size)}), paths[-1])
        start += size
    found = cells(SparkFrame.stored(session, paths))
    assert found == [(row, row) for row in range(sum(sizes))]


def test_what_spark_has_no_type_for_is_shown_as_the_nearest(session, tmp_path):
    moments = pa.array([-1_001, 1_999_999_999, None], pa.timestamp("ns"))
    large = pa.array([0, 2**64 - 1, None], pa.uint64())
    parquet.write_table(pa.table({"large": large, "at": moments}), tmp_path / "a.parquet")
    frame = SparkFrame.stored(session, [tmp_path / "a.parquet"])
    rows = frame.native().collect()
    assert [row["large"] for row in rows] == [0, 2**64 - 1, None]
    assert [row["at"] for row in rows] == [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_998),
        dt.datetime(1970, 1, 1, 0, 0, 1, 999_999),
        None,
    ]
