import os

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engines import choice
from discreet.engines.choice import choose, free_memory, megabytes, memory_needed
from discreet.errors import BadInput


@pytest.fixture
def file(tmp_path):
    table = pa.table({"a": list(range(1000)), "b": ["same"] * 1000})
    parquet.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_what_fits_in_a_third_of_free_memory_is_for_memory(file, monkeypatch):
    assert memory_needed(file) == 3 * 1000 * (8 + 16)
    assert choose("auto", file) == "memory"
    monkeypatch.setattr(choice, "free_memory", lambda: 72_000)
    assert choose("auto", file) == "memory"
    monkeypatch.setattr(choice, "free_memory", lambda: 71_999)
    assert choose("auto", file) == "duckdb"
    assert choose("auto", file.parent) == "duckdb"
    assert choose("memory", file) == "memory"


def test_what_needs_more_than_it_is_given_is_for_duckdb(tmp_path):
    file = tmp_path / "a.csv"
    file.touch()
    os.truncate(file, 24 << 20)
    assert choose("auto", file) == choose("auto", file, "72MiB") == "memory"
    assert choose("auto", file, "71MiB") == "duckdb"
    assert choose("memory", file, "71MiB") == "memory"


def test_a_csv_counts_by_its_bytes(tmp_path):
    (tmp_path / "a.csv").write_text("x\n" * 500)
    (tmp_path / "a.csv.gz").write_bytes(b"x" * 100)
    assert memory_needed(tmp_path / "a.csv") == 3000
    assert memory_needed(tmp_path / "a.csv.gz") == 1500


def test_a_relation_is_for_duckdb():
    relation = duckdb.sql("SELECT 1 AS a")
    assert choose("auto", relation) == "duckdb"
    with pytest.raises(
        BadInput, match="the table belongs to duckdb, so the engine cannot be memory"
    ):
        choose("memory", relation)


def test_an_unknown_engine_is_refused():
    with pytest.raises(BadInput, match="there is no engine 'duckbd'; did you mean 'duckdb'"):
        choose("duckbd", pa.table({}))


def test_free_memory_is_some_of_the_machines():
    assert 1 << 20 < free_memory() < 1 << 50


@pytest.mark.parametrize(
    ("memory", "wanted"), [("4GB", 3814), ("4GiB", 4096), ("512 mb", 488), ("1.5g", 1430)]
)
def test_amounts_of_memory(memory, wanted):
    assert megabytes(memory) == wanted


def test_no_amount_of_memory():
    with pytest.raises(BadInput) as refused:
        megabytes("much")
    assert str(refused.value) == "'much' is not a memory size; give one such as 4GB"
