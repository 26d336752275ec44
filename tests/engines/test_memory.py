"""Frames in memory keep the contract of all engines."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.engines.memory import MemoryFrame, placed
from discreet.errors import BadInput
from discreet.table.native import normalise
from tests.engines.contract import Contract
from tests.engines.order import Order


def read(files, markers=()):
    try:
        tables = [parquet.read_table(path, partitioning=None) for path in files]
    except pa.ArrowInvalid as error:
        raise BadInput(f"{files[0]} cannot be read as Parquet: {error}") from None
    return MemoryFrame(normalise(pa.concat_tables(tables), markers))


class TestMemory(Contract):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls):
        return read


class TestMemoryOrder(Order):
    @pytest.fixture(scope="class")
    @classmethod
    def make(cls):
        return read


def test_a_released_table_is_by_the_rows_of_its_original():
    frame = placed(pa.table({"x": ["c", "a", "b"]}), np.array([4, 0, 2]))
    found = frame.fold(lambda piece, rows: (piece["x"].to_pylist(), rows.tolist()), None, ["x"])
    assert found == (["a", "b", "c"], [0, 2, 4])
    places = frame.placed.fold(
        lambda piece, rows: piece.column(1).to_pylist(), None, ["x", "\0position"]
    )
    assert places == [1, 2, 0]


def test_a_row_map_of_another_length_is_none():
    frame = placed(pa.table({"x": ["c", "a"]}), np.array([4, 0, 2]))
    assert frame.rows.tolist() == [0, 1]
