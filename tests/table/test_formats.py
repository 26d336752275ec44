"""What every format must do: give a table back, and give the same bytes again."""

import time
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadInput
from discreet.table import kind_of, read_table, write_table
from discreet.table.signatures import FORMATS, READ_ONLY
from tests.table.tables import everything, plain

SUFFIXES = list(FORMATS)


def table_for(suffix: str) -> pa.Table:
    return everything(ascii_names=suffix == ".xpt")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_comes_back_by_its_types(tmp_path, suffix):
    table, path = table_for(suffix), tmp_path / f"table{suffix}"
    write_table(table, path)
    back = read_table(path, schema=table.schema)
    assert back.column_names == table.column_names
    for name in table.column_names:
        assert plain(back[name]) == plain(table[name]), name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_digits_come_back(tmp_path, suffix):
    sizes = 10.0 ** np.arange(-70, 70)
    values = np.concatenate([np.random.default_rng(1).random(140) * sizes, -sizes, [0.1 + 0.2]])
    table = pa.table({"x": values})
    write_table(table, tmp_path / f"table{suffix}")
    back = read_table(tmp_path / f"table{suffix}")
    assert back["x"].to_pylist() == table["x"].to_pylist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_that_looks_like_a_datetime_is_text_where_the_schema_says_so(tmp_path, suffix):
    table = pa.table({"x": ["2024-01-01 00:00:00Z", "2024-01-02 00:00:00Z", None]})
    category = pa.table({"x": table["x"].dictionary_encode()})
    for one in (table, category):
        write_table(one, tmp_path / f"table{suffix}")
        back = read_table(tmp_path / f"table{suffix}", schema=one.schema)
        assert plain(back["x"]) == table["x"].to_pylist()


# What a format has no type for comes back as text or as a count of units, and loses nothing.
LOOSE = {
    "csv": {"small", "zoned", "time", "length", "exact", "category"},
    "xlsx": {"small", "zoned", "micro", "day", "time", "length", "exact", "category"},
    "sav": {"small", "zoned", "micro", "length", "exact", "category"},
    "dta": {"small", "zoned", "length", "exact", "category", "whole", "large"},
    "xpt": {"small", "zoned", "length", "exact", "category", "yes"},
    "parquet": set(),
    "feather": set(),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_comes_back_by_itself(tmp_path, suffix):
    table, path = table_for(suffix), tmp_path / f"table{suffix}"
    write_table(table, path)
    back = read_table(path)
    loose = LOOSE[FORMATS[suffix].split(".")[0]]
    for name in table.column_names:
        if name not in loose:
            assert back[name].type == table[name].type, name
            assert back[name].to_pylist() == table[name].to_pylist(), name
    if "whole" in loose:
        assert back["whole"].to_pylist() == table["whole"].to_pylist()


@pytest.mark.parametrize("suffix", [".xlsx", ".sav", ".dta", ".xpt"])
def test_a_zone_comes_back_as_utc(tmp_path, suffix):
    table, path = table_for(suffix).select(["zoned"]), tmp_path / f"table{suffix}"
    write_table(table, path)
    back = read_table(path)["zoned"]
    assert back.type == pa.timestamp("us", tz="UTC")
    assert back.cast(pa.int64()).to_pylist() == table["zoned"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("suffix", [".xlsx", ".sav", ".dta", ".xpt"])
def test_nanoseconds_with_a_zone_come_back(tmp_path, suffix):
    """As pandas has them."""
    cells = [1_600_000_000_000_000_000, None, 1_600_000_000_000_000_001]
    table = pa.table({"zoned": pa.array(cells, pa.timestamp("ns", tz="Europe/Berlin"))})
    path = tmp_path / f"table{suffix}"
    write_table(table, path)
    assert read_table(path, schema=table.schema).equals(table)
    assert read_table(path)["zoned"][2].as_py() == "2020-09-13 12:26:40.000000001Z"


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for suffix in SUFFIXES:
        write_table(table_for(suffix), tmp_path / f"one{suffix}")
    # Some formats hold the time at which they are written.
    time.sleep(1.1)
    for suffix in SUFFIXES:
        write_table(table_for(suffix), tmp_path / f"two{suffix}")
        one, two = (tmp_path / f"{name}{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), suffix


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_three_hundred_columns(tmp_path, suffix):
    numbers = np.arange(900.0).reshape(300, 3) / 4
    table = pa.table({f"v{i}": column for i, column in enumerate(numbers)})
    write_table(table, tmp_path / f"wide{suffix}")
    back = read_table(tmp_path / f"wide{suffix}", schema=table.schema)
    assert back.equals(table)


@pytest.fixture(scope="module")
def release(households, recipe_text):
    return discreet.protect(households, tomllib.loads(recipe_text))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_release_in_every_format_passes_its_check(tmp_path, households, release, suffix):
    written = release.save(tmp_path / f"people.x{suffix}")
    internal = tmp_path / "people.x.internal"
    report = discreet.check_release(written, release.recipe, internal, households)
    assert report.verified


def test_a_format_by_name(tmp_path, households, recipe_text):
    (tmp_path / "recipe.toml").write_text(recipe_text)
    release = discreet.protect(households, tmp_path / "recipe.toml")
    for name in ("csv.gz", "sav"):
        assert release.save(tmp_path / name, format=name).name == f"table.{name}"


@pytest.mark.parametrize("suffix", READ_ONLY)
def test_what_is_only_read_is_not_written(tmp_path, suffix, households, recipe_text):
    message = f"files with the suffix '{suffix}' are read, but not written"
    with pytest.raises(BadInput, match=message):
        write_table(households, tmp_path / f"x{suffix}")
    (tmp_path / "recipe.toml").write_text(recipe_text)
    release = discreet.protect(households, tmp_path / "recipe.toml")
    with pytest.raises(BadInput, match=message):
        release.save(tmp_path / f"x{suffix}")


@pytest.mark.parametrize(
    "suffix", [".csv", ".parquet", ".feather", ".xlsx", ".sav", ".dta", ".xpt"]
)
def test_no_rows_is_said(tmp_path, suffix):
    write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / f"t{suffix}")
    with pytest.raises(BadInput, match="no rows"):
        read_table(tmp_path / f"t{suffix}")


def test_files_of_pandas_read_the_same(tmp_path):
    frame = pd.DataFrame(
        {
            "größe": [1.5, None, 2.0],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-03"], utc=True),
            "kind": pd.Categorical(["b", "a", None]),
        },
        index=[7, 8, 9],
    )
    wanted = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.reset_index(drop=True).to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        table = read_table(tmp_path / name)
        assert table.column_names == wanted.column_names
        for column in wanted.column_names:
            assert kind_of(table[column].type) == kind_of(wanted[column].type)
            assert table[column].to_pylist() == wanted[column].to_pylist()
    frame.drop(columns="when").to_csv(tmp_path / "t.csv.gz", index=False)
    table = read_table(tmp_path / "t.csv.gz")
    assert table.to_pydict() == {
        "größe": [1.5, None, 2.0], "n": [1, None, 3], "kind": ["b", "a", None],
    }  # fmt: skip
