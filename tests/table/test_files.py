import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import feather

from discreet import read_table, write_table
from discreet.errors import BadInput

TABLE = pa.table(
    {
        "text, quoted": ["a,b", 'say "x"', "two\nlines", "", None],
        "code": ["007", "1", None, "0", "12"],
        "n": [1, None, -3, 4, 5],
        "f": [1.5, float("nan"), None, 1e-7, 1e21],
        "money": pa.array([Decimal("1.50"), None, Decimal("-2.25"), None, Decimal(0)], pa.decimal128(9, 2)),
        "day": pa.array([dt.date(2020, 2, 29), None, None, None, None]),
        "at": pa.array([dt.datetime(2020, 1, 1, 3, 4, 5, 6), None, None, None, None], pa.timestamp("us")),
        "zoned": pa.array([1_600_000_000, None, None, None, None], pa.timestamp("s", tz="Europe/Berlin")),
        "took": pa.array([90, None, None, None, None], pa.duration("s")),
        "label": pa.array(["x", "y", None, "x", "x"]).dictionary_encode(),
        "flag": [True, False, None, None, None],
    }
)  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_round_trip_with_a_schema(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(TABLE, path)
    back = read_table(path, schema=TABLE.schema)
    assert back.column_names == TABLE.column_names
    for name in TABLE.column_names:
        # Empty text and NaN are nulls.
        wanted = [None if c == "" or c != c else c for c in TABLE[name].to_pylist()]
        assert back[name].to_pylist() == wanted, name


def test_codes_survive_a_csv_without_a_schema(tmp_path):
    write_table(TABLE.select(["code", "n", "f"]), tmp_path / "t.csv")
    back = read_table(tmp_path / "t.csv")
    assert back["code"].to_pylist() == ["007", "1", None, "0", "12"]
    assert back["f"].to_pylist() == [1.5, None, None, 1e-7, 1e21]


def test_frames_are_written_without_their_index(tmp_path):
    write_table(
        pd.DataFrame({"a": [1.0, np.nan]}, index=["secret1", "secret2"]), tmp_path / "t.csv"
    )
    assert (tmp_path / "t.csv").read_text() == '"a"\n1\n\n'


def test_what_cannot_be_read_or_written_is_refused(tmp_path):
    (tmp_path / "t.xyz").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.parquet").write_text("not parquet")
    for path, message in {
        tmp_path / "none.csv": "does not exist",
        tmp_path / "empty": "is a folder without Parquet files",
        tmp_path / "t.xyz": "no known table format has the suffix '.xyz'; known: .csv, .tsv",
        tmp_path / "bad.parquet": "is not Parquet, though its suffix says so",
    }.items():
        with pytest.raises(BadInput) as caught:
            read_table(path)
        assert message in str(caught.value)
    with pytest.raises(
        BadInput, match=r"column 'a' holds list<.*>, which CSV cannot hold; use Parquet"
    ):
        write_table(pa.table({"a": [[1]]}), tmp_path / "t.csv")


def test_a_feather_file_holds_nothing_behind_its_nulls(tmp_path):
    gone = pa.array([True, False, True, False])
    columns = {
        "number": pa.array([1111.0, 2222.0, 3333.0, 4444.0]),
        "whole": pa.array([1111, 2222, 3333, 4444]),
        "text": pa.array(["secret", "b", "other", "d"]),
    }
    table = pa.table(
        {n: pc.if_else(gone, pa.scalar(None, c.type), c) for n, c in columns.items()}
        | {"kind": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0]), ["a", "secret"])}
    )
    label = table["kind"].combine_chunks()
    masked = pa.array([1, 0, 1, 0], mask=gone.to_numpy(zero_copy_only=False))
    kind = pa.DictionaryArray.from_arrays(masked, label.dictionary)
    table = table.set_column(3, "kind", kind)
    assert b"secret" in b"".join(bytes(b) for b in table["text"].chunk(0).buffers() if b)
    write_table(table, tmp_path / "t.feather")
    back = feather.read_table(tmp_path / "t.feather")
    assert back["number"].to_pylist() == [None, 2222.0, None, 4444.0]
    for name in ("number", "whole"):
        under = np.frombuffer(back[name].chunk(0).buffers()[1], back[name].type.to_pandas_dtype())
        assert under[:4].tolist() == [0, 2222, 0, 4444]
    assert bytes(back["text"].chunk(0).buffers()[2]).rstrip(b"\0") == b"bd"
    assert back["kind"].chunk(0).dictionary.to_pylist() == ["a"]
