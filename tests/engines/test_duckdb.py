"""DuckDB's frames keep the contract of all engines."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engines import duckdb
from discreet.engines.duckdb import DuckDBFrame, Session
from tests.engines.contract import Contract


class TestDuckDB(Contract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls, tmp_path_factory):
        with Session(tmp_path_factory.mktemp("duckdb"), "1GB") as session:
            yield lambda files, markers: DuckDBFrame(session, files, markers)


def test_what_was_read_does_not_stay_in_memory(tmp_path, monkeypatch):
    """Arrow keeps what it reads ahead until the last row is read."""
    monkeypatch.setattr(duckdb, "PIECE", 10_000)
    rng = np.random.default_rng(0)
    table = pa.table({f"x{i}": rng.normal(size=400_000) for i in range(4)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=10_000)
    del table
    with Session(tmp_path / "work", "1GB") as session:
        frame = DuckDBFrame(session, [tmp_path / "a.parquet"])
        before = pa.total_allocated_bytes()
        held = [pa.total_allocated_bytes() - before for _ in frame.pieces(frame.schema.names)]
    assert len(held) == 40
    assert max(held) < (tmp_path / "a.parquet").stat().st_size / 4


def test_pieces_of_wide_tables_have_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb, "CELLS", 1000)
    parquet.write_table(pa.table({f"x{i}": range(500) for i in range(10)}), tmp_path / "a.parquet")
    with Session(tmp_path / "work", "1GB") as session:
        frame = DuckDBFrame(session, [tmp_path / "a.parquet"])
        assert [len(rows) for _, rows in frame.pieces(frame.schema.names)] == [100] * 5
        assert [len(rows) for _, rows in frame.pieces(["x3"])] == [500]
