import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
    with pytest.raises(BadInput, match=r"column 'a' holds list<.*>, which CSV cannot; use Parquet"):
        write_table(pa.table({"a": [[1]]}), tmp_path / "t.csv")
